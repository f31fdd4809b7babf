#!/bin/sh
# Change between visits: what change writes and what it refuses.
. "$(dirname "$0")/lib.sh"

# train.csv: 60 participants once, 24 responses. visits.csv: 24 participants of a site that training did not have, each twice, c01 to
# c20 controls and p1 to p4 patients. Visits share what is a participant's own: they correlate by .9. p1 has lost 1.5 sd of it,
# p2 nothing; p3 has three visits, p4 one.
awk 'function u() { x = (x * 16807) % 2147483647; return x / 2147483647 }
    function n(  k, s) { s = 0; for (k = 0; k < 12; k++) s += u(); return s - 6 }
    function names(  j, s) { s = ""; for (j = 1; j <= 24; j++) s = s ",r" j; return s }
    function row(age, keep, shift,  j, s) {
        s = ""
        for (j = 1; j <= 24; j++) s = s sprintf(",%.5f", 3 - 0.02 * age + own[j] * keep + n() * sqrt(1 - keep * keep) + shift)
        return s
    }
    function person(  j) { for (j = 1; j <= 24; j++) own[j] = n() }
    BEGIN {
        x = 11
        print "participant_id,age,sex,site" names() >"train.csv"
        for (i = 1; i <= 60; i++) {
            person(); age = 20 + int(50 * u())
            print sprintf("t%02d,%d,%s,%s", i, age, u() < .5 ? "F" : "M", i % 2 ? "A" : "B") row(age, 0, 0) >"train.csv"
        }
        print "participant_id,session,group,age,sex,site" names() >"visits.csv"
        for (i = 1; i <= 24; i++) {
            person(); age = 30 + int(30 * u()); sex = u() < .5 ? "F" : "M"
            id = i <= 20 ? sprintf("c%02d", i) : "p" i - 20; g = i <= 20 ? "control" : "patient"
            last = id == "p4" ? 1 : id == "p3" ? 3 : 2
            for (v = 1; v <= last; v++)
                print id ",ses-" v "," g "," age + v * 1.5 "," sex ",C" row(age, sqrt(.9), id == "p1" && v == 2 ? -1.5 : 0) >"visits.csv"
        }
    }' </dev/null
{ head -n 1 visits.csv; tail -n +2 visits.csv | tac; } >backwards.csv
works "fit" fit -c train.csv -y train.csv --use age,sex,site -o model.safetensors

how="--participant participant_id --visit session --reference group=control"
works "visits of one table" change model.safetensors -c visits.csv -y visits.csv $how -o all
check "... who has one visit is left out, with a warning" grep -qxF \
    "kronorm change: warning: 1 of 24 participants are excluded, because they have only one visit" "$logs/err"
check "... and all is told" grep -qx 'Compared 25 pairs of visits of 23 participants (1 more with one visit): all' "$logs/out"
check "... with the reference" grep -q '^  Reference  20 participants with 20 pairs of visits, regression to the mean -0' "$logs/out"
check "... z, a table, the reference and a summary are written" test "$(ls all | tr '\n' ' ')" = \
    "change.json change.tsv change_z.csv change_z.json reference.json summary.json "
cell() { awk -F '\t' -v c="$3" 'NR == 1 { for (i = 1; i <= NF; i++) k[$i] = i } $1 "_" $2 "_" $3 == "'"$2"'" { print $k[c] }' "$1"; } # file, pair, column
check "a decline is found" test "$(cell all/change.tsv p1_ses-1_ses-2 mean_z_p)" = 0.047619047619047616
check "... with its sign" awk -v z="$(cell all/change.tsv p1_ses-1_ses-2 mean_z)" -v n="$(cell all/change.tsv p1_ses-1_ses-2 n_low)" \
    -v p="$(cell all/change.tsv p1_ses-1_ses-2 n_high)" 'BEGIN { exit !(z < -1.5 && n > 12 && p == 0) }'
check "who is stable is not" awk -v p="$(cell all/change.tsv p2_ses-1_ses-2 mean_z_p)" 'BEGIN { exit !(p > 0.05) }'
check "three visits are two steps and the whole" test "$(awk -F '\t' '$1 == "p3" { print $2, $3, $4, $5 }' all/change.tsv)" = \
    "ses-1 ses-2 consecutive 1.5
