/* Implements the maps of the cohort: grid, mask, lesion, effect maps, regions, and the expected
 * R2. All maps are smooth random fields. */
#include <math.h>

#include "base/random.h"
#include "cohort/internal.h"
#include "cohort/random_field.h"

const kn_cohort_effect kn_cohort_effects[KN_COHORT_EFFECTS] = {
    {"age, linear", -0.7, 0.4},
    {"age, quadratic", -0.15, 0.25},
    {"age, late decline", 0, 0.5},
    {"sex, F - M", 0.3, 0.3},
    {"site A", 0, 0.3},
    {"site B", 0, 0.3},
    {"site C", 0, 0.3},
};

const double KN_COHORT_SMOOTH = 0.3;
const double KN_COHORT_LESION_RADIUS = 36, KN_COHORT_LESION_CORE = 0.5;
const double KN_COHORT_NOISE_LENGTH = 22;
const double KN_COHORT_SD = 0.08, KN_COHORT_SD_SPREAD = 0.2;
static const double FIELD_LENGTH = 28; /* mm */
static const double MEAN = 0.6, MEAN_SPREAD = 0.08;
static const double CENTRE[3] = {0, -18, 18}, RADII[3] = {68, 86, 75}; /* the brain, mm */
/* Fraction of the way from the brain's centre to its surface. */
static const double LESION_DEPTH = 0.5;

static const struct {
    ptrdiff_t dim[3];
    double voxel; /* mm */
} GRID[] = {{{20, 24, 20}, 8}, {{91, 109, 91}, 2}};

/* Sets the image grid of the simulated brain: dimensions, voxel size, and coordinates as in the MNI
 * templates, with their origin and x from right to left. */
static void set_grid(kn_nifti_header *h, kn_cohort_size size)
{
    const int mni = 4, millimetres = 2;
    double v = GRID[size].voxel;
    *h = (kn_nifti_header){.version = 1,
                           .pixdim = {-1, v, v, v},
                           .qform_code = mni,
                           .sform_code = mni,
                           .xyzt_units = millimetres,
                           .quatern = {0, 1, 0}};
    for (int d = 0; d < 3; d++) {
        double sign = d == 0 ? -1 : 1;
        h->dim[d] = GRID[size].dim[d];
        h->srow[d][d] = sign * v;
        h->srow[d][3] = h->qoffset[d] = CENTRE[d] - sign * v * (double)(h->dim[d] - 1) / 2;
    }
}

/* Returns whether a position in mm lies in the ellipsoid of the simulated brain. */
static bool in_brain(const double p[3])
{
    double r = 0;
    for (int d = 0; d < 3; d++)
        r += (p[d] - CENTRE[d]) * (p[d] - CENTRE[d]) / (RADII[d] * RADII[d]);
    return r <= 1;
}

/* Lists the voxels inside the simulated brain in c->index (c->voxels of them, in file order). */
static kn_status make_mask(kn_ctx *ctx, kn_cohort *c)
{
    ptrdiff_t all = kn_nifti_voxels(&c->grid);
    kn_status status = kn_alloc_i(ctx, all, &c->index);
    for (ptrdiff_t v = 0; status == KN_OK && v < all; v++) {
        double p[3];
        kn_voxel_position(&c->grid, v, p);
        if (in_brain(p))
            c->index[c->voxels++] = v;
    }
    c->summary.voxels = c->voxels;
    return status;
}

/* Returns the strength of the lesion at position p (mm), 0 .. 1: 1 up to KN_COHORT_LESION_CORE of
 * its radius, then a quarter of a squared cosine down to 0 at the radius. */
static double lesion_at(const double p[3], const double centre[3])
{
    const double quarter = 1.5707963267948966;
    double d = hypot(hypot(p[0] - centre[0], p[1] - centre[1]), p[2] - centre[2]) /
               KN_COHORT_LESION_RADIUS;
    double x = (d - KN_COHORT_LESION_CORE) / (1 - KN_COHORT_LESION_CORE);
    return x <= 0 ? 1 : x >= 1 ? 0 : cos(quarter * x) * cos(quarter * x);
}

/* Places the lesion in a random direction from the centre of the brain, and sets c->lesion, its
 * strength at each voxel, and its numbers in the summary. */
