/* Samples and points of the low-rank Kronecker sum, and what it says there. */
#ifndef KN_TEST_KRONSUM_LOWS_H
#define KN_TEST_KRONSUM_LOWS_H

#include "support/covs.h"
#include "support/views.h"
#include "support/with_context.h"

#include "base/random.h"
#include "data/scaling.h"
#include "gp/methods/mtgpr/internal.h"
#include "la/la.h"

static inline kn_rng seeded(uint64_t seed)
{
    kn_rng rng;
    ref_rng_init(&rng, seed, 0);
    return rng;
}

/* Something to evaluate: covariates, responses, and R0 = (1-rho) XX'/F + rho SE(length). */
typedef struct sample {
    kn_mat X, Y, R; /* R dense */
    kn_scaling scaling;
    kn_responses responses;
    kn_decomp R0;
    kn_mat U; /* of O too, where it is not the identity */
    kn_lowrank_sum_samples s;
} sample;

static inline void sample_decompose(sample *s, double rho, double length)
{
    kn_cov cov = cov_of("linear+se", s->X.cols);
    kn_pairs pairs;
    double theta[3];
    theta_at_rho(&cov, rho, length, theta);
    assert_ok(ctx, kn_scaling_new(ctx, view(s->Y), false, &s->scaling));
    s->responses = kn_responses_of(view(s->Y), &s->scaling);
    assert_ok(ctx, kn_pairs_within(ctx, s->X, &cov.stats, &pairs));
    assert_ok(ctx, kn_decomp_new(ctx, s->X.rows, &cov, &s->R0));
    assert_ok(ctx, kn_decomp_compute(ctx, &s->R0, &pairs, NULL, theta));
    s->R = ref_new(s->X.rows, s->X.rows);
    kn_cov_fill(&cov, theta, &pairs, s->R);
    kn_mirror(s->R);
    kn_pairs_clear(&pairs);
    s->s = (kn_lowrank_sum_samples){.U = s->R0.U, .r = s->R0.r};
}

static inline void sample_clear(sample *s)
{
    kn_decomp_clear(&s->R0);
    kn_scaling_clear(&s->scaling);
    free(s->X.data), free(s->Y.data), free(s->R.data), free(s->U.data);
}

static inline kn_lowrank_sum_point point_copy(kn_lowrank_sum_point p)
{
    kn_lowrank_sum_point q = p;
    q.G = ref_new(p.G.rows, p.G.cols);
    q.H = ref_new(p.H.rows, p.H.cols);
    q.psi = malloc((size_t)p.G.rows * sizeof *q.psi);
    if (p.G.cols > 0)
        kn_mat_set(q.G, p.G);
    if (p.H.cols > 0)
        kn_mat_set(q.H, p.H);
    memcpy(q.psi, p.psi, (size_t)p.G.rows * sizeof *q.psi);
    return q;
}

static inline void point_free(kn_lowrank_sum_point p)
{
    free(p.G.data), free(p.H.data), free(p.psi);
}

/* C and S, T x T */
static inline void dense_tasks(kn_lowrank_sum_point p, kn_mat C, kn_mat S)
{
    for (ptrdiff_t a = 0; a < C.rows; a++)
        for (ptrdiff_t b = 0; b < C.rows; b++) {
            double c = a == b ? p.gamma : 0, s = a == b, unit = sqrt(p.psi[a] * p.psi[b]);
            for (ptrdiff_t q = 0; q < p.G.cols; q++)
                c += kn_at(p.G, a, q) * kn_at(p.G, b, q);
            for (ptrdiff_t q = 0; q < p.H.cols; q++)
                s += kn_at(p.H, a, q) * kn_at(p.H, b, q);
            kn_col(C, a)[b] = unit * c;
            kn_col(S, a)[b] = unit * s;
        }
}

/* ln N(vec Y; 0, C (x) (R + iso I) + S (x) I) */
static inline double dense_lml(const sample *s, kn_lowrank_sum_point p)
{
    ptrdiff_t N = s->Y.rows, T = s->Y.cols;
    kn_mat C = ref_new(T, T), S = ref_new(T, T), I = ref_new(N, N), R = ref_new(N, N);
    dense_tasks(p, C, S);
    for (ptrdiff_t i = 0; i < N; i++)
        for (ptrdiff_t j = 0; j < N; j++) {
            kn_col(I, i)[j] = i == j;
            kn_col(R, i)[j] = kn_at(s->R, i, j) + (i == j ? p.iso : 0);
        }
    kn_mat K = ref_kron(C, R), noise = ref_kron(S, I);
    for (ptrdiff_t i = 0; i < K.rows * K.cols; i++)
        K.data[i] += noise.data[i];
    double lml = ref_log_density(K, s->Y.data);
    free(C.data), free(S.data), free(I.data), free(R.data), free(K.data), free(noise.data);
    return lml;
}

static inline kn_lowrank_sum_point random_point(kn_rng *rng, ptrdiff_t T, ptrdiff_t P, ptrdiff_t Q)
{
    kn_lowrank_sum_point p = {.G = ref_normal(rng, T, P), .H = ref_normal(rng, T, Q)};
    p.psi = malloc((size_t)T * sizeof *p.psi);
    for (ptrdiff_t j = 0; j < T; j++)
        p.psi[j] = exp(0.5 * kn_rng_normal(rng));
    return p;
}

static inline void random_sample(kn_rng *rng, ptrdiff_t N, ptrdiff_t T, sample *s)
{
    *s = (sample){.X = ref_normal(rng, N, 2), .Y = ref_normal(rng, N, T)};
    sample_decompose(s, 0.6, 1.1);
}

typedef struct slopes {
    kn_lowrank_sum_gradient g;
    double lml;
} slopes;

static inline slopes evaluate(const sample *s, kn_lowrank_sum_point p, bool gamma)
{
    kn_lowrank_sum w;
    ptrdiff_t columns[2] = {p.G.cols, p.H.cols};
    slopes out = {.g = {.G = ref_new(s->Y.cols, p.G.cols), .H = ref_new(s->Y.cols, p.H.cols)}};
    out.g.ln_psi = malloc((size_t)s->Y.cols * sizeof(double));
    assert_ok(ctx, kn_lowrank_sum_new(ctx, &s->s, &s->responses, NULL, columns, gamma, &w));
    assert_ok(ctx, kn_lowrank_sum_value(ctx, &w, &p, &out.lml));
    assert_ok(ctx, kn_lowrank_sum_slopes(ctx, &w, &p, &out.g));
    kn_lowrank_sum_clear(&w);
    return out;
}

static inline void slopes_free(slopes s)
{
    free(s.g.G.data), free(s.g.H.data), free(s.g.ln_psi);
}

#endif
