/* Implements fit_problem.h: the likelihood engine of a problem, searched or evaluated once.
 * Methods with latent processes begin their fit with it. */
#include "gp/fit_problem.h"

#include "base/mpi/comm.h"

void kn_fit_problem_clear(kn_fit_problem *p)
{
    kn_gram_clear(&p->gram);
    kn_heldout_clear(&p->held_out);
}

/* Creates the likelihood engine *e for the coordinates basis->Z of a fit; groups are copied,
 * p->core is moved if the engine is dense. */
static kn_status make_engine(kn_ctx *ctx, const kn_fit_problem *p, const kn_basis *basis,
                             kn_engine *e)
{
    kn_status status;
    kn_groups groups = {0};
    kn_engine_data data = {.X = p->X,
                           .Z = basis->Z,
                           .groups = &groups,
                           .T = p->Y.T,
                           .E = basis->E,
                           .total = basis->total,
                           .core = p->core};
    KN_TRY(kn_groups_subset(ctx, &p->groups, NULL, p->X.rows, &groups));
    KN_TRY(kn_engine_new(ctx, &p->spec, &data, e));
out:
    kn_groups_clear(&groups);
    return status;
}

kn_status kn_fit_search(kn_ctx *ctx, const kn_fit_problem *p, const kn_basis *basis, kn_engine *e,
                        kn_search_result *found)
{
    kn_status status = make_engine(ctx, p, basis, e);
    return status == KN_OK ? kn_search(ctx, e, &p->options->search, found) : status;
}

kn_status kn_fit_at(kn_ctx *ctx, const kn_fit_problem *p, const kn_basis *basis, kn_engine *e,
                    kn_search_result *found)
{
    kn_status status = make_engine(ctx, p, basis, e);
    if (status == KN_OK)
        status = kn_engine_evaluate_at(ctx, e, &found->at, &found->lml);
    found->evals = e->evals;
    found->evals_subsample = found->inner_evals = 0;
    if (status == KN_OK)
        status = kn_comm_broadcast(ctx, found, sizeof *found, 0);
    return status;
}

/* Builds the latent form *out with one more component for the directions outside the basis of
 * MT-Kronprod: A = 0, c0 and d0 = c0 iso + s2 [METHOD 1c]. *X and R0 (covariance between
 * participants) are moved. */
static kn_status build_outside_latent(kn_ctx *ctx, kn_mat *X, kn_engine *e, kn_latent *out)
{
    kn_status status;
    kn_mat A = {0};
    double *c = NULL, *d = NULL;
    ptrdiff_t P = e->P;
    KN_TRY(kn_alloc_d(ctx, P + 1, &c));
    KN_TRY(kn_alloc_d(ctx, P + 1, &d));
    KN_TRY(kn_mat_new(ctx, e->iso.A.rows, P + 1, &A));
    kn_mat_set(A, e->iso.A);
    for (ptrdiff_t p = 0; p < P; p++) {
        c[p] = e->c[p];
        d[p] = e->d[p];
    }
    c[P] = e->iso.c0;
    d[P] = e->iso.c0 * e->iso.iso + e->iso.s2;
    KN_TRY(kn_latent_new(ctx, &(kn_latent_parts){X, &e->cell[0].R0, &A, c, d, e->iso.iso}, out));
out:
    kn_mat_clear(&A);
    kn_free(d);
    kn_free(c);
    return status;
}

kn_status kn_fit_latent(kn_ctx *ctx, kn_mat *X, kn_engine *e, kn_latent *out)
{
    return e->spec.identity && e->iso.diagonal ? build_outside_latent(ctx, X, e, out)
                                               : kn_engine_latent(ctx, X, e, out);
}