ses-2 ses-3 consecutive 1.5
ses-1 ses-3 first_last 3"
json() { /usr/bin/python3 -c 'import json, sys
s = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"; }
check "the reference tells what it is" test "$(json all/reference.json \
    's["participants"], s["pairs"], s["formula"], -1 <= s["gamma"] < 0, s["s0"] > 0, s["of"], s["interval"], s["threshold"]')" = \
    "(20, 20, 'conditional', True, True, 'group=control', {'column': 'age', 'least': 1.5, 'largest': 1.5}, 1.96)"
works "the same model scores" score model.safetensors -c train.csv -y train.csv -o scored
check "the summary has counts, warnings and the line that does it again" test "$(json all/summary.json \
    's["participants"], s["pairs"], s["one_visit"], s["responses"], s["changed"]["with_p"], len(s["warnings"]), s["command"]')" = \
    "(23, 25, 1, 24, 5, 1, 'kronorm change model.safetensors --covariates visits.csv --participant participant_id --visit session --responses visits.csv --reference group=control --output all')"
check "... and says by which model" test "$(json all/summary.json 's["hashes"]["model"]')" = \
    "$(json scored/summary.json 's["hashes"]["model"]')"

works "predict of every visit" predict model.safetensors -c visits.csv --session session --unseen prior -o predicted
oracle() { PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$here/../python/change_oracle.py" "$@"; }
if /usr/bin/python3 -c 'import scipy' 2>/dev/null; then
    check "z and p are those of the formulas, nobody compared with themselves" oracle visits.csv predicted all
    for n in 5 7 8; do
        awk -F, -v n=$n 'NR == 1 || $3 == "patient" || substr($1, 2) + 0 <= n' visits.csv >few.csv
        works "a reference of $n people" change model.safetensors -c few.csv -y few.csv $how -o few$n
        check "... has z and p by its formula" oracle few.csv predicted few$n
    done
else
    skip "z and p are those of the formulas" "scipy is not there"
fi
works "rows in any order, on two threads" change model.safetensors -c backwards.csv -y backwards.csv $how --threads 2 -o backwards
check "... the size of maps is told before" grep -qx "[0-9]* pairs of visits, 24 responses; maps of 2.4 kB" "$logs/err"
check "... are the same z" cmp all/change_z.csv backwards/change_z.csv
cut -d, -f 1-6 visits.csv >people.csv
cut -d, -f 1,2,7- visits.csv >values.csv
cut -d, -f 1,7- visits.csv >plain.csv
works "two tables" change model.safetensors -c people.csv -y values.csv $how -o two
check "... are the same z" cmp all/change_z.csv two/change_z.csv
works "an array, by position" change model.safetensors -c people.csv -y values.csv $how --format npy -o array
check "... as one" test -e array/change_z.npy
works "the whole of another threshold" change model.safetensors -c visits.csv -y visits.csv $how --threshold 1 -o low
check "... counts more" awk -v a="$(cell all/change.tsv p1_ses-1_ses-2 n_low)" -v b="$(cell low/change.tsv p1_ses-1_ses-2 n_low)" \
    'BEGIN { exit !(b > a) }'

awk -F, 'NR == 1 || $3 == "patient" || substr($1, 2) + 0 <= 6' visits.csv >six.csv
works "six controls" change model.safetensors -c six.csv -y six.csv $how -o six
check "... cannot tell of 0.05, which is said" grep -qxF "  Flagged    no p-value can be below 0.14 with this reference sample; 0.05 needs 19 pairs" "$logs/out"
check "... and nobody is expected to have it" test "$(json six/summary.json 's["changed"]["with_p"] > 0, s["changed"]["expected"]')" = "(True, 0.0)"

# ---- a reference that the model keeps
works "a model that keeps the reference" change model.safetensors -c visits.csv -y visits.csv $how --save kept.safetensors -o saved
check "... says so" grep -qx '  Model      kept.safetensors contains this reference' "$logs/out"
grep -v ',control,' visits.csv >patients.csv
works "patients by themselves" change kept.safetensors -c patients.csv -y patients.csv --visit session -o alone
check "... have the z that they had with the controls at hand" test "$(cat alone/change_z.csv)" = "$(sed -n '/^p[ae0-9]/p' all/change_z.csv)"
check "... and the p" test "$(cut -f 1-7,9- alone/change.tsv)" = "$(sed -n '/^p[ae0-9]/p' all/change.tsv | cut -f 1-7,9-)"
grep '^participant_id\|,ses-1,control,' visits.csv >healthy.csv
works "adapting it to the site of the controls, which it did not know" adapt kept.safetensors -c healthy.csv -y healthy.csv -o later.safetensors
check "... leaves the reference out, which is said" grep -qxF "kronorm adapt: warning: the change reference in the model is from participants at sites that were new to it and is left out; make it again with the adapted model ('kronorm change' with --save)" "$logs/err"
misused "... and there is none" ": --reference is needed, because later.safetensors has no change reference" \
    change later.safetensors -c patients.csv -y patients.csv --visit session -o no
head -n 3 patients.csv >one.csv
works "one patient" change kept.safetensors -c one.csv -y one.csv --visit session -o one
check "... has the same z" test "$(cat one/change_z.csv)" = "$(sed -n '/^p[ae1]/p' all/change_z.csv)"
works "info of it" info kept.safetensors
check "... says what it keeps" grep -qxF "  change between visits: reference of 20 participants in 20 pairs of visits, 1.5 to 1.5 apart in age; only their variances, means and sorted values are stored" "$logs/out"
works "info of the other" info model.safetensors
check "... says nothing" sh -c "! grep -q 'change between' '$logs/out'"
check "no name of a control is in it" sh -c '! grep -qaE "\"c(0[1-9]|1[0-9]|20)\"" kept.safetensors'
works "score by it" score kept.safetensors -c train.csv -y train.csv -o by_kept
works "... as by the other" score model.safetensors -c train.csv -y train.csv -o by_model
check "... is the same" cmp by_kept/z.csv by_model/z.csv
works "another threshold than that of the reference" change kept.safetensors -c one.csv -y one.csv --visit session --threshold 1 -o other
check "... has no p of counts, which is said" sh -c "test '$(cell other/change.tsv p1_ses-1_ses-2 n_low_p)' = n/a && grep -qxF \
    'kronorm change: warning: kept.safetensors stores the counts of its reference only for |z| > 1.96, so n_low_p and n_high_p are n/a with --threshold 1' '$logs/err'"

# ---- missing values, moves, intervals
awk -F, 'BEGIN { OFS = "," } $1 == "c01" && $2 == "ses-1" { $7 = "n/a" } $1 ~ /^c/ && $1 >= "c05" { $8 = "" } $1 == "p2" && $2 == "ses-2" { $9 = "n/a" } { print }' visits.csv >gaps.csv
works "missing responses" change model.safetensors -c gaps.csv -y gaps.csv $how -o gaps
z() { awk -F, -v id="$2" -v c="$3" 'NR == 1 { for (i = 1; i <= NF; i++) k[$i] = i } $1 == id { print $k[c] }' "$1"; } # file, pair, response
check "... a response with values of four controls has no z" test "$(cut -d, -f 3 gaps/change_z.csv | sort -u | tr '\n' ' ')" = "n/a r2 "
check "... a missing cell has none, and counts for nothing" test \
    "$(z gaps/change_z.csv c01_ses-1_ses-2 r1) $(z gaps/change_z.csv p2_ses-1_ses-2 r3) $(cell gaps/change.tsv p2_ses-1_ses-2 n_responses)" = "n/a n/a 22"
check "... all others have one" test "$(z gaps/change_z.csv c02_ses-1_ses-2 r1)" != n/a
sed 's/^p2,ses-2,patient,\([^,]*\),\(.\),C/p2,ses-2,patient,\1,\2,A/' visits.csv >moved.csv
works "a scanner that was changed" change model.safetensors -c moved.csv -y moved.csv $how -o moved
check "... is warned of" grep -qxF "kronorm change: warning: the visits of 1 pair are from different sites, so site differences count as change: p2_ses-1_ses-2" "$logs/err"
check "... and marked" test "$(cell moved/change.tsv p2_ses-1_ses-2 different_sites) $(cell moved/change.tsv p1_ses-1_ses-2 different_sites)" = "1 0"
sed 's/^\(c04,ses-2,control,[^,]*,.,\)./\1Q/' visits.csv >gone.csv
works "one of the reference who moved" change model.safetensors -c gone.csv -y gone.csv $how -o gone
check "... is no part of it" test "$(cell gone/change.tsv c04_ses-1_ses-2 reference) $(cell gone/change.tsv c05_ses-1_ses-2 reference)" = "0 1"
check "... and that is said" grep -qxF "kronorm change: warning: 1 participant of --reference group=control was at different sites at the two visits and is excluded from the reference" "$logs/err"
awk -F, 'BEGIN { OFS = "," } { print $0, NR == 1 ? "months" : $1 == "p2" && $2 == "ses-2" ? 40 : $1 == "p1" ? "n/a" : (substr($2, 5) - 1) * 12 }' visits.csv >months.csv
works "another measure of time" change model.safetensors -c months.csv -y months.csv $how --interval months -o months
check "... is the interval" test "$(cell months/change.tsv c01_ses-1_ses-2 interval) $(cell months/change.tsv p1_ses-1_ses-2 interval)" = "12 n/a"
check "... and what is far from the reference's is warned of" grep -qxF "kronorm change: warning: the interval of 1 pair is less than half or more than twice that of the reference (12 to 12, column months), so its change cannot be compared with the reference: p2_ses-1_ses-2" "$logs/err"
sed '/^c02/s/,control,/,patient,/; /^c03,ses-2/s/,control,/,patient,/' visits.csv >mixed.csv
works "who is a control at one visit only" change model.safetensors -c mixed.csv -y mixed.csv $how -o mixed
check "... is none, with a warning" sh -c "test '$(cell mixed/change.tsv c03_ses-1_ses-2 reference)' = 0 && grep -qxF \
    'kronorm change: warning: --reference group=control applies to only some visits of 1 participant, excluded from the reference: c03' '$logs/err'"
sed 's/ses-1/m6/; s/ses-2/m12/; s/ses-3/m18/' visits.csv >named.csv
works "visits by names with numbers" change model.safetensors -c named.csv -y named.csv $how -o named
check "... are in their order" test "$(awk -F '\t' '$1 == "p1" { print $2, $3 }' named/change.tsv)" = "m6 m12"
awk -F, 'BEGIN { OFS = "," } { sub(/ses-1/, "pre"); sub(/ses-2/, "post"); sub(/ses-3/, "later"); print $0, NR == 1 ? "year" : 2020 }' visits.csv >words.csv
works "visits by names without numbers, in one year" change model.safetensors -c words.csv -y words.csv $how --interval year -o words
check "... may be read backwards, which is warned of" grep -qxF "kronorm change: warning: neither a number nor a time shows which visit of 24 pairs is the first, so 'post' is taken to precede 'pre' in alphabetical order; use numbers or dates in --visit" "$logs/err"
awk -F, 'BEGIN { OFS = "," } NR > 1 && $1 <= "c06" && $2 == "ses-2" { x = $0; sub(/ses-2/, "ses-3"); $4 += 1.5; $7 += 0.01 * NR; print x } { print }' visits.csv >longer.csv
works "controls with three visits" change model.safetensors -c longer.csv -y longer.csv $how -o longer
check "... are one person each" test "$(json longer/reference.json 's["participants"], s["pairs"]')" = "(20, 26)"

# ---- sites
near() { # two tables of z, alike but for rounding
    paste -d, "$1" "$2" | awk -F, 'NR > 1 { n = NF / 2; for (i = 2; i <= n; i++) if (($i - $(i + n)) ^ 2 > 1e-6) bad = 1; if ($1 != $(n + 1)) bad = 1 }
        END { exit bad || NR < 20 }'
}
awk -F, 'BEGIN { OFS = "," } NR > 1 { for (i = 7; i <= NF; i++) $i += 0.7 } { print }' visits.csv >shifted.csv
works "a site that is 0.7 higher" change model.safetensors -c shifted.csv -y shifted.csv $how -o shifted
check "... has the same changes" near shifted/change_z.csv two/change_z.csv
check "... and nobody minds where all are of it" sh -c "! grep -q 'passes for change' '$logs/err'"
awk -F, 'BEGIN { OFS = "," } NR > 1 && $1 ~ /^p/ { $6 = "D"; for (i = 7; i <= NF; i++) $i += 2 } { print }' visits.csv >clinic.csv
works "patients of another site than the controls, neither known" change model.safetensors -c clinic.csv -y clinic.csv $how -o clinic
check "... are warned of" grep -qF "kronorm change: warning: the first visits of 5 pairs and those of the reference are from new or different sites, so site effects bias their change scores; use 'kronorm adapt' with healthy controls first: p1_ses-1_ses-2, " "$logs/err"
sed 's/,C,/,A,/' visits.csv | sed '/^p1,/s/,A,/,E,/' >known.csv
works "a reference of a known site, kept" change model.safetensors -c known.csv -y known.csv $how --save known.safetensors -o known
check "... a patient of none is warned of" grep -qF "the first visits of 1 pair and those of the reference are from new or different sites" "$logs/err"
grep '^participant_id\|^p[12],' known.csv >two_patients.csv
works "... and later too" change known.safetensors -c two_patients.csv -y two_patients.csv --visit session -o known2
check "... that one alone" grep -q "healthy controls first: p1_ses-1_ses-2$" "$logs/err"
sed 's/,B,/,A,/' train.csv >site.csv
works "a model of one site" fit -c site.csv -y site.csv --use age,sex,site --batch site -o site.safetensors
works "... takes visits at another" change site.safetensors -c visits.csv -y visits.csv $how -o site
check "... which is told" grep -qx '48 visits are at sites that are not in the training data; site effects cancel if both visits and the reference are from one site' "$logs/err"
grep '^participant_id\|,ses-1,control,' visits.csv >healthy.csv
works "a model adapted to the site" adapt model.safetensors -c healthy.csv -y healthy.csv -o adapted.safetensors
works "... knows it" change adapted.safetensors -c visits.csv -y visits.csv $how --save both.safetensors -o adapted
check "... and nobody is told of" sh -c "! grep -q 'training did not have' '$logs/err'"
check "... which is the same change" near adapted/change_z.csv two/change_z.csv
works "both are kept" change both.safetensors -c one.csv -y one.csv --visit session -o both
check "... as z" test "$(cat both/change_z.csv)" = "$(sed -n '/^p[ae1]/p' adapted/change_z.csv)"

# ---- what is refused
kronorm_change() { promise=$1 sentence=$2 file=$3; shift 3; refused "$promise" "$sentence" change model.safetensors -c "$file" -y "$file" "$@" -o no; }
awk -F, 'NR == 1 || $3 == "patient" || substr($1, 2) + 0 <= 4' visits.csv >four.csv
kronorm_change "four controls" "four.csv: 4 participants with --reference group=control have two visits, but at least 5 are needed" four.csv $how
kronorm_change "nobody who is a control" "visits.csv: no participant has group 'healthy' (named in --reference)" visits.csv \
    --visit session --reference group=healthy
kronorm_change "a column that is not there" "visits.csv has no column 'dx' for --reference" visits.csv --visit session --reference dx=1
kronorm_change "visits of no column" "visits.csv has no column 'wave' (named in --visit); its columns are participant_id, session, group, age, sex, ..." visits.csv \
    --visit wave --reference group=control
kronorm_change "people of no column" "visits.csv has no column 'who' (named in --participant); its columns are participant_id, session, group, age, sex, ..." visits.csv \
    --participant who --visit session --reference group=control
kronorm_change "an interval of no column" "visits.csv has no column 'years' (named in --interval); its columns are participant_id, session, group, age, sex, ..." visits.csv $how --interval years
kronorm_change "an interval that is no number" "visits.csv line 2: sex is '$(sed -n 2p visits.csv | cut -d, -f 5)', but must be a number" visits.csv $how --interval sex
sed 's/^p1,ses-2/p1,ses-1/' visits.csv >twice.csv
kronorm_change "a visit that is there twice" "twice.csv: visit 'ses-1' of p1 is on lines 42 and 43, but must occur only once" twice.csv $how
sed 's/^\(p1,ses-2,patient\),[^,]*/\1,20/' visits.csv >young.csv
kronorm_change "visits that are not in order" "young.csv line 43: age of p1 is 20 at visit 'ses-2', but was $(sed -n 42p visits.csv | cut -d, -f 4) at visit 'ses-1'; the names of visits must sort in order of time" young.csv $how
sed -n '1p;/ses-1/p' visits.csv >single.csv
kronorm_change "one visit of everybody" "single.csv: no participant has two visits; check --visit session" single.csv $how
sed 's/^p1,ses-2/p1,/' visits.csv >unnamed.csv
kronorm_change "a row without a visit" "unnamed.csv line 43: session is '', but --visit requires a visit in every row" unnamed.csv $how
refused "responses that do not tell visits apart" "plain.csv: 23 IDs occur more than once, first on lines 2 and 3: c01, c02, c03, c04, c05, ...; name the column of visits in --visit, or use image paths that contain ses-" \
    change model.safetensors -c people.csv -y plain.csv $how -o no
misused "no reference" ": --reference is needed, because model.safetensors has no change reference" \
    change model.safetensors -c visits.csv -y visits.csv --visit session -o no
misused "a reference to keep that is not given" ": --save requires --reference, whose change statistics it stores in the model" \
    change kept.safetensors -c visits.csv -y visits.csv --visit session --save again.safetensors -o no
misused "no visits" " change: option --visit is required (see 'kronorm change --help')" change model.safetensors -c visits.csv -y visits.csv -o no
misused "a reference that is no condition" ": --reference is 'control', but must be COLUMN=VALUE" \
    change model.safetensors -c visits.csv -y visits.csv --visit session --reference control -o no
refused "results that are there" "all/change_z.csv already exists; use --force to replace it" \
    change model.safetensors -c visits.csv -y visits.csv $how -o all
works "... are replaced by --force" change model.safetensors -c visits.csv -y visits.csv $how --threshold 1 --force -o all
check "... by the new ones" cmp all/change.tsv low/change.tsv
refused "a model that is there" "kept.safetensors already exists; use --force to replace it" \
    change model.safetensors -c visits.csv -y visits.csv $how --save kept.safetensors -o no
refused "the model itself" "model.safetensors is an input of this run, so it is not replaced; choose another output" \
    change model.safetensors -c visits.csv -y visits.csv $how --save model.safetensors --force -o no

# ---- images: the maps of the study as visits, without ids that say which map follows which
"$KRONORM" simulate --samples 24 --patients 4 -o study -q
c=study/train_participants.tsv
works "fit of images" fit -c $c -y study/train_images.txt -m study/mask.nii.gz -P 3 -o images.safetensors
awk -F '\t' 'BEGIN { OFS = "\t" } NR == 1 { print $0, "group", "visit"; next } { for (v = 1; v < 3; v++) print $0, "control", v }' $c >scans.tsv
awk 'NR == FNR { path[NR] = $NF; id[NR] = $1; n = NR; next } FNR > 1 { k = int(FNR / 2); v = FNR % 2 + 1
    print id[k], path[v == 1 ? k : k % n + 1], v }' study/train_images.txt scans.tsv | while read -r id path v; do
    mkdir -p "bids/$id/ses-$v"
    cp "study/$path" "bids/$id/ses-$v/${id}_ses-$v.nii.gz"
    echo "bids/$id/ses-$v/${id}_ses-$v.nii.gz"
done >scans.txt
works "visits as images in folders of BIDS" change images.safetensors -c scans.tsv -y scans.txt --visit visit --reference group=control -o scans
check "... are one image, and tables" test "$(ls scans | tr '\n' ' ')" = "change.json change.tsv change_z.nii.gz reference.json summary.json "
check "... of a volume a pair" test "$(PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -c 'import gzip, struct
print(struct.unpack("<8h", gzip.open("scans/change_z.nii.gz").read()[40:56])[4])')" = "$(tail -n +2 scans/change.tsv | grep -c .)"
done_testing
