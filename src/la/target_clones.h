/* KN_CLONES: a function worth compiling for several vector widths, chosen when the program starts.
 */
#ifndef KN_LA_TARGET_CLONES_H
#define KN_LA_TARGET_CLONES_H

#include <stdlib.h> /* defines __GLIBC__ */

/* The sanitizers are not ready when the resolvers run. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) &&       \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define KN_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define KN_CLONES
#endif

#endif
