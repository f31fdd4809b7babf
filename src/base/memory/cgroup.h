/* What a container or batch job is limited to. */
#ifndef KN_BASE_MEMORY_CGROUP_H
#define KN_BASE_MEMORY_CGROUP_H

/* The limit that a cgroup's folder states; INFINITY: none. Version 1 or 2 of the files' names. */
typedef double (*kn_cgroup_fn)(const char *folder, int version);

/* The least limit of the groups that this process is in and all above them, by `controller`
 * ("memory", "cpu"). `root` goes before the paths of /proc and /sys: "", or a test's folder. */
double kn_cgroup_least(const char *root, const char *controller, kn_cgroup_fn limit);

/* The first number in a file of the folder; INFINITY for "max", none above zero, or no file. */
double kn_cgroup_number(const char *folder, const char *file);

#endif
