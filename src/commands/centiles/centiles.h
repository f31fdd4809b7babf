/* State of kn_centiles: centile curves of a model with their bands, and participants among them
 * [METHOD 8f]. centiles.c runs it; grid.h has the points, curves.h the mean and variance at
 * them. */
#ifndef KN_COMMANDS_CENTILES_CENTILES_H
#define KN_COMMANDS_CENTILES_CENTILES_H

#include "base/warnings.h"
#include "commands/centiles/curves.h"
#include "commands/centiles/grid.h"
#include "commands/common/map_writer.h"
#include "data/dataset.h"
#include "io/file/atomic_writer.h"
#include "norm/metrics/centile_band.h"

typedef enum kn_bands { KN_BANDS_NONE, KN_BANDS_MODEL, KN_BANDS_JACKKNIFE } kn_bands;
extern const char *const kn_bands_name[]; /* none, model, jackknife */

enum {
    KN_BANDS_FITS = 8,          /* fits of the jackknife */
    KN_CENTILES_MOST = 32,      /* centiles per call */
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
    kn_centile centile[KN_CENTILES_MOST];
    ptrdiff_t S;                /* number of responses */
    ptrdiff_t *kept, *response; /* S: index among the responses in use, and among all */
    kn_shash *law;              /* S: distribution per response; NULL: no SHASH shape */
    kn_mat t;                   /* n_centiles x S: centiles in standard deviations from the mean */
    kn_bands bands;             /* kind of the bands */
    kn_mat J;     /* grid.n x S: jackknife variance of the mean; empty with other bands */
    double *kurt; /* S: kurtosis term of the bands */
    kn_data *training, *people; /* borrowed, or read by run(); NULL: none */
    kn_warnings warnings;
    kn_centiles_info info;
    kn_write_options write;
    kn_created_files made;        /* removed if the run fails */
    kn_uncommitted_files pending; /* written, but not renamed yet */
} kn_centiles_work;

/* Distribution of response j; NULL: no SHASH shape. */
static inline const kn_shash *kn_centiles_law(const kn_centiles_work *w, ptrdiff_t j)
{
    return w->law ? &w->law[j] : NULL;
}

/* True if the responses are images. */
static inline bool kn_centiles_images(const kn_centiles_work *w)
{
    return w->model->space.kind == KN_SPACE_IMAGE;
}

/* Curves of the chosen responses, for kn_curves_make. */
static inline kn_curves kn_centiles_curves(const kn_centiles_work *w)
{
    return (kn_curves){.model = w->model, .site = w->grid.site, .S = w->S, .kept = w->kept};
}

/* Centile k of response j at point i of c, and half the width of its band (NaN without bands), in
 * original units. first: grid point of point 0 of c. */
typedef struct kn_centile_value {
    double value, half;
} kn_centile_value;
kn_centile_value kn_centiles_value(const kn_centiles_work *w, const kn_curves *c, ptrdiff_t first,
                                   ptrdiff_t i, ptrdiff_t j, int k);

/* Value of response j with this z at point i of the curves, in original units. */
double kn_centiles_at_z(const kn_centiles_work *w, const kn_curves *c, ptrdiff_t i, ptrdiff_t j,
                        double z);
/* Number of points per call of kn_curves_make, for about 64 MB. */
static inline ptrdiff_t kn_centiles_batch(ptrdiff_t S)
{
    enum { BYTES = 1 << 26 };
    return (ptrdiff_t)(BYTES / (3.0 * sizeof(double) * (double)S)) + 1;
}

/* Computes law, t and kurt. Call after responses and centiles are chosen. */
kn_status kn_centiles_laws(kn_ctx *ctx, kn_centiles_work *w);
void kn_centiles_clear(kn_centiles_work *w); /* accepts {0} */

/* kn_jackknife_read reads the training sample with the options stored in the model.
 * kn_centiles_jackknife sets w->J at w->raw from fits without one fold each; KN_ERR_DATA if
 * w->training is not the training sample. */
kn_status kn_jackknife_read(kn_ctx *ctx, const kn_centiles_work *w, kn_data **out);
kn_status kn_centiles_jackknife(kn_ctx *ctx, kn_centiles_work *w);

/* Checks before the computation that all files can be written; the folder exists. */
kn_status kn_centiles_check(kn_ctx *ctx, kn_centiles_work *w);
/* Writes tables, or maps if the responses are images; then the summary. Both add to
 * w->info.files. */
kn_status kn_centiles_write(kn_ctx *ctx, kn_centiles_work *w);
kn_status kn_centiles_summary(kn_ctx *ctx, kn_centiles_work *w);
/* For images, in write_maps.c. label: name of each volume; may be NULL for single maps. */
kn_maplayout kn_centiles_layout(const kn_centiles_work *w, char *const *label);
kn_status kn_centile_maps_check(kn_ctx *ctx, kn_centiles_work *w);
kn_status kn_centile_maps_write(kn_ctx *ctx, kn_centiles_work *w);
/* Participants among the curves, in participants.c: points.tsv, and maps if the responses are
 * images. */
kn_status kn_points_read(kn_ctx *ctx, const kn_centiles_work *w, kn_data **out);
kn_status kn_points_check(kn_ctx *ctx, kn_centiles_work *w);
kn_status kn_points_write(kn_ctx *ctx, kn_centiles_work *w);

/* Makes FOLDER/NAME; KN_ERR_IO if too long. */
enum { KN_CENTILES_PATH = 4096 };
kn_status kn_centiles_path(kn_ctx *ctx, const kn_centiles_work *w, const char *name,
                           char path[KN_CENTILES_PATH]);

#endif
