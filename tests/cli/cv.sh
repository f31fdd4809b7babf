#!/bin/sh
# Each participant is scored by a model fitted without it: outputs of cv, that no held-out participant is used, refusals.
. "$(dirname "$0")/lib.sh"

# 48 participants of three sites, 12 responses; the responses stand in another order than the participants.
people() { # seed
    awk -v seed="$1" 'BEGIN {
        srand(seed); print "participant_id,age,sex,site,family,group" >"people.csv"
        printf "participant_id" >"brains.csv"
        for (j = 1; j <= 12; j++) printf ",r%d", j >"brains.csv"
        print "" >"brains.csv"
        for (i = 1; i <= 48; i++) {
            age = 20 + 60 * rand(); s = i % 3; shared = rand() + rand() + rand() - 1.5
            printf "s%02d,%.2f,%s,%s,f%d,%s\n", i, age, i % 2 ? "F" : "M", substr("ABC", s + 1, 1), (i + 1) / 2,
                i % 8 == 5 ? "patient" : "control" >"people.csv"
            line = sprintf("s%02d", i)
            for (j = 1; j <= 12; j++)
                line = line sprintf(",%.5f", 50 + 0.02 * age * (j % 3) + 0.7 * s + shared * (j % 4) + rand() + rand())
            row[i] = line
        }
        for (i = 48; i >= 1; i--) print row[i] >"brains.csv"
    }'
}
# rows of a table whose id folds.tsv has with this condition on its columns ($2 fold, $6 control)
some() { awk -F '\t' "NR > 1 && ($3) { print \$1 }" "$2/folds.tsv" >ids.txt
    awk -F '[,\t]' 'NR == FNR { want[$1] = 1; next } FNR == 1 || $1 in want' ids.txt "$1"; } # table, folder, condition
ids() { awk -F '[,\t]' 'NR > 1 { print $1 }' "$1"; }
sorted() { sort "$1" >"$1.sorted"; }
column() { awk -F '\t' -v name="$2" 'NR == 1 { for (c = 1; c <= NF; c++) if ($c == name) at = c; next } { print $at }' "$1"; }
model="--use age,sex,site"

people 3
works "four folds" cv -c people.csv -y brains.csv $model --folds 4 -o cv
check "... say what they are" grep -qx 'fold 2 of 4: 12 participants scored with a model of 36' "$logs/err"
check "... and how well it went" grep -qx 'Cross-validated 48 participants in 4 folds, 12 responses: cv' "$logs/out"
check "... write what score writes, folds and sites" test "$(ls cv | tr '\n' ' ')" = \
    "abnormality.json abnormality.tsv folds.json folds.tsv metrics.json metrics.tsv metrics_by_site.json metrics_by_site.tsv scored_participants.json scored_participants.tsv summary.json z.csv z.json "
ids people.csv >order.txt
for file in z.csv abnormality.tsv scored_participants.tsv folds.tsv; do
    ids "cv/$file" >got.txt
    check "... $file has everybody in the order of the table" cmp order.txt got.txt
done
check "... folds are of nearly one size" test "$(column cv/folds.tsv fold | sort | uniq -c | awk '{ print $1 }' | tr '\n' ' ')" = "12 12 12 12 "
check "... each by a model of the others" test "$(column cv/folds.tsv n_train | sort -u)" = 36
check "... and sites are told apart" test "$(cut -f 1,2 cv/metrics_by_site.tsv | tr '\t\n' ' /')" = "site n/A 16/B 16/C 16/"
check "nobody is in training" test "$(column cv/abnormality.tsv in_training | sort -u)" = 0

# ---- by hand: the model of a fold is that of a fit of the others, to the byte
for fold in 1 3; do
    some people.csv cv "\$2 != $fold" >train_x.csv
    some brains.csv cv "\$2 != $fold" >train_y.csv
    some people.csv cv "\$2 == $fold" >test_x.csv
    some brains.csv cv "\$2 == $fold" >test_y.csv
    works "fold $fold by hand" fit -c train_x.csv -y train_y.csv $model -o hand.safetensors --force
    works "... scores those who were left out" score hand.safetensors -c test_x.csv -y test_y.csv --unseen prior -o hand --force
    for file in z.csv abnormality.tsv scored_participants.tsv; do
        some "cv/$file" cv "\$2 == $fold" >part.txt
        sorted part.txt
        sorted "hand/$file"
        check "... $file is the same, to the byte" cmp part.txt.sorted "hand/$file.sorted"
    done
