#include "gp/engine.h"

#include <math.h>
#include <string.h>

#include "cov/diagonal.h"
#include "gp/gradient.h"
#include "gp/profile.h"
#include "gp/structured.h"
#include "la/la.h"

static const double EMPTY_COMPLEMENT = 1e-10; /* of |Y|^2, METHOD 2 */
const double kn_rank_tolerance_search = 1e-6, kn_rank_tolerance = 1e-12;

void kn_engine_clear(kn_engine *e)
{
    kn_pairs_clear(&e->pairs);
    kn_lowrank_clear(&e->low);
    kn_decomp_clear(&e->R0);
    kn_mat_clear(&e->A0);
    kn_mat_clear(&e->A2);
    kn_mat_clear(&e->M);
    kn_mat_clear(&e->V);
    kn_mat_clear(&e->H);
    kn_free(e->c);
    kn_free(e->d);
    kn_free(e->lml);
    kn_free(e->w);
    kn_free(e->rest);
    kn_iso_clear(&e->iso);
    *e = (kn_engine){0};
}

/* What is as long as the decomposition has rows. */
static kn_status room(kn_ctx *ctx, kn_engine *e, ptrdiff_t m)
{
    kn_status status = KN_OK;
    if (!e->A0.data || e->A0.ld < m) {
        kn_mat_clear(&e->A0);
        kn_mat_clear(&e->M);
        kn_mat_clear(&e->A2);
        kn_free(e->w);
        e->w = NULL;
        KN_TRY(kn_mat_new(ctx, m, e->P, &e->A0));
        KN_TRY(kn_mat_new(ctx, m, e->P, &e->M));
        if (e->spec.noise == KN_NOISE_STRUCTURED)
            KN_TRY(kn_mat_new(ctx, m, e->P, &e->A2));
        KN_TRY(kn_alloc_d(ctx, m, &e->w));
    }
    e->A0.rows = e->M.rows = m;
    if (e->spec.noise == KN_NOISE_STRUCTURED)
        e->A2.rows = m;
    else
        KN_TRY(kn_iso_set_rank(ctx, &e->iso, e->Z, m));
out:
    return status;
}

/* Eigenvectors and H, twice that of eigenvectors inside dsyevd, and one more. */
enum { DENSE_MATRICES = 5 };

/* KN_ERR_MEMORY, with what would fit, where these matrices N x N and the pairs' do not fit the
 * context's memory. */
static kn_status check_dense(kn_ctx *ctx, ptrdiff_t N, int n_stats)
{
    enum { RANK = 1000 };
    double have = (double)kn_memory(ctx), GB = 1e9, each = 8.0 * (DENSE_MATRICES + n_stats);
    double need = each * (double)N * (double)N;
    if (need <= have)
        return KN_OK;
    return kn_fail(ctx, KN_ERR_MEMORY,
                   "%td samples need %.1f GB for dense matrices and %.1f GB are allowed: up to %td "
                   "samples are possible, or an approximation of rank %d in %.1f GB",
                   N, need / GB, have / GB, (ptrdiff_t)sqrt(have / each), RANK,
                   8.0 * 1.2 * (double)N * RANK / GB);
}

enum { WIDE = 128 }; /* columns of V: slices of that many keep dsyrk at full speed */

kn_status kn_engine_make_dense(kn_ctx *ctx, kn_engine *e)
{
    kn_status status = KN_OK;
    kn_lowrank_clear(&e->low);
    kn_decomp_clear(&e->R0);
    if (e->pairs.n == 0) {
        KN_TRY(check_dense(ctx, e->N, e->cov.stats.n));
        KN_TRY(kn_pairs_within(ctx, e->X, &e->cov.stats, &e->pairs));
    }
    KN_TRY(kn_decomp_new(ctx, e->N, &e->cov, &e->R0));
    KN_TRY(kn_mat_new(ctx, e->N, e->P > WIDE ? e->P : WIDE, &e->V));
    KN_TRY(kn_mat_new(ctx, e->N, e->N, &e->H));
    KN_TRY(room(ctx, e, e->N));
out:
    return status;
}

