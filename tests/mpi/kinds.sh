#!/bin/sh
# Kinds of fits that ranks share, beyond those of fit.sh: the bytes and the words of one process; and what each
# rank holds while it reads.
. "$(dirname "$0")/lib.sh"
export OPENBLAS_NUM_THREADS=1

told() { grep -v '^  seconds:\|: [0-9]* of [0-9]*$\|: evaluation [0-9]' "$1"; }
same() { # what, ranks, arguments of fit ...
    what=$1 n=$2
    shift 2
    rm -f m.safetensors* one.safetensors
    env -u KRONORM_COMM "$KRONORM" fit "$@" -o m.safetensors >"$logs/one.out" 2>"$logs/one.err"
    mv m.safetensors one.safetensors
    ranks "$n" "$KRONORM" fit "$@" -o m.safetensors --force
    check "$what" cmp m.safetensors one.safetensors
    for f in one.out one.err out err; do told "$logs/$f" >"$logs/$f.told"; done
    check "... in the same words" eval 'diff "$logs/one.out.told" "$logs/out.told" && diff "$logs/one.err.told" "$logs/err.told"'
}

"$FIT_CHECK" data 30 4200 cut k
"$FIT_CHECK" data 4200 4 whole basis # a basis is a matrix as any other
few="--threads 1 --max-evals 4"
same "a basis of one's own" 3 -c k.csv -y k.npy $few --basis basis.npy
same "... its columns as they are" 2 -c k.csv -y k.npy $few --basis basis.npy --basis-axes given
same "components that a kernel joins, whose signs count" 3 -c k.csv -y k.npy $few -P 3 --noise iso --task-kernel se+iso
same "the paper's" 2 -c k.csv -y k.npy $few -P 2 --preset paper
same "rows that share noise" 3 -c k.csv -y k.npy $few -P 2 --use age --group site
same "responses as they are, half of them in the statistic" 2 -c k.csv -y k.npy $few -P 2 --no-standardise --top 0.5
same "the least calibration" 2 -c k.csv -y k.npy $few -P 2 --calibrate student
"$FIT_CHECK" data 3 4200 whole three
same "fewer people than ranks" 4 -c three.csv -y three.npy $few --use age -P 1 --folds 0

# ---- memory ---------------------------------------------------------------------------------------

ranks 2 "$KRONORM" fit -c k.csv -y k.npy $few -P 1 --folds 0 -o m.safetensors --force -v
check "where no --memory is given, it is one process's part of what there is" \
    grep -q "; one process's part of half of this [a-z]*'s memory is " "$logs/err"
ranks 2 "$KRONORM" fit -c k.csv -y k.npy $few -P 1 --folds 0 -o m.safetensors --force -v --memory 2G
check "... and where one is, it is that" grep -q "; --memory allows 2.0 GB" "$logs/err"

make_images
files="covariates=study/train_participants.tsv responses=study/train_images.txt mask=study/mask.nii.gz"
ranks 3 "$COMMAND_CHECK" need fit $files components=1 folds=0
check "images that ranks read together: no rank holds more than its need says" [ $code -eq 0 ]
"$FIT_CHECK" data 180 12000 whole wide
ranks 3 "$COMMAND_CHECK" need fit covariates=wide.csv use=age responses=wide.npy components=2 top=0.5 folds=3 calibrate=none
check "z of which each rank keeps its own, and the statistic of all: nor here" [ $code -eq 0 ]
done_testing
