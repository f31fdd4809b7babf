/* Centiles of images: for each centile, band limit, mean and sd a file with one volume per grid
 * point; parameters of the distribution as single maps; grid.tsv lists the points. Points are
 * processed in minibatches, so that memory grows with the number of voxels only. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "commands/centiles/centiles.h"
#include "gp/method.h"
#include "io/file/path.h"
#include "io/table/sidecar.h"
#include "norm/metrics/extrapolation.h"

enum { BATCH_BYTES = 1 << 26, LABEL = 256 };

/* ---- list of files ---- */

enum { OF_CENTILE, OF_LOWER, OF_UPPER, OF_MEAN, OF_SD };
typedef struct map {
    char name[KN_CENTILE_NAME + 8];
    int what, k; /* OF_..., index of the centile */
} map;

/* Describe map m of those with one volume per grid point (centiles, band limits, mean, sd); false
 * if there are no more. */
static bool map_at(const kn_centiles_work *w, int m, map *out)
{
    static const char *const tail[] = {"", "_lower", "_upper"};
    int each = w->bands == KN_BANDS_NONE ? 1 : 3, of_centiles = each * w->n_centiles;
    *out = (map){.k = m / each, .what = m % each};
    if (m < of_centiles)
        snprintf(out->name, sizeof out->name, "%s%s", w->centile[out->k].name, tail[out->what]);
    else
        snprintf(out->name, sizeof out->name, "params_%s", m == of_centiles ? "mean" : "sd");
    if (m >= of_centiles)
        out->what = m == of_centiles ? OF_MEAN : OF_SD;
    return m < of_centiles + 2;
}

enum { N_DISTRIBUTION = 4, MAX_COUNT = 3 * KN_CENTILES_MAX + 2 };
static const char *const DISTRIBUTION_NAMES[N_DISTRIBUTION] = {"params_a", "params_b", "params_loc",
                                                               "params_sc"};

kn_maplayout kn_centiles_layout(const kn_centiles_work *w, char *const *label)
{
    return (kn_maplayout){.dir = w->s.folder,
                          .format = KN_FORMAT_TRAINED,
                          .space = &w->model->space,
                          .T = w->model->space.T,
                          .id = (const char *const *)label,
                          .options = &w->write};
}

kn_status kn_centile_maps_check(kn_ctx *ctx, kn_centiles_work *w)
{
    kn_status status;
    char path[KN_CENTILES_PATH];
    kn_maplayout layout = kn_centiles_layout(w, NULL);
    map m;
    int n = 0;
    KN_TRY(kn_centiles_path(ctx, w, "grid.tsv", path));
    KN_TRY(kn_writer_check(ctx, path, &w->write));
    KN_TRY(kn_sidecar_check(ctx, path, &w->write));
    for (; map_at(w, n, &m); n++)
        KN_TRY(kn_mapfile_check(ctx, &layout, m.name, w->grid.n, false));
    for (int k = 0; w->distribution && k < N_DISTRIBUTION; k++)
        KN_TRY(kn_mapfile_check(ctx, &layout, DISTRIBUTION_NAMES[k], 1, true));
    kn_log(ctx, KN_LOG_INFO, "%td points, %td responses; %d maps of each point, %.1f MB", w->grid.n,
           w->S, n, 4e-6 * (double)w->grid.n * (double)n * (double)layout.T);
out:
    return status;
}

/* ---- volumes ---- */

/* Open files of all maps. */
typedef struct writing {
    kn_centiles_work *w;
    kn_maplayout layout;
    char **label;
    int n;
    map map[MAX_COUNT];
    kn_mapfile *file[MAX_COUNT];
    kn_table_writer *grid;
    float *row; /* T: one volume */
} writing;

/* Value of map m at point i of c and response j, in original units; first: grid point of point 0 of
 * c. */
static double map_value(const kn_centiles_work *w, const kn_curves *c, const map *m,
                        ptrdiff_t first, ptrdiff_t i, ptrdiff_t j)
{
    if (m->what == OF_MEAN)
        return kn_at(c->mean, i, j);
    if (m->what == OF_SD)
        return sqrt(kn_at(c->var, i, j) + kn_at(c->noise, i, j));
    kn_centile_value v = kn_centiles_value(w, c, first, i, j, m->k);
    return m->what == OF_CENTILE ? v.value : v.value + (m->what == OF_LOWER ? -v.half : v.half);
}

/* Set the volume to NaN; responses that the model does not have stay NaN. */
static void clear_volume(writing *o)
{
    for (ptrdiff_t v = 0; v < o->layout.T; v++)
        o->row[v] = NAN;
}

/* Write the points of c, the first of which is grid point `first`: one row of grid.tsv and one
 * volume of every map for each. */
static kn_status put_batch(kn_ctx *ctx, writing *o, const kn_curves *c, ptrdiff_t first)
{
    kn_status status = KN_OK;
    kn_centiles_work *w = o->w;
    for (ptrdiff_t i = 0; i < c->n; i++) {
        KN_TRY(kn_table_writer_number(ctx, o->grid, (double)(first + i)));
        KN_TRY(kn_grid_cells(ctx, &w->grid, w->grid.code, first + i, o->grid));
        KN_TRY(kn_table_writer_number(ctx, o->grid, c->extrapolation[i]));
        KN_TRY(kn_table_writer_end_row(ctx, o->grid));
        w->info.n_extrapolated += c->extrapolation[i] > KN_EXTRAPOLATION_WARN;
        for (int k = 0; k < o->n; k++) {
            for (ptrdiff_t j = 0; j < w->S; j++)
                o->row[w->response[j]] = (float)map_value(w, c, &o->map[k], first, i, j);
            KN_TRY(kn_mapfile_rows(ctx, o->file[k], o->row, 1));
        }
    }
out:
    return status;
}

