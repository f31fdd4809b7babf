/* Reads all z-maps once   [METHOD 11a]
 *
 * For each participant a histogram of z and exact sums; for each response sums over the normal
 * participants and over the two groups; for participants with a picture a map in steps of
 * KN_REPORT_ZSTEP.
 *
 * One map is held at a time: 4 T bytes, and 8 T for each sum. */
#include <math.h>
#include <string.h>

#include "report/compute/compute.h"
#include "stats/normal.h"

const double kn_report_coverage[KN_REPORT_COVERAGES] = {0.5, 0.9, 0.95, 0.99};

/* ---- participant ---- */

typedef struct cuts { /* bin edges */
    double pit[KN_REPORT_PIT - 1], inside[KN_REPORT_COVERAGES];
} cuts;

/* Returns the quantiles of the normal distribution that bound the PIT bins and the coverage
 * intervals. */
static cuts cuts_make(void)
{
    cuts c;
    for (int k = 1; k < KN_REPORT_PIT; k++)
        c.pit[k - 1] = kn_normal_quantile((double)k / KN_REPORT_PIT);
    for (int k = 0; k < KN_REPORT_COVERAGES; k++)
        c.inside[k] = kn_normal_quantile(0.5 + kn_report_coverage[k] / 2);
    return c;
}

/* Returns the histogram bin of z; values beyond +-KN_REPORT_ZMAX are in the outer bins. */
static int bin_of(double z)
{
    double b = floor((z + KN_REPORT_ZMAX) * (KN_REPORT_ZBINS / (2 * KN_REPORT_ZMAX)));
    return b < 0 ? 0 : b > KN_REPORT_ZBINS - 1 ? KN_REPORT_ZBINS - 1 : (int)b;
}

/* Adds the finite z-scores of a map (T) to the histograms and sums of participant i in h. */
static void count_participant(const cuts *c, const float *z, ptrdiff_t T, kn_report_zhist *h,
                              ptrdiff_t i)
{
    uint32_t *count = h->count + i * KN_REPORT_ZBINS, *pit = h->pit + i * KN_REPORT_PIT,
             *inside = h->inside + i * KN_REPORT_COVERAGES;
    for (ptrdiff_t j = 0; j < T; j++) {
        const double x = z[j];
        int k = 0;
        if (!isfinite(x))
            continue;
        count[bin_of(x)]++;
        h->sum[i] += x;
        h->sum2[i] += x * x;
        h->responses[i]++;
        for (int step = 16; step > 0; step /= 2) /* number of edges below x, by bisection */
            if (k + step <= KN_REPORT_PIT - 1 && c->pit[k + step - 1] < x)
                k += step;
        pit[k]++;
        for (k = 0; k < KN_REPORT_COVERAGES; k++)
            inside[k] += fabs(x) <= c->inside[k];
    }
}

/* Allocates the histograms of n participants, all 0, in the arena of the report. */
static kn_status zhist_new(kn_ctx *ctx, kn_report *r, ptrdiff_t n, kn_report_zhist *h)
{
    kn_status status;
    void *memory;
    KN_TRY(kn_arena_alloc(ctx, &r->arena, n * KN_REPORT_ZBINS, sizeof *h->count, &memory));
    h->count = memory;
    KN_TRY(kn_arena_alloc(ctx, &r->arena, n * KN_REPORT_PIT, sizeof *h->pit, &memory));
    h->pit = memory;
    KN_TRY(kn_arena_alloc(ctx, &r->arena, n * KN_REPORT_COVERAGES, sizeof *h->inside, &memory));
    h->inside = memory;
    KN_TRY(kn_arena_d(ctx, &r->arena, n, &h->sum));
    KN_TRY(kn_arena_d(ctx, &r->arena, n, &h->sum2));
    KN_TRY(kn_arena_i(ctx, &r->arena, n, &h->responses));
    h->n = n;
out:
    return status;
}

