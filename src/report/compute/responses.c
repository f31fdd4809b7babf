/* Section on responses: how well each is predicted, whether its z-scores have variance 1, and
 * which are shown [METHOD 11a]
 *
 *     R2, MSLL   of the scored participants, if the folder has them; else R2 = 1 - noise/variance
 * of the model, at least 0, if its noise is that of held-out participants (METHOD 1d): for iso and
 * MT-Kronprod most of the unexplained variance is in the variance of the mean, and STGPR has the
 * noise of its likelihood limits     chi^2_m/m of a mean z^2, 1/m = 1/n + 1/N: training estimates
 * its noise with error
 *
 * Shown with curves: the responses that {show} names, else the best predicted; in images
 * KN_REPORT_SHOWN that are APART mm from each other. */
#include <ctype.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/compute/distinct_participants.h"
#include "stats/distributions.h"

enum { BEST = 20, SHOWN_MOST = 100 };
static const double APART = 25; /* mm */

/* ---- numbers ---- */

/* Copies all names into one block: there may be a million. */
static kn_status names(kn_ctx *ctx, const kn_report_job *job)
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

static kn_status copied(kn_ctx *ctx, kn_report *r, const double *from, ptrdiff_t n, double **out)
{
    if (!from)
        return KN_OK;
    kn_status status = kn_arena_d(ctx, &r->arena, n, out);
    if (status == KN_OK)
        memcpy(*out, from, (size_t)n * sizeof(double));
    return status;
}

/* Variance explained in training: 1 - noise/variance, at least 0. If the model has a slope from
 * held-out residuals, its noise is from them too. */
static kn_status explained(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    const kn_report_input *m = job->m;
    const ptrdiff_t *kept = NULL;
    double *noise = NULL;
    job->r->responses.R2 = NULL;
    if (!m->model || !m->y_sd || !kn_model_array(m->model, "slope").data)
        return KN_OK;
    const double all = kn_model_number(m->model, "n_responses");
    if (kn_model_kept(m->model, &kept) != m->T || !(all >= (double)m->T))
        return KN_OK;
    KN_TRY(kn_alloc_d(ctx, (ptrdiff_t)all, &noise));
    KN_TRY(kn_model_noise(ctx, m->model, noise));
    KN_TRY(kn_arena_d(ctx, &job->r->arena, m->T, &job->r->responses.R2));
    for (ptrdiff_t j = 0; j < m->T; j++)
        job->r->responses.R2[j] = fmax(1 - noise[kept[j]] / (m->y_sd[j] * m->y_sd[j]), 0);
    job->r->responses.R2_of_model = true;
out:
    kn_free(noise);
    return status;
}

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

/* Computes the limits of mean z^2 and the share of responses within. */
static kn_status limits(kn_ctx *ctx, const kn_report_job *job)
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

/* ---- best predicted ---- */

typedef struct rank {
    double loss;
    ptrdiff_t response;
} rank;

static int by_loss(const void *a, const void *b)
{
    const rank *x = a, *y = b;
    int order = (x->loss > y->loss) - (x->loss < y->loss);
    return order ? order : (x->response > y->response) - (x->response < y->response);
}

/* Sorts the *n responses, best predicted first; *out is owned by the caller (kn_free). */
static kn_status ranked(kn_ctx *ctx, const kn_report_responses *r, rank **out, ptrdiff_t *n)
{
    void *memory;
    kn_status status = kn_alloc(ctx, r->T, sizeof(rank), &memory);
    *out = memory;
    *n = 0;
    if (status != KN_OK)
        return status;
    for (ptrdiff_t j = 0; j < r->T; j++) {
        double loss = r->MSLL ? r->MSLL[j] : r->R2 ? -r->R2[j] : 0;
        if (!isnan(loss))
            (*out)[(*n)++] = (rank){loss, j};
    }
    qsort(*out, (size_t)*n, sizeof **out, by_loss);
    return KN_OK;
}

