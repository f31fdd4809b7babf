/* Implements permutation_test.h: popcounts over bit sets, with responses in the order of their
 * largest possible difference. Family-wise p-values come from the largest difference of each
 * permutation. */
#include "norm/metrics/permutation_test.h"

#include <math.h>
#include <stdlib.h>

#include "base/parallel/parallel_for.h"
#include "base/random.h"
#include "la/vec.h"
#include "stats/order_statistics.h"
#include "stats/p_values.h"

enum { BLOCK = 256 }; /* responses that stay in cache */
enum { STREAM_LABELS = 401 };

/* ---- labels --------------------------------------------------------------------------------- */

kn_status kn_labels_new(kn_ctx *ctx, const bool *second, ptrdiff_t n, const ptrdiff_t *order,
                        ptrdiff_t B, uint64_t seed, kn_labels *out)
{
    kn_status status;
    void *memory;
    ptrdiff_t *place = NULL;
    kn_rng rng;
    *out = (kn_labels){.n = n, .words = (n + 63) / 64, .B = B};
    KN_TRY(kn_alloc(ctx, out->words, sizeof(uint64_t), &memory));
    out->second = memory;
    KN_TRY(kn_alloc(ctx, B * out->words, sizeof(uint64_t), &memory));
    out->drawn = memory;
    KN_TRY(kn_alloc_i(ctx, n, &place));
    for (ptrdiff_t i = 0; i < n; i++)
        if (second[i]) {
            kn_set_add(out->second, i);
            out->m++;
        }
    kn_rng_init(&rng, seed, STREAM_LABELS);
    for (ptrdiff_t b = 0; b < B; b++) {
        kn_rng_permutation(&rng, n, place);
        for (ptrdiff_t k = 0; k < out->m; k++)
            kn_set_add(out->drawn + b * out->words, order ? order[place[k]] : place[k]);
    }
out:
    kn_free(place);
    if (status != KN_OK)
        kn_labels_clear(out);
    return status;
}

void kn_labels_clear(kn_labels *labels)
{
    kn_free(labels->second);
    kn_free(labels->drawn);
    *labels = (kn_labels){0};
}

/* ---- differences ---------------------------------------------------------------------------- */

/* Largest possible difference for any labels: with e participants beyond and u unobserved, one
 * group has all e of them, and at least m - u or n - m - u of its members are observed. */
typedef struct reach {
    double bound; /* min(1, e / (min(m, n - m) - u)) */
    ptrdiff_t response;
} reach;

typedef struct pass {
    const kn_exceedance *e;
    const uint64_t *beyond;
    const kn_labels *labels;
    kn_permutation_result out;
    reach *order;                     /* T: descending by bound */
    ptrdiff_t first;                  /* position in that order of the loop's item 0 */
    ptrdiff_t *n_beyond, *n_observed; /* T: e_j and N_j */
    double *limit;         /* workers x B: max_k |d*_bk| over the responses of a worker */
    double *log_factorial; /* 0 .. n */
    double *own;           /* T: own_j, NaN without a difference */
} pass;

/* Difference of the proportions of two groups beyond a threshold, second minus first: (a N - e
 * m)/(m (N - m)). N observed participants, m of them in the second group; e beyond the threshold, a
 * of these in the second group. NaN if a group is empty. */
static inline double difference_of(ptrdiff_t a, ptrdiff_t e, ptrdiff_t m, ptrdiff_t N)
{
    return m > 0 && m < N ? (double)(a * N - e * m) / ((double)m * (double)(N - m)) : NAN;
}

/* The larger of `limit` and max |difference| for the labels `set`, over n responses in descending
 * order of their largest possible difference; it stops when that is not above `limit`. */
KN_CLONES static double find_largest_difference(const pass *p, const uint64_t *set,
                                                const reach *order, ptrdiff_t n, double limit)
{
    ptrdiff_t words = p->e->words;
    for (ptrdiff_t k = 0; k < n && order[k].bound > limit; k++) {
        ptrdiff_t j = order[k].response, N = p->n_observed[j], m = p->labels->m;
        if (N < p->labels->n)
            m = kn_set_common(p->e->observed + j * words, set, words);
        double d = fabs(
            difference_of(kn_set_common(p->beyond + j * words, set, words), p->n_beyond[j], m, N));
        limit = d > limit ? d : limit; /* false for NaN */
    }
    return limit;
}

/* Worker: all B permutations for the responses at positions from .. end - 1 of the current step;
 * raises the maxima of this worker (B). */
static void permute_block(void *self, int worker, ptrdiff_t from, ptrdiff_t end)
{
    const pass *p = self;
    const kn_labels *l = p->labels;
    double *limit = p->limit + worker * l->B;
    for (ptrdiff_t b = 0; b < l->B; b++)
        limit[b] = find_largest_difference(p, l->drawn + b * l->words, p->order + p->first + from,
                                           end - from, limit[b]);
}

/* Two-sided exact p of one response (hypergeometric): sum of C(e, x) C(N - e, m - x)/C(N, m) over
 * all x whose difference is at least as large as that of a; letters as in difference_of(). At most
 * 1. */
static double exact_p_of_response(const pass *p, ptrdiff_t a, ptrdiff_t e, ptrdiff_t m, ptrdiff_t N)
{
    const double *f = p->log_factorial;
    ptrdiff_t low = e + m - N > 0 ? e + m - N : 0, high = e < m ? e : m;
    ptrdiff_t seen = labs(a * N - e * m);
    double all = f[N] - f[m] - f[N - m], sum = 0;
    for (ptrdiff_t x = low; x <= high; x++)
        if (labs(x * N - e * m) >= seen)
            sum += exp(f[e] - f[x] - f[e - x] + f[N - e] - f[m - x] - f[N - e - m + x] - all);
    return sum < 1 ? sum : 1;
}

