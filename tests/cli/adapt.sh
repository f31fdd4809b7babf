#!/bin/sh
# A model for sites that its training did not have: what adapt writes and what it refuses.
. "$(dirname "$0")/lib.sh"

# NAME_people.csv and NAME_maps.csv: so many participants of each of some sites; every site is further off by its letter,
# noise is times so much, and all is moved.
people() { # name, seed, sites, people of each, first age, range of ages, noise, moved, bent along age
    awk -v name="$1" -v x="$2" -v sites="$3" -v each="$4" -v from="$5" -v range="$6" -v noise="${7-1}" -v moved="${8-0}" -v bent="${9-0}" '
        function u() { x = (x * 16807) % 2147483647; return x / 2147483647 }
        function n() { return (u() + u() + u() + u() + u() + u() - 3) * 1.414 }
        BEGIN {
            for (i = 0; i < 20; i++) u()
            people = name "_people.csv"; maps = name "_maps.csv"
            S = split(sites, site, " ")
            print "participant_id,age,sex,site" >people
            print "participant_id,a,b,c,d,e" >maps
            for (i = 0; i < S * each; i++) {
                s = site[i % S + 1]; age = from + int(range * 100 * u()) / 100 + 0.003; common = n()
                printf "%s%02d,%.3f,%s,%s\n", name, i, age, u() < 0.5 ? "F" : "M", s >people
                printf "%s%02d", name, i >maps
                for (j = 1; j <= 5; j++) {
                    y = 50 + j * age / 20 + 3 * sin(7 * j * index("ABCDELeeds Bonn", s)) + moved + bent * sin(age / 9 + j)
                    printf ",%.5f", y + 3 * noise * (n() + 0.4 * common) >maps
                }
                printf "\n" >maps
            }
        }'
}
cell() { awk -F '\t' -v r="$2" -v name="$3" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i }
    $1 == r { print $c }' "$1"; } # table, first cell of the row, column
said() { grep -qxF -e "$1" "$logs/err"; }

people train 3 "A B C D" 20 20 60
people ctrl 5 Leeds 8 25 50
people new 7 Leeds 6 25 50
works "a model of four sites" fit -c train_people.csv -y train_maps.csv -o m.safetensors --folds 5 -q

# ---- responses that are broken at the new site
sed 's/^\(ctrl[0-9]*\),[^,]*,\([^,]*\),[^,]*/\1,0,\2,51.5/' ctrl_maps.csv >broken_maps.csv
works "zero and constant columns of the controls" adapt m.safetensors -c ctrl_people.csv -y broken_maps.csv -o b.safetensors
check "... are named" said "kronorm adapt: warning: Leeds: 2 of 5 responses have the same value for all controls and are not adapted; check the processing: a, c"
check "... and do not enlarge the site effect" sh -c 'sed -n "s/.*site effect \([0-9.]*\) times.*/\1/p" "$0" | awk "{ exit !(\$1 < 2) }"' "$logs/out"
check "... alone" test "$(wc -l <"$logs/err")" -eq "$(grep -c 'responses have the same\|participants, 5 responses\|covariates are' "$logs/err")"
rm b.*

