#!/bin/sh
# Inputs that change while they are read, and files with more or less content than they announce: a sentence, and
# no result of half old, half new data.
. "$(dirname "$0")/lib.sh"
make_tables
make_images
list=study/train_images.txt people=study/train_participants.tsv
"$KRONORM" fit -c people.csv -y thickness.csv -o model.safetensors -q

# ---- a command whose reads take a tenth of a second each, while a file is changed
slowed() { # sentence, promise, pattern of the system call that is waited for, the command that changes one, arguments ...
    sentence=$1 promise=$2 call=$3 change=$4
    shift 4
    rm -rf out
    : >"$logs/calls"
    strace -f -qq -o "$logs/calls" -e trace=pread64,openat -e inject=pread64:delay_enter=100000 \
        "$KRONORM" "$@" >"$logs/out" 2>"$logs/err" </dev/null &
    run=$!
    while kill -0 $run 2>/dev/null && ! grep -q "$call" "$logs/calls"; do sleep 0.05; done
    sh -c "$change"
    code=0
    wait $run || code=$?
    if [ $code -eq 1 ] && [ "$(cat "$logs/err")" = "kronorm: $sentence" ] && [ ! -e out ]; then
        ok "$promise"
    else
        not_ok "$promise" "expected $sentence"
    fi
}
cp model.safetensors short.safetensors
/usr/bin/python3 - <<'PYTHON'
import struct
import random
random.seed(3)
n, columns = 40, 40000
with open("big.npy", "wb") as f:
    header = ("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % (n, columns)).ljust(117) + "\n"
    f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    for i in range(n):
        f.write(struct.pack("<%df" % columns, *(random.gauss(0, 1) for _ in range(columns))))
PYTHON
if strace -f -qq -o /dev/null -e trace=pread64 -e inject=pread64:delay_enter=1000 "$KRONORM" --version >"$logs/out" 2>&1; then
    slowed "short.safetensors became shorter while it was read; run again when it is complete" "a model that is cut while it is read" \
        "openat.*\"short.safetensors\"" "truncate -s 5000 short.safetensors" \
        score short.safetensors -c people.csv -y thickness.csv -o out -q
    slowed "big.npy changed while it was read; run again when it is complete" \
        "an array that is overwritten in place while it is read" \
        "pread64.* 1048576, 128)" "printf xxxx | dd of=big.npy bs=1 seek=3000000 conv=notrunc 2>/dev/null" \
        fit -c people.csv -y big.npy --match common -o out -q --threads 1
    image=study/$(head -n 1 $list | cut -f 2) second=$(sed -n 2p $list | cut -f 2)
    slowed "$image changed while it was read; run again when it is complete" \
        "an image that is replaced while others are read" \
        "openat.*\"[^\"]*$second\"" "cp $image copy && mv copy $image" \
        fit -c $people -y $list -m study/mask.nii.gz -o out -q --threads 1
else
    for promise in "a model that is cut" "an array that is overwritten" "an image that is replaced"; do
        skip "$promise while it is read" "strace cannot delay reads here"
    done
fi

# ---- images that hold more than their header announces
gzip -dc study/mask.nii.gz >mask.nii
cp mask.nii padded.nii
head -c 60000 /dev/zero >>padded.nii
works "an image with some padding is read" fit -c $people -y $list -m padded.nii -o padded.safetensors -q
cp mask.nii endless.nii
head -c 300000000 /dev/zero >>endless.nii
gzip -1 -c endless.nii >endless.nii.gz
size=$(awk -v b="$(stat -c %s mask.nii)" 'BEGIN { printf "%.1f kB", b / 1000 }')
refused "an image that goes on" \
    "endless.nii: the header declares $size, but the file contains more data; the header or the file is wrong" \
    fit -c $people -y $list -m endless.nii -o out
refused "a compressed one" \
    "endless.nii.gz: the header declares $size, but the file contains more data; the header or the file is wrong" \
    fit -c $people -y $list -m endless.nii.gz -o out
rm endless.nii endless.nii.gz
done_testing
