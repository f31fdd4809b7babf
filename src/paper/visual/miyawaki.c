/* Implements miyawaki.h: truth maps, patterns, runs, and the other files of the data set. It has
 * the layout and the size of the data of Miyawaki et al. 2008. */
#include "paper/visual/miyawaki.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "cohort/output_folder.h"
#include "cohort/random_field.h"
#include "paper/visual/internal.h"

/* ---- parameters ---- */

enum { SHIFT = 2, LEAD = 7, TAIL = 6 }; /* scans: haemodynamic delay; rest before and after */
enum { COMPONENTS = 12, DRIFTS = 4 };
enum { ABNORMALITY = COMPONENTS + DRIFTS, BASE, SD_FIELD, FIELDS };
enum { STREAM_PATTERNS = 1, STREAM_ORDER, STREAM_GAIN, STREAM_FIELDS = 100, STREAM_RUNS = 1000 };

/* Share of the noise variance; correlation between scans. */
static const double SMOOTH_PROPORTION = 0.4, MEMORY = 0.4;
static const double NOISE_LENGTH = 15, DRIFT_LENGTH = 40, ABNORMAL_LENGTH = 6, FIELD_LENGTH = 30;
static const double DRIFT_LINE = 2, DRIFT_WAVE = 0.15; /* noise sd over a run; amplitude */
static const double BASE_MEAN = 900, BASE_SPREAD = 100, SD_MEAN = 12, SD_SPREAD = 0.3;
static const double STRENGTH_SPREAD = 0.25; /* u is uniform between 1 - this and 1 + this */
static const double SCAN_SECONDS = 2, TWO_PI = 6.283185307179586;

typedef struct kind {
    const char *name;
    ptrdiff_t runs, images; /* images per run */
    ptrdiff_t scans;        /* for which an image is shown, with the rest after it */
} kind;

static const struct {
    ptrdiff_t dim[3], voxels;
    double side[3]; /* mm, size of a voxel */
    kind random, figure;
} SIZE[] = {
    {{12, 12, 6}, 200, {16, 16, 15}, {"random", 4, 10, 3}, {"figure", 2, 10, 6}},
    {{64, 64, 30}, 5438, {3, 3, 3}, {"random", 20, 22, 3}, {"figure", 12, 10, 6}},
};

typedef struct experiment {
    const kn_miyawaki_options *o;
    kn_folder *folder;
    kind random, figure;
    kn_nifti_header grid;
    ptrdiff_t T, *index;
    kn_visual_voxel *voxel;
    double *weights; /* pixels x T: scaled receptive fields */
    double *offset, *gain;
    double *maps; /* FIELDS x T */
    /* pixels x images: of the random runs, then of the figure runs. */
    unsigned char *patterns;
    double *abnormal; /* a u of each image of the figure runs */
    kn_miyawaki_summary summary;
} experiment;

void kn_miyawaki_options_init(kn_miyawaki_options *options)
{
    *options = (kn_miyawaki_options){.size = KN_MIYAWAKI_FULL, .strength = 0.3, .seed = 1};
}

/* Returns the number of scans of a run of this kind: rest, then each image with rest after it, then
 * rest. */
static ptrdiff_t scans_of(const kind *k)
{
    return LEAD + 2 * k->scans * k->images + TAIL;
}

/* Returns the number of images in all runs of this kind. */
static ptrdiff_t images_of(const kind *k)
{
    return k->runs * k->images;
}

/* Returns the index of the image shown at this scan of a run; -1 during rest. */
static ptrdiff_t image_shown(const kind *k, ptrdiff_t scan)
{
    ptrdiff_t t = scan - LEAD;
    bool on = t >= 0 && t < 2 * k->scans * k->images && t % (2 * k->scans) < k->scans;
    return on ? t / (2 * k->scans) : -1;
}

/* ---- truth ---- */

