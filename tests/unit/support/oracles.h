/* Random small problems of every shape that could trip an index. */
#ifndef KN_TEST_ORACLES_H
#define KN_TEST_ORACLES_H

#include "support/covs.h"
#include "support/views.h"

#include "base/random.h"

static kn_ctx *ctx;
static kn_rng rng;

typedef struct shape {
    int N, T, P, F, Ns;
    bool duplicate; /* half of the rows of X repeated: R is rank deficient */
} shape;

static const shape SHAPES[] = {
    {3, 1, 1, 1, 1, false}, {3, 2, 1, 1, 2, false}, {3, 2, 2, 2, 1, false}, {4, 3, 1, 1, 3, true},
    {4, 3, 3, 2, 1, false}, {5, 6, 2, 3, 2, true},  {6, 4, 4, 1, 2, true},  {7, 9, 3, 2, 4, false},
    {8, 5, 2, 6, 1, true},  {6, 7, 5, 2, 3, false}, {9, 2, 1, 3, 2, false}, {10, 6, 6, 4, 2, true},
};
enum { N_SHAPES = sizeof SHAPES / sizeof *SHAPES };

typedef struct problem {
    shape s;
    kn_mat X, Xs, Y, B;
} problem;

static inline problem random_problem(shape s)
{
    problem p = {s, ref_normal(&rng, s.N, s.F), ref_normal(&rng, s.Ns, s.F),
                 ref_normal(&rng, s.N, s.T), ref_orthonormal(&rng, s.T, s.P)};
    for (int i = 0; s.duplicate && i < s.N / 2; i++)
        for (int f = 0; f < s.F; f++)
            kn_col(p.X, f)[s.N - 1 - i] = kn_at(p.X, i, f);
    for (int f = 0; f < s.F; f++) /* a new sample equal to a training one */
        kn_col(p.Xs, f)[0] = kn_at(p.X, 0, f);
    return p;
}

static inline void free_problem(problem p)
{
    free(p.X.data), free(p.Xs.data), free(p.Y.data), free(p.B.data);
}

/* A fit with the given basis and start: no search, no scaling, no folds. */
static inline kn_settings settings_at_fixed_parameters(problem p)
{
    kn_settings o;
    plain_settings(&o);
    o.basis_view = view(p.B);
    o.max_evals = 0;
    o.standardise = 0;
    o.folds = 0;
    return o;
}

#endif
