#include "work/centile_curves.h"

#include <math.h>

#include "gp/method.h"
#include "gp/walk.h"
#include "model/units.h"
#include "norm/extrapolation.h"
#include "work/predictions.h"

void kn_curves_clear(kn_curves *c)
{
    kn_mat_clear(&c->mean);
    kn_mat_clear(&c->var);
    kn_mat_clear(&c->noise);
    kn_free(c->extrapolation);
    *c = (kn_curves){0};
}

typedef struct passing {
    kn_curves *c;
    kn_mat D;       /* n x F: columns of the noise scale; none without one */
    double *factor; /* n */
    ptrdiff_t at;   /* responses of `kept` that have passed */
    double *ratio;  /* n  sums of extrapolation */
    double noise_sum;
} passing;

/* Response j of a block in its own units. */
static void keep(passing *p, const kn_block *b, ptrdiff_t j)
{
    const kn_model *m = p->c->model;
    ptrdiff_t k = b->first + j, to = p->at++;
    double sd = m->y.sd[k], own = sd * sd;
    kn_layer_factor(p->D, p->D.data ? kn_col(m->layer.beta, k) : NULL, p->c->n, p->factor);
    for (ptrdiff_t i = 0; i < p->c->n; i++) {
        kn_col(p->c->mean, to)[i] = kn_at(b->mean, i, j) * sd + m->y.mean[k];
        kn_col(p->c->var, to)[i] = kn_at(b->var, i, j) * own;
        kn_col(p->c->noise, to)[i] = m->gp.noise[k] * p->factor[i] * own;
    }
}

static kn_status pass_block(kn_ctx *ctx, void *self, kn_block *b)
{
    passing *p = self;
    const kn_curves *c = p->c;
    for (; p->at < c->S && c->kept[p->at] < b->first + b->count;)
        keep(p, b, c->kept[p->at] - b->first);
    for (ptrdiff_t j = 0; j < b->count; j++) {
        double iso = kn_reference_iso_share(&c->model->gp, b->first + j);
        kn_extrapolation_add(kn_cols(b->var, j, 1), &iso, c->model->gp.noise + b->first + j,
                             p->ratio, &p->noise_sum);
    }
    return kn_check_cancel(ctx);
}

/* As scores have it: what was held is further out than anybody. */
static kn_status judge(kn_ctx *ctx, passing *p, kn_view raw, const kn_maps *maps, const int *held)
{
    kn_status status;
    double *extra = NULL;
    const kn_model *m = p->c->model;
    bool by_covariates = m->gp.P == 0 && m->gp.method->components;
    KN_TRY(kn_alloc_d(ctx, p->c->n, &extra));
    KN_TRY(kn_maps_beyond(ctx, m, raw, maps, held, extra));
    for (ptrdiff_t i = 0; i < p->c->n; i++)
        p->ratio[i] += extra[i];
    kn_extrapolation_ratio(p->ratio, p->c->n, p->noise_sum);
    for (ptrdiff_t i = 0; i < p->c->n; i++) {
        double ratio = by_covariates && maps->maps.far ? maps->maps.far[i] : p->ratio[i];
        p->c->extrapolation[i] =
            held[i] > 0 ? 100 : kn_percentile(m->reference.extrapolation, m->reference.n, ratio);
    }
out:
    kn_free(extra);
    return status;
}

kn_status kn_curves_new(kn_ctx *ctx, const kn_model *model, kn_view raw, const ptrdiff_t *kept,
                        ptrdiff_t S, kn_curves *out)
{
    kn_status status;
    kn_maps *maps = NULL;
    kn_mat X = {0};
    void *held = NULL;
    passing p = {.c = out};
    kn_visitor visitor = {&p, KN_WALK_MAPS, NULL, pass_block, NULL};
    *out = (kn_curves){.model = model, .n = raw.rows, .S = S, .kept = kept};
    KN_TRY(kn_mat_new(ctx, out->n, S, &out->mean));
    KN_TRY(kn_mat_new(ctx, out->n, S, &out->var));
    KN_TRY(kn_mat_new(ctx, out->n, S, &out->noise));
    KN_TRY(kn_alloc_d(ctx, out->n, &out->extrapolation));
    KN_TRY(kn_alloc_d(ctx, out->n, &p.factor));
    KN_TRY(kn_alloc_d(ctx, out->n, &p.ratio));
    KN_TRY(kn_alloc(ctx, out->n, sizeof(int), &held));
    KN_TRY(kn_mat_new(ctx, out->n, model->x.F, &X));
    KN_TRY(kn_design_apply(ctx, &model->x, raw, true, X, held));
    KN_TRY(kn_layer_columns(ctx, &model->layer, &model->x, raw, &p.D));
    KN_TRY(kn_maps_predict(ctx, model, raw, &maps));
    kn_walk walk = {.Y = kn_responses_of((kn_view){.rows = out->n, .cols = model->y.n_all}, &model->y),
                    .maps = &maps->maps};
    KN_TRY(kn_walk_run(ctx, &walk, &visitor, 1));
    KN_TRY(judge(ctx, &p, raw, maps, held));
out:
    kn_mat_clear(&p.D);
    kn_free(p.factor);
    kn_free(p.ratio);
    kn_free(held);
    kn_mat_clear(&X);
    kn_maps_free(maps);
    if (status != KN_OK)
        kn_curves_clear(out);
    return status;
}

kn_status kn_curves_mean(kn_ctx *ctx, const kn_model *model, kn_view raw, const ptrdiff_t *response,
                         kn_mat mean)
{
    kn_status status;
    kn_maps *maps = NULL;
    KN_TRY(kn_maps_predict(ctx, model, raw, &maps));
    for (ptrdiff_t j = 0, w; j < mean.cols; j += w) { /* runs of neighbours */
        w = 1;
        while (j + w < mean.cols && w < KN_BLOCK && response[j + w] == response[j] + w)
            w++;
        KN_TRY(kn_model_maps_block(ctx, maps, response[j], w, kn_cols(mean, j, w), kn_mat_none()));
    }
out:
    kn_maps_free(maps);
    return status;
}