done

# ---- a scored participant has no influence on its model
awk -F , 'BEGIN { OFS = "," } $1 == "s07" { for (j = 2; j <= 13; j++) $j = 1000 * $j + j } { print }' brains.csv >wild.csv
works "one person with wild values" cv -c people.csv -y wild.csv $model --folds 4 -o wild
cmp -s cv/folds.tsv wild/folds.tsv
check "... is in the same fold" test "$(cut -f 1,2 cv/folds.tsv)" = "$(cut -f 1,2 wild/folds.tsv)"
mine=$(awk -F '\t' '$1 == "s07" { print $2 }' cv/folds.tsv)
some cv/z.csv cv "\$2 == $mine && \$1 != \"s07\"" >a.csv
some wild/z.csv cv "\$2 == $mine && \$1 != \"s07\"" >b.csv
check "... changes nothing of the model that judges that fold" cmp a.csv b.csv
some cv/z.csv cv "\$2 != $mine" >a.csv
some wild/z.csv cv "\$2 != $mine" >b.csv
check "... and all others" sh -c '! cmp -s a.csv b.csv'

# ---- the same again
works "the same on two threads" cv -c people.csv -y brains.csv $model --folds 4 --threads 2 -o again
for file in z.csv abnormality.tsv metrics.tsv scored_participants.tsv folds.tsv metrics_by_site.tsv; do
    check "... is $file to the byte" cmp "cv/$file" "again/$file"
done
works "another seed" cv -c people.csv -y brains.csv $model --folds 4 --seed 2 -o other
check "... deals other folds" sh -c '! cmp -s cv/folds.tsv other/folds.tsv'
works "two people a fold" cv -c people.csv -y brains.csv $model --folds 24 -P 2 -o pairs
check "... are 24 folds" test "$(column pairs/folds.tsv fold | sort -u | wc -l)" -eq 24
works "one table, some maps" cv -c people.csv -y brains.csv $model --folds 3 --write yhat,fdr --format npy -o maps
check "... has the maps that were asked for" test "$(ls maps | grep npy | tr '\n' ' ')" = "fdr.npy yhat.npy "

# ---- participants and groups stay whole
awk -F , 'NR == FNR { y[$1] = substr($0, length($1) + 2); next } { print $0 "," y[$1] }' brains.csv people.csv |
    awk -F , 'BEGIN { OFS = "," } NR > 1 { $1 = sprintf("s%02d", int((substr($1, 2) + 2) / 3)) } { print }' >visits.csv
whole() { # folder, column of the table: nobody of one value is in two folds
    awk -F '[,\t]' -v col="$2" 'NR == FNR { if (FNR > 1) fold[FNR] = $2; next }
        FNR == 1 { for (c = 1; c <= NF; c++) if ($c == col) at = c; next }
        { if ($at in of && of[$at] != fold[FNR]) bad = 1; of[$at] = fold[FNR] } END { exit bad }' "$1/folds.tsv" "$3"
}
works "three visits a person" cv -c visits.csv -y visits.csv $model --targets 'r*' --folds 4 -o visits
check "... are in one fold" whole visits participant_id visits.csv
works "... also where noise is not shared" cv -c visits.csv -y visits.csv $model --targets 'r*' --folds 4 --group none -o none
check "... are in one fold" whole none participant_id visits.csv
works "families" cv -c people.csv -y brains.csv $model --group family --folds 5 -P 2 -o families
check "... are in one fold" whole families family people.csv

# ---- labelled participants are judged, and teach nothing
works "a label" cv -c people.csv -y brains.csv $model --folds 4 --cases group=patient -o label
check "... is a column" test "$(column label/abnormality.tsv label | sort | uniq -c | awk '{ print $1 }' | tr '\n' ' ')" = "42 6 "
check "... of whom no model learns" test "$(column label/folds.tsv n_train | sort -n | tail -1)" -lt 36
awk -F , 'BEGIN { OFS = "," } NR == FNR { sick[$1] = $6 == "patient"; next } FNR > 1 && sick[$1] { for (j = 2; j <= 13; j++) $j = $j + 9 } { print }' \
    people.csv brains.csv >sick.csv
