/* Implements kernel_sum.h. Terms with the same kind of statistic over the same columns share it. */
#include "cov/kernel_sum.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* True if the statistic s is over these columns. */
static bool is_over_columns(ptrdiff_t first, ptrdiff_t count, const kn_stat *s)
{
    return s->first == first && s->count == count;
}

/* Returns the index in stats of the pair statistic that term t needs, and adds it if no earlier
 * term has it; -1: it needs none. */
static int find_stat(kn_stats *stats, const kn_term *t)
{
    if (t->kernel->stat == KN_STAT_NONE)
        return -1;
    for (int k = 0; k < stats->n; k++)
        if (stats->at[k].kind == t->kernel->stat &&
            is_over_columns(t->first, t->count, &stats->at[k]))
            return k;
    stats->at[stats->n] = (kn_stat){t->kernel->stat, t->first, t->count};
    return stats->n++;
}

void kn_cov_lay_out(kn_cov *cov)
{
    cov->n_theta = cov->n_shapes = cov->n_between = cov->stats.n = 0;
    for (int k = 0; k < cov->n; k++) {
        kn_term *t = &cov->term[k];
        t->scale = t->kernel->per_column && t->count > 0 ? (double)t->count : 1;
        t->stat = find_stat(&cov->stats, t);
        t->at = cov->n_theta;
        t->shape = cov->n_shapes;
        cov->n_theta += 1 + t->kernel->n_shape;
        cov->n_shapes += t->kernel->n_shape;
        cov->n_between += !t->kernel->same_sample_only;
    }
}

kn_status kn_cov_add(kn_ctx *ctx, kn_cov *cov, const kn_kernel *kernel, ptrdiff_t first,
                     ptrdiff_t count)
{
    bool same_sample = kernel->same_sample_only; /* columns do not matter */
    kn_term t = {.kernel = kernel,
                 .first = same_sample ? 0 : first,
                 .count = same_sample ? 0 : count};
    for (int k = 0; k < cov->n; k++)
        if (cov->term[k].kernel == kernel && cov->term[k].first == t.first &&
            cov->term[k].count == t.count)
            return kn_fail(ctx, KN_ERR_ARGUMENT, "kernel %s is listed twice", kernel->name);
    if (cov->n == KN_COV_TERMS || cov->n_shapes + kernel->n_shape > KN_COV_SHAPES)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "a covariance has at most %d terms and %d length-scales", KN_COV_TERMS,
                       KN_COV_SHAPES);
    int at = same_sample ? cov->n : cov->n_between;
    memmove(&cov->term[at + 1], &cov->term[at], (size_t)(cov->n - at) * sizeof t);
    cov->term[at] = t;
    cov->n++;
    kn_cov_lay_out(cov);
    return KN_OK;
}

/* Returns whether `name` is one of the words of text, separated by '+'. */
static bool names_word(const char *text, const char *name)
{
    for (const char *w = text;; w++) {
        size_t n = strcspn(w, "+");
        if (n == strlen(name) && memcmp(w, name, n) == 0)
            return true;
        w += n;
        if (!*w)
            return false;
    }
}

/* Fails with KN_ERR_ARGUMENT unless text is a sum "a+b+..." of kernels that a user can choose. */
static kn_status check_words(kn_ctx *ctx, const char *text)
{
    char all[128];
    for (const char *w = text;; w++) {
        size_t n = strcspn(w, "+");
        const kn_kernel *kernel = kn_kernel_named(w, n);
        if (!kernel || kernel->by_design)
            return kn_fail(ctx, KN_ERR_ARGUMENT, "'%s': kernels are sums of %s", text,
                           kn_kernel_list(false, ", ", " and ", all, sizeof all));
        w += n;
        if (!*w)
            return KN_OK;
    }
}

kn_status kn_cov_parse(kn_ctx *ctx, const char *text, ptrdiff_t F, kn_cov *out)
{
    *out = (kn_cov){0};
    kn_status status = check_words(ctx, text);
    for (int i = 0; status == KN_OK && kn_kernel_at(i); i++)
        if (names_word(text, kn_kernel_at(i)->name))
            status = kn_cov_add(ctx, out, kn_kernel_at(i), 0, F);
    return status;
}

const char *kn_cov_text(const kn_cov *cov, char *out, size_t size)
{
    size_t used = 0;
    out[0] = 0;
    for (int k = 0; k < cov->n && used < size; k++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", k > 0 ? "+" : "",
                                 cov->term[k].kernel->name);
    return out;
}

kn_cov kn_cov_identity(void)
{
    kn_cov cov = {.n = 1, .term = {{.kernel = &kn_kernel_iso}}};
    kn_cov_lay_out(&cov);
    return cov;
}

kn_cov kn_cov_between(const kn_cov *cov)
{
    kn_cov r0 = *cov;
    r0.n = cov->n_between;
    kn_cov_lay_out(&r0);
    return r0;
}

void kn_cov_param_name(const kn_cov *cov, char prefix, int i, char *name, size_t size)
{
    int k = cov->n - 1, same = 1;
    while (cov->term[k].at > i)
        k--;
    const kn_term *t = &cov->term[k];
    const char *what = i == t->at ? t->kernel->amplitude : t->kernel->shape[i - t->at - 1].name;
    for (int other = 0; other < k; other++)
        same += cov->term[other].kernel == t->kernel;
    if (same == 1)
        snprintf(name, size, "%c.%s", prefix, what);
    else
        snprintf(name, size, "%c.%s%d", prefix, what, same);
}

/* Returns the matrix of the pair statistic (such as squared distance) that term t is a function
 * of, a view of *pairs; a matrix without data if the term needs none. */
static kn_mat find_stat_matrix(const kn_term *t, const kn_pairs *pairs)
{
    return t->stat >= 0 ? pairs->stat[t->stat] : kn_mat_none();
}

void kn_cov_fill(const kn_cov *cov, const double *theta, const kn_pairs *pairs, kn_mat K)
{
    int n = pairs->symmetric ? cov->n : cov->n_between;
    kn_mat_zero(K);
    for (int k = 0; k < n; k++) {
        const kn_term *t = &cov->term[k];
        t->kernel->add(theta + t->at, find_stat_matrix(t, pairs), pairs->symmetric, K);
    }
}

void kn_cov_self(const kn_cov *cov, const double *theta, kn_mat X, double *work, double *k)
{
    kn_mat stat = kn_mat_cols(work, X.rows, 1), out = kn_mat_cols(k, X.rows, 1);
    kn_mat_zero(out);
    for (int i = 0; i < cov->n; i++) {
        const kn_term *t = &cov->term[i];
        if (t->stat >= 0)
            kn_stat_self(&cov->stats.at[t->stat], X, work);
        if (!t->kernel->same_sample_only)
            t->kernel->add(theta + t->at, stat, false, out);
        for (ptrdiff_t j = 0; t->kernel->same_sample_only && j < X.rows; j++)
            k[j] += exp(2 * theta[t->at]);
    }
}

void kn_cov_gradient(const kn_cov *cov, const double *theta, const kn_pairs *pairs, kn_mat G,
                     double *g)
{
    for (int k = 0; k < cov->n; k++) {
        const kn_term *t = &cov->term[k];
        t->kernel->gradient(theta + t->at, find_stat_matrix(t, pairs), pairs->symmetric, G,
                            g + t->at);
    }
}
