#define _GNU_SOURCE /* sched_getaffinity */
#include "base/processors.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cgroup.h"

/* Bits of the affinity mask, or 0 where it cannot be had. Its size is the kernel's secret: too
 * small a set is refused with EINVAL. */
static int allowed(void)
{
    enum { MOST = 1 << 16 };
    int count = 0;
    for (size_t size = CPU_SETSIZE; count == 0 && size <= MOST; size *= 2) {
        cpu_set_t *set = CPU_ALLOC(size);
        if (!set)
            return 0;
        if (sched_getaffinity(0, CPU_ALLOC_SIZE(size), set) == 0)
            count = CPU_COUNT_S(CPU_ALLOC_SIZE(size), set);
        else if (errno != EINVAL)
            size = MOST;
        CPU_FREE(set);
    }
    return count;
}

/* Processors that a cgroup's quota of time in each period makes. */
static double quota(const char *folder, int version)
{
    if (version == 1)
        return kn_cgroup_number(folder, "cpu.cfs_quota_us") /
               kn_cgroup_number(folder, "cpu.cfs_period_us");
    char path[4096];
    double time = INFINITY, period = 1;
    snprintf(path, sizeof path, "%s/cpu.max", folder); /* "200000 100000" or "max 100000" */
    FILE *f = fopen(path, "re");
    if (f && fscanf(f, "%lf %lf", &time, &period) != 2)
        time = INFINITY;
    if (f)
        fclose(f);
    return time / period;
}

int kn_processors(const char *root)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int may = allowed(), count = online > 0 ? (int)online : 1;
    if (may > 0 && may < count)
        count = may;
    double paid = ceil(kn_cgroup_least(root, "cpu", quota));
    return paid >= 1 && paid < count ? (int)paid : count;
}
