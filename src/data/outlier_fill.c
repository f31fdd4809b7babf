/* Implements outlier_fill.h. Coordinate descent over the covariates needs no matrix, whose size
 * would grow with the number of sites. */
#include "data/outlier_fill.h"

#include <math.h>
#include <string.h>

#include "base/parallel/parallel_for.h"

enum { ROUNDS = 20 };
static const double PENALTY = 1,
                    TOLERANCE = 1e-6; /* of a change, relative to the largest residual */

/* One covariate. A number is x (standardised; 0 where it is not known), a category the level of
 * each participant. */
typedef struct column {
    ptrdiff_t levels; /* 0: a number */
    const double *x;  /* n, a column of `standard` or of X */
} column;

typedef struct filling {
    const kn_outliers *o;
    kn_view Y;
    ptrdiff_t F, most; /* number of columns; the largest number of levels, at least 1 */
    const column *column;
    const ptrdiff_t *first; /* of each response in the list, its first cell; and the end */
    double *work;           /* workers x size */
    ptrdiff_t size;         /* of the work space of a worker */
} filling;

/* Returns the level of participant i in a category; -1 if it is not known. */
static ptrdiff_t level_of(const column *c, ptrdiff_t i)
{
    return c->x[i] >= 0 && c->x[i] < (double)c->levels ? (ptrdiff_t)c->x[i] : -1;
}

/* Moves the effect of column c from the residuals r (n) to `effect` (n): a round of coordinate
 * descent. used[i] = 1 for cells that determine it. work: 3 x c->levels. Returns the largest change
 * of a prediction. */
static double update_column(const column *c, ptrdiff_t n, const double *used, double *r,
                            double *work)
{
    double change = 0;
    if (c->levels == 0) {
        double xx = 0, xr = 0;
        double *slope = work;
        for (ptrdiff_t i = 0; i < n; i++) {
            xx += used[i] * c->x[i] * c->x[i];
            xr += used[i] * c->x[i] * r[i];
        }
        double step = (xr - PENALTY * *slope) / (xx + PENALTY);
        *slope += step;
        for (ptrdiff_t i = 0; i < n; i++) {
            r[i] -= step * c->x[i];
            change = fmax(change, fabs(step * c->x[i]));
        }
        return change;
    }
    double *offset = work, *sum = work + c->levels, *count = sum + c->levels;
    memset(sum, 0, 2 * (size_t)c->levels * sizeof *sum);
    for (ptrdiff_t i = 0; i < n; i++) {
        ptrdiff_t k = level_of(c, i);
        if (k >= 0) {
            sum[k] += used[i] * r[i];
            count[k] += used[i];
        }
    }
    for (ptrdiff_t k = 0; k < c->levels; k++) {
        sum[k] = (sum[k] - PENALTY * offset[k]) / (count[k] + PENALTY);
        offset[k] += sum[k];
        change = fmax(change, fabs(sum[k]));
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        ptrdiff_t k = level_of(c, i);
        r[i] -= k >= 0 ? sum[k] : 0;
    }
    return change;
}

/* Fills the cells first .. last - 1 of the list, which are of one response. */
static void fill_response(const filling *f, double *work, ptrdiff_t first, ptrdiff_t last)
{
    ptrdiff_t n = f->Y.rows, j = f->o->cell[first].response, m = 0;
    double *r = work, *used = r + n, *effect = used + n, sum = 0, spread = 0;
    for (ptrdiff_t i = 0, k = first; i < n; i++) {
        bool out = k < last && f->o->cell[k].row == i;
        k += out;
        r[i] = kn_view_at(f->Y, i, j);
        used[i] = !out && isfinite(r[i]);
        m += used[i] > 0;
        sum += used[i] > 0 ? r[i] : 0;
    }
    double mean = m > 0 ? sum / (double)m : 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        r[i] = used[i] > 0 ? r[i] - mean : 0;
        spread = fmax(spread, fabs(r[i]));
    }
    memset(effect, 0, (size_t)(3 * f->most * f->F) * sizeof *effect);
    for (int round = 0; round < ROUNDS; round++) {
        double change = 0;
        for (ptrdiff_t c = 0; c < f->F; c++)
            change =
                fmax(change, update_column(&f->column[c], n, used, r, effect + 3 * f->most * c));
        if (change <= TOLERANCE * spread)
            break;
    }
    for (ptrdiff_t k = first; k < last; k++) /* r of such a cell started at 0 */
        kn_outlier_set(f->Y, &f->o->cell[k], mean - r[f->o->cell[k].row]);
}

/* Thread task: fills the responses first .. last - 1 of the list. */
static void fill_responses(void *self, int worker, ptrdiff_t first, ptrdiff_t last)
{
    const filling *f = self;
    for (ptrdiff_t k = first; k < last; k++)
        fill_response(f, f->work + worker * f->size, f->first[k], f->first[k + 1]);
}

/* Sets x (n) to the standardised values of a column; 0 where they are not known or all are equal.
 */
static void standardise(const double *value, ptrdiff_t n, double *x)
{
    double sum = 0, squares = 0;
    ptrdiff_t known = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        if (isfinite(value[i])) {
            sum += value[i];
            known++;
        }
    double mean = known > 0 ? sum / (double)known : 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        x[i] = isfinite(value[i]) ? value[i] - mean : 0;
        squares += x[i] * x[i];
    }
    double sd = known > 0 ? sqrt(squares / (double)known) : 0;
    for (ptrdiff_t i = 0; i < n; i++)
        x[i] = sd > 0 ? x[i] / sd : 0;
}

kn_status kn_outliers_fill(kn_ctx *ctx, const kn_outliers *o, const kn_fill_covariates *x,
                           kn_view Y, kn_index_range own)
{
    enum { GRAIN = 4 };
    kn_status status = KN_OK;
    void *columns = NULL;
    ptrdiff_t *first = NULL, responses = 0, end = 0;
    kn_mat standard = {0};
    filling f = {.o = o, .Y = Y, .F = x->X.cols, .most = 1};
    if (o->n == 0)
        return KN_OK;
    KN_TRY(kn_alloc_i(ctx, o->n + 1, &first));
    for (ptrdiff_t k = 0; k < o->n; k++) {
        ptrdiff_t j = o->cell[k].response;
        if (j < own.first || j >= own.last)
            continue;
        if (responses == 0 || o->cell[first[responses - 1]].response != j)
            first[responses++] = k;
        end = k + 1;
    }
    first[responses] = end;
    KN_TRY(kn_mat_new(ctx, Y.rows, f.F, &standard));
    KN_TRY(kn_alloc(ctx, f.F > 0 ? f.F : 1, sizeof(column), &columns));
    column *c = columns;
    for (ptrdiff_t k = 0; k < f.F; k++) {
        const kn_covariate *from = x->encoding->codes ? &x->encoding->column[k] : NULL;
        bool category = from && from->kind == KN_COVARIATE_CATEGORY;
        if (!category)
            standardise(kn_col(x->X, k), Y.rows, kn_col(standard, k));
        c[k] = (column){category ? from->levels.n : 0, kn_col(category ? x->X : standard, k)};
        f.most = c[k].levels > f.most ? c[k].levels : f.most;
    }
    f.column = c;
    f.first = first;
    f.size = 2 * Y.rows + 3 * f.most * f.F;
    KN_TRY(kn_alloc_d(ctx, kn_workers(ctx, responses, GRAIN) * f.size, &f.work));
    kn_parallel_workers(ctx, responses, GRAIN, fill_responses, &f);
out:
    kn_free(first);
    kn_free(columns);
    kn_free(f.work);
    kn_mat_clear(&standard);
    return status;
}