# ---- what is written
works "it is adapted to a fifth" adapt m.safetensors -c ctrl_people.csv -y ctrl_maps.csv -o a.safetensors
check "... and says so" grep -qE '^  Leeds with 8 controls: site effect [0-9.]+ times the typical size, noise variance [0-9.]+ times that of the training sites$' "$logs/out"
check "... without a warning" test ! -s "$logs/err"
check "a model, a table and its sidecar are written" test "$(ls a.*)" = "a.adapt.json
a.adapt.tsv
a.safetensors"
check "the table has its columns" test "$(head -n 1 a.adapt.tsv)" = "$(printf 'response\tlevel\tn\traw_offset\tweight\toffset\toffset_sd\tnoise_factor')"
check "... a row for each response" test "$(cut -f 1-3 a.adapt.tsv | tail -n +2 | tr '\t\n' '  ')" = "a Leeds 8 b Leeds 8 c Leeds 8 d Leeds 8 e Leeds 8 "
works "predictions of the controls without controls" predict m.safetensors -c ctrl_people.csv --unseen prior -o prior -q
raw() { # response: mean of its residuals, from what the prior says plus its mean of sites
    /usr/bin/python3 - "$1" <<'P'
import csv, json, struct, sys
j = "abcde".index(sys.argv[1])
with open("m.safetensors", "rb") as f:
    size = struct.unpack("<Q", f.read(8))[0]
    head = json.loads(f.read(size))
    def array(name):
        at = head[name]["data_offsets"]
        f.seek(8 + size + at[0])
        return struct.unpack("<%dd" % ((at[1] - at[0]) // 8), f.read(at[1] - at[0]))
    mu, tau2, w, sd = (array(k) for k in ("site_mu", "site_tau2", "site_w", "y_sd"))
y = [float(r[j + 1]) for r in list(csv.reader(open("ctrl_maps.csv")))[1:]]
m = [float(r[j + 1]) for r in list(csv.reader(open("prior/yhat.csv")))[1:]]
raw = sum(a - b for a, b in zip(y, m)) / len(y) + mu[j] * sd[j]
rows = {r["response"]: r for r in csv.DictReader(open("a.adapt.tsv"), delimiter="\t")}
r = {k: float(v) for k, v in rows[sys.argv[1]].items() if k not in ("response", "level")}
def near(a, b): assert abs(a - b) <= 1e-4 * max(1, abs(b)), (sys.argv[1], a, b)
near(r["raw_offset"], raw)
near(r["offset"], mu[j] * sd[j] + r["weight"] * (raw - mu[j] * sd[j]))
near(r["offset_sd"] ** 2, r["weight"] * w[j] * sd[j] ** 2 / 8)
assert 0 < r["weight"] < 1 and r["noise_factor"] > 0
P
}
for j in a b c d e; do check "... $j in the units of the responses" raw $j; done

# ---- nothing of the controls
lacks() { ! grep -qaF -e "$1" "$2"; }
nothing_of() { # file
    for word in $(cut -d , -f 1 ctrl_people.csv | tail -n +2) $(cut -d , -f 2 ctrl_people.csv | tail -n +2); do
        lacks "$word" "$1" || return 1
    done
}
check "no id or covariate of the controls is in the model" nothing_of a.safetensors
check "... nor in the table" nothing_of a.adapt.tsv
check "... and no number of theirs in binary" /usr/bin/python3 -c 'import csv, struct
data = open("a.safetensors", "rb").read()
for file in ("ctrl_people.csv", "ctrl_maps.csv"):
    for row in list(csv.reader(open(file)))[1:]:
        for cell in row[1:]:
            try: x = float(cell)
            except ValueError: continue
            assert struct.pack("<d", x) not in data and struct.pack("<f", x) not in data, cell'
works "once more" adapt m.safetensors -c ctrl_people.csv -y ctrl_maps.csv -o again.safetensors -q --threads 2
check "... are the same bytes" cmp a.safetensors again.safetensors
check "... of both" cmp a.adapt.tsv again.adapt.tsv
kronorm info a.safetensors
check "info tells of the site" grep -qE '^ *adapted to Leeds with 8 controls: ' "$logs/out"

# ---- scored
people known 9 A 2 30 40
people mixed 11 "A Leeds Bonn" 2 30 40
works "people of the new site are scored" score a.safetensors -c new_people.csv -y new_maps.csv -o scored -q
check "... without a word" test ! -s "$logs/err"
check "... site_adapted is 1" test "$(column scored/abnormality.tsv site_adapted | sort -u)" = 1
check "... and no level is unseen" test "$(column scored/abnormality.tsv unseen_level | sort -u)" = 0
refused "a third site is refused" \
    "mixed_people.csv: 2 participants are from a site that is not in the training data (Bonn); use 'kronorm adapt' with at least 5 healthy controls from there, or --unseen prior, which needs no controls but is less sensitive" \
    score a.safetensors -c mixed_people.csv -y mixed_maps.csv -o none
works "... unless the prior is asked for" score a.safetensors -c mixed_people.csv -y mixed_maps.csv -o mixed --unseen prior
check "... of training n/a, adapted 1, neither 0" test "$(column mixed/abnormality.tsv site_adapted | tr '\n' ' ')" = "n/a 1 0 n/a 1 0 "
check "... with a warning" said "kronorm score: warning: mixed_people.csv: 2 participants are from a site that is not in the training data (Bonn) and are scored with the average site and between-site variance, which is less sensitive; use 'kronorm adapt' if you have healthy controls from there"
people strange 13 "A Leeds Bonn" 4 30 40 1 60 # nobody is like them
works "people far off, at a site of each kind" score a.safetensors -c strange_people.csv -y strange_maps.csv -o strange --unseen prior
check "... of whom no p at a site that nobody knows is below one in five, with four sites" said \
    "p-values of 4 participants at new sites are at least 0.2, because site effects are known from only 4 sites"
check "... and who are not among those who could stand out" grep -qE '^    whole-map deviance, p <= 0.05 +8 / 8 +0.4$' "$logs/out"
works "... nor on the page" report a.safetensors --scored strange -o strange.html --json
check "... which counts eight" grep -q '"flagged_of":8[,}]' "$logs/out"
check "... and whose cards say why" grep -qF "The site is not in the training sample" "$logs/out"
held() { # column: p of people at unknown sites are at the bound, and those of others are below
    paste -d ' ' strange/.site strange/.$1 | awk '
        { if ($1 == "0" ? ($2 - .2) ^ 2 > 1e-24 : !($2 < .1)) { print; exit 1 } }'
}
for p in site_adapted extreme_z_p deviance_p mean_z_p; do column strange/abnormality.tsv $p >strange/.$p; done
mv strange/.site_adapted strange/.site
for p in extreme_z_p deviance_p mean_z_p; do check "... $p is held to it, and that of others is not" held $p; done
works "people of training's sites" score m.safetensors -c known_people.csv -y known_maps.csv -o before -q
works "... are as before" score a.safetensors -c known_people.csv -y known_maps.csv -o after -q
check "... to the byte" cmp before/z.csv after/z.csv

# ---- rows that are chosen
cat ctrl_people.csv >both_people.csv
tail -n +2 train_people.csv >>both_people.csv
cat ctrl_maps.csv >both_maps.csv
tail -n +2 train_maps.csv >>both_maps.csv
works "controls among others, by --where" adapt m.safetensors -c both_people.csv -y both_maps.csv --where site=Leeds -o w.safetensors -q
check "... are the same as alone" cmp a.adapt.tsv w.adapt.tsv
works "... and by --match" adapt m.safetensors -c ctrl_people.csv -y both_maps.csv --match common -o c.safetensors -q
check "... too" cmp a.adapt.tsv c.adapt.tsv
awk -F , -v OFS=, 'NR == 1 { print $0, "session"; next } { print $0, "1"; print $0, "2" }' ctrl_people.csv >visits_people.csv
awk -F , -v OFS=, 'NR == 1 { print "participant_id,session,a,b,c,d,e"; next } { id = $1; sub(/^[^,]*,/, "")
    print id ",1," $0; print id ",2,0,0,0,0,0" }' ctrl_maps.csv >visits_maps.csv
works "... and the first session" adapt m.safetensors -c visits_people.csv -y visits_maps.csv --session first -o s.safetensors -q
check "... likewise" cmp a.adapt.tsv s.adapt.tsv

# ---- refusals
refused "a site of training" \
    "known_people.csv: 2 of 2 participants are from a site that is already in the model (A); use 'kronorm score' for them without adapting" \
    adapt m.safetensors -c known_people.csv -y known_maps.csv -o none.safetensors
refused "a site that the model was adapted to" \
    "ctrl_people.csv: 8 of 8 participants are from a site that is already in the model (Leeds); use 'kronorm score' for them without adapting" \
    adapt a.safetensors -c ctrl_people.csv -y ctrl_maps.csv -o none.safetensors
refused "sites of training among others" \
    "both_people.csv: 80 of 88 participants are from a site that is already in the model (A, B, C, D), but only new sites can be added; exclude them with --where" \
    adapt m.safetensors -c both_people.csv -y both_maps.csv -o none.safetensors
kronorm fit -c train_people.csv -y train_maps.csv -o nobatch.safetensors --folds 5 --batch none -q
refused "a model without a batch" \
    "nobatch.safetensors has no batch effect that could have new levels; fit again, with the column of sites in --batch" \
    adapt nobatch.safetensors -c ctrl_people.csv -y ctrl_maps.csv -o none.safetensors
kronorm fit -c train_people.csv -y train_maps.csv -o nofolds.safetensors --folds 0 -q
refused "a model without a reference" \
    "nofolds.safetensors has no estimate of between-site variance, because it was fitted with --folds 0 or no site had two participants; fit again with folds" \
    adapt nofolds.safetensors -c ctrl_people.csv -y ctrl_maps.csv -o none.safetensors
refused "... nor does it take people of another site" \
    "new_people.csv: 6 participants are from a site that is not in the training data (Leeds), and the model has no estimate of between-site variance; fit again with folds and at least two participants per site" \
    predict nofolds.safetensors -c new_people.csv -o none --unseen prior
kronorm fit -c train_people.csv -y train_maps.csv -o one.safetensors --folds 5 --where site=A -q
kronorm info one.safetensors
check "a site that --where chose stays in the model" grep -qx "  site: 'A' in all participants" "$logs/out"
refused "a model of one site knows no prior" \
    "new_people.csv: 6 participants are from a site that is not in the training data (Leeds), and the model has only one site, so between-site variance is unknown; use 'kronorm adapt' with at least 5 healthy controls from there" \
    score one.safetensors -c new_people.csv -y new_maps.csv -o none --unseen prior
works "... but can be adapted" adapt one.safetensors -c ctrl_people.csv -y ctrl_maps.csv -o one_a.safetensors -q
works "... and scores" score one_a.safetensors -c new_people.csv -y new_maps.csv -o one_scored -q
check "... as adapted" test "$(column one_scored/abnormality.tsv site_adapted | sort -u)" = 1
refused "a model that exists" "a.safetensors already exists; use --force to replace it" \
    adapt m.safetensors -c ctrl_people.csv -y ctrl_maps.csv -o a.safetensors
rm again.safetensors
refused "... or its table" "again.adapt.tsv already exists; use --force to replace it" \
    adapt m.safetensors -c ctrl_people.csv -y ctrl_maps.csv -o again.safetensors
works "... are written over by --force" adapt m.safetensors -c ctrl_people.csv -y ctrl_maps.csv -o a.safetensors --force -q
refused "the model itself is not written over" "m.safetensors is an input of this run, so it is not replaced; choose another output" \
    adapt m.safetensors -c ctrl_people.csv -y ctrl_maps.csv -o m.safetensors --force
awk -F , -v OFS=, 'NR > 1 { for (i = 2; i <= 6; i++) $i = "n/a" } { print }' ctrl_maps.csv >empty_maps.csv
refused "controls without values" "empty_maps.csv: the controls of Leeds have no finite response; check IDs and columns" \
    adapt m.safetensors -c ctrl_people.csv -y empty_maps.csv -o none.safetensors
awk -F , -v OFS=, 'NR == 4 { $4 = "n/a" } { print }' ctrl_people.csv >lost_people.csv
refused "a control without a site" "lost_people.csv line 4: site is 'n/a', a missing value; use --missing drop to exclude such participants, or --missing mean to impute" \
    adapt m.safetensors -c lost_people.csv -y ctrl_maps.csv -o none.safetensors
refused "... whom no average helps" "lost_people.csv line 4: a control has no site; fill it in, or use --missing drop to exclude the control" \
    adapt m.safetensors -c lost_people.csv -y ctrl_maps.csv --missing mean -o none.safetensors
works "... is left out when asked for" adapt m.safetensors -c lost_people.csv -y ctrl_maps.csv --missing drop -o lost.safetensors -q
check "... and not counted" test "$(cell lost.adapt.tsv a n)" = 7
awk -F , -v OFS=, 'NR > 1 { $4 = "n/a" } NR > 1 && NR <= 3 { $3 = "n/a" } { print }' ctrl_maps.csv >some_maps.csv
works "a response that no control has" adapt m.safetensors -c ctrl_people.csv -y some_maps.csv -o some.safetensors -q
check "... has no offset of its own" test "$(cell some.adapt.tsv c n) $(cell some.adapt.tsv c raw_offset) $(cell some.adapt.tsv c weight)" = "0 n/a 0"
check "... and others what they have" test "$(cell some.adapt.tsv b n)" = 6

# ---- controls that cannot be used
awk -F, -v OFS=, 'NR > 1 { for (k = 2; k <= NF; k++) $k *= 1000 } 1' ctrl_maps.csv >units_maps.csv
refused "other units" "units_maps.csv: the responses of the controls of Leeds are more than 30 standard deviations from the predictions; check that units and processing match the training sample" \
    adapt m.safetensors -c ctrl_people.csv -y units_maps.csv -o units.safetensors
awk -F, -v OFS=, '{ $(NF + 1) = NR == 1 ? "group" : NR < 4 ? "patient" : "control" } 1' ctrl_people.csv >mixed.csv
works "patients among them" adapt m.safetensors -c mixed.csv -y ctrl_maps.csv -o mixed.safetensors
check "... are told of" said "kronorm adapt: warning: mixed.csv: group has the values patient, control, and all participants are treated as healthy controls; select the controls with --where"
works "... and left out when asked" adapt m.safetensors -c mixed.csv -y ctrl_maps.csv --where group=control -o healthy.safetensors
check "... with nothing to say" test "$(grep -c 'count as healthy' "$logs/err")" = 0
works "patients in training" fit -c mixed.csv -y ctrl_maps.csv --use age -P 1 --folds 2 -o sick.safetensors
check "... are told of too" said "kronorm fit: warning: mixed.csv: group has the values patient, control, and all participants are treated as healthy controls; select the controls with --where"
sed 's/,A$/,a/' train_people.csv | awk -F, 'NR == 1 || $4 == "a"' >lower.csv
refused "a site in another case" "lower.csv: 20 participants are from a site that is not in the training data (a; the model has A); use 'kronorm adapt' with at least 5 healthy controls from there, or --unseen prior, which needs no controls but is less sensitive" \
    score m.safetensors -c lower.csv -y train_maps.csv --match common -o lower
works "... can be adapted to" adapt m.safetensors -c lower.csv -y train_maps.csv --match common -o lower.safetensors
check "... which is doubted" said "kronorm adapt: warning: 20 of 20 controls have the IDs of training participants; check whether their site is in the model under another name"
tail -n +2 ctrl_people.csv | head -n 6 | cut -d, -f1 >some.txt
works "people of a list" adapt m.safetensors -c ctrl_people.csv -y ctrl_maps.csv --where 'participant_id in @some.txt' --match common -o listed.safetensors
check "... are those" grep -q '^  Leeds with 6 controls' "$logs/out"

# ---- warnings
people few 13 Leeds 3 25 50
people far 15 Leeds 12 25 50 1 60
people loud 17 Leeds 30 25 50 4
people young 19 Leeds 12 25 8
works "three controls" adapt m.safetensors -c few_people.csv -y few_maps.csv -o few.safetensors
check "... are few" said "kronorm adapt: warning: Leeds has 3 controls; with fewer than 5, the site effect is uncertain and z-scores are less sensitive"
works "a site far off" adapt m.safetensors -c far_people.csv -y far_maps.csv -o far.safetensors
check "... is told" grep -qE '^kronorm adapt: warning: Leeds: the site effect is [0-9.]+ times the typical one; check that units, processing and population match the training sample$' "$logs/err"
works "a site with much noise" adapt m.safetensors -c loud_people.csv -y loud_maps.csv -o loud.safetensors
check "... is told too" grep -qE '^kronorm adapt: warning: Leeds: the noise variance is [0-9.]+ times that of the training sites; check that units and processing match the training sample$' "$logs/err"
works "controls who are young" adapt m.safetensors -c young_people.csv -y young_maps.csv -o young.safetensors
check "... are fine" test ! -s "$logs/err"
works "... for those who are scored" score young.safetensors -c new_people.csv -y new_maps.csv -o young
check "... less so, and that is said" said "kronorm score: warning: age: the controls of Leeds cover less than half of the range of the participants scored there, so the site effect beyond their range is unknown"
check "... once" test "$(grep -c cover "$logs/err")" = 1
works "... not of people as young as they are" score young.safetensors -c young_people.csv -y young_maps.csv -o young2
check "... of whom there is nothing to say" test "$(grep -c cover "$logs/err")" = 0

# ---- how far from training
people wavy 3 "A B C" 60 20 60 0.3 0 1
people wavyctrl 5 Leeds 12 25 50 0.3 0 1
people wavynew 7 Leeds 30 25 50 0.3 0 1
works "a curve along age" fit -c wavy_people.csv -y wavy_maps.csv -o wavy.safetensors --folds 5 -q
works "... at a new site" adapt wavy.safetensors -c wavyctrl_people.csv -y wavyctrl_maps.csv -o wavy_a.safetensors -q
distant() { column "$1" extrapolation_pct | awk '$1 > 99 { n++ } END { print n + 0 }'; }
works "people of it" score wavy_a.safetensors -c wavynew_people.csv -y wavynew_maps.csv -o wavy
check "... are not far from training by being there" test "$(distant wavy/abnormality.tsv)" = 0
check "... nor called so" test "$(grep -c 'far from training' "$logs/err")" = 0
works "... nor are they predicted so" predict wavy_a.safetensors -c wavynew_people.csv -o wavy_p
check "... in any word" test "$(grep -c 'far from training' "$logs/err")" = 0
works "... nor by the prior" score wavy.safetensors -c wavynew_people.csv -y wavynew_maps.csv --unseen prior -o wavy_u
check "... of which other things are said" test "$(grep -c 'far from training' "$logs/err")" = 0
awk -F, -v OFS=, 'NR == 2 { $2 = 150 } NR == 3 { $2 = 97 } { print }' wavynew_people.csv >wavyold_people.csv
works "two who are old" score wavy_a.safetensors -c wavyold_people.csv -y wavynew_maps.csv -o wavy_old
check "... are far, the others are not" test "$(distant wavy_old/abnormality.tsv)" = 2
check "... and named" grep -q '^kronorm score: warning: covariates are far from the training sample (extrapolation_pct above 99) in 2 of 30 participants: wavynew00, wavynew01; ' "$logs/err"
works "centiles of the site" centiles wavy_a.safetensors --over age --at site=Leeds --grid 7 -o wavy_c
check "... are not far from training either" test "$(grep -c 'far from training' "$logs/out")" = 0

done_testing