cut -d , -f 1-4,6 people.csv | sed '1s/group/outcome/' >outcome.csv
works "sicker patients" cv -c people.csv -y sick.csv $model --folds 4 --cases group=patient -o sick
awk -F , 'NR == FNR { sick[$1] = $6 == "patient"; next } !sick[$1]' people.csv label/z.csv >a.csv
awk -F , 'NR == FNR { sick[$1] = $6 == "patient"; next } !sick[$1]' people.csv sick/z.csv >b.csv
check "... change no z of others" cmp a.csv b.csv
check "... which is printed" grep -qE '^  AUC, group=patient against others: deviance [0-9.]+, extreme values 1.00$' "$logs/out"
check "... and are found" /usr/bin/python3 -c 'import json; s = json.load(open("sick/summary.json")); assert s["AUC"]["extreme_z"]["auc"] == 1.0, s["AUC"]'
works "a label of any name, and covariates by default" cv -c outcome.csv -y sick.csv --folds 4 -P 2 --cases outcome=patient -o outcome
check "... is no covariate" test "$(head -1 outcome/scored_participants.tsv | grep -c outcome) $(column outcome/abnormality.tsv unseen_level | sort -u)" = "0 0"
misused "... also where it is asked for" ": outcome.csv: outcome cannot be a covariate, because it is the column of --cases; omit it from --use" \
    cv -c outcome.csv -y sick.csv --use age,outcome --cases outcome=patient -o no
check "... metrics are of the others" test "$(cut -f 2 label/metrics_by_site.tsv | awk '{ n += $1 } END { print n }')" -eq 42

# ---- one site after the other
works "one site after the other" cv -c people.csv -y brains.csv $model --leave-out site --controls 6 -o leave
check "... as the prior has it, and adapted" test "$(cut -f 1-4 leave/metrics_by_site.tsv | tr '\t\n' ' /')" = \
    "site how n_controls n/A prior 0 16/A adapted 6 10/B prior 0 16/B adapted 6 10/C prior 0 16/C adapted 6 10/"
works "a site that is no covariate" cv -c people.csv -y brains.csv -P 2 --use age --leave-out site -o bare -q
check "... has no prior" test "$(cut -f 2 bare/metrics_by_site.tsv | sort -u | tr '\n' ' ')" = "how none "
check "... in a folder of their own" test "$(ls leave/adapted | tr '\n' ' ')" = "abnormality.json abnormality.tsv metrics.json metrics.tsv scored_participants.json scored_participants.tsv summary.json z.csv z.json "
check "... levels and controls are in folds.tsv" test "$(head -1 leave/folds.tsv | tr '\t' ' ')" = "participant_id fold n_train components level control n_sites"
check "... everybody is at a site that is new" test "$(column leave/abnormality.tsv site_adapted | sort -u) $(column leave/adapted/abnormality.tsv site_adapted | sort -u)" = "0 1"
some people.csv leave '$5 != "B"' >train_x.csv
some brains.csv leave '$5 != "B"' >train_y.csv
some people.csv leave '$5 == "B"' >test_x.csv
some brains.csv leave '$5 == "B"' >test_y.csv
works "a site by hand" fit -c train_x.csv -y train_y.csv $model -o hand.safetensors --force
works "... with the prior" score hand.safetensors -c test_x.csv -y test_y.csv --unseen prior -o hand --force
some leave/z.csv leave '$5 == "B"' >part.txt
sorted part.txt
sorted hand/z.csv
check "... is the same, to the byte" cmp part.txt.sorted hand/z.csv.sorted
some people.csv leave '$5 == "B" && $6 == 1' >controls_x.csv
some brains.csv leave '$5 == "B" && $6 == 1' >controls_y.csv
some people.csv leave '$5 == "B" && $6 == 0' >test_x.csv
some brains.csv leave '$5 == "B" && $6 == 0' >test_y.csv
works "... adapted by hand" adapt hand.safetensors -c controls_x.csv -y controls_y.csv -o adapted.safetensors
works "... and scored" score adapted.safetensors -c test_x.csv -y test_y.csv -o hand --force
some leave/adapted/z.csv leave '$5 == "B"' >part.txt
sorted part.txt
sorted hand/z.csv
check "... is the same, to the byte" cmp part.txt.sorted hand/z.csv.sorted
# each participant has two visits, of which one in four is labelled: no participant is scored by a model adapted on their own other visit
awk -F , 'BEGIN { OFS = "," } NR > 1 { $1 = sprintf("s%02d", int((NR - 2) / 6) * 3 + (NR - 2) % 3); $6 = NR % 8 == 5 ? "patient" : "control" } { print }' people.csv >twice_x.csv
awk -F , 'NR == FNR { y[$1] = substr($0, length($1) + 2); next } FNR == 1 { print $0 "," y[$1]; next }
    { print $0 "," y[sprintf("s%02d", FNR - 1)] }' brains.csv twice_x.csv >twice.csv