void kn_miyawaki_grid(kn_miyawaki_size size, kn_nifti_header *grid, ptrdiff_t *voxels)
{
    const int scanner = 1, millimetres_seconds = 2 + 8;
    const double corner[3] = {-94.5, -121.5, -43.5}; /* centre of the first voxel in full size */
    const double *side = SIZE[size].side;
    *grid = (kn_nifti_header){.version = 1,
                              .pixdim = {1, side[0], side[1], side[2], SCAN_SECONDS},
                              .sform_code = scanner,
                              .xyzt_units = millimetres_seconds};
    for (int d = 0; d < 3; d++) {
        grid->dim[d] = SIZE[size].dim[d];
        grid->srow[d][d] = side[d];
        grid->srow[d][3] = corner[d] + (side[d] - SIZE[KN_MIYAWAKI_FULL].side[d]) / 2;
    }
    *voxels = SIZE[size].voxels;
}

/* Creates the voxels of the simulated visual cortex with their areas and receptive fields. */
static kn_status set_voxels(kn_ctx *ctx, experiment *e)
{
    kn_status status;
    kn_miyawaki_grid(e->o->size, &e->grid, &e->T);
    e->summary.voxels = e->T;
    KN_TRY(kn_retinotopy_new(ctx, &e->grid, e->T, &e->voxel));
    KN_TRY(kn_alloc_i(ctx, e->T, &e->index));
    for (ptrdiff_t v = 0; v < e->T; v++)
        e->index[v] = e->voxel[v].index;
out:
    return status;
}

/* Computes the weights (pixels x T) of each voxel, so that d = sum_p w_p (x_p - f) / sqrt(f (1 - f)
 * sum_p w_p^2) has variance 1 if pixels are lit independently with probability f, and draws its
 * gain. */
static kn_status set_receptive_fields(kn_ctx *ctx, experiment *e)
{
    double fill = 0;
    kn_rng rng;
    kn_status status;
    KN_TRY(kn_alloc_d(ctx, KN_PIXELS * e->T, &e->weights));
    KN_TRY(kn_alloc_d(ctx, e->T, &e->offset));
    KN_TRY(kn_alloc_d(ctx, e->T, &e->gain));
    for (int f = 0; f < KN_FIGURES; f++)
        fill += (double)kn_pattern_fill(f) / (KN_FIGURES * KN_PIXELS);
    kn_rng_init(&rng, e->o->seed, STREAM_GAIN);
    for (ptrdiff_t v = 0; v < e->T; v++) {
        const kn_visual_voxel *voxel = &e->voxel[v];
        double *w = e->weights + v * KN_PIXELS, square = 0, sum = 0;
        for (int p = 0; p < KN_PIXELS; p++) {
            double dr = p % KN_SCREEN - voxel->row, dc = p / KN_SCREEN - voxel->col;
            w[p] = exp(-(dr * dr + dc * dc) / (2 * voxel->width * voxel->width));
            square += w[p] * w[p];
        }
        for (int p = 0; p < KN_PIXELS; p++) {
            w[p] /= sqrt(fill * (1 - fill) * square);
            sum += w[p];
        }
        double u = kn_rng_uniform(&rng), share = kn_area_signal[voxel->area] * u * u;
        e->offset[v] = fill * sum;
        e->gain[v] = sqrt(share / (1 - share));
    }
out:
    return status;
}

/* Draws the random fields of noise, drift, abnormality, mean and standard deviation (FIELDS x T),
 * and scales them; the smooth noise has variance SMOOTH_PROPORTION everywhere. */
