/* Reduces the cells that were tried to few cells that suit all responses [METHOD 7]. The counts are
 * summed over MPI ranks. */
#include "gp/methods/stgpr/internal.h"

#include <string.h>

#include "base/mpi/comm.h"

static const double MERGE = 0.01; /* nats that a response may lose to use a cell of others */

/* Returns the cell (responses that share hyperparameters) of row `column` of the likelihoods of
 * response j if the response loses at most MERGE nats there, else -1. */
static int find_acceptable_cell(const kn_lattice *l, ptrdiff_t j, int column)
{
    if (!(kn_at(l->lml, column, j) >= l->best[j] - MERGE))
        return -1;
    return column < l->n_coarse ? column
                                : l->fine[j * KN_LATTICE_FINE_CELLS + column - l->n_coarse];
}

/* Adds `by` to suits[c] for every cell c (responses that share hyperparameters) in which
 * response j loses at most MERGE nats. */
static void count_suitable(const kn_lattice *l, ptrdiff_t j, double by, double *suits)
{
    for (int k = 0; k < l->n_coarse + KN_LATTICE_FINE_CELLS; k++) {
        int c = find_acceptable_cell(l, j, k);
        if (c >= 0)
            suits[c] += by;
    }
}

/* True if response j loses at most MERGE nats in this cell. */
static bool is_suitable(const kn_lattice *l, ptrdiff_t j, int cell)
{
    for (int k = 0; k < l->n_coarse + KN_LATTICE_FINE_CELLS; k++)
        if (find_acceptable_cell(l, j, k) == cell)
            return true;
    return false;
}

/* Sets all[] to the sums of the n counts own[] over MPI ranks: how many responses each cell
 * (responses that share hyperparameters) suits, and how many remain. Collective. */
static kn_status sum_counts(kn_ctx *ctx, const double *own, ptrdiff_t n, double *all)
{
    memcpy(all, own, (size_t)n * sizeof *all);
    return kn_comm_sum(ctx, all, n); /* exact: integers */
}

kn_status kn_cells_merge(kn_ctx *ctx, const kn_lattice *l, kn_stgpr *s)
{
    kn_status status;
    ptrdiff_t used = 0, had = s->cells.rows, n = l->n_cells + 1;
    double *own = NULL, *all = NULL, *suits;
    kn_mat cells = {0};
    KN_TRY(kn_alloc_d(ctx, n, &own));
    KN_TRY(kn_alloc_d(ctx, n, &all));
    KN_TRY(kn_mat_new(ctx, l->n_cells, kn_cell_columns(l->cov), &cells));
    own[0] = (double)l->T;
    suits = own + 1;
    for (ptrdiff_t j = 0; j < l->T; j++) {
        s->cell[l->J[j]] = -1;
        count_suitable(l, j, 1, suits);
    }
    KN_TRY(sum_counts(ctx, own, n, all));
    while (all[0] > 0) {
        int top = 0;
        for (int c = 1; c < l->n_cells; c++)
            if (all[1 + c] > all[1 + top])
                top = c;
        for (ptrdiff_t j = 0; j < l->T; j++) {
            double *cell = &s->cell[l->J[j]];
            if (*cell >= 0 || !is_suitable(l, j, top))
                continue;
            *cell = (double)(had + used);
            own[0]--;
            count_suitable(l, j, -1, suits);
        }
        kn_cov_point at = kn_lattice_point(l, top);
        kn_cell_write(l->cov, &at, cells, used++);
        KN_TRY(sum_counts(ctx, own, n, all));
    }
    KN_TRY(kn_stgpr_add_cells(ctx, s, cells, used));
out:
    kn_mat_clear(&cells);
    kn_free(all);
    kn_free(own);
    return status;
}

void kn_cells_merge_need(kn_mem_plan *r)
{
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, KN_LATTICE_POSITIONS, 2 * KN_COV_THETA + 2);
    kn_plan_free_to(r, mark);
}
