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

begin
ranks 2 "$KRONORM" fit -c nobody.csv -y thickness.csv -o n.safetensors
ends "a missing file is one sentence, and nothing is left behind" 1 \
    "kronorm: nobody.csv cannot be opened: no such file or directory"
done_testing
