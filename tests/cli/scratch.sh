#!/bin/sh
# --memory and --scratch: the same model from less memory, or one sentence with the numbers.
. "$(dirname "$0")/lib.sh"
export OPENBLAS_NUM_THREADS=1
"$KRONORM" simulate --samples 60 --patients 2 -o study -q
list=study/train_images.txt people=study/train_participants.tsv
F="fit -c $people -P 5 --folds 3 --threads 1"
mkdir scratch

# The need of a fit in tenths of a megabyte, as --verbose tells it.
need() {
    "$KRONORM" "$@" -v 2>&1 >"$logs/out" |
        sed -n 's/^memory: this [a-z]* needs \([0-9]*\)\.\([0-9]\) MB.*/\1\2/p'
}
megabytes() { echo "$(($1 / 10)).$(($1 % 10))M"; }

failing() { # promise, pattern of the whole of stderr, arguments ...: nothing is left behind
    promise=$1 pattern=$2
    shift 2
    tree >"$logs/before"
    kronorm "$@" -q
    tree >"$logs/after"
    case "$(cat "$logs/err")" in
    $pattern) said=yes ;;
    *) said=no ;;
    esac
    if [ $code -eq 1 ] && [ $said = yes ] && cmp -s "$logs/before" "$logs/after"; then
        ok "$promise"
    else
        not_ok "$promise" "expected $pattern; left: $(diff "$logs/before" "$logs/after")"
    fi
}

# ---- the same model ----------------------------------------------------------------------------

all=$(need $F -y $list -o one.safetensors)
check "--verbose predicts the need" test "$all" -gt 400
less=$(megabytes $((all - 3)))
works "a little less than that goes by way of a file" $F -y $list -o two.safetensors \
    --memory "$less" --scratch scratch
check "... which is announced" grep -qx \
    'the responses go to a scratch file of [0-9.]* kB in scratch' "$logs/err"
check "... and gone" test -z "$(ls -A scratch)"
check "the same model from memory and from a file" cmp one.safetensors two.safetensors
"$KRONORM" score one.safetensors -c study/participants.tsv -y study/images.txt --match common \
    --format npy --write z,yhat -o arrays -q
all=$(need fit -c study/participants.tsv -y arrays/yhat.npy -P 5 --folds 3 --threads 1 -o three.safetensors)
works "an array by way of a file" fit -c study/participants.tsv -y arrays/yhat.npy -P 5 --folds 3 \
    --threads 1 -o four.safetensors --memory "$(megabytes $((all - 3)))" --scratch scratch -v
check "... indeed" grep -q 'scratch file' "$logs/err"
check "the same model of an array" cmp three.safetensors four.safetensors
for m in "--method stgpr" "--method kronprod" "--noise iso -P 4"; do
    G="fit -c $people -y $list --folds 3 --threads 1 --max-evals 3 $m"
    all=$(need $G -o five.safetensors)
    kronorm $G -o six.safetensors --memory "$(megabytes $((all - 3)))" --scratch scratch
    grep -q 'scratch file' "$logs/err" || rm -f six.safetensors
    check "the same model with $m" cmp five.safetensors six.safetensors
    rm -f five.* six.*
done

# ---- refused -----------------------------------------------------------------------------------

failing "what is too much is refused with the numbers" \
    'kronorm: this fit needs [0-9]*.[0-9] MB (*program and BLAS 40.0 MB), or [0-9]*.[0-9] MB with the responses in --scratch, but --memory allows 45.0 MB; without a reference (--folds 0) it would need 4[0-9].[0-9] MB' \
    $F -y $list -m study/mask.nii.gz -o no.safetensors --memory 45M --scratch scratch
failing "and so is what no number of responses would make possible" \
    'kronorm: this fit needs at least [0-9]*.[0-9] MB (*), but --memory allows 1.0 kB' \
    $F -y $list -o no.safetensors --memory 1k
misused "a size that is none" \
    " fit: --memory is '8 apples', but must be a size such as 8G, 1.5G or 512M (see 'kronorm fit --help')" \
    $F -y $list -o no.safetensors --memory '8 apples'
