/* Implements read.h: tables, arrays, images and the caller's memory. Files are read once, in their
 * own order. */
#include "data/responses/read.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mpi/comm.h"
#include "data/check_blank.h"
#include "data/mpi/exchange_responses.h"
#include "data/responses/auto_mask.h"
#include "data/table/levels.h"
#include "data/table/text_list.h"
#include "io/file/path.h"
#include "io/image/mask.h"

/* Returns an upper bound of the number of sites: the product of the levels of site categories, at
 * most n. */
static ptrdiff_t sites_of(const kn_encoding *r, ptrdiff_t n)
{
    ptrdiff_t sites = 1;
    bool any = false;
    for (ptrdiff_t k = 0; k < r->n; k++)
        if (r->column[k].batch) {
            any = true;
            sites = sites < n ? sites * r->column[k].levels.n : n;
        }
    return !any ? 0 : sites < n ? sites : n;
}

static kn_response_shape shape_of(const kn_sample *p, ptrdiff_t n, ptrdiff_t T, kn_type type)
{
    return (kn_response_shape){.n = n,
                               .T = T,
                               .F = p->X.cols,
                               .sites = sites_of(&p->recipe, n),
                               .value = type == KN_F32 ? (int)sizeof(float) : (int)sizeof(double)};
}

kn_status kn_response_room(kn_ctx *ctx, const kn_memory_policy *room, const kn_response_shape *s,
                           bool columns, kn_sample *p)
{
    kn_status status;
    ptrdiff_t n = s->n, T = s->T - s->elsewhere;
    kn_type type = s->value == sizeof(float) ? KN_F32 : KN_F64;
    bool in_file;
    KN_TRY(room->place(room, ctx, s, false, &in_file));
    if (in_file) {
        kn_log(ctx, KN_LOG_INFO, "the responses go to a scratch file of %s in %s",
               kn_size_in_words((double)n * (double)T * s->value).text, room->scratch);
        KN_TRY(
            kn_scratch_new(ctx, room->scratch, n, T, type, room->by_rows && !columns, &p->scratch));
        p->Y = p->scratch.view;
        return KN_OK;
    }
    if (T > PTRDIFF_MAX / 16 / n)
        return kn_fail(ctx, KN_ERR_MEMORY, "a %td x %td matrix cannot exist", n, T);
    /* The reader sets every value. A rank without responses gets a valid pointer too. */
    KN_TRY(kn_alloc_raw(ctx, T > 0 ? n * T : 1, (size_t)s->value, &p->values));
    p->Y = (kn_view){p->values, type, n, T, columns ? 1 : T, columns ? n : 1};
out:
    return status;
}

/* Returns the columns that this rank holds, and sets s->elsewhere. */
static kn_range own_of(const kn_ctx *ctx, const kn_response_rows *r, kn_response_shape *s)
{
    kn_range own = r->whole ? (kn_range){0, s->T} : kn_responses_own(ctx, s->T);
    s->elsewhere = s->T - (own.last - own.first);
    return own;
}

static char *at(void *data, ptrdiff_t element, int value)
{
    return (char *)data + element * value;
}

/* Returns the storage if it holds rows contiguously; NULL: rows must be transposed into the
 * scratch file. */
static void *in_rows(const kn_sample *p)
{
    return !p->scratch.data ? p->values : p->Y.col_stride == 1 ? p->scratch.data : NULL;
}

static void done_with_rows(kn_ctx *ctx, const kn_sample *p, ptrdiff_t first, ptrdiff_t count)
{
    kn_view_done(ctx, kn_view_some(p->Y, first, count), 0, p->Y.cols);
}

/* Returns the number of rows to collect before they are written to a scratch file by columns: a
 * quarter of the budget. */
static ptrdiff_t rows_at_once(const kn_memory_policy *room, const kn_response_shape *s,
                              ptrdiff_t least)
{
    double row = (double)s->T * s->value, most = room->bytes / 4 / row;
    ptrdiff_t rows = most < (double)s->n ? (ptrdiff_t)most : s->n;
    return rows > least ? rows : least < s->n ? least : s->n;
}

/* Returns how many rows from i on are adjacent in the file, at most `most`. */
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

/* Checks the length of response names, as for covariates: output tables contain them in full. */
static kn_status check_names(kn_ctx *ctx, const kn_data *d, char *const *name, ptrdiff_t n)
{
    for (ptrdiff_t t = 0; t < n; t++)
        if (strlen(name[t]) >= KN_LEVEL_SIZE)
            return kn_fail(ctx, KN_ERR_DATA,
                           "%s: '%s' has %zu bytes, the name of a response at most %d",
                           kn_data_responses_name(d), kn_clipped(name[t]).text, strlen(name[t]),
                           KN_LEVEL_SIZE - 1);
    return KN_OK;
}

