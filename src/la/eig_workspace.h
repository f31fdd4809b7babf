/* LAPACK work space of eig_leading.c and eig_leading_f32.c: symmetric eigenproblems by a
 * tridiagonal matrix, in double or float. A = Q T Q' by xSYTRD, vectors of T by xSTEMR, times Q by
 * xORMTR. */
#ifndef KN_LA_EIG_WORKSPACE_H
#define KN_LA_EIG_WORKSPACE_H

#include "base/memory/alloc.h"
#include "base/memory/plan.h"

typedef struct kn_eig_workspace {
    void *w, *d, *e, *d0, *e0, *tau; /* n values each */
    void *work;                      /* lwork values */
    void *iwork, *support;           /* LAPACK's integers: liwork, 2 n */
    ptrdiff_t lwork, liwork;
} kn_eig_workspace;

/* Smallest lwork for xSYTRD, xSTEMR and xORMTR of size n. */
ptrdiff_t kn_eig_workspace_least(ptrdiff_t n);

/* Allocates work space for problems up to size n; value: bytes of a value, 4 or 8. */
kn_status kn_eig_workspace_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t lwork, size_t value,
                               kn_eig_workspace *out);
void kn_eig_workspace_clear(kn_eig_workspace *r); /* {0} is allowed */
/* Memory plan of kn_eig_workspace_new. */
void kn_eig_workspace_need(kn_mem_plan *r, kn_mem_category part, ptrdiff_t n, ptrdiff_t lwork,
                           size_t value);

#endif
