/* Implements eig_workspace.h. */
#include "la/eig_workspace.h"

#include <lapacke.h>

enum { BLOCKING = 64 }; /* largest block size of xSYTRD and xORMTR */
enum { COLUMNS = 6 };   /* w, d, e, d0, e0, tau */

ptrdiff_t kn_eig_workspace_least(ptrdiff_t n) /* xSTEMR needs 18 n */
{
    return BLOCKING * n + (BLOCKING + 1) * BLOCKING;
}

static ptrdiff_t integers(ptrdiff_t n) /* xSTEMR needs 10 n, xSYEVD 3 + 5 n */
{
    return 10 * n + 3;
}

void kn_eig_workspace_clear(kn_eig_workspace *r)
{
    void *arrays[] = {r->w, r->d, r->e, r->d0, r->e0, r->tau, r->work, r->iwork, r->support};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        kn_free(arrays[i]);
    *r = (kn_eig_workspace){0};
}

kn_status kn_eig_workspace_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t lwork, size_t value,
                               kn_eig_workspace *out)
{
    kn_status status;
    *out = (kn_eig_workspace){.lwork = lwork, .liwork = integers(n)};
    void **column[COLUMNS] = {&out->w, &out->d, &out->e, &out->d0, &out->e0, &out->tau};
    for (int i = 0; i < COLUMNS; i++)
        KN_TRY(kn_alloc(ctx, n, value, column[i]));
    KN_TRY(kn_alloc(ctx, lwork, value, &out->work));
    KN_TRY(kn_alloc(ctx, out->liwork, sizeof(lapack_int), &out->iwork));
    KN_TRY(kn_alloc(ctx, 2 * n, sizeof(lapack_int), &out->support));
out:
    if (status != KN_OK)
        kn_eig_workspace_clear(out);
    return status;
}

void kn_eig_workspace_need(kn_mem_plan *r, kn_mem_category part, ptrdiff_t n, ptrdiff_t lwork,
                           size_t value)
{
    for (int i = 0; i < COLUMNS; i++)
        kn_plan_alloc(r, part, n, value);
    kn_plan_alloc(r, part, lwork, value);
    kn_plan_alloc(r, part, integers(n), sizeof(lapack_int));
    kn_plan_alloc(r, part, 2 * n, sizeof(lapack_int));
}
