#include "study/cohort.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "io/table.h"
#include "study/field.h"
#include "study/sim_image.h"

/* ---- the numbers of the model -------------------------------------------------------------- */

enum { MIN_SAMPLES = 10, MAX_SUBJECTS = 100000, SITES = 3, COMPONENTS = 8, ID_SIZE = 16 };
enum { AGE_LINEAR, AGE_QUADRATIC, AGE_LATE, SEX, SITE, EFFECTS = SITE + SITES };
enum { MEAN_FIELD = EFFECTS + COMPONENTS, SD_FIELD, FIELDS };
enum { STREAM_SUBJECTS = 1, STREAM_LISTS, STREAM_LESION, STREAM_FIELDS = 100, STREAM_NOISE = 1000 };

static const struct {
    const char *name;
    double mean, spread; /* residual sd per unit of the coefficient */
} EFFECT[EFFECTS] = {
    {"age, linear", -0.7, 0.4},
    {"age, quadratic", -0.15, 0.25},
    {"age, late decline", 0, 0.5},
    {"sex, F - M", 0.3, 0.3},
    {"site A", 0, 0.3},
    {"site B", 0, 0.3},
    {"site C", 0, 0.3},
};

static const double TRAIN_SHARE = 0.8, AGE_MIN = 20, AGE_MAX = 80;
static const double FIELD_LENGTH = 28, NOISE_LENGTH = 22; /* mm */
static const double SMOOTH_SHARE = 0.3;                   /* of the residual variance */
static const double MEAN = 0.6, MEAN_SPREAD = 0.08, SD = 0.08, SD_SPREAD = 0.2;
static const double CENTRE[3] = {0, -18, 18}, RADII[3] = {68, 86, 75}; /* the brain, mm */
static const double LESION_RADIUS = 36, LESION_CORE = 0.5;             /* mm; of the radius */
static const double LESION_DEPTH = 0.5;   /* of the way from the brain's centre to its surface */
static const double LESION_SPREAD = 0.25; /* strengths vary by this part of their mean, evenly */

static const struct {
    ptrdiff_t dim[3];
    double voxel; /* mm */
} GRID[] = {{{20, 24, 20}, 8}, {{91, 109, 91}, 2}};

/* ---- subjects ------------------------------------------------------------------------------ */

typedef struct subject {
    double age, coefficient[EFFECTS], lesion; /* lesion: s_i */
    int sex, site;
    bool patient, train;
} subject;

typedef struct cohort {
    const kn_cohort_options *o;
    kn_folder *folder;
    ptrdiff_t n; /* controls and patients */
    int digits;  /* of an id */
    subject *subjects;
    kn_nifti_header grid;
    ptrdiff_t *index, voxels;
    double *maps; /* FIELDS of `voxels` values: effects, components, then mean and sd */
    double *lesion;
    kn_cohort_summary summary;
} cohort;

void kn_cohort_options_init(kn_cohort_options *options)
{
    *options = (kn_cohort_options){.samples = 120, .patients = 20, .lesion = 2, .seed = 1};
}

static kn_status check(kn_ctx *ctx, const kn_cohort_options *o)
{
    if (o->samples < MIN_SAMPLES || o->samples > MAX_SUBJECTS)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%td normal subjects, expected %d to %d", o->samples,
                       MIN_SAMPLES, MAX_SUBJECTS);
    if (o->patients < 0 || o->patients > MAX_SUBJECTS)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%td patients, expected 0 to %d", o->patients,
                       MAX_SUBJECTS);
    if (!(isfinite(o->lesion) && o->lesion >= 0))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "lesion strength %g, expected 0 or more", o->lesion);
    if (o->size != KN_COHORT_SMALL && o->size != KN_COHORT_2MM)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "unknown size of cohort %d", (int)o->size);
    return KN_OK;
}

static void set_coefficients(subject *s)
{
    const double late = 0.2; /* on the scale of u: 56 years */
    double u = (2 * s->age - AGE_MAX - AGE_MIN) / (AGE_MAX - AGE_MIN); /* -1 .. 1 */
    double beyond = u > late ? u - late : 0;
    s->coefficient[AGE_LINEAR] = u;
    s->coefficient[AGE_QUADRATIC] = 2 * (u * u - 1.0 / 3);
    s->coefficient[AGE_LATE] = 2 * beyond * beyond;
    s->coefficient[SEX] = s->sex ? 0.5 : -0.5;
    s->coefficient[SITE + s->site] = 1;
}

