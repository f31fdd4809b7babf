/* KN_CLONES before a function compiles it for several vector widths (AVX-512, AVX2, SSE2); the
 * loader chooses the version for the processor. */
#ifndef KN_LA_TARGET_CLONES_H
#define KN_LA_TARGET_CLONES_H

#include <stdlib.h> /* defines __GLIBC__ */

/* Not with sanitizers, which are not initialised yet when the loader chooses. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) &&       \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define KN_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define KN_CLONES
#endif

#endif