/* ---- response ---- */

typedef struct sums { /* T each; NULL: not needed */
    double *n, *z, *z2, *beyond;
} sums;

/* Allocates the sums of T responses, all 0; clear them with sums_clear() after failure too. */
static kn_status sums_new(kn_ctx *ctx, ptrdiff_t T, sums *s)
{
    kn_status status;
    KN_TRY(kn_alloc_d(ctx, T, &s->n));
    KN_TRY(kn_alloc_d(ctx, T, &s->z));
    KN_TRY(kn_alloc_d(ctx, T, &s->z2));
    KN_TRY(kn_alloc_d(ctx, T, &s->beyond));
out:
    return status;
}

/* Frees the sums over participants per response. */
static void sums_clear(sums *s)
{
    kn_free(s->n);
    kn_free(s->z);
    kn_free(s->z2);
    kn_free(s->beyond);
}

/* Adds one z-map (T) to the sums, per response: count, z, z^2 and |z| > threshold. Does nothing if
 * they were not allocated. */
static void sums_add(sums *s, const float *z, ptrdiff_t T, double threshold)
{
    for (ptrdiff_t j = 0; s->n && j < T; j++) {
        const double x = z[j];
        if (!isfinite(x))
            continue;
        s->n[j]++;
        s->z[j] += x;
        s->z2[j] += x * x;
        s->beyond[j] += fabs(x) > threshold;
    }
}

/* Copies the sums of a group (0 cases, 1 others) to the arena of the report, for the tests of
 * compute/group.c. */
static kn_status copy_group_sums(kn_ctx *ctx, kn_report *r, const sums *s, ptrdiff_t T, int group)
{
    kn_status status;
    kn_report_group *g = &r->group;
    const size_t bytes = (size_t)T * sizeof(double);
    KN_TRY(kn_arena_d(ctx, &r->arena, T, &g->count[group]));
    KN_TRY(kn_arena_d(ctx, &r->arena, T, &g->sum[group]));
    KN_TRY(kn_arena_d(ctx, &r->arena, T, &g->sum2[group]));
    memcpy(g->count[group], s->n, bytes);
    memcpy(g->sum[group], s->z, bytes);
    memcpy(g->sum2[group], s->z2, bytes);
out:
    return status;
}

/* Sets the proportion of cases and of others beyond the threshold per response, and copies the sums
 * of both groups for compute/group.c. */
static kn_status compare_groups(kn_ctx *ctx, kn_report *r, const sums *labelled, const sums *others,
                                ptrdiff_t T)
{
    kn_status status;
    kn_report_group *g = &r->group;
    KN_TRY(kn_arena_d(ctx, &r->arena, T, &g->overlap));
    KN_TRY(kn_arena_d(ctx, &r->arena, T, &g->overlap_others));
    KN_TRY(copy_group_sums(ctx, r, labelled, T, 0));
    KN_TRY(copy_group_sums(ctx, r, others, T, 1));
    for (ptrdiff_t j = 0; j < T; j++) {
        const double n1 = labelled->n[j], n0 = others->n[j];
        g->overlap[j] = n1 > 0 ? labelled->beyond[j] / n1 : NAN;
        g->overlap_others[j] = n0 > 0 ? others->beyond[j] / n0 : NAN;
    }
out:
    return status;
}

/* Sets r->responses.z2, the mean z^2 of each of T responses; sample: name of the participants, for
 * the page. */
static kn_status store_mean_squares(kn_ctx *ctx, kn_report *r, const sums *s, ptrdiff_t T,
                                    const char *sample)
{
    kn_status status = kn_arena_d(ctx, &r->arena, T, &r->responses.z2);
    for (ptrdiff_t j = 0; status == KN_OK && j < T; j++)
        r->responses.z2[j] = s->n[j] > 0 ? s->z2[j] / s->n[j] : NAN;
    r->responses.z2_of = sample;
    return status;
}