awk 'BEGIN { print "participant_id,age,y"
    for (i = 1; i <= 3000; i++) printf "s%04d,%d,%d\n", i, 20 + i % 50, i * 7919 % 101 }' >many.csv
failing "too many samples for dense matrices: how many would do" \
    'kronorm: this fit needs [0-9]*.[0-9] MB (matrices over participants *), but --memory allows 200.0 MB; there is memory for 1[0-9]* participants, or --rank 500 would need [0-9]*.[0-9] MB' \
    fit -c many.csv -y many.csv --use age --targets y -P 1 -o no.safetensors --memory 200M --threads 1 --rank full
refused "a scratch folder that is not there" \
    "nowhere cannot hold a scratch file: no such file or directory" \
    $F -y $list -o no.safetensors --memory "$less" --scratch nowhere

# ---- no room in the file system ----------------------------------------------------------------

promise="a full scratch folder"
full='kronorm: tiny: the responses need [0-9.]* kB of scratch space, but only [0-9.]* kB are free; choose another folder with --scratch'
mkdir tiny
if mount -t tmpfs -o size=64k tmpfs tiny 2>/dev/null; then
    trap 'umount "$work/tiny"; rm -rf "$work" "$logs"' EXIT
    failing "$promise" "$full" $F -y $list -o no.safetensors --memory "$less" --scratch tiny
    check "... has nothing left in it" test -z "$(ls -A tiny)" -a \
        "$(df --output=used tiny | tail -n 1)" -eq 0
else
    skip "$promise" "mounting a small file system needs root"
fi
(ulimit -f 400 && exec "$KRONORM" $F -y $list -o no.safetensors --memory "$less" --scratch scratch -q) \
    >"$logs/out" 2>"$logs/err"
code=$?
check "a scratch file beyond ulimit -f" grep -q \
    '^kronorm: scratch: the responses need .* of scratch space, more than a file may have (ulimit -f)' "$logs/err"
check "... leaves nothing" test $code -eq 1 -a -z "$(ls -A scratch)"

# ---- killed ------------------------------------------------------------------------------------

promise="kill -9 leaves no scratch file"
if [ -r /proc/self/maps ]; then
    "$KRONORM" $F -y $list -o killed.safetensors --memory "$less" --scratch scratch \
        --restarts 1000000 -q 2>/dev/null &
    pid=$! mapped=no
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        grep -q "$work/scratch/kronorm-" /proc/$pid/maps 2>/dev/null && mapped=yes && break
        sleep 0.1
    done
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    if [ $mapped = yes ]; then
        check "$promise" test -z "$(ls -A scratch)"
    else
        skip "$promise" "the run was over before it was seen"
    fi
else
    skip "$promise" "there is no /proc"
fi

# ---- ulimit -v ---------------------------------------------------------------------------------

# What the program and the BLAS take of address space without touching it, besides the need: 300 MB
# with one thread, of which place.c counts on 64 + 80 MB after loading.
promise="a fit within its need and 300 MB of address space"
if ldd "$KRONORM" 2>/dev/null | grep -q asan || ! (ulimit -v 400000) 2>/dev/null; then
    skip "$promise" "no limit of address space here"
else
    all=$(need $F -y $list -o limited0.safetensors)
    (ulimit -v $(((all / 10 + 300) * 1000)) && exec "$KRONORM" $F -y $list -o limited.safetensors -q) \
        >"$logs/out" 2>"$logs/err"
    code=$?
    check "$promise" test $code -eq 0 -a -s limited.safetensors
    (ulimit -v 200000 && exec "$KRONORM" $F -y $list -o no.safetensors -q) >"$logs/out" 2>"$logs/err"
    code=$?
    check "one that cannot says so" test $code -eq 1 -a "$(wc -l <"$logs/err")" -eq 1
    check "... and why" grep -q \
        '^kronorm: this fit needs .*but the limit of this process (ulimit -v) leaves' "$logs/err"
fi
done_testing
