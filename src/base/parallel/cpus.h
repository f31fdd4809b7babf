/* Number of processors that this process may use. */
#ifndef KN_BASE_PARALLEL_CPUS_H
#define KN_BASE_PARALLEL_CPUS_H

#include <stdint.h>

/* Processors in the affinity mask (taskset, batch system), limited by the quota of the cgroup; at
 * least 1. root: see memory/cgroup.h. */
int kn_processors(const char *root);

/* The same for one of several processes (MPI ranks of a node): `same` processes divide the affinity
 * mask, `job` processes divide the quota. At least 1. */
int kn_processors_shared(const char *root, int same, int job);

/* Hash of the affinity mask: equal for processes of one machine with the same mask. */
uint64_t kn_processors_hash(void);

#endif
