/* Writes the maps of the simulated participants, one image per visit, and computes regional
 * means.
 *
 *     y = mean + sd (sum_k c_ik E_k + offset_site + sqrt(noise_site) e - s_i(t) L)   at every voxel
 *     e = sum_k w_k S_k + sqrt(0.7) white                         S_k: the smooth components
 *     region: the mean over its voxels of y without white, + mean sd sqrt(noise_site 0.2) white of
 *             the region: white noise of voxels averages out, segmentation errors do not
 *
 * Visits are exchangeable, with correlation rho of the whole of e (w, white of voxels and
 * regions), and the first is the same as without {visits}:
 *
 *     e_1 = x,   e_v = rho x + sqrt(rho (1 - rho)) h + sqrt(1 - rho) x_v      x, h, x_v normal
 *
 * cov(e_1, e_v) = rho, cov(e_v, e_u) = rho^2 + rho (1 - rho) = rho, variance 1. */
#include <math.h>
#include <stdio.h>

#include "base/random.h"
#include "cohort/internal.h"
#include "cohort/output_folder.h"
#include "cohort/random_field.h"

const double KN_COHORT_CORRELATION = 0.9;
static const double REGION_ERROR = 0.2; /* variance, relative to 1 of a voxel */

typedef struct drawing { /* workspace for one participant */
    const kn_cohort *c;
    const kn_cohort_participant *p;
    ptrdiff_t i, count;                        /* normal numbers per visit: w, voxels, regions */
    double *x, *h, *e, *y;                     /* count each; y: one per voxel */
    double weight[KN_MAP_MEAN], spread, white; /* of the visit; sd of e, and of its white part */
} drawing;

/* Draws d->count standard normal numbers from a stream of the seed. */
static void draw_normals(const drawing *d, uint64_t stream, double *out)
{
    kn_rng rng;
    kn_rng_init(&rng, d->c->o->seed, stream);
    for (ptrdiff_t k = 0; k < d->count; k++)
        out[k] = kn_rng_normal(&rng);
}

/* Returns the number of the random stream of a participant's visit; these follow the streams of all
 * participants. */
static uint64_t visit_stream(const drawing *d, int visit)
{
    return ((uint64_t)1 << 32) + (uint64_t)(d->i * KN_COHORT_VISITS + visit);
}

/* Draws d->e, the normal numbers of a visit: d->x at the first visit; at later ones correlated
 * KN_COHORT_CORRELATION with it and with each other, through d->x and d->h. Visits must be drawn in
 * order. */
static void draw_residual(drawing *d, int visit)
{
    const double rho = KN_COHORT_CORRELATION;
    if (visit == 0) {
        draw_normals(d, (uint64_t)(KN_STREAM_NOISE + d->i), d->x);
        for (ptrdiff_t k = 0; k < d->count; k++)
            d->e[k] = d->x[k];
        return;
    }
    if (visit == 1)
        draw_normals(d, visit_stream(d, 0), d->h);
    draw_normals(d, visit_stream(d, visit), d->e);
    for (ptrdiff_t k = 0; k < d->count; k++)
        d->e[k] = rho * d->x[k] + sqrt(rho * (1 - rho)) * d->h[k] + sqrt(1 - rho) * d->e[k];
}

/* Computes the map of one visit in d->y (voxels values), by the formula at the head of this file.
 */
static void make_map(drawing *d, int visit)
{
    const kn_cohort *c = d->c;
    const kn_cohort_participant *p = d->p;
    ptrdiff_t n = c->voxels;
    double lesion = p->lesion + p->decline * p->years[visit], *y = d->y;
    const double *white = d->e + KN_COHORT_COMPONENTS;
    draw_residual(d, visit);
    d->spread = c->sites ? sqrt(c->site[p->site].noise) : 1;
    d->white = d->spread * sqrt(1 - KN_COHORT_SMOOTH);
    kn_cohort_coefficients(c, p, visit, d->weight);
    for (int k = 0; k < KN_COHORT_COMPONENTS; k++)
        d->weight[KN_COHORT_EFFECTS + k] = d->spread * d->e[k];
    for (ptrdiff_t v = 0; v < n; v++)
        y[v] = d->white * white[v] - lesion * c->lesion[v];
    for (int k = 0; k < KN_MAP_MEAN; k++)
        for (ptrdiff_t v = 0; v < n; v++)
            y[v] += d->weight[k] * c->maps[k * n + v];
    for (ptrdiff_t v = 0; c->sites && v < n; v++)
        y[v] += c->maps[(KN_MAP_SITES + p->site) * n + v];
    for (ptrdiff_t v = 0; v < n; v++)
        y[v] = c->maps[KN_MAP_MEAN * n + v] + c->maps[KN_MAP_SD * n + v] * y[v];
}

