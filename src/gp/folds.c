#include "gp/folds.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "gp/gp.h"
#include "la/la.h"

enum { STREAM_FOLDS = 201 };
enum { HELD_OUT = 2000 };

static int ascending(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* member[i] = which of the distinct groups sample i belongs to, numbered in a seeded order */
static kn_status number_groups(kn_ctx *ctx, ptrdiff_t N, const int *groups, kn_rng *rng,
                               ptrdiff_t *member, ptrdiff_t *n_groups)
{
    kn_status status;
    void *memory = NULL;
    ptrdiff_t *order = NULL, n = 0;
    KN_TRY(kn_alloc(ctx, N, sizeof(int), &memory));
    int *names = memory;
    for (ptrdiff_t i = 0; i < N; i++)
        names[i] = groups[i];
    qsort(names, (size_t)N, sizeof *names, ascending);
    for (ptrdiff_t i = 0; i < N; i++)
        if (n == 0 || names[i] != names[n - 1])
            names[n++] = names[i];
    KN_TRY(kn_alloc_i(ctx, n, &order));
    kn_rng_permutation(rng, n, order);
    for (ptrdiff_t i = 0; i < N; i++) {
        int *at = bsearch(&groups[i], names, (size_t)n, sizeof *names, ascending);
        member[i] = order[at - names];
    }
    *n_groups = n;
out:
    kn_free(order);
    kn_free(memory);
    return status;
}

/* Groups in their order, each to the fold that has fewest samples; a held-out set takes groups
 * until it is full. */
static void deal_groups(ptrdiff_t N, const ptrdiff_t *member, ptrdiff_t n_groups, int folds,
                        ptrdiff_t *size, int *fold)
{
    ptrdiff_t *count = size, *of = size + n_groups; /* samples of a group; of a fold */
    for (ptrdiff_t i = 0; i < N; i++)
        count[member[i]]++;
    for (ptrdiff_t g = 0; g < n_groups; g++) {
        int best = 0;
        for (int k = 1; k < folds; k++)
            if (of[k] < of[best])
                best = k;
        bool full = folds == KN_HELD_OUT_ONCE && (of[0] >= HELD_OUT || of[0] >= N / 2);
        of[best] += full ? 0 : count[g];
        count[g] = full ? -1 : best;
    }
    for (ptrdiff_t i = 0; i < N; i++)
        fold[i] = (int)count[member[i]];
}

static kn_status deal_by_group(kn_ctx *ctx, ptrdiff_t N, const int *groups, kn_rng *rng, int *folds,
                               int *fold)
{
    kn_status status;
    ptrdiff_t *member = NULL, *size = NULL, n_groups;
    KN_TRY(kn_alloc_i(ctx, N, &member));
    KN_TRY(number_groups(ctx, N, groups, rng, member, &n_groups));
    if (n_groups < 2) {
        status = kn_fail(ctx, KN_ERR_DATA, "all samples are of one group: there are no folds");
        goto out;
    }
    if (*folds > n_groups)
        *folds = (int)n_groups;
    KN_TRY(kn_alloc_i(ctx, n_groups + *folds, &size));
    deal_groups(N, member, n_groups, *folds, size, fold);
out:
    kn_free(size);
    kn_free(member);
    return status;
}

kn_status kn_folds_deal(kn_ctx *ctx, ptrdiff_t N, const int *groups, uint64_t seed, int *folds,
                        int *fold)
{
    bool once = *folds == KN_HELD_OUT_ONCE;
    kn_rng rng;
    kn_rng_init(&rng, seed, STREAM_FOLDS);
    if (*folds > N)
        *folds = (int)N;
    if (groups)
        return deal_by_group(ctx, N, groups, &rng, folds, fold);
    for (ptrdiff_t i = 0; i < N; i++)
        fold[i] = !once ? (int)(i % *folds) : i < HELD_OUT && i < N / 2 ? 0 : -1;
    for (ptrdiff_t i = N - 1; i > 0; i--) { /* Fisher-Yates */
        ptrdiff_t j = kn_rng_below(&rng, i + 1);
        int t = fold[i];
        fold[i] = fold[j];
        fold[j] = t;
    }
    return KN_OK;
}

void kn_fold_clear(kn_fold *f)
{
    kn_free(f->train);
    kn_free(f->test);
    kn_mat_clear(&f->Z_train);
    kn_mat_clear(&f->US);
    *f = (kn_fold){0};
}

kn_status kn_fold_rows(kn_ctx *ctx, ptrdiff_t N, const int *fold, int k, kn_fold *out)
{
    kn_status status;
    *out = (kn_fold){0};
    KN_TRY(kn_alloc_i(ctx, N, &out->train));
    KN_TRY(kn_alloc_i(ctx, N, &out->test));
    for (ptrdiff_t i = 0; i < N; i++)
        if (fold[i] == k)
            out->test[out->n_test++] = i;
        else
            out->train[out->n_train++] = i;
    if (out->n_train < 2)
        status = kn_fail(ctx, KN_ERR_DATA, "fold %d leaves %td samples to train on, expected 2",
                         k + 1, out->n_train);
out:
    if (status != KN_OK)
        kn_fold_clear(out);
    return status;
}

/* Gc = G_tr,tr - 1g' - g1' + mean(g) */
static kn_status centred_gram(kn_ctx *ctx, kn_mat G, const kn_fold *f, kn_mat *out)
{
    kn_status status;
    ptrdiff_t n = f->n_train;
    double *g = NULL, mean = 0;
    KN_TRY(kn_mat_new(ctx, n, n, out));
    KN_TRY(kn_alloc_d(ctx, n, &g));
    for (ptrdiff_t j = 0; j < n; j++) {
        double s = 0;
        for (ptrdiff_t i = 0; i < n; i++) {
            double x = kn_at(G, f->train[i], f->train[j]);
            kn_col(*out, j)[i] = x;
            s += x;
        }
        g[j] = s / (double)n;
        mean += g[j] / (double)n;
    }
    for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t i = 0; i < n; i++)
            kn_col(*out, j)[i] += mean - g[i] - g[j];
out:
    kn_free(g);
    return status;
}

