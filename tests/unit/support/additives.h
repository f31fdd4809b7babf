/* Sums of terms over participants who share noise in groups: R0 from what participants are, pair by
 * pair, and engines over it. */
#ifndef KN_TEST_ADDITIVES_H
#define KN_TEST_ADDITIVES_H

#include "support/covs.h"
#include "support/with_context.h"

#include "base/random.h"

/* Pivots leave out 1e-12 of the smooth term's trace, hence the root of that of its covariance with
 * a participant unlike all of the training sample. */
static const double LIKE_NOBODY = 1e-6;

enum { LIN = 1, QUAD = 2, SE = 4, CAT = 8, CATS = 16, SLOPE = 32 };
static const unsigned SUMS[] = {LIN,
                                LIN | QUAD,
                                LIN | SE,
                                LIN | QUAD | SE,
                                CAT,
                                CAT | CATS,
                                LIN | CAT | SLOPE,
                                LIN | QUAD | SE | CAT | CATS,
                                LIN | QUAD | SE | CAT | CATS | SLOPE};
enum { N_SUMS = sizeof SUMS / sizeof *SUMS };
enum { NUMBERS = 2, LEVELS = 3, DESIGN = 2 * NUMBERS + 3 * (LEVELS + 1), NEW = 6 };

/* Participants as numbers and levels, and the same as columns of a design. */
typedef struct participants {
    ptrdiff_t n;
    kn_mat x;      /* n x NUMBERS */
    kn_mat u;      /* n x NUMBERS, what the curved term is over */
    int *cat[2];   /* LEVELS: one that training does not have */
    kn_mat design; /* n x DESIGN */
} participants;

static inline participants participants_new(kn_rng *rng, ptrdiff_t n, bool alike, bool new)
{
    participants w = {.n = n,
                      .x = ref_normal(rng, n, NUMBERS),
                      .u = ref_normal(rng, n, NUMBERS),
                      .design = ref_new(n, DESIGN)};
    for (int m = 0; m < 2; m++) {
        w.cat[m] = calloc((size_t)n + 1, sizeof(int));
        for (ptrdiff_t i = 0; i < n; i++)
            w.cat[m][i] = (int)kn_rng_below(rng, new ? LEVELS + 1 : LEVELS);
    }
    for (ptrdiff_t i = 1; alike && i < n; i++) { /* all are the first */
        for (int f = 0; f < NUMBERS; f++) {
            kn_col(w.x, f)[i] = kn_at(w.x, 0, f);
            kn_col(w.u, f)[i] = kn_at(w.u, 0, f);
        }
        w.cat[0][i] = w.cat[0][0];
        w.cat[1][i] = w.cat[1][0];
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        for (int f = 0; f < NUMBERS; f++) {
            kn_col(w.design, f)[i] = kn_at(w.x, i, f);
            kn_col(w.design, NUMBERS + f)[i] = kn_at(w.u, i, f);
        }
        for (int m = 0; m < 2; m++)
            kn_col(w.design, 2 * NUMBERS + m * (LEVELS + 1) + w.cat[m][i])[i] = 1;
        kn_col(w.design, 2 * NUMBERS + 2 * (LEVELS + 1) + w.cat[0][i])[i] = kn_at(w.x, i, 0);
    }
    return w;
}

static inline void participants_free(participants w)
{
    free(w.x.data), free(w.u.data), free(w.cat[0]), free(w.cat[1]), free(w.design.data);
}

static inline kn_cov sum_of(unsigned terms)
{
    static const struct {
        unsigned bit;
        const kn_kernel *kernel;
        ptrdiff_t first, count;
    } TERM[] = {{LIN, &kn_kernel_linear, 0, NUMBERS},
                {QUAD, &kn_kernel_square, NUMBERS, NUMBERS},
                {SE, &kn_kernel_se, 0, NUMBERS},
                {CAT, &kn_kernel_same, 2 * NUMBERS, LEVELS + 1},
                {CATS, &kn_kernel_same, 2 * NUMBERS + LEVELS + 1, LEVELS + 1},
                {SLOPE, &kn_kernel_slopes, 2 * NUMBERS + 2 * (LEVELS + 1), LEVELS + 1}};
    kn_cov cov = {.exact = true, .lowest = 0.5};
    for (size_t k = 0; k < sizeof TERM / sizeof *TERM; k++)
        if (terms & TERM[k].bit)
            assert_ok(ctx, kn_cov_add(ctx, &cov, TERM[k].kernel, TERM[k].first, TERM[k].count));
    return cov;
}

