#!/bin/sh
# Outlying cells of a training sample: named, counted and treated as missing, so that one of them
# changes nothing else; never in what is scored.
. "$(dirname "$0")/lib.sh"
export OPENBLAS_NUM_THREADS=1

# people.csv and clean.csv of 120 participants at two sites, 12 responses that follow age.
awk 'BEGIN {
    srand(5)
    print "participant_id,age,site" >"people.csv"
    head = "participant_id"
    for (j = 1; j <= 12; j++) head = head ",r" j
    print head >"clean.csv"
    for (i = 1; i <= 120; i++) {
        age = 20 + int(600 * rand()) / 10
        print "s" i "," age "," (i % 2 ? "A" : "B") >"people.csv"
        f = rand() + rand() + rand() - 1.5
        line = "s" i
        for (j = 1; j <= 12; j++)
            line = line "," 3 - (age - 50) / 40 * (1 + j % 3) + f * (j % 4) / 3 + rand() + rand()
        print line >"clean.csv"
    }
}'
planted() { awk -F, -v OFS=, "$1" clean.csv; }
planted 'NR == 11 { $4 = 250 } 1' >one.csv
planted 'NR == 11 { for (j = 2; j <= 13; j++) $j *= 40 } 1' >person.csv
planted 'NR > 1 && NR % 2 == 0 && NR < 8 { $4 *= 1000 } 1' >many.csv
awk -F, -v OFS=, 'NR > 1 && (NR == 4 || NR == 8 || NR == 10) { $3 = "C" } 1' people.csv >third.csv
planted 'NR == 4 || NR == 8 || NR == 10 { for (j = 2; j <= 13; j++) $j *= 1000 } 1' >site.csv
F="fit -c people.csv --threads 1"
said() { grep -qxF -e "$1" "$logs/err"; }
R2() { # folder: mean R2 of the responses other than r3
    awk -F'\t' 'NR == 1 { for (k = 1; k <= NF; k++) if ($k == "R2") c = k }
        NR > 1 && $1 != "r3" { s += $c; n++ } END { print s / n }' "$1/metrics.tsv"
}
close() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a - b < 0.01 && b - a < 0.01 && a > 0.3) }'; }
scored() { # model
    works "... which scores" score "$1.safetensors" -c people.csv -y clean.csv -o "$1" -q --force \
        --training-rows plain --write z,metrics
}

# ---- clean data
works "a clean table" $F -y clean.csv -o clean.safetensors -q
check "... has no such cell" test ! -s "$logs/err"
scored clean
works "... nor with keep" $F -y clean.csv -o kept.safetensors -q --outliers keep
scored kept
check "... and the same z to the byte" cmp clean/z.csv kept/z.csv

# ---- one cell
works "one cell of 250" $F -y one.csv -o one.safetensors
check "... is named" said \
    "kronorm fit: warning: one.csv: 1 value is far beyond all others and is treated as missing (--outliers): s10 r3 is 250"
check "... and counted" grep -q '^  Outliers          1 value far beyond all others treated as missing: filled from the covariates$' "$logs/out"
scored one
check "... and the other responses are predicted as without it" close "$(R2 one)" "$(R2 clean)"
works "the model keeps it" info one.safetensors
check "... as a warning" grep -q 'far beyond all others and is treated as missing' "$logs/out"
works "... and a number" info one.safetensors --json
check "... of one" grep -q '"outliers": 1' "$logs/out"
check "the log has the list" grep -q '"value": 250' one.safetensors.log.json
works "a report" report one.safetensors -o one.html
check "... says it" grep -q '1 value was far beyond all others and was treated as missing and replaced' one.html
planted 'NR == 11 { $4 = 250 } NR == 30 { $6 = "NA" } 1' >gap.csv
works "the same cell beside one that is missing" $F -y gap.csv -o gap.safetensors
check "... is imputed with it" grep -q '^  Outliers          1 value far beyond all others treated as missing: imputed$' "$logs/out"
scored gap
check "... and the other responses are predicted as without it" close "$(R2 gap)" "$(R2 clean)"
works "the same cell, where responses with missing cells are left out" $F -y one.csv -o drop.safetensors \
    --missing-responses drop
check "... leaves no response out" grep -q '^Fitted 120 participants, 12 responses' "$logs/out"
works "with keep" $F -y one.csv -o spoilt.safetensors -q --outliers keep
check "... it is named too" said \
    "kronorm fit: warning: one.csv: 1 value is far beyond all others and is kept, which may spoil the fit (--outliers): s10 r3 is 250"
scored spoilt
check "... and still does not decide on the components" close "$(R2 spoilt)" "$(R2 clean)"
fails "with error" 1 \
    "kronorm: one.csv: 1 value is far beyond all others, and --outliers error was given: s10 r3 is 250" \
    $F -y one.csv -o none.safetensors --outliers error

# ---- scored participants and folds
works "a cell of 250 that is scored" score clean.safetensors -c people.csv -y one.csv -o far -q \
    --training-rows plain --write z
check "... keeps its z" test "$(awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) if ($k == "r3") c = k }
    $1 == "s10" { print ($c > 10) }' far/z.csv)" = 1
works "a cross-validation" cv -c people.csv -y one.csv --folds 4 -o folds --threads 1 --write z
check "... treats it in the folds that learn from it" said \
    "kronorm cv: warning: in 3 of 4 folds: one.csv: 1 value is far beyond all others and is treated as missing (--outliers): s10 r3 is 250"
check "... and scores it as it is" test "$(awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) if ($k == "r3") c = k }
    $1 == "s10" { print ($c > 10) }' folds/z.csv)" = 1

# ---- participants, responses and sites
works "a participant in another unit" $F -y person.csv -o person.safetensors
check "... is excluded" said \
    "kronorm fit: warning: participants with more than 20% of their responses far beyond all others are excluded, 1 of 120: s10"
check "... and counted" grep -q '^  Excluded          1 participant with more than 20% outlying responses$' "$logs/out"
check "... with its reason" grep -q "Left out .*1 (too many outlying responses)" "$logs/err"
check "... with 119 others" grep -q '^Fitted 119 participants' "$logs/out"
works "the model tells" info person.safetensors --json
check "... how many" grep -q '"outlying_people": 1' "$logs/out"
planted 'NR > 5 && NR < 8 { $4 = 250 } NR == 9 { $4 = -250 } 1' >both.csv
fails "a response with several" 1 \
    "kronorm: both.csv: 3 of 120 values of r3 are far beyond all others, such as 250; are they in another unit? Correct or exclude them (--outliers keep fits them as they are)" \
    $F -y both.csv -o none.safetensors
fails "a site in another unit" 1 \
    "kronorm: site.csv: the responses of 3 of the 3 participants with site 'C' are far beyond those of all others; are they in another unit? Correct or exclude them (--outliers keep fits them as they are)" \
    fit -c third.csv -y site.csv -o none.safetensors
done_testing