kn_status kn_read_table(kn_ctx *ctx, const kn_memory_policy *room, const kn_data *d,
                        const kn_selection *selection, const kn_response_rows *r, kn_sample *p)
{
    enum { COLUMNS = 256 }; /* columns at a time, so that a scratch file need not stay in memory */
    kn_status status;
    kn_response_shape s = shape_of(p, r->n, selection->n, KN_F64);
    s.held = table_bytes(d->responses);
    kn_range own = own_of(ctx, r, &s);
    ptrdiff_t T = own.last - own.first;
    KN_TRY(check_names(ctx, d, selection->name, selection->n));
    KN_TRY(kn_response_room(ctx, room, &s, true, p));
    kn_mat all = kn_mat_cols(p->scratch.data ? p->scratch.data : p->values, r->n, T);
    for (ptrdiff_t t = 0; t < T; t += COLUMNS) {
        kn_selection some = *selection;
        some.n = kn_min_size(COLUMNS, T - t);
        some.col += own.first + t;
        some.name += own.first + t;
        KN_TRY(kn_select_read(ctx, d->responses, &some, r->row, r->n, kn_cols(all, t, some.n)));
        kn_view_done(ctx, p->Y, t, some.n);
    }
    KN_TRY(kn_names_copy(ctx, (const char *const *)selection->name, selection->n, &p->space.name));
    p->space.kind = KN_SPACE_TABLE;
    p->space.T = selection->n;
    kn_responses_number(p, own, s.T);
out:
    return status;
}

/* ---- arrays -----------------------------------------------------------------------------------
 */

/* Reads a file stored by columns: each column of `own` is read whole, and the rows in use are
 * kept. */
static kn_status read_columns(kn_ctx *ctx, const kn_data *d, const kn_response_rows *r, int value,
                              kn_range own, kn_sample *p)
{
    kn_status status;
    void *column = NULL, *to = p->scratch.data ? p->scratch.data : p->values;
    ptrdiff_t rows = d->array.header.rows;
    KN_TRY(kn_alloc(ctx, rows, (size_t)value, &column));
    for (ptrdiff_t j = 0; j < own.last - own.first; j++) {
        KN_TRY(kn_npy_elements(ctx, &d->array, (own.first + j) * rows, rows, column));
        for (ptrdiff_t i = 0; i < r->n; i++)
            memcpy(at(to, j * r->n + i, value), at(column, r->row[i], value), (size_t)value);
        kn_view_done(ctx, p->Y, j, 1);
    }
out:
    kn_free(column);
    return status;
}

/* Reads the columns `own` of a file stored by rows: directly into memory, or in batches to the
 * scratch file. */
static kn_status read_rows(kn_ctx *ctx, const kn_data *d, const kn_response_rows *r,
                           const kn_response_shape *s, kn_range own, ptrdiff_t batch, kn_sample *p)
{
    kn_status status = KN_OK;
    void *place = in_rows(p), *buffer = NULL;
    ptrdiff_t T = own.last - own.first, neighbours = T == s->T ? batch : 1;
    if (!place)
        KN_TRY(kn_alloc(ctx, batch * T, (size_t)s->value, &buffer));
    for (ptrdiff_t first = 0; first < r->n; first += batch) {
        ptrdiff_t count = r->n - first < batch ? r->n - first : batch;
        for (ptrdiff_t i = 0, run; i < count; i += run) {
            run = run_from(r, first + i, kn_min_size(count - i, neighbours));
            KN_TRY(kn_npy_elements(ctx, &d->array, r->row[first + i] * s->T + own.first, run * T,
                                   buffer ? at(buffer, i * T, s->value)
                                          : at(place, (first + i) * T, s->value)));
        }
        if (buffer)
            kn_scratch_put_rows(ctx, &p->scratch, first, count, buffer);
        done_with_rows(ctx, p, first, count);
        KN_TRY(kn_check_cancel(ctx));
    }
out:
    kn_free(buffer);
    return status;
}

kn_status kn_read_array(kn_ctx *ctx, const kn_memory_policy *room, const kn_data *d,
                        const kn_response_rows *r, kn_sample *p)
{
    kn_status status;
    const kn_npy_header *h = &d->array.header;
    kn_response_shape s = shape_of(p, r->n, h->cols, d->array.type);
    kn_range own = own_of(ctx, r, &s);
    KN_TRY(kn_response_room(ctx, room, &s, h->fortran, p));
    p->space.kind = KN_SPACE_NONE;
    p->space.T = h->cols;
    if (own.last > own.first)
        KN_TRY(h->fortran ? read_columns(ctx, d, r, s.value, own, p)
                          : read_rows(ctx, d, r, &s, own, rows_at_once(room, &s, 1), p));
    kn_responses_number(p, own, s.T);
out:
    return status;
}

