/* What the machine offers to this process: processors, memory, address space and a clock. Limits of
 * a container or a batch job (cgroup, affinity mask, ulimit) are respected. */
#ifndef KN_BASE_MACHINE_H
#define KN_BASE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/* ---- processors ------------------------------------------------------------------------------ */

/* Number of processors that this process may use. */

/* Returns the number of processors in the affinity mask (taskset, batch system), limited by the
 * quota of the cgroup; at least 1. root: prefix of /proc and /sys, "" or a test folder. */
int kn_processors(const char *root);

/* Returns the processors of one of several processes (MPI ranks of a node): `same` processes
 * divide the affinity mask, `job` processes divide the quota. At least 1. root: as in
 * kn_processors. */
int kn_processors_shared(const char *root, int same, int job);

/* Returns a hash of the affinity mask: equal for processes of one machine with the same mask. */
uint64_t kn_processors_hash(void);

/* ---- memory ---------------------------------------------------------------------------------- */

/* Memory and address space that this process may use. */

/* Returns the bytes of physical memory of the machine, or of its cgroup (container, batch job)
 * if that is less; *limited tells which. root: as in kn_processors. */
double kn_ram(const char *root, bool *limited);

/* Returns the bytes of address space that are free under ulimit -v, INFINITY without a limit. */
double kn_address_space(void);

/* ---- clock ----------------------------------------------------------------------------------- */

/* Monotonic clock for timing. */

/* Returns seconds since an arbitrary start; only differences have a meaning. */
double kn_clock(void);

#endif
