/* Centile curves of a model with their bands, and participants among them [METHOD 8f]: the mean and
 * variance at given covariates, the grid of points, and the state of kn_centiles. The report draws
 * its curves with the first two. */
#ifndef KN_COMMANDS_CENTILES_CENTILES_H
#define KN_COMMANDS_CENTILES_CENTILES_H

#include "base/context.h"
#include "commands/common/map_writer.h"
#include "data/dataset.h"
#include "io/file/atomic_writer.h"
#include "io/table/table.h"
#include "model/model.h"
#include "stats/shash.h"

/* ---- curves.c ---- */

/* Mean, model variance and noise variance of responses at given covariates, in original units
 * [METHOD 8f] */

typedef struct kn_curve_site { /* site of the points [METHOD 8e] */
    bool without_site;         /* no training site: predict without site terms */
    int adapted;               /* adapted site; -1: mean of sites */
} kn_curve_site;

/* Curves of S responses at n points. */
typedef struct kn_curves {
    const kn_model *model; /* borrowed */
    kn_curve_site site;
    ptrdiff_t n, S;        /* number of points, number of responses */
    const ptrdiff_t *kept; /* S: index among the responses in use, ascending; borrowed */
    bool few;              /* skip extrapolation and blocks without these responses */
    kn_mat mean;           /* n x S: predictive mean */
    kn_mat var, noise;     /* n x S: model variance; noise variance at these covariates */
    double *extrapolation; /* n: percentile [METHOD 8b]; NaN: no reference */
} kn_curves;

/* Compute the curves of S responses at n points. raw (n x covariates): input of kn_design_apply();
 * covariates are clamped. The caller sets model, site, S, kept and few of *of. Cost: one pass over
 * all responses for any S; with few only over the blocks of these, with the same bits. */
kn_status kn_curves_compute(kn_ctx *ctx, kn_view raw, kn_curves *curves);
void kn_curves_clear(kn_curves *c); /* frees all but what is borrowed; accepts {0} */

/* Compute only the predictive mean (n x S, original units) of any model with the same covariates at
 * the points raw. without_site: at the mean of sites. response: S indices among all responses,
 * ascending; NaN for those that this model lacks. */
kn_status kn_curves_mean(kn_ctx *ctx, const kn_model *model, kn_view raw, bool without_site,
                         const ptrdiff_t *response, kn_mat mean);

/* Variance that an adapted site adds to the mean of the response with index `kept` among those in
 * use, original units squared; 0 at other sites. */
double kn_curves_site_var(const kn_model *model, kn_curve_site site, ptrdiff_t kept);

/* ---- grid.c ---- */

/* The grid of covariates at which curves are drawn, from {over}, {at} and {grid} [METHOD 8f]
 *
 * A point is a row of codes, one per covariate of the model: a number, the index of a level, or NaN
 * for the average level; for batch columns NaN means without site effect. There is one curve per
 * combination of drawn levels; the points of a curve are consecutive, from the smallest to the
 * largest training value of {over}. */

typedef struct kn_grid_at { /* fixed value of one covariate */
    bool drawn;             /* not fixed: each level has its own curves */
    double code;            /* fixed value; NaN: average level */
    const char *adapted;    /* level of an adapted site, borrowed; NULL: none */
} kn_grid_at;

/* The points: `curves` curves of `values` points each. */
typedef struct kn_grid {
    const kn_model *model; /* borrowed */
    ptrdiff_t C, over;     /* number of covariates; index of {over} */
    kn_curve_site site;    /* site of all points: sites are never drawn */
    kn_grid_at *at;        /* C */
    ptrdiff_t curves, values, n;
    kn_mat code; /* n x C, n = curves * values */
} kn_grid;

/* Make the grid from {over}, {at} and {grid}. Defaults: numbers at their training mean, both levels
 * of a two-level category are drawn unless it is a batch effect, other categories at their average
 * level. {at} may name an adapted site as level. KN_ERR_ARGUMENT for unknown names and levels. out
 * is owned by the caller. */
kn_status kn_grid_new(kn_ctx *ctx, const kn_model *model, const kn_settings *s, kn_grid *out);
void kn_grid_clear(kn_grid *g); /* accepts {0} */

/* Make the codes (n x C) of n participants with covariates X (input of kn_design_apply()): {over}
 * and drawn categories are their own, the others as in the grid. *code is owned by the caller. */
kn_status kn_grid_participants(kn_ctx *ctx, const kn_grid *g, kn_mat X, kn_mat *code);

