/* kn_scores_take_rows: from complete z-maps to statistic, burdens, whole-map deviances and
 * extrapolation of each participant [METHOD 8, 8b]. Training participants get the values of the
 * reference. */
#include <math.h>

#include "commands/score/burdens.h"
#include "gp/method.h"
#include "norm/metrics/extrapolation.h"
#include "norm/metrics/extreme_statistic.h"

/* z-maps as floats over all responses, read as blocks of those in use. */
typedef struct float_maps {
    const kn_model *model;
    const float *z;
    ptrdiff_t T, rows;
} float_maps;

static kn_status float_block(void *self, kn_ctx *ctx, ptrdiff_t first, ptrdiff_t count, kn_mat z)
{
    float_maps *f = self;
    for (ptrdiff_t j = 0; j < count; j++) {
        ptrdiff_t at = f->model->y.kept[first + j];
        for (ptrdiff_t i = 0; i < f->rows; i++)
            kn_col(z, j)[i] = (double)f->z[i * f->T + at];
    }
    return kn_check_cancel(ctx);
}

/* Computes the deviances of participants from `row` on, in a minibatch of padded height. */
static kn_status deviances(kn_ctx *ctx, kn_scores *s, bool by_noise, float_maps *maps,
                           ptrdiff_t row)
{
    const kn_reference *r = &s->model->reference;
    const kn_deviance *d = by_noise ? &r->deviance_noise : &r->deviance;
    double *dev = by_noise ? s->deviance_noise : s->deviance;
    kn_z_source source = {.self = maps,
                          .rows = s->height,
                          .cols = s->model->gp.T,
                          .block = float_block,
                          .scaling = &s->model->y,
                          .people = maps->rows};
    kn_status status = kn_deviance_score(ctx, d, &source, dev + row);
    for (ptrdiff_t i = row; status == KN_OK && i < row + maps->rows; i++)
        if (s->cv_row[i] >= 0 && isfinite(dev[i])) /* held-out value of the reference */
            dev[i] = d->ref[s->cv_row[i]];
    return status;
}

/* True without components: there is no model variance, and extrapolation is the distance of the
 * covariates. */
static bool by_covariates(const kn_scores *s)
{
    return s->model->gp.P == 0 && s->model->gp.method->components;
}

static void end_extrapolation(kn_scores *s, ptrdiff_t row, ptrdiff_t rows)
{
    for (ptrdiff_t i = row; i < row + rows; i++)
        s->extrapolation[i] += s->beyond[i];
    kn_extrapolation_ratio(s->extrapolation + row, rows, s->noise_sum);
    for (ptrdiff_t i = row; by_covariates(s) && i < row + rows; i++)
        s->extrapolation[i] = s->beyond[i];
}

kn_status kn_scores_take_rows(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, ptrdiff_t rows,
                              const kn_row_maps *maps)
{
    kn_status status;
    const kn_reference *r = &s->model->reference;
    end_extrapolation(s, row, rows);
    if (!s->scored)
        return KN_OK;
    KN_TRY(kn_extreme_rows(ctx, maps->z, rows, s->T, r->top, s->statistic + row));
    KN_TRY(kn_burdens_take(ctx, s, row, rows, maps));
    bool own = s->model->gp.method->own_deviance; /* kn_scores_take_law sets them */
    for (ptrdiff_t i = row; !own && i < row + rows; i++)
        s->deviance[i] = s->deviance_noise[i] = NAN;
    if (maps->z_noise) {
        float_maps all = {s->model, maps->z, s->T, rows};
        float_maps noise = {s->model, maps->z_noise, s->T, rows};
        KN_TRY(deviances(ctx, s, false, &all, row));
        KN_TRY(deviances(ctx, s, true, &noise, row));
    }
out:
    return status;
}
