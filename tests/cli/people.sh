#!/bin/sh
# What score and predict tell of the people they were given: who took part, with what, and what to doubt.
. "$(dirname "$0")/lib.sh"
make_tables
(head -n 1 people.csv && tail -n 10 people.csv) >new_people.csv
(head -n 1 thickness.csv && tail -n 10 thickness.csv) >new_thickness.csv
head -n 31 people.csv >old_people.csv
head -n 31 thickness.csv >old_thickness.csv
works "fit" fit -c old_people.csv -y old_thickness.csv --use age,sex,site -o model.safetensors

# ---- metrics are of new predictions
works "training people alone" score model.safetensors -c old_people.csv -y old_thickness.csv -o old
check "... have no metrics" test "$(column old/metrics.tsv R2 | sort -u)" = n/a
check "... and are told why" grep -qF "warning: metrics are n/a: they are of new predictions, and everybody has the \
stored z of training (--training-rows plain predicts them anew, too well)" "$logs/err"
works "new people beside them" score model.safetensors -c people.csv -y thickness.csv -o both
check "... have metrics" sh -c "! grep -q 'metrics are n/a' '$logs/err' && ! cut -f 2 both/metrics.tsv | grep -q n/a"

# ---- people.tsv
cut_to() { cut -f "$1" "$2" | tr '\t\n' ' /'; } # columns, file: on one line
works "score tells who was used" score model.safetensors -c new_people.csv -y new_thickness.csv -o straight
check "... in the order of the maps" test "$(column straight/people.tsv participant_id | tr '\n' ' ')" = \
    "$(column straight/z.csv participant_id | tr '\n' ' ')"
check "... with their covariates" test "$(cut -f 6- straight/people.tsv | tr '\t' ,)" = "$(cut -d, -f 2- new_people.csv)"
check "... and nothing to remark" test "$(cut -f 2,3,5 straight/people.tsv | sort -u | tr '\t\n' ' /')" = \
    "status why label/used n/a n/a/"
check "... as far from training as abnormality.tsv says" test "$(column straight/people.tsv extrapolation_pct)" = \
    "$(column straight/abnormality.tsv extrapolation_pct)"
sed 's/^s35,[0-9]*,/s35,,/; /^s33/d' new_people.csv >gaps.csv
grep -v '^s31' new_thickness.csv >gaps_y.csv
works "who is dropped" score model.safetensors -c gaps.csv -y gaps_y.csv --match common --missing drop -o gaps
check "... comes last, with the reason" test "$(tail -n 3 gaps/people.tsv | cut_to 1-8 -)" = \
    "s31 dropped no responses n/a n/a n/a n/a n/a/s35 dropped missing age n/a n/a n/a n/a n/a/\
s33 dropped no covariates n/a n/a n/a n/a n/a/"
check "... behind those who have maps" test "$(column gaps/people.tsv participant_id | head -n 7)" = \
    "$(column gaps/z.csv participant_id)"
{ head -n 1 people.csv; echo "a,150,F,A"; echo "b,n/a,M,B"; echo "c,40,M,C"; echo "d,40,,B"; } >odd.csv
works "predict tells too" predict model.safetensors -c odd.csv --missing mean --unseen prior -o odd
check "... what it took in the place of what was given" test "$(cut_to 1-3,5- odd/people.tsv)" = \
    "participant_id status why age sex site/a used age 150 held at $(column odd/people.tsv age | head -n 1) \
$(column odd/people.tsv age | head -n 1) F A/b used age missing: mean of training \
$(column odd/people.tsv age | sed -n 2p) M B/c used site C is a new level 40 M C/d used sex missing: average of its levels 40 n/a B/"
check "... the mean of training" awk -F, -v mean="$(column odd/people.tsv age | sed -n 2p)" \
    'NR > 1 { s += $2; n++ } END { d = s / n - mean; exit !(d * d < 1e-20) }' old_people.csv
check "... and half a range beyond" awk -F, -v at="$(column odd/people.tsv age | head -n 1)" \
    'NR == 2 { low = high = $2 } NR > 1 { if ($2 < low) low = $2; if ($2 > high) high = $2 }
     END { exit !(at == high + (high - low) / 2) }' old_people.csv
check "... and warns of who is far from training" grep -qE \
    "warning: [1-4] of 4 samples have covariates far from training \(extrapolation_pct above 99\): a.*; what is expected" \
    "$logs/err"
works "predict of people as in training" predict model.safetensors -c new_people.csv -o near
check "... has nothing to warn of" sh -c "! grep -q warning '$logs/err'"
check "... and is as far from training as score says" test "$(column near/people.tsv extrapolation_pct)" = \
    "$(column straight/people.tsv extrapolation_pct)"
works "--split has it too" score model.safetensors -c new_people.csv -y new_thickness.csv --split -o split
check "... the same" cmp split/people.tsv straight/people.tsv
mkdir taken
: >taken/people.tsv
refused "one that is there is kept" "taken/people.tsv: exists already (use --force to replace it)" \
    predict model.safetensors -c new_people.csv -o taken
sed '1s/site/why/' old_people.csv >why.csv
"$KRONORM" fit -c why.csv -y old_thickness.csv --use age,why -o why.safetensors -q
"$KRONORM" score why.safetensors -c why.csv -y old_thickness.csv --label why=B -o why -q
check "names of columns do not meet" test "$(head -n 1 why/people.tsv | tr '\t' ' ')" = \
    "participant_id status why extrapolation_pct label age used_why"
check "labelled people are labelled" test "$(cut -f 5,7 why/people.tsv | sort -u | tr '\t\n' ' /')" = "0 A/1 B/label used_why/"
"$KRONORM" fit -c old_people.csv -y old_thickness.csv --use age,site --sample-kernel linear+se -o sum.safetensors -q
"$KRONORM" predict sum.safetensors -c new_people.csv -o sum -q
check "a sum of kernels has the same covariates" test "$(cut -f 5- sum/people.tsv | tr '\t' ,)" = \
    "$(cut -d, -f 2,4 new_people.csv)"
done_testing