/* Convert codes (n x C) to the input of kn_design_apply() for model `target`, which has the same
 * covariates; a level that it lacks becomes its average. *raw is owned by the caller. */
kn_status kn_grid_design_input(kn_ctx *ctx, const kn_grid *g, kn_mat code, const kn_model *target,
                               kn_mat *raw);

/* Write the names of the covariate columns as table cells, {over} first. */
kn_status kn_grid_names(kn_ctx *ctx, const kn_grid *g, kn_table_writer *w);

/* Write row i of code (n x C) as table cells, {over} first: numbers, and names of levels. */
kn_status kn_grid_cells(kn_ctx *ctx, const kn_grid *g, kn_mat code, ptrdiff_t i,
                        kn_table_writer *w);
/* Label of point i, such as "sex=F,site=mean"; over: begin with {over}. Truncated to `size`. */
void kn_grid_label(const kn_grid *g, ptrdiff_t i, bool over, char *out, size_t size);

/* ---- the run: centiles.c and the other files ---- */

typedef enum kn_bands { KN_BANDS_NONE, KN_BANDS_MODEL, KN_BANDS_JACKKNIFE } kn_bands;
extern const char *const kn_bands_name[]; /* none, model, jackknife */

enum {
    KN_BANDS_FITS = 8,          /* fits of the jackknife */
    KN_CENTILES_MAX = 32,       /* centiles per call */
    KN_CENTILES_ROWS = 2000000, /* rows per table */
    KN_CENTILE_NAME = 64        /* length of a file name */
};

typedef struct kn_centile { /* one requested centile */
    double percent, z;
    char name[KN_CENTILE_NAME]; /* such as centile_05, centile_97.5 */
} kn_centile;

/* One run of kn_centiles. */
typedef struct kn_centiles_work {
    const kn_model *model;
    const kn_options *options;
    kn_settings s;
    kn_grid grid; /* points of the curves */
    kn_mat raw;   /* grid.n x width: points as input of kn_design_apply */
    int n_centiles;
    kn_centile centile[KN_CENTILES_MAX];
    ptrdiff_t S;                /* number of responses */
    ptrdiff_t *kept, *response; /* S: index among the responses in use, and among all */
    kn_shash *distribution;     /* S: distribution per response; NULL: no SHASH shape */
    kn_mat t;                   /* n_centiles x S: centiles in standard deviations from the mean */
    kn_bands bands;             /* kind of the bands */
    kn_mat J;     /* grid.n x S: jackknife variance of the mean; empty with other bands */
    double *kurt; /* S: kurtosis term of the bands */
    kn_data *training, *participants; /* borrowed, or read by run(); NULL: none */
    kn_warnings warnings;
    kn_centiles_info info;
    kn_write_options write;
    kn_created_files made;        /* removed if the run fails */
    kn_uncommitted_files pending; /* written, but not renamed yet */
} kn_centiles_work;

/* Distribution of response j; NULL: no SHASH shape. */
static inline const kn_shash *kn_centiles_distribution(const kn_centiles_work *w, ptrdiff_t j)
{
    return w->distribution ? &w->distribution[j] : NULL;
}

/* True if the responses are images. */
static inline bool kn_centiles_images(const kn_centiles_work *w)
{
    return w->model->space.kind == KN_SPACE_IMAGE;
}

/* Curves of the chosen responses, for kn_curves_compute. */
static inline kn_curves kn_centiles_curves(const kn_centiles_work *w)
{
    return (kn_curves){.model = w->model, .site = w->grid.site, .S = w->S, .kept = w->kept};
}

/* Centile k of response j at point i of c, and half the width of its band (NaN without bands), in
 * original units. first: grid point of point 0 of c. */
typedef struct kn_centile_value {
    double value, half;
} kn_centile_value;

/* Centile k of response j at point i of c, and half the width of its confidence band (NaN without
 * bands), in original units. first: grid point of point 0 of c. */
kn_centile_value kn_centiles_value(const kn_centiles_work *w, const kn_curves *c, ptrdiff_t first,
                                   ptrdiff_t i, ptrdiff_t j, int k);

/* Value of response j with this z-score at point i of the curves, in original units. */
double kn_centiles_at_z(const kn_centiles_work *w, const kn_curves *c, ptrdiff_t i, ptrdiff_t j,
                        double z);
/* Number of points per call of kn_curves_compute, for about 64 MB. */
static inline ptrdiff_t kn_centiles_batch(ptrdiff_t S)
{
    enum { BYTES = 1 << 26 };
    return (ptrdiff_t)(BYTES / (3.0 * sizeof(double) * (double)S)) + 1;
}