works "visits that are labelled" cv -c twice.csv -y twice.csv $model --targets 'r*' --leave-out site --controls 4 --cases group=patient -P 2 -o twice
check "... have no other visit among the controls" awk -F '[,\t]' 'NR == FNR { if (FNR > 1) { id[FNR] = $1 $5; control[FNR] = $6; n += $6 } next }
    FNR > 1 { if ($6 == "patient") ill[id[FNR]] = 1 } END { for (k in id) if (control[k] && id[k] in ill) bad = 1; exit bad || n < 12 }' twice/folds.tsv twice.csv
awk -F , 'BEGIN { OFS = "," } { $6 = NR == 1 ? "scanner" : $4 == "B" && ++n <= 2 ? "y" : "x" } { print }' people.csv >scanners.csv
works "few controls" cv -c people.csv -y brains.csv $model --leave-out site --controls 3 -P 2 -o three
check "... are said once" grep -qxF "kronorm cv: warning: in 3 of 3 folds, such as: A has 3 controls; with fewer than 5, the site effect is uncertain and z-scores are less sensitive" "$logs/err"
check "... and not of every site" test "$(grep -c 'fewer than 5' "$logs/err")" -eq 1
works "two batches" cv -c scanners.csv -y brains.csv --use age,site,scanner --batch site,scanner --leave-out site --controls 3 -P 2 -o scanners
check "... of whose combinations one has no control" grep -qxF "kronorm cv: warning: scanners/adapted: 2 of 39 participants have a combination of batch levels without controls and are scored without adaptation (see column site_adapted)" "$logs/err"
works "too few for controls" cv -c people.csv -y brains.csv $model --leave-out site --controls 16 -P 2 -o few
check "... is said once" grep -qxF "kronorm cv: warning: 3 of 3 levels of site have too few participants for 16 controls and one to score, and are scored without adaptation: A, B, C" "$logs/err"
check "... and nothing is adapted" test "$(ls few | grep -c adapted)" -eq 0
cp -r leave stale
works "the same where an earlier run adapted" cv -c people.csv -y brains.csv --use age,sex --folds 3 -P 2 --force -o stale
check "... leaves nothing of that" test "$(ls stale | tr '\n' ' ')" = "abnormality.json abnormality.tsv folds.json folds.tsv metrics.json metrics.tsv scored_participants.json scored_participants.tsv summary.json z.csv z.json "
works "a column that is no covariate" cv -c people.csv -y brains.csv --use age,sex --leave-out site -P 2 -o apart
check "... leaves nothing to adapt" grep -qxF "kronorm cv: warning: the column of --leave-out site is not a batch effect of the model, so --controls is ignored" "$logs/err"
awk -F , 'BEGIN { OFS = "," } $1 == "s10" { $4 = "D" } { print }' people.csv >alone.csv
works "a level of one person" cv -c alone.csv -y brains.csv $model --folds 4 -P 2 -o alone
check "... is said once" grep -qxF "kronorm cv: warning: 1 of 48 participants have a level that occurs in no other fold and are scored with the prior over levels (see columns unseen_level and site_adapted)" "$logs/err"

