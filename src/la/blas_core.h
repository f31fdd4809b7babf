/* The kernel set that OpenBLAS chose for this processor, and a better one if there is one. An
 * OpenBLAS older than the processor falls back to SSE3 kernels, a quarter of the speed; only the
 * environment variable OPENBLAS_CORETYPE, set before the library loads, changes that. */
#ifndef KN_LA_BLAS_CORE_H
#define KN_LA_BLAS_CORE_H

const char *kn_la_core(void);        /* "Zen", "SkylakeX", "Prescott", ... */
const char *kn_la_better_core(void); /* better value for OPENBLAS_CORETYPE; NULL: none */
const char *kn_la_config(void);      /* version and build of OpenBLAS */

#endif
