#!/bin/sh
# STGPR that ranks share, each with the cells of its own responses: the bytes of one process.
. "$(dirname "$0")/lib.sh"
export OPENBLAS_NUM_THREADS=1
notice="works and the others wait"

same() { # what, "ranks:threads ...", arguments of fit ...
    what=$1 numbers=$2
    shift 2
    rm -f one.safetensors* r.safetensors*
    env -u KRONORM_COMM "$KRONORM" fit --method stgpr --threads 2 "$@" -o one.safetensors >"$logs/out" 2>"$logs/err"
    for how in $numbers; do
        rm -f r.safetensors*
        ranks "${how%:*}" "$KRONORM" fit --method stgpr --threads "${how#*:}" "$@" -o r.safetensors
        if grep -q "$notice" "$logs/err"; then
            not_ok "$what, ${how%:*} ranks of ${how#*:} threads" "the first worked alone"
        else
            check "$what, ${how%:*} ranks of ${how#*:} threads" cmp r.safetensors one.safetensors
        fi
    done
}

# Several blocks, whose first and last responses are constant or no numbers; more ranks than blocks.
"$FIT_CHECK" data 24 4100 cut cut
same "responses at the cuts that are left out" "1:1 2:1 3:2 4:1" -c cut.csv -y cut.npy --folds 3 --calibrate none
"$FIT_CHECK" data 20 9 whole few
same "more ranks than blocks" "3:1" -c few.csv -y few.npy
same "cells of rho and length" "2:1" -c cut.csv -y cut.npy --use age --sample-kernel linear+se --folds 0
same "one cell" "2:2" -c cut.csv -y cut.npy --use age --sample-kernel linear+se --folds 0 --rho 0.5 --length 1 --max-evals 0
same "a limit of cells" "2:1" -c cut.csv -y cut.npy --folds 0 --max-evals 5
awk -F, 'BEGIN { OFS = FS } NR == 1 { print $0, "person"; next } { print $0, "p" int(NR / 3) }' cut.csv >visits.csv
same "rows that share noise" "2:1 3:2" -c visits.csv -y cut.npy --use age --group person --folds 3 --calibrate none

rm -f one.safetensors* r.safetensors*
env -u KRONORM_COMM "$KRONORM" fit --method stgpr --plain -c few.csv -y few.npy --use age -o one.safetensors >"$logs/out" 2>"$logs/err"
ranks 2 "$KRONORM" fit --method stgpr --plain -c few.csv -y few.npy --use age -o r.safetensors
check "each response by all of its parameters" cmp r.safetensors one.safetensors
check "... which the first does alone, and says so" [ "$(grep -c "$notice" "$logs/err")" = 1 ]

# Every rank scores participants by the whole model.
for n in 1 2; do
    rm -rf held held$n
    ranks $n "$KRONORM" cv --method stgpr -c cut.csv -y cut.npy --use age --folds 2 --write z,ys2_model -o held
    mv held held$n
done
check "cross-validation, 2 ranks" diff -r -I '^    "score": ' held1 held2

"$FIT_CHECK" data 24 2100 cut small
for rank in 0 1; do
    ranks 2 "$FIT_CHECK" memory $rank 1 4 covariates=small.csv use=age responses=small.npy method=stgpr max_evals=80 folds=2 calibrate=none
    check "memory that runs out on rank $rank, at any time: all fail alike" [ $code -eq 0 ]
done
done_testing
