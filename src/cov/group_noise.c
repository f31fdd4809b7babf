/* Implements group_noise.h. Groups are found by sorting the codes. */
#include "cov/group_noise.h"

#include <math.h>
#include <stdlib.h>

const double kn_gamma[KN_GAMMAS] = {0, 0.1, 0.3, 1, 3, 10};

void kn_groups_clear(kn_groups *g)
{
    kn_free(g->of);
    kn_free(g->size);
    kn_free(g->start);
    kn_free(g->row);
    *g = (kn_groups){0};
}

typedef struct named {
    ptrdiff_t code, row;
} named;

/* Comparison for qsort: rows by group code, then by row index. */
static int compare_codes(const void *a, const void *b)
{
    const named *x = a, *y = b;
    if (x->code != y->code)
        return x->code < y->code ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Lists the rows of each group from g->of (0 .. n-1): size, start and row, by counting sort
 * (start is shifted by one while rows are placed). */
static kn_status list_members(kn_ctx *ctx, kn_groups *g)
{
    kn_status status;
    KN_TRY(kn_alloc_d(ctx, g->n, &g->size));
    KN_TRY(kn_alloc_i(ctx, g->n + 2, &g->start));
    KN_TRY(kn_alloc_i(ctx, g->N, &g->row));
    for (ptrdiff_t i = 0; i < g->N; i++) {
        g->size[g->of[i]]++;
        g->start[g->of[i] + 2]++;
    }
    for (ptrdiff_t k = 2; k < g->n + 2; k++)
        g->start[k] += g->start[k - 1];
    for (ptrdiff_t i = 0; i < g->N; i++)
        g->row[g->start[g->of[i] + 1]++] = i;
out:
    return status;
}

/* Renumbers g->of[i] (N), on entry any codes, to 0 .. n-1 in order of appearance, sets g->n and
 * lists the rows of each group. */
static kn_status number_groups(kn_ctx *ctx, kn_groups *g)
{
    kn_status status;
    void *memory = NULL;
    ptrdiff_t *leader = NULL;
    KN_TRY(kn_alloc(ctx, g->N, sizeof(named), &memory));
    KN_TRY(kn_alloc_i(ctx, g->N, &leader));
    named *s = memory;
    for (ptrdiff_t i = 0; i < g->N; i++)
        s[i] = (named){g->of[i], i};
    qsort(s, (size_t)g->N, sizeof *s, compare_codes);
    for (ptrdiff_t i = 0, first = 0; i < g->N; i++) {
        if (s[i].code != s[first].code)
            first = i;
        leader[s[i].row] = s[first].row; /* the first row of the group */
    }
    for (ptrdiff_t i = 0; i < g->N; i++)
        g->of[i] = leader[i] == i ? g->n++ : g->of[leader[i]];
    KN_TRY(list_members(ctx, g));
out:
    kn_free(leader);
    kn_free(memory);
    return status;
}

/* Sets *out to N rows with space for their group numbers (of). */
static kn_status allocate_groups(kn_ctx *ctx, ptrdiff_t N, kn_groups *out)
{
    *out = (kn_groups){.N = N};
    return kn_alloc_i(ctx, N, &out->of);
}

kn_status kn_groups_new(kn_ctx *ctx, ptrdiff_t N, const int *code, kn_groups *out)
{
    kn_status status;
    KN_TRY(allocate_groups(ctx, N, out));
    for (ptrdiff_t i = 0; i < N; i++)
        out->of[i] = code[i];
    KN_TRY(number_groups(ctx, out));
out:
    if (status != KN_OK)
        kn_groups_clear(out);
    return status;
}

kn_status kn_groups_subset(kn_ctx *ctx, const kn_groups *g, const ptrdiff_t *index, ptrdiff_t n,
                           kn_groups *out)
{
    kn_status status;
    *out = (kn_groups){0};
    if (g->n == 0)
        return KN_OK;
    KN_TRY(allocate_groups(ctx, n, out));
    for (ptrdiff_t i = 0; i < n; i++)
        out->of[i] = g->of[index ? index[i] : i];
    KN_TRY(number_groups(ctx, out));
out:
    if (status != KN_OK)
        kn_groups_clear(out);
    return status;
}

bool kn_groups_identify_gamma(const kn_groups *g)
{
    return g->n > 1 && g->n < g->N;
}

void kn_groups_sums(const kn_groups *g, kn_mat M, kn_mat sums)
{
    kn_mat_zero(sums);
    for (ptrdiff_t j = 0; j < M.cols; j++)
        for (ptrdiff_t i = 0; i < g->N; i++)
            kn_col(sums, j)[g->of[i]] += kn_at(M, i, j);
}

/* Adds to each row of M (N x k) the sum of its group times factor(size of the group, gamma). */
static void add_sums(const kn_groups *g, double gamma, double (*factor)(double n, double gamma),
                     kn_mat M)
{
    for (ptrdiff_t j = 0; j < M.cols; j++) {
        double *m = kn_col(M, j);
        for (ptrdiff_t k = 0; k < g->n; k++) {
            double sum = 0;
            for (ptrdiff_t i = g->start[k]; i < g->start[k + 1]; i++)
                sum += m[g->row[i]];
            sum *= factor(g->size[k], gamma);
            for (ptrdiff_t i = g->start[k]; i < g->start[k + 1]; i++)
                m[g->row[i]] += sum;
        }
    }
}

/* Returns the weight of the sum of a group of n rows in H^-1/2: (1/sqrt(1 + n gamma) - 1)/n,
 * without cancellation. */
static double half_factor(double n, double gamma)
{
    double root = sqrt(1 + n * gamma); /* (1/root - 1)/n without cancellation */
    return -gamma / (root * (1 + root));
}

/* Returns the weight of the sum of a group of n rows in H^-1: -gamma/(1 + n gamma). */
static double inverse_factor(double n, double gamma)
{
    return -gamma / (1 + n * gamma);
}

void kn_groups_half(const kn_groups *g, double gamma, kn_mat M)
{
    if (g->n > 0 && gamma > 0)
        add_sums(g, gamma, half_factor, M);
}

void kn_groups_inverse(const kn_groups *g, double gamma, kn_mat M)
{
    if (g->n > 0 && gamma > 0)
        add_sums(g, gamma, inverse_factor, M);
}

double kn_groups_logdet(const kn_groups *g, double gamma)
{
    double sum = 0;
    for (ptrdiff_t k = 0; k < g->n; k++)
        sum += log1p(g->size[k] * gamma);
    return sum;
}
