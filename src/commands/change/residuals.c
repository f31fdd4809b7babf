/* Implements residuals.h: predictions per minibatch, residuals per block of responses. */
#include "commands/change/residuals.h"

#include <math.h>

#include "base/memory/mmap_hint.h"
#include "base/parallel/parallel_for.h"
#include "commands/common/maps_api.h"
#include "commands/score/score.h"
#include "gp/block_visitor.h"

typedef struct passing {
    const kn_model *model;
    const kn_site_lookup *from;
    ptrdiff_t row, rows, n;
    const kn_block *b;
    float *R;
} passing;

/* Offset of the site of row i from the prediction without site effect. */
static double offset_of(const passing *p, ptrdiff_t i, ptrdiff_t j)
{
    bool known = p->from->adapted && p->from->adapted[i] >= 0;
    return known || p->model->sites.T > 0 ? kn_site_lookup_effect(p->from, p->model, i, j).offset
                                          : 0;
}

static void keep(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const passing *p = self;
    ptrdiff_t T = p->model->gp.T;
    for (ptrdiff_t j = from; j < to; j++) {
        const double *y = kn_col(p->b->y, j), *mean = kn_col(p->b->mean, j);
        for (ptrdiff_t i = 0; i < p->rows; i++) {
            double offset = offset_of(p, p->row + i, p->b->first + j);
            p->R[(p->row + i) * T + p->b->first + j] =
                (float)(isfinite(y[i]) ? y[i] - mean[i] - offset : NAN);
        }
    }
}

static kn_status pass_block(kn_ctx *ctx, void *self, kn_block *b)
{
    enum { RESPONSES = 64 };
    passing *p = self;
    p->b = b;
    kn_parallel(ctx, b->count, RESPONSES, keep, p);
    ptrdiff_t done = p->rows * (b->first + b->count) / p->model->gp.T;
    kn_report_progress(ctx, "residuals", p->row + done, p->n, NAN);
    return KN_OK;
}

/* Predicts one minibatch and stores its residuals. */
static kn_status pass_batch(kn_ctx *ctx, passing *p, const kn_sample *people)
{
    kn_status status;
    kn_maps *maps = NULL;
    kn_visitor visitor = {p, KN_WALK_Y | KN_WALK_MEAN, NULL, pass_block, NULL};
    kn_view X = kn_view_cols(people->X.data, people->n, people->X.cols);
    kn_view Y = kn_view_some(people->Y, p->row, p->rows);
    kn_predict_context known = {.alone = p->from->alone ? p->from->alone + p->row : NULL};
    KN_TRY(kn_maps_predict_known(ctx, p->model, kn_view_some(X, p->row, p->rows), known, &maps));
    kn_block_loop walk = {.Y = kn_responses_of(Y, &p->model->y), .maps = &maps->maps};
    KN_TRY(kn_block_loop_run(ctx, &walk, &visitor, 1));
    kn_view_done(ctx, Y, 0, Y.cols);
out:
    kn_maps_free(maps);
    return status;
}

kn_status kn_residuals(kn_ctx *ctx, const kn_model *model, const kn_sample *people,
                       const kn_site_lookup *from, float *R)
{
    kn_status status = KN_OK;
    kn_problem_size shape = {
        .method = model->gp.method, .T = model->y.n_all, .N = people->n, .maps = 1, .value = 1};
    ptrdiff_t batch = kn_score_rows(&shape);
    passing p = {.model = model, .from = from, .n = people->n, .R = R};
    for (p.row = 0; p.row < people->n; p.row += batch) {
        p.rows = people->n - p.row < batch ? people->n - p.row : batch;
        KN_TRY(pass_batch(ctx, &p, people));
    }
out:
    return status;
}
