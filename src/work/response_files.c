#include "work/response_files.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "gp/basis_range.h"
#include "gp/cv_deal.h"
#include "gp/cv_heldout.h"
#include "gp/gp.h"
#include "io/mask.h"
#include "io/path.h"

enum { RANK_FROM = 1000 }; /* samples, see kn_fit */

/* The shape of the job with these responses. */
static kn_need_shape shape_of(kn_ctx *ctx, const kn_room *room, const kn_dataset *d, ptrdiff_t n,
                              ptrdiff_t T, kn_type type)
{
    kn_need_shape s = room->shape;
    s.N = n;
    s.M = room->rank > 0 && room->rank < n ? room->rank : n;
    if (room->rank == KN_RANK_AUTO && s.method && s.method->low_rank && n >= RANK_FROM)
        s.low = n / 3; /* the most that it takes without being asked */
    if (s.method && s.method->held_out_once && !s.given_basis && n > KN_MANY)
        s.range = (s.P > 0 ? s.P : KN_RANGE_LADDER) + KN_RANGE_OVERSAMPLE;
    s.T = T;
    s.F = d->X.cols;
    s.value = type == KN_F32 ? (int)sizeof(float) : (int)sizeof(double);
    s.threads = kn_threads(ctx);
    return s;
}

/* Room for n x T values, in memory or in a scratch file, as d->Y: row by row, or column by column
 * where `columns` asks for it or a fit will read from a file. */
static kn_status make_room(kn_ctx *ctx, const kn_room *room, const kn_need_shape *s, bool columns,
                           kn_dataset *d)
{
    kn_status status;
    ptrdiff_t n = s->N, T = s->T;
    kn_type type = s->value == sizeof(float) ? KN_F32 : KN_F64;
    bool in_file;
    KN_TRY(kn_place_responses(ctx, &room->allowance, s, false, &in_file));
    if (in_file) {
        kn_log(ctx, KN_LOG_INFO, "the responses go to a scratch file of %s in %s",
               kn_size_in_words((double)n * (double)T * s->value).text, room->scratch);
        KN_TRY(kn_scratch_new(ctx, room->scratch, n, T, type, s->scoring && !columns, &d->scratch));
        d->Y = d->scratch.view;
        return KN_OK;
    }
    if (T > PTRDIFF_MAX / 16 / n)
        return kn_fail(ctx, KN_ERR_MEMORY, "a %td x %td matrix cannot exist", n, T);
    KN_TRY(kn_alloc(ctx, n * T, (size_t)s->value, &d->values));
    d->Y = (kn_view){d->values, type, n, T, columns ? 1 : T, columns ? n : 1};
out:
    return status;
}

static char *at(void *data, ptrdiff_t element, int value)
{
    return (char *)data + element * value;
}

/* Where rows that come one after the other are stored so; NULL: not without turning them. */
static void *in_rows(const kn_dataset *d)
{
    return !d->scratch.data ? d->values : d->Y.col_stride == 1 ? d->scratch.data : NULL;
}

static void done_with_rows(kn_ctx *ctx, const kn_dataset *d, ptrdiff_t first, ptrdiff_t count)
{
    kn_view some = d->Y;
    ptrdiff_t value = some.type == KN_F32 ? (ptrdiff_t)sizeof(float) : (ptrdiff_t)sizeof(double);
    some.data = (const char *)some.data + first * some.row_stride * value;
    some.rows = count;
    kn_view_done(ctx, some, 0, some.cols);
}

/* Rows to collect before they are written across the scratch file: a quarter of what there is. */
static ptrdiff_t rows_at_once(const kn_room *room, const kn_need_shape *s, ptrdiff_t least)
{
    double row = (double)s->T * s->value, most = room->allowance.bytes / 4 / row;
    ptrdiff_t rows = most < (double)s->N ? (ptrdiff_t)most : s->N;
    return rows > least ? rows : least < s->N ? least : s->N;
}

/* How many of the rows from i on are neighbours in the file. */
static ptrdiff_t run_from(const kn_response_rows *r, ptrdiff_t i, ptrdiff_t most)
{
    ptrdiff_t run = 1;
    while (run < most && i + run < r->n && r->row[i + run] == r->row[i] + run)
        run++;
    return run;
}

/* ---- tables -----------------------------------------------------------------------------------
 */

static double table_bytes(const kn_table *t)
{
    struct stat info;
    double text = stat(kn_table_path(t), &info) == 0 ? (double)info.st_size : 0;
    return text + 8.0 * (double)kn_table_rows(t) * (double)kn_table_cols(t);
}