/* R0 between two participants, from numbers and levels. Two participants whose level is not of
 * training are of the same one only where they are one participant. */
static inline double relation(unsigned terms, const kn_cov_point *at, const participants *a,
                              ptrdiff_t i, const participants *b, ptrdiff_t j)
{
    double dot = 0, square = 0, d2 = 0, sum = 0;
    int k = 0;
    bool same[2];
    for (int f = 0; f < NUMBERS; f++) {
        double x = kn_at(a->x, i, f), y = kn_at(b->x, j, f);
        dot += x * y;
        d2 += (x - y) * (x - y);
        square += kn_at(a->u, i, f) * kn_at(b->u, j, f);
    }
    for (int m = 0; m < 2; m++)
        same[m] = a->cat[m][i] == b->cat[m][j];
    if (terms & LIN)
        sum += at->w[k++] * dot / NUMBERS;
    if (terms & QUAD)
        sum += at->w[k++] * square / NUMBERS;
    if (terms & SE)
        sum += at->w[k++] * exp(-d2 / (2 * at->shape[0] * at->shape[0]));
    if (terms & CAT)
        sum += at->w[k++] * same[0];
    if (terms & CATS)
        sum += at->w[k++] * same[1];
    if (terms & SLOPE)
        sum += at->w[k++] * same[0] * kn_at(a->x, i, 0) * kn_at(b->x, j, 0);
    return sum;
}

typedef enum noise_kind { USUAL, TINY, HUGE } noise_kind;

typedef struct problem {
    unsigned terms;
    ptrdiff_t N, T, P;
    participants train, new;
    bool grouped;
    int *code; /* N */
    kn_mat R;  /* N x N */
    kn_mat Y, B, Z;
    kn_cov cov;
    kn_cov_point at;
    double x[KN_COV_OUTER]; /* the same point in coordinates */
    ptrdiff_t known[NEW];   /* groups of new participants */
} problem;

static inline problem problem_new(kn_rng *rng, unsigned terms, ptrdiff_t N, ptrdiff_t T,
                                  ptrdiff_t P, bool grouped, noise_kind noise, bool alike)
{
    problem q = {.terms = terms, .N = N, .T = T, .P = P, .grouped = grouped, .cov = sum_of(terms)};
    q.train = participants_new(rng, N, alike, false);
    q.new = participants_new(rng, NEW, false, true);
    q.code = calloc((size_t)N, sizeof *q.code);
    for (ptrdiff_t i = 0; i < N; i++) /* some alone, some in crowds */
        q.code[i] = grouped
                        ? (int)(kn_rng_uniform(rng) < 0.3 ? 1000 + i : kn_rng_below(rng, 2 + N / 6))
                        : (int)i;
    for (int k = 0; k < kn_cov_n_outer(&q.cov); k++)
        q.x[k] = 0.7 * kn_rng_normal(rng);
    q.at = kn_cov_point_at(&q.cov, q.x);
    q.R = ref_new(N, N);
    for (ptrdiff_t j = 0; j < N; j++)
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(q.R, j)[i] = relation(terms, &q.at, &q.train, i, &q.train, j);
    /* a signal L e with LL' = R + a little */
    kn_mat L = ref_new(N, N);
    for (ptrdiff_t i = 0; i < N * N; i++)
        L.data[i] = q.R.data[i];
    for (ptrdiff_t i = 0; i < N; i++)
        kn_col(L, i)[i] += 1e-10;
    assert_true(ref_chol(L));
    for (ptrdiff_t j = 0; j < N; j++)
        for (ptrdiff_t i = 0; i < j; i++)
            kn_col(L, j)[i] = 0;
    kn_mat e = ref_normal(rng, N, T);
    q.Y = ref_mul(0, L, 0, e);
    double sd = noise == TINY ? 1e-5 : noise == HUGE ? 1e5 : 0.7;
    for (ptrdiff_t j = 0; j < T; j++) {
        double *shared = calloc((size_t)(1000 + N), sizeof *shared);
        for (ptrdiff_t i = 0; i < 1000 + N; i++)
            shared[i] = grouped ? sd * (double)(j % 3) * kn_rng_normal(rng) : 0;
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(q.Y, j)[i] += sd * kn_rng_normal(rng) + shared[q.code[i]];
        free(shared);
    }
    q.B = ref_orthonormal(rng, T, P);
    q.Z = ref_mul(0, q.Y, 0, q.B);
    kn_groups groups;
    assert_ok(ctx, kn_groups_new(ctx, N, q.code, &groups));
    for (int k = 0; k < NEW; k++)
        q.known[k] = k % 2 ? kn_rng_below(rng, groups.n) : -1;
    kn_groups_clear(&groups);
    free(L.data), free(e.data);
    return q;
}

