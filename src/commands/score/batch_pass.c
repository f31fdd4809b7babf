/* Predicts and scores one minibatch: one prediction for a padded minibatch, then a block loop in
 * which each block becomes residuals, total variances, z and losses in place. score.c calls it for
 * each minibatch. */
#include "commands/score/internal.h"

#include <math.h>

#include "base/parallel/parallel_for.h"
#include "commands/common/maps_api.h"
#include "commands/score/extrapolation.h"
#include "gp/block_visitor.h"
#include "gp/predict/map_density.h"
#include "model/missing_record.h"
#include "model/model.h"

typedef struct units { /* conversion from standardised to original units */
    double scale, shift;
} units;

/* A minibatch and its current block. */
typedef struct passing {
    const kn_pass *w;
    ptrdiff_t row, rows;
    kn_block now; /* current block, without the padding rows */
    const kn_block *b;
    /* The following have the padded height: these participants, then copies of the last one. */
    kn_mat X;
    kn_view raw; /* view of X */
    ptrdiff_t *from, *group;
    int *n_clamped;
    bool *without_site;
    kn_mat D;             /* rows x F: columns of the noise scale; empty without one */
    double *term;         /* rows: site terms of the noise scale; NULL: none */
    kn_mat z, loss, work; /* rows x width of a block; work: total variances */
    kn_mat null;          /* losses by the null model; none without one */
} passing;

/* Worker: adds offset and variance of the site to predictions without site effect, responses from
 * .. to - 1 of the block. */
static void move_to_sites(void *self, ptrdiff_t from, ptrdiff_t end)
{
    const passing *p = self;
    const kn_site_lookup *a = &p->w->relation->from;
    for (ptrdiff_t j = from; j < end; j++)
        for (ptrdiff_t i = 0; i < p->rows; i++) {
            kn_site_shift s = kn_site_lookup_effect(a, p->w->model, p->row + i, p->b->first + j);
            kn_col(p->b->mean, j)[i] += s.offset;
            kn_col(p->b->var, j)[i] += s.var;
        }
}

/* Store column j of a block (from), scaled and shifted, in a map (rows x T floats); NULL:
 * nothing. */
static void store_column(const passing *p, kn_mat from, ptrdiff_t j, units in, float *map)
{
    const double *x = kn_col(from, j);
    ptrdiff_t T = p->w->scores->T, at = p->w->model->y.kept[p->b->first + j];
    for (ptrdiff_t i = 0; map && i < p->rows; i++)
        map[i * T + at] = (float)(x[i] * in.scale + in.shift);
}

/* Worker: stores mean and model variance of responses from .. end - 1 of the block in their maps,
 * in original units. */
static void keep_predictions(void *self, ptrdiff_t from, ptrdiff_t end)
{
    const passing *p = self;
    const kn_scaling *s = &p->w->model->y;
    for (ptrdiff_t j = from; j < end; j++) {
        double sd = s->sd[p->b->first + j];
        store_column(p, p->b->mean, j, (units){sd, s->mean[p->b->first + j]},
                     p->w->map[KN_PASS_YHAT]);
        store_column(p, p->b->var, j, (units){sd * sd, 0}, p->w->map[KN_PASS_YS2_MODEL]);
    }
}

/* V (rows): total variance of response j of the block, with noise at the participant's covariates
 * and site, standardised. noise_variance (rows, or NULL): V without the model variance; may be the
 * model-variance column itself [METHOD 8c, 8e]. */
static void total_variance(const passing *p, ptrdiff_t j, double *noise_variance, double *V)
{
    const kn_block *b = p->b;
    const kn_model *m = p->w->model;
    const double *v = kn_col(b->var, j);
    const double *beta = p->D.data ? kn_col(m->calibration.beta, b->first + j) : NULL;
    kn_calibration_factor(p->D, beta, p->rows, p->term, V);
    for (ptrdiff_t i = 0; i < p->rows; i++) {
        ptrdiff_t participant = p->row + i;
        kn_site_shift at =
            kn_site_lookup_effect(&p->w->relation->from, m, participant, b->first + j);
        double noise = kn_scores_noise(p->w->scores, participant, b->first + j) * at.scale * V[i];
        V[i] = v[i] + noise;
        if (noise_variance)
            noise_variance[i] = noise + at.var; /* uncertainty of the site counts as noise */
    }
}