/* ---- picture ---- */

/* Returns z in steps of KN_REPORT_ZSTEP, clamped to -127 .. 127; KN_REPORT_NO_Z if it is not
 * finite. */
static int8_t quantise_z(float z)
{
    if (!isfinite(z))
        return KN_REPORT_NO_Z;
    double k = round((double)z / KN_REPORT_ZSTEP);
    return (int8_t)(k > 127 ? 127 : k < -127 ? -127 : k);
}

/* Copies a map (T) as bytes into the arena, in the steps of quantise_z(). */
static kn_status quantise_map(kn_ctx *ctx, kn_report *r, const float *z, ptrdiff_t T,
                              const int8_t **out)
{
    void *memory;
    kn_status status = kn_arena_alloc(ctx, &r->arena, T, 1, &memory);
    if (status != KN_OK)
        return status;
    int8_t *to = memory;
    for (ptrdiff_t j = 0; j < T; j++)
        to[j] = quantise_z(z[j]);
    *out = to;
    return KN_OK;
}

/* Selects the participants with a thumbnail of their map: the first KN_REPORT_THUMBS in order of
 * abnormality. None for tables. */
static kn_status choose_thumbs(kn_ctx *ctx, kn_report *r)
{
    kn_status status;
    kn_report_participants *p = &r->participants;
    void *memory;
    if (r->space.kind == KN_REPORT_TABLE_SPACE || !p->order)
        return KN_OK;
    const ptrdiff_t n = p->n < KN_REPORT_THUMBS ? p->n : KN_REPORT_THUMBS;
    KN_TRY(kn_arena_i(ctx, &r->arena, n, &p->thumb));
    KN_TRY(kn_arena_alloc(ctx, &r->arena, n, sizeof *p->thumb_z, &memory));
    p->thumb_z = memory;
    p->n_thumbs = n;
    for (ptrdiff_t k = 0; k < n; k++)
        p->thumb[k] = p->order[k];
out:
    return status;
}

/* Stores the z-map (T) of a participant as int8, in steps of KN_REPORT_ZSTEP, in the arena, and
 * points its card and thumbnail at it. Does nothing if it has neither. */
static kn_status keep_map(kn_ctx *ctx, kn_report *r, ptrdiff_t participant, const float *z,
                          ptrdiff_t T)
{
    kn_report_participants *p = &r->participants;
    const int8_t *map = NULL;
    kn_status status = KN_OK;
    for (ptrdiff_t k = 0; status == KN_OK && k < p->n_cards; k++)
        if (p->card[k].participant == participant) {
            if (!map)
                status = quantise_map(ctx, r, z, T, &map);
            p->card[k].z = map;
        }
    for (ptrdiff_t k = 0; status == KN_OK && k < p->n_thumbs; k++)
        if (p->thumb[k] == participant) {
            if (!map)
                status = quantise_map(ctx, r, z, T, &map);
            p->thumb_z[k] = map;
        }
    return status;
}

/* Removes thumbnails without a map: a model need not have kept the z-maps of training. */
static void remove_empty_thumbs(kn_report_participants *p)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t k = 0; k < p->n_thumbs; k++)
        if (p->thumb_z[k]) {
            p->thumb[n] = p->thumb[k];
            p->thumb_z[n++] = p->thumb_z[k];
        }
    p->n_thumbs = n;
}

/* ---- all participants ---- */

typedef struct pass {
    const kn_report_job *job;
    cuts cuts;
    float *z;    /* T  one map */
    bool groups; /* both labelled and other participants exist */
    ptrdiff_t normal;
    sums normals, labelled, others;
} pass;

/* Reads all z-maps of the folder: fills histograms, sums over normal participants and over groups,
 * and quantised maps. Reports progress. */
