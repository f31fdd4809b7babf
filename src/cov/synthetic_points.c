/* Implements synthetic_points.h: classifies the columns as numeric or levels, then combines nodes
 * or Halton points with every level pattern of the training sample. The points stand for the
 * training sample in an exported model. */
#include "cov/synthetic_points.h"

#include <math.h>

static const double SHARE = 0.02; /* largest rounding at an end, as a share of the range */
enum { BETWEEN_FROM = 10007 };    /* index in the Halton sequence where the test points begin */
enum {
    CORNERS = 6
}; /* numeric columns up to which corners are used; with more there are too many */

void kn_round_outward(double *low, double *high)
{
    double limit = SHARE * (*high - *low);
    if (!(limit > 0) || !isfinite(limit))
        return;
    double unit = pow(10, floor(log10(limit)));
    unit *= 5 * unit <= limit ? 5 : 2 * unit <= limit ? 2 : 1;
    *low = fmin(*low, floor(*low / unit) * unit);
    *high = fmax(*high, ceil(*high / unit) * unit);
}

/* ---- kinds of columns ------------------------------------------------------------------------ */

typedef struct columns {
    ptrdiff_t n, *number; /* numeric columns */
    double *low, *high;   /* n, their ranges, rounded outward */
    ptrdiff_t m, *level;  /* indicators and constant columns */
    kn_mat pattern;       /* patterns x m, the distinct combinations in the training sample */
    ptrdiff_t patterns;
} columns;

/* Frees the description of the columns; it can be filled again. */
static void columns_clear(columns *c)
{
    kn_free(c->number);
    kn_free(c->low);
    kn_free(c->high);
    kn_free(c->level);
    kn_mat_clear(&c->pattern);
    *c = (columns){0};
}

/* True if a term of the covariance uses column f of the design. */
static bool is_seen(const kn_cov *cov, ptrdiff_t f)
{
    for (int k = 0; k < cov->n; k++)
        if (f >= cov->term[k].first && f < cov->term[k].first + cov->term[k].count)
            return true;
    return false;
}

/* Returns whether column f of X has no values other than its smallest (low) and largest (high). */
static bool is_indicator(kn_mat X, ptrdiff_t f, double low, double high)
{
    for (ptrdiff_t i = 0; i < X.rows; i++)
        if (kn_at(X, i, f) != low && kn_at(X, i, f) != high)
            return false;
    return true;
}

/* Adds column f of the design to the numbers of c, with a range that is rounded outward, or to
 * the levels: indicators and constants. */
static void classify_column(const kn_synthetic_plan *p, ptrdiff_t f, columns *c)
{
    double low = kn_at(p->X, 0, f), high = low;
    for (ptrdiff_t i = 1; i < p->X.rows; i++) {
        low = fmin(low, kn_at(p->X, i, f));
        high = fmax(high, kn_at(p->X, i, f));
    }
    if (low == high || (p->indicators && is_indicator(p->X, f, low, high))) {
        c->level[c->m++] = f;
        return;
    }
    kn_round_outward(&low, &high);
    c->low[c->n] = low;
    c->high[c->n] = high;
    c->number[c->n++] = f;
}

/* Returns true if the list already has the combination of levels of row i of X. */
static bool has_pattern(const columns *c, kn_mat X, ptrdiff_t i)
{
    for (ptrdiff_t k = 0; k < c->patterns; k++) {
        ptrdiff_t f = 0;
        while (f < c->m && kn_at(c->pattern, k, f) == kn_at(X, i, c->level[f]))
            f++;
        if (f == c->m)
            return true;
    }
    return false;
}

/* Classifies the columns that the covariance uses, and lists the patterns of levels of the
 * training sample. The caller clears c, also after an error. */
static kn_status columns_new(kn_ctx *ctx, const kn_synthetic_plan *p, columns *c)
{
    kn_status status;
    ptrdiff_t F = p->X.cols;
    *c = (columns){0};
    KN_TRY(kn_alloc_i(ctx, F, &c->number));
    KN_TRY(kn_alloc_i(ctx, F, &c->level));
    KN_TRY(kn_alloc_d(ctx, F, &c->low));
    KN_TRY(kn_alloc_d(ctx, F, &c->high));
    for (ptrdiff_t f = 0; f < F; f++)
        if (is_seen(p->cov, f))
            classify_column(p, f, c);
    KN_TRY(kn_mat_new(ctx, p->X.rows, c->m, &c->pattern));
    for (ptrdiff_t i = 0; i < p->X.rows; i++) {
        if (has_pattern(c, p->X, i))
            continue;
        for (ptrdiff_t f = 0; f < c->m; f++)
            kn_col(c->pattern, f)[c->patterns] = kn_at(p->X, i, c->level[f]);
        c->patterns++;
    }
out:
    if (status != KN_OK)
        columns_clear(c);
    return status;
}

/* ---- points -----------------------------------------------------------------------------------
 */

/* Returns value k of 2n of numeric column f: n Chebyshev extrema within the range, then n - n/2
 * above it and n/2 below. */
