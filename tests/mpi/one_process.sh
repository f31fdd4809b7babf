#!/bin/sh
# score, predict and adapt run in one process: started several times by mpirun they are refused in one sentence, and nothing is written.
# KRONORM_COMM=none allows them, and one process of mpirun is as good as none.
. "$(dirname "$0")/lib.sh"
make_tables
alone() { env -u KRONORM_COMM "$KRONORM" "$@" -q 2>"$logs/alone.err"; }
awk -F, -v OFS=, 'NR > 31 { $4 = "C" } NR == 1 || NR > 31' people.csv >new.csv
head -n 31 people.csv >old.csv
for table in old new; do
    { head -n 1 thickness.csv && tail -n +2 $table.csv | cut -d, -f 1 | while read -r id; do grep "^$id," thickness.csv; done; } >${table}_y.csv
done
alone fit -c old.csv -y old_y.csv --use age,sex,site -o model.safetensors
new="-c new.csv -y new_y.csv"
node=$(uname -n)
plugin=$KRONORM_COMM

begin
parts() { # command, processes
    echo "mpirun or srun started $2 processes, but $1 uses only one; start it once, or set KRONORM_COMM=none, give each process a part of the participants (--part 1/$2 to --part $2/$2), and combine them with --join $2"
}
once() { # command, processes
    echo "mpirun or srun started $2 processes, but $1 uses only one; start it once, or set KRONORM_COMM=none if each process has its own input and output"
}
refused() { # which plugin
    ranks 3 "$KRONORM" score model.safetensors $new --unseen prior -o out
    ends "score, $1" 2 \
        "kronorm: mpirun or srun started 3 processes, but score uses only one; start it once, or set KRONORM_COMM=none, give each process a part of the participants (--part 1/3 to --part 3/3), and combine them with --join 3"
    ranks 2 "$KRONORM" predict model.safetensors -c new.csv --unseen prior -o out
    ends "predict, $1" 2 "kronorm: $(parts predict 2)"
    ranks 2 "$KRONORM" adapt model.safetensors $new -o adapted.safetensors
    ends "adapt, $1" 2 "kronorm: $(once adapt 2)"
}
refused "with a plugin"
ranks 2 "$KRONORM" score model.safetensors $new --unseen prior -o out --part 1/2
ends "... of parts too" 2 "kronorm: $(parts score 2)"
ranks 2 "$KRONORM" score model.safetensors
ends "an option that is missing is said once" 2 "kronorm score: option -c (--covariates) is required (see 'kronorm score --help')"
launched -n 1 "$KRONORM" fit -c old.csv -y old_y.csv --use age -o m.safetensors : -n 1 "$KRONORM" score model.safetensors $new -o out
ends "a fit does not wait for a process that scores" 2 "kronorm: rank 1 (node $node): $(parts score 2)"
ranks 2 "$KRONORM" score --help
check "help comes once" [ $code -eq 0 -a "$(grep -c '^Usage' "$logs/out")" = 1 ]

mkdir bin
cp "$KRONORM" bin
begin
unset KRONORM_COMM
product=$KRONORM KRONORM=bin/kronorm
refused "without one"
KRONORM=$product
export KRONORM_COMM="$plugin"

# ---- what is allowed --------------------------------------------------------------------------------

seconds='^    "score": ' # of the summary
alone score model.safetensors $new --unseen prior -o out
mv out one
ranks 1 "$KRONORM" score model.safetensors $new --unseen prior -o out -q
check "one process of mpirun scores as it would without mpirun" diff -r -I "$seconds" out one
rm -r out
cat >each.sh <<'END_OF_EACH'
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
KRONORM_COMM=none exec "$KRONORM" score model.safetensors -c new.csv -y new_y.csv --unseen prior -o out -q --part $((rank + 1))/2
END_OF_EACH
ranks 2 sh each.sh
check "KRONORM_COMM=none: each process has a part" [ $code -eq 0 -a "$(ls out/scores.part-?-of-2.safetensors | wc -l)" = 2 ]
alone score model.safetensors $new --unseen prior -o out --join 2
check "... and joined they are the folder of one process" diff -r -I "$seconds" out one
alone adapt model.safetensors $new -o a.safetensors
mv a.safetensors one.safetensors
rm a.adapt.tsv a.adapt.json
ranks 1 "$KRONORM" adapt model.safetensors $new -o a.safetensors -q
check "one process of mpirun adapts as it would without mpirun" cmp a.safetensors one.safetensors
done_testing
