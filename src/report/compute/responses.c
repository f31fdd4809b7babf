/* Section on responses: how well each is predicted, whether its z-scores have variance 1, and
 * which responses are shown with curves   [METHOD 11a]. Page and figures print what is stored here.
 *
 *     R2, MSLL, gain   of the scored participants, if the folder has them; else R2 of the training
 *                      sample by cross-validation
 *     limits     chi^2_m/m of a mean z^2, 1/m = 1/n + 1/N: the noise estimated from the training
 *                sample has an error
 *
 * Shown with curves: the responses that {show} names, else those with the largest R2; in images
 * KN_REPORT_SHOWN that are MIN_DISTANCE mm from each other. */
#include <ctype.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/compute/internal.h"
#include "report/input/records.h"
#include "stats/distributions.h"

enum { BEST = 20, SHOWN_MAX = 100 };
static const double MIN_DISTANCE = 25; /* mm */

/* ---- numbers ---- */

/* Copies the names of all responses into one block of the arena: there may be a million. */
static kn_status copy_names(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    const kn_report_input *m = job->m;
    void *list, *text;
    size_t size = 0, at = 0;
    if (!m->name)
        return KN_OK;
    for (ptrdiff_t j = 0; j < m->T; j++)
        size += strlen(m->name[j]) + 1;
    KN_TRY(kn_arena_alloc(ctx, &job->r->arena, m->T, sizeof(char *), &list));
    KN_TRY(kn_arena_alloc(ctx, &job->r->arena, (ptrdiff_t)size, 1, &text));
    for (ptrdiff_t j = 0; j < m->T; j++) {
        const size_t n = strlen(m->name[j]) + 1;
        ((const char **)list)[j] = memcpy((char *)text + at, m->name[j], n);
        at += n;
    }
    job->r->responses.name = list;
out:
    return status;
}

kn_status kn_report_copy_numbers(kn_ctx *ctx, kn_report *r, const double *x, ptrdiff_t n,
                                 double **out)
{
    kn_status status = kn_arena_d(ctx, &r->arena, x ? n : 0, out);
    if (*out)
        memcpy(*out, x, (size_t)n * sizeof *x);
    return status;
}

/* Sets the R2 of the responses to the cross-validated one of the training sample, if the model has
 * it for all responses. */
static kn_status copy_training_R2(kn_ctx *ctx, const kn_report_job *job)
{
    const kn_report_input *m = job->m;
    kn_report_responses *to = &job->r->responses;
    const kn_view R2 = m->model ? kn_model_array(m->model, "cv.R2") : kn_view_cols(NULL, 0, 0);
    const ptrdiff_t *kept = NULL;
    to->R2 = NULL;
    if (!R2.data || R2.rows != m->T || kn_model_kept(m->model, &kept) != m->T)
        return KN_OK;
    kn_status status = kn_report_copy_numbers(ctx, job->r, R2.data, m->T, &to->R2);
    to->R2_of_training = status == KN_OK;
    return status;
}

/* Returns the mean of the finite values of x (n); NaN without any, or if x is NULL. */
static double mean_known(const double *x, ptrdiff_t n)
{
    double sum = 0, known = 0;
    for (ptrdiff_t j = 0; x && j < n; j++)
        if (isfinite(x[j])) {
            sum += x[j];
            known++;
        }
    return known > 0 ? sum / known : NAN;
}

/* Sets the 95 % limits of the mean z^2 of a calibrated response (chi^2_m / m, head of this file)
 * and the share of responses within. */
static kn_status compute_z2_limits(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    kn_report_responses *to = &job->r->responses;
    kn_distinct_participants u = {0};
    bool training = false;
    double inside = 0, known = 0;
    to->z2_low = to->z2_high = to->z2_inside = NAN;
    KN_TRY(kn_distinct_participants_new(ctx, job, training, &u));
    if (u.n == 0) {
        training = true;
        kn_distinct_participants_clear(&u);
        KN_TRY(kn_distinct_participants_new(ctx, job, training, &u));
    }
    if (u.n == 0 || !to->z2)
        goto out;
    const double widening = kn_distinct_participants_widening(job, training, u.n);
    const double m = (double)u.n / (widening * widening);
    to->z2_low = kn_quantile_chi2(0.025, m) / m;
    to->z2_high = kn_quantile_chi2(0.975, m) / m;
    for (ptrdiff_t j = 0; j < to->T; j++)
        if (isfinite(to->z2[j])) {
            known++;
            inside += to->z2[j] >= to->z2_low && to->z2[j] <= to->z2_high;
        }
    to->z2_inside = known > 0 ? inside / known : NAN;
out:
    kn_distinct_participants_clear(&u);
    return status;
}

