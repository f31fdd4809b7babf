/* Implements indicators.h: the levels of rows, products with them, and the eigenproblem with a
 * diagonal block. */
#include "cov/indicators.h"

#include <stdlib.h>
#include <string.h>

#include "la/la.h"

kn_indicators kn_indicators_of(const kn_features *f, ptrdiff_t least)
{
    kn_indicators b = {0};
    ptrdiff_t at = 0;
    for (int k = 0; k < f->cov.n; k++) {
        const kn_term *t = &f->cov.term[k];
        if (!f->exact[k])
            continue;
        if (t->kernel == &kn_kernel_same && t->count >= least && t->count > b.count)
            b = (kn_indicators){at, t->count, t->first};
        at += t->count;
    }
    return b;
}

bool kn_indicator_levels(const kn_indicators *b, kn_mat X, double one, double *level)
{
    enum { NONE = -1, MIXED = -2 };
    bool all = true;
    for (ptrdiff_t i = 0; i < X.rows; i++)
        level[i] = NONE;
    for (ptrdiff_t l = 0; l < b->count; l++) {
        const double *x = kn_col(X, b->column + l);
        for (ptrdiff_t i = 0; i < X.rows; i++)
            if (x[i] != 0)
                level[i] = x[i] == one && level[i] == NONE ? (double)l : MIXED;
    }
    for (ptrdiff_t i = 0; i < X.rows; i++)
        if (level[i] < 0) {
            level[i] = NONE;
            all = false;
        }
    return all;
}

void kn_indicator_product(kn_ctx *ctx, const kn_indicators *b, double alpha, kn_mat thin,
                          const double *level, double root, const double *times, kn_mat R,
                          double beta, kn_mat out)
{
    ptrdiff_t before = b->first, after = thin.cols - before, k = out.cols;
    kn_gemm(ctx, alpha, KN_N, kn_cols(thin, 0, before), KN_N, kn_sub(R, 0, 0, before, k), beta,
            out);
    kn_gemm(ctx, alpha, KN_N, kn_cols(thin, before, after), KN_N,
            kn_sub(R, before + b->count, 0, after, k), 1, out);
    for (ptrdiff_t j = 0; j < k; j++) {
        const double *of = kn_col(R, j) + before;
        double *to = kn_col(out, j);
        for (ptrdiff_t i = 0; i < out.rows; i++)
            if (level[i] >= 0)
                to[i] += alpha * root * (times ? times[i] : 1) * of[(ptrdiff_t)level[i]];
    }
}

/* ---- eigenproblem --------------------------------------------------------------------------- */

typedef struct level_item {
    double size; /* entry of D */
    ptrdiff_t level;
} level_item;

/* Comparison for qsort of two level_item: ascending by size (entry of D), so that equal ones are
 * adjacent, then by level. */
static int by_size(const void *a, const void *b)
{
    const level_item *x = a, *y = b;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return (x->level > y->level) - (x->level < y->level);
}

/* Levels of equal size. Coordinates of the reduced problem: the levels themselves, or, if Q has
 * been computed, its first m1 columns. */
typedef struct level_group {
    ptrdiff_t first, n; /* in the sorted list */
    ptrdiff_t at, k;    /* coordinates of the reduced problem */
    kn_mat Q;           /* n x n; empty: identity */
} level_group;

typedef struct block_eig {
    const kn_indicators *b;
    kn_mat C, G; /* borrowed */
    ptrdiff_t L, m1, K;
    level_item *item;
    level_group *group;
    ptrdiff_t n_groups;
    kn_mat S;    /* K x K, then its eigenvectors */
    double *lam; /* K */
} block_eig;

/* An eigenpair of the whole problem: column `at` of the reduced eigenvectors (group NULL), or of
 * the Q of a group. */
typedef struct eigenpair {
    double value;
    const level_group *group;
    ptrdiff_t at;
} eigenpair;

/* Comparison for qsort of two eigenpair: ascending by value; on ties those of the reduced
 * problem first, then by column. */
