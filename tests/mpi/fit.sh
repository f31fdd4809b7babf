#!/bin/sh
# A fit that ranks share, each walking over its own responses: the bytes of one process.
. "$(dirname "$0")/lib.sh"
export OPENBLAS_NUM_THREADS=1
notice="works and the others wait"

# The model of one process, then of some; no rank works alone.
same() { # what, numbers of ranks, arguments of fit ...
    what=$1 numbers=$2
    shift 2
    rm -f one.safetensors* r.safetensors*
    env -u KRONORM_COMM "$KRONORM" fit "$@" -o one.safetensors >"$logs/out" 2>"$logs/err"
    for n in $numbers; do
        rm -f r.safetensors*
        ranks "$n" "$KRONORM" fit "$@" -o r.safetensors
        if grep -q "$notice" "$logs/err"; then
            not_ok "$what, $n ranks" "the first worked alone"
        else
            check "$what, $n ranks" cmp r.safetensors one.safetensors
        fi
    done
}
alone() { # what, arguments of fit ...: the first does it, and says so
    what=$1
    shift
    rm -f one.safetensors* r.safetensors*
    env -u KRONORM_COMM "$KRONORM" fit "$@" -o one.safetensors >"$logs/out" 2>"$logs/err"
    ranks 2 "$KRONORM" fit "$@" -o r.safetensors
    check "$what" cmp r.safetensors one.safetensors
    check "... which the first does alone, and says so" [ "$(grep -c "$notice" "$logs/err")" = 1 ]
}

# ---- blocks of 2048 responses ---------------------------------------------------------------------

for T in ${thorough:+1 2047 2048} 2049; do
    "$FIT_CHECK" data 30 $T whole t$T
    same "$T responses" "${thorough:+2 }3" -c t$T.csv -y t$T.npy --components 1
done
"$FIT_CHECK" data 60 5000 cut cut
same "responses at the cuts that are constant or no numbers" "${thorough:+2 3 }4" -c cut.csv -y cut.npy --components 3

# ---- kinds of fits --------------------------------------------------------------------------------

same "components by themselves" "${thorough:+2 }3" -c cut.csv -y cut.npy
if [ "$thorough" ]; then
same "iso noise" 2 -c cut.csv -y cut.npy --components 2 --noise iso
same "a plain sum of kernels" 2 -c cut.csv -y cut.npy --components 2 --sample-kernel linear+se
same "no calibration" 2 -c cut.csv -y cut.npy --components 2 --calibrate none
same "all of it" 2 -c cut.csv -y cut.npy --components 2 --calibrate full
same "a covariance of low rank" 2 -c cut.csv -y cut.npy --components 2 --rank 20
"$FIT_CHECK" data 5000 3 whole basis
same "a basis that is given" 2 -c cut.csv -y cut.npy --basis basis.npy
same "... and its columns as they are" 2 -c cut.csv -y cut.npy --basis basis.npy --basis-axes given
awk 'NR == 1 { print "who," $0; next } { print "g" int(NR / 3) "," $0 }' cut.csv >groups.csv
same "noise that groups share" 2 -c groups.csv -y cut.npy --use age,site --group who --components 3
same "no folds" 3 -c cut.csv -y cut.npy --components 2 --folds 0
"$FIT_CHECK" data 5010 2100 cut many
same "more samples than a Gram matrix is made of" 2 -c many.csv -y many.npy --components 2 --folds 0
fi

# ---- where responses come from -------------------------------------------------------------------

