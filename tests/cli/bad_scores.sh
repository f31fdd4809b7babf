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
works "a model of 9 people can be made" \
    fit -c nine.csv --use age -y thickness.csv --match common -o nine.safetensors
check "... with a warning" warned \
    "fit: warning: there are only 9 reference participants, so p-values are computed from ranks and cannot be below 0.1"
works "... and scores" score nine.safetensors -c new.csv -y new_thickness.csv -o nine
ranks() { # folder, people: every p is one of 1/(people + 1) .. 1
    column "$1/abnormality.tsv" extreme_z_p | awk -v n="$2" '
        { k = $1 * (n + 1); d = k - int(k + .5)
          if (!(d * d < 1e-18 && k > .5)) exit 1 }'
}
check "... by ranks among them" ranks nine 9
check "... without a law, which its summary says" grep -q '"gev": null' nine/summary.json

groups 10 groups.csv
sed '2s/,.*/,,,,/' new_thickness.csv >gap.csv
works "a reference of 10 rows, one of them without responses" $S -c groups.csv -y gap.csv --reference group=a -o ten
rank_of() { # folder, first row, last row, of those rows or not: p by hand
    awk -F '\t' -v first="$2" -v last="$3" -v own="$4" '
        NR > 1 { m[NR - 1] = $3; p[NR - 1] = $4 }
        END { for (i = first; i <= last; i++) {
            if (m[i] == "n/a") { if (p[i] != "n/a") exit 1; continue }
            n = above = 0
            for (k = 2; k <= 10; k++) if (!(own && k == i)) { n++; above += m[k] >= m[i] }
            d = p[i] - (1 + above)/(n + 1)
            if (!(d * d < 1e-18)) exit 1 } }' "$1/abnormality.tsv"
}
check "... gives the others their rank among 9" rank_of ten 11 40 0
check "... and themselves that among the other 8" rank_of ten 1 10 1
groups 1 alone.csv
refused "a reference of whom nobody has responses" \
    "none of the rows with --reference group=a has an extreme_z; choose participants with responses" $S -c alone.csv -y gap.csv --reference group=a -o out
refused "a reference that nobody is in" \
    "groups.csv: no participant has group 'c' (named in --reference)" \
    $S -c groups.csv -y new_thickness.csv --reference group=c -o out
groups 30 groups.csv
awk -F, -v OFS=, 'NR > 1 { $2 = 40; $3 = "F"; $4 = "A" } 1' groups.csv >alike.csv
awk -F, -v OFS=, 'NR > 1 { $2 = 2.5; $3 = 2.5; $4 = 2.5; $5 = 2.5 } 1' new_thickness.csv >alike_thickness.csv
kronorm $S -c alike.csv -y alike_thickness.csv -o alike -q
statistic=$(column alike/abnormality.tsv extreme_z | head -n 1 | xargs printf %g)
refused "a reference of people who are all the same" \
    "--reference group=a: the extreme-value distribution cannot be fitted, because the statistics of all 30 reference participants are equal ($statistic)" \
    $S -c alike.csv -y alike_thickness.csv --reference group=a -o out
refused "a leave-one-out reference that the model does not have" \
    "nine.safetensors has no leave-one-out reference; use --reference cv or COLUMN=VALUE" \
    score nine.safetensors -c new.csv -y new_thickness.csv --reference loo -o out

# ---- labels
refused "a label that everybody has" "every row has group=a, so there are no other participants to compare with" \
    $S -c "$(groups 40 one_class.csv && echo one_class.csv)" -y new_thickness.csv --cases group=a -o out
refused "a label that nobody has" "one_class.csv: no participant has group 'b' (named in --cases)" \
    $S -c one_class.csv -y new_thickness.csv --cases group=b -o out
groups 1 first.csv
works "the only patient has no responses" $S -c first.csv -y gap.csv --cases group=a -o patient
check "... no AUC, and a warning" warned \
    "score: warning: the AUC is n/a, because it needs participants of both groups: 0 with group=a and 39 others have an extreme_z"
check "... in the summary too" grep -q 'the AUC is n/a, because it needs participants of both groups: 0 with group=a and 39 others have an extreme_z' patient/summary.json

# ---- participants without responses
check "a person without responses is said" warned \
    "score: warning: scores are n/a for 1 of 40 participants, because they have no finite response: new-s01"
check "... in the summary too" grep -q 'scores are n/a for 1 of 40 participants, because they have no finite response' patient/summary.json
check "... and has no scores" test "$(sed -n 2p patient/abnormality.tsv | cut -f 3-8 | tr '\t' ' ')" = \
    "n/a n/a n/a n/a n/a n/a"
check "... nor z" test "$(sed -n 2p patient/z.csv)" = new-s01,n/a,n/a,n/a,n/a
"$KRONORM" $S -c first.csv -y new_thickness.csv --cases group=a -o everybody -q
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
