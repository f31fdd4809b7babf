/* Limits of the Linux control group (cgroup) of this process, set by a container or a batch system.
 * system_memory.c reads the memory limit with it, parallel/cpus.c the processor quota. */
#ifndef KN_BASE_MEMORY_CGROUP_H
#define KN_BASE_MEMORY_CGROUP_H

/* Returns the limit in one cgroup folder, INFINITY if there is none. `version` (1 or 2) is that of
 * the cgroup file system, which decides the file names. */
typedef double (*kn_cgroup_fn)(const char *folder, int version);

/* The smallest limit over the cgroups of this process and all their ancestors, INFINITY if there is
 * none. controller: "memory" or "cpu". root: prefix of /proc and /sys, "" or a test folder. */
double kn_cgroup_least(const char *root, const char *controller, kn_cgroup_fn limit);

/* The first number in folder/file; INFINITY if it is "max" or not positive, or without a file. */
double kn_cgroup_number(const char *folder, const char *file);

#endif
