#!/bin/sh
# Two ranks in a few seconds, for `make check`: the bytes of one process, one sentence where something is wrong.
# tests/mpi/fit.sh, cv.sh and faults.sh have the rest.
. "$(dirname "$0")/lib.sh"
make_tables
one_process() { env -u KRONORM_COMM "$KRONORM" "$@" >"$logs/one.out" 2>"$logs/one.err"; }
fit="-c people.csv -y thickness.csv --use age,sex,site"
cv="-c people.csv -y thickness.csv --use age,sex --folds 2 -P 1"
mkdir one

one_process fit $fit -o m.safetensors
mv m.safetensors one
rm -f m.safetensors.log.json
ranks 2 "$KRONORM" fit $fit -o m.safetensors
check "two ranks fit the model of one process, to the byte" cmp m.safetensors one/m.safetensors
check "the log counts both ranks and the bytes between them" \
    [ "$(grep -c '"ranks": 2,\|"bytes": [1-9]' m.safetensors.log.json)" = 2 ]

one_process cv $cv -o held
mv held one
ranks 2 "$KRONORM" cv $cv -o held
check "two ranks write the cross-validation folder of one process" diff -r -I '^    "score": ' held one/held

# One far cell, and three of one response that are outlying only in folds without one of them.
awk -F, 'BEGIN { OFS = FS } NR == 5 { $3 *= 100 } NR == 4 || NR == 9 || NR == 14 { $4 *= 100 } 1' thickness.csv >far.csv
far="-c people.csv -y far.csv --use age,sex,site"
one_process fit $far -o far.safetensors
mv far.safetensors one
rm -f far.safetensors.log.json
ranks 2 "$KRONORM" fit $far -o far.safetensors
check "two ranks fill an outlying cell and fit the model of one process" cmp far.safetensors one/far.safetensors
check "... and name the cell" grep -q 'far beyond all others and .* treated as missing (--outliers): ' "$logs/err"
check "... and share the fit" [ "$(grep -c 'others wait' "$logs/err")" = 0 ]
far="-c people.csv -y far.csv --use age,sex --folds 3 -P 1"
one_process cv $far -o far
mv far one
ranks 2 "$KRONORM" cv $far -o far
check "... also in folds" diff -r -I '^    "score": ' far one/far

begin
ranks 2 "$KRONORM" fit -c nobody.csv -y thickness.csv -o n.safetensors
ends "a missing file is one sentence, and nothing is left behind" 1 \
    "kronorm: nobody.csv cannot be opened: no such file or directory"
done_testing
