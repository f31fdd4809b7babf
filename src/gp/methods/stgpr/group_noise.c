/* Implements group_noise.h: one trial (evaluate_cells.h) per value of gamma. */
#include "gp/methods/stgpr/group_noise.h"

#include "gp/methods/stgpr/evaluate_cells.h"

static const double TIE = 1e-9; /* nats by which a larger gamma must be better */

kn_status kn_cells_gamma(kn_ctx *ctx, const kn_cell_samples *samples, kn_range mine,
                         const kn_cov_point *at, kn_cell_search *o, kn_stgpr *s)
{
    kn_status status;
    kn_cell_trial trial[KN_GAMMAS];
    kn_cell_trials trials = {.trial = trial, .n = KN_GAMMAS, .all = true, .stage = "groups"};
    ptrdiff_t n = mine.last - mine.first, *J = NULL;
    kn_mat lml = {0}; /* gammas x n */
    KN_TRY(kn_check_cancel(ctx));
    KN_TRY(kn_alloc_i(ctx, n, &J));
    KN_TRY(kn_mat_new(ctx, KN_GAMMAS, n, &lml));
    for (ptrdiff_t j = 0; j < n; j++)
        J[j] = mine.first + j;
    for (int k = 0; k < KN_GAMMAS; k++)
        trial[k] = (kn_cell_trial){.at = *at,
                                   .gamma = kn_gamma[k],
                                   .J = J,
                                   .n = n,
                                   .lml = n > 0 ? lml.data + k : NULL,
                                   .stride = lml.ld};
    KN_TRY(kn_cells_try(ctx, samples, o, s, &trials));
    for (ptrdiff_t j = 0; j < n; j++) {
        double best = kn_at(lml, 0, j);
        s->gamma[J[j]] = kn_gamma[0];
        for (int k = 1; k < KN_GAMMAS; k++)
            if (kn_at(lml, k, j) > best + TIE) {
                best = kn_at(lml, k, j);
                s->gamma[J[j]] = kn_gamma[k];
            }
    }
out:
    kn_mat_clear(&lml);
    kn_free(J);
    return status;
}

void kn_cells_gamma_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, s->T, KN_GAMMAS + 1);
    kn_cells_try_need(r, s);
    kn_plan_free_to(r, mark);
}