/* ---- images -----------------------------------------------------------------------------------
 */

static ptrdiff_t voxels_of(const kn_data *d)
{
    const ptrdiff_t *dim = kn_images_geometry(d->images)->dim;
    return dim[0] * dim[1] * dim[2];
}

/* Names an image without finite voxels as the cause, if there is one; else keeps the message there
 * is. */
static kn_status name_blank(kn_ctx *ctx, const kn_data *d, const kn_response_rows *r)
{
    char before[1024];
    snprintf(before, sizeof before, "%s", kn_message(ctx));
    kn_status status = kn_blank_image_refuse(ctx, d, r);
    return status == KN_OK ? kn_fail(ctx, KN_ERR_DATA, "%s", before) : status;
}

/* Decides which voxels are responses. Without a mask this needs a pass over the images, which is
 * not started if the memory plan already fails for one response. */
static kn_status choose_voxels(kn_ctx *ctx, const kn_memory_policy *room, const kn_data *d,
                               const kn_response_rows *r, kn_sample *p)
{
    kn_status status;
    kn_mask mask = {0};
    bool unused;
    kn_response_shape least = shape_of(p, r->n, 1, KN_F32);
    if (d->mask) {
        KN_TRY(kn_mask_read(ctx, d->mask, d->responses_path, &p->space.geometry, &mask));
        if (mask.brain && mask.brain != p->space.part[0].brain.hash) {
            kn_mask_clear(&mask);
            return kn_fail(ctx, KN_ERR_SHAPE, "%s: its brain models are not those of %s", d->mask,
                           d->responses_path);
        }
    } else {
        KN_TRY(room->place(room, ctx, &least, true, &unused));
        status = kn_mask_of_people(ctx, d, r, &mask);
        if (status == KN_ERR_DATA) /* no voxel is left: check whether one image is the cause */
            status = name_blank(ctx, d, r);
        KN_TRY(status);
    }
    p->space.voxel = mask.index;
    p->space.T = mask.count;
out:
    return status;
}

enum { AT_ONCE = 16 }; /* images between two progress reports */

/* Reads the images: from a 4D file runs of adjacent volumes, from a list any images, AT_ONCE at a
 * time. */
static kn_status read_all(kn_ctx *ctx, const kn_data *d, const kn_response_rows *r, ptrdiff_t T,
                          ptrdiff_t batch, kn_sample *p)
{
    kn_status status = KN_OK;
    float *place = in_rows(p), *buffer = NULL;
    bool list = kn_images_is_list(d->images);
    if (!place)
        KN_TRY(kn_alloc_f(ctx, batch * T, &buffer));
    for (ptrdiff_t first = 0; first < r->n; first += batch) {
        ptrdiff_t count = r->n - first < batch ? r->n - first : batch;
        float *to = buffer ? buffer : place + first * T;
        for (ptrdiff_t i = 0, run; i < count; i += run) {
            run = count - i < AT_ONCE ? count - i : AT_ONCE;
            run = list ? run : run_from(r, first + i, run);
            KN_TRY(kn_check_cancel(ctx));
            kn_image_rows these = {r->row + first + i, run};
            KN_TRY(list
                       ? kn_images_read_these(ctx, d->images, &these, p->space.voxel, T, to + i * T)
                       : kn_images_read_rows(ctx, d->images, r->row[first + i], run, p->space.voxel,
                                             T, to + i * T));
            kn_report_progress(ctx, "reading", first + i + run, r->n, NAN);
        }
        if (buffer)
            kn_scratch_put_rows(ctx, &p->scratch, first, count, buffer);
        done_with_rows(ctx, p, first, count);
    }
    kn_images_rest(d->images);
out:
    kn_free(buffer);
    return status;
}

