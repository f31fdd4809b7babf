/* Whose threads the BLAS runs on.
 *
 * OpenBLAS keeps one thread count for the whole process, and its results change in the last bits
 * with it. So each call of ours runs in a section that states the count it needs. Sections of one
 * thread run side by side: there the parallelism is ours, products cut up by their sizes alone.
 * A section of more threads, an eigenproblem, runs alone, since the BLAS has one set of them. Who
 * asks first is served first. When the last section ends, the count is what the first one found:
 * no call leaves the host program's changed, and no context sees another's. A fork waits for the
 * sections under way to end, whoever's they are, so that the child finds none.
 *
 * openblas_set_num_threads_local (0.3.27) would not spare the lock: of a library with POSIX
 * threads it sets the process's count like the other. */
#ifndef KN_LA_BLAS_THREADS_H
#define KN_LA_BLAS_THREADS_H

#include "base/parallel/parallel_for.h"

/* Not to be nested; what happens between them must not wait for another thread's section. */
void kn_blas_begin(int threads);
void kn_blas_end(void);
bool kn_blas_inside(void); /* is this thread in a section? */

/* A loop whose items call the functions of la.h with NULL for the context: one section of one
 * thread around it, each product runs on the worker that asks for it. Many small products side by
 * side, that is, instead of each cut up among threads that wait for one another; and the same bits
 * for any thread count. Not to be nested. */
void kn_la_parallel(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t grain, kn_worker_fn fn, void *self);
kn_status kn_la_parallel_or_stop(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t grain, kn_worker_fn fn,
                                 void *self); /* see kn_parallel_or_stop */

#endif
