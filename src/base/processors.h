/* How many processors there are to use. */
#ifndef KN_BASE_PROCESSORS_H
#define KN_BASE_PROCESSORS_H

/* Those on which this process may run (taskset, a batch system's share), and no more than the
 * quota of its cgroup pays for; at least 1. `root`: see cgroup.h. */
int kn_processors(const char *root);

#endif