static kn_status set_maps(kn_ctx *ctx, experiment *e)
{
    kn_field field[FIELDS];
    ptrdiff_t T = e->T;
    kn_status status = kn_alloc_d(ctx, FIELDS * T, &e->maps);
    if (status != KN_OK)
        return status;
    for (int k = 0; k < FIELDS; k++) {
        double length = k < COMPONENTS     ? NOISE_LENGTH
                        : k < ABNORMALITY  ? DRIFT_LENGTH
                        : k == ABNORMALITY ? ABNORMAL_LENGTH
                                           : FIELD_LENGTH;
        kn_field_init(&field[k], e->o->seed, (uint64_t)(STREAM_FIELDS + k), length);
    }
    kn_field_maps(ctx, field, FIELDS, &e->grid, e->index, T, e->maps);
    for (ptrdiff_t v = 0; v < T; v++) {
        double squares = 0, *at = e->maps + v;
        for (int k = 0; k < COMPONENTS; k++)
            squares += at[k * T] * at[k * T];
        for (int k = 0; k < COMPONENTS; k++) /* so that the noise has variance 1 at every voxel */
            at[k * T] *= sqrt(SMOOTH_PROPORTION / squares);
        at[BASE * T] = BASE_MEAN + BASE_SPREAD * at[BASE * T];
        at[SD_FIELD * T] = SD_MEAN * exp(SD_SPREAD * at[SD_FIELD * T]);
    }
    return KN_OK;
}

/* Draws the images of all runs and the strength of each figure's abnormality. Random patterns have
 * the figures' numbers of lit pixels in turn, and each figure occurs once in every KN_FIGURES
 * images, so that the mean fill is equal. */
static kn_status draw_patterns(kn_ctx *ctx, experiment *e)
{
    ptrdiff_t randoms = images_of(&e->random), figures = images_of(&e->figure);
    ptrdiff_t order[KN_FIGURES] = {0};
    kn_rng rng;
    void *p;
    kn_status status;

    KN_TRY(kn_alloc(ctx, randoms + figures, KN_PIXELS, &p));
    e->patterns = p;
    KN_TRY(kn_alloc_d(ctx, figures, &e->abnormal));
    kn_rng_init(&rng, e->o->seed, STREAM_PATTERNS);
    for (ptrdiff_t i = 0; i < randoms; i++)
        kn_pattern_random(&rng, kn_pattern_fill((int)(i % KN_FIGURES)),
                          e->patterns + i * KN_PIXELS);
    kn_rng_init(&rng, e->o->seed, STREAM_ORDER);
    for (ptrdiff_t i = 0; i < figures; i++) {
        if (i % KN_FIGURES == 0)
            kn_rng_permutation(&rng, KN_FIGURES, order);
        kn_pattern_figure((int)order[i % KN_FIGURES], e->patterns + (randoms + i) * KN_PIXELS);
        e->abnormal[i] = e->o->strength * (1 + STRENGTH_SPREAD * (2 * kn_rng_uniform(&rng) - 1));
    }
out:
    return status;
}

/* Returns the response of voxel v to the pixels x, in -2 .. 2: a saturating function of their
 * weighted sum. */
static double voxel_response(const experiment *e, ptrdiff_t v, const unsigned char *x)
{
    const double *w = e->weights + v * KN_PIXELS;
    double d = -e->offset[v];
    for (int p = 0; p < KN_PIXELS; p++)
        d += w[p] * x[p];
    return 2 * tanh(d / 2);
}

/* Returns the proportion of lit pixels in these images. */
static double mean_fill(const unsigned char *x, ptrdiff_t images)
{
    ptrdiff_t lit = 0;
    for (ptrdiff_t i = 0; i < images * KN_PIXELS; i++)
        lit += x[i];
    return (double)lit / (double)(images * KN_PIXELS);
}

/* Fills the summary: sizes, fills, and r2, the mean over voxels of variance / (variance + 1) of the
 * response to random patterns. */
static void summarise_responses(experiment *e)
{
    kn_miyawaki_summary *s = &e->summary;
    ptrdiff_t n = images_of(&e->random), m = images_of(&e->figure);
    s->random_runs = e->random.runs;
    s->figure_runs = e->figure.runs;
    s->random_scans = scans_of(&e->random);
    s->figure_scans = scans_of(&e->figure);
    s->random_rows = n * e->random.scans;
    s->figure_rows = m * e->figure.scans;
    s->random_fill = mean_fill(e->patterns, n);
    s->figure_fill = mean_fill(e->patterns + n * KN_PIXELS, m);
    for (ptrdiff_t v = 0; v < e->T; v++) {
        double mean = 0, square = 0;
        for (ptrdiff_t i = 0; i < n; i++) {
            double r = e->gain[v] * voxel_response(e, v, e->patterns + i * KN_PIXELS);
            mean += r / (double)n;
            square += r * r / (double)n;
        }
        double variance = square - mean * mean;
        s->r2 += variance / (variance + 1) / (double)e->T;
    }
}

