#!/bin/sh
# What score and predict promise of participants: old ones, new ones, in any order of columns and rows.
. "$(dirname "$0")/lib.sh"
make_tables
make_images
(head -n 1 people.csv && tail -n 10 people.csv) >new_people.csv
(head -n 1 thickness.csv && tail -n 10 thickness.csv) >new_thickness.csv
head -n 31 people.csv >old_people.csv
head -n 31 thickness.csv >old_thickness.csv
works "fit" fit -c old_people.csv -y old_thickness.csv --use age,sex,site -o model.safetensors

# ---- training participants
works "training ids can be scored" score model.safetensors -c people.csv -y thickness.csv -o all
check "in_training is 1 for them, 0 for others" test \
    "$(column all/abnormality.tsv in_training | tr -d '\n')" = 1111111111111111111111111111110000000000
works "and as if they were new" score model.safetensors -c people.csv -y thickness.csv -o plain \
    --training-rows plain
check "in_training is as it was" test \
    "$(column plain/abnormality.tsv in_training | sort | uniq -c | tr -d ' \n')" = 100301
# z is a table here: the same for new participants, another for those of training
head -n 31 all/z.csv >"$logs/a"
head -n 31 plain/z.csv >"$logs/b"
check "their cross-validated z is another than the plain one" sh -c \
    "[ \$(diff '$logs/a' '$logs/b' | grep -c '^<') -eq 30 ]"
check "new people have one z" sh -c \
    "[ \"\$(tail -n 10 all/z.csv)\" = \"\$(tail -n 10 plain/z.csv)\" ]"
spread() { # mean of |z| over the training rows
    head -n 31 "$1" | awk -F, 'NR > 1 { for (i = 2; i <= NF; i++) { s += $i * $i; n++ } } END { printf "%.6f", s / n }'
}
check "the plain z is the smaller: the model has seen them" \
    awk "BEGIN { exit !($(spread plain/z.csv) < $(spread all/z.csv)) }"
"$KRONORM" info model.safetensors --json >info.json
check "mean z^2 of training rows is the model's own cross-validated one" awk \
    -v mine="$(spread all/z.csv)" '/"cv"/ { inside = 1 } inside && /"z2"/ { gsub(/[^0-9.]/, "", $2);
        d = $2 - mine; exit !(d * d < 1e-8) }' info.json

works "--strip-ids leaves the ids out" fit -c old_people.csv -y old_thickness.csv -o bare.safetensors --strip-ids
check "... all of them" sh -c "! grep -q s07 bare.safetensors"
"$KRONORM" score bare.safetensors -c people.csv -y thickness.csv -o bare -q
check "... so that nobody is known again" test \
    "$(column bare/abnormality.tsv in_training | sort -u)" = 0

"$KRONORM" fit -c old_people.csv -y old_thickness.csv -o nocv.safetensors --folds 0 -q
works "a model without cross-validation scores" score nocv.safetensors -c people.csv -y thickness.csv -o nocv
check "... and warns of training ids" grep -q 'warning: 30 participants are in the training sample' "$logs/err"
check "... in the summary too" grep -q '30 participants are in the training sample, but the model has no cross-validated z-scores' nocv/summary.json
"$KRONORM" info nocv.safetensors --json >nocv.json
check "... and its info has no numbers for what was not made, folds or leave-one-out" test "$(grep -A 3 '"folds": 0' nocv.json | grep -c null)" -eq 6

# ---- a model that went elsewhere
mkdir elsewhere
cp model.safetensors elsewhere/
head -n 2 new_people.csv >elsewhere/one.csv
head -n 2 new_thickness.csv >elsewhere/one_y.csv
cd elsewhere || exit 1
works "a moved model scores one subject" score model.safetensors -c one.csv -y one_y.csv -o scored
cd ..
check "... to the same z" sh -c '[ "$(tail -n 1 elsewhere/scored/z.csv)" = "$(sed -n 32p all/z.csv)" ]'
# to 1e-9: the BLAS may sum one row in another order than many
check "... and the same abnormality" sh -c \
    '{ tail -n 1 elsewhere/scored/abnormality.tsv; sed -n 32p all/abnormality.tsv; } | awk -F "\t" "
        NR == 1 { for (i = 1; i <= NF; i++) one[i] = \$i }
        NR == 2 { for (i = 1; i <= NF; i++) { d = one[i] - \$i; if (one[i] != \$i && !(i > 1 && d * d < 1e-18 * (1 + \$i * \$i))) exit 1 } }"'
check "metrics of one subject are n/a, but its z2" awk -F '\t' \
    'NR > 1 && ($2 != "n/a" || $3 != "n/a") { exit 1 }' elsewhere/scored/metrics.tsv

# ---- an extreme value distribution: of 30 of the training participants, or of 30 rows
awk -F, -v OFS=, '{ print $0, NR == 1 ? "of" : NR <= 31 ? "us" : "them" }' people.csv >of.csv
works "30 rows" score model.safetensors -c of.csv -y thickness.csv --training-rows plain --reference of=us -o rows
check "... have an extreme value law" grep -q '"shape": ' rows/summary.json
check "... and 30 training people have" grep -q '"shape": ' all/summary.json
check "... another one" sh -c \
    '! [ "$(grep -A 3 gev rows/summary.json)" = "$(grep -A 3 gev all/summary.json)" ]'

