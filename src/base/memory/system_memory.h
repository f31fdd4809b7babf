/* Memory and address space that this process may use. */
#ifndef KN_BASE_MEMORY_SYSTEM_MEMORY_H
#define KN_BASE_MEMORY_SYSTEM_MEMORY_H

#include <stdbool.h>

/* Bytes of physical memory of the machine, or of its cgroup (container, batch job) if that is less;
 * *limited is set then. root: see cgroup.h. */
double kn_ram(const char *root, bool *limited);

/* Bytes of address space that are free under ulimit -v, INFINITY without a limit. */
double kn_address_space(void);

#endif
