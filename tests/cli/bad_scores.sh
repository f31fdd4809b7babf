#!/bin/sh
# References and labels that say nothing: a sentence and no scores, or scores that are n/a and a
# warning; never a number made up.
. "$(dirname "$0")/lib.sh"
make_tables
sed '2,$s/^/new-/' people.csv >new.csv
sed '2,$s/^/new-/' thickness.csv >new_thickness.csv
groups() { # rows that are 'a', name of the table made: the others are 'b'
    awk -F, -v OFS=, -v rows="$1" '{ print $0, NR == 1 ? "group" : NR <= rows + 1 ? "a" : "b" }' new.csv >"$2"
}
warned() { grep -qxF "kronorm $1" "$logs/err"; } # the whole line
works "the tables themselves are fine" fit -c people.csv -y thickness.csv -o model.safetensors
S="score model.safetensors"

# ---- references
head -n 10 people.csv >nine.csv
works "a model of fewer than 10 people can be made" \
    fit -c nine.csv --use age -y thickness.csv --match common -o nine.safetensors
check "... with a warning" warned \
    "fit: warning: 9 reference samples are too few for an extreme value fit (10 needed): no abnormality probabilities"
works "... and scores" score nine.safetensors -c new.csv -y new_thickness.csv -o nine
check "... without probabilities" test "$(column nine/abnormality.tsv probability | sort -u)" = n/a
check "... and its summary says so" grep -q 'no extreme value reference: probability and p_upper are n/a' nine/summary.json

groups 9 nine_groups.csv
refused "a reference of fewer than 10 people" \
    "--reference group=a: an extreme value law needs at least 10 reference subjects, there are 9" \
    $S -c nine_groups.csv -y new_thickness.csv --reference group=a -o out
groups 10 groups.csv
works "one of 10 will do" $S -c groups.csv -y new_thickness.csv --reference group=a -o ten
sed '2s/,.*/,,,,/' new_thickness.csv >gap.csv
refused "10 people, one of them without responses" \
    "--reference group=a: an extreme value law needs at least 10 reference subjects, there are 9" \
    $S -c groups.csv -y gap.csv --reference group=a -o out
refused "a reference that nobody is in" \
    "groups.csv: nobody has group 'c', which --reference asks for" \
    $S -c groups.csv -y new_thickness.csv --reference group=c -o out
awk -F, -v OFS=, 'NR > 1 { $2 = 40; $3 = "F"; $4 = "A" } 1' groups.csv >alike.csv
awk -F, -v OFS=, 'NR > 1 { $2 = 2.5; $3 = 2.5; $4 = 2.5; $5 = 2.5 } 1' new_thickness.csv >alike_thickness.csv
kronorm $S -c alike.csv -y alike_thickness.csv -o alike -q
statistic=$(column alike/abnormality.tsv statistic | head -n 1 | xargs printf %g)
refused "a reference of people who are all the same" \
    "--reference group=a: extreme value law: the statistics of all 10 reference subjects are equal ($statistic)" \
    $S -c alike.csv -y alike_thickness.csv --reference group=a -o out
refused "a leave-one-out reference that the model does not have" \
    "nine.safetensors has no leave-one-out reference; use --reference cv or COLUMN=VALUE" \
    score nine.safetensors -c new.csv -y new_thickness.csv --reference loo -o out

# ---- labels
refused "a label that everybody has" "every row has group=a: there is nobody to compare with" \
    $S -c "$(groups 40 one_class.csv && echo one_class.csv)" -y new_thickness.csv --label group=a -o out
refused "a label that nobody has" "one_class.csv: nobody has group 'b', which --label asks for" \
    $S -c one_class.csv -y new_thickness.csv --label group=b -o out
groups 1 first.csv
works "the only patient has no responses" $S -c first.csv -y gap.csv --label group=a -o patient
check "... no AUC, and a warning" warned \
    "score: warning: no AUC: 0 labelled and 39 other samples have a statistic, expected some of both"
check "... in the summary too" grep -q 'no AUC: 0 labelled and 39 other samples have a statistic' patient/summary.json

# ---- people without responses
check "a person without responses is said" warned \
    "score: warning: 1 of 40 samples have no finite response: their scores are n/a (new-s01)"
check "... in the summary too" grep -q '1 of 40 samples have no finite response' patient/summary.json
check "... and has no scores" test "$(sed -n 2p patient/abnormality.tsv | cut -f 3-9 | tr '\t' ' ')" = \
    "n/a n/a n/a n/a n/a n/a n/a"
check "... nor z" test "$(sed -n 2p patient/z.csv)" = new-s01,n/a,n/a,n/a,n/a
"$KRONORM" $S -c first.csv -y new_thickness.csv -o everybody -q
check "the others are as they were" sh -c \
    '[ "$(tail -n 39 patient/abnormality.tsv)" = "$(tail -n 39 everybody/abnormality.tsv)" ]'
sed '2,$s/,.*/,,,,/' new_thickness.csv >gaps.csv
works "nobody has responses" $S -c new.csv -y gaps.csv -o nobody
check "... and no number is printed" sh -c "! grep -q nan '$logs/out'"

# ---- few responses
check "the largest twentieth of 4 responses is the largest" awk -F '[,\t]' '
    NR == FNR { if (FNR > 1) for (i = 2; i <= NF; i++) { v = $i < 0 ? -$i : $i; if (v > top[$1]) top[$1] = v }; next }
    FNR > 1 { d = $3 - top[$1]; if (d * d > 1e-12) exit 1 }' everybody/z.csv everybody/abnormality.tsv
cut -d, -f1,2 thickness.csv >single.csv
cut -d, -f1,2 new_thickness.csv >new_single.csv
works "a single response" fit -c people.csv -y single.csv -o single.safetensors
works "... is scored" score single.safetensors -c new.csv -y new_single.csv -o single
check "... by its |z|" sh -c \
    '[ "$(cut -d, -f2 single/z.csv | tail -n 40 | tr -d -)" = "$(cut -f3 single/abnormality.tsv | tail -n 40)" ]'
done_testing