/* Worker: stores the total variance of responses from .. end - 1 of the block in the map ys2, in
 * squared original units. */
static void keep_totals(void *self, ptrdiff_t from, ptrdiff_t end)
{
    const passing *p = self;
    for (ptrdiff_t j = from; j < end; j++) {
        double sd = p->w->model->y.sd[p->b->first + j];
        total_variance(p, j, NULL, kn_col(p->work, j));
        store_column(p, p->work, j, (units){sd * sd, 0}, p->w->map[KN_PASS_YS2]);
    }
}

/* Replace z (rows) of training participants at response j of the block by the held-out z of the
 * reference. */
static void use_cross_validated(const passing *p, ptrdiff_t j, double *z)
{
    const kn_model *m = p->w->model;
    for (ptrdiff_t i = 0; i < p->rows; i++) {
        ptrdiff_t t = p->w->scores->cv_row[p->row + i];
        if (t >= 0 && isfinite(z[i])) /* a response that is missing now has no z */
            z[i] = (double)m->reference.z[t * m->gp.T + p->b->first + j];
    }
}

/* Compute z-scores and losses of response j of the block, for the participants of the minibatch. On
 * return z by noise variance alone is in the variance column. */
static void make_column(const passing *p, ptrdiff_t j)
{
    const kn_block *b = p->b;
    ptrdiff_t n = p->rows;
    const kn_model *m = p->w->model;
    const kn_calibration_transform *l = &m->calibration;
    const kn_shash *distribution = p->w->distribution ? &p->w->distribution[b->first + j] : NULL;
    double *v = kn_col(b->var, j), *V = kn_col(p->work, j), *z = kn_col(p->z, j);
    const double *y = kn_col(b->y, j), *mean = kn_col(b->mean, j);
    total_variance(p, j, v, V);
    for (ptrdiff_t i = 0; i < n; i++)
        z[i] = isfinite(y[i]) ? y[i] - mean[i] : NAN;
    double *e = kn_col(p->loss, j); /* residuals; kn_calibration_z replaces them by losses */
    for (ptrdiff_t i = 0; i < n; i++)
        e[i] = z[i];
    kn_calibration_z(l, distribution, &(kn_calibration_cells){n, e, v, v, NULL});
    kn_calibration_z(l, distribution, &(kn_calibration_cells){n, z, V, z, e});
    for (ptrdiff_t i = 0; m->empty_level && i < p->rows; i++)
        if (kn_missing_record_untrained(m, p->raw, i, b->first + j))
            e[i] = NAN; /* no metric: the prediction rests on other levels */
}

/* Losses of response j of the block by the null model, which knows neither covariates nor sites. */
static void make_null_column(const passing *p, ptrdiff_t j)
{
    ptrdiff_t k = p->b->first + j;
    const kn_shash *distribution = p->w->null_distribution ? &p->w->null_distribution[k] : NULL;
    kn_null_losses(&p->w->model->null, distribution, k, p->w->scores->mean0[k], p->rows,
                   kn_col(p->b->y, j), kn_col(p->null, j));
}

/* Worker: z and losses of responses from .. end - 1 of the block, by the model and by the null
 * model. */
static void make_z(void *self, ptrdiff_t from, ptrdiff_t end)
{
    const passing *p = self;
    for (ptrdiff_t j = from; j < end; j++) {
        make_column(p, j);
        if (p->null.data)
            make_null_column(p, j);
    }
}

/* Worker: stores z, and z by noise variance alone, of responses from .. end - 1, after training
 * participants got their held-out z. */
static void keep_z(void *self, ptrdiff_t from, ptrdiff_t end)
{
    static const units AS_IT_IS = {1, 0};
    const passing *p = self;
    for (ptrdiff_t j = from; j < end; j++) {
        use_cross_validated(p, j, kn_col(p->z, j));
        store_column(p, p->z, j, AS_IT_IS, p->w->map[KN_PASS_Z]);
        store_column(p, p->b->var, j, AS_IT_IS, p->w->z_noise);
    }
}

/* Block visitor (self: passing). Records the predictions for extrapolation before site shifts, adds
 * the site shifts, and stores the maps of predictions; predict stops here. Then adds z, losses and
 * null losses to the scores, replaces z of training participants by their stored held-out z, and
 * stores z. Overwrites mean and var of the block: visitors that need them come before. */
