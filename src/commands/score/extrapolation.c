/* Implements extrapolation.h: tries training sites as hosts, keeps the one with the smallest sum
 * of variances, and predicts again without clamping. It is used for participants at no training
 * site. */
#include "commands/score/extrapolation.h"

#include <math.h>

#include "gp/method.h"
#include "gp/predict/predict.h"

/* Work space of the search for host sites. */
typedef struct hosts {
    kn_mat raw;  /* n x C: covariates; participants without site get the codes of a training site */
    kn_mat X;    /* n x F: design, unclamped */
    kn_mat near; /* n x F: design, clamped; empty: all participants have a site */
    double *now; /* n: sum at the current site */
    /* n: smallest sum so far */
    double *lowest;
    ptrdiff_t *site; /* n: host, the site of the smallest sum */
} hosts;

/* Free the designs at the host sites. */
static void hosts_clear(hosts *h)
{
    kn_mat_clear(&h->raw);
    kn_mat_clear(&h->X);
    kn_mat_clear(&h->near);
    kn_free(h->now);
    kn_free(h->lowest);
    kn_free(h->site);
}

/* True if the model variance is that of components alone, whose columns of B have length 1: the sum
 * over responses is then the sum over components. */
static bool is_sum_of_components(const kn_gp_maps *m)
{
    const kn_gp *gp = m->gp;
    return !m->own && !gp->psi && !gp->W.data && !m->part[0].direct && m->part[0].var.cols == gp->P;
}

/* sum (n) += sign * the model variances of each participant over the responses before `end`; for a
 * sum of components over all responses, sum_j v_ij = sum_p v_lat,ip. */
static kn_status add_variances(kn_ctx *ctx, const kn_gp_maps *maps, ptrdiff_t end, double sign,
                               double *sum)
{
    kn_status status = KN_OK;
    ptrdiff_t P = maps->gp->P, width = kn_min_size(end, KN_BLOCK);
    kn_mat var = {0};
    bool components = is_sum_of_components(maps);
    for (ptrdiff_t p = 0; components && p < P; p++)
        for (ptrdiff_t i = 0; i < maps->n; i++)
            sum[i] += sign * kn_at(maps->part[0].var, i, p);
    if (components)
        return KN_OK;
    KN_TRY(kn_mat_new(ctx, maps->n, width, &var));
    for (ptrdiff_t first = 0; first < end; first += width) {
        kn_mat v = kn_cols(var, 0, kn_min_size(end - first, width));
        KN_TRY(kn_gp_maps_block(ctx, maps, first, kn_mat_none(), v));
        for (ptrdiff_t j = 0; j < v.cols; j++)
            for (ptrdiff_t i = 0; i < v.rows; i++)
                sum[i] += sign * kn_at(v, i, j);
    }
out:
    kn_mat_clear(&var);
    return status;
}

/* Make h->X, unclamped, and h->near, clamped, from h->raw. Participants without site and without
 * clamped covariates use the clamped row: squares may be clamped all the same, as in the maps of
 * others. */
static kn_status make_columns(kn_ctx *ctx, const kn_extrapolation_job *job, hosts *h)
{
    kn_status status;
    const kn_design *d = &job->model->x;
    kn_view raw = kn_view_cols(h->raw.data, h->raw.rows, h->raw.cols);
    KN_TRY(kn_design_apply(ctx, d, raw, false, h->X, NULL));
    if (h->near.data)
        KN_TRY(kn_design_apply(ctx, d, raw, true, h->near, NULL));
    for (ptrdiff_t f = 0; h->near.data && f < h->X.cols; f++)
        for (ptrdiff_t i = 0; i < h->X.rows; i++)
            if (job->without_site[i] && job->n_clamped[i] == 0)
                kn_col(h->X, f)[i] = kn_at(h->near, i, f);
out:
    return status;
}

/* sum (n) += variances over the responses before `end` (without components: distances) of
 * participants with covariates h->raw. Can be cancelled. */
static kn_status add_extrapolation(kn_ctx *ctx, const kn_extrapolation_job *job, hosts *h,
                                   ptrdiff_t end, double *sum)
{
    kn_status status;
    const kn_model *m = job->model;
    kn_gp_maps unclamped = {0};
    KN_TRY(kn_check_cancel(ctx));
    KN_TRY(make_columns(ctx, job, h));
    KN_TRY(kn_gp_predict(ctx, &m->gp, &(kn_predict_input){.X = h->X}, &unclamped));
    for (ptrdiff_t i = 0; unclamped.extrapolation && i < unclamped.n; i++)
        sum[i] += unclamped.extrapolation[i];
    if (!unclamped.extrapolation)
        KN_TRY(add_variances(ctx, &unclamped, end, 1, sum));
out:
    kn_gp_maps_clear(&unclamped);
    return status;
}