/* ---- runs ---- */

typedef struct run { /* data shared by the scans of a run */
    const experiment *e;
    const kind *k;
    const unsigned char *patterns;
    const double *abnormal; /* NULL: a random run */
    ptrdiff_t scans;
    kn_rng rng;
    double state[COMPONENTS]; /* of the noise components */
    double line[DRIFTS], wave[DRIFTS], phase[DRIFTS];
    double *y, *evoked;  /* T */
    ptrdiff_t evoked_by; /* image whose response is in `evoked`; -1: none yet */
} run;

/* Draws the initial state of the noise components and the slow drifts of a run. */
static void start_run(run *r)
{
    for (int k = 0; k < COMPONENTS; k++)
        r->state[k] = kn_rng_normal(&r->rng);
    for (int k = 0; k < DRIFTS; k++) {
        r->line[k] = DRIFT_LINE * kn_rng_normal(&r->rng) / sqrt(DRIFTS);
        r->wave[k] = DRIFT_WAVE * kn_rng_normal(&r->rng) / sqrt(DRIFTS);
        r->phase[k] = TWO_PI * kn_rng_uniform(&r->rng);
    }
    r->evoked_by = -1;
}

/* Computes r->evoked, the response of each voxel to an image, g (1 + r(x)) + a u A; does nothing if
 * it is there already. */
static void compute_evoked(run *r, ptrdiff_t image)
{
    const experiment *e = r->e;
    const double *A = e->maps + ABNORMALITY * e->T, a = r->abnormal ? r->abnormal[image] : 0;
    for (ptrdiff_t v = 0; v < e->T && r->evoked_by != image; v++)
        r->evoked[v] =
            e->gain[v] * (1 + voxel_response(e, v, r->patterns + image * KN_PIXELS)) + a * A[v];
    r->evoked_by = image;
}

/* Simulates scan t into r->y (T): first-order autoregressive smooth noise, white noise, drift, and
 * the response to the image shown SHIFT scans before. Scans must be made in order. */
static void make_scan(run *r, ptrdiff_t t)
{
    const experiment *e = r->e;
    double *y = r->y, weight[COMPONENTS + DRIFTS], white = sqrt(1 - SMOOTH_PROPORTION);
    double tau = (double)t / (double)(r->scans - 1) - 0.5; /* -1/2 .. 1/2 over the run */
    ptrdiff_t T = e->T, image = image_shown(r->k, t - SHIFT);

    for (int k = 0; k < COMPONENTS; k++) {
        if (t > 0)
            r->state[k] = MEMORY * r->state[k] + sqrt(1 - MEMORY * MEMORY) * kn_rng_normal(&r->rng);
        weight[k] = r->state[k];
    }
    for (int k = 0; k < DRIFTS; k++)
        weight[COMPONENTS + k] = r->line[k] * tau + r->wave[k] * cos(TWO_PI * tau + r->phase[k]);
    if (image >= 0)
        compute_evoked(r, image);
    for (ptrdiff_t v = 0; v < T; v++)
        y[v] = white * kn_rng_normal(&r->rng) + (image >= 0 ? r->evoked[v] : 0);
    for (int k = 0; k < COMPONENTS + DRIFTS; k++)
        for (ptrdiff_t v = 0; v < T; v++)
            y[v] += weight[k] * e->maps[k * T + v];
    for (ptrdiff_t v = 0; v < T; v++)
        y[v] = e->maps[BASE * T + v] + e->maps[SD_FIELD * T + v] * y[v];
}

/* Writes the label file of a run: a row per scan with the 100 pixels of the image shown, or -1 in
 * each column. */
