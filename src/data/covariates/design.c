/* Implements design.h: learns moments, ranges and levels from the training rows, lays out the
 * columns, and applies the result. New participants get the moments and levels of the training
 * sample. */
#include "data/covariates/design.h"

#include <assert.h>
#include <math.h>

#include "data/table/levels.h"

/* A column is constant if its sd is below this share of its largest |value|. */
static const double CONSTANT = 1e-12;
/* Values this close to a constant, relatively, equal it; another program may have written them. */
static const double SAME = 1e-9;

void kn_design_clear(kn_design *d)
{
    for (ptrdiff_t c = 0; d->column && c < d->C; c++)
        kn_free(d->column[c].proportions);
    kn_free(d->column);
    kn_free(d->interaction);
    kn_free(d->mean);
    kn_free(d->sd);
    *d = (kn_design){0};
}

void kn_design_assign_columns(kn_design *d)
{
    d->F = d->Fc = d->Fq = d->n_constant = 0;
    for (ptrdiff_t c = 0; c < d->C; c++) {
        kn_design_column *k = &d->column[c];
        k->x = k->levels == 0 && !k->constant ? d->Fc++ : -1;
        d->n_constant += k->constant;
    }
    for (ptrdiff_t c = 0; c < d->C; c++)
        if (d->column[c].q >= 0)
            d->column[c].q = d->Fc + d->Fq++;
    d->F = d->Fc + d->Fq;
    for (ptrdiff_t c = 0; c < d->C; c++)
        if (d->column[c].levels > 0 && !d->column[c].constant) {
            d->column[c].x = d->F;
            d->F += d->column[c].levels + 1;
        }
    for (ptrdiff_t i = 0; i < d->n_interactions; i++)
        d->F += d->column[d->interaction[i].category].levels + 1;
}

int kn_design_blocks(const kn_design *d, kn_design_block *out, int limit)
{
    int n = 0;
    ptrdiff_t at = d->Fc + d->Fq;
    if (d->Fc > 0 && n++ < limit)
        out[n - 1] = (kn_design_block){KN_DESIGN_LINEAR, 0, d->Fc, -1, -1};
    if (d->Fq > 0 && n++ < limit)
        out[n - 1] = (kn_design_block){KN_DESIGN_QUADRATIC, d->Fc, d->Fq, -1, -1};
    for (ptrdiff_t c = 0; c < d->C; c++)
        if (d->column[c].levels > 0 && !d->column[c].constant) {
            ptrdiff_t count = d->column[c].levels + 1;
            if (n++ < limit)
                out[n - 1] = (kn_design_block){KN_DESIGN_CATEGORY, at, count, c, -1};
            at += count;
        }
    for (ptrdiff_t i = 0; i < d->n_interactions; i++) {
        kn_interaction k = d->interaction[i];
        ptrdiff_t count = d->column[k.category].levels + 1;
        if (n++ < limit)
            out[n - 1] = (kn_design_block){KN_DESIGN_INTERACTION, at, count, k.category, k.numeric};
        at += count;
    }
    return n;
}

/* ---- checks -----------------------------------------------------------------------------------
 */

/* Checks raw column c (x, n values). KN_ERR_DATA unless the values are finite or, with limit >= 0
 * (a category), NaN or a whole number from 0 to limit. */
static kn_status check_values(kn_ctx *ctx, const double *x, ptrdiff_t n, ptrdiff_t c, int limit)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        if (limit < 0 && !isfinite(x[i]))
            return kn_fail(ctx, KN_ERR_DATA,
                           "covariates row %td, column %td is %g, but must be a finite number",
                           i + 1, c + 1, x[i]);
        if (limit >= 0 && !isnan(x[i]) && !(x[i] >= 0 && x[i] <= limit && x[i] == floor(x[i])))
            return kn_fail(ctx, KN_ERR_DATA,
                           "covariates row %td, column %td is %g, but must be a level, 0 to %d",
                           i + 1, c + 1, x[i], limit);
    }
    return KN_OK;
}

/* ---- learning ---------------------------------------------------------------------------------
 */

typedef struct moments {
    double mean, sd, largest;
} moments;

/* Returns mean, standard deviation (divisor n) and largest absolute value of x (n finite values).
 */
static moments moments_of(const double *x, ptrdiff_t n)
{
    moments m = {0};
    for (ptrdiff_t i = 0; i < n; i++) {
        m.mean += x[i] / (double)n;
        m.largest = fmax(m.largest, fabs(x[i]));
    }
    for (ptrdiff_t i = 0; i < n; i++)
        m.sd += (x[i] - m.mean) * (x[i] - m.mean) / (double)n;
    m.sd = sqrt(m.sd);
    return m;
}