kn_status kn_fold_pca(kn_ctx *ctx, const kn_gram *gram, ptrdiff_t P, kn_fold *f)
{
    kn_status status;
    kn_mat Gc = {0};
    double *s2 = NULL;
    ptrdiff_t n = f->n_train;
    KN_TRY(centred_gram(ctx, gram->G, f, &Gc));
    KN_TRY(kn_alloc_d(ctx, n, &s2));
    KN_TRY(kn_eig(ctx, Gc, s2)); /* ascending */
    double noise = fmax(gram->noise, s2[n - 1] * DBL_EPSILON * (double)(n > 8 ? n : 8));
    ptrdiff_t rank = 0;
    while (rank < n && rank < P && s2[n - 1 - rank] > noise)
        rank++;
    if (rank == 0) {
        status = kn_fail(ctx, KN_ERR_DATA, "no response varies within the training part of a fold");
        goto out;
    }
    KN_TRY(kn_mat_new(ctx, n, rank, &f->Z_train));
    KN_TRY(kn_mat_new(ctx, n, rank, &f->US));
    for (ptrdiff_t p = 0; p < rank; p++) {
        double s = sqrt(s2[n - 1 - p]);
        const double *u = kn_col(Gc, n - 1 - p);
        for (ptrdiff_t i = 0; i < n; i++) {
            kn_col(f->Z_train, p)[i] = u[i] * s;
            kn_col(f->US, p)[i] = u[i] / s;
        }
    }
out:
    kn_free(s2);
    kn_mat_clear(&Gc);
    return status;
}

kn_status kn_fold_given(kn_ctx *ctx, kn_mat Z, kn_fold *f)
{
    kn_status status = kn_mat_new(ctx, f->n_train, Z.cols, &f->Z_train);
    if (status != KN_OK)
        return status;
    kn_mat_rows(Z, f->train, f->Z_train);
    for (ptrdiff_t p = 0; p < Z.cols; p++) {
        double *z = kn_col(f->Z_train, p), mean = 0;
        for (ptrdiff_t i = 0; i < f->n_train; i++)
            mean += z[i] / (double)f->n_train;
        for (ptrdiff_t i = 0; i < f->n_train; i++)
            z[i] -= mean;
    }
    return KN_OK;
}
