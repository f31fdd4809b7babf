/* Implements cpus.h from sched_getaffinity and the cgroup files. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/parallel/cpus.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "base/hash/xxh64.h"
#include "base/memory/cgroup.h"

/* Number of bits of the affinity mask, 0 if unknown; *hash = its hash. The kernel does not tell the
 * size of its mask: it refuses a set that is too small with EINVAL, so the size is doubled. */
static int allowed(uint64_t *hash)
{
    enum { MOST = 1 << 16 };
    int count = 0;
    *hash = 0;
    for (size_t size = CPU_SETSIZE; count == 0 && size <= MOST; size *= 2) {
        cpu_set_t *set = CPU_ALLOC(size);
        if (!set)
            return 0;
        CPU_ZERO_S(CPU_ALLOC_SIZE(size), set);
        if (sched_getaffinity(0, CPU_ALLOC_SIZE(size), set) == 0) {
            count = CPU_COUNT_S(CPU_ALLOC_SIZE(size), set);
            *hash = kn_hash(set, CPU_ALLOC_SIZE(size), 0);
        } else if (errno != EINVAL) {
            size = MOST;
        }
        CPU_FREE(set);
    }
    return count;
}

/* Processors of a cgroup: quota of processor time per period; INFINITY without a quota. */
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

static int at_least_one(int n)
{
    return n > 1 ? n : 1;
}

int kn_processors_shared(const char *root, int same, int job)
{
    uint64_t hash;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int may = allowed(&hash), count = online > 0 ? (int)online : 1;
    if (may > 0 && may < count)
        count = may;
    count = at_least_one(count / same);
    double paid = ceil(kn_cgroup_least(root, "cpu", quota) / job);
    return paid >= 1 && paid < count ? (int)paid : count;
}

int kn_processors(const char *root)
{
    return kn_processors_shared(root, 1, 1);
}

uint64_t kn_processors_hash(void)
{
    uint64_t hash;
    allowed(&hash);
    return hash;
}