# ---- the order of things
awk -F, -v OFS=, '{ print $4, $1, $3, $2, "ignored" (NR > 1 ? NR : "") }' new_people.csv >shuffled.csv
awk -F, -v OFS=, '{ print $4, $5, $1, $3, $2 }' new_thickness.csv >shuffled_y.csv
works "columns in another order" score model.safetensors -c shuffled.csv -y shuffled_y.csv -o shuffled
works "columns in their order" score model.safetensors -c new_people.csv -y new_thickness.csv -o straight
check "... give the same z" cmp shuffled/z.csv straight/z.csv
check "... and the same abnormality" cmp shuffled/abnormality.tsv straight/abnormality.tsv
(head -n 1 new_people.csv && tail -n 10 new_people.csv | sort -r) >reversed.csv
"$KRONORM" score model.safetensors -c reversed.csv -y new_thickness.csv -o reversed -q
check "rows are matched by id, whatever their order" cmp reversed/z.csv straight/z.csv
tr , '\t' <new_people.csv | sed 's/$/\r/' >windows.tsv
"$KRONORM" score model.safetensors -c windows.tsv -y new_thickness.csv -o windows -q
check "a table from Windows is the same table" cmp windows/z.csv straight/z.csv
cut -d, -f2- new_people.csv >nameless.csv
cut -d, -f2- new_thickness.csv >nameless_y.csv
works "without ids rows match by position" score model.safetensors -c nameless.csv -y nameless_y.csv -o nameless
check "... with a warning" grep -q '^kronorm score: warning: .*no IDs to match by' "$logs/err"
check "... and names of their own" test "$(column nameless/z.csv participant_id | head -n 1)" = row-0001

# ---- missing and common
sed '3s/,[0-9]*,/,n\/a,/' new_people.csv >missing.csv
works "--missing drop" score model.safetensors -c missing.csv -y new_thickness.csv -o dropped --missing drop
check "... leaves the person out" test "$(wc -l <dropped/z.csv)" -eq 10
check "... and says so, once" test "$(grep -o 'warning: .*excluded.*' "$logs/err")" = \
    "warning: missing.csv: rows that lack a covariate are excluded, 1 of 10"
works "--missing mean" score model.safetensors -c missing.csv -y new_thickness.csv -o mean --missing mean
check "... keeps the person" test "$(wc -l <mean/z.csv)" -eq 11
check "... and the others as they were" test \
    "$(diff mean/z.csv straight/z.csv | grep -c '^<')" -eq 1
sed 2d new_people.csv >fewer.csv
works "--match common" score model.safetensors -c fewer.csv -y new_thickness.csv -o common --match common
check "... scores those that both have" test "$(wc -l <common/z.csv)" -eq 10

# ---- labels and references, on images
"$KRONORM" fit -c study/train_participants.tsv --use age,sex -y study/train_images.txt \
    -o images.safetensors -q
S="score images.safetensors -c study/test_participants.tsv -y study/test_images.txt"
works "--cases" $S --cases group=patient -o labelled
check "... prints AUC" grep -q '^  AUC, group=patient against others: deviance [01]\.[0-9]* (' "$logs/out"
check "... and stores it with its interval" test \
    "$(grep -cE '"(auc|low|high)": [01]\.[0-9]*' labelled/summary.json)" -eq 27
check "... and counts the patients" grep -q '"cases": 4' labelled/summary.json
works "no label" $S -o unlabelled
check "... no AUC" test "$(grep -cE \
    '"(extreme_z(_low|_high)?|deviance|deviance_noise|mean_z|mean_z_size|n_low|n_high)": null' unlabelled/summary.json)" -eq 9
check "the label changes metrics, not z" sh -c \
    'cmp labelled/z.nii.gz unlabelled/z.nii.gz && ! cmp -s labelled/metrics.tsv unlabelled/metrics.tsv'
sed 's/group/cohort/' study/participants.tsv >all.tsv
works "--reference COLUMN=VALUE" score images.safetensors -c all.tsv -y study/images.txt \
    --training-rows plain --reference cohort=control -o referred
works "--reference cv" score images.safetensors -c all.tsv -y study/images.txt \
    --training-rows plain --reference cv -o own
check "... gives other probabilities" sh -c '! cmp -s referred/abnormality.tsv own/abnormality.tsv'
check "... of the same statistic" sh -c \
    '[ "$(cut -f 1-3 referred/abnormality.tsv)" = "$(cut -f 1-3 own/abnormality.tsv)" ]'
check "... and no extreme value law of fewer than 30" sh -c \
    'grep -q "\"gev\": null" referred/summary.json && grep -q "\"gev\": null" own/summary.json'
check "abnormality.tsv has its columns" test "$(head -n 1 own/abnormality.tsv | tr '\t' ' ')" = \
    "participant_id in_training extreme_z extreme_z_p deviance deviance_p deviance_noise deviance_noise_p \
extrapolation extrapolation_pct mean_z mean_z_p n_low n_low_p n_high n_high_p extreme_z_low extreme_z_high \
n_low_fdr n_high_fdr n_responses p_note site_adapted unseen_level implausible flagged label"
check "metrics.tsv has its columns" test "$(head -n 1 own/metrics.tsv | tr '\t' ' ')" = \
    "response R2 rho rho2 RMSE SMSE EXPV MSLL gain z2"
works "joint optimisers may be told not to optimise" fit -c old_people.csv -y old_thickness.csv -P 2 \
    --preset paper --max-evals 0 -o start.safetensors

awk -F, -v OFS=, 'NR > 1 { for (i = 2; i <= NF; i++) $i += 20 } 1' old_thickness.csv >moved.csv
works "a training id with other data is scored as new" score model.safetensors -c old_people.csv \
    -y moved.csv -o moved
check "... with a warning" grep -q 'have IDs of training participants, but other responses' "$logs/err"
check "... and found" awk -F '\t' 'NR > 1 && !($3 > 5) { exit 1 }' moved/abnormality.tsv
done_testing