/* In a random order: training controls, other controls, patients. Sexes and sites take turns, so
 * that every level occurs in training. */
static kn_status draw_subjects(kn_ctx *ctx, cohort *c)
{
    const kn_cohort_options *o = c->o;
    kn_rng rng;
    ptrdiff_t *order = NULL;
    void *p;
    kn_status status;

    c->n = o->samples + o->patients;
    for (c->digits = 4; pow(10, c->digits) <= (double)c->n;)
        c->digits++;
    c->summary.train = (ptrdiff_t)(TRAIN_SHARE * (double)o->samples + 0.5);
    c->summary.test = c->n - c->summary.train;
    KN_TRY(kn_alloc(ctx, c->n, sizeof *c->subjects, &p));
    c->subjects = p;
    KN_TRY(kn_alloc_i(ctx, c->n, &order));
    kn_rng_init(&rng, o->seed, STREAM_SUBJECTS);
    kn_rng_permutation(&rng, c->n, order);
    for (ptrdiff_t k = 0; k < c->n; k++) {
        subject *s = &c->subjects[order[k]];
        double age = AGE_MIN + (AGE_MAX - AGE_MIN) * kn_rng_uniform(&rng);
        double strength = 1 + LESION_SPREAD * (2 * kn_rng_uniform(&rng) - 1);
        s->age = floor(10 * age) / 10;
        s->site = (int)(k % SITES);
        s->sex = (int)(k / SITES % 2);
        s->train = k < c->summary.train;
        s->patient = k >= o->samples;
        s->lesion = s->patient ? o->lesion * strength : 0;
        set_coefficients(s);
    }
out:
    kn_free(order);
    return status;
}

static void name_subject(const cohort *c, ptrdiff_t i, char id[ID_SIZE])
{
    snprintf(id, ID_SIZE, "sub-%0*td", c->digits, i + 1);
}

/* ---- space --------------------------------------------------------------------------------- */

/* Millimetres as in the MNI templates: x runs from right to left, the origin is where theirs is. */
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

static bool in_brain(const double p[3])
{
    double r = 0;
    for (int d = 0; d < 3; d++)
        r += (p[d] - CENTRE[d]) * (p[d] - CENTRE[d]) / (RADII[d] * RADII[d]);
    return r <= 1;
}

static kn_status make_mask(kn_ctx *ctx, cohort *c)
{
    ptrdiff_t all = kn_nifti_voxels(&c->grid);
    kn_status status = kn_alloc_i(ctx, all, &c->index);
    for (ptrdiff_t v = 0; status == KN_OK && v < all; v++) {
        double p[3];
        kn_place(&c->grid, v, p);
        if (in_brain(p))
            c->index[c->voxels++] = v;
    }
    c->summary.voxels = c->voxels;
    return status;
}

/* 1 up to LESION_CORE of the radius, then a quarter of a cosine squared down to 0 at the radius. */
static double lesion_at(const double p[3], const double centre[3])
{
    const double quarter = 1.5707963267948966;
    double d = hypot(hypot(p[0] - centre[0], p[1] - centre[1]), p[2] - centre[2]) / LESION_RADIUS;
    double x = (d - LESION_CORE) / (1 - LESION_CORE);
    return x <= 0 ? 1 : x >= 1 ? 0 : cos(quarter * x) * cos(quarter * x);
}

static kn_status make_lesion(kn_ctx *ctx, cohort *c)
{
    double direction[3], norm = 0, p[3];
    kn_rng rng;
    kn_status status = kn_alloc_d(ctx, c->voxels, &c->lesion);
    if (status != KN_OK)
        return status;
    kn_rng_init(&rng, c->o->seed, STREAM_LESION);
    for (int d = 0; d < 3; d++) {
        direction[d] = kn_rng_normal(&rng);
        norm = hypot(norm, direction[d]);
    }
    for (int d = 0; d < 3; d++)
        c->summary.lesion_centre[d] = CENTRE[d] + LESION_DEPTH * RADII[d] * direction[d] / norm;
    c->summary.lesion_radius = LESION_RADIUS;
    for (ptrdiff_t v = 0; v < c->voxels; v++) {
        kn_place(&c->grid, c->index[v], p);
        c->lesion[v] = lesion_at(p, c->summary.lesion_centre);
        c->summary.lesion_voxels += c->lesion[v] >= 0.5;
    }
    return KN_OK;
}

