#!/bin/sh
# Images without labels such as sub-01 whose names are the ids: never paired by position.
. "$(dirname "$0")/lib.sh"
export OPENBLAS_NUM_THREADS=1

"$KRONORM" simulate --samples 40 --patients 2 -o study -q
# Copies of the training images: plain/s0.nii ..., which a pattern sorts as s0, s1, s10, s11, ...;
# parts/map_s0_T1w.nii; folders/s0/map.nii; other/a.nii ... say nothing of ids.
mkdir plain parts folders other
head -n 1 study/train_participants.tsv >people.tsv
i=0
sed 1d study/train_participants.tsv >rows
while IFS='	' read -r id rest; do
    printf 's%d\t%s\n' $i "$rest" >>people.tsv
    gunzip -c "study/images/$id.nii.gz" >plain/s$i.nii
    ln plain/s$i.nii parts/map_s${i}_T1w.nii
    mkdir folders/s$i
    ln plain/s$i.nii folders/s$i/map.nii
    ln plain/s$i.nii "other/$(printf '%03d' $i).nii"
    printf 's%d\tplain/s%d.nii\n' $i $i >>with_ids.txt
    i=$((i + 1))
done <rows
F="fit -c people.tsv --use age,sex -P 3 --threads 1"
S="score -c people.tsv --threads 1 -q --training-rows plain --format csv"
z() { $KRONORM $S --model "$1.safetensors" -y with_ids.txt -o "$1.z"; }

near() { # two tables of the same shape: equal texts, numbers within 2e-6 (their rows are summed in another order)
    [ -s "$1" ] && [ -s "$2" ] && awk -F, 'NR == FNR { line[FNR] = $0; next }
        { n = split(line[FNR], other, ",")
          for (k = 1; k <= NF; k++) { d = $k - other[k]; if ((d < 0 ? -d : d) > 2e-6 || n != NF) bad = 1 } }
        END { exit bad || NR != 2 * FNR }' "$1" "$2"
}

works "a list with ids" $F -y with_ids.txt -o list.safetensors -q
z list
for how in "plain/*.nii" "parts/*.nii" "folders/*/map.nii"; do
    set -f
    name=${how%%/*}
    works "a pattern of images, the ids in their names: $name" $F -y "$name/${how#*/}" -o "$name.safetensors" --verbose
    set +f
    check "... says how they are matched" grep -q 'images are matched by the IDs in their file names' "$logs/err"
    check "... and not by position" sh -c "! grep -q 'rows are matched by position' '$logs/err'"
    z "$name"
    check "... gives the same z" near list.z/z.csv "$name.z/z.csv"
done
(cd plain && ls -r ./*.nii | sed 's,^\./,plain/,') >reversed.txt
works "a list in reverse order" $F -y reversed.txt -o reversed.safetensors -q
z reversed
check "... gives the same z" near list.z/z.csv reversed.z/z.csv
mv plain/s0.nii plain/t0.nii
fails "an image that is named after nobody is no reason to go by position" 1 \
    "kronorm: people.tsv: 1 ID is not in plain/*.nii: s0, and 1 the other way round; use --match common to use only the IDs that are in both" \
    $F -y 'plain/*.nii' -o none.safetensors
works "names that say nothing go by position" $F -y 'other/*.nii' -o other.safetensors
check "... with a warning" grep -q 'have no IDs to match by, so rows are matched by position' "$logs/err"
done_testing
