/* Small problems of MT-Kronsum: at random C, S and R0, dense or of low rank, with groups or
 * without. */
#ifndef KN_TEST_KRONSUMS_H
#define KN_TEST_KRONSUMS_H

#include "support/covs.h"

#include "base/random.h"
#include "gp/methods/kronsum/internal.h"

static kn_ctx *ctx;
static kn_rng rng;

typedef struct problem {
    kn_mat X, Xs, Y, C, S;
    kn_groups groups;
    double tau;
    kn_spec spec;
    double theta[KN_COV_THETA];
    kn_kronsum_side side;
    kn_kronsum_data data;
    kn_kronsum k;
} problem;

static void solve(problem *p)
{
    kn_kronsum_problem of = {.spec = &p->spec,
                             .theta = p->theta,
                             .tau = p->tau,
                             .X = p->X,
                             .Y = p->Y,
                             .groups = &p->groups};
    assert_ok(ctx, kn_kronsum_side_new(ctx, &of, &p->side));
    p->data = kn_kronsum_side_data(&p->side);
    assert_ok(ctx, kn_kronsum_new(ctx, p->Y.cols, p->side.A.rows, &p->k));
    assert_ok(ctx, kn_kronsum_evaluate(ctx, &p->data, p->C, p->S, &p->k));
}

static void release(problem *p)
{
    kn_kronsum_clear(&p->k);
    kn_kronsum_side_clear(&p->side);
    kn_groups_clear(&p->groups);
    free(p->X.data), free(p->Xs.data), free(p->Y.data), free(p->C.data), free(p->S.data);
}

typedef struct shape {
    int N, T, F, rank, groups; /* of C */
    double noise;
    bool low;
} shape;
static const shape SHAPES[] = {
    {3, 1, 1, 1, 0, 1, false},    {5, 2, 1, 2, 0, 1, false},    {8, 3, 2, 1, 0, 1, false},
    {8, 3, 2, 0, 0, 1, false},    {7, 3, 2, 3, 0, 1e-6, false}, {7, 3, 2, 3, 0, 1e6, false},
    {12, 5, 2, 5, 4, 1, false},   {9, 1, 1, 1, 3, 1, false},    {10, 3, 1, 3, 0, 1, true},
    {12, 4, 2, 2, 0, 1, true},    {12, 4, 2, 4, 4, 1, true},    {9, 3, 2, 0, 3, 1, true},
    {12, 2, 2, 2, 0, 1e-6, true},
};
enum { N_SHAPES = sizeof SHAPES / sizeof *SHAPES };

/* A random covariance of this rank. One of full rank has eigenvalues of at least by/2: none is so
 * close to singular that its inverse, or a difference quotient beside it, has no digits. */
static kn_mat wishart(ptrdiff_t T, ptrdiff_t rank, double by)
{
    kn_mat L = ref_normal(&rng, T, rank > 0 ? rank : 1), M = ref_mul(0, L, 1, L);
    for (ptrdiff_t j = 0; j < T; j++) {
        kn_col(M, j)[j] += rank >= T ? 0.5 : 0;
        for (ptrdiff_t i = 0; i < T; i++)
            kn_col(M, j)[i] *= rank > 0 ? by : 0;
    }
    free(L.data);
    return M;
}

static problem draw(shape s)
{
    problem p = {.X = ref_normal(&rng, s.N, s.F),
                 .Xs = ref_normal(&rng, 4, s.F),
                 .Y = ref_normal(&rng, s.N, s.T),
                 .C = wishart(s.T, s.rank, 1),
                 .S = wishart(s.T, s.T + 2, s.noise),
                 .tau = s.groups > 0 ? 0.7 : 0};
    int code[128];
    assert_true(s.N <= 128);
    for (int i = 0; i < s.N; i++)
        code[i] = i % (s.groups > 0 ? s.groups : 1);
    if (s.groups > 0)
        assert_ok(ctx, kn_groups_new(ctx, s.N, code, &p.groups));
    p.spec = (kn_spec){.noise = KN_NOISE_STRUCTURED,
                       .sample = cov_of(s.low ? "linear" : "linear+se", s.F),
                       .rank = s.low ? s.F : 0};
    if (s.low)
        p.theta[0] = -0.2;
    else
        theta_at_rho(&p.spec.sample, 0.4, 1.3, p.theta);
    return p;
}

#endif