/* Fields become effects; components get squares that sum to SMOOTH_SHARE at every voxel, so that
 * the residual has variance 1 there whatever the draw. */
static kn_status make_maps(kn_ctx *ctx, cohort *c)
{
    kn_field field[FIELDS];
    ptrdiff_t n = c->voxels;
    kn_status status = kn_alloc_d(ctx, FIELDS * n, &c->maps);
    if (status != KN_OK)
        return status;
    for (int k = 0; k < FIELDS; k++) {
        bool noise = k >= EFFECTS && k < MEAN_FIELD;
        kn_field_init(&field[k], c->o->seed, (uint64_t)(STREAM_FIELDS + k),
                      noise ? NOISE_LENGTH : FIELD_LENGTH);
    }
    kn_field_maps(ctx, field, FIELDS, &c->grid, c->index, n, c->maps);
    for (ptrdiff_t v = 0; v < n; v++) {
        double squares = 0, *at = c->maps + v;
        for (int k = 0; k < EFFECTS; k++)
            at[k * n] = EFFECT[k].mean + EFFECT[k].spread * at[k * n];
        for (int k = EFFECTS; k < MEAN_FIELD; k++)
            squares += at[k * n] * at[k * n];
        for (int k = EFFECTS; k < MEAN_FIELD; k++)
            at[k * n] *= sqrt(SMOOTH_SHARE / squares);
        at[MEAN_FIELD * n] = MEAN + MEAN_SPREAD * at[MEAN_FIELD * n];
        at[SD_FIELD * n] = SD * exp(SD_SPREAD * at[SD_FIELD * n]);
    }
    return KN_OK;
}

/* r2 = mean over v of q / (q + 1), q = E(v)' cov(c) E(v): the residual has variance 1. */
static void measure_r2(cohort *c)
{
    double mean[EFFECTS] = {0}, cov[EFFECTS][EFFECTS] = {{0}}, count = (double)c->o->samples;
    for (ptrdiff_t i = 0; i < c->n; i++)
        for (int k = 0; k < EFFECTS && !c->subjects[i].patient; k++)
            mean[k] += c->subjects[i].coefficient[k] / count;
    for (ptrdiff_t i = 0; i < c->n; i++)
        for (int k = 0; k < EFFECTS && !c->subjects[i].patient; k++)
            for (int l = 0; l < EFFECTS; l++)
                cov[k][l] += (c->subjects[i].coefficient[k] - mean[k]) *
                             (c->subjects[i].coefficient[l] - mean[l]) / count;
    for (ptrdiff_t v = 0; v < c->voxels; v++) {
        double q = 0;
        for (int k = 0; k < EFFECTS; k++)
            for (int l = 0; l < EFFECTS; l++)
                q += c->maps[k * c->voxels + v] * cov[k][l] * c->maps[l * c->voxels + v];
        c->summary.r2 += q / (q + 1) / (double)c->voxels;
    }
}

/* ---- files --------------------------------------------------------------------------------- */

static kn_status write_subject(kn_ctx *ctx, void *self, ptrdiff_t i)
{
    const cohort *c = self;
    const subject *s = &c->subjects[i];
    double weight[MEAN_FIELD], *y = NULL, white = sqrt(1 - SMOOTH_SHARE);
    char id[ID_SIZE], name[64];
    ptrdiff_t n = c->voxels;
    kn_rng rng;
    kn_status status;

    KN_TRY(kn_alloc_d(ctx, n, &y));
    kn_rng_init(&rng, c->o->seed, (uint64_t)(STREAM_NOISE + i));
    memcpy(weight, s->coefficient, sizeof s->coefficient);
    for (int k = EFFECTS; k < MEAN_FIELD; k++)
        weight[k] = kn_rng_normal(&rng);
    for (ptrdiff_t v = 0; v < n; v++)
        y[v] = white * kn_rng_normal(&rng) - s->lesion * c->lesion[v];
    for (int k = 0; k < MEAN_FIELD; k++)
        for (ptrdiff_t v = 0; v < n; v++)
            y[v] += weight[k] * c->maps[k * n + v];
    for (ptrdiff_t v = 0; v < n; v++)
        y[v] = c->maps[MEAN_FIELD * n + v] + c->maps[SD_FIELD * n + v] * y[v];
    name_subject(c, i, id);
    snprintf(name, sizeof name, "images/%s.nii.gz", id);
    KN_TRY(kn_sim_image_write(ctx, c->folder, name, &c->grid, KN_VOXEL_FLOAT32, y, c->index, n));
out:
    kn_free(y);
    return status;
}