/* Returns whether x (n) has at least `wanted` different values; wanted is at most
 * KN_QUADRATIC_VALUES. */
static bool has_values(const double *x, ptrdiff_t n, int wanted)
{
    double seen[KN_QUADRATIC_VALUES];
    int k = 0;
    assert(wanted <= KN_QUADRATIC_VALUES);
    for (ptrdiff_t i = 0; i < n && k < wanted; i++) {
        int j = 0;
        while (j < k && seen[j] != x[i])
            j++;
        if (j == k)
            seen[k++] = x[i];
    }
    return k >= wanted;
}

/* Learns mean and sd of the squares of the standardised column c, x (n, original units; overwritten
 * by the squares), and sets q = 0 to mark that the column has a square. Does nothing if the squares
 * are constant.  [METHOD 0] */
static void learn_quadratic(const kn_design *d, ptrdiff_t c, double *x, ptrdiff_t n)
{
    kn_design_column *k = &d->column[c];
    for (ptrdiff_t i = 0; i < n; i++) {
        double s = (x[i] - d->mean[c]) / d->sd[c];
        x[i] = s * s;
    }
    moments m = moments_of(x, n);
    if (!isfinite(m.sd) || m.sd <= CONSTANT * m.largest)
        return; /* x^2 is constant, as for two values of opposite sign */
    k->q_mean = m.mean;
    k->q_sd = m.sd;
    k->q = 0;
}

/* Learns mean, sd, range, and moments of the square of numeric column c from its training values x
 * (n, original units; overwritten). KN_ERR_DATA for values that are not finite or too large to
 * square. */
static kn_status learn_number(kn_ctx *ctx, const kn_design_options *o, const kn_design *d,
                              ptrdiff_t c, double *x, ptrdiff_t n)
{
    kn_design_column *k = &d->column[c];
    kn_status status = check_values(ctx, x, n, c, -1);
    if (status != KN_OK)
        return status;
    moments m = moments_of(x, n);
    k->constant = m.sd <= CONSTANT * m.largest;
    k->min = k->max = n > 0 ? x[0] : 0;
    for (ptrdiff_t i = 1; i < n; i++) {
        k->min = fmin(k->min, x[i]);
        k->max = fmax(k->max, x[i]);
    }
    d->mean[c] = o->standardise ? m.mean : 0;
    d->sd[c] = o->standardise && !k->constant ? m.sd : 1;
    if (!isfinite(d->mean[c]) || !isfinite(d->sd[c]) || !isfinite(k->max - k->min))
        return kn_fail(ctx, KN_ERR_DATA, "covariates column %td has values too large to square",
                       c + 1);
    bool enough =
        o->values ? o->values[c] >= KN_QUADRATIC_VALUES : has_values(x, n, KN_QUADRATIC_VALUES);
    if (d->additive && o->quadratic != 0 && !k->constant && enough)
        learn_quadratic(d, c, x, n);
    return KN_OK;
}

/* Learns the proportions of the levels of category c from its training codes x (n); NaN is missing.
 * A category with one level is marked constant. KN_ERR_DATA for other values, or if all are
 * missing. */
static kn_status learn_category(kn_ctx *ctx, const kn_design *d, ptrdiff_t c, const double *x,
                                ptrdiff_t n)
{
    kn_design_column *k = &d->column[c];
    kn_status status;
    ptrdiff_t known = 0;
    int present = 0;
    d->sd[c] = 1;
    KN_TRY(check_values(ctx, x, n, c, k->levels - 1));
    KN_TRY(kn_alloc_d(ctx, k->levels, &k->proportions));
    for (ptrdiff_t i = 0; i < n; i++)
        if (!isnan(x[i])) {
            present += k->proportions[(ptrdiff_t)x[i]]++ == 0;
            known++;
        }
    if (known == 0) {
        status = kn_fail(ctx, KN_ERR_DATA, "covariates column %td has no values", c + 1);
        goto out;
    }
    for (int l = 0; l < k->levels; l++)
        k->proportions[l] /= (double)known;
    k->constant = present < 2;
out:
    return status;
}

/* Removes all squares (q = -1) if the option leaves the choice and n is below KN_QUADRATIC_ROWS
 * participants per square: with few participants squared covariates cost more than they explain. */
static void choose_quadratic(const kn_design_options *o, const kn_design *d, ptrdiff_t n)
{
    ptrdiff_t Fq = 0;
    for (ptrdiff_t c = 0; c < d->C; c++)
        Fq += d->column[c].q >= 0;
    if (o->quadratic < 0 && Fq * KN_QUADRATIC_ROWS > n)
        for (ptrdiff_t c = 0; c < d->C; c++)
            d->column[c].q = -1;
}