static kn_status write_labels(kn_ctx *ctx, const run *r, const char *name)
{
    enum { CELL = 3 }; /* "-1," */
    char *text = NULL;
    ptrdiff_t used = 0;
    void *p;
    kn_status status;

    KN_TRY(kn_alloc(ctx, r->scans, CELL * KN_PIXELS, &p));
    text = p;
    for (ptrdiff_t t = 0; t < r->scans; t++) {
        ptrdiff_t image = image_shown(r->k, t);
        for (int i = 0; i < KN_PIXELS; i++) {
            if (image < 0)
                text[used++] = '-';
            text[used++] = image < 0 || r->patterns[image * KN_PIXELS + i] ? '1' : '0';
            text[used++] = i + 1 < KN_PIXELS ? ',' : '\n';
        }
    }
    KN_TRY(kn_folder_text(ctx, r->e->folder, name, text, used));
out:
    kn_free(text);
    return status;
}

/* Simulates run `item` (self: experiment; random runs first) and writes its labels and images;
 * called in parallel by kn_for_each_item. */
static kn_status write_run(kn_ctx *ctx, void *self, ptrdiff_t item)
{
    const experiment *e = self;
    bool random = item < e->random.runs;
    ptrdiff_t number = random ? item : item - e->random.runs;
    run r = {.e = e, .k = random ? &e->random : &e->figure};
    char name[64];
    kn_sim_image *image = NULL;
    kn_status status;

    r.scans = scans_of(r.k);
    r.patterns =
        e->patterns + ((random ? 0 : images_of(&e->random)) + number * r.k->images) * KN_PIXELS;
    r.abnormal = random ? NULL : e->abnormal + number * r.k->images;
    KN_TRY(kn_alloc_d(ctx, e->T, &r.y));
    KN_TRY(kn_alloc_d(ctx, e->T, &r.evoked));
    kn_rng_init(&r.rng, e->o->seed, (uint64_t)(STREAM_RUNS + item));
    start_run(&r);
    snprintf(name, sizeof name, "label/data_%s_run%02td_label.csv", r.k->name, number + 1);
    KN_TRY(write_labels(ctx, &r, name));
    snprintf(name, sizeof name, "func/data_%s_run%02td.nii.gz", r.k->name, number + 1);
    KN_TRY(kn_sim_image_new(ctx, e->folder, name, &e->grid, KN_VOXEL_FLOAT64, r.scans, &image));
    for (ptrdiff_t t = 0; t < r.scans; t++) {
        make_scan(&r, t);
        KN_TRY(kn_sim_image_volume(ctx, image, r.y, e->index, e->T));
    }
    KN_TRY(kn_sim_image_commit(ctx, image));
out:
    kn_sim_image_free(image);
    kn_free(r.y);
    kn_free(r.evoked);
    return status;
}

/* ---- other files ---- */

/* Returns JSON of everything that the simulation chose. Owned by the caller; NULL without memory.
 */
static json_t *truth_json(const experiment *e)
{
    const kn_miyawaki_summary *s = &e->summary;
    json_t *figures = json_array();
    for (int f = 0; f < KN_FIGURES; f++)
        json_array_append_new(figures, json_pack("{s:s, s:i}", "name", kn_pattern_name(f),
                                                 "lit_pixels", kn_pattern_fill(f)));
    return json_pack(
        "{s:s, s:I, s:I, s:f, s:i, s:f, s:f, s:o, s:{s:f, s:i, s:f, s:f}, s:{s:f, s:f}, s:{s:f, "
        "s:f, s:f, s:s}}",
        "kind", "miyawaki", "seed", (json_int_t)e->o->seed, "voxels", (json_int_t)s->voxels, "r2",
        s->r2, "shift_scans", (int)SHIFT, "random_fill", s->random_fill, "figure_fill",
        s->figure_fill, "figures", figures, "noise", "smooth_variance_share", SMOOTH_PROPORTION,
        "components", (int)COMPONENTS, "length_mm", NOISE_LENGTH, "correlation_from_scan_to_scan",
        MEMORY, "drift_in_noise_sd", "line", DRIFT_LINE, "wave", DRIFT_WAVE, "abnormality",
        "strength_in_noise_sd", e->o->strength, "strength_spread", STRENGTH_SPREAD, "length_mm",
        ABNORMAL_LENGTH, "where", "every scan two after one with a figure");
}