# 1, 2 and a single 3: a category of all participants, also where training has two numbers
awk -F , 'BEGIN { OFS = "," } NR > 1 { $4 = $1 == "s10" ? 3 : 1 + NR % 2 } { print }' people.csv >codes.csv
works "a code of one person" cv -c codes.csv -y brains.csv $model --folds 4 -P 2 -o codes
check "... is a site that nobody else has" test "$(awk -F '\t' '$1 == "s10" { print $23, $24 }' codes/abnormality.tsv)" = "0 0"
awk -F , 'BEGIN { OFS = "," } NR > 1 { $5 = $1 == "s10" ? 2 : NR % 2 } { print }' people.csv >doses.csv
works "three numbers, one of them once" cv -c doses.csv -y brains.csv --use age,family --folds 4 -P 2 -o doses
check "... are numbers in every fold" test "$(column doses/abnormality.tsv unseen_level | sort -u)" = 0

# ---- what is missing, and other kinds of responses
awk -F , 'BEGIN { OFS = "," } $1 == "s03" { $4 = "n/a" } $1 == "s09" { for (j = 2; j <= 13; j++) $j = "n/a" } { print }' brains.csv >gaps.csv
works "missing cells" cv -c people.csv -y gaps.csv $model --folds 4 -P 2 -o gaps
check "... are missing in z" test "$(awk -F , '$1 == "s03" { print $4 }' gaps/z.csv)" = "n/a"
check "... whoever has no value is not judged, and it is said why" grep -q '^s09	dropped	no finite response' gaps/scored_participants.tsv
check "... nor in z" test "$(grep -c s09 gaps/z.csv)" -eq 0
works "one site" cv -c people.csv -y brains.csv --use age,sex --folds 4 -P 2 -o onesite
check "... has no metrics by site" test "$(ls onesite | grep -c site)" -eq 0
works "a cohort of images" simulate --samples 24 --patients 0 -o cohort
works "... held out" cv -c cohort/participants.tsv -y cohort/images.txt -m cohort/mask.nii.gz --use age,sex --folds 2 -P 2 --format npy -o images
awk -F '\t' 'NR > 1 && $2 != 2 { print $1 }' images/folds.tsv >ids.txt
awk -F '\t' 'NR == FNR { want[$1] = 1; next } FNR == 1 || $1 in want' ids.txt cohort/participants.tsv >train.tsv
awk -F '\t' 'NR == FNR { want[$1] = 1; next } FNR == 1 || !($1 in want)' ids.txt cohort/participants.tsv >test.tsv
works "... by hand" fit -c train.tsv -y cohort/images.txt --match common -m cohort/mask.nii.gz --use age,sex -P 2 -o hand.safetensors --force
works "... scored" score hand.safetensors -c test.tsv -y cohort/images.txt --match common --format npy -o imagehand
check "... are the same, to the byte" /usr/bin/python3 -c '
import csv, numpy
z = numpy.load("images/z.npy"); order = [r["participant_id"] for r in csv.DictReader(open("images/scored_participants.tsv"), delimiter="\t") if r["status"] == "used"]
h = numpy.load("imagehand/z.npy"); who = [r["participant_id"] for r in csv.DictReader(open("imagehand/scored_participants.tsv"), delimiter="\t") if r["status"] == "used"]
assert len(who) == 12 and all((z[order.index(w)].tobytes() == h[i].tobytes()) for i, w in enumerate(who))'

# ---- lists
works "a test list" cv -c people.csv --split test=.25,stratify=site -o lists
check "... and one to train on" test "$(ls lists | tr '\n' ' ')" = "folds.json folds.tsv test.txt train.txt "
check "... with sites in proportion" test "$(awk -F '\t' '$2 == "test" { print $3 }' lists/folds.tsv | sort | uniq -c | awk '{ print $1 }' | tr '\n' ' ')" = "4 4 4 "
check "... everybody in one of them" test "$(sort lists/train.txt lists/test.txt | uniq | wc -l) $(wc -l <lists/test.txt)" = "48 12"
works "... families whole" cv -c people.csv --split test=.25 --group family -o listed
check "... are in one list" whole listed family people.csv

# ---- what is refused
refused "more folds than people" "--folds 49 is too large for 48 participants; use at most as many folds as there are of these" cv -c people.csv -y brains.csv $model --folds 49 -o no
refused "... than families" "--folds 25 is too large for 24 groups that must stay whole; use at most as many folds as there are of these" \
    cv -c people.csv -y brains.csv $model --group family --folds 25 -o no
