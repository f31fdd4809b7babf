#!/bin/sh
# examples/score_array.sbatch as it is: a job array of parts and the job that joins them give the files of one run; a task that failed is
# run again alone.
. "$(dirname "$0")/lib.sh"
make_images
unset KRONORM_COMM
mkdir bin
ln -s "$KRONORM" bin/kronorm
PATH=$work/bin:$PATH
export PATH
script="$SOURCE/examples/score_array.sbatch"
works "fit" fit -c study/train_participants.tsv -y study/train_images.txt -m study/mask.nii.gz -P 4 -o model.safetensors

export MODEL=../model.safetensors PEOPLE=../study/test_participants.tsv IMAGES=../study/test_images.txt OUT=scored PARTS=4
export MORE="--cases group=patient --split"
mkdir one parts again
(cd one && "$KRONORM" score $MODEL -c $PEOPLE -y $IMAGES -o $OUT --threads 4 $MORE >"$logs/out" 2>"$logs/err")
check "one run" [ $? -eq 0 ]
same() { # folder: all files of it and of one run, but for the seconds
    (cd one/scored && find . -type f | sort) >"$logs/files" && (cd "$1/scored" && find . -type f | sort) | diff - "$logs/files" &&
        while read -r f; do
            case $f in
            */summary.json)
                for of in one "$1"; do grep -v '"score": [0-9]' "$of/scored/$f" >"$logs/$of"; done
                diff "$logs/one" "$logs/$1" || return 1 ;;
            *) cmp "one/scored/$f" "$1/scored/$f" || return 1 ;;
            esac
        done <"$logs/files"
}

(cd parts && bash "$script" >"$logs/out" 2>"$logs/err")
code=$?
check "the array and the join are handed in" [ $code -eq 0 -a "$(wc -l <"$logs/out")" = 1 ]
check "... and end" over
cat parts/*.log >"$logs/err"
check "four parts and a join have said what they had to" [ "$(ls parts/kronorm-score-*.log | wc -l)" -eq 5 ]
check "the files are those of one run" same parts

# ---- one that fails -----------------------------------------------------------------------------

# the third person of the list is of the third part
image=study/$(awk -F '\t' 'NR == 3 { print $NF }' study/test_images.txt)
mv "$image" "$logs/image"
(cd again && bash "$script" >"$logs/out" 2>"$logs/err")
check "with an image missing the array ends, and no join comes" over
cat again/*.log >"$logs/err"
check "... of which one part says what is wrong" \
    [ "$(grep -c '^kronorm: .*cannot be opened: no such file or directory' "$logs/err")" = 1 ]
check "... and nothing is joined" [ ! -e again/scored/summary.json ]
(cd again && sbatch --wait "$script" join >"$logs/out" 2>"$logs/err")
code=$?
cat again/*.log >"$logs/err"
check "a join before its time is refused, and names the part" [ $code -eq 1 -a "$(grep -c 'parts these are missing: 3;' "$logs/err")" = 1 ]
mv "$logs/image" "$image"
(cd again && sbatch --wait --array=3 "$script" >"$logs/out" 2>"$logs/err")
check "the one that failed is run again alone" [ $? -eq 0 ]
(cd again && sbatch --wait "$script" join >"$logs/out" 2>"$logs/err")
check "... and joined" [ $? -eq 0 ]
check "... the files are those of one run" same again
done_testing
