/* Noise models of S-MTGPR that have a table entry of their own, and {noise=auto}, which chooses
 * between structured and whitened noise by held-out log density [METHOD 1f].
 *
 *     g_i = ln p_whitened(map of i) - ln p_structured(map of i)     i held out, the same folds
 *     whitened if mean g > sd g/sqrt(n); with groups n counts groups, g their means
 *
 * Both models use the R0 and the number of components of the structured fit, and the same
 * folds. */
#include "gp/methods/smtgpr/internal.h"

#include <math.h>

#include "gp/assign_folds.h"
#include "gp/methods/methods.h"
#include "gp/predict/map_density.h"

/* Held-out densities of both models. */
typedef struct comparison {
    double structured, whitened; /* mean log density */
    double gain, se;
    ptrdiff_t n;
} comparison;

/* Adds the gain b[i] - a[i] in log density of each held-out participant to sum[] of its group,
 * and 1 to count[]; without groups each participant is its own group. Participants with too few
 * responses (NaN) are left out. */
static void sum_gains_by_group(const kn_gp_maps *cv, const int *groups, const double *a,
                               const double *b, double *sum, double *count)
{
    for (ptrdiff_t i = 0; i < cv->n; i++) {
        ptrdiff_t row = cv->sample ? cv->sample[i] : i, g = groups ? groups[row] : i;
        if (!isfinite(a[i]) || !isfinite(b[i])) /* too many responses are missing */
            continue;
        sum[g] += b[i] - a[i];
        count[g]++;
    }
}

/* Compares two models by the log densities of the same held-out maps: mean log density of each,
 * mean gain of whitened over structured noise, and its standard error over groups (groups: N or
 * NULL) or participants. */
static kn_status compare_densities(kn_ctx *ctx, const kn_gp_maps *structured,
                                   const kn_gp_maps *whitened, const int *groups, comparison *out)
{
    kn_status status;
    kn_map_density_state a = {0}, b = {0};
    ptrdiff_t limit = structured->gp->N, n_participants = 0;
    double *sum = NULL, *count = NULL, squares = 0;
    *out = (comparison){0};
    for (ptrdiff_t i = 0; groups && i < structured->gp->N; i++)
        limit = groups[i] >= limit ? groups[i] + 1 : limit;
    KN_TRY(kn_alloc_d(ctx, limit, &sum));
    KN_TRY(kn_alloc_d(ctx, limit, &count));
    KN_TRY(kn_map_density_evaluate(ctx, structured, NULL, &a));
    KN_TRY(kn_map_density_evaluate(ctx, whitened, NULL, &b));
    sum_gains_by_group(structured, groups, a.log_p, b.log_p, sum, count);
    for (ptrdiff_t i = 0; i < structured->n; i++)
        if (isfinite(a.log_p[i]) && isfinite(b.log_p[i])) {
            out->structured += a.log_p[i];
            out->whitened += b.log_p[i];
            n_participants++;
        }
    for (ptrdiff_t g = 0; g < limit; g++)
        if (count[g] > 0) {
            sum[g] /= count[g];
            out->gain += sum[g];
            out->n++;
        }
    out->structured /= (double)n_participants;
    out->whitened /= (double)n_participants;
    out->gain /= (double)out->n;
    for (ptrdiff_t g = 0; g < limit; g++)
        squares += count[g] > 0 ? (sum[g] - out->gain) * (sum[g] - out->gain) : 0;
    out->se = sqrt(squares / ((double)(out->n - 1) * (double)out->n));
out:
    kn_map_density_state_clear(&a);
    kn_map_density_state_clear(&b);
    kn_free(count);
    kn_free(sum);
    return status;
}

/* Replaces *gp and its maps *to_maps by *second and *maps, which become empty; what they held is
 * freed. */
static void move_model(kn_gp *second, kn_gp_maps *maps, kn_gp *gp, kn_gp_maps *to_maps)
{
    kn_gp_maps_clear(to_maps);
    kn_gp_clear(gp);
    *gp = *second;
    *to_maps = *maps;
    to_maps->gp = gp;
    *second = (kn_gp){0};
    *maps = (kn_gp_maps){0};
}

/* Returns the R0 (covariance between participants) of a fitted model, and how its search ended,
 * as a search result. */
static kn_search_result make_search_result(const kn_gp *gp, const kn_fit_info *info)
{
    const kn_decomp *R0 = &gp->latent.cell[0].R0;
    kn_search_result found = {.stop = info->stop, .projected = info->projected_gradient};
    double total;
    kn_cov_point_of(&R0->cov, R0->theta, &found.at, &total);
    return found;
}

/* Fits whitened noise at the R0 (covariance between participants) and with the number of
 * components of the structured model *gp, and keeps the model with the higher density of
 * held-out maps (by more than one standard error) in *gp. Sets info->noise_choice. */