refused "a column that is not there" "people.csv has no column 'scanner' (named in --leave-out); its columns are participant_id, age, sex, site, family, ..." \
    cv -c people.csv -y brains.csv $model --leave-out scanner -o no
refused "two levels" "people.csv: sex has 2 levels in 48 participants; --leave-out needs at least 3 levels" \
    cv -c people.csv -y brains.csv $model --leave-out sex -o no
refused "a level for everybody" "people.csv: age has 48 levels in 48 participants; --leave-out needs at least 3 levels, and at most one per two participants" \
    cv -c people.csv -y brains.csv $model --leave-out age -o no
misused "two ways at once" ": --leave-out and --folds cannot be combined; choose one" cv -c people.csv -y brains.csv $model --leave-out site --folds 3 -o no
misused "controls of nothing" ": --controls needs --leave-out" cv -c people.csv -y brains.csv $model --controls 3 -o no
misused "a share that is none" ": --split test=2 is invalid; give test=PROPORTION between 0 and 1, and optionally stratify=COLUMN, such as test=0.2,stratify=site" \
    cv -c people.csv --split test=2 -o no
refused "too many levels to stratify by" "people.csv: age has 48 levels in 48 participants, too many to stratify by; at most one per 5 participants is allowed" \
    cv -c people.csv --split test=.2,stratify=age -o no
refused "a list of nobody" "--split test=.001 leaves none of the 48 participants to test; choose another proportion" cv -c people.csv --split test=.001 -o no
misused "one fold" " cv: --folds is 1; it must be 2 or more (see 'kronorm cv --help')" cv -c people.csv -y brains.csv $model --folds 1 -o no
awk -F , 'BEGIN { OFS = "," } NR > 1 { $4 = $1 == "s10" ? "B" : "A" } { print }' people.csv >lonely.csv
refused "a second site of one person" "lonely.csv: fold $(awk -F '\t' '$1 == "s10" { print $2 }' cv/folds.tsv) of 4 contains 1 participant from a site that occurs in no other fold (s10), and all others are from A, so between-site variance cannot be estimated; exclude them with --where, omit the site from --use, or try another --seed" \
    cv -c lonely.csv -y brains.csv $model --folds 4 -o no
refused "a level that a plain sum cannot read" "people.csv: no participant outside fold 1 of 3 has site 'A', and only additive models accept a new level; omit the column from --use" \
    cv -c people.csv -y brains.csv $model --leave-out site --sample-kernel linear+se -o no
refused "a label that nobody has" "people.csv: no participant has group 'ill' (named in --cases)" cv -c people.csv -y brains.csv $model --cases group=ill -o no
refused "... or is misspelt" "people.csv: no participant has group 'patint' (named in --cases); did you mean patient?" \
    cv -c people.csv -y brains.csv $model --cases group=patint -o no
refused "results that are there" "cv/folds.tsv already exists; use --force to replace it" cv -c people.csv -y brains.csv $model -o cv
misused "no responses" ": these participants have no responses" cv -c people.csv -o no
head -n 5 people.csv >five_x.csv
awk -F , 'NR == FNR { want[$1] = 1; next } $1 in want' five_x.csv brains.csv >five_y.csv
refused "folds of almost everybody" "fold 1 of 2: five_x.csv: 2 participants with responses, but at least 3 are needed" \
    cv -c five_x.csv -y five_y.csv --use age --folds 2 -o no
kronorm cv -c people.csv -y brains.csv $model --memory 1M -o no
check "too little memory is said, and leaves nothing" sh -c "test $code -eq 1 && grep -q '^kronorm: this fit needs ' '$logs/err' && test ! -e no"

# ---- Ctrl-C between folds
"$KRONORM" cv -c people.csv -y brains.csv $model --folds 48 -P 2 --threads 1 -o stopped >"$logs/out" 2>"$logs/err" </dev/null &
run=$!
for i in $(seq 300); do
    grep -q '^fold 2 of 48' "$logs/err" && break
    sleep 0.05
done
kill -INT $run
wait $run
code=$?
check "Ctrl-C ends with 130" test $code -eq 130
check "... and leaves nothing" test ! -e stopped
done_testing
