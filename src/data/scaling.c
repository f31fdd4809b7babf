/* Implements scaling.h: each rank computes the moments of its responses, all ranks gather them,
 * and every rank decides in the same way which responses are kept. Constant responses and those
 * with too few values are excluded. */
#include "data/scaling.h"

#include <math.h>

#include "data/mpi/gather_responses.h"

/* Variation below this proportion of the mean is rounding: float32 has none below 6e-8. */
static const double CONSTANT = 1e-10;

/* Appends the responses that can be modelled to *out, with their moments (Y.cols means and sds in
 * original units): finite, not constant, and enough values. n: number of values per response; NULL:
 * missing cells are not allowed. */
static void keep_responses(kn_view Y, const double *mean, const double *sd, const ptrdiff_t *n,
                           bool standardise, kn_scaling *out)
{
    for (ptrdiff_t j = 0; j < Y.cols; j++) {
        bool finite = isfinite(mean[j]) && isfinite(sd[j]);
        bool few = n && n[j] < Y.rows && n[j] < KN_MIN_VALUES;
        bool constant = sd[j] <= CONSTANT * fabs(mean[j]);
        out->n_few += few;
        out->n_constant += !few && finite && constant;
        if (!finite || few || constant)
            continue;
        ptrdiff_t k = out->n_kept++;
        out->kept[k] = j;
        out->mean0[k] = mean[j];
        out->sd0[k] = sd[j];
        out->mean[k] = standardise ? mean[j] : 0;
        out->sd[k] = standardise ? sd[j] : 1;
        if (out->n)
            out->n[k] = n[j];
    }
}

/* Computes the moments of this rank's responses, gathers those of all ranks, and sets *out
 * (kn_scaling_clear). standardise: later values are divided by the sd; observed: missing cells are
 * allowed. Collective. */
static kn_status make_scaling(kn_ctx *ctx, kn_view Y, bool standardise, bool observed,
                              kn_scaling *out)
{
    kn_status status;
    double *mean = NULL, *sd = NULL;
    ptrdiff_t *n = NULL;
    bool missing = false;
    kn_responses all = {.T = Y.cols};
    kn_index_range own = kn_response_range(ctx, &all);
    *out = (kn_scaling){.n_all = Y.cols};
    KN_TRY(kn_alloc_d(ctx, Y.cols, &mean));
    KN_TRY(kn_alloc_d(ctx, Y.cols, &sd));
    KN_TRY(kn_alloc_i(ctx, Y.cols, &out->kept));
    KN_TRY(kn_alloc_d(ctx, Y.cols, &out->mean));
    KN_TRY(kn_alloc_d(ctx, Y.cols, &out->sd));
    KN_TRY(kn_alloc_d(ctx, Y.cols, &out->mean0));
    KN_TRY(kn_alloc_d(ctx, Y.cols, &out->sd0));
    kn_moments(ctx, Y, own, mean, sd);
    KN_TRY(kn_allgather_responses_d(ctx, &all, mean));
    KN_TRY(kn_allgather_responses_d(ctx, &all, sd));
    for (ptrdiff_t j = 0; observed && j < Y.cols; j++)
        missing = missing || !isfinite(mean[j]) || !isfinite(sd[j]);
    if (missing) {
        KN_TRY(kn_alloc_i(ctx, Y.cols, &n));
        KN_TRY(kn_alloc_i(ctx, Y.cols, &out->n));
        kn_moments_observed(ctx, Y, own, mean, sd, n);
        KN_TRY(kn_allgather_responses_d(ctx, &all, mean));
        KN_TRY(kn_allgather_responses_d(ctx, &all, sd));
        KN_TRY(kn_allgather_responses(ctx, &all, (kn_of_responses){n, 1, 0, sizeof *n}));
    }
    keep_responses(Y, mean, sd, n, standardise, out);
    missing = false;
    for (ptrdiff_t k = 0; out->n && k < out->n_kept; k++)
        missing = missing || out->n[k] < Y.rows;
    if (!missing) { /* responses with missing cells were left out, or there were none */
        kn_free(out->n);
        out->n = NULL;
    }
out:
    kn_free(n);
    kn_free(mean);
    kn_free(sd);
    if (status != KN_OK)
        kn_scaling_clear(out);
    return status;
}

kn_status kn_scaling_new(kn_ctx *ctx, kn_view Y, bool standardise, kn_scaling *out)
{
    return make_scaling(ctx, Y, standardise, false, out);
}

kn_status kn_scaling_observed(kn_ctx *ctx, kn_view Y, bool standardise, kn_scaling *out)
{
    return make_scaling(ctx, Y, standardise, true, out);
}

void kn_scaling_need(kn_mem_plan *r, ptrdiff_t T)
{
    kn_plan_alloc_d(r, KN_NEED_WORK, T, 5);
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, T, 2);
    kn_plan_free_to(r, mark);
}
