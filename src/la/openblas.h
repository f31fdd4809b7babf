/* The BLAS library OpenBLAS: its number of threads, and the kernel set that it chose. Results are
 * reproducible for one kernel set; a BLAS call uses either its own threads or those of the loop
 * around it. */
#ifndef KN_LA_OPENBLAS_H
#define KN_LA_OPENBLAS_H

#include "base/parallel/parallel_for.h"

/* ---- threads --------------------------------------------------------------------------------- */

/* Sections that set the number of BLAS threads.
 *
 * OpenBLAS has one thread count for the whole process, and the last bits of its results depend on
 * it. So each BLAS call runs in a section with the count that it needs. Sections of one thread run
 * in parallel: there kronorm does the parallelism, with products split by their sizes alone. A
 * section of more threads (an eigenproblem) runs alone, as the BLAS has one set of threads.
 * Sections start in the order of their requests. When the last section ends, the thread count is
 * restored to that before the first one, so that the host program keeps its own. A fork waits until
 * all sections have ended, so that the child does not inherit a held lock.
 *
 * openblas_set_num_threads_local (0.3.27) does not replace the lock: in a build with POSIX threads
 * it sets the count of the process too. */

/* Begins a section of this thread in which BLAS calls use `threads` threads; waits for its turn.
 * Sections must not be nested, and code inside must not wait for a section of another thread
 * (deadlock). */
void kn_blas_begin(int threads);
/* Ends the section of this thread; the last one restores the thread count of the BLAS. */
void kn_blas_end(void);
/* Returns whether this thread is in a section, or is a worker of kn_la_parallel. */
bool kn_blas_inside(void);

/* Parallel loop (kn_parallel_workers) whose items call the functions of la.h with ctx NULL, inside
 * one section of one thread: many small products run in parallel, each on its worker, instead of
 * each being split over threads. The same bits for any number of threads. Not to be nested. */
void kn_la_parallel(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t grain, kn_worker_fn fn, void *self);
/* Runs the loop of kn_la_parallel, but stops at the next chunk after kn_cancel and returns
 * KN_ERR_CANCELLED; see kn_parallel_or_stop. */
kn_status kn_la_parallel_or_stop(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t grain, kn_worker_fn fn,
                                 void *self);

/* ---- kernel set ------------------------------------------------------------------------------ */

/* The kernel set that OpenBLAS chose for this processor, and a better one if there is one. An
 * OpenBLAS older than the processor falls back to SSE3 kernels, a quarter of the speed; only the
 * environment variable OPENBLAS_CORETYPE, set before the library loads, changes that. */

/* Returns the name of the kernel set that OpenBLAS uses: "Zen", "SkylakeX", "Prescott", ... */
const char *kn_la_core(void);
/* Returns the name of a faster set of OpenBLAS kernels for this processor, to be set as
 * OPENBLAS_CORETYPE; NULL if the present one uses AVX2 or AVX-512 already, or the processor does
 * not. */
const char *kn_la_better_core(void);
/* Returns version and build of OpenBLAS as a text. */
const char *kn_la_config(void);

#endif