static kn_status make(kn_ctx *ctx, const kn_spec *spec, kn_mat X, kn_pairs *pairs, kn_mat Z,
                      ptrdiff_t T, double E, double total, ptrdiff_t N_ref, const kn_pairs *tasks,
                      kn_engine *out)
{
    kn_status status;
    ptrdiff_t N = Z.rows, P = Z.cols;
    *out = (kn_engine){.spec = *spec, .N = N, .T = T, .P = P, .X = X, .Z = Z, .E = E};
    out->cov = kn_cov_between(&spec->sample);
    out->complement = P < T && E > EMPTY_COMPLEMENT * total;
    out->s2 = out->complement ? E / ((double)N * (double)(T - P)) : 0;
    out->inside_tolerance = 1e-8;
    if (pairs) {
        out->pairs = *pairs;
        *pairs = (kn_pairs){0};
    }
    KN_TRY(kn_alloc_d(ctx, P, &out->c));
    KN_TRY(kn_alloc_d(ctx, P, &out->d));
    KN_TRY(kn_alloc_d(ctx, P, &out->lml));
    KN_TRY(kn_alloc_d(ctx, P, &out->rest));
    if (spec->noise == KN_NOISE_ISO) {
        double scale = sqrt((double)N_ref / (double)N);
        if (spec->task_scale == KN_TASK_SCALE_SQRTN)
            scale /= sqrt((double)N_ref);
        KN_TRY(kn_iso_new(ctx, spec, Z, T, E, scale, tasks, &out->iso));
    }
    if (spec->rank > 0) {
        out->R0 = (kn_decomp){.N = N, .cov = out->cov};
        KN_TRY(kn_lowrank_new(ctx, X, &out->cov, spec->rank, kn_rank_tolerance, &out->low));
    } else {
        KN_TRY(kn_engine_make_dense(ctx, out));
    }
out:
    if (status != KN_OK)
        kn_engine_clear(out);
    return status;
}

kn_status kn_engine_new(kn_ctx *ctx, const kn_spec *spec, kn_pairs *pairs, kn_mat Z, ptrdiff_t T,
                        double E, double total, ptrdiff_t N_ref, const kn_pairs *tasks,
                        kn_engine *out)
{
    kn_spec dense = *spec;
    dense.rank = 0;
    return make(ctx, &dense, kn_mat_none(), pairs, Z, T, E, total, N_ref, tasks, out);
}

kn_status kn_engine_over(kn_ctx *ctx, const kn_spec *spec, kn_mat X, kn_mat Z, ptrdiff_t T,
                         double E, double total, ptrdiff_t N_ref, const kn_pairs *tasks,
                         kn_engine *out)
{
    return make(ctx, spec, X, NULL, Z, T, E, total, N_ref, tasks, out);
}

void kn_engine_need(kn_rehearsal *r, const kn_need_shape *s, bool gradient, bool tasks)
{
    kn_hold_d(r, KN_NEED_WORK, s->P, 4);
    if (s->iso)
        kn_iso_need(r, s, tasks);
    kn_hold_d(r, KN_NEED_WORK, s->M, (s->iso ? 2 : 3) * s->P + 1); /* A0, M, A2, w */
    if (s->M < s->N) {
        kn_lowrank_need(r, s);
        if (gradient)
            kn_lowrank_gradient_need(r, s);
    } else {
        kn_pairs_need(r, KN_NEED_SAMPLES, s->stats, s->N, s->N);
        kn_hold_d(r, KN_NEED_WORK, s->N, s->P > WIDE ? s->P : WIDE);
        kn_hold_d(r, KN_NEED_SAMPLES, s->N, s->N);
        kn_decomp_need(r, s->N);
    }
    if (!s->iso)
        kn_profile_need(r, s->M, s->P);
}

static kn_status inside_objective(void *self, kn_ctx *ctx, const double *x, double *value,
                                  double *grad)
{
    kn_engine *e = self;
    e->inner_evals++;
    return kn_iso_eval(ctx, &e->iso, e->R0.r, e->A0, x, value, grad);
}

void kn_engine_inside_start(const kn_engine *e, int which, double *x)
{
    static const double share[KN_INSIDE_STARTS] = {0.3, 0.05,
                                                   0.7}; /* of the variance that is signal */
    int k = e->spec.task.n_theta;
    double N = (double)e->N, energy = kn_sumsq(e->Z);
    double dims = (double)(e->spec.identity ? e->T : e->P), v = energy / (N * dims);
    kn_cov_start(&e->spec.task, &e->iso.tasks, dims, v, share[which], x);
    if (e->iso.sample_iso)
        x[k++] = 0.5 * log(which == 2 ? 0.1 : 0.5);
    double s2 = e->complement && e->spec.likelihood == KN_EXACT ? e->s2 : (1 - share[which]) * v;
    x[k++] = 0.5 * log(s2);
}