/* Sets the mean gain: of the column, or of summary.json where a folder of maps has no table. */
static kn_status set_mean_gain(kn_ctx *ctx, const kn_report_job *job)
{
    kn_report_responses *to = &job->r->responses;
    json_t *summary = NULL;
    to->mean_gain = mean_known(to->gain, to->T);
    if (to->gain || !job->m->summary_json)
        return KN_OK;
    kn_status status = kn_json_parse(ctx, "summary.json", job->m->summary_json, &summary);
    if (status == KN_OK)
        to->mean_gain = kn_json_number_at(summary, "metrics.gain");
    json_decref(summary);
    return status;
}

/* ---- best predicted ---- */

typedef struct rank {
    double R2, gain; /* gain: 0 if it is not known */
    ptrdiff_t response;
} rank;

/* Comparison for qsort: larger R2 first, then larger gain, then the order of the responses. */
static int by_R2(const void *a, const void *b)
{
    const rank *x = a, *y = b;
    int order = (x->R2 < y->R2) - (x->R2 > y->R2);
    order = order ? order : (x->gain < y->gain) - (x->gain > y->gain);
    return order ? order : (x->response > y->response) - (x->response < y->response);
}

/* Sets *out (kn_free) to the *n responses with a known R2, best predicted first. */
static kn_status rank_responses(kn_ctx *ctx, const kn_report_responses *r, rank **out, ptrdiff_t *n)
{
    void *memory;
    kn_status status = kn_alloc(ctx, r->T, sizeof(rank), &memory);
    *out = memory;
    *n = 0;
    if (status != KN_OK)
        return status;
    for (ptrdiff_t j = 0; j < r->T; j++) {
        double gain = r->gain && isfinite(r->gain[j]) ? r->gain[j] : 0;
        if (!r->R2 || !isnan(r->R2[j]))
            (*out)[(*n)++] = (rank){r->R2 ? r->R2[j] : 0, gain, j};
    }
    qsort(*out, (size_t)*n, sizeof **out, by_R2);
    return KN_OK;
}

/* Stores the best responses, at most BEST, in the order of `by` (n): only those with R2 > 0 in
 * held-out participants. */
static kn_status store_best(kn_ctx *ctx, kn_report *r, const rank *by, ptrdiff_t n)
{
    kn_report_responses *to = &r->responses;
    while (to->n_best < n && to->n_best < BEST && by[to->n_best].R2 > 0)
        to->n_best++;
    kn_status status = kn_arena_i(ctx, &r->arena, to->n_best, &to->best);
    for (ptrdiff_t k = 0; status == KN_OK && k < to->n_best; k++)
        to->best[k] = by[k].response;
    return status;
}

/* ---- shown ---- */

typedef struct chosen {
    ptrdiff_t n, limit;
    ptrdiff_t *response;
    double (*mm)[3]; /* positions; NaN: not known */
} chosen;

typedef struct positions {
    const kn_report_space *space;
    const double **vertex; /* T  surfaces: x, y, z of the vertex; NULL: none */
} positions;

/* Finds the first vertex of each of T responses on a surface as out->vertex, which the caller
 * frees; other spaces need nothing. */