/* Compute distribution, t and kurt of the chosen responses, for the chosen centiles.
 * KN_ERR_MEMORY. */
kn_status kn_centiles_set_distributions(kn_ctx *ctx, kn_centiles_work *w);
void kn_centiles_clear(kn_centiles_work *w); /* accepts {0} */

/* Read the training sample with the options that the model stores; *out is owned by the caller.
 * KN_ERR_DATA if the model does not store them. */
kn_status kn_jackknife_read(kn_ctx *ctx, const kn_centiles_work *w, kn_data **out);

/* Set w->J (grid.n x S), the jackknife variance of the mean at w->raw, from KN_BANDS_FITS fits
 * without one fold each. KN_ERR_DATA if w->training is not the training sample. Can be
 * cancelled. */
kn_status kn_centiles_jackknife(kn_ctx *ctx, kn_centiles_work *w);

/* Checks before the computation that all files can be written; the folder exists. */
kn_status kn_centiles_check(kn_ctx *ctx, kn_centiles_work *w);

/* Write the tables, or maps if the responses are images; adds their number to w->info.files. */
kn_status kn_centiles_write(kn_ctx *ctx, kn_centiles_work *w);

/* Write summary.json, the last file of the run; adds it to w->info.files. */
kn_status kn_centiles_summary(kn_ctx *ctx, kn_centiles_work *w);

/* How maps of the run are written, for kn_mapfile_new(). label: name of each volume, borrowed; may
 * be NULL for single maps. */
kn_maplayout kn_centiles_layout(const kn_centiles_work *w, char *const *label);

/* For images: check before the computation that all maps and grid.tsv can be written. */
kn_status kn_centile_maps_check(kn_ctx *ctx, kn_centiles_work *w);

/* For images: write the maps and grid.tsv; adds their number to w->info.files. */
kn_status kn_centile_maps_write(kn_ctx *ctx, kn_centiles_work *w);

/* Read the participants of {participants} with the options of score; *out is owned by the
 * caller. */
kn_status kn_points_read(kn_ctx *ctx, const kn_centiles_work *w, kn_data **out);

/* Check before the computation that points.tsv and its maps can be written; KN_ERR_ARGUMENT if the
 * table would have too many rows. */
kn_status kn_points_check(kn_ctx *ctx, kn_centiles_work *w);

/* Score the participants and write their values at the covariates of the curves: points.tsv, and
 * maps if the responses are images. */
kn_status kn_points_write(kn_ctx *ctx, kn_centiles_work *w);

/* Makes FOLDER/NAME; KN_ERR_IO if too long. */
enum { KN_CENTILES_PATH = 4096 };

/* path = FOLDER/NAME; KN_ERR_IO if it is too long. */
kn_status kn_centiles_path(kn_ctx *ctx, const kn_centiles_work *w, const char *name,
                           char path[KN_CENTILES_PATH]);

/* ---- confidence bands, in jackknife.c -------------------------------------------------------- */

/* Confidence band of a centile: how accurately it is known [METHOD 8f]
 *
 *     value     = mean + sqrt(V) t              t of the centile: kn_calibration_inverse()
 *     variance  = J + t^2 noise kurt/(4 n)      J: of the mean; the rest: of sqrt(noise)
 *     J         = (K - 1)/K sum_f (mean_f - mean of them)^2       K fits, each without a fold
 *     kurt      = E zt^4 - 1, by the nodes of the response's distribution; 2 without a shape
 *
 * The sd of n values with kurtosis kurt + 1 has variance noise kurt/(4 n). */

#define KN_BAND_NORMAL 1.959963984540054 /* half width of a 95 % band in standard errors */

/* Kurtosis term of the confidence band of a response, E zt^4 - 1 under its distribution, at least
 * 0.5 and at most max(n, 2), since n values cannot have more; 2 without a shape (shash NULL). */
double kn_band_kurt(const kn_shash_nodes *nodes, const kn_shash *shash, double n);

typedef struct kn_band_terms {
    double J, t, noise, kurt, n;
} kn_band_terms;

/* Half width of the 95 % band of a centile; NaN if any input is NaN. */
double kn_band_half(const kn_band_terms *b);

/* Add one fit (a x b) to the running mean of the fits and to `spread`, the sum of squares about it
 * (Welford); count: number of fits including this one. */
void kn_band_fold(kn_mat mean, kn_mat spread, kn_mat fold, int count);

/* Turn the sum of squares over K fits into the jackknife variance J = spread (K - 1)/K, in
 * place. */
void kn_band_jackknife(kn_mat spread, int K);

#endif