typedef enum part { ALL, TRAIN, TEST } part;
static const char *const PREFIX[] = {"", "train_", "test_"};

static bool belongs(const subject *s, part which)
{
    return which == ALL || (which == TRAIN) == s->train;
}

static kn_status put_row(kn_ctx *ctx, kn_table_writer *w, const char *const *cell, int n)
{
    kn_status status = KN_OK;
    for (int i = 0; i < n; i++)
        KN_TRY(kn_table_writer_text(ctx, w, cell[i]));
    KN_TRY(kn_table_writer_end_row(ctx, w));
out:
    return status;
}

/* All training subjects are controls: there the group would be a covariate with one level. */
static kn_status write_participants(kn_ctx *ctx, const cohort *c, part which)
{
    static const char *const header[] = {"participant_id", "age", "sex", "site", "group"};
    static const char *const sex[] = {"M", "F"}, *const site[SITES] = {"A", "B", "C"};
    int cols = which == TRAIN ? 4 : 5;
    kn_folder_entry *entry;
    kn_table_writer *w = NULL;
    char name[64], id[ID_SIZE], age[16];
    kn_status status;

    snprintf(name, sizeof name, "%sparticipants.tsv", PREFIX[which]);
    KN_TRY(kn_folder_add(ctx, c->folder, name, &entry));
    KN_TRY(kn_table_writer_new(ctx, entry->path, kn_folder_options(c->folder), &w));
    KN_TRY(put_row(ctx, w, header, cols));
    for (ptrdiff_t i = 0; i < c->n; i++) {
        const subject *s = &c->subjects[i];
        if (!belongs(s, which))
            continue;
        name_subject(c, i, id);
        snprintf(age, sizeof age, "%.1f", s->age);
        const char *cell[] = {id, age, sex[s->sex], site[s->site],
                              s->patient ? "patient" : "control"};
        KN_TRY(put_row(ctx, w, cell, cols));
    }
    KN_TRY(kn_table_writer_commit(ctx, w));
    entry->made = true;
out:
    kn_table_writer_free(w);
    return status;
}

/* In an order that is not that of participants.tsv: whoever reads both has to go by the ids. */
static kn_status write_list(kn_ctx *ctx, const cohort *c, part which)
{
    enum { LINE = 64 };
    char name[64], id[ID_SIZE], *text = NULL;
    ptrdiff_t *order = NULL;
    size_t used = 0;
    kn_rng rng;
    void *p;
    kn_status status;

    KN_TRY(kn_alloc_i(ctx, c->n, &order));
    KN_TRY(kn_alloc(ctx, c->n, LINE, &p));
    text = p;
    kn_rng_init(&rng, c->o->seed, STREAM_LISTS);
    kn_rng_permutation(&rng, c->n, order);
    for (ptrdiff_t k = 0; k < c->n; k++) {
        if (!belongs(&c->subjects[order[k]], which))
            continue;
        name_subject(c, order[k], id);
        used += (size_t)snprintf(text + used, LINE, "%s\timages/%s.nii.gz\n", id, id);
    }
    snprintf(name, sizeof name, "%simages.txt", PREFIX[which]);
    KN_TRY(kn_folder_text(ctx, c->folder, name, text, (ptrdiff_t)used));
out:
    kn_free(text);
    kn_free(order);
    return status;
}

static kn_status write_patients(kn_ctx *ctx, const cohort *c)
{
    static const char *const header[] = {"participant_id", "lesion_sd"};
    kn_folder_entry *entry;
    kn_table_writer *w = NULL;
    char id[ID_SIZE], strength[32];
    kn_status status;

    KN_TRY(kn_folder_add(ctx, c->folder, "truth/patients.tsv", &entry));
    KN_TRY(kn_table_writer_new(ctx, entry->path, kn_folder_options(c->folder), &w));
    KN_TRY(put_row(ctx, w, header, 2));
    for (ptrdiff_t i = 0; i < c->n; i++) {
        if (!c->subjects[i].patient)
            continue;
        name_subject(c, i, id);
        snprintf(strength, sizeof strength, "%.6g", c->subjects[i].lesion);
        KN_TRY(put_row(ctx, w, (const char *const[]){id, strength}, 2));
    }
    KN_TRY(kn_table_writer_commit(ctx, w));
    entry->made = true;
out:
    kn_table_writer_free(w);
    return status;
}

