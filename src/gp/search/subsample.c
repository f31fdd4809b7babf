/* Subsample of a search: picks the rows and scales the energy outside the basis by n/N. Starts in
 * a subsample are cheap, because a dense evaluation is cubic in N. */
#include "gp/search/internal.h"

#include <assert.h>
#include <math.h>

#include "base/random.h"

enum { MAX_COUNT = 400, STREAM = 101 };

ptrdiff_t kn_subsample_size(ptrdiff_t N)
{
    return kn_min_size(N / 3 > KN_SUBSAMPLE_MIN ? N / 3 : KN_SUBSAMPLE_MIN, MAX_COUNT);
}

/* Numbers the groups by the place of their first row in `order` (NULL: by index): number[k] =
 * the group that comes k-th. */
static kn_status order_groups(kn_ctx *ctx, const kn_groups *g, const ptrdiff_t *order,
                              ptrdiff_t *number)
{
    void *memory;
    kn_status status = kn_alloc(ctx, g->n, sizeof(bool), &memory);
    bool *met = memory;
    for (ptrdiff_t k = 0, n = 0; status == KN_OK && k < g->N; k++) {
        assert(!order || order[k] < g->N);
        ptrdiff_t group = g->of[order ? order[k] : k];
        if (!met[group])
            number[n++] = group;
        met[group] = true;
    }
    kn_free(memory);
    return status;
}

/* Draws *n rows, seeded, into index (N); o->row_order makes the choice independent of row
 * indices. Groups are taken whole, so the last one may increase *n. */
static kn_status pick_rows(kn_ctx *ctx, const kn_engine *e, const kn_search_options *o,
                           ptrdiff_t *n, ptrdiff_t *index)
{
    const kn_groups *g = &e->groups;
    kn_rng rng;
    ptrdiff_t *drawn = NULL, *number = NULL, rows = 0;
    kn_status status = KN_OK;
    kn_rng_init(&rng, o->seed, STREAM);
    if (e->n_cells == 1) {
        kn_rng_permutation(&rng, e->N, index);
        for (ptrdiff_t k = 0; o->row_order && k < e->N; k++) {
            index[k] = o->row_order[index[k]];
            assert(index[k] <
                   e->N); /* the order is of the engine's rows, not of all participants */
        }
        return KN_OK;
    }
    KN_TRY(kn_alloc_i(ctx, g->n, &drawn));
    KN_TRY(kn_alloc_i(ctx, g->n, &number));
    KN_TRY(order_groups(ctx, g, o->row_order, number));
    kn_rng_permutation(&rng, g->n, drawn);
    for (ptrdiff_t k = 0; k < g->n && rows < *n; k++)
        for (ptrdiff_t d = number[drawn[k]], i = g->start[d]; i < g->start[d + 1]; i++)
            index[rows++] = g->row[i];
    *n = rows;
out:
    kn_free(number);
    kn_free(drawn);
    return status;
}

kn_status kn_subsample(kn_ctx *ctx, const kn_engine *e, const kn_search_options *o, kn_mat *Z,
                       kn_engine *out)
{
    kn_status status;
    ptrdiff_t N = e->N, n = kn_subsample_size(N), *index = NULL;
    kn_pairs pairs = {0};
    kn_groups groups = {0};
    kn_mat X = {0};
    KN_TRY(kn_alloc_i(ctx, N, &index));
    KN_TRY(pick_rows(ctx, e, o, &n, index));
    KN_TRY(kn_mat_new(ctx, n, e->P, Z));
    kn_mat_rows(e->Z, index, *Z);
    if (e->pairs.n > 0) {
        KN_TRY(kn_pairs_subset(ctx, &e->pairs, index, n, &pairs));
    } else {
        KN_TRY(kn_mat_new(ctx, n, e->X.cols, &X));
        kn_mat_rows(e->X, index, X);
        KN_TRY(kn_pairs_within(ctx, X, &e->cov.stats, &pairs));
    }
    KN_TRY(kn_groups_subset(ctx, &e->groups, index, n, &groups));
    double proportion = (double)n / (double)N;
    kn_engine_data data = {.Z = *Z,
                           .pairs = &pairs,
                           .groups = &groups,
                           .T = e->T,
                           .E = e->E * proportion,
                           .total = e->complement ? e->E * proportion : INFINITY,
                           .N_ref = N,
                           .tasks = e->spec.noise == KN_NOISE_ISO ? &e->iso.tasks : NULL};
    KN_TRY(kn_engine_new(ctx, &e->spec, &data, out));
    for (int k = 0; k < out->n_cells; k++)
        out->cell[k].R0.steady = e->spec.rank > 0; /* as reproducible as the low rank */
out:
    kn_groups_clear(&groups);
    kn_mat_clear(&X);
    kn_pairs_clear(&pairs);
    kn_free(index);
    return status;
}

void kn_subsample_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_problem_size subsample = *s;
    subsample.N = subsample.M = kn_subsample_size(s->N);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, 1);
    kn_plan_alloc_d(r, KN_NEED_WORK, subsample.N, s->P + s->F);
    kn_engine_need(r, &subsample, true, true);
}