/* Set the batch columns of row i of raw to training site s. */
static void move_to_site(const kn_site_levels *b, ptrdiff_t s, kn_mat raw, ptrdiff_t i)
{
    for (ptrdiff_t k = 0; k < b->M; k++)
        kn_col(raw, b->column[k])[i] = b->code[s * b->M + k];
}

/* True if training site s is a candidate host. If the model is more than components a prediction
 * costs as much as scoring, and only the HOSTS largest sites are tried, the lowest of equals. */
static bool is_tried(const kn_extrapolation_job *job, ptrdiff_t s)
{
    enum { HOSTS = 4 };
    const kn_site_levels *b = &job->model->batch;
    ptrdiff_t before = 0;
    for (ptrdiff_t t = 0; job->model->gp.own && t < b->S; t++)
        before += b->n_participants[t] > b->n_participants[s] ||
                  (b->n_participants[t] == b->n_participants[s] && t < s);
    return before < HOSTS;
}

/* Find the training site at which each participant without site has the smallest sum of variances,
 * and move h->raw there. */
static kn_status find_hosts(kn_ctx *ctx, const kn_extrapolation_job *job, hosts *h)
{
    kn_status status = KN_OK;
    const kn_site_levels *b = &job->model->batch;
    ptrdiff_t n = job->X.rows;
    KN_TRY(kn_mat_new(ctx, n, job->model->x.F, &h->near));
    KN_TRY(kn_alloc_d(ctx, n, &h->now));
    KN_TRY(kn_alloc_d(ctx, n, &h->lowest));
    KN_TRY(kn_alloc_i(ctx, n, &h->site));
    for (ptrdiff_t i = 0; i < n; i++)
        h->lowest[i] = INFINITY;
    for (ptrdiff_t s = 0; b->S > 1 && s < b->S; s++) {
        if (!is_tried(job, s))
            continue;
        for (ptrdiff_t i = 0; i < n; i++) {
            h->now[i] = 0;
            if (job->without_site[i])
                move_to_site(b, s, h->raw, i);
        }
        KN_TRY(add_extrapolation(ctx, job, h, kn_min_size(job->model->gp.T, KN_BLOCK), h->now));
        for (ptrdiff_t i = 0; i < n; i++)
            if (h->now[i] < h->lowest[i]) {
                h->lowest[i] = h->now[i];
                h->site[i] = s;
            }
    }
    for (ptrdiff_t i = 0; b->S > 0 && i < n; i++)
        if (job->without_site[i])
            move_to_site(b, h->site[i], h->raw, i);
out:
    return status;
}

/* True if the variances in the maps of participant i do not measure its extrapolation: without site
 * effect, clamped, or in a known group. */
static bool is_asked(const kn_extrapolation_job *job, ptrdiff_t i)
{
    const kn_gp_maps *m = job->maps;
    return (job->without_site && job->without_site[i]) || job->n_clamped[i] > 0 ||
           (m->known && m->known[i]);
}

kn_status kn_extrapolation_at_site(kn_ctx *ctx, const kn_extrapolation_job *job, double *extra)
{
    kn_status status = KN_OK;
    const kn_gp_maps *maps = job->maps;
    ptrdiff_t n = job->X.rows;
    hosts h = {0};
    bool any = false, without_site = false;
    for (ptrdiff_t i = 0; i < n; i++) {
        extra[i] = maps->extrapolation ? maps->extrapolation[i] : 0;
        without_site = without_site || (job->without_site && job->without_site[i]);
        any = any || is_asked(job, i);
    }
    if (!any)
        return KN_OK;
    KN_TRY(kn_mat_new(ctx, n, job->X.cols, &h.raw));
    for (ptrdiff_t c = 0; c < job->X.cols; c++)
        kn_view_column(job->X, 0, n, c, kn_col(h.raw, c));
    KN_TRY(kn_mat_new(ctx, n, job->model->x.F, &h.X));
    if (without_site)
        KN_TRY(find_hosts(ctx, job, &h));
    for (ptrdiff_t i = 0; i < n; i++)
        extra[i] = 0;
    KN_TRY(add_extrapolation(ctx, job, &h, job->model->gp.T, extra));
    if (!maps->extrapolation)
        KN_TRY(add_variances(ctx, maps, job->model->gp.T, -1, extra));
    for (ptrdiff_t i = 0; i < n; i++)
        if (!is_asked(job, i))
            extra[i] = maps->extrapolation ? maps->extrapolation[i] : 0;
out:
    hosts_clear(&h);
    return status;
}
