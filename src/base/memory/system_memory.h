/* How much memory there is to use. */
#ifndef KN_BASE_MEMORY_SYSTEM_MEMORY_H
#define KN_BASE_MEMORY_SYSTEM_MEMORY_H

#include <stdbool.h>

/* Bytes of memory that this process may come to use: the machine's, or less where its cgroup (a
 * container, a batch job) has less. *limited: by the cgroup. `root`: see cgroup.h. */
double kn_ram(const char *root, bool *limited);

/* Bytes of address space that ulimit -v leaves, INFINITY without a limit. */
double kn_address_space(void);

#endif