static double compute_node(const columns *c, ptrdiff_t f, int n, ptrdiff_t k)
{
    double low = c->low[f], high = c->high[f], half = (high - low) / 2;
    ptrdiff_t above = n - n / 2, below = n / 2;
    if (k < n)
        return low + half * (1 - cos(M_PI * (double)k / (n - 1)));
    if (k < n + above)
        return high + half * (double)(k - n + 1) / (double)above;
    return low - half * (double)(k - n - above + 1) / (double)below;
}

/* Returns the smallest prime above p, by trial division. */
static ptrdiff_t find_next_prime(ptrdiff_t p)
{
    for (p++;; p++) {
        ptrdiff_t d = 2;
        while (d * d <= p && p % d != 0)
            d++;
        if (d * d > p)
            return p;
    }
}

/* Returns the radical inverse of i: its digits in this base, mirrored at the point, in (0, 1). */
static double compute_radical_inverse(ptrdiff_t i, ptrdiff_t base)
{
    double x = 0, digit = 1;
    for (; i > 0; i /= base) {
        digit /= (double)base;
        x += digit * (double)(i % base);
    }
    return x;
}

/* Sets the numeric columns of row `row` of S to point i of the Halton sequence, in the range or
 * with `beyond` in the extended range. Returns one more coordinate, in [0, 1). */
static double put_halton(const columns *c, ptrdiff_t i, bool beyond, kn_mat S, ptrdiff_t row)
{
    ptrdiff_t base = 1;
    for (ptrdiff_t f = 0; f < c->n; f++) {
        double half = (c->high[f] - c->low[f]) / 2, low = c->low[f] - (beyond ? half : 0);
        base = find_next_prime(base);
        kn_col(S, c->number[f])[row] =
            low + (beyond ? 4 : 2) * half * compute_radical_inverse(i, base);
    }
    return compute_radical_inverse(i, find_next_prime(base));
}

/* Sets the numeric columns of row `row` of S to corner i of the range, or with `beyond` of the
 * extended range, to which participants far outside are clamped. */
static void put_corner(const columns *c, ptrdiff_t i, bool beyond, kn_mat S, ptrdiff_t row)
{
    for (ptrdiff_t f = 0; f < c->n; f++) {
        double half = beyond ? (c->high[f] - c->low[f]) / 2 : 0;
        kn_col(S, c->number[f])[row] = i >> f & 1 ? c->high[f] + half : c->low[f] - half;
    }
}

/* Sets the level columns of row `row` of S to pattern k. */
static void put_pattern(const columns *c, ptrdiff_t k, kn_mat S, ptrdiff_t row)
{
    for (ptrdiff_t f = 0; f < c->m; f++)
        kn_col(S, c->level[f])[row] = kn_at(c->pattern, k, f);
}

kn_status kn_synthetic_new(kn_ctx *ctx, const kn_synthetic_plan *p, int round, kn_mat *out,
                           bool *last)
{
    kn_status status;
    columns c = {0};
    int n = p->points << round;
    ptrdiff_t axis = 2 * (ptrdiff_t)n, per_pattern = 1, at = 0;
    *out = kn_mat_none();
    KN_TRY(columns_new(ctx, p, &c));
    for (ptrdiff_t f = 0; f < c.n && f < 2; f++)
        per_pattern *= c.n > 2 ? n : axis;
    *last = round + 1 >= (c.n == 2 ? KN_SYNTHETIC_ROUNDS - 1 : KN_SYNTHETIC_ROUNDS);
    KN_TRY(kn_mat_new(ctx, per_pattern * c.patterns, p->X.cols, out));
    for (ptrdiff_t k = 0; k < c.patterns; k++)
        for (ptrdiff_t i = 0; i < per_pattern; i++, at++) {
            put_pattern(&c, k, *out, at);
            if (c.n > 2)
                put_halton(&c, i / 2 + 1, i % 2 == 1, *out, at);
            for (ptrdiff_t f = 0; f < c.n && c.n <= 2; f++)
                kn_col(*out, c.number[f])[at] = compute_node(&c, f, n, f ? i / axis : i % axis);
        }
out:
    columns_clear(&c);
    return status;
}

kn_status kn_synthetic_between(kn_ctx *ctx, const kn_synthetic_plan *p, ptrdiff_t count,
                               kn_mat *out)
{
    kn_status status;
    columns c = {0};
    *out = kn_mat_none();
    KN_TRY(columns_new(ctx, p, &c));
    KN_TRY(kn_mat_new(ctx, count, p->X.cols, out));
    for (ptrdiff_t i = 0; i < count; i++) {
        double more = put_halton(&c, BETWEEN_FROM + i / 2, i % 2 == 1, *out, i);
        put_pattern(&c, (ptrdiff_t)(more * (double)c.patterns), *out, i);
        if (c.n <= CORNERS && i >> (c.n + 1) == 0)
            put_corner(&c, i / 2, i % 2 == 1, *out, i);
    }
out:
    columns_clear(&c);
    return status;
}