static kn_status read_scored_maps(kn_ctx *ctx, pass *w)
{
    kn_status status = KN_OK;
    kn_report_input *m = w->job->m;
    kn_report *r = w->job->r;
    const double threshold = r->participants.threshold > 0 ? r->participants.threshold : 1.96;
    if (m->n == 0)
        return status;
    KN_TRY(zhist_new(ctx, r, m->n, &r->zhist));
    for (ptrdiff_t i = 0; i < m->n; i++) {
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(kn_report_input_z(ctx, m, i, w->z));
        count_participant(&w->cuts, w->z, m->T, &r->zhist, i);
        if (kn_report_is_normal(w->job, i)) {
            w->normal++;
            sums_add(&w->normals, w->z, m->T, threshold);
        }
        if (w->groups && r->participants.participant[i].label >= 0)
            sums_add(r->participants.participant[i].label == 1 ? &w->labelled : &w->others, w->z,
                     m->T, threshold);
        KN_TRY(keep_map(ctx, r, i, w->z, m->T));
        kn_report_progress(ctx, "maps", i + 1, m->n, NAN);
    }
out:
    return status;
}

/* Reads the cross-validated z-maps of the training sample, if the model kept them, as
 * read_scored_maps() does. For a model without a folder, these participants are those of the page.
 */
static kn_status read_training_maps(kn_ctx *ctx, pass *w)
{
    kn_status status = KN_OK;
    kn_report_input *m = w->job->m;
    kn_report *r = w->job->r;
    const bool shown = m->n == 0 && r->participants.n == m->N;
    if (!m->has_training_z || m->N == 0)
        return status;
    KN_TRY(zhist_new(ctx, r, m->N, &r->zhist_training));
    for (ptrdiff_t i = 0; i < m->N; i++) {
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(kn_report_input_training_z(ctx, m, i, w->z));
        count_participant(&w->cuts, w->z, m->T, &r->zhist_training, i);
        if (w->normal == 0)
            sums_add(&w->normals, w->z, m->T, INFINITY);
        if (shown)
            KN_TRY(keep_map(ctx, r, i, w->z, m->T));
        kn_report_progress(ctx, "maps, training sample", i + 1, m->N, NAN);
    }
out:
    return status;
}

/* Returns whether the folder has both labelled cases and other participants. */
static bool has_groups(const kn_report_job *job)
{
    bool present[2] = {false, false};
    const kn_report_participants *p = &job->r->participants;
    for (ptrdiff_t i = 0; i < job->m->n && p->participant && i < p->n; i++)
        if (p->participant[i].label >= 0)
            present[p->participant[i].label == 1] = true;
    return present[0] && present[1];
}

kn_status kn_compute_maps(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    const ptrdiff_t T = job->m->T;
    kn_report *r = job->r;
    pass w = {.job = job, .cuts = cuts_make(), .groups = has_groups(job)};
    KN_TRY(kn_alloc_f(ctx, T, &w.z));
    KN_TRY(sums_new(ctx, T, &w.normals));
    if (w.groups) {
        KN_TRY(sums_new(ctx, T, &w.labelled));
        KN_TRY(sums_new(ctx, T, &w.others));
    }
    if (job->m->dir || job->m->has_training_z)
        KN_TRY(choose_thumbs(ctx, r));
    KN_TRY(read_scored_maps(ctx, &w));
    KN_TRY(read_training_maps(ctx, &w));
    remove_empty_thumbs(&r->participants);
    if (w.normal > 0 || r->zhist_training.n > 0)
        KN_TRY(store_mean_squares(ctx, r, &w.normals, T,
                                  w.normal > 0 && w.groups ? "scored participants without the cases"
                                  : w.normal > 0           ? "scored participants"
                                                           : "training sample, cross-validated"));
    if (w.groups)
        KN_TRY(compare_groups(ctx, r, &w.labelled, &w.others, T));
out:
    sums_clear(&w.others);
    sums_clear(&w.labelled);
    sums_clear(&w.normals);
    kn_free(w.z);
    return status;
}