kn_status kn_read_images(kn_ctx *ctx, const kn_memory_policy *room, const kn_data *d,
                         const kn_space *space, const kn_response_rows *r, kn_sample *p)
{
    enum {
        OF_A_VOXEL = 20
    }; /* bytes per voxel while an image is read: as float, as stored, compressed */
    enum { OF_A_NAME = 2 * 64 };
    kn_status status = KN_OK;
    bool together = kn_ctx_comm(ctx)->size > 1 && !r->whole;
    p->space.kind = KN_SPACE_IMAGE;
    p->space.geometry = *kn_images_geometry(d->images);
    p->space.parts = kn_images_parts(d->images);
    for (int k = 0; k < p->space.parts; k++)
        KN_TRY(kn_image_part_copy(ctx, kn_images_part(d->images, k), &p->space.part[k]));
    if (space) {
        KN_TRY(kn_space_compare(ctx, d->responses_path, &p->space, space));
        KN_TRY(kn_alloc_i(ctx, space->T, &p->space.voxel));
        memcpy(p->space.voxel, space->voxel, (size_t)space->T * sizeof(ptrdiff_t));
        p->space.T = space->T;
    } else {
        KN_TRY(choose_voxels(ctx, room, d, r, p));
    }
    kn_response_shape s = shape_of(p, r->n, p->space.T, KN_F32);
    s.reading = OF_A_VOXEL * (double)voxels_of(d) * kn_images_readers(ctx, d->images);
    s.held = sizeof(ptrdiff_t) * (double)s.T + /* voxel indices, and headers of all files */
             (sizeof(kn_image) + OF_A_NAME) * (double)kn_images_count(d->images) * p->space.parts;
    kn_log(ctx, KN_LOG_DETAIL, "%td images of %td voxels: %.1f MB", r->n, s.T,
           (double)r->n * (double)s.T * 4e-6);
    kn_range own = own_of(ctx, r, &s);
    if (together)
        s.reading += kn_read_together_need(ctx, s.T);
    KN_TRY(kn_response_room(ctx, room, &s, false, p));
    KN_TRY(together ? kn_read_images_together(ctx, d, r, s.T, in_rows(p), p)
                    : read_all(ctx, d, r, s.T, rows_at_once(room, &s, AT_ONCE), p));
    kn_responses_number(p, own, s.T);
out:
    return status;
}

/* ---- memory -----------------------------------------------------------------------------------
 */

/* Finds the column of each response of the model in the caller's matrix: by name, else by
 * position. */
static kn_status find_columns(kn_ctx *ctx, const kn_data *d, const kn_space *space, ptrdiff_t *col)
{
    bool named = d->view_name && space->kind == KN_SPACE_TABLE;
    if (!named && d->view.cols != space->T)
        return kn_fail(ctx, KN_ERR_SHAPE, "responses have %td columns, the model has %td",
                       d->view.cols, space->T);
    for (ptrdiff_t t = 0; t < space->T; t++) {
        ptrdiff_t j = t;
        if (named && (t >= d->view.cols || strcmp(d->view_name[t], space->name[t]) != 0))
            for (j = 0; j < d->view.cols && strcmp(d->view_name[j], space->name[t]) != 0;)
                j++;
        if (j >= d->view.cols)
            return kn_fail(ctx, KN_ERR_DATA,
                           "responses: no column '%s' which is a response of the model",
                           space->name[t]);
        col[t] = j;
    }
    return KN_OK;
}

/* Borrows the caller's values if all are used in their order, else copies. */
kn_status kn_read_view(kn_ctx *ctx, const kn_memory_policy *room, const kn_data *d,
                       const kn_space *space, const kn_response_rows *r, kn_sample *p)
{
    kn_status status = KN_OK;
    ptrdiff_t T = space ? space->T : d->view.cols, *col = NULL;
    bool as_is = r->n == d->view.rows;
    KN_TRY(kn_alloc_i(ctx, T, &col));
    for (ptrdiff_t t = 0; t < T; t++)
        col[t] = t;
    if (space)
        KN_TRY(find_columns(ctx, d, space, col));
    for (ptrdiff_t t = 0; t < T; t++)
        as_is = as_is && col[t] == t;
    p->space.T = T;
    if (!space && d->view_name) {
        p->space.kind = KN_SPACE_TABLE;
        KN_TRY(check_names(ctx, d, d->view_name, T));
        KN_TRY(kn_names_copy(ctx, (const char *const *)d->view_name, T, &p->space.name));
    }
    if (as_is && T == d->view.cols) {
        p->Y = d->view;
        goto out;
    }
    kn_response_shape s = shape_of(p, r->n, T, KN_F64);
    KN_TRY(kn_response_room(ctx, room, &s, true, p));
    kn_mat all = kn_mat_cols(p->scratch.data ? p->scratch.data : p->values, r->n, T);
    for (ptrdiff_t t = 0; t < T; t++) {
        for (ptrdiff_t i = 0; i < r->n; i++)
            kn_col(all, t)[i] = kn_view_at(d->view, r->row[i], col[t]);
        kn_view_done(ctx, p->Y, t, 1);
    }
out:
    kn_free(col);
    return status;
}