static kn_status pass_block(kn_ctx *ctx, void *self, kn_block *b)
{
    enum { RESPONSES = 64, MOVE = 20, MAKE = 300 }; /* flops per cell, for the chunk size */
    kn_status status = KN_OK;
    passing *p = self;
    const kn_pass *w = p->w;
    ptrdiff_t moved = kn_chunk_size(RESPONSES, MOVE * p->rows),
              made = kn_chunk_size(RESPONSES, MAKE * p->rows);
    p->now = *b;
    p->now.y = kn_sub(b->y, 0, 0, p->rows, b->count);
    p->now.mean = kn_sub(b->mean, 0, 0, p->rows, b->count);
    p->now.var = kn_sub(b->var, 0, 0, p->rows, b->count);
    p->b = b = &p->now;
    kn_scores_add_predictions(ctx, w->scores, p->row,
                              b); /* before site shifts: extrapolation is independent of the site */
    if (w->relation->from.without_site)
        kn_parallel(ctx, b->count, moved, move_to_sites, p);
    kn_parallel(ctx, b->count, moved, keep_predictions, p);
    if (w->map[KN_PASS_YS2])
        kn_parallel(ctx, b->count, made, keep_totals, p);
    if (w->score) {
        kn_mat z = kn_cols(p->z, 0, b->count);
        kn_parallel(ctx, b->count, made, make_z, p);
        kn_cell_losses losses = {z, kn_cols(p->loss, 0, b->count),
                                 p->null.data ? kn_cols(p->null, 0, b->count) : kn_mat_none()};
        kn_scores_add_losses(ctx, w->scores, p->row, b, &losses);
        kn_parallel(ctx, b->count, moved, keep_z, p);
        status = kn_scores_add_z(ctx, w->scores, p->row, z);
    }
    ptrdiff_t done = p->rows * (b->first + b->count) / w->model->gp.T;
    kn_report_progress(ctx, w->score ? "scoring" : "predicting", p->row + done, w->participants->n,
                       NAN);
    return status;
}

/* Shift and scale of the residual of participant i at response j, if it is at an adapted or unknown
 * site, in units of the noise there; uncertainty of the site counts as noise [METHOD 8e, 8j]. */
static kn_map_density_shift site_shift_of(const void *self, ptrdiff_t i, ptrdiff_t j)
{
    const passing *p = self;
    kn_site_shift at = kn_site_lookup_effect(&p->w->relation->from, p->w->model, p->row + i, j);
    double noise = kn_scores_noise(p->w->scores, p->row + i, j);
    bool same = at.var == 0 && at.scale == 1;
    return (kn_map_density_shift){at.offset,
                                  same || !(noise > 0) ? 1 : sqrt(at.scale + at.var / noise)};
}

/* Set the responses of a map (rows x all responses) that the model does not have to NaN; NULL:
 * nothing. */
static void clear_unmodelled(const passing *p, float *map)
{
    const kn_scaling *s = &p->w->model->y;
    for (ptrdiff_t j = 0, k = 0; map && j < s->n_all; j++) {
        if (k < s->n_kept && s->kept[k] == j) {
            k++;
            continue;
        }
        for (ptrdiff_t i = 0; i < p->rows; i++)
            map[i * s->n_all + j] = NAN;
    }
}

/* Make the inputs of the noise scale for the padded minibatch: columns D and site terms. */
static kn_status prepare_calibration(kn_ctx *ctx, passing *p)
{
    const kn_calibration_transform *l = &p->w->model->calibration;
    const int *site = p->w->relation->from.site;
    kn_status status = kn_calibration_columns(ctx, l, &p->w->model->x, p->raw, &p->D);
    if (status != KN_OK || !site || l->S == 0)
        return status;
    status = kn_alloc_d(ctx, p->raw.rows, &p->term);
    for (ptrdiff_t i = 0; status == KN_OK && i < p->raw.rows; i++)
        kn_calibration_shift(l, &site[p->from[i]], 1, &p->term[i]);
    return status;
}

/* Pad the minibatch to its fixed height with copies of the last participant, so that BLAS results
 * do not depend on the number of rows. */
