/* Implements system_memory.h. */
#include "base/memory/system_memory.h"

#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory/cgroup.h"

static double memory_limit(const char *folder, int version)
{
    return kn_cgroup_number(folder, version == 1 ? "memory.limit_in_bytes" : "memory.max");
}

double kn_ram(const char *root, bool *limited)
{
    double all = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double group = kn_cgroup_least(root, "memory", memory_limit);
    *limited = group < all;
    return *limited ? group : all;
}

double kn_address_space(void)
{
    struct rlimit limit;
    double used = 0;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return INFINITY;
    FILE *f = fopen("/proc/self/statm", "re"); /* first number: pages of address space */
    if (f && fscanf(f, "%lf", &used) != 1)
        used = 0;
    if (f)
        fclose(f);
    return fmax((double)limit.rlim_cur - used * (double)sysconf(_SC_PAGESIZE), 0);
}