static inline void problem_free(problem *q)
{
    participants_free(q->train);
    participants_free(q->new);
    free(q->code), free(q->R.data), free(q->Y.data), free(q->B.data), free(q->Z.data);
}

static inline kn_engine engine_from(const problem *q, bool low, kn_engine_core *core)
{
    kn_spec spec = {.sample = q->cov, .rank = low ? q->N + DESIGN : 0, .additive = true};
    kn_groups groups = {0};
    kn_engine e;
    if (q->grouped)
        assert_ok(ctx, kn_groups_new(ctx, q->N, q->code, &groups));
    kn_engine_data data = {.X = q->train.design,
                           .Z = q->Z,
                           .groups = &groups,
                           .T = q->T,
                           .E = kn_sumsq(q->Y) - kn_sumsq(q->Z),
                           .total = kn_sumsq(q->Y),
                           .core = core};
    assert_ok(ctx, kn_engine_new(ctx, &spec, &data, &e));
    return e;
}

static inline kn_engine engine_for(const problem *q, bool low)
{
    return engine_from(q, low, NULL);
}

static inline double gamma_of(const kn_engine *e, ptrdiff_t p)
{
    return e->cell[e->in[p]].R0.gamma;
}

/* K = c R0 + d (I + gamma G) */
static inline kn_mat component_covariance(const problem *q, double c, double d, double gamma)
{
    kn_mat K = ref_new(q->N, q->N);
    for (ptrdiff_t j = 0; j < q->N; j++)
        for (ptrdiff_t i = 0; i < q->N; i++)
            kn_col(K, j)[i] =
                c * kn_at(q->R, i, j) + d * ((i == j) + gamma * (q->code[i] == q->code[j]));
    return K;
}

/* Every sum of terms, with and without groups, N and P of all sizes; dense and of low rank. */
static inline void for_all_shapes(void (*check)(const problem *q, bool low))
{
    static const ptrdiff_t SIZES[] = {1, 2, 3, 5, 12, 30};
    enum { N_SIZES = sizeof SIZES / sizeof *SIZES, T = 4, KINDS = 3 }; /* P: 0, 1, all there are */
    kn_rng rng;
    for (int seed = 0; seed < repeat(5, 1) * N_SIZES * N_SUMS * 2 * KINDS; seed++) {
        int kind = seed % KINDS, grouped = seed / KINDS % 2;
        ptrdiff_t N = SIZES[seed / (2 * KINDS * N_SUMS) % N_SIZES], limit = N < T ? N : T;
        ref_rng_init(&rng, 11, (uint64_t)seed);
        problem q = problem_new(&rng, SUMS[seed / (2 * KINDS) % N_SUMS], N, T,
                                kind == 2 ? limit : kind, grouped, USUAL, false);
        for (int low = 0; low < 2; low++)
            check(&q, low);
        problem_free(&q);
    }
}

#endif
