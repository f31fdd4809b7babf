#!/bin/sh
# What mpirun and srun get who start the command more than once.
. "$(dirname "$0")/lib.sh"
make_tables
unset OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK PMI_SIZE PMI_RANK SLURM_STEP_NUM_TASKS SLURM_PROCID SLURM_LOCALID \
    KRONORM_COMM
mkdir bin # where no plugin of `make mpi` is beside it
cp "$KRONORM" bin
KRONORM=$work/bin/kronorm
fit="-c people.csv -y thickness.csv --use age -o m.safetensors"
refusal=": mpirun or srun started 4 processes, but this build has no MPI; start it once, with --threads, or set KRONORM_COMM=none if each process has its own output"

for variable in OMPI_COMM_WORLD_SIZE PMI_SIZE SLURM_STEP_NUM_TASKS; do
    export $variable=4
    misused "fit started 4 times says $variable" "$refusal" fit $fit
    misused "... before anything is read" "$refusal" fit -c nobody.csv -y nothing.csv -o m.safetensors
    unset $variable
done
export PMI_SIZE=3 PMI_RANK=1
timeout 1 "$KRONORM" fit $fit >"$logs/out" 2>"$logs/err"
code=$?
check "the second of them leaves it to the first" [ $code -eq 124 -a ! -s "$logs/err" ]
misused "... and speaks when it is still there after a while" \
    ": rank 1 (node $(uname -n)): mpirun or srun started 3 processes, but this build has no MPI; start it once, with --threads, or set KRONORM_COMM=none if each process has its own output" \
    fit $fit
fails "the second of them is silent about usage" 2 "" fit -c people.csv -o m.safetensors
unset PMI_RANK
works "fit --help is for all" fit --help
export KRONORM_COMM=none
works "KRONORM_COMM=none: they are meant to" fit $fit
export KRONORM_COMM=plugin/mine.so
misused "a plugin is named by its whole path" \
    ": KRONORM_COMM is 'plugin/mine.so', but must be none, the name of a plugin or an absolute path" fit $fit
export KRONORM_COMM="$work/mine.so"
misused "... and is there" ": KRONORM_COMM is $work/mine.so, which cannot be read" fit $fit
export KRONORM_COMM=mine.so
misused "... or beside the command" \
    ": mine.so was found neither beside this program nor in its ../lib/kronorm" fit $fit
unset PMI_SIZE
misused "... also when it is started once" \
    ": mine.so was found neither beside this program nor in its ../lib/kronorm" fit $fit
export PMI_SIZE=3
unset KRONORM_COMM
parts="uses only one; start it once, or set KRONORM_COMM=none, give each process a part of the participants (--part 1/3 to --part 3/3), and combine them with --join 3"
misused "score is refused, and the sentence names its parts" ": mpirun or srun started 3 processes, but score $parts" \
    score m.safetensors -c people.csv -y thickness.csv -o scored
misused "... predict is" ": mpirun or srun started 3 processes, but predict $parts" predict m.safetensors -c people.csv -o predicted
misused "... and adapt" \
    ": mpirun or srun started 3 processes, but adapt uses only one; start it once, or set KRONORM_COMM=none if each process has its own input and output" \
    adapt m.safetensors -c people.csv -y thickness.csv -o adapted.safetensors
export KRONORM_COMM=none
works "... unless they are meant to" score m.safetensors -c people.csv -y thickness.csv -o scored
works "... to predict too" predict m.safetensors -c people.csv -o predicted
unset KRONORM_COMM
works "simulate runs as many times as it is started" simulate --samples 24 --patients 2 -o study
works "... and info" info m.safetensors
for times in 1 0 four 4x ''; do
    export PMI_SIZE="$times"
    works "'$times' times is no reason" fit $fit --force
done
unset PMI_SIZE
export SLURM_NTASKS=4
works "nor is the size of an allocation" fit $fit --force
unset SLURM_NTASKS

export SLURM_STEP_NUM_TASKS=3 SLURM_PROCID=1 SLURM_LOCALID=1
fails "of the tasks that Slurm has on a node the first speaks" 2 "" fit $fit
unset SLURM_STEP_NUM_TASKS SLURM_PROCID SLURM_LOCALID

# ---- what one process takes ------------------------------------------------------------------------

first=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
taskset -c "$first" "$KRONORM" fit $fit --force -q >"$logs/out" 2>"$logs/err"
code=$?
check "on one processor it has one thread" grep -q '"threads": 1,' m.safetensors.log.json
"$KRONORM" fit $fit --force -q --memory 123M >"$logs/out" 2>"$logs/err"
check "memory that was given is what the log says" grep -q '"memory": 123000000,' m.safetensors.log.json
done_testing
