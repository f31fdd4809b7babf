#include "cli/started.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of Open MPI, of MPICH and its kin, of Slurm's steps (SLURM_NTASKS is the allocation's). */
static const struct {
    const char *size, *rank;
} LAUNCHERS[] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                 {"PMI_SIZE", "PMI_RANK"},
                 {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};

static long number(const char *variable)
{
    const char *text = getenv(variable);
    char *end;
    long n = text ? strtol(text, &end, 10) : 0;
    return text && end != text && !*end ? n : 0;
}

int cli_started_once(void)
{
    const char *comm = getenv("KRONORM_COMM");
    if (comm && strcmp(comm, "none") == 0)
        return -1;
    for (size_t i = 0; i < sizeof LAUNCHERS / sizeof *LAUNCHERS; i++) {
        long times = number(LAUNCHERS[i].size);
        if (times <= 1)
            continue;
        if (number(LAUNCHERS[i].rank) == 0)
            fprintf(
                stderr,
                "kronorm: started %ld times by mpirun or srun, but this build has no MPI: start "
                "it once, with --threads\n",
                times);
        return 2;
    }
    return -1;
}
