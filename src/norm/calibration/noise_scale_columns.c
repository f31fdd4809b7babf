/* Columns of the noise scale (noise_scale.h); linearly dependent columns are found by
 * Gram-Schmidt. They are covariates and their squares, standardised by the training sample. */
#include "norm/calibration/noise_scale.h"

#include <assert.h>
#include <math.h>

#include "la/vec.h"

enum { SQUARE_VALUES = 5 }; /* different values that t^2 needs */
static const double DEPENDENT =
    1e-8; /* share of a column's sum of squares that must remain after projection */

/* Value of a noise-scale column for participant i; 0, which is the training mean, if the covariate
 * is missing. */
static double column_value(const kn_noise_scale_column *c,
                           const kn_noise_scale_covariates *covariates, ptrdiff_t i)
{
    if (c->kind == KN_SCALE_ONE)
        return 1;
    double x =
        kn_at(c->kind == KN_SCALE_LEVEL ? covariates->level : covariates->numeric, i, c->source);
    if (isnan(x))
        return 0;
    if (c->kind == KN_SCALE_LEVEL)
        return x - 0.5 - c->centre;
    double t = (fmin(fmax(x, c->low), c->high) - c->mean) / c->sd;
    return (c->kind == KN_SCALE_LINE ? t : t * t) - c->centre;
}

void kn_noise_scale_columns_apply(const kn_noise_scale_columns *columns,
                                  const kn_noise_scale_covariates *covariates, kn_mat D)
{
    assert(D.cols == columns->F);
    for (ptrdiff_t f = 0; f < columns->F; f++)
        for (ptrdiff_t i = 0; i < D.rows; i++)
            kn_col(D, f)[i] = column_value(&columns->column[f], covariates, i);
}

/* Number of different values in column c of x without NaN, at most `limit`. */
static int count_different(kn_mat x, ptrdiff_t c, int limit)
{
    double seen[SQUARE_VALUES];
    int n = 0;
    for (ptrdiff_t i = 0; i < x.rows && n < limit; i++) {
        bool known = isnan(kn_at(x, i, c));
        for (int k = 0; k < n && !known; k++)
            known = seen[k] == kn_at(x, i, c);
        if (!known)
            seen[n++] = kn_at(x, i, c);
    }
    return n;
}

/* A linear column for the numeric covariate c: its mean, sd and range in the training sample x (n x
 * C). */
static kn_noise_scale_column make_line(kn_mat x, ptrdiff_t c)
{
    kn_noise_scale_column k = {.kind = KN_SCALE_LINE,
                               .source = c,
                               .low = INFINITY,
                               .high = -INFINITY};
    double n = 0, sum = 0, squares = 0;
    for (ptrdiff_t i = 0; i < x.rows; i++)
        if (!isnan(kn_at(x, i, c))) {
            n++;
            sum += kn_at(x, i, c);
            k.low = fmin(k.low, kn_at(x, i, c));
            k.high = fmax(k.high, kn_at(x, i, c));
        }
    k.mean = sum / n;
    for (ptrdiff_t i = 0; i < x.rows; i++)
        if (!isnan(kn_at(x, i, c)))
            squares += pow(kn_at(x, i, c) - k.mean, 2);
    k.sd = sqrt(squares / n);
    return k;
}

/* Append column c, with its mean over the n training participants as centre; `columns` must have
 * room for it. */
static void append_column(kn_noise_scale_columns *columns, kn_noise_scale_column c,
                          const kn_noise_scale_covariates *training, ptrdiff_t n)
{
    double sum = 0, count = 0;
    kn_mat from = c.kind == KN_SCALE_LEVEL ? training->level : training->numeric;
    for (ptrdiff_t i = 0; i < n && c.kind != KN_SCALE_ONE; i++)
        if (!isnan(kn_at(from, i, c.source))) {
            sum += column_value(&c, training, i);
            count++;
        }
    c.centre = count > 0 ? sum / count : 0;
    columns->column[columns->F++] = c;
}

/* Remove columns that are linear combinations of those before them in the n training participants,
 * by Gram-Schmidt, done twice against rounding. */
static kn_status drop_dependent(kn_ctx *ctx, const kn_noise_scale_covariates *training, ptrdiff_t n,
                                kn_noise_scale_columns *k)
{
    kn_mat D;
    ptrdiff_t kept = 0;
    kn_status status = kn_mat_new(ctx, n, k->F, &D);
    if (status != KN_OK)
        return status;
    kn_noise_scale_columns_apply(k, training, D);
    for (ptrdiff_t f = 0; f < k->F; f++) {
        double *x = kn_col(D, kept), before = kn_sumsq(kn_cols(D, f, 1));
        kn_mat_set(kn_cols(D, kept, 1), kn_cols(D, f, 1));
        for (ptrdiff_t h = 0; h < 2 * kept; h++) {
            const double *q = kn_col(D, h % kept);
            double dot = kn_vec_dot(n, q, x);
            for (ptrdiff_t i = 0; i < n; i++)
                x[i] -= dot * q[i];
        }
        double after = kn_sumsq(kn_cols(D, kept, 1));
        if (f > 0 && !(after > DEPENDENT * before))
            continue;
        for (ptrdiff_t i = 0; i < n; i++)
            x[i] /= sqrt(after);
        k->column[kept++] = k->column[f];
    }
    k->F = kept;
    kn_mat_clear(&D);
    return KN_OK;
}

kn_status kn_noise_scale_columns_new(kn_ctx *ctx, const kn_noise_scale_covariates *training,
                                     bool quadratic, kn_noise_scale_columns *out)
{
    kn_mat x = training->numeric, level = training->level;
    void *memory = NULL;
    *out = (kn_noise_scale_columns){0};
    kn_status status = kn_alloc(ctx, 1 + 2 * x.cols + level.cols, sizeof *out->column, &memory);
    if (status != KN_OK)
        return status;
    out->column = memory;
    append_column(out, (kn_noise_scale_column){KN_SCALE_ONE, -1, 0, 1, -INFINITY, INFINITY, 0},
                  training, 0);
    for (ptrdiff_t c = 0; c < x.cols; c++) {
        int values = count_different(x, c, SQUARE_VALUES);
        if (values < 2)
            continue;
        kn_noise_scale_column line = make_line(x, c);
        append_column(out, line, training, x.rows);
        line.kind = KN_SCALE_SQUARE;
        if (quadratic && values == SQUARE_VALUES)
            append_column(out, line, training, x.rows);
    }
    for (ptrdiff_t c = 0; c < level.cols; c++)
        if (count_different(level, c, 2) == 2)
            append_column(out, (kn_noise_scale_column){KN_SCALE_LEVEL, c, 0, 1, 0, 1, 0}, training,
                          level.rows);
    status = drop_dependent(ctx, training, x.cols > 0 ? x.rows : level.rows, out);
    if (status != KN_OK)
        kn_noise_scale_columns_clear(out);
    return status;
}

void kn_noise_scale_columns_clear(kn_noise_scale_columns *columns)
{
    kn_free(columns->column);
    *columns = (kn_noise_scale_columns){0};
}