kn_status kn_read_table(kn_ctx *ctx, const kn_room *room, const kn_selection *selection,
                        const kn_response_rows *r, kn_dataset *d)
{
    enum { COLUMNS = 256 }; /* at a time, so that a scratch file need not stay in memory */
    kn_status status;
    kn_need_shape s = shape_of(ctx, room, d, r->n, selection->n, KN_F64);
    s.held = table_bytes(d->responses);
    KN_TRY(make_room(ctx, room, &s, true, d));
    kn_mat all = kn_mat_cols(d->scratch.data ? d->scratch.data : d->values, r->n, selection->n);
    for (ptrdiff_t t = 0; t < selection->n; t += COLUMNS) {
        kn_selection some = *selection;
        some.n = selection->n - t < COLUMNS ? selection->n - t : COLUMNS;
        some.col += t;
        some.name += t;
        KN_TRY(kn_select_read(ctx, d->responses, &some, r->row, r->n, kn_cols(all, t, some.n)));
        kn_view_done(ctx, d->Y, t, some.n);
    }
    KN_TRY(kn_names_copy(ctx, (const char *const *)selection->name, selection->n, &d->space.name));
    d->space.kind = KN_SPACE_TABLE;
    d->space.T = selection->n;
out:
    return status;
}

/* ---- arrays -----------------------------------------------------------------------------------
 */

/* A file in columns: each is read whole, and the rows in use are kept. */
static kn_status read_columns(kn_ctx *ctx, const kn_response_rows *r, int value, kn_dataset *d)
{
    kn_status status;
    void *column = NULL, *to = d->scratch.data ? d->scratch.data : d->values;
    ptrdiff_t rows = d->array.header.rows, T = d->array.header.cols;
    KN_TRY(kn_alloc(ctx, rows, (size_t)value, &column));
    for (ptrdiff_t j = 0; j < T; j++) {
        KN_TRY(kn_npy_elements(ctx, &d->array, j * rows, rows, column));
        for (ptrdiff_t i = 0; i < r->n; i++)
            memcpy(at(to, j * r->n + i, value), at(column, r->row[i], value), (size_t)value);
        kn_view_done(ctx, d->Y, j, 1);
    }
out:
    kn_free(column);
    return status;
}

/* A file in rows: to their place in memory, or by batches to the scratch file. */
static kn_status read_rows(kn_ctx *ctx, const kn_room *room, const kn_need_shape *s,
                           const kn_response_rows *r, kn_dataset *d)
{
    kn_status status = KN_OK;
    void *place = in_rows(d), *buffer = NULL;
    ptrdiff_t T = s->T, batch = rows_at_once(room, s, 1);
    if (!place)
        KN_TRY(kn_alloc(ctx, batch * T, (size_t)s->value, &buffer));
    for (ptrdiff_t first = 0; first < r->n; first += batch) {
        ptrdiff_t count = r->n - first < batch ? r->n - first : batch;
        for (ptrdiff_t i = 0, run; i < count; i += run) {
            run = run_from(r, first + i, count - i);
            KN_TRY(kn_npy_elements(ctx, &d->array, r->row[first + i] * T, run * T,
                                   buffer ? at(buffer, i * T, s->value)
                                          : at(place, (first + i) * T, s->value)));
        }
        if (buffer)
            kn_scratch_put_rows(ctx, &d->scratch, first, count, buffer);
        done_with_rows(ctx, d, first, count);
        KN_TRY(kn_check_cancel(ctx));
    }
out:
    kn_free(buffer);
    return status;
}

kn_status kn_read_array(kn_ctx *ctx, const kn_room *room, const kn_response_rows *r, kn_dataset *d)
{
    kn_status status;
    const kn_npy_header *h = &d->array.header;
    kn_need_shape s = shape_of(ctx, room, d, r->n, h->cols, d->array.type);
    KN_TRY(make_room(ctx, room, &s, h->fortran, d));
    d->space.kind = KN_SPACE_NONE;
    d->space.T = h->cols;
    KN_TRY(h->fortran ? read_columns(ctx, r, s.value, d) : read_rows(ctx, room, &s, r, d));
out:
    return status;
}

/* ---- images -----------------------------------------------------------------------------------
 */

static ptrdiff_t voxels_of(const kn_dataset *d)
{
    const ptrdiff_t *dim = kn_images_geometry(d->images)->dim;
    return dim[0] * dim[1] * dim[2];
}

