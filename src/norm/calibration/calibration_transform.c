/* Implements calibration_transform.h. z is computed in chunks of FEW cells that stay in cache. */
#include "norm/calibration/calibration_transform.h"

#include <math.h>

#include "base/memory/alloc.h"
#include "la/vec.h"
#include "stats/normal.h"

const char *const kn_calibration_component_name[KN_CALIBRATION_COMPONENTS] = {"line", "curve",
                                                                              "batch", "shape"};
const char *const kn_calibration_component_words[KN_CALIBRATION_COMPONENTS] = {
    "noise linear in the covariates", "noise quadratic in the covariates", "noise per site",
    "skew and tails per response"};

void kn_calibration_clear(kn_calibration_transform *l)
{
    kn_noise_scale_columns_clear(&l->columns);
    kn_mat_clear(&l->beta);
    kn_mat_clear(&l->theta);
    kn_free(l->batch);
    kn_student_map_free(l->map);
    *l = (kn_calibration_transform){0};
}

kn_status kn_calibration_prepare(kn_ctx *ctx, kn_calibration_transform *l)
{
    kn_student_map_free(l->map);
    l->map = NULL;
    kn_shash_nodes_init(&l->nodes);
    return l->nu > 0 ? kn_student_map_new(ctx, l->nu, &l->map) : KN_OK;
}

/* ---- covariates ----------------------------------------------------------------------------- */

void kn_calibration_covariates_clear(kn_calibration_covariates *c)
{
    kn_mat_clear(&c->x.numeric);
    kn_mat_clear(&c->x.level);
}

typedef enum kind { NUMBER, LEVEL, NEITHER } kind;

/* What a covariate is for the noise scale: a number, a category of two levels that is no batch
 * effect, or neither. */
static kind covariate_kind(const kn_design_column *c)
{
    return c->levels == 0 ? NUMBER : c->levels == 2 && !c->batch ? LEVEL : NEITHER;
}

void kn_calibration_covariates_count(const kn_design *d, ptrdiff_t *numbers, ptrdiff_t *levels)
{
    *numbers = *levels = 0;
    for (ptrdiff_t c = 0; c < d->C; c++) {
        *numbers += covariate_kind(&d->column[c]) == NUMBER;
        *levels += covariate_kind(&d->column[c]) == LEVEL;
    }
}

/* Value of a covariate for the noise scale: a number unchanged; a category of two levels as 0 or 1,
 * NaN for an unknown level. */
static double covariate_value(const kn_design_column *c, double x)
{
    return c->levels > 0 && !(x == 0 || x == 1) ? NAN : x;
}

kn_status kn_calibration_covariates_new(kn_ctx *ctx, const kn_design *d, kn_view raw,
                                        const ptrdiff_t *rows, ptrdiff_t n,
                                        kn_calibration_covariates *out)
{
    kn_status status;
    ptrdiff_t numbers, levels;
    *out = (kn_calibration_covariates){0};
    kn_calibration_covariates_count(d, &numbers, &levels);
    KN_TRY(kn_mat_new(ctx, n, numbers, &out->x.numeric));
    KN_TRY(kn_mat_new(ctx, n, levels, &out->x.level));
    numbers = levels = 0;
    for (ptrdiff_t c = 0; c < d->C; c++) {
        const kn_design_column *column = &d->column[c];
        double *target = NULL;
        if (covariate_kind(column) == NUMBER)
            target = kn_col(out->x.numeric, numbers++);
        else if (covariate_kind(column) == LEVEL)
            target = kn_col(out->x.level, levels++);
        for (ptrdiff_t i = 0; target && i < n; i++)
            target[i] = covariate_value(column, kn_view_at(raw, rows ? rows[i] : i, c));
    }
out:
    if (status != KN_OK)
        kn_calibration_covariates_clear(out);
    return status;
}

kn_status kn_calibration_columns(kn_ctx *ctx, const kn_calibration_transform *l, const kn_design *d,
                                 kn_view raw, kn_mat *D)
{
    kn_status status;
    kn_calibration_covariates covariates = {0};
    *D = kn_mat_none();
    if (l->columns.F == 0)
        return KN_OK;
    KN_TRY(kn_calibration_covariates_new(ctx, d, raw, NULL, raw.rows, &covariates));
    KN_TRY(kn_mat_new(ctx, raw.rows, l->columns.F, D));
    kn_noise_scale_columns_apply(&l->columns, &covariates.x, *D);
out:
    kn_calibration_covariates_clear(&covariates);
    return status;
}

/* ---- z -------------------------------------------------------------------------------------- */

void kn_calibration_shift(const kn_calibration_transform *l, const int *site, ptrdiff_t n,
                          double *shift)
{
    for (ptrdiff_t i = 0; i < n; i++)
        shift[i] = site[i] >= 0 && site[i] < l->S ? l->batch[site[i]] : 0;
}

