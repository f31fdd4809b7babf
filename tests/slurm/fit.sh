#!/bin/sh
# srun kronorm fit: the bytes of one process, on one node and on two; what goes wrong ends the step, and nothing is written.
. "$(dirname "$0")/lib.sh"
make_tables
make_images
alone() { env -u KRONORM_COMM "$KRONORM" "$@" >"$logs/alone.out" 2>"$logs/alone.err"; }
table="-c people.csv -y thickness.csv --use age,sex"
images="-c study/train_participants.tsv -y study/train_images.txt -m study/mask.nii.gz"
alone fit $table -o one.safetensors
alone fit $images -o images.safetensors

same() { # what, model of one process, arguments of srun, arguments of fit
    rm -f r.safetensors*
    step $3 "$KRONORM" fit $4 -o r.safetensors
    check "$1: the bytes of one process" cmp r.safetensors "$2"
}
same "two tasks" one.safetensors "-n 2" "$table"
check "... which all had a part in" [ $code -eq 0 -a "$(grep -c 'the others wait' "$logs/err")" = 0 ]
same "two tasks on two nodes" one.safetensors "-N 2 -n 2" "$table"
same "three tasks on two nodes" one.safetensors "-N 2 -n 3 -c 1" "$table"
same "images" images.safetensors "-N 2 -n 4 -c 1" "$images"
same "one task" one.safetensors "-n 1" "$table"
rm -f r.safetensors*
cat >job.sh <<'EOF'
#!/bin/sh
"$KRONORM" fit -c people.csv -y thickness.csv --use age,sex -o r.safetensors
EOF
sbatch --wait -N 2 -n 4 job.sh >"$logs/out" 2>"$logs/err"
check "a batch script of four tasks that starts it once starts one process" cmp r.safetensors one.safetensors
rm -f r.safetensors* slurm-*.out

# ---- what goes wrong ------------------------------------------------------------------------------

begin
mkdir "$logs/bin"
cp "$KRONORM" "$logs/bin"
plugin=$KRONORM_COMM
unset KRONORM_COMM
step -n 2 "$logs/bin/kronorm" fit $table -o r.safetensors
ends "without the plugin two tasks of a node are refused" 2 \
    "kronorm: mpirun or srun started 2 processes, but this build has no MPI; start it once, with --threads, or set KRONORM_COMM=none if each process has its own output"
step -K -N 2 -n 4 -c 1 "$logs/bin/kronorm" fit $table -o r.safetensors
check "... by one where a bad end of a task is that of the step" [ $code -ne 0 -a "$(said | wc -l)" -eq 1 ]
export KRONORM_COMM="$plugin"
step -K -N 2 -n 2 sh -c '[ "$SLURM_PROCID" = 0 ] || unset KRONORM_COMM
    exec "$0" "$@"' "$logs/bin/kronorm" fit $table -o r.safetensors
check "... nor may one of two be without" [ $code -ne 0 -a "$(said)" = "kronorm: rank 1 (node box2): mpirun or srun started 2 processes, but this build has no MPI; start it once, with --threads, or set KRONORM_COMM=none if each process has its own output" ]
check "... and nothing is left behind" nothing
step -n 2 "$KRONORM" fit -c nobody.csv -y thickness.csv -o r.safetensors
ends "a table that is not there" 1 "kronorm: nobody.csv cannot be opened: no such file or directory"
image=$(tail -n 1 study/train_images.txt | cut -f2)
mv "study/$image" "$logs/image"
begin
step -N 2 -n 2 "$KRONORM" fit $images -o r.safetensors -q
alone fit $images -o r.safetensors -q
ends "an image of another node's task: the sentence of one process" 1 "$(cat "$logs/alone.err")"
mv "$logs/image" "study/$image"

make_long
cat >task.sh <<'EOF'
echo $$ >"$1/pid.$SLURM_PROCID"
exec "$KRONORM" fit -c long.csv -y long.csv --use age --targets 'r*' --folds 300 --threads 1 -o r.safetensors
EOF
begin

# -K, or KillOnBadExit of the site: else Slurm leaves the other tasks of a step alone, who wait for the one that is gone.
struck() { # task, signal
    rm -f "$logs"/pid.*
    : >"$logs/err"
    timeout -k 5 120 srun -K -N 2 -n 2 sh task.sh "$logs" >"$logs/out" 2>"$logs/err" </dev/null &
    job=$!
    for i in $(seq 300); do grep -q ' samples, ' "$logs/err" && break || sleep 0.2; done
    sleep 1
    kill -"$2" "$(cat "$logs/pid.$1")"
    wait $job
    code=$?
}
for rank in 0 1; do
    struck $rank KILL
    check "task $rank is killed: the step ends" [ $code -eq 137 ]
    check "... with every process" gone
    check "... and nothing is written" nothing
done
struck 1 TERM
ends "a task is told to stop: all do" 130 "kronorm: stopped on request"
check "no job is left" over
done_testing
