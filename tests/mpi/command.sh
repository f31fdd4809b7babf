#!/bin/sh
# mpirun -n R kronorm fit: the same command line, the same bytes.
. "$(dirname "$0")/lib.sh"
make_tables
make_images
fit="-c people.csv -y thickness.csv --use age,sex"
notice="processes works and the others wait; one process with --threads is as fast"
alone() { env -u KRONORM_COMM "$KRONORM" "$@" >"$logs/alone.out" 2>"$logs/alone.err"; }
same_output() { # but for seconds, and the notice
    for f in alone.out out; do sed '/^  seconds:/d' "$logs/$f" >"$logs/$f.told"; done
    grep -v "$notice" "$logs/err" | diff - "$logs/alone.err" && diff "$logs/alone.out.told" "$logs/out.told"
}

alone fit $fit -o m.safetensors
mkdir one
mv m.safetensors one
for n in 1 2 3; do
    rm -f m.safetensors*
    ranks $n "$KRONORM" fit $fit -o m.safetensors
    check "$n ranks: the model of one process" cmp m.safetensors one/m.safetensors
    check "... and one voice, with its words" same_output
done
memory() { sed -n 's/^  "memory": \([0-9.e+]*\),/\1/p' "$1"; }
alone fit $fit -o whole.safetensors
ranks 2 "$KRONORM" fit $fit -o m.safetensors --force
check "two ranks of a node have half the memory each" \
    awk "BEGIN { x = 2 * $(memory m.safetensors.log.json) / $(memory whole.safetensors.log.json); exit !(x > 0.999 && x < 1.001) }"
check "the log counts ranks, nodes, and what they said" [ "$(grep -c '"ranks": 2,\|"nodes": 1,\|"calls": [1-9]\|"bytes": [1-9]' m.safetensors.log.json)" = 4 ]
check "... of which one process has nothing" [ "$(grep -c between_ranks whole.safetensors.log.json)" = 0 ]
ranks 3 "$KRONORM" fit $fit -o m.safetensors --force --noise whitened
check "what is not spread over ranks says that the first works alone" grep -q "^fit: only one of 3 $notice" "$logs/err"
ranks 2 "$KRONORM" fit $fit -o m.safetensors --force -q
check "--quiet is" [ $code -eq 0 -a ! -s "$logs/out" -a ! -s "$logs/err" ]

rm m.safetensors*
kronorm fit $fit -o m.safetensors
check "without mpirun a plugin changes nothing" cmp m.safetensors one/m.safetensors

alone fit -c study/train_participants.tsv -y study/train_images.txt -m study/mask.nii.gz -o i.safetensors
mv i.safetensors one
rm i.safetensors.log.json
ranks 2 "$KRONORM" fit -c study/train_participants.tsv -y study/train_images.txt -m study/mask.nii.gz -o i.safetensors
check "images" cmp i.safetensors one/i.safetensors

alone cv -c regions.csv -y regions.csv --use age --targets 'lh_*' --folds 2 -o held
mv held one
ranks 2 "$KRONORM" cv -c regions.csv -y regions.csv --use age --targets 'lh_*' --folds 2 -o held
check "cv" diff -r -I '^    "score": ' held one/held # its seconds
check "... in one voice" same_output

ranks 3 "$KRONORM" fit --help
check "help comes once" [ "$(grep -c '^Usage' "$logs/out")" = 1 ]
ranks 2 env KRONORM_COMM=none "$KRONORM" info one/m.safetensors
check "KRONORM_COMM=none: info is of each process" [ $code -eq 0 -a "$(grep -c '^  method' "$logs/out")" = 2 ]

# ---- where the plugin is ----------------------------------------------------------------------

plugin=$KRONORM_COMM
mkdir -p place/bin place/lib/kronorm
cp "$KRONORM" place/bin
unset KRONORM_COMM
cp "$plugin" .
export LD_LIBRARY_PATH=.
ranks 2 "$work/place/bin/kronorm" fit $fit -o p.safetensors
check "a plugin in the working folder is none" grep -q 'this build has no MPI' "$logs/err"
unset LD_LIBRARY_PATH
rm libkronorm_mpi.so
cp "$plugin" place/lib/kronorm
ranks 2 "$work/place/bin/kronorm" fit $fit -o p.safetensors
check "../lib/kronorm of the command's folder is its place" cmp p.safetensors one/m.safetensors
mv place/lib/kronorm/libkronorm_mpi.so place/bin/other.so
KRONORM_COMM=other.so
export KRONORM_COMM
ranks 2 "$work/place/bin/kronorm" fit $fit -o p.safetensors --force
check "... or beside it, by a name" cmp p.safetensors one/m.safetensors
export KRONORM_COMM=none
rm -f m.safetensors*
cat >each.sh <<'END'
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
exec "$KRONORM" fit -c people.csv -y thickness.csv --use age,sex -o each$rank.safetensors -q
END
ranks 2 sh each.sh
check "KRONORM_COMM=none: so many fits" cmp each0.safetensors each1.safetensors
done_testing