static int by_value(const void *a, const void *b)
{
    const eigenpair *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    if (!x->group != !y->group)
        return x->group ? 1 : -1;
    return (x->at > y->at) - (x->at < y->at);
}

static void block_eig_clear(block_eig *e)
{
    for (ptrdiff_t g = 0; e->group && g < e->n_groups; g++)
        kn_mat_clear(&e->group[g].Q);
    kn_free(e->group);
    kn_free(e->item);
    kn_free(e->lam);
    kn_mat_clear(&e->S);
}

/* Sorts the L levels of the category by size D (L) and divides them into groups of equal size
 * (e->item, e->group); sets e->K, the size of the reduced eigenproblem. KN_ERR_MEMORY. */
static kn_status find_groups(kn_ctx *ctx, block_eig *e, const double *D)
{
    kn_status status;
    void *item = NULL, *group = NULL;
    KN_TRY(kn_alloc(ctx, e->L, sizeof *e->item, &item));
    e->item = item;
    KN_TRY(kn_alloc(ctx, e->L, sizeof *e->group, &group));
    e->group = group;
    for (ptrdiff_t l = 0; l < e->L; l++)
        e->item[l] = (level_item){D[l], l};
    qsort(e->item, (size_t)e->L, sizeof *e->item, by_size);
    for (ptrdiff_t i = 0; i < e->L; i++) {
        if (i == 0 || e->item[i].size != e->item[i - 1].size)
            e->group[e->n_groups++] = (level_group){.first = i, .at = e->K};
        level_group *g = &e->group[e->n_groups - 1];
        g->n++;
        if (g->n <= e->m1) {
            g->k++;
            e->K++;
        }
    }
    e->K += e->m1;
out:
    return status;
}

/* For a group of g->n levels of equal size, more than the m1 features outside the category,
 * computes the QR decomposition of their rows C_g = Q [R; 0] (g->Q n x n, R m1 x m1): the last
 * columns of Q are eigenvectors of the whole problem. */
static kn_status separate_group(kn_ctx *ctx, block_eig *e, level_group *g, kn_mat R)
{
    kn_status status;
    KN_TRY(kn_mat_new(ctx, g->n, g->n, &g->Q));
    for (ptrdiff_t j = 0; j < e->m1; j++)
        for (ptrdiff_t i = 0; i < g->n; i++)
            kn_col(g->Q, j)[i] = kn_at(e->C, e->item[g->first + i].level, j);
    if (e->m1 > 0)
        KN_TRY(kn_qr_complete(ctx, g->Q, R));
    for (ptrdiff_t i = 0; e->m1 == 0 && i < g->n; i++)
        kn_col(g->Q, i)[i] = 1;
out:
    return status;
}

/* Fills e->S (K x K, lower triangle), the matrix of the reduced eigenproblem: coordinates of
 * each group of levels first, then the m1 features outside the category. */
static kn_status reduce(kn_ctx *ctx, block_eig *e)
{
    kn_status status;
    kn_mat R = {0};
    ptrdiff_t end = e->K - e->m1;
    KN_TRY(kn_mat_new(ctx, e->m1, e->m1, &R));
    KN_TRY(kn_mat_new(ctx, e->K, e->K, &e->S));
    for (ptrdiff_t q = 0; q < e->n_groups; q++) {
        level_group *g = &e->group[q];
        bool separate = g->n > e->m1;
        if (separate)
            KN_TRY(separate_group(ctx, e, g, R));
        for (ptrdiff_t i = 0; i < g->k; i++) {
            double *column = kn_col(e->S, g->at + i);
            column[g->at + i] = e->item[g->first + i].size;
            for (ptrdiff_t j = 0; j < e->m1; j++)
                column[end + j] =
                    separate ? kn_at(R, i, j) : kn_at(e->C, e->item[g->first + i].level, j);
        }
    }
    for (ptrdiff_t j = 0; j < e->m1; j++)
        for (ptrdiff_t i = j; i < e->m1; i++)
            kn_col(e->S, end + j)[end + i] = kn_at(e->G, i, j);
out:
    kn_mat_clear(&R);
    return status;
}

