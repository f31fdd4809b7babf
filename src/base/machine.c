/* Implements machine.h: limits of the control group (/proc/self/cgroup, /sys/fs/cgroup), the
 * affinity mask (sched_getaffinity), physical memory, ulimit -v and CLOCK_MONOTONIC. Values that
 * the system does not report count as unlimited. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/machine.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/hash/xxh64.h"

/* ---- control group --------------------------------------------------------------------------- */

enum { PATH_SIZE = 4096 };

/* Returns the limit in one cgroup folder, INFINITY if there is none. `version` (1 or 2) is that of
 * the cgroup file system, which decides the file names. */
typedef double (*cgroup_limit_fn)(const char *folder, int version);

/* Returns the first number in the file folder/file; INFINITY if it is "max" or not positive, or
 * without a file. */
static double read_cgroup_number(const char *folder, const char *file)
{
    char path[PATH_SIZE];
    double x = INFINITY;
    int n = snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *f = n > 0 && n < (int)sizeof path ? fopen(path, "re") : NULL;
    if (!f)
        return x;
    if (fscanf(f, "%lf", &x) != 1 || !(x > 0))
        x = INFINITY;
    fclose(f);
    return x;
}

/* Returns the smallest limit of the cgroup `group` below `mount` and its ancestors up to the
 * mount point. Cuts `group` down. */
static double find_limit_above(const char *mount, char *group, int version, cgroup_limit_fn limit)
{
    double lowest = INFINITY;
    char folder[2 * PATH_SIZE];
    for (;;) {
        char *slash = strrchr(group, '/');
        int n = snprintf(folder, sizeof folder, "%s%s", mount, group);
        if (n > 0 && n < (int)sizeof folder)
            lowest = fmin(lowest, limit(folder, version));
        if (!slash || !*group)
            return lowest;
        *slash = '\0';
    }
}

/* Returns whether `word` is an item of the comma-separated list. */
static bool list_contains(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += n)
        if ((at == words || at[-1] == ',') && (at[n] == '\0' || at[n] == ','))
            return true;
    return false;
}

/* Lines of /proc/self/cgroup: "0::/group" for version 2, "4:memory:/group" for version 1. In a
 * container the group may be visible on the host only; the mount point has the limit then.
 *
 * Returns the smallest limit over the cgroups of this process and all their ancestors, INFINITY if
 * there is none. controller: "memory" or "cpu". root: prefix of /proc and /sys, "" or a test
 * folder. */
static double find_cgroup_limit(const char *root, const char *controller, cgroup_limit_fn limit)
{
    double lowest = INFINITY;
    char line[PATH_SIZE], mount[PATH_SIZE];
    snprintf(mount, sizeof mount, "%s/proc/self/cgroup", root);
    FILE *f = fopen(mount, "re");
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        int version = names[1] == '\0' ? 2 : 1;
        if (version == 1 && !list_contains(names + 1, controller))
            continue;
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s%s", root, version == 1 ? "/" : "",
                 version == 1 ? controller : "");
        lowest = fmin(lowest, find_limit_above(mount, group, version, limit));
    }
    if (f)
        fclose(f);
    return lowest;
}

/* ---- processors ------------------------------------------------------------------------------ */

/* Returns the number of processors in the affinity mask, 0 if unknown; *hash = the hash of the
 * mask. The kernel does not report the size of its mask: it refuses a set that is too small with
 * EINVAL, so the size is doubled. */
static int count_allowed_processors(uint64_t *hash)
{
    enum { MAX_SET = 1 << 16 };
    int count = 0;
    *hash = 0;
    for (size_t size = CPU_SETSIZE; count == 0 && size <= MAX_SET; size *= 2) {
        cpu_set_t *set = CPU_ALLOC(size);
        if (!set)
            return 0;
        CPU_ZERO_S(CPU_ALLOC_SIZE(size), set);
        if (sched_getaffinity(0, CPU_ALLOC_SIZE(size), set) == 0) {
            count = CPU_COUNT_S(CPU_ALLOC_SIZE(size), set);
            *hash = kn_hash(set, CPU_ALLOC_SIZE(size), 0);
        } else if (errno != EINVAL) {
            size = MAX_SET;
        }
        CPU_FREE(set);
    }
    return count;
}

/* Returns the processors that a cgroup may use: quota of processor time per period; INFINITY
 * without a quota. Implements cgroup_limit_fn. */
static double read_cpu_quota(const char *folder, int version)
{
    if (version == 1)
        return read_cgroup_number(folder, "cpu.cfs_quota_us") /
               read_cgroup_number(folder, "cpu.cfs_period_us");
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

/* Returns n, but at least 1. */
static int max_with_one(int n)
{
    return n > 1 ? n : 1;
}

int kn_processors_shared(const char *root, int same, int job)
{
    uint64_t hash;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int may = count_allowed_processors(&hash), count = online > 0 ? (int)online : 1;
    if (may > 0 && may < count)
        count = may;
    count = max_with_one(count / same);
    double paid = ceil(find_cgroup_limit(root, "cpu", read_cpu_quota) / job);
    return paid >= 1 && paid < count ? (int)paid : count;
}

int kn_processors(const char *root)
{
    return kn_processors_shared(root, 1, 1);
}

uint64_t kn_processors_hash(void)
{
    uint64_t hash;
    count_allowed_processors(&hash);
    return hash;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Returns the memory limit of a cgroup in bytes, INFINITY without one. Implements
 * cgroup_limit_fn. */
static double read_memory_limit(const char *folder, int version)
{
    return read_cgroup_number(folder, version == 1 ? "memory.limit_in_bytes" : "memory.max");
}

double kn_ram(const char *root, bool *limited)
{
    double all = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double group = find_cgroup_limit(root, "memory", read_memory_limit);
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

/* ---- clock ----------------------------------------------------------------------------------- */

double kn_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
