/* Implements cgroup.h from /proc/self/cgroup and /sys/fs/cgroup. */
#include "base/memory/cgroup.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { PATH_SIZE = 4096 };

double kn_cgroup_number(const char *folder, const char *file)
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

/* The smallest limit of the group and its ancestors up to the mount point. Cuts `group` down. */
static double least_above(const char *mount, char *group, int version, kn_cgroup_fn limit)
{
    double least = INFINITY;
    char folder[2 * PATH_SIZE];
    for (;;) {
        char *slash = strrchr(group, '/');
        int n = snprintf(folder, sizeof folder, "%s%s", mount, group);
        if (n > 0 && n < (int)sizeof folder)
            least = fmin(least, limit(folder, version));
        if (!slash || !*group)
            return least;
        *slash = '\0';
    }
}

/* Is `word` an item of the comma-separated list? */
static bool lists(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += n)
        if ((at == words || at[-1] == ',') && (at[n] == '\0' || at[n] == ','))
            return true;
    return false;
}

/* Lines of /proc/self/cgroup: "0::/group" for version 2, "4:memory:/group" for version 1. In a
 * container the group may be visible on the host only; the mount point has the limit then. */
double kn_cgroup_least(const char *root, const char *controller, kn_cgroup_fn limit)
{
    double least = INFINITY;
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
        if (version == 1 && !lists(names + 1, controller))
            continue;
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s%s", root, version == 1 ? "/" : "",
                 version == 1 ? controller : "");
        least = fmin(least, least_above(mount, group, version, limit));
    }
    if (f)
        fclose(f);
    return least;
}
