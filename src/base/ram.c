#include "base/ram.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

/* The number in a file, INFINITY for "max" or no file. */
static double number_in(const char *path)
{
    double x = INFINITY;
    FILE *f = fopen(path, "re");
    if (!f)
        return x;
    if (fscanf(f, "%lf", &x) != 1 || !(x > 0))
        x = INFINITY;
    fclose(f);
    return x;
}

/* The least limit of a cgroup and all above it. */
static double least_above(const char *root, const char *mount, char *group, const char *file)
{
    double least = INFINITY;
    char path[PATH_SIZE];
    for (;;) {
        char *slash = strrchr(group, '/');
        int n = snprintf(path, sizeof path, "%s%s%s/%s", root, mount, group, file);
        if (n > 0 && n < (int)sizeof path)
            least = fmin(least, number_in(path));
        if (!slash || !*group)
            return least;
        *slash = '\0';
    }
}

/* Lines of /proc/self/cgroup: "0::/group" for version 2, "4:memory:/group" for version 1. In a
 * container the group may be one that only the host can see: its top is then what counts. */
static double cgroup_limit(const char *root)
{
    double least = INFINITY;
    char line[PATH_SIZE], path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        if (names[1] == '\0')
            least = fmin(least, least_above(root, "/sys/fs/cgroup", group, "memory.max"));
        else if (strstr(names, "memory"))
            least = fmin(least, least_above(root, "/sys/fs/cgroup/memory", group,
                                            "memory.limit_in_bytes"));
    }
    if (f)
        fclose(f);
    return least;
}

double kn_ram(const char *root, bool *limited)
{
    double all = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double group = cgroup_limit(root);
    *limited = group < all;
    return *limited ? group : all;
}

double kn_address_space(void)
{
    struct rlimit limit;
    double used = 0;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return INFINITY;
    FILE *f = fopen("/proc/self/statm", "re"); /* first number: pages in use */
    if (f && fscanf(f, "%lf", &used) != 1)
        used = 0;
    if (f)
        fclose(f);
    return fmax((double)limit.rlim_cur - used * (double)sysconf(_SC_PAGESIZE), 0);
}