/* Computes the mean of d->y over each region, without the white noise of voxels but with that of
 * regions, into c->region_mean. */
static kn_status average_regions(kn_ctx *ctx, const drawing *d, int visit)
{
    const kn_cohort *c = d->c;
    ptrdiff_t n = c->voxels, R = c->o->regions;
    double *sum = NULL;
    const double *white = d->e + KN_COHORT_COMPONENTS, *sd = c->maps + KN_MAP_SD * n;
    kn_status status;
    KN_TRY(kn_alloc_d(ctx, 3 * R, &sum));
    double *sds = sum + R, *voxels = sds + R;
    for (ptrdiff_t v = 0; v < n; v++) {
        ptrdiff_t r = c->region[v];
        sum[r] += d->y[v] - sd[v] * d->white * white[v];
        sds[r] += sd[v];
        voxels[r]++;
    }
    ptrdiff_t visits = c->o->visits ? c->o->visits : 1;
    double error = d->spread * sqrt(REGION_ERROR);
    double *out = c->region_mean + (d->i * visits + visit) * R;
    for (ptrdiff_t r = 0; r < R; r++)
        out[r] = (sum[r] + sds[r] * error * white[n + r]) / voxels[r];
out:
    kn_free(sum);
    return status;
}

/* Writes the image of d->y as images/ID.nii.gz, or with `session` as images/ID_ses-N.nii.gz. */
static kn_status write_visit(kn_ctx *ctx, const drawing *d, int visit, bool session)
{
    const kn_cohort *c = d->c;
    char id[KN_COHORT_ID], name[96];
    kn_cohort_id(c, d->i, id);
    if (session)
        snprintf(name, sizeof name, "images/%s_ses-%d.nii.gz", id, visit + 1);
    else
        snprintf(name, sizeof name, "images/%s.nii.gz", id);
    return kn_sim_image_write(ctx, c->folder, name, &c->grid, KN_VOXEL_FLOAT32, d->y, c->index,
                              c->voxels);
}

/* Simulates and writes the images of all visits of participant i (self: kn_cohort); called in
 * parallel by kn_for_each_item. */
static kn_status write_participant(kn_ctx *ctx, void *self, ptrdiff_t i)
{
    const kn_cohort *c = self;
    drawing d = {.c = c, .p = &c->participants[i], .i = i};
    int visits = kn_cohort_visits(c, d.p);
    kn_status status;

    d.count = KN_COHORT_COMPONENTS + c->voxels + c->o->regions;
    KN_TRY(kn_alloc_d(ctx, d.count, &d.x));
    KN_TRY(kn_alloc_d(ctx, visits > 1 ? d.count : 1, &d.h));
    KN_TRY(kn_alloc_d(ctx, d.count, &d.e));
    KN_TRY(kn_alloc_d(ctx, c->voxels, &d.y));
    for (int visit = 0; visit < visits; visit++) {
        make_map(&d, visit);
        if (visit == 0)
            KN_TRY(write_visit(ctx, &d, visit, false));
        if (visits > 1)
            KN_TRY(write_visit(ctx, &d, visit, true));
        if (c->o->regions)
            KN_TRY(average_regions(ctx, &d, visit));
    }
out:
    kn_free(d.x);
    kn_free(d.h);
    kn_free(d.e);
    kn_free(d.y);
    return status;
}

kn_status kn_cohort_write_images(kn_ctx *ctx, kn_cohort *c)
{
    double *label = NULL;
    kn_status status;
    if (c->o->regions) {
        ptrdiff_t visits = c->o->visits ? c->o->visits : 1;
        KN_TRY(kn_alloc_d(ctx, c->n * visits * c->o->regions, &c->region_mean));
        KN_TRY(kn_alloc_d(ctx, c->voxels, &label));
        for (ptrdiff_t v = 0; v < c->voxels; v++)
            label[v] = (double)(c->region[v] + 1);
        KN_TRY(kn_sim_image_write(ctx, c->folder, "regions.nii.gz", &c->grid, KN_VOXEL_FLOAT32,
                                  label, c->index, c->voxels));
    }
    KN_TRY(kn_for_each_item(ctx, "images", c->n, write_participant, c));
    KN_TRY(kn_sim_image_write(ctx, c->folder, "mask.nii.gz", &c->grid, KN_VOXEL_FLOAT32, NULL,
                              c->index, c->voxels));
out:
    kn_free(label);
    return status;
}
