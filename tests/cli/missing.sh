#!/bin/sh
# Responses without a value: filled in, left out, refused; and the words for it.
. "$(dirname "$0")/lib.sh"
export OPENBLAS_NUM_THREADS=1

# participants.csv and whole.csv of 60 participants, 12 responses that follow age; then with holes.
awk 'BEGIN {
    srand(7)
    print "participant_id,age,site" >"people.csv"
    head = "participant_id"
    for (j = 1; j <= 12; j++) head = head ",r" j
    print head >"whole.csv"
    for (i = 1; i <= 60; i++) {
        age = 20 + int(600 * rand()) / 10
        print "s" i "," age "," (i % 3 == 0 ? "A" : i % 3 == 1 ? "B" : "C") >"people.csv"
        f = rand() + rand() + rand() - 1.5
        line = "s" i
        for (j = 1; j <= 12; j++)
            line = line "," 3 + (age - 50) / 30 * (j % 4) + f * (j % 3) + rand()
        print line >"whole.csv"
    }
}'
holes() { # script of awk that changes $j of line NR
    awk -F, -v OFS=, "NR > 1 { for (j = 2; j <= NF; j++) { $1 } } { print }" whole.csv
}
holes 'if ((NR * 7 + j * 5) % 11 == 0) $j = (j % 2 ? "n/a" : "")' >some.csv
holes 'if ((NR * 7 + j * 5) % 11 == 0 || NR == 6 || (j == 4 && NR > 9)) $j = "n/a"' >more.csv
cp people.csv many.csv
holes 'if ((NR + j) % 12 != 0) $j = "n/a"' >most.csv # one value each
sed 1d most.csv >each
for k in 2 3 4; do
    sed 1d people.csv | sed "s/^s/t$k/" >>many.csv
    sed "s/^s/t$k/" each >>most.csv
done
holes 'if (j == 5 && (NR - 1) % 3 == 0) $j = "n/a"' >site.csv
F="fit -c people.csv --threads 1"

works "cells that are n/a or empty are filled in" $F -y some.csv -o some.safetensors
check "... with a sentence" grep -q '^9\.[0-9]% of cells missing in 12 of 12 responses, imputed from the other responses (' "$logs/err"
check "... and who lacks them, by level" grep -q '^missing cells, site A: [0-9.]* %$' "$logs/err"
check "... and along numbers" grep -q '^missing cells, correlation with age: [-0-9.]*$' "$logs/err"
works "the same twice" $F -y some.csv -o again.safetensors -q
check "... has the same bytes" cmp some.safetensors again.safetensors
works "the model tells of it" info some.safetensors --json
check "... how much" grep -q '"share_by_level": {' "$logs/out"
works "and scores" score some.safetensors -c people.csv -y some.csv -o scored -q
check "a missing cell has no z" test "$(grep -c 'n/a' scored/z.csv)" -gt 20
check "people of training have the z of their fold" test "$(cut -f 2 scored/abnormality.tsv | grep -c 1)" -eq 60

works "few values and nobody's values are left out" $F -y more.csv -o more.safetensors
check "... people counted" grep -qx 'kronorm fit: warning: participants without a finite response are excluded, 1 of 60: s5' "$logs/err"
check "... responses counted" grep -qx 'kronorm fit: warning: responses that are constant or have fewer than 10 values are excluded, 1 of 12' "$logs/err"
check "... and the samples are the others" grep -q '^Fitted 59 participants, ' "$logs/out"

works "a site that lacks a response" $F -y site.csv -o site.safetensors -q

fails "almost nothing is refused" 1 \
    "kronorm: 91.7% of the cells of 12 responses are missing, but at most 90% may be; exclude responses with few values" \
    fit -c many.csv -y most.csv -o none.safetensors
fails "drop is the rule of before" 1 \
    "kronorm: all 12 responses are constant or not finite; there is nothing to model" \
    $F -y some.csv -o none.safetensors --missing-responses drop