void kn_calibration_factor(kn_mat D, const double *beta, ptrdiff_t n, const double *shift,
                           double *factor)
{
    for (ptrdiff_t i = 0; i < n; i++)
        factor[i] = shift ? shift[i] : 0;
    for (ptrdiff_t f = 0; D.data && f < D.cols; f++) {
        const double *x = kn_col(D, f);
        for (ptrdiff_t i = 0; i < n; i++)
            factor[i] += x[i] * beta[f];
    }
    kn_vec_exp(n, factor);
}

kn_shash kn_calibration_distribution(const kn_calibration_transform *l, ptrdiff_t j)
{
    return kn_shash_at(&l->nodes, kn_col(l->theta, j));
}

enum { FEW = 256 };

/* loss = 1/2 ln V - ln t_nu(z1) - 1/2 ln 2pi of n residuals, at most FEW; without nu the normal
 * density takes the place of Student's t_nu. V: total variances; z1: residuals over SD. */
static void add_losses(const kn_calibration_transform *l, ptrdiff_t n, const double *V,
                       const double *z1, double *loss)
{
    double t[FEW], nu = l->nu;
    bool student = nu > 0 && nu <= KN_STUDENT_MAX;
    double start = student ? -kn_student_log_density(0, nu) - 0.5 * KN_LOG_2PI : 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        loss[i] = V[i];
        t[i] = student ? 1 + z1[i] * z1[i] / nu : 1;
    }
    kn_vec_log(n, loss);
    if (student)
        kn_vec_log(n, t);
    for (ptrdiff_t i = 0; i < n; i++)
        loss[i] = 0.5 * loss[i] + start + (student ? 0.5 * (nu + 1) * t[i] : 0.5 * z1[i] * z1[i]);
}

/* Apply skew and tail of a sinh-arcsinh distribution to n z-scores zt, at most FEW, in place. To
 * their losses add the change of -ln density, (z^2 - zt^2 + ln((1 + q^2)/(1 + z^2)))/2 + ln sc/b, q
 * = (zt - loc)/sc; loss may be NULL. */
static void apply_shape(const kn_shash *shash, ptrdiff_t n, double *z, double *loss)
{
    double ratio[FEW], shift = log(shash->sc / shash->b);
    for (ptrdiff_t i = 0; loss && i < n; i++) {
        double q = (z[i] - shash->loc) / shash->sc;
        ratio[i] = 1 + q * q;
        loss[i] -= 0.5 * z[i] * z[i];
    }
    kn_shash_apply(shash, n, z);
    if (!loss)
        return;
    for (ptrdiff_t i = 0; i < n; i++)
        ratio[i] /= 1 + z[i] * z[i];
    kn_vec_log(n, ratio);
    for (ptrdiff_t i = 0; i < n; i++)
        loss[i] += 0.5 * (z[i] * z[i] + ratio[i]) + shift;
}

/* z = e / sqrt(V) for n participants; NaN unless e is finite and V positive and finite. z may alias
 * e or V. */
KN_CLONES static void standardise_residuals(ptrdiff_t n, const double *e, const double *V,
                                            double *z)
{
#pragma omp simd
    for (ptrdiff_t i = 0; i < n; i++) {
        bool finite = (V[i] > 0) & (V[i] < INFINITY) & (fabs(e[i]) < INFINITY);
        double q = e[i] / sqrt(finite ? V[i] : 1);
        z[i] = finite ? q : NAN;
    }
}

/* Calibrated z-scores and losses of at most FEW participants for one response: residual over SD,
 * then loss, Student step and skew and tail. */
static void transform_chunk(const kn_calibration_transform *l, const kn_shash *shash,
                            const kn_calibration_cells *c)
{
    standardise_residuals(c->n, c->e, c->V, c->z);
    if (c->loss)
        add_losses(l, c->n, c->V, c->z, c->loss);
    if (l->map)
        kn_student_map_apply(l->map, c->n, c->z);
    if (shash)
        apply_shape(shash, c->n, c->z, c->loss);
}

void kn_calibration_z(const kn_calibration_transform *l, const kn_shash *shash,
                      const kn_calibration_cells *c)
{
    for (ptrdiff_t at = 0; at < c->n; at += FEW) {
        kn_calibration_cells chunk = {c->n - at < FEW ? c->n - at : FEW, c->e + at, c->V + at,
                                      c->z + at, c->loss ? c->loss + at : NULL};
        transform_chunk(l, shash, &chunk);
    }
}

/* ---- inverse --------------------------------------------------------------------------------- */

double kn_calibration_inverse(const kn_calibration_transform *l, const kn_shash *shash, double z)
{
    double zt = shash ? kn_shash_inverse(shash, z) : z;
    return l->nu > 0 ? kn_normal_to_student(zt, l->nu) : zt;
}