/* Writes truth/truth.json and truth/abnormality.nii.gz, the mean effect of figures in the units of
 * the runs. */
static kn_status write_truth(kn_ctx *ctx, const experiment *e)
{
    double *effect = NULL;
    kn_status status;
    KN_TRY(kn_alloc_d(ctx, e->T, &effect));
    for (ptrdiff_t v = 0; v < e->T; v++)
        effect[v] = e->o->strength * e->maps[ABNORMALITY * e->T + v] * e->maps[SD_FIELD * e->T + v];
    KN_TRY(kn_sim_image_write(ctx, e->folder, "truth/abnormality.nii.gz", &e->grid,
                              KN_VOXEL_FLOAT64, effect, e->index, e->T));
    KN_TRY(kn_folder_json(ctx, e->folder, "truth/truth.json", truth_json(e)));
out:
    kn_free(effect);
    return status;
}

/* Writes the data folder: runs, masks, true values, README and LICENSE. */
static kn_status write_all(kn_ctx *ctx, experiment *e)
{
    static const char *const folders[] = {"func", "label", "mask", "truth"};
    static const char readme[] =
        "Simulated by kronorm in the layout of the visual image reconstruction data of\n"
        "Miyawaki et al. 2008, Neuron 60:915. No measured data are in here.\n"
        "truth/truth.json says what was put in.\n";
    static const char license[] = "Simulated data: use them as you like.\n";
    const kn_miyawaki_masks places = {e->folder, &e->grid, e->voxel, e->index, e->T};
    kn_status status;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        KN_TRY(kn_folder_sub(ctx, e->folder, folders[i]));
    KN_TRY(kn_for_each_item(ctx, "runs", e->random.runs + e->figure.runs, write_run, e));
    KN_TRY(kn_miyawaki_write_masks(ctx, &places));
    KN_TRY(write_truth(ctx, e));
    KN_TRY(kn_folder_text(ctx, e->folder, "README", readme, sizeof readme - 1));
    KN_TRY(kn_folder_text(ctx, e->folder, "LICENSE", license, sizeof license - 1));
out:
    return status;
}

/* Returns KN_ERR_ARGUMENT for a strength or size that does not exist. */
static kn_status check_options(kn_ctx *ctx, const kn_miyawaki_options *o)
{
    if (!(isfinite(o->strength) && o->strength >= 0))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "abnormality of strength %g, expected 0 or more",
                       o->strength);
    if (o->size != KN_MIYAWAKI_SMALL && o->size != KN_MIYAWAKI_FULL)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "unknown size of experiment %d", (int)o->size);
    return KN_OK;
}

kn_status kn_sim_miyawaki(kn_ctx *ctx, const kn_miyawaki_options *options, kn_miyawaki_summary *out)
{
    experiment e = {.o = options};
    kn_status status;

    if (out)
        *out = (kn_miyawaki_summary){0};
    KN_TRY(check_options(ctx, options));
    e.random = SIZE[options->size].random;
    e.figure = SIZE[options->size].figure;
    KN_TRY(kn_folder_open(ctx, options->dir, options->force, &e.folder));
    KN_TRY(set_voxels(ctx, &e));
    KN_TRY(set_receptive_fields(ctx, &e));
    KN_TRY(set_maps(ctx, &e));
    KN_TRY(draw_patterns(ctx, &e));
    summarise_responses(&e);
    KN_TRY(write_all(ctx, &e));
    if (out)
        *out = e.summary;
out:
    kn_folder_close(e.folder, status == KN_OK);
    kn_free(e.index);
    kn_free(e.voxel);
    kn_free(e.weights);
    kn_free(e.offset);
    kn_free(e.gain);
    kn_free(e.maps);
    kn_free(e.patterns);
    kn_free(e.abnormal);
    return status;
}
