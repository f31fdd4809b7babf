# What the tests inside tools/slurm_box share: tests/cli/processes.sh, and `step ARGUMENTS of srun ...`. KRONORM: the command; KRONORM_COMM:
# its plugin; SOURCE: the folder of the source.
. "$(dirname "$0")/../cli/processes.sh"

# A step; what it said and how it ended as `kronorm` of cli/lib.sh leaves them.
step() {
    timeout -k 5 120 srun "$@" >"$logs/out" 2>"$logs/err" </dev/null
    code=$?
}

# Whether there is no job any more, in a while.
over() {
    for i in $(seq 600); do
        [ -n "$(squeue -h)" ] || return 0
        sleep 0.2
    done
    return 1
}
