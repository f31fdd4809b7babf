/* How many processors there are to use. */
#ifndef KN_BASE_PARALLEL_CPUS_H
#define KN_BASE_PARALLEL_CPUS_H

#include <stdint.h>

/* Those on which this process may run (taskset, a batch system's share), and no more than the
 * quota of its cgroup pays for; at least 1. `root`: see cgroup.h. */
int kn_processors(const char *root);

/* A process's part of them where `same` processes may run on the same ones, and `job` processes
 * live on the quota. */
int kn_processors_shared(const char *root, int same, int job);

/* Equal for processes of one machine that may run on the same processors. */
uint64_t kn_processors_hash(void);

#endif