/* Worker: observed difference, largest possible difference and exact p of responses from .. to -
 * 1. */
static void prepare_responses(void *self, ptrdiff_t from, ptrdiff_t end)
{
    const pass *p = self;
    const kn_labels *l = p->labels;
    for (ptrdiff_t j = from; j < end; j++) {
        const uint64_t *beyond = p->beyond + j * l->words;
        const uint64_t *observed = p->e->observed + j * l->words;
        ptrdiff_t e = kn_set_common(beyond, beyond, l->words),
                  N = kn_set_common(observed, observed, l->words);
        ptrdiff_t a = kn_set_common(beyond, l->second, l->words);
        ptrdiff_t m = kn_set_common(observed, l->second, l->words);
        p->n_beyond[j] = e;
        p->n_observed[j] = N;
        p->out.difference[j] = difference_of(a, e, m, N);
        ptrdiff_t lowest = (l->m < l->n - l->m ? l->m : l->n - l->m) - (l->n - N);
        p->order[j] = (reach){e < lowest ? (double)e / (double)lowest : e > 0, j};
        p->own[j] = isnan(p->out.difference[j]) ? NAN : exact_p_of_response(p, a, e, m, N);
    }
}

/* ---- p -------------------------------------------------------------------------------------- */

/* Family-wise p of every response (T) from the maxima of all workers (workers x B), which are
 * merged into the first row and sorted. */
static void compute_family_wise_p(pass *p, int workers)
{
    ptrdiff_t B = p->labels->B;
    double *limit = p->limit;
    for (int w = 1; w < workers; w++)
        for (ptrdiff_t b = 0; b < B; b++)
            limit[b] = limit[w * B + b] > limit[b] ? limit[w * B + b] : limit[b];
    kn_sort(limit, B);
    for (ptrdiff_t j = 0; j < p->e->T; j++) {
        double d = fabs(p->out.difference[j]);
        p->out.p[j] =
            isnan(d) ? NAN : (double)(1 + B - kn_count_below(limit, B, d, 0)) / (double)(B + 1);
    }
}

/* Set p_fdr: the exact p of each response, adjusted (Benjamini & Hochberg) over the responses that
 * have a difference; NaN for the others. */
static kn_status adjust_p(kn_ctx *ctx, const pass *p)
{
    kn_status status;
    double *known = NULL;
    ptrdiff_t n = 0;
    KN_TRY(kn_alloc_d(ctx, p->e->T, &known));
    for (ptrdiff_t j = 0; j < p->e->T; j++)
        if (!isnan(p->own[j]))
            known[n++] = p->own[j];
    KN_TRY(kn_fdr_adjust(ctx, n, known, known));
    for (ptrdiff_t j = 0, k = 0; j < p->e->T; j++)
        p->out.p_fdr[j] = isnan(p->own[j]) ? NAN : known[k++];
out:
    kn_free(known);
    return status;
}

/* Order for qsort: descending by bound, equal ones by index of the response. */
static int by_bound(const void *a, const void *b)
{
    const reach *x = a, *y = b;
    return x->bound != y->bound ? (x->bound < y->bound ? 1 : -1)
                                : (x->response > y->response) - (x->response < y->response);
}

/* Run all permutations of the labels for all blocks of responses, with a check for cancellation and
 * a progress report between steps. */
static kn_status run_permutations(kn_ctx *ctx, pass *p)
{
    kn_status status = KN_OK;
    ptrdiff_t T = p->e->T, step = (ptrdiff_t)16 * BLOCK * kn_threads(ctx);
    for (p->first = 0; p->first < T; p->first += step) {
        ptrdiff_t count = T - p->first < step ? T - p->first : step;
        KN_TRY(kn_check_cancel(ctx));
        kn_parallel_workers(ctx, count, BLOCK, permute_block, p);
        kn_report_progress(ctx, "permuting", p->first + count, T, NAN);
    }
out:
    return status;
}

kn_status kn_permutation_test(kn_ctx *ctx, const kn_exceedance *e, kn_sign sign,
                              const kn_labels *labels, kn_permutation_result out)
{
    kn_status status;
    int workers = kn_workers(ctx, e->T, BLOCK);
    void *memory;
    pass p = {.e = e, .beyond = e->beyond[sign], .labels = labels, .out = out};
    KN_TRY(kn_alloc_i(ctx, e->T, &p.n_beyond));
    KN_TRY(kn_alloc_i(ctx, e->T, &p.n_observed));
    KN_TRY(kn_alloc_d(ctx, e->T, &p.own));
    KN_TRY(kn_alloc_d(ctx, workers * labels->B, &p.limit));
    KN_TRY(kn_alloc_d(ctx, labels->n + 1, &p.log_factorial));
    for (ptrdiff_t i = 1; i <= labels->n; i++)
        p.log_factorial[i] = p.log_factorial[i - 1] + log((double)i);
    KN_TRY(kn_alloc(ctx, e->T, sizeof *p.order, &memory));
    p.order = memory;
    kn_parallel(ctx, e->T, BLOCK, prepare_responses, &p);
    qsort(p.order, (size_t)e->T, sizeof *p.order, by_bound);
    KN_TRY(run_permutations(ctx, &p));
    compute_family_wise_p(&p, workers);
    KN_TRY(adjust_p(ctx, &p));
out:
    kn_free(p.n_beyond);
    kn_free(p.n_observed);
    kn_free(p.own);
    kn_free(p.order);
    kn_free(p.limit);
    kn_free(p.log_factorial);
    return status;
}