works "without a missing cell" $F -y whole.csv -o whole.safetensors -q
works "drop" $F -y whole.csv -o drop.safetensors -q --missing-responses drop
"$KRONORM" info whole.safetensors --json | grep -v '"seconds"\|"basis":\|"fit":\|"reference":\|"command":' >"$logs/a"
"$KRONORM" info drop.safetensors --json | grep -v '"seconds"\|"basis":\|"fit":\|"reference":\|"command":\|missing_responses' >"$logs/b"
check "... is the same model but for what was asked" sh -c "diff '$logs/a' '$logs/b' | grep -v options | grep -c '^[<>] ' | grep -qx '[0-2]'"
# p-values of new participants with missing responses: over the responses they have.
sed 's/^s/n/' people.csv >new.csv
without() { # file, rule of awk by which a cell j of line NR goes
    sed 's/^s/n/' whole.csv | awk -F, -v OFS=, "NR > 1 { for (j = 2; j <= NF; j++) if ($2) \$j = \"n/a\" } { print }" >"$1"
}
without half.csv '(NR + j) % 2'
without less.csv 'j > 6'
sed 's/^s/n/' whole.csv >new_whole.csv
p_values() { awk -F'\t' -v n="$2" 'NR == 1 { for (k = 1; k <= NF; k++) if ($k == n) c = k } NR > 1 { print $c }' "$1/abnormality.tsv"; }
all_missing() { [ "$(p_values "$1" "$2" | sort -u)" = n/a ]; }
N="score -c new.csv --threads 1"
works "half of the responses" $N --model whole.safetensors -y half.csv -o half
for p in extreme_z_p deviance_p deviance_noise_p mean_z_p; do
    check "... have a $p" test "$(p_values half $p | grep -c '^[01]')" -eq 60
done
check "... without a note" all_missing half p_note
check "... and without a warning" sh -c "! grep -q 'of the responses' '$logs/err'"
works "one part of a job" $N --model whole.safetensors -y half.csv -o parts --part 1/2 -q
works "... and the other" $N --model whole.safetensors -y half.csv -o parts --part 2/2 -q
works "... joined" $N --model whole.safetensors -y half.csv -o parts --join 2 -q
check "... have the same p-values" cmp half/abnormality.tsv parts/abnormality.tsv
works "less than half" $N --model whole.safetensors -y less.csv -o less
check "... has no p-value, with a warning" grep -qx 'kronorm score: warning: 60 of 60 participants have fewer than half of the responses, so their p-values are n/a' "$logs/err"
for p in extreme_z_p deviance_p mean_z_p; do
    check "... $p" all_missing less $p
done
check "... and a note" test "$(p_values less p_note | sort -u)" = missing
works "a model without the maps of its reference" $F -y whole.csv -o strip.safetensors --strip-ids -q
works "... scores" $N --model strip.safetensors -y half.csv -o strip
check "... without p-values, with a warning" grep -qx 'kronorm score: warning: 60 of 60 participants have fewer than 95% of the responses, and the model keeps no cross-validated z-scores (see --strip-ids and export), so their p-values are n/a' "$logs/err"
check "... all of them" sh -c "cut -f 4,6,8,12 strip/abnormality.tsv | sed 1d | sort -u | tr -d '\t' | grep -qx n/an/an/an/a"
works "... and complete participants with them" $N --model strip.safetensors -y new_whole.csv -o strip_whole
works "reference rows that are named" $N --model whole.safetensors -y half.csv -o named --reference site=A
check "... have no maps" grep -qx 'kronorm score: warning: 60 of 60 participants have fewer than 95% of the responses, and --reference names other reference rows than those of the model, so their p-values are n/a' "$logs/err"
works "a deviance of the model's own" $F -y whole.csv -o own.safetensors --noise whitened -P 2 -q
works "... of incomplete maps" $N --model own.safetensors -y half.csv -o own
check "... is without p" grep -qx 'kronorm score: warning: 60 of 60 participants have fewer than 95% of the responses, and the whole-map deviance of this method is known for complete maps only, so their p-values are n/a' "$logs/err"
check "... but the others have theirs" test "$(p_values own mean_z_p | grep -c '^[01]')" -eq 60

# Images: without a mask a voxel needs ten values. One that is NaN in the first image only is in.
"$KRONORM" simulate --samples 24 --patients 2 -o study -q
sed 's,images/,study/images/,' study/train_images.txt >whole.txt
C="fit -c study/train_participants.tsv -P 3 --threads 1"
works "images" $C -y whole.txt -o i0.safetensors
n=$(sed -n 's/^Fitted .* \([0-9]*\) voxels.*/\1/p' "$logs/out")
"$KRONORM" predict i0.safetensors -c study/train_participants.tsv -o p --format csv -q
voxel=$(head -n 1 p/yhat.csv | cut -d, -f 1001 | tr -d 'a-z_')
first=$(head -n 1 study/train_images.txt | cut -f 1)
gunzip -c "study/images/$first.nii.gz" >hole.nii
printf '\000\000\300\177' | dd of=hole.nii bs=1 seek=$((352 + 4 * voxel)) conv=notrunc 2>/dev/null
sed "1s,	.*,	hole.nii," whole.txt >hole.txt
works "a voxel that one image lacks" $C -y hole.txt -o i1.safetensors
check "... stays" grep -q ", $n voxels" "$logs/out"
works "... and goes with drop" $C -y hole.txt -o i2.safetensors --missing-responses drop
check "... for everybody" grep -q ", $((n - 1)) voxels" "$logs/out"
done_testing