static kn_status make_lesion(kn_ctx *ctx, kn_cohort *c)
{
    double direction[3], norm = 0, p[3];
    kn_rng rng;
    kn_status status = kn_alloc_d(ctx, c->voxels, &c->lesion);
    if (status != KN_OK)
        return status;
    kn_rng_init(&rng, c->o->seed, KN_STREAM_LESION);
    for (int d = 0; d < 3; d++) {
        direction[d] = kn_rng_normal(&rng);
        norm = hypot(norm, direction[d]);
    }
    for (int d = 0; d < 3; d++)
        c->summary.lesion_centre[d] = CENTRE[d] + LESION_DEPTH * RADII[d] * direction[d] / norm;
    c->summary.lesion_radius = KN_COHORT_LESION_RADIUS;
    for (ptrdiff_t v = 0; v < c->voxels; v++) {
        kn_voxel_position(&c->grid, c->index[v], p);
        c->lesion[v] = lesion_at(p, c->summary.lesion_centre);
        c->summary.lesion_voxels += c->lesion[v] >= 0.5;
    }
    return KN_OK;
}

/* Turns the drawn fields of variance 1 into effects, mean, standard deviation and site offsets;
 * scales the smooth components so that their squares sum to KN_COHORT_SMOOTH at every voxel and the
 * residual has variance 1 there for every draw. */
static void scale_maps(kn_cohort *c)
{
    ptrdiff_t n = c->voxels;
    for (ptrdiff_t v = 0; v < n; v++) {
        double squares = 0, *at = c->maps + v;
        for (int k = 0; k < KN_COHORT_EFFECTS; k++)
            at[k * n] = kn_cohort_effects[k].mean + kn_cohort_effects[k].spread * at[k * n];
        for (int k = KN_COHORT_EFFECTS; k < KN_MAP_MEAN; k++)
            squares += at[k * n] * at[k * n];
        for (int k = KN_COHORT_EFFECTS; k < KN_MAP_MEAN; k++)
            at[k * n] *= sqrt(KN_COHORT_SMOOTH / squares);
        at[KN_MAP_MEAN * n] = MEAN + MEAN_SPREAD * at[KN_MAP_MEAN * n];
        at[KN_MAP_SD * n] = KN_COHORT_SD * exp(KN_COHORT_SD_SPREAD * at[KN_MAP_SD * n]);
        for (int s = 0; s < c->sites; s++)
            at[(KN_MAP_SITES + s) * n] *= KN_COHORT_OFFSET;
    }
}

/* Draws all random fields as rows of c->maps, and scales them to effects, components, mean,
 * standard deviation and site offsets. */
static kn_status make_maps(kn_ctx *ctx, kn_cohort *c)
{
    kn_field *field = NULL;
    ptrdiff_t n = c->voxels, fields = KN_MAP_SITES + c->sites;
    void *p;
    kn_status status;
    KN_TRY(kn_alloc_d(ctx, fields * n, &c->maps));
    KN_TRY(kn_alloc(ctx, fields, sizeof *field, &p));
    field = p;
    for (ptrdiff_t k = 0; k < fields; k++) {
        bool noise = k >= KN_COHORT_EFFECTS && k < KN_MAP_MEAN;
        ptrdiff_t stream =
            k < KN_MAP_SITES ? KN_STREAM_FIELDS + k : KN_STREAM_OFFSETS + k - KN_MAP_SITES;
        kn_field_init(&field[k], c->o->seed, (uint64_t)stream,
                      noise ? KN_COHORT_NOISE_LENGTH : FIELD_LENGTH);
    }
    kn_field_maps(ctx, field, fields, &c->grid, c->index, n, c->maps);
    scale_maps(c);
out:
    kn_free(field);
    return status;
}

/* ---- regions ---- */

/* Returns the distance in mm of voxel v of the mask from a position. */
static double distance_from(const kn_cohort *c, ptrdiff_t v, const double from[3])
{
    double p[3];
    kn_voxel_position(&c->grid, c->index[v], p);
    return hypot(hypot(p[0] - from[0], p[1] - from[1]), p[2] - from[2]);
}

/* Assigns each voxel to the nearest of R seeds, which are voxels as far apart as possible: no
 * region is empty. The first seed is the centre of the lesion, so that the lesion affects one
 * region rather than the corners of four. Cost: R n distances. */
