/* Centile curves of a model, what their places are known by, and people among them   [METHOD 8f] */
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
    KN_BANDS_FITS = 8,          /* of the jackknife */
    KN_CENTILES_MOST = 32,      /* of one call */
    KN_CENTILES_ROWS = 2000000, /* of a table */
    KN_CENTILE_NAME = 64        /* of a file */
};

typedef struct kn_centile { /* one that is asked for */
    double percent, z;
    char name[KN_CENTILE_NAME]; /* centile_05, centile_97.5 */
} kn_centile;

typedef struct kn_centiles_work {
    const kn_model *model;
    const kn_options *options;
    kn_settings s;
    kn_grid grid;
    kn_mat raw; /* grid.n x width, as kn_design_apply takes it */
    int n_centiles;
    kn_centile centile[KN_CENTILES_MOST];
    ptrdiff_t S;                /* responses */
    ptrdiff_t *kept, *response; /* S  among those in use, among all */
    kn_shash *law;              /* S; NULL: no shape */
    kn_mat t;                   /* n_centiles x S  places in standard deviations from the mean */
    kn_bands bands;
    kn_mat J;     /* grid.n x S  variance of the mean by the jackknife; none: another */
    double *kurt; /* S  of the bands */
    kn_data *training, *people; /* lent, or read; NULL: none */
    kn_warnings warnings;
    kn_centiles_info info;
    kn_write_options write;
    kn_created_files made;
    kn_uncommitted_files pending;
} kn_centiles_work;

static inline const kn_shash *kn_centiles_law(const kn_centiles_work *w, ptrdiff_t j)
{
    return w->law ? &w->law[j] : NULL;
}

static inline bool kn_centiles_images(const kn_centiles_work *w)
{
    return w->model->space.kind == KN_SPACE_IMAGE;
}

/* Curves of the responses, to be made. */
static inline kn_curves kn_centiles_curves(const kn_centiles_work *w)
{
    return (kn_curves){.model = w->model, .site = w->grid.site, .S = w->S, .kept = w->kept};
}

/* Value of centile k of response j at point i of the curves, which begin at point `first` of the
 * grid; half its band, NaN without. */
typedef struct kn_centile_value {
    double value, half;
} kn_centile_value;
kn_centile_value kn_centiles_value(const kn_centiles_work *w, const kn_curves *c, ptrdiff_t first,
                                   ptrdiff_t i, ptrdiff_t j, int k);

/* The value at point i of the curves that has this z. */
double kn_centiles_at_z(const kn_centiles_work *w, const kn_curves *c, ptrdiff_t i, ptrdiff_t j,
                        double z);
/* Points that are made at a time. */
static inline ptrdiff_t kn_centiles_batch(ptrdiff_t S)
{
    enum { BYTES = 1 << 26 };
    return (ptrdiff_t)(BYTES / (3.0 * sizeof(double) * (double)S)) + 1;
}

/* law, t and kurt, when responses and centiles are known. */
kn_status kn_centiles_laws(kn_ctx *ctx, kn_centiles_work *w);
void kn_centiles_clear(kn_centiles_work *w); /* {0} is fine */

/* The training people, chosen as the model remembers them; and J of the means at w->raw, from fits
 * without each fold of them. */
kn_status kn_jackknife_read(kn_ctx *ctx, const kn_centiles_work *w, kn_data **out);
kn_status kn_centiles_jackknife(kn_ctx *ctx, kn_centiles_work *w);

/* What writing would refuse, asked before the work; the folder is there. */
kn_status kn_centiles_check(kn_ctx *ctx, kn_centiles_work *w);
/* Tables, or maps of images; then summary.json. Counts files in the info. */
kn_status kn_centiles_write(kn_ctx *ctx, kn_centiles_work *w);
kn_status kn_centiles_summary(kn_ctx *ctx, kn_centiles_work *w);
/* Of images, in centiles_maps.c. label: the name of each volume. */
kn_maplayout kn_centiles_layout(const kn_centiles_work *w, char *const *label);
kn_status kn_centile_maps_check(kn_ctx *ctx, kn_centiles_work *w);
kn_status kn_centile_maps_write(kn_ctx *ctx, kn_centiles_work *w);
/* The people: points.tsv, of images maps too. */
kn_status kn_points_read(kn_ctx *ctx, const kn_centiles_work *w, kn_data **out);
kn_status kn_points_check(kn_ctx *ctx, kn_centiles_work *w);
kn_status kn_points_write(kn_ctx *ctx, kn_centiles_work *w);

/* FOLDER/NAME; refuses what is too long. */
enum { KN_CENTILES_PATH = 4096 };
kn_status kn_centiles_path(kn_ctx *ctx, const kn_centiles_work *w, const char *name,
                           char path[KN_CENTILES_PATH]);

#endif