/* The default mask over the images in use only: finite in all of them, and not constant. */
static kn_status mask_of_rows(kn_ctx *ctx, const kn_dataset *d, const kn_response_rows *r,
                              kn_mask *out)
{
    kn_status status;
    ptrdiff_t V = voxels_of(d);
    float *first = NULL, *image = NULL;
    void *memory = NULL;
    bool *varies = NULL;
    KN_TRY(kn_alloc_f(ctx, V, &first));
    KN_TRY(kn_alloc_f(ctx, V, &image));
    KN_TRY(kn_alloc(ctx, V, sizeof *varies, &memory));
    varies = memory;
    for (ptrdiff_t i = 0; i < r->n; i++) {
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(kn_images_read_rows(ctx, d->images, r->row[i], 1, NULL, V, image));
        for (ptrdiff_t v = 0; v < V; v++) {
            if (i == 0)
                first[v] = image[v];
            varies[v] = varies[v] || image[v] != first[v];
            if (!isfinite(image[v]))
                first[v] = NAN; /* out, whatever the others are */
        }
        kn_tell(ctx, "mask", i + 1, r->n, NAN);
    }
    KN_TRY(kn_alloc_i(ctx, V, &out->index));
    for (ptrdiff_t v = 0; v < V; v++)
        if (isfinite(first[v]) && (varies[v] || r->n == 1))
            out->index[out->count++] = v;
    if (out->count == 0)
        status =
            kn_fail(ctx, KN_ERR_DATA,
                    "no voxel is finite in all %td images in use and different between them", r->n);
out:
    kn_free(memory);
    kn_free(image);
    kn_free(first);
    if (status != KN_OK)
        kn_mask_clear(out);
    return status;
}

/* Which voxels are responses. Without a mask that takes a pass over the images, which is not begun
 * when the samples alone are too many. */
static kn_status choose_voxels(kn_ctx *ctx, const kn_room *room, const kn_inputs *in,
                               const kn_response_rows *r, kn_dataset *d)
{
    kn_status status;
    kn_mask mask = {0};
    bool unused;
    kn_need_shape least = shape_of(ctx, room, d, r->n, 1, KN_F32);
    if (in->mask) {
        KN_TRY(kn_mask_read(ctx, in->mask, in->responses, &d->space.geometry, &mask));
    } else {
        KN_TRY(kn_place_responses(ctx, &room->allowance, &least, true, &unused));
        KN_TRY(r->n == kn_images_count(d->images) ? kn_mask_default(ctx, d->images, &mask)
                                                  : mask_of_rows(ctx, d, r, &mask));
    }
    d->space.voxel = mask.index;
    d->space.T = mask.count;
out:
    return status;
}

/* Runs of neighbours in the file, some at a time between two progress reports. */
static kn_status read_all(kn_ctx *ctx, const kn_room *room, const kn_need_shape *s,
                          const kn_response_rows *r, kn_dataset *d)
{
    enum { AT_ONCE = 16 };
    kn_status status = KN_OK;
    ptrdiff_t T = s->T, batch = rows_at_once(room, s, AT_ONCE);
    float *place = in_rows(d), *buffer = NULL;
    if (!place)
        KN_TRY(kn_alloc_f(ctx, batch * T, &buffer));
    for (ptrdiff_t first = 0; first < r->n; first += batch) {
        ptrdiff_t count = r->n - first < batch ? r->n - first : batch;
        float *to = buffer ? buffer : place + first * T;
        for (ptrdiff_t i = 0, run; i < count; i += run) {
            run = run_from(r, first + i, count - i < AT_ONCE ? count - i : AT_ONCE);
            KN_TRY(kn_check_cancel(ctx));
            KN_TRY(kn_images_read_rows(ctx, d->images, r->row[first + i], run, d->space.voxel, T,
                                       to + i * T));
            kn_tell(ctx, "reading", first + i + run, r->n, NAN);
        }
        if (buffer)
            kn_scratch_put_rows(ctx, &d->scratch, first, count, buffer);
        done_with_rows(ctx, d, first, count);
    }
    kn_images_rest(d->images);
out:
    kn_free(buffer);
    return status;
}

kn_status kn_read_images(kn_ctx *ctx, const kn_room *room, const kn_inputs *in,
                         const kn_model *model, const kn_response_rows *r, kn_dataset *d)
{
    enum { OF_A_VOXEL = 20 }; /* bytes while an image is read: as a float, stored, compressed */
    kn_status status = KN_OK;
    d->space.kind = KN_SPACE_IMAGE;
    d->space.geometry = *kn_images_geometry(d->images);
    if (model) {
        KN_TRY(kn_space_compare(ctx, in->responses, &d->space, &model->space));
        KN_TRY(kn_alloc_i(ctx, model->space.T, &d->space.voxel));
        memcpy(d->space.voxel, model->space.voxel, (size_t)model->space.T * sizeof(ptrdiff_t));
        d->space.T = model->space.T;
    } else {
        KN_TRY(choose_voxels(ctx, room, in, r, d));
    }
    kn_need_shape s = shape_of(ctx, room, d, r->n, d->space.T, KN_F32);
    s.reading = OF_A_VOXEL * (double)voxels_of(d) * kn_images_workers(ctx, d->images);
    kn_log(ctx, KN_LOG_DETAIL, "%td images of %td voxels: %.1f MB", r->n, s.T,
           (double)r->n * (double)s.T * 4e-6);
    KN_TRY(make_room(ctx, room, &s, false, d));
    KN_TRY(read_all(ctx, room, &s, r, d));
out:
    return status;
}