static kn_status positions_new(kn_ctx *ctx, const kn_report_space *s, ptrdiff_t T, positions *out)
{
    *out = (positions){.space = s};
    if (s->kind != KN_REPORT_SURFACE || s->region)
        return KN_OK;
    void *memory;
    kn_status status = kn_alloc(ctx, T, sizeof *out->vertex, &memory);
    out->vertex = memory;
    for (int k = s->meshes - 1; status == KN_OK && k >= 0; k--)
        /* So that the first vertex remains. */
        for (ptrdiff_t v = s->mesh[k].surface.vertices - 1; v >= 0; v--)
            if (s->mesh[k].response[v] >= 0)
                out->vertex[s->mesh[k].response[v]] = s->mesh[k].surface.xyz + 3 * v;
    return status;
}

/* Sets mm to the position of response j: of its voxel or vertex; NaN for regions and tables. */
static void position_of(const positions *p, ptrdiff_t j, double mm[3])
{
    const kn_report_space *s = p->space;
    mm[0] = mm[1] = mm[2] = NAN;
    if (s->kind == KN_REPORT_VOLUME && s->voxel) {
        const ptrdiff_t v = s->voxel[j], plane = s->dim[0] * s->dim[1];
        const double at[3] = {(double)(v % s->dim[0]), (double)(v / s->dim[0] % s->dim[1]),
                              (double)(v / plane)};
        for (int a = 0; a < 3; a++)
            mm[a] = s->affine[a][0] * at[0] + s->affine[a][1] * at[1] + s->affine[a][2] * at[2] +
                    s->affine[a][3];
    }
    if (p->vertex && p->vertex[j])
        for (int a = 0; a < 3; a++)
            mm[a] = p->vertex[j][a];
}

/* Returns whether a position is at least MIN_DISTANCE mm from those chosen before; true if either
 * is NaN. */
static bool is_distant(const chosen *c, const double mm[3])
{
    for (ptrdiff_t k = 0; k < c->n; k++) {
        double d2 = 0;
        for (int a = 0; a < 3; a++)
            d2 += (mm[a] - c->mm[k][a]) * (mm[a] - c->mm[k][a]);
        if (d2 < MIN_DISTANCE * MIN_DISTANCE) /* false if either is NaN */
            return false;
    }
    return true;
}

/* Chooses the best predicted responses, in the order of `by` (n), that are MIN_DISTANCE from each
 * other, up to KN_REPORT_SHOWN. */
static kn_status choose_best(kn_ctx *ctx, const kn_report *r, const rank *by, ptrdiff_t n,
                             chosen *c)
{
    positions at;
    kn_status status = positions_new(ctx, &r->space, r->responses.T, &at);
    for (ptrdiff_t k = 0; status == KN_OK && k < n && c->n < KN_REPORT_SHOWN; k++) {
        position_of(&at, by[k].response, c->mm[c->n]);
        if (is_distant(c, c->mm[c->n]))
            c->response[c->n++] = by[k].response;
    }
    kn_free(at.vertex);
    return status;
}

/* Returns the end of the pattern of {show} at `text`: the next comma outside quotes; for images,
 * whose responses are named x,y,z, three integers are one pattern. */
static const char *pattern_end(const char *text, bool image)
{
    const char *at = text;
    int commas = 0;
    if (*text == '"' || *text == '\'') {
        const char *close = strchr(text + 1, *text);
        return close ? close + strcspn(close, ",") : text + strlen(text);
    }
    if (image)
        for (; isdigit((unsigned char)*at) || *at == ' ' || (*at == ',' && commas < 2); at++)
            commas += *at == ',';
    if (commas == 2 && isdigit((unsigned char)at[-1]) && (*at == ',' || *at == '\0'))
        return at;
    return text + strcspn(text, ",");
}

/* Adds the responses whose names match a shell pattern, each once. KN_ERR_ARGUMENT if none matches,
 * or if there are more than c->limit. */
static kn_status choose_named(kn_ctx *ctx, const kn_report_job *job, const char *pattern, chosen *c)
{
    const kn_report_responses *r = &job->r->responses;
    bool any = false;
    for (ptrdiff_t j = 0; r->name && j < r->T; j++) {
        bool twice = false;
        if (fnmatch(pattern, r->name[j], 0) != 0)
            continue;
        any = true;
        for (ptrdiff_t k = 0; k < c->n; k++)
            twice = twice || c->response[k] == j;
        if (twice)
            continue;
        if (c->n == c->limit)
            return kn_fail(ctx, KN_ERR_ARGUMENT,
                           "{show} selects more than %td responses; select fewer", c->limit);
        c->response[c->n++] = j;
    }
    return any ? KN_OK : kn_fail(ctx, KN_ERR_ARGUMENT, "{show}: no response matches '%s'", pattern);
}