/* Compute and write all grid points in minibatches of at most BATCH_BYTES, or of as many points as
 * the method prefers. */
static kn_status put_points(kn_ctx *ctx, writing *o)
{
    kn_status status = KN_OK;
    kn_centiles_work *w = o->w;
    kn_view all = kn_view_cols(w->raw.data, w->raw.rows, w->raw.cols);
    ptrdiff_t fit = (ptrdiff_t)(BATCH_BYTES / (3.0 * sizeof(double) * (double)w->S));
    const kn_gp *gp = &w->model->gp;
    ptrdiff_t lowest = gp->method->batch ? gp->method->batch(gp) : 1;
    ptrdiff_t batch = fit > lowest ? fit : lowest > 1 ? lowest : 1;
    kn_curves c = kn_centiles_curves(w);
    for (ptrdiff_t first = 0; first < w->grid.n; first += batch) {
        ptrdiff_t rows = w->grid.n - first < batch ? w->grid.n - first : batch;
        kn_curves_clear(&c);
        KN_TRY(kn_curves_compute(ctx, kn_view_row_range(all, first, rows), &c));
        KN_TRY(put_batch(ctx, o, &c, first));
        kn_report_progress(ctx, "centiles", first + rows, w->grid.n, NAN);
    }
out:
    kn_curves_clear(&c);
    return status;
}

/* Write the parameters of the distribution of each response as single maps; nothing without a
 * shape. */
static kn_status write_distributions(kn_ctx *ctx, writing *o)
{
    kn_status status = KN_OK;
    kn_mapfile *file = NULL;
    kn_centiles_work *w = o->w;
    for (int k = 0; w->distribution && k < N_DISTRIBUTION; k++) {
        for (ptrdiff_t j = 0; j < w->S; j++) {
            const kn_shash *l = &w->distribution[j];
            o->row[w->response[j]] = (float)(k == 0   ? l->a
                                             : k == 1 ? l->b
                                             : k == 2 ? l->loc
                                                      : l->sc);
        }
        KN_TRY(kn_mapfile_new(ctx, &o->layout, DISTRIBUTION_NAMES[k], 1, true, &file));
        KN_TRY(kn_mapfile_rows(ctx, file, o->row, 1));
        KN_TRY(kn_mapfile_commit(ctx, file, &w->info.files));
        kn_mapfile_free(file);
        file = NULL;
    }
out:
    kn_mapfile_free(file);
    return status;
}

/* ---- write ---- */

/* Make the label of each grid point, for the volumes of the maps. */
static kn_status name_points(kn_ctx *ctx, writing *o)
{
    kn_status status;
    const kn_grid *g = &o->w->grid;
    void *memory;
    char text[LABEL];
    KN_TRY(kn_alloc(ctx, g->n, sizeof *o->label, &memory));
    o->label = memory;
    for (ptrdiff_t i = 0; i < g->n; i++) {
        kn_grid_label(g, i, true, text, sizeof text);
        KN_TRY(kn_text_copy(ctx, text, strlen(text), &o->label[i]));
    }
out:
    return status;
}

/* Open all maps, and grid.tsv with its header. */
static kn_status open_files(kn_ctx *ctx, writing *o)
{
    kn_status status;
    char path[KN_CENTILES_PATH];
    kn_centiles_work *w = o->w;
    o->layout = kn_centiles_layout(w, o->label);
    KN_TRY(kn_alloc_f(ctx, o->layout.T, &o->row));
    clear_volume(o);
    for (o->n = 0; map_at(w, o->n, &o->map[o->n]); o->n++)
        KN_TRY(
            kn_mapfile_new(ctx, &o->layout, o->map[o->n].name, w->grid.n, false, &o->file[o->n]));
    KN_TRY(kn_centiles_path(ctx, w, "grid.tsv", path));
    KN_TRY(kn_table_writer_new(ctx, path, &w->write, &o->grid));
    KN_TRY(kn_table_writer_describe(ctx, o->grid, "grid.tsv"));
    KN_TRY(kn_table_writer_text(ctx, o->grid, "volume"));
    KN_TRY(kn_grid_names(ctx, &w->grid, o->grid));
    KN_TRY(kn_table_writer_text(ctx, o->grid, "extrapolation_pct"));
    KN_TRY(kn_table_writer_end_row(ctx, o->grid));
out:
    return status;
}

kn_status kn_centile_maps_write(kn_ctx *ctx, kn_centiles_work *w)
{
    kn_status status;
    writing o = {.w = w};
    KN_TRY(name_points(ctx, &o));
    KN_TRY(open_files(ctx, &o));
    KN_TRY(put_points(ctx, &o));
    for (int k = 0; k < o.n; k++)
        KN_TRY(kn_mapfile_commit(ctx, o.file[k], &w->info.files));
    KN_TRY(kn_table_writer_commit(ctx, o.grid));
    w->info.files += 2;
    KN_TRY(write_distributions(ctx, &o));
out:
    for (int k = 0; k < MAX_COUNT; k++)
        kn_mapfile_free(o.file[k]);
    kn_table_writer_free(o.grid);
    kn_names_free(o.label, w->grid.n);
    kn_free(o.row);
    return status;
}
