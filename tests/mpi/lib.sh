# What the tests under mpirun share: tests/cli/processes.sh, the plugin made by one MPI, and `ranks N command ...`.
#   SCRIPT openmpi|mpich        COMM_CHECK, KRONORM: programs; SOURCE: the folder of the source
mpi=$1
. "$(dirname "$0")/../cli/processes.sh"
if ! command -v mpirun."$mpi" >/dev/null || ! command -v mpicc."$mpi" >/dev/null; then
    echo "1..0 # SKIP there is no mpirun.$mpi or mpicc.$mpi (tools/packages_mpi.txt)"
    exit 0
fi
# What does not depend on whose MPI it is, is tried with one of them.
thorough=
[ "$mpi" = openmpi ] && thorough=1
command -v mpirun.openmpi >/dev/null && command -v mpicc.openmpi >/dev/null || thorough=1
unset OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK PMI_SIZE PMI_RANK PMI_FD SLURM_STEP_NUM_TASKS SLURM_PROCID SLURM_LOCALID
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
# There may be fewer processors than ranks. A rank that waits for a message must not keep the others from working.
# Open MPI has an option for this. MPICH has none, so its ranks yield whenever UCX, which carries its messages, has nothing to do.
export OMPI_MCA_mpi_yield_when_idle=1
if [ "$mpi" = mpich ]; then
    cat >"$logs/yield.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*progress)(void *);
    if (!progress)
        *(void **)&progress = dlsym(RTLD_NEXT, "ucp_worker_progress");
    unsigned events = progress ? progress(worker) : 0;
    if (events == 0)
        sched_yield();
    return events;
}
END
    "${CC:-cc}" -O1 -shared -fPIC "$logs/yield.c" -o "$logs/yield.so" -ldl && export LD_PRELOAD="$logs/yield.so"
fi
check "make mpi makes the plugin by mpicc.$mpi" \
    make -s -C "$SOURCE" mpi MPICC=mpicc."$mpi" BUILD="$logs/plugin" MPIFLAGS=-Werror
export KRONORM_COMM="$logs/plugin/libkronorm_mpi.so"

# A command as so many ranks; what it said and how it ended as `kronorm` of cli/lib.sh leaves them.
ranks() { # ranks, command ...
    n=$1
    shift
    timeout -k 5 180 mpirun."$mpi" -n "$n" "$@" >"$logs/out" 2>"$logs/err" </dev/null
    code=$?
}

# The same, a part of mpirun's command line as it is: ... : -n 1 ...
launched() {
    timeout -k 5 180 mpirun."$mpi" "$@" >"$logs/out" 2>"$logs/err" </dev/null
    code=$?
}