/* Splits {show} into patterns, without surrounding spaces and quotes, and adds their responses to
 * c. Fails as choose_named() does. */
static kn_status choose_patterns(kn_ctx *ctx, const kn_report_job *job, chosen *c)
{
    kn_status status = KN_OK;
    const bool image = job->m->space.kind == KN_SPACE_IMAGE;
    char pattern[1100];
    for (const char *at = job->s->show; at && *at;) {
        const char *end = pattern_end(at, image), *first = at, *last = end;
        while (last > first && isspace((unsigned char)last[-1]))
            last--;
        while (first < last && isspace((unsigned char)*first))
            first++;
        if (last - first >= 2 && (*first == '"' || *first == '\'') && last[-1] == *first)
            first++, last--;
        size_t n =
            (size_t)(last - first) < sizeof pattern ? (size_t)(last - first) : sizeof pattern - 1;
        memcpy(pattern, first, n);
        pattern[n] = '\0';
        KN_TRY(choose_named(ctx, job, pattern, c));
        at = *end == ',' ? end + 1 : end;
    }
out:
    return status;
}

/* Sets r->curves.shown to the responses whose curves compute/curves.c computes: those of {show},
 * else the best of `by` (n); none for cv. */
static kn_status choose_shown(kn_ctx *ctx, const kn_report_job *job, const rank *by, ptrdiff_t n)
{
    kn_status status;
    kn_report *r = job->r;
    chosen c = {.limit = SHOWN_MAX};
    void *memory = NULL;
    KN_TRY(kn_alloc_i(ctx, c.limit, &c.response));
    KN_TRY(kn_alloc(ctx, c.limit, sizeof *c.mm, &memory));
    c.mm = memory;
    if (job->s->show)
        KN_TRY(choose_patterns(ctx, job, &c));
    else
        KN_TRY(choose_best(ctx, r, by, n, &c));
    if (!job->m->model)
        goto out;
    void *rows;
    KN_TRY(kn_arena_alloc(ctx, &r->arena, c.n, sizeof *r->curves.shown, &rows));
    r->curves.shown = rows;
    r->curves.n = c.n;
    for (ptrdiff_t k = 0; k < c.n; k++)
        r->curves.shown[k].response = c.response[k];
out:
    kn_free(memory);
    kn_free(c.response);
    return status;
}

kn_status kn_compute_responses(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    kn_report_responses *to = &job->r->responses;
    rank *by = NULL;
    ptrdiff_t n = 0;
    to->T = job->m->T;
    KN_TRY(copy_names(ctx, job));
    KN_TRY(kn_report_copy_numbers(ctx, job->r, kn_report_input_responses(job->m, "R2"), to->T,
                                  &to->R2));
    KN_TRY(kn_report_copy_numbers(ctx, job->r, kn_report_input_responses(job->m, "MSLL"), to->T,
                                  &to->MSLL));
    KN_TRY(kn_report_copy_numbers(ctx, job->r, kn_report_input_responses(job->m, "gain"), to->T,
                                  &to->gain));
    if (isnan(mean_known(to->R2, to->T)))
        KN_TRY(copy_training_R2(ctx, job));
    if (isnan(mean_known(to->MSLL, to->T)))
        to->MSLL = NULL;
    if (isnan(mean_known(to->gain, to->T)))
        to->gain = NULL;
    to->mean_R2 = mean_known(to->R2, to->T);
    to->mean_MSLL = mean_known(to->MSLL, to->T);
    KN_TRY(set_mean_gain(ctx, job));
    KN_TRY(compute_z2_limits(ctx, job));
    KN_TRY(rank_responses(ctx, to, &by, &n));
    KN_TRY(store_best(ctx, job->r, by, n));
    KN_TRY(choose_shown(ctx, job, by, n));
out:
    kn_free(by);
    return status;
}
