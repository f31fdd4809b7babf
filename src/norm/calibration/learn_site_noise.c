/* Learns the noise scale of each site (internal.h). It is one component of the calibration that
 * learn_structure.c may keep. */
#include "norm/calibration/internal.h"

#include <math.h>

/* Add the squares of z1 (n) of one response to the sums of the sites (S), without fold f (-1: all
 * participants). z1 is multiplied by `spread`. Each fold is summed anew: the difference of two sums
 * may be rounding error only. */
static void add_response(const kn_learner *l, const int *site, const double *z1, int f,
                         double spread, kn_noise_scale_level *level)
{
    for (ptrdiff_t i = 0; i < l->job.n; i++)
        if (site[i] >= 0 && l->fold[i] != f && isfinite(z1[i])) {
            level[site[i]].z2 += spread * spread * z1[i] * z1[i];
            level[site[i]].cells++;
        }
}

/* Count the participants of each site (S) that have any value in z1 (n x sampled), without fold f;
 * -1: all. */
static void count_participants(const kn_learner *l, const int *site, kn_mat z1, int f,
                               kn_noise_scale_level *level)
{
    for (ptrdiff_t i = 0; i < l->job.n; i++) {
        bool any = false;
        for (ptrdiff_t j = 0; j < z1.cols && !any; j++)
            any = isfinite(kn_at(z1, i, j));
        if (any && site[i] >= 0 && l->fold[i] != f)
            level[site[i]].n++;
    }
}

/* Estimate the logarithmic noise term of each site, term (S x folds + 1): without each fold, and
 * from all participants in the last column. site (n): site of each participant, -1: none; z1:
 * z-scores, n x sampled. */
static kn_status make_terms(kn_ctx *ctx, const kn_learner *l, const int *site, kn_mat z1,
                            kn_mat term)
{
    kn_status status;
    int folds = l->job.folds;
    ptrdiff_t S = l->job.S;
    void *memory = NULL;
    double *spread = NULL;
    kn_noise_scale_prior squares;
    KN_TRY(kn_alloc(ctx, (folds + 1) * S, sizeof(kn_noise_scale_level), &memory));
    kn_noise_scale_level *level = memory;
    for (ptrdiff_t k = 0; k < (folds + 1) * S; k++)
        level[k] = (kn_noise_scale_level){0};
    KN_TRY(kn_alloc_d(ctx, folds + 1, &spread));
    for (ptrdiff_t j = 0; j < z1.cols; j++) {
        kn_learner_spread(l, kn_col(l->e, j), spread);
        spread[folds] = 1;
        for (int f = 0; f <= folds; f++)
            add_response(l, site, kn_col(z1, j), f < folds ? f : -1, spread[f], level + f * S);
    }
    for (int f = 0; f <= folds; f++) {
        int without = f < folds ? f : -1;
        count_participants(l, site, z1, without, level + f * S);
        KN_TRY(kn_learner_squares(ctx, l, z1, without, &squares));
        kn_noise_scale_batch(S, level + f * S, squares.kurt, squares.T_sq, kn_col(term, f));
    }
out:
    kn_free(spread);
    kn_free(memory);
    return status;
}

/* Set the site terms of the calibration from the last column of term, and the shift of each
 * participant from the column without its fold; l->factor is multiplied by exp(shift). */
static void set_terms(kn_learner *l, const int *site, kn_mat term)
{
    ptrdiff_t n = l->job.n;
    for (ptrdiff_t s = 0; s < l->calibration->S; s++)
        l->calibration->batch[s] = kn_at(term, s, l->job.folds);
    for (ptrdiff_t i = 0; i < n; i++)
        l->shift[i] = site[i] >= 0 ? kn_at(term, site[i], l->fold[i]) : 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        double factor = exp(l->shift[i]);
        for (ptrdiff_t j = 0; j < l->sampled; j++)
            kn_col(l->factor, j)[i] *= factor;
    }
}

kn_status kn_learner_batch(kn_ctx *ctx, kn_learner *l, const double *before, kn_mat z1)
{
    kn_status status;
    ptrdiff_t n = l->job.n;
    kn_calibration_component *component = &l->calibration->component[KN_CALIBRATION_SITE];
    kn_mat term = {0};
    int *site = NULL;
    double *after = NULL;
    KN_TRY(kn_alloc_int(ctx, n, &site));
    for (ptrdiff_t i = 0; i < n; i++)
        site[i] = l->job.site[l->order[i]];
    for (ptrdiff_t j = 0; j < l->sampled; j++)
        for (ptrdiff_t i = 0; i < n; i++)
            kn_col(z1, j)[i] = kn_learner_plain_z(l, i, j);
    KN_TRY(kn_mat_new(ctx, l->job.S, l->job.folds + 1, &term));
    KN_TRY(kn_alloc_d(ctx, n, &after));
    KN_TRY(make_terms(ctx, l, site, z1, term));
    KN_TRY(kn_alloc_d(ctx, n, &l->shift));
    KN_TRY(kn_alloc_d(ctx, l->job.S, &l->calibration->batch));
    l->calibration->S = l->job.S;
    set_terms(l, site, term);
    kn_learner_score(l, l->factor, after);
    component->tried = component->kept = true;
    component->gain = kn_learner_gain(n, before, after, &component->se);
out:
    kn_free(after);
    kn_mat_clear(&term);
    kn_free(site);
    return status;
}