/* Copies the pairs of the option {interaction} to d, which owns them. KN_ERR_ARGUMENT for a pair
 * that is not a category and a number that both vary. */
static kn_status take_interactions(kn_ctx *ctx, const kn_design_options *o, kn_design *d)
{
    void *memory;
    kn_status status = kn_alloc(ctx, o->n_interactions, sizeof *d->interaction, &memory);
    if (status != KN_OK)
        return status;
    d->interaction = memory;
    for (ptrdiff_t i = 0; i < o->n_interactions; i++) {
        kn_interaction k = o->interactions[i];
        assert(k.category >= 0 && k.category < d->C && k.numeric >= 0 && k.numeric < d->C);
        const kn_design_column *a = &d->column[k.category], *b = &d->column[k.numeric];
        if (a->levels == 0 || a->constant || b->levels > 0 || b->constant)
            return kn_fail(ctx, KN_ERR_ARGUMENT,
                           "the interaction of covariates %td and %td needs a category with two or "
                           "more levels and a number that varies",
                           k.category + 1, k.numeric + 1);
        d->interaction[d->n_interactions++] = k;
    }
    return KN_OK;
}

kn_status kn_design_new(kn_ctx *ctx, kn_view raw, const kn_design_options *o, kn_design *out)
{
    kn_status status;
    void *memory;
    double *x = NULL;
    ptrdiff_t n = raw.rows, varying = 0;

    *out = (kn_design){.additive = o->additive, .C = raw.cols};
    assert(o->additive || (!o->levels && o->n_interactions == 0));
    assert(o->n_interactions <= KN_INTERACTIONS_MAX);
    KN_TRY(kn_alloc_d(ctx, raw.cols, &out->mean));
    KN_TRY(kn_alloc_d(ctx, raw.cols, &out->sd));
    KN_TRY(kn_alloc(ctx, raw.cols, sizeof *out->column, &memory));
    out->column = memory;
    KN_TRY(kn_alloc_d(ctx, n, &x));
    for (ptrdiff_t c = 0; c < raw.cols; c++) {
        kn_design_column *k = &out->column[c];
        *k = (kn_design_column){.levels = o->levels ? o->levels[c] : 0,
                                .batch = o->batch && o->batch[c],
                                .x = -1,
                                .q = -1};
        assert(!k->batch || k->levels > 0);
        assert(k->levels >= 0 && k->levels <= KN_LEVELS_MAX);
        kn_view_column(raw, 0, n, c, x);
        KN_TRY(k->levels > 0 ? learn_category(ctx, out, c, x, n)
                             : learn_number(ctx, o, out, c, x, n));
        varying += !k->constant;
    }
    if (varying == 0) {
        status = kn_fail(ctx, KN_ERR_DATA, "every covariate is constant; at least one must vary");
        goto out;
    }
    choose_quadratic(o, out, n);
    KN_TRY(take_interactions(ctx, o, out));
    kn_design_assign_columns(out);
out:
    kn_free(x);
    if (status != KN_OK)
        kn_design_clear(out);
    return status;
}

/* ---- applying ---------------------------------------------------------------------------------
 */

void kn_design_range(const kn_design *d, ptrdiff_t c, double *low, double *high)
{
    const kn_design_column *k = &d->column[c];
    double half = k->constant ? 0 : (k->max - k->min) / 2;
    *low = k->min - half;
    *high = k->max + half;
}

/* Returns whether value x of raw column c is not covered by the training sample: outside the
 * clamping range, a level without training participants, or different from the constant that the
 * column was. */
static bool is_beyond_training(const kn_design *d, ptrdiff_t c, double x)
{
    const kn_design_column *k = &d->column[c];
    double low, high;
    if (k->levels > 0)
        return x == k->levels; /* false for NaN */
    kn_design_range(d, c, &low, &high);
    if (k->constant) {
        double tolerance = SAME * fmax(fabs(low), fabs(high));
        return x < low - tolerance || x > high + tolerance;
    }
    return d->additive && (x < low || x > high);
}