static kn_status make_regions(kn_ctx *ctx, kn_cohort *c)
{
    double *nearest = NULL, place[3];
    ptrdiff_t seed = 0;
    kn_status status = KN_OK;
    if (c->o->regions == 0)
        return KN_OK;
    KN_TRY(kn_alloc_i(ctx, c->voxels, &c->region));
    KN_TRY(kn_alloc_d(ctx, c->voxels, &nearest));
    for (ptrdiff_t v = 0; v < c->voxels; v++) {
        nearest[v] = distance_from(c, v, c->summary.lesion_centre);
        seed = nearest[v] < nearest[seed] ? v : seed;
    }
    for (ptrdiff_t r = 0; r < c->o->regions; r++) {
        ptrdiff_t farthest = 0;
        kn_voxel_position(&c->grid, c->index[seed], place);
        for (ptrdiff_t v = 0; v < c->voxels; v++) {
            double d = distance_from(c, v, place);
            if (r == 0 || d < nearest[v]) {
                nearest[v] = d;
                c->region[v] = r;
            }
            farthest = nearest[v] > nearest[farthest] ? v : farthest;
        }
        seed = farthest;
    }
out:
    kn_free(nearest);
    return status;
}

/* ---- R2 ---- */

/* Computes the coefficients of the covariates' effects of a participant at the first visit, and an
 * indicator per site of {sites}; out: KN_COHORT_EFFECTS + sites values. */
static void all_coefficients(const kn_cohort *c, const kn_cohort_participant *p, double *out)
{
    kn_cohort_coefficients(c, p, 0, out);
    for (int s = 0; s < c->sites; s++)
        out[KN_COHORT_EFFECTS + s] = s == p->site;
}

/* Returns whether a participant counts for the true R2: a control of the training or test list. */
static bool in_r2(const kn_cohort_participant *p)
{
    return !p->patient && (p->part == KN_COHORT_TRAIN || p->part == KN_COHORT_TEST);
}

/* Returns the map (voxels values) that belongs to coefficient k of all_coefficients(). */
static const double *map_of(const kn_cohort *c, int k)
{
    int row = k < KN_COHORT_EFFECTS ? k : KN_MAP_SITES + k - KN_COHORT_EFFECTS;
    return c->maps + row * c->voxels;
}

/* Computes the covariance over controls of their E coefficients; cov is E x E and 0 on entry. */
static kn_status coefficient_cov(kn_ctx *ctx, const kn_cohort *c, int E, double *cov)
{
    double *mean = NULL, *x, count = (double)c->o->samples;
    kn_status status;
    KN_TRY(kn_alloc_d(ctx, 2 * E, &mean));
    x = mean + E;
    for (ptrdiff_t i = 0; i < c->n; i++) {
        all_coefficients(c, &c->participants[i], x);
        for (int k = 0; k < E && in_r2(&c->participants[i]); k++)
            mean[k] += x[k] / count;
    }
    for (ptrdiff_t i = 0; i < c->n; i++) {
        all_coefficients(c, &c->participants[i], x);
        for (int k = 0; k < E && in_r2(&c->participants[i]); k++)
            for (int l = 0; l < E; l++)
                cov[k * E + l] += (x[k] - mean[k]) * (x[l] - mean[l]) / count;
    }
out:
    kn_free(mean);
    return status;
}

/* Computes summary.r2, the share of variance that covariates explain in controls: the mean over
 * voxels v of q / (q + 1) with q = E(v)' cov(c) E(v), since the residual has variance 1. */
static kn_status measure_r2(kn_ctx *ctx, kn_cohort *c)
{
    int E = KN_COHORT_EFFECTS + c->sites;
    double *cov = NULL;
    kn_status status;
    KN_TRY(kn_alloc_d(ctx, (ptrdiff_t)E * E, &cov));
    KN_TRY(coefficient_cov(ctx, c, E, cov));
    for (ptrdiff_t v = 0; v < c->voxels; v++) {
        double q = 0;
        for (int k = 0; k < E; k++)
            for (int l = 0; l < E; l++)
                q += map_of(c, k)[v] * cov[k * E + l] * map_of(c, l)[v];
        c->summary.r2 += q / (q + 1) / (double)c->voxels;
    }
out:
    kn_free(cov);
    return status;
}

kn_status kn_cohort_make_maps(kn_ctx *ctx, kn_cohort *c)
{
    kn_status status;
    set_grid(&c->grid, c->o->size);
    KN_TRY(make_mask(ctx, c));
    KN_TRY(make_lesion(ctx, c));
    KN_TRY(make_maps(ctx, c));
    KN_TRY(make_regions(ctx, c));
    KN_TRY(measure_r2(ctx, c));
out:
    return status;
}
