#!/bin/sh
# What mpirun and srun get who start the command more than once.
. "$(dirname "$0")/lib.sh"
make_tables
unset OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK PMI_SIZE PMI_RANK SLURM_STEP_NUM_TASKS SLURM_PROCID \
    KRONORM_COMM
fit="-c people.csv -y thickness.csv --use age -o m.safetensors"
refusal=": started 4 times by mpirun or srun, but this build has no MPI: start it once, with --threads"

for variable in OMPI_COMM_WORLD_SIZE PMI_SIZE SLURM_STEP_NUM_TASKS; do
    export $variable=4
    misused "fit started 4 times says $variable" "$refusal" fit $fit
    misused "... before anything is read" "$refusal" fit -c nobody.csv -y nothing.csv -o m.safetensors
    unset $variable
done
export PMI_SIZE=3 PMI_RANK=1
fails "the second of them is silent" 2 "" fit $fit
unset PMI_RANK
works "fit --help is for all" fit --help
export KRONORM_COMM=none
works "KRONORM_COMM=none: they are meant to" fit $fit
unset KRONORM_COMM
works "score runs as many times as it is started" \
    score m.safetensors -c people.csv -y thickness.csv -o scored
works "... and predict" predict m.safetensors -c people.csv -o predicted
works "... and simulate" simulate --samples 24 --patients 2 -o study
works "... and info" info m.safetensors
for times in 1 0 four 4x ''; do
    export PMI_SIZE="$times"
    works "'$times' times is no reason" fit $fit --force
done
unset PMI_SIZE
export SLURM_NTASKS=4
works "nor is the size of an allocation" fit $fit --force
done_testing