static kn_status try_whitened(kn_ctx *ctx, kn_fit_problem *p, kn_gp *gp, kn_fit_info *info)
{
    kn_status status;
    kn_gp_maps cv = {0}, *structured = p->options->cv;
    kn_gp_options o = *p->options;
    kn_fit_problem q = *p; /* borrows the Gram matrix */
    kn_fit_info own = *info;
    kn_gp other = {0};
    comparison c;
    ptrdiff_t rank = p->gram.rank, limit = rank == p->Y.T ? rank : rank - 1;
    kn_search_result found = make_search_result(gp, info);
    o.cv = &cv;
    q.options = &o;
    q.groups = (kn_groups){0};
    q.spec.rank = gp->spec.rank;
    q.spec.rank_auto = false;
    KN_TRY(kn_whitened_fit_at(ctx, &q, &found, kn_min_size(gp->P, limit), &other, &own));
    if (own.stop == KN_STOP_CANCELLED || !cv.gp) {
        info->stop = own.stop;
        goto out;
    }
    KN_TRY(compare_densities(ctx, structured, &cv, o.groups, &c));
    if (c.n < 2) {
        kn_log(ctx, KN_LOG_INFO,
               "noise: structured; the folds are too small to compare densities of held-out maps");
        goto out;
    }
    kn_noise_choice choice = {
        .tried = 1, .structured = c.structured, .whitened = c.whitened, .gain = c.gain, .se = c.se};
    bool better = c.gain > c.se;
    kn_log(ctx, KN_LOG_INFO,
           "noise: %s; the mean log density of held-out maps is %.2f with structured and %.2f with "
           "whitened noise, a difference of %.2f +- %.2f",
           better ? "whitened" : "structured", c.structured, c.whitened, c.gain, c.se);
    if (better) {
        move_model(&other, &cv, gp, structured);
        *info = own;
        info->method = gp->method;
        info->noise = KN_NOISE_WHITENED;
    }
    info->noise_choice = choice;
out:
    kn_gp_maps_clear(&cv);
    kn_gp_clear(&other);
    return status;
}

/* Implements kn_method.fit for {noise=auto}: fits structured noise, then whitened noise, and
 * keeps the better. Whitened noise needs cross-validated maps and N <= KN_MANY; if it is
 * cancelled, the structured model stays. */
static kn_status fit_noise_auto(kn_ctx *ctx, kn_fit_problem *p, kn_gp *gp, kn_fit_info *info)
{
    info->method = &kn_method_smtgpr;
    info->noise = KN_NOISE_STRUCTURED;
    kn_status status = kn_method_smtgpr.fit(ctx, p, gp, info);
    if (status != KN_OK)
        return status;
    if (p->Y.N > KN_MANY) {
        kn_log(ctx, KN_LOG_INFO,
               "noise: structured; whitened noise is not tried with more than %d participants",
               KN_MANY);
        return KN_OK;
    }
    if (info->stop == KN_STOP_CANCELLED || !p->options->cv || !p->options->cv->gp)
        return KN_OK;
    status = try_whitened(ctx, p, gp, info);
    if (status == KN_ERR_CANCELLED) { /* keep the structured model */
        info->stop = KN_STOP_CANCELLED;
        kn_gp_maps_clear(p->options->cv);
        return KN_OK;
    }
    if (status != KN_OK) {
        kn_gp_maps_clear(p->options->cv);
        kn_gp_clear(gp);
    }
    return status;
}

/* Implements kn_method.need.settle, which sets the sizes that the options leave open to a memory
 * plan: the components are those of structured noise. */
static void need_settle(kn_problem_size *s)
{
    kn_method_smtgpr.need.settle(s);
}

/* Implements kn_method.need.fit, which predicts in plan r the memory of a fit, here of two: the
 * second runs while the first model stays in the plan. */
static void need_fit(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_mem_usage begin = r->now, structured;
    kn_method_smtgpr.need.fit(r, s);
    if (s->range > 0)
        return;
    structured = r->now;
    kn_method_whitened.need.fit(r, s);
    kn_plan_free(r, begin, structured);
}

/* Implements kn_method.need.maps, which predicts in plan r the memory of maps of n participants:
 * that of whitened noise, which is larger, unless many participants exclude it. */
static void need_maps(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind, ptrdiff_t n)
{
    (s->range > 0 ? &kn_method_smtgpr : &kn_method_whitened)->need.maps(r, s, kind, n);
}

/* Implements kn_method.need.block, which predicts in plan r the memory of one block of maps:
 * that of whitened noise, which is larger, unless many participants exclude it. */
static void need_block(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind, ptrdiff_t n)
{
    (s->range > 0 ? &kn_method_smtgpr : &kn_method_whitened)->need.block(r, s, kind, n);
}

const kn_method kn_method_noise_auto = {
    .name = "smtgpr",
    .title = "S-MTGPR",
    .words = KN_SMTGPR_WORDS,
    .cite = KN_KIA_MARQUAND_CITE,
    .paper = KN_KIA_MARQUAND,
    .components = true,
    .low_rank = true,
    .held_out_once = true,
    .fit = fit_noise_auto,
    .need = {need_settle, need_fit, need_maps, need_block},
};

const kn_method *kn_smtgpr_with(kn_noise noise)
{
    return noise == KN_NOISE_WHITENED ? &kn_method_whitened
           : noise == KN_NOISE_AUTO   ? &kn_method_noise_auto
                                      : &kn_method_smtgpr;
}