static kn_status pad_minibatch(kn_ctx *ctx, passing *p)
{
    kn_status status;
    void *memory;
    const kn_participant_status *s = p->w->relation;
    const bool *without_site = s->from.without_site;
    ptrdiff_t n = p->w->scores->height;
    KN_TRY(kn_alloc_i(ctx, n, &p->from));
    for (ptrdiff_t i = 0; i < n; i++)
        p->from[i] = p->row + kn_min_size(i, p->rows - 1);
    KN_TRY(kn_mat_new(ctx, n, p->w->participants->X.cols, &p->X));
    kn_mat_rows(p->w->participants->X, p->from, p->X);
    p->raw = kn_view_cols(p->X.data, n, p->X.cols);
    KN_TRY(kn_alloc_int(ctx, n, &p->n_clamped));
    if (s->group)
        KN_TRY(kn_alloc_i(ctx, n, &p->group));
    if (without_site)
        KN_TRY(kn_alloc(ctx, n, sizeof *p->without_site, &memory));
    p->without_site = without_site ? memory : NULL;
    for (ptrdiff_t i = 0; i < n; i++) {
        p->n_clamped[i] = s->n_clamped[p->from[i]];
        if (s->group)
            p->group[i] = s->group[p->from[i]];
        if (without_site)
            p->without_site[i] = without_site[p->from[i]];
    }
out:
    return status;
}

/* Frees the work space of a minibatch. */
static void passing_clear(passing *p)
{
    kn_mat_clear(&p->X);
    kn_free(p->from);
    kn_free(p->group);
    kn_free(p->n_clamped);
    kn_free(p->without_site);
    kn_mat_clear(&p->D);
    kn_free(p->term);
    kn_mat_clear(&p->z);
    kn_mat_clear(&p->loss);
    kn_mat_clear(&p->null);
    kn_mat_clear(&p->work);
}

kn_status kn_pass_minibatch(kn_ctx *ctx, const kn_pass *w, ptrdiff_t row, ptrdiff_t rows)
{
    kn_status status;
    kn_maps *maps = NULL;
    double *extra = NULL;
    passing p = {.w = w, .row = row, .rows = rows};
    unsigned needs = KN_BLOCK_MAPS | (w->score ? KN_BLOCK_Y : 0);
    kn_visitor visitor[2];
    int n = 0;
    kn_map_density_state density = {0};
    ptrdiff_t width = kn_block_loop_width(0, w->model->gp.T);
    ptrdiff_t height = w->scores->height;
    KN_TRY(pad_minibatch(ctx, &p));
    kn_predict_context known = {.group = p.group, .without_site = p.without_site};
    KN_TRY(kn_maps_predict_known(ctx, w->model, p.raw, known, &maps));
    if (w->score || w->map[KN_PASS_YS2]) {
        KN_TRY(prepare_calibration(ctx, &p));
        KN_TRY(kn_mat_new(ctx, rows, width, &p.work));
    }
    if (w->score) {
        KN_TRY(kn_mat_new(ctx, rows, width, &p.z));
        KN_TRY(kn_mat_new(ctx, rows, width, &p.loss));
        if (w->model->null.noise)
            KN_TRY(kn_mat_new(ctx, rows, width, &p.null));
    }
    KN_TRY(kn_alloc_d(ctx, height, &extra));
    kn_extrapolation_job beyond = {w->model, p.raw, &maps->maps, p.n_clamped, p.without_site};
    KN_TRY(kn_extrapolation_at_site(ctx, &beyond, extra));
    kn_scores_extrapolation(w->scores, row, rows, extra);
    kn_responses Y = kn_responses_of(w->participants->Y, &w->model->y);
    kn_block_loop walk = {.Y = kn_responses_rows(&Y, p.from, height), .maps = &maps->maps};
    for (int k = 0; k < KN_N_MAPS; k++)
        clear_unmodelled(&p, w->map[k]);
    clear_unmodelled(&p, w->z_noise);
    density.job = (kn_map_density_job){.maps = &maps->maps,
                                       .scaling = &w->model->y,
                                       .place = p.without_site ? site_shift_of : NULL,
                                       .self = &p,
                                       .participants = rows};
    if (w->score) /* must see the block before pass_block overwrites it */
        visitor[n++] = kn_map_density_visitor(&density);
    visitor[n++] = (kn_visitor){&p, needs, NULL, pass_block, NULL};
    KN_TRY(kn_block_loop_run(ctx, &walk, visitor, n));
    if (w->score)
        kn_scores_add_density(w->scores, row, rows, &density);
out:
    kn_map_density_state_clear(&density);
    passing_clear(&p);
    kn_free(extra);
    kn_maps_free(maps);
    return status;
}