static kn_status best(kn_ctx *ctx, kn_report *r, const rank *by, ptrdiff_t n)
{
    kn_report_responses *to = &r->responses;
    if (!to->MSLL && !to->R2) /* no metric: in their order */
        n = 0;
    to->n_best = n < BEST ? n : BEST;
    kn_status status = kn_arena_i(ctx, &r->arena, to->n_best, &to->best);
    for (ptrdiff_t k = 0; status == KN_OK && k < to->n_best; k++)
        to->best[k] = by[k].response;
    return status;
}

/* ---- shown ---- */

typedef struct chosen {
    ptrdiff_t n, most;
    ptrdiff_t *response;
    double (*mm)[3]; /* positions; NaN: not known */
} chosen;

typedef struct places {
    const kn_report_space *space;
    const double **vertex; /* T  surfaces: x, y, z of the vertex; NULL: none */
} places;

static kn_status places_new(kn_ctx *ctx, const kn_report_space *s, ptrdiff_t T, places *out)
{
    *out = (places){.space = s};
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

static void place_of(const places *p, ptrdiff_t j, double mm[3])
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

static bool apart(const chosen *c, const double mm[3])
{
    for (ptrdiff_t k = 0; k < c->n; k++) {
        double d2 = 0;
        for (int a = 0; a < 3; a++)
            d2 += (mm[a] - c->mm[k][a]) * (mm[a] - c->mm[k][a]);
        if (d2 < APART * APART) /* false if either is NaN */
            return false;
    }
    return true;
}

/* If the best are all close together, searches all responses. */
static kn_status choose_best(kn_ctx *ctx, const kn_report *r, const rank *by, ptrdiff_t n,
                             chosen *c)
{
    places at;
    kn_status status = places_new(ctx, &r->space, r->responses.T, &at);
    for (ptrdiff_t k = 0; status == KN_OK && k < n && c->n < KN_REPORT_SHOWN; k++) {
        place_of(&at, by[k].response, c->mm[c->n]);
        if (apart(c, c->mm[c->n]))
            c->response[c->n++] = by[k].response;
    }
    kn_free(at.vertex);
    return status;
}

/* Returns the end of the pattern at `text`: the next comma outside quotes; for images, whose
 * responses are named x,y,z, three integers are one pattern. */
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

/* Adds the responses whose names match a shell pattern, each once. Fails if none matches, or if
 * there are more than c->most. */
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
        if (c->n == c->most)
            return kn_fail(ctx, KN_ERR_ARGUMENT,
                           "{show} names more than %td responses, expected some to look at",
                           c->most);
        c->response[c->n++] = j;
    }
    return any ? KN_OK : kn_fail(ctx, KN_ERR_ARGUMENT, "{show}: no response matches '%s'", pattern);
}

/* Splits {show} into patterns, without surrounding spaces and quotes, and adds their responses. */
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

/* Selects the responses whose curves compute/curves.c computes; none for cv. */
static kn_status shown(kn_ctx *ctx, const kn_report_job *job, const rank *by, ptrdiff_t n)
{
    kn_status status;
    kn_report *r = job->r;
    chosen c = {.most = SHOWN_MOST};
    void *memory = NULL;
    KN_TRY(kn_alloc_i(ctx, c.most, &c.response));
    KN_TRY(kn_alloc(ctx, c.most, sizeof *c.mm, &memory));
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
    KN_TRY(names(ctx, job));
    KN_TRY(copied(ctx, job->r, kn_report_input_responses(job->m, "R2"), to->T, &to->R2));
    KN_TRY(copied(ctx, job->r, kn_report_input_responses(job->m, "MSLL"), to->T, &to->MSLL));
    if (isnan(mean_known(to->R2, to->T)))
        KN_TRY(explained(ctx, job));
    if (isnan(mean_known(to->MSLL, to->T)))
        to->MSLL = NULL;
    to->mean_R2 = mean_known(to->R2, to->T);
    to->mean_MSLL = mean_known(to->MSLL, to->T);
    KN_TRY(limits(ctx, job));
    KN_TRY(ranked(ctx, to, &by, &n));
    KN_TRY(best(ctx, job->r, by, n));
    KN_TRY(shown(ctx, job, by, n));
out:
    kn_free(by);
    return status;
}
