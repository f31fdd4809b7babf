#!/bin/sh
# Cross-validation that ranks share, with the adaptation in its folds: the files of one process, to the byte.
. "$(dirname "$0")/lib.sh"
export OPENBLAS_NUM_THREADS=1
notice="works and the others wait"
seconds='^    "score": ' # of the summary

one_process() { env -u KRONORM_COMM "$KRONORM" "$@" >"$logs/one.out" 2>"$logs/one.err"; }
told() { # what it said, in one voice; but for progress, where it takes long
    for f in one.err err; do grep -vE ": [0-9]+ of [0-9]+$|: evaluation [0-9]|$notice" "$logs/$f" >"$logs/$f.told"; done
    diff "$logs/one.out" "$logs/out" && diff "$logs/one.err.told" "$logs/err.told"
}

# The folder of one process, then of some; no rank works alone.
same() { # what, numbers of ranks, arguments of cv ...
    what=$1 numbers=$2
    shift 2
    rm -rf one held
    one_process cv "$@" -o held
    mv held one
    for n in $numbers; do
        rm -rf held
        ranks "$n" "$KRONORM" cv "$@" -o held
        if grep -q "$notice" "$logs/err"; then
            not_ok "$what, $n ranks" "the first worked alone"
        else
            check "$what, $n ranks" diff -r -I "$seconds" held one
            check "... in one voice" told
        fi
    done
}
alone() { # what, arguments of cv ...: the first does it, and says so
    what=$1
    shift
    rm -rf one held
    one_process cv "$@" -o held
    mv held one
    ranks 2 "$KRONORM" cv "$@" -o held
    check "$what" diff -r -I "$seconds" held one
    check "... which the first does alone, and says so" [ "$(grep -c "$notice" "$logs/err")" = 1 ]
}

cells() { # what, arguments of cv ...: fits that the first makes alone, scores that are shared
    what=$1
    shift
    rm -rf one held
    one_process cv "$@" -o held
    mv held one
    ranks 3 "$KRONORM" cv "$@" -o held
    check "$what, 3 ranks" diff -r -I "$seconds" held one
    check "... and a fold says who fitted" grep -q "^fold .* (imputing cells: one process fits, the others wait)$" "$logs/err"
    check "... which one process does not" [ "$(grep -c "others wait" "$logs/one.err")" = 0 ]
}

# ---- folds ------------------------------------------------------------------------------------------

"$FIT_CHECK" data 60 4100 cut cut
same "an array, with responses at the cuts that are constant or no numbers" "2 3" \
    -c cut.csv -y cut.npy --components 2 --folds 2
same "all maps" 3 -c cut.csv -y cut.npy --components 2 --folds 2 --write z,yhat,ys2_model,fdr,ys2,metrics
same "values in a scratch file" 2 -c cut.csv -y cut.npy --components 2 --folds 2 --memory 120M --scratch .
same "every response alone" 2 -c cut.csv -y cut.npy --method stgpr --folds 2
"$FIT_CHECK" data 9 2049 columns few
same "more ranks than people of a fold and blocks" 4 -c few.csv -y few.npy --use age --components 1 --folds 3
"$FIT_CHECK" data 40 2100 gaps lacks
same "responses that lack a value, left out" 2 -c cut.csv -y cut.npy --components 2 --folds 2 --missing-responses drop
cells "cells that lack a value, filled in" -c lacks.csv -y lacks.npy --components 2 --folds 2
make_tables
same "a table" 2 -c regions.csv -y regions.csv --use age --targets 'lh_*' --folds 3
make_images
same "images and a mask" 3 -c study/train_participants.tsv -y study/train_images.txt -m study/mask.nii.gz --use age --folds 2
same "images" 2 -c study/train_participants.tsv -y study/train_images.txt --use age --folds 2

# Ids that repeat beyond their folds: the z of training are theirs.
awk 'BEGIN { OFS = "," } NR == 1 { print "participant_id", $0; next } { print "s" int(NR / 2), $0 }' cut.csv >twice.csv
same "people of two rows each" 2 -c twice.csv -y cut.npy --components 2 --folds 2 --use age,site
same "... that nobody keeps together" 2 -c twice.csv -y cut.npy --components 2 --folds 2 --use age,site --group none

# ---- levels -----------------------------------------------------------------------------------------

awk -F, 'BEGIN { OFS = FS } NR == 1 { print $0, "diagnosis"; next } { print $0, NR % 9 == 4 ? "ill" : "well" }' cut.csv >ill.csv
same "sites left out, and adapted to" 2 -c ill.csv -y cut.npy --use age,site --components 2 --leave-out site --controls 5 \
    --cases diagnosis=ill

# ---- what the first does alone ----------------------------------------------------------------------

alone "whitened noise" -c people.csv -y thickness.csv --use age --noise whitened --folds 2
alone "every response alone, and sites adapted to" -c cut.csv -y cut.npy --method stgpr --leave-out site --controls 5
alone "lists" -c people.csv --split test=.2

# ---- what goes wrong ----------------------------------------------------------------------------------

tree >"$logs/before"
ranks 2 "$KRONORM" cv -c cut.csv -y cut.npy --components 2 --folds 2 -o held -q
ends "a folder with files" 1 "kronorm: held/folds.tsv already exists; use --force to replace it"
ranks 3 "$KRONORM" cv -c cut.csv -y cut.npy --components 2 --folds 2 -o nowhere/held -q
ends "a folder that cannot be created" 1 "$(env -u KRONORM_COMM "$KRONORM" cv -c cut.csv -y cut.npy --components 2 --folds 2 -o nowhere/held -q 2>&1)"
"$FIT_CHECK" data 18 2049 whole small
for rank in 0 1; do
    rm -rf left
    ranks 2 "$COMMAND_CHECK" memory $rank 6 cv covariates=small.csv responses=small.npy components=1 leave=site controls=3
    check "memory that runs out on rank $rank, at any time: all fail alike" [ $code -eq 0 ]
done
done_testing
