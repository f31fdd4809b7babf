/* How much memory there is to use. */
#ifndef KN_BASE_RAM_H
#define KN_BASE_RAM_H

/* Bytes of memory that this process may come to use: the machine's, or less where its cgroup (a
 * container, a batch job) has less. *limited: 1 for the cgroup's. `root` goes before the paths of
 * /proc and /sys: "", or a test's folder. */
double kn_ram(const char *root, int *limited);

/* Bytes of address space that ulimit -v leaves, INFINITY without a limit. */
double kn_address_space(void);

#endif
