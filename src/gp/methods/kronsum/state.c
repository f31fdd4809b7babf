/* State of an MT-Kronsum model other than its components, its arrays in the model file, and the
 * memory plan of a fit [METHOD 1g]. These are the operations `arrays`, `clear`, `bytes` and others
 * of the method. */
#include "gp/methods/kronsum/internal.h"

#include <math.h>
#include <stdio.h>

#include "gp/assign_folds.h"
#include "gp/components/choose_count.h"
#include "gp/cv/refit.h"
#include "gp/missing/completion.h"
#include "gp/predict/covariance.h"

/* Array "shrinkage": nu (-1: infinite), components of the structured model, evaluations (-1: no
 * limit). */
kn_status kn_kronsum_arrays(kn_gp *gp, kn_arrays *a)
{
    kn_status status;
    kn_kronsum_state *o = gp->own;
    double *data = NULL;
    KN_TRY(kn_components_arrays(gp, a));
    if (a->reading) {
        void *memory;
        KN_TRY(kn_alloc(a->ctx, 1, sizeof *o, &memory));
        gp->own = o = memory;
        KN_TRY(a->doubles(a, "shrinkage", 3, KN_ANY, &data));
        *o = (kn_kronsum_state){.nu = data[0] < 0 ? INFINITY : data[0],
                                .limits = {.evals_left = -1}};
        bool sound = isfinite(data[0]) && data[1] >= 1 && data[1] <= (double)gp->T &&
                     data[2] >= -1 && data[2] < 1e9 && gp->W.data && gp->P == gp->T;
        o->P = sound ? (ptrdiff_t)data[1] : 1;
        o->limits.evals_left = sound ? (int)data[2] : -1;
        kn_free(data);
        return sound ? KN_OK : a->bad(a, "shrinkage");
    }
    o->stored[0] = isinf(o->nu) ? -1 : o->nu;
    o->stored[1] = (double)o->P;
    o->stored[2] = o->limits.evals_left;
    data = o->stored;
    KN_TRY(a->doubles(a, "shrinkage", 3, KN_ANY, &data));
out:
    return status;
}

void kn_kronsum_state_clear(kn_gp *gp)
{
    kn_free(gp->own);
}

double kn_kronsum_bytes(const kn_gp *gp)
{
    return kn_components_bytes(gp) + 8 * (double)gp->T * (double)gp->T;
}

void kn_kronsum_group_noise(const kn_gp *gp, double *noise)
{
    for (ptrdiff_t j = 0; j < gp->T; j++)
        noise[j] = gp->noise[j] / (1 + kn_latent_gamma(&gp->latent, 0));
}

void kn_kronsum_describe(const kn_gp *gp, char *line, size_t size)
{
    const kn_kronsum_state *o = gp->own;
    if (isinf(o->nu))
        snprintf(line, size,
                 "covariances of signal and noise: the structured model's, of %td components",
                 o->P);
    else if (o->nu > 0)
        snprintf(line, size,
                 "covariances of signal and noise: free, shrunk towards the structured model's of "
                 "%td components with the weight of %g participants",
                 o->P, o->nu);
    else
        snprintf(line, size, "covariances of signal and noise: free");
}

void kn_kronsum_finalise(kn_problem_size *s)
{
    s->P = s->T;
    s->given_basis = true; /* folds do not compute one from a Gram matrix */
}

void kn_kronsum_need_fit(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_problem_size few = *s;
    ptrdiff_t T = s->T, h, n;
    kn_mem_usage begin = r->now, numbers, gram;
    few.given_basis = false;
    few.P = kn_components_max(s->N, T, s->N);
    kn_plan_stage(r, "gram");
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, T); /* Y */
    numbers = r->now;
    if (s->N <= KN_MANY)
        kn_gram_need(r, &few);
    gram = r->now;
    kn_plan_stage(r, "components");
    kn_components_need(r, &few);
    kn_plan_stage(r, "shrinkage");
    kn_kronsum_choose_nu_need(r, &few);
    kn_plan_stage(r, "covariances");
    kn_kronsum_fit_need(r, &few);
    kn_plan_alloc_d(r, KN_NEED_BASIS, 2 * T, T);
    kn_plan_free_to(r, gram);
    kn_plan_alloc_d(r, KN_NEED_BASIS, 2 * T, T);
    kn_latent_need(r, s);
    kn_plan_free(r, begin, numbers);
    kn_plan_stage(r, "folds");
    for (int k = 0; k < s->folds; k++) {
        h = (s->N + s->folds - 1 - k) / s->folds;
        n = s->N - h;
        few.N = n;
        few.M = s->M < s->N ? kn_min_size(s->M, n) : n;
        kn_plan_alloc_d(r, KN_NEED_WORK, h, (s->sites > 0 ? 3 : 2) * T);
        kn_plan_alloc_d(r, KN_NEED_BASIS, T, T + 1);
        kn_mem_usage mark = r->now;
        kn_refit_need(r, s, n, h);
        kn_plan_alloc_d(r, KN_NEED_WORK, n, T);
        kn_kronsum_fit_need(r, &few);
        kn_plan_free_to(r, mark);
    }
    kn_plan_free(r, numbers, gram);
}
