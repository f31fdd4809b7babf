#!/bin/sh
# Responses without a value: filled in, left out, refused; and the words for it.
. "$(dirname "$0")/lib.sh"
export OPENBLAS_NUM_THREADS=1

# people.csv and whole.csv of 60 people, 12 responses that follow age; then with holes.
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
check "... with a sentence" grep -q '^9\.[0-9] % of cells missing in 12 of 12 responses, filled in from the other responses (' "$logs/err"
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
check "... people counted" grep -qx 'kronorm fit: warning: 1 of 60 samples have no finite response and are left out: s5' "$logs/err"
check "... responses counted" grep -qx 'kronorm fit: warning: 1 of 12 responses are constant or have fewer than 10 values and left out' "$logs/err"
check "... and the samples are the others" grep -q '^  samples 59, ' "$logs/out"

works "a site that lacks a response" $F -y site.csv -o site.safetensors -q

fails "almost nothing is refused" 1 \
    "kronorm: 91.7 % of the cells of 12 responses are missing, expected at most 90 % (leave out responses that few people have)" \
    fit -c many.csv -y most.csv -o none.safetensors
fails "drop is the rule of before" 1 \
    "kronorm: all 12 responses are constant or not finite: nothing to model" \
    $F -y some.csv -o none.safetensors --missing-responses drop

works "without a missing cell" $F -y whole.csv -o whole.safetensors -q
works "drop" $F -y whole.csv -o drop.safetensors -q --missing-responses drop
"$KRONORM" info whole.safetensors --json | grep -v '"seconds"\|"basis":\|"fit":\|"reference":' >"$logs/a"
"$KRONORM" info drop.safetensors --json | grep -v '"seconds"\|"basis":\|"fit":\|"reference":\|missing_responses' >"$logs/b"
check "... is the same model but for what was asked" sh -c "diff '$logs/a' '$logs/b' | grep -v options | grep -c '^[<>] ' | grep -qx '[0-2]'"
# Images: without a mask a voxel needs ten values. One that is NaN in the first image only is in.
"$KRONORM" simulate --samples 24 --patients 2 -o study -q
sed 's,images/,study/images/,' study/train_images.txt >whole.txt
C="fit -c study/train_participants.tsv -P 3 --threads 1"
works "images" $C -y whole.txt -o i0.safetensors
n=$(sed -n 's/.*responses \([0-9]*\).*/\1/p' "$logs/out")
"$KRONORM" predict i0.safetensors -c study/train_participants.tsv -o p --format csv -q
voxel=$(head -n 1 p/yhat.csv | cut -d, -f 1001 | tr -d 'a-z_')
first=$(head -n 1 study/train_images.txt | cut -f 1)
gunzip -c "study/images/$first.nii.gz" >hole.nii
printf '\000\000\300\177' | dd of=hole.nii bs=1 seek=$((352 + 4 * voxel)) conv=notrunc 2>/dev/null
sed "1s,	.*,	hole.nii," whole.txt >hole.txt
works "a voxel that one image lacks" $C -y hole.txt -o i1.safetensors
check "... stays" grep -q "responses $n" "$logs/out"
works "... and goes with drop" $C -y hole.txt -o i2.safetensors --missing-responses drop
check "... for everybody" grep -q "responses $((n - 1))" "$logs/out"
done_testing