/* Lists all eigenpairs of the whole problem, those of the reduced one and those separated per
 * group, in ascending order of the eigenvalue. pair: L + m1 entries. */
static void list_pairs(const block_eig *e, eigenpair *pair)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < e->K; i++)
        pair[n++] = (eigenpair){e->lam[i], NULL, i};
    for (ptrdiff_t q = 0; q < e->n_groups; q++)
        for (ptrdiff_t i = e->group[q].k; i < e->group[q].n; i++)
            pair[n++] = (eigenpair){e->item[e->group[q].first].size, &e->group[q], i};
    qsort(pair, (size_t)n, sizeof *pair, by_value);
}

/* Writes those rows of the eigenvectors V that belong to the levels of group g; own (g->n x K)
 * is work space. */
static void write_group(kn_ctx *ctx, const block_eig *e, const level_group *g,
                        const eigenpair *pair, kn_mat own, kn_mat V)
{
    if (g->Q.data)
        kn_gemm(ctx, 1, KN_N, kn_cols(g->Q, 0, g->k), KN_N, kn_sub(e->S, g->at, 0, g->k, e->K), 0,
                own);
    for (ptrdiff_t j = 0; j < V.cols; j++) {
        double *to = kn_col(V, j) + e->b->first;
        if (pair[j].group && pair[j].group != g)
            continue;
        const double *from = pair[j].group ? kn_col(g->Q, pair[j].at)
                             : g->Q.data   ? kn_col(own, pair[j].at)
                                           : kn_col(e->S, pair[j].at) + g->at;
        for (ptrdiff_t i = 0; i < g->n; i++)
            to[e->item[g->first + i].level] = from[i];
    }
}

/* Writes the eigenvalues w and eigenvectors V (M x M) of all pairs, in the order of the
 * features. KN_ERR_MEMORY. */
static kn_status write_pairs(kn_ctx *ctx, const block_eig *e, const eigenpair *pair, kn_mat V,
                             double *w)
{
    kn_status status = KN_OK;
    kn_mat own = {0};
    ptrdiff_t before = e->b->first, after = e->m1 - before, end = e->K - e->m1;
    kn_mat_zero(V);
    for (ptrdiff_t j = 0; j < V.cols; j++) {
        w[j] = pair[j].value;
        if (pair[j].group)
            continue;
        const double *thin = kn_col(e->S, pair[j].at) + end;
        memcpy(kn_col(V, j), thin, (size_t)before * sizeof *thin);
        memcpy(kn_col(V, j) + before + e->L, thin + before, (size_t)after * sizeof *thin);
    }
    for (ptrdiff_t q = 0; q < e->n_groups; q++) {
        const level_group *g = &e->group[q];
        if (g->Q.data)
            KN_TRY(kn_mat_new(ctx, g->n, e->K, &own));
        write_group(ctx, e, g, pair, own, V);
        kn_mat_clear(&own);
    }
out:
    kn_mat_clear(&own);
    return status;
}

kn_status kn_indicator_eig(kn_ctx *ctx, const kn_indicators *b, const double *D, kn_mat C, kn_mat G,
                           kn_mat V, double *w)
{
    kn_status status;
    void *pair = NULL;
    block_eig e = {.b = b, .C = C, .G = G, .L = b->count, .m1 = G.rows};
    KN_TRY(find_groups(ctx, &e, D));
    KN_TRY(reduce(ctx, &e));
    KN_TRY(kn_alloc_d(ctx, e.K, &e.lam));
    KN_TRY(kn_eig_reproducible(ctx, e.S, e.lam));
    KN_TRY(kn_alloc(ctx, V.cols, sizeof(eigenpair), &pair));
    list_pairs(&e, pair);
    KN_TRY(write_pairs(ctx, &e, pair, V, w));
out:
    kn_free(pair);
    block_eig_clear(&e);
    return status;
}
