/* Which kernel OpenBLAS has chosen for this processor, and whether it knows a better one.
 * A build older than the processor falls back to SSE3 and runs at a quarter of the speed; only the
 * environment, before the library loads, can tell it otherwise. */
#ifndef KN_LA_BLAS_CORE_H
#define KN_LA_BLAS_CORE_H

const char *kn_la_core(void);        /* "Zen", "SkylakeX", "Prescott", ... */
const char *kn_la_better_core(void); /* a value for OPENBLAS_CORETYPE, or NULL when it is right */
const char *kn_la_config(void);      /* version and build of the BLAS */

#endif