static kn_status maximise_inside(kn_ctx *ctx, kn_engine *e, double *lml)
{
    double lower[KN_THETA], upper[KN_THETA];
    kn_optimum best = {.value = -INFINITY};
    kn_optimise_options o = {.algorithm = KN_LBFGS,
                             .n = e->iso.n_inside,
                             .lower = lower,
                             .upper = upper,
                             .unit = (double)e->N,
                             .f_tolerance = e->inside_tolerance};
    for (int i = 0; i < o.n; i++) {
        lower[i] = kn_theta_lower;
        upper[i] = kn_theta_upper;
    }
    int from = e->warm ? -1 : 0, to = e->warm && !e->thorough ? 0 : KN_INSIDE_STARTS;
    for (int start = from; start < to; start++) {
        kn_limits limits = {.evals_left = 500};
        kn_optimum here = {0};
        if (start < 0)
            memcpy(here.x, e->inside, sizeof here.x);
        else
            kn_engine_inside_start(e, start, here.x);
        kn_status status = kn_maximise(ctx, &o, &limits, inside_objective, e, &here);
        if (status != KN_OK)
            return status;
        if (here.value > best.value)
            best = here;
    }
    memcpy(e->inside, best.x, sizeof e->inside);
    e->warm = true;
    /* The last evaluation need not be the best: leave the state of the one that is. */
    return kn_iso_eval(ctx, &e->iso, e->R0.r, e->A0, e->inside, lml, NULL);
}

static void copy_iso_state(kn_engine *e)
{
    for (ptrdiff_t p = 0; p < e->P; p++) {
        e->c[p] = e->iso.c[p];
        e->d[p] = e->iso.c[p] * e->iso.iso + e->iso.s2;
    }
    e->s2 = e->iso.s2;
}

/* Low rank while it suffices: rank_auto turns to the dense matrix where it does not. */
static kn_status decompose_low(kn_ctx *ctx, kn_engine *e, const double *r0)
{
    static const double FAR = 10; /* times the tolerance */
    kn_status status = kn_lowrank_compute(ctx, &e->low, r0, &e->R0);
    if (status != KN_OK)
        return status;
    if (e->spec.rank_auto && e->R0.residual > FAR * e->low.tol) {
        e->spec.rank = 0;
        return kn_engine_make_dense(ctx, e);
    }
    status = room(ctx, e, e->R0.m);
    return status == KN_OK ? kn_lowrank_project(ctx, &e->low, e->Z, e->A0) : status;
}

static kn_status decompose(kn_ctx *ctx, kn_engine *e, const double *r0)
{
    kn_status status = KN_OK;
    e->evals++;
    e->iso.fresh = false;
    if (e->spec.rank > 0)
        KN_TRY(decompose_low(ctx, e, r0));
    if (e->spec.rank == 0) {
        KN_TRY(kn_decomp_compute(ctx, &e->R0, &e->pairs, r0));
        kn_gemm(ctx, 1, KN_T, e->R0.U, KN_N, e->Z, 0, e->A0); /* A0 = U'Z   m x P */
    }
out:
    return status;
}

kn_status kn_engine_at(kn_ctx *ctx, kn_engine *e, const double *r0, double *lml)
{
    kn_status status = decompose(ctx, e, r0);
    return status == KN_OK ? kn_structured_eval(ctx, e, lml) : status;
}

kn_status kn_engine_nested(kn_ctx *ctx, kn_engine *e, const kn_cov_point *at, double *lml,
                           double *g)
{
    double r0[KN_COV_THETA], g0[KN_COV_THETA];
    kn_cov_theta(&e->cov, at, r0);
    kn_status status = decompose(ctx, e, r0);
    if (status != KN_OK)
        return status;
    if (e->spec.noise == KN_NOISE_STRUCTURED) {
        status = kn_structured_eval(ctx, e, lml);
    } else {
        status = maximise_inside(ctx, e, lml);
        if (status == KN_OK)
            copy_iso_state(e);
    }
    if (status == KN_OK && g)
        status = kn_gradient_r0(ctx, e, g0);
    if (status == KN_OK && g)
        kn_cov_outer_gradient(&e->cov, at, g0, g);
    return status;
}

kn_status kn_engine_joint(kn_ctx *ctx, kn_engine *e, const double *theta, double *lml, double *g)
{
    double r0[KN_COV_THETA], g0[KN_COV_THETA], inside[KN_THETA] = {0}, gi[KN_THETA];
    kn_spec_split(&e->spec, theta, r0, inside);
    kn_status status = decompose(ctx, e, r0);
    if (status != KN_OK)
        return status;
    status = kn_iso_eval(ctx, &e->iso, e->R0.r, e->A0, inside, lml, g ? gi : NULL);
    if (status != KN_OK)
        return status;
    memcpy(e->inside, inside, sizeof e->inside);
    copy_iso_state(e);
    if (!g)
        return KN_OK;
    status = kn_gradient_r0(ctx, e, g0);
    if (status == KN_OK)
        kn_spec_join(&e->spec, g0, gi, g);
    return status;
}