"$FIT_CHECK" data 40 4100 columns columns
same "an array in columns" 3 -c columns.csv -y columns.npy --components 2
"$FIT_CHECK" data 40 2100 gaps lacks
same "responses that lack a value, left out" 3 -c cut.csv -y cut.npy --components 2 --missing-responses drop
make_tables
same "a table" "${thorough:+2 }3" -c people.csv -y thickness.csv --use age,sex
make_images
same "images and a mask" 2 -c study/train_participants.tsv -y study/train_images.txt -m study/mask.nii.gz
[ -z "$thorough" ] || same "images" 2 -c study/train_participants.tsv -y study/train_images.txt
same "images of some people" 3 -c study/train_participants.tsv -y study/train_images.txt --use age --where 'age > 30'
# 2200 columns: two blocks
/usr/bin/python3 - <<'P'
import numpy as np
r = np.random.default_rng(3)
x = r.uniform(20, 80, 25)
y = np.outer(x / 20, r.normal(size=2200)) + r.normal(size=(25, 2200))
with open("broad.csv", "w") as f:
    f.write("id,age," + ",".join("r%d" % j for j in range(2200)) + "\n")
    for i in range(25):
        f.write("s%d,%.2f," % (i, x[i]) + ",".join("%.4f" % v for v in y[i]) + "\n")
P
same "a table of two blocks" "2 3" -c broad.csv -y broad.csv --use age --components 2
head -n 6 study/train_images.txt >study/six_images.txt
same "more ranks than people" 8 -c study/train_participants.tsv -y study/six_images.txt -m study/mask.nii.gz --match common --use age \
    --components 1 --folds 2

# ---- what the first does alone --------------------------------------------------------------------

if [ "$thorough" ]; then
alone "whitened noise" -c people.csv -y thickness.csv --use age --noise whitened
awk -F, 'BEGIN { OFS = FS } NR % 7 == 3 { $3 = "" } 1' thickness.csv >gaps.csv
alone "missing cells" -c people.csv -y gaps.csv --use age,sex --missing-responses impute
alone "... of several blocks" -c lacks.csv -y lacks.npy --components 2
fi

# ---- what goes wrong --------------------------------------------------------------------------------

# The k-th allocation fails, for k in steps to the end of a whole fit; with the two MPIs at other places.
case ${KN_TEST_REPEAT:-all}$thorough in all1) steps="1 6" ;; all) steps="2 3" ;; *1) steps="1 2" ;; *) steps="3 2" ;; esac
"$FIT_CHECK" data 24 2100 cut small
lost() { # what, rank, options of the fit ...
    what=$1 rank=$2
    shift 2
    ranks 2 "$FIT_CHECK" memory $rank $steps "$@"
    check "memory that runs out on rank $rank, at any time of a fit of $what: all fail alike" [ $code -eq 0 ]
}
images="covariates=study/train_participants.tsv responses=study/train_images.txt components=2"
lost arrays 1
if [ "$thorough" ]; then
lost arrays 0
lost "an array in a file, components auto" 1 covariates=small.csv responses=small.npy
lost "a table, components auto" 1 covariates=people.csv responses=thickness.csv use=age,sex
lost "images" 1 $images mask=study/mask.nii.gz
lost "images without a mask" 1 $images
fi
tree >"$logs/before"
ranks 3 "$KRONORM" fit -c cut.csv -y nothing.npy -o n.safetensors
ends "responses that are not there" 1 "kronorm: nothing.npy cannot be opened: no such file or directory"
ranks 2 "$KRONORM" fit -c cut.csv -y cut.npy --components 59 -o n.safetensors --noise iso
check "what all find is said once" [ "$(said | grep -c '^kronorm: ')" = 1 -a $code -ne 0 ]

ranks 3 "$KRONORM" fit -c lacks.csv -y lacks.npy -o n.safetensors --missing-responses drop -q
ends "a person without a number" 1 "kronorm: lacks.npy row 8 has no finite value; exclude it with --where or --match common"

for column in 2100 7; do # of the second rank, then of both
    awk -F, -v c=$column 'BEGIN { OFS = FS } NR == 12 { $c = "much" } NR == 12 && c == 7 { $2100 = "little" } 1' broad.csv >text.csv
    fit="fit -c broad.csv -y text.csv --use age --targets r[0-9]* -o n.safetensors -q"
    tree >"$logs/before"
    env -u KRONORM_COMM "$KRONORM" $fit 2>"$logs/one"
    ranks 2 "$KRONORM" $fit
    ends "a word among the numbers, in column $column" 1 "$(cat "$logs/one")"