static json_t *truth(const cohort *c)
{
    const kn_cohort_summary *s = &c->summary;
    json_t *effects = json_object();
    for (int k = 0; k < EFFECTS; k++)
        json_object_set_new(effects, EFFECT[k].name,
                            json_pack("{s:f, s:f}", "mean", EFFECT[k].mean, "spread",
                                      EFFECT[k].spread));
    return json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:o, s:{s:f, s:i, s:f, s:f, s:f}, s:{s:f, s:f, "
        "s:[f,f,f], s:f, s:f, s:f, s:I}}",
        "kind", "cohort", "seed", (json_int_t)c->o->seed, "controls", (json_int_t)c->o->samples,
        "patients", (json_int_t)c->o->patients, "train", (json_int_t)s->train, "test",
        (json_int_t)s->test, "voxels", (json_int_t)s->voxels, "r2", s->r2, "effects_in_residual_sd",
        effects, "noise", "smooth_variance_share", SMOOTH_SHARE, "components", (int)COMPONENTS,
        "length_mm", NOISE_LENGTH, "typical_sd", SD, "sd_of_log_sd", SD_SPREAD, "lesion",
        "mean_strength_sd", c->o->lesion, "strength_spread", LESION_SPREAD, "centre_mm",
        s->lesion_centre[0], s->lesion_centre[1], s->lesion_centre[2], "radius_mm", LESION_RADIUS,
        "radius_voxels", LESION_RADIUS / GRID[c->o->size].voxel, "full_strength_within_mm",
        LESION_CORE * LESION_RADIUS, "voxels_at_half_strength_or_more",
        (json_int_t)s->lesion_voxels);
}

/* truth/lesion.nii.gz: what a patient of mean strength has more than a control, negative. */
static kn_status write_truth(kn_ctx *ctx, cohort *c)
{
    double *effect = NULL;
    kn_status status;
    KN_TRY(kn_alloc_d(ctx, c->voxels, &effect));
    for (ptrdiff_t v = 0; v < c->voxels; v++)
        effect[v] = -c->o->lesion * c->lesion[v] * c->maps[SD_FIELD * c->voxels + v];
    KN_TRY(kn_sim_image_write(ctx, c->folder, "truth/lesion.nii.gz", &c->grid, KN_VOXEL_FLOAT32,
                              effect, c->index, c->voxels));
    KN_TRY(write_patients(ctx, c));
    KN_TRY(kn_folder_json(ctx, c->folder, "truth/truth.json", truth(c)));
out:
    kn_free(effect);
    return status;
}

static kn_status write_all(kn_ctx *ctx, cohort *c)
{
    kn_status status;
    KN_TRY(kn_folder_sub(ctx, c->folder, "images"));
    KN_TRY(kn_folder_sub(ctx, c->folder, "truth"));
    KN_TRY(kn_each(ctx, "images", c->n, write_subject, c));
    KN_TRY(kn_sim_image_write(ctx, c->folder, "mask.nii.gz", &c->grid, KN_VOXEL_FLOAT32, NULL,
                              c->index, c->voxels));
    for (part which = ALL; which <= TEST; which++) {
        KN_TRY(write_participants(ctx, c, which));
        KN_TRY(write_list(ctx, c, which));
    }
    KN_TRY(write_truth(ctx, c));
out:
    return status;
}

kn_status kn_sim_cohort(kn_ctx *ctx, const kn_cohort_options *options, kn_cohort_summary *out)
{
    cohort c = {.o = options};
    kn_status status;

    if (out)
        *out = (kn_cohort_summary){0};
    KN_TRY(check(ctx, options));
    KN_TRY(kn_folder_open(ctx, options->dir, options->force, &c.folder));
    KN_TRY(draw_subjects(ctx, &c));
    set_grid(&c.grid, options->size);
    KN_TRY(make_mask(ctx, &c));
    KN_TRY(make_lesion(ctx, &c));
    KN_TRY(make_maps(ctx, &c));
    measure_r2(&c);
    KN_TRY(write_all(ctx, &c));
    if (out)
        *out = c.summary;
out:
    kn_folder_close(c.folder, status == KN_OK);
    kn_free(c.subjects);
    kn_free(c.index);
    kn_free(c.maps);
    kn_free(c.lesion);
    return status;
}