/* Returns x limited to low .. high. */
static double clamp_to(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* Writes the indicator columns E (n x L + 1) of a category from its codes x (n): column l is 1 if x
 * is l. NaN, a missing value, gets the training proportions of the levels. */
static void expand_codes(const kn_design_column *k, const double *x, kn_mat E)
{
    for (int l = 0; l <= k->levels; l++) {
        double proportion = l < k->levels ? k->proportions[l] : 0;
        for (ptrdiff_t i = 0; i < E.rows; i++)
            kn_col(E, l)[i] = isnan(x[i]) ? proportion : x[i] == l;
    }
}

/* Writes numeric column c, x (n, original units), standardised to its column of X, and its
 * standardised square if the design has one. With `clamp`, values of an additive design are first
 * clamped to the range of kn_design_range, those of the square to the training range. */
static void put_number(const kn_design *d, ptrdiff_t c, const double *x, bool clamp, kn_mat X)
{
    const kn_design_column *k = &d->column[c];
    double low, high;
    kn_design_range(d, c, &low, &high);
    clamp = clamp && d->additive;
    for (ptrdiff_t i = 0; i < X.rows; i++) {
        double at = clamp ? clamp_to(x[i], low, high) : x[i];
        kn_col(X, k->x)[i] = (at - d->mean[c]) / d->sd[c];
        if (k->q >= 0) {
            at = clamp ? clamp_to(x[i], k->min, k->max) : x[i];
            double s = (at - d->mean[c]) / d->sd[c];
            kn_col(X, k->q)[i] = (s * s - k->q_mean) / k->q_sd;
        }
    }
}

/* Fills the last blocks of X, one per interaction, with the columns of the category times the
 * column of the number; both are in X already. */
static void put_interactions(const kn_design *d, kn_mat X)
{
    ptrdiff_t at = d->F;
    for (ptrdiff_t i = d->n_interactions - 1; i >= 0; i--) { /* interactions are the last blocks */
        const kn_design_column *m = &d->column[d->interaction[i].category];
        const double *x = kn_col(X, d->column[d->interaction[i].numeric].x);
        at -= m->levels + 1;
        for (int l = 0; l <= m->levels; l++)
            for (ptrdiff_t r = 0; r < X.rows; r++)
                kn_col(X, at + l)[r] = kn_col(X, m->x + l)[r] * x[r];
    }
}

kn_status kn_design_apply(kn_ctx *ctx, const kn_design *d, kn_view raw, bool clamp, kn_mat X,
                          int *n_clamped)
{
    kn_status status;
    double *x = NULL;
    ptrdiff_t n = raw.rows;
    assert(raw.cols == d->C && X.rows == n && X.cols == d->F);
    for (ptrdiff_t i = 0; n_clamped && i < n; i++)
        n_clamped[i] = 0;
    KN_TRY(kn_alloc_d(ctx, n, &x));
    for (ptrdiff_t c = 0; c < d->C; c++) {
        const kn_design_column *k = &d->column[c];
        kn_view_column(raw, 0, n, c, x);
        KN_TRY(check_values(ctx, x, n, c, k->levels > 0 ? k->levels : -1));
        for (ptrdiff_t i = 0; n_clamped && i < n; i++)
            n_clamped[i] += is_beyond_training(d, c, x[i]);
        if (k->x >= 0 && k->levels > 0)
            expand_codes(k, x, kn_cols(X, k->x, k->levels + 1));
        else if (k->x >= 0)
            put_number(d, c, x, clamp, X);
    }
    put_interactions(d, X);
out:
    kn_free(x);
    return status;
}

bool kn_design_has_batch(const kn_design *d)
{
    for (ptrdiff_t c = 0; c < d->C; c++)
        if (d->column[c].batch)
            return true;
    return false;
}

/* Sets E to zero in the rows with rows[i]; rows NULL: in all rows. */
static void remove_rows(kn_mat E, const bool *rows)
{
    for (ptrdiff_t l = 0; l < E.cols; l++)
        for (ptrdiff_t i = 0; i < E.rows; i++)
            if (!rows || rows[i])
                kn_col(E, l)[i] = 0;
}

void kn_design_set_without_site(const kn_design *d, const bool *rows, kn_mat X)
{
    ptrdiff_t at = d->F;
    for (ptrdiff_t i = d->n_interactions - 1; i >= 0; i--) {
        const kn_design_column *k = &d->column[d->interaction[i].category];
        at -= k->levels + 1;
        if (k->batch)
            remove_rows(kn_cols(X, at, k->levels + 1), rows);
    }
    for (ptrdiff_t c = 0; c < d->C; c++)
        if (d->column[c].batch && d->column[c].x >= 0)
            remove_rows(kn_cols(X, d->column[c].x, d->column[c].levels + 1), rows);
}

kn_status kn_design_count_clamped(kn_ctx *ctx, const kn_design *d, kn_view raw,
                                  ptrdiff_t *n_participants)
{
    double *x;
    kn_status status = kn_alloc_d(ctx, raw.rows, &x);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t c = 0; c < d->C; c++) {
        kn_view_column(raw, 0, raw.rows, c, x);
        n_participants[c] = 0;
        for (ptrdiff_t i = 0; i < raw.rows; i++)
            n_participants[c] += is_beyond_training(d, c, x[i]);
    }
    kn_free(x);
    return KN_OK;
}