done
: >empty.csv
tree >"$logs/before"
ranks 2 "$KRONORM" fit -c empty.csv -y broad.csv -o n.safetensors -q
ends "an empty table" 1 "kronorm: empty.csv is empty, but must contain a header and rows"

# One image of the last rank's: the sentence of one process.
image=$(tail -1 study/train_images.txt | cut -f2)
turned() { # an image with its first two dimensions exchanged
    gunzip -c "$1" >"$logs/x" && {
        head -c 42 "$logs/x"
        dd if="$logs/x" bs=1 skip=44 count=2 2>/dev/null
        dd if="$logs/x" bs=1 skip=42 count=2 2>/dev/null
        tail -c +47 "$logs/x"
    } | gzip
}
for wrong in short gone "of another shape"; do
    cp "study/$image" "$logs/whole"
    case $wrong in
    short) head -c 300 "$logs/whole" >"study/$image" ;;
    gone) rm "study/$image" ;;
    *) turned "$logs/whole" >"study/$image" ;;
    esac
    tree >"$logs/before"
    fit="fit -c study/train_participants.tsv -y study/train_images.txt -m study/mask.nii.gz -o n.safetensors -q"
    env -u KRONORM_COMM "$KRONORM" $fit 2>"$logs/one"
    ranks 3 "$KRONORM" $fit
    ends "an image that is $wrong" 1 "$(cat "$logs/one")"
    cp "$logs/whole" "study/$image"
done
head -c 300000 cut.npy >half.npy
tree >"$logs/before"
env -u KRONORM_COMM "$KRONORM" fit -c cut.csv -y half.npy -o n.safetensors -q 2>"$logs/one"
ranks 3 "$KRONORM" fit -c cut.csv -y half.npy -o n.safetensors -q
ends "an array that is cut short" 1 "$(cat "$logs/one")"
launched -n 1 "$KRONORM" fit -c cut.csv -y cut.npy -o n.safetensors -q --memory 1G : \
    -n 1 "$KRONORM" fit -c cut.csv -y cut.npy -o n.safetensors -q --memory 41M
tree >"$logs/after"
check "a rank with too little memory: one sentence, which counts ranks" [ $code -eq 1 -a "$(said | wc -l)" -eq 1 -a \
    "$(said | grep -c 'in each of 2 processes of this node .* but --memory allows 41.0 MB')" -eq 1 ]
check "... and nothing is left behind" cmp "$logs/before" "$logs/after"

# A fit of a minute and more; one rank gets a signal to stop while all work.
"$FIT_CHECK" data 900 4100 whole long
cat >rank.sh <<'END'
echo $$ >"$1/pid.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"
exec "$KRONORM" fit -c long.csv -y long.npy --folds 300 --threads 1 -o n.safetensors
END
tree >"$logs/before"
struck() { # rank, signal, seconds
    timeout -k 5 60 mpirun."$mpi" -n 2 sh rank.sh "$logs" >"$logs/out" 2>"$logs/err" </dev/null &
    job=$!
    for i in $(seq 150); do grep -q ' samples, ' "$logs/err" && break || sleep 0.2; done
    sleep $3
    kill -$2 "$(cat "$logs/pid.$1")"
    wait $job
    code=$?
    tree >"$logs/after"
}
for rank in 0 1; do
    struck $rank TERM $((1 + rank))
    check "rank $rank told to stop: all do, and it is said once" \
        [ $code -eq 130 -a "$(said | grep -v warning)" = "kronorm: stopped on request" ]
    check "... and nothing is left behind" cmp "$logs/before" "$logs/after"
done
struck 1 KILL 1
check "a rank is killed while all work: all end, in time" [ $code -ne 0 -a $code -ne 124 -a -z "$(said | grep -v warning)" ]
check "... and nothing is left behind" cmp "$logs/before" "$logs/after"
done_testing
