/* Implements read_responses.h: tables, arrays, images and the caller's memory. Files are read once,
 * in their own order. */
#include "data/read_responses.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash/xxh64.h"
#include "base/mpi/comm.h"
#include "data/covariates/design.h"
#include "data/image_checks.h"
#include "data/mpi/exchange_responses.h"
#include "data/mpi/gather_responses.h"
#include "data/table/levels.h"
#include "data/table/text_list.h"
#include "io/file/path.h"
#include "io/image/mask.h"

/* Returns an upper bound of the number of sites, for the memory plan: the product of the levels of
 * the site categories, at most n; 0 if there are none. */
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

/* Columns of the indicators of all categories with many levels, and of the largest of them. Others
 * are few, and no part of the plan. */
static ptrdiff_t many_columns(const kn_encoding *r, ptrdiff_t *largest)
{
    ptrdiff_t sum = 0;
    *largest = 0;
    for (ptrdiff_t k = 0; r->codes && k < r->n; k++) {
        ptrdiff_t columns = r->column[k].levels.n + 1;
        if (columns < KN_INDICATORS_FROM)
            continue;
        sum += columns;
        *largest = columns > *largest ? columns : *largest;
    }
    return sum;
}

/* Returns the sizes of a problem with T responses of n participants, for the memory plan; type: of
 * the stored values. */
static kn_response_shape shape_of(const kn_sample *p, ptrdiff_t n, ptrdiff_t T, kn_type type)
{
    ptrdiff_t block, columns = many_columns(&p->encoding, &block);
    return (kn_response_shape){.n = n,
                               .T = T,
                               .F = p->X.cols + columns,
                               .block = block,
                               .sites = sites_of(&p->encoding, n),
                               .value = type == KN_F32 ? (int)sizeof(float) : (int)sizeof(double)};
}

kn_status kn_response_storage_new(kn_ctx *ctx, const kn_memory_policy *policy,
                                  const kn_response_shape *s, bool columns, kn_sample *p)
{
    kn_status status;
    ptrdiff_t n = s->n, T = s->T - s->elsewhere;
    kn_type type = s->value == sizeof(float) ? KN_F32 : KN_F64;
    bool in_file;
    KN_TRY(policy->choose_storage(policy, ctx, s, false, &in_file));
    if (in_file) {
        kn_log(ctx, KN_LOG_INFO, "the responses go to a scratch file of %s in %s",
               kn_format_size((double)n * (double)T * s->value).text, policy->scratch);
        KN_TRY(kn_scratch_new(ctx, policy->scratch, n, T, type, policy->by_rows && !columns,
                              &p->scratch));
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

kn_status kn_responses_own_copy(kn_ctx *ctx, const kn_memory_policy *policy, kn_sample *p)
{
    kn_view Y = p->Y;
    kn_response_shape s = {.n = Y.rows,
                           .T = Y.cols,
                           .F = p->X.cols,
                           .value = Y.type == KN_F32 ? 4 : 8};
    if (p->values || p->scratch.data)
        return KN_OK;
    kn_status status = kn_response_storage_new(ctx, policy, &s, true, p);
    if (status != KN_OK)
        return status;
    void *to = p->scratch.data ? p->scratch.data : p->values;
    for (ptrdiff_t j = 0; j < Y.cols; j++) {
        for (ptrdiff_t i = 0; i < Y.rows; i++)
            if (Y.type == KN_F32)
                ((float *)to)[j * Y.rows + i] =
                    ((const float *)Y.data)[i * Y.row_stride + j * Y.col_stride];
            else
                ((double *)to)[j * Y.rows + i] =
                    ((const double *)Y.data)[i * Y.row_stride + j * Y.col_stride];
        kn_view_done(ctx, p->Y, j, 1);
    }
    return KN_OK;
}

void kn_responses_number(kn_sample *p, kn_index_range own, ptrdiff_t T)
{
    size_t element = p->Y.type == KN_F32 ? sizeof(float) : sizeof(double);
    p->Y.data =
        (const void *)((uintptr_t)p->Y.data - (size_t)(own.first * p->Y.col_stride) * element);
    p->Y.cols = T;
    p->own = own;
}

/* Returns the responses that this rank reads (all with r->whole), and sets s->elsewhere to the
 * number of the others. */
static kn_index_range columns_of_rank(const kn_ctx *ctx, const kn_response_rows *r,
                                      kn_response_shape *s)
{
    kn_index_range own = r->whole ? (kn_index_range){0, s->T} : kn_responses_own(ctx, s->T);
    s->elsewhere = s->T - (own.last - own.first);
    return own;
}

/* Returns the address of element number `element` of an array whose values have `value` bytes. */
static char *element_at(void *data, ptrdiff_t element, int value)
{
    return (char *)data + element * value;
}

/* Returns the storage of p->Y if rows are contiguous in it; NULL if rows must be transposed into
 * the scratch file. */
static void *row_storage(const kn_sample *p)
{
    return !p->scratch.data ? p->values : p->Y.col_stride == 1 ? p->scratch.data : NULL;
}

/* Tells the system that the pages of rows first .. first + count - 1 of p->Y are not needed for
 * now. */
static void release_rows(kn_ctx *ctx, const kn_sample *p, ptrdiff_t first, ptrdiff_t count)
{
    kn_view_done(ctx, kn_view_row_range(p->Y, first, count), 0, p->Y.cols);
}

/* Returns how many rows to collect before they are written to a scratch file by columns: a quarter
 * of the budget, at least `lowest`, at most all. */
static ptrdiff_t rows_at_once(const kn_memory_policy *policy, const kn_response_shape *s,
                              ptrdiff_t lowest)
{
    double row = (double)s->T * s->value, limit = policy->bytes / 4 / row;
    ptrdiff_t rows = limit < (double)s->n ? (ptrdiff_t)limit : s->n;
    return rows > lowest ? rows : lowest < s->n ? lowest : s->n;
}

/* Returns how many of the rows i, i + 1, ... in r are adjacent in the file, at most `limit`, so
 * that one call reads them. */
static ptrdiff_t run_from(const kn_response_rows *r, ptrdiff_t i, ptrdiff_t limit)
{
    ptrdiff_t run = 1;
    while (run < limit && i + run < r->n && r->row[i + run] == r->row[i] + run)
        run++;
    return run;
}

kn_status kn_provenance_responses_equal(kn_ctx *ctx, const kn_data *d)
{
    char what[64];
    if (kn_ctx_comm(ctx)->size == 1 || (!d->images && !d->array.source.name))
        return KN_OK;
    if (d->images) {
        uint64_t h = kn_hash(kn_images_geometry(d->images)->dim, 3 * sizeof(ptrdiff_t), 0);
        ptrdiff_t n = kn_images_count(d->images);
        for (ptrdiff_t i = 0; i < n; i++) {
            const char *path = kn_images_path(d->images, i);
            h = kn_hash(path, strlen(path) + 1, h);
        }
        snprintf(what, sizeof what, "%td images (%08" PRIx32 ")", n, (uint32_t)h);
    } else {
        const kn_npy_header *h = &d->array.header;
        snprintf(what, sizeof what, "%td x %td numbers of %s", h->rows, h->cols,
                 d->array.type == KN_F32 ? "float32" : "float64");
    }
    return kn_comm_check_equal(ctx, "responses of", what, "give all ranks the same files");
}

/* ---- tables -----------------------------------------------------------------------------------
 */

/* Returns the memory in bytes that a table needs as responses: its text and a double per cell. */
static double table_bytes(const kn_table *t)
{
    struct stat info;
    double text = stat(kn_table_path(t), &info) == 0 ? (double)info.st_size : 0;
    return text + 8.0 * (double)kn_table_rows(t) * (double)kn_table_cols(t);
}

/* Fails with KN_ERR_DATA if one of n names of responses has KN_LEVEL_SIZE bytes or more; output
 * tables contain them in full. */
static kn_status check_names(kn_ctx *ctx, const kn_data *d, char *const *name, ptrdiff_t n)
{
    for (ptrdiff_t t = 0; t < n; t++)
        if (strlen(name[t]) >= KN_LEVEL_SIZE)
            return kn_fail(ctx, KN_ERR_DATA,
                           "%s: '%s' has %zu bytes; the name of a response can have at most %d",
                           kn_data_responses_name(d), kn_clipped(name[t]).text, strlen(name[t]),
                           KN_LEVEL_SIZE - 1);
    return KN_OK;
}

kn_status kn_read_table(kn_ctx *ctx, const kn_memory_policy *policy, const kn_data *d,
                        const kn_selection *selection, const kn_response_rows *r, kn_sample *p)
{
    enum { COLUMNS = 256 }; /* columns at a time, so that a scratch file need not stay in memory */
    kn_status status;
    kn_response_shape s = shape_of(p, r->n, selection->n, KN_F64);
    s.resident = table_bytes(d->responses);
    kn_index_range own = columns_of_rank(ctx, r, &s);
    ptrdiff_t T = own.last - own.first;
    KN_TRY(check_names(ctx, d, selection->name, selection->n));
    KN_TRY(kn_response_storage_new(ctx, policy, &s, true, p));
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

/* Reads the columns `own` of a .npy file stored by columns, each as a whole, and stores the rows in
 * use. value: bytes per number. */
static kn_status read_columns(kn_ctx *ctx, const kn_data *d, const kn_response_rows *r, int value,
                              kn_index_range own, kn_sample *p)
{
    kn_status status;
    void *column = NULL, *to = p->scratch.data ? p->scratch.data : p->values;
    ptrdiff_t rows = d->array.header.rows;
    KN_TRY(kn_alloc(ctx, rows, (size_t)value, &column));
    for (ptrdiff_t j = 0; j < own.last - own.first; j++) {
        KN_TRY(kn_npy_elements(ctx, &d->array, (own.first + j) * rows, rows, column));
        for (ptrdiff_t i = 0; i < r->n; i++)
            memcpy(element_at(to, j * r->n + i, value), element_at(column, r->row[i], value),
                   (size_t)value);
        kn_view_done(ctx, p->Y, j, 1);
    }
out:
    kn_free(column);
    return status;
}

/* Reads the columns `own` of the rows in use from a .npy file stored by rows: directly to the
 * storage if that has rows, else `batch` rows at a time to the scratch file. */
static kn_status read_rows(kn_ctx *ctx, const kn_data *d, const kn_response_rows *r,
                           const kn_response_shape *s, kn_index_range own, ptrdiff_t batch,
                           kn_sample *p)
{
    kn_status status = KN_OK;
    void *rows_in_memory = row_storage(p), *buffer = NULL;
    ptrdiff_t T = own.last - own.first, neighbours = T == s->T ? batch : 1;
    if (!rows_in_memory)
        KN_TRY(kn_alloc(ctx, batch * T, (size_t)s->value, &buffer));
    for (ptrdiff_t first = 0; first < r->n; first += batch) {
        ptrdiff_t count = r->n - first < batch ? r->n - first : batch;
        for (ptrdiff_t i = 0, run; i < count; i += run) {
            run = run_from(r, first + i, kn_min_size(count - i, neighbours));
            KN_TRY(kn_npy_elements(ctx, &d->array, r->row[first + i] * s->T + own.first, run * T,
                                   buffer ? element_at(buffer, i * T, s->value)
                                          : element_at(rows_in_memory, (first + i) * T, s->value)));
        }
        if (buffer)
            kn_scratch_write_rows(ctx, &p->scratch, first, count, buffer);
        release_rows(ctx, p, first, count);
        KN_TRY(kn_check_cancel(ctx));
    }
out:
    kn_free(buffer);
    return status;
}

kn_status kn_read_array(kn_ctx *ctx, const kn_memory_policy *policy, const kn_data *d,
                        const kn_response_rows *r, kn_sample *p)
{
    kn_status status;
    const kn_npy_header *h = &d->array.header;
    kn_response_shape s = shape_of(p, r->n, h->cols, d->array.type);
    kn_index_range own = columns_of_rank(ctx, r, &s);
    KN_TRY(kn_response_storage_new(ctx, policy, &s, h->fortran, p));
    p->space.kind = KN_SPACE_NONE;
    p->space.T = h->cols;
    if (own.last > own.first)
        KN_TRY(h->fortran ? read_columns(ctx, d, r, s.value, own, p)
                          : read_rows(ctx, d, r, &s, own, rows_at_once(policy, &s, 1), p));
    KN_TRY(kn_byte_source_check(ctx, &d->array.source));
    kn_responses_number(p, own, s.T);
out:
    return status;
}

/* ---- default mask ------------------------------------------------------------------------------
 *
 *     low_v, high_v = the least and greatest finite value,  n_v = number of finite values
 *     v is in it    when n_v >= lowest and high_v > low_v
 *
 * Each rank accumulates the three numbers over its images, then they are reduced.
 *
 *     cost: a pass over all images, 24 bytes per voxel; sent by a rank: the same */

typedef struct seen {
    ptrdiff_t V;
    double *high, *low, *n; /* V each; low holds the negative minimum, so that both are maxima */
} seen;

/* Updates the largest and smallest finite value and their number per voxel by one image (s->V
 * values). */
static void add_image(seen *s, const float *image)
{
    for (ptrdiff_t v = 0; v < s->V; v++) {
        double x = (double)image[v];
        if (!isfinite(x))
            continue;
        s->high[v] = fmax(s->high[v], x);
        s->low[v] = fmax(s->low[v], -x);
        s->n[v]++;
    }
}

/* Adds this rank's images among those of r to *s, from a list as many at a time as there are
 * reading threads. Reports progress. */
static kn_status add_own_images(kn_ctx *ctx, const kn_data *d, const kn_response_rows *r, seen *s)
{
    kn_status status;
    const kn_comm *c = kn_ctx_comm(ctx);
    kn_index_range own = kn_sample_range_of(r->n, c->rank, c->size);
    bool list = kn_images_is_list(d->images);
    ptrdiff_t some = list ? kn_images_workers(ctx, d->images) : 1;
    float *image = NULL;
    KN_TRY(kn_alloc_f(ctx, some * s->V, &image));
    for (ptrdiff_t i = own.first, n; i < own.last; i += n) {
        n = kn_min_size(some, own.last - i);
        kn_image_rows these = {r->row + i, n};
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(list ? kn_images_read_these(ctx, d->images, &these, NULL, s->V, image)
                    : kn_images_read_rows(ctx, d->images, r->row[i], 1, NULL, s->V, image));
        for (ptrdiff_t k = 0; k < n; k++)
            add_image(s, image + k * s->V);
        kn_report_progress(ctx, "mask", (i + n - own.first) * r->n / (own.last - own.first), r->n,
                           NAN);
    }
out:
    kn_free(image);
    return status;
}

/* Sets *out (owned) to the default mask of the images in r: voxels that are finite in at least
 * r->lowest of them (0: all) and vary. KN_ERR_DATA if it is empty. One pass over the images.
 * Collective. */
static kn_status make_default_mask(kn_ctx *ctx, const kn_data *d, const kn_response_rows *r,
                                   kn_mask *out)
{
    kn_status status;
    bool some = r->lowest > 0 && r->lowest < r->n, all = r->n == kn_images_count(d->images);
    double lowest = (double)(some ? r->lowest : r->n);
    seen s = {.V = kn_geometry_voxels(kn_images_geometry(d->images))};
    if (kn_ctx_comm(ctx)->size == 1 && all)
        return kn_mask_observed(ctx, d->images, r->lowest > 0 ? r->lowest : r->n, out);
    *out = (kn_mask){0};
    KN_TRY(kn_alloc_d(ctx, 3 * s.V, &s.high));
    s.low = s.high + s.V;
    s.n = s.low + s.V;
    for (ptrdiff_t v = 0; v < 2 * s.V; v++)
        s.high[v] = -INFINITY;
    KN_TRY(add_own_images(ctx, d, r, &s));
    KN_TRY(kn_comm_max(ctx, s.high, 2 * s.V));
    KN_TRY(kn_comm_sum(ctx, s.n, s.V)); /* counts: exact */
    KN_TRY(kn_alloc_i(ctx, s.V, &out->index));
    for (ptrdiff_t v = 0; v < s.V; v++)
        if (s.n[v] >= lowest && (s.high[v] > -s.low[v] || r->n == 1))
            out->index[out->count++] = v;
    if (out->count == 0 && all)
        status =
            kn_fail(ctx, KN_ERR_DATA, "%s: no voxel is finite in %s images and varies between them",
                    kn_images_path(d->images, 0), some ? "enough" : "all");
    else if (out->count == 0)
        status = kn_fail(ctx, KN_ERR_DATA,
                         "no voxel is finite in %s %td used images and varies between them",
                         some ? "enough of the" : "all", r->n);
out:
    kn_free(s.high);
    if (status != KN_OK)
        kn_mask_clear(out);
    return status;
}

/* ---- participants without any finite response --------------------------------------------------
 */

/* Fails with KN_ERR_DATA for a row of the responses without any finite value; the message names the
 * file or the line. */
static kn_status refuse_row(kn_ctx *ctx, const kn_data *d, ptrdiff_t row)
{
    static const char what[] = "has no finite value; exclude it with {where} or {match=common}";
    if (d->images && kn_images_is_list(d->images))
        return kn_fail(ctx, KN_ERR_DATA, "%s %s", kn_images_path(d->images, row), what);
    return kn_fail(ctx, KN_ERR_DATA, "%s %s %td %s", kn_data_responses_name(d),
                   d->images      ? "volume"
                   : d->responses ? kn_table_unit(d->responses)
                                  : "row",
                   d->responses ? kn_table_line(d->responses, row) : row + 1, what);
}

kn_status kn_blank_refuse(kn_ctx *ctx, const kn_data *d, const kn_response_rows *r,
                          const kn_sample *p)
{
    kn_status status;
    kn_index_range own = kn_responses_own(ctx, p->Y.cols);
    void *memory = NULL;
    KN_TRY(kn_alloc(ctx, p->n, sizeof(bool), &memory));
    bool *finite = memory;
    for (ptrdiff_t i = 0; i < p->n; i++)
        for (ptrdiff_t j = own.first; j < own.last && !finite[i]; j++)
            finite[i] = isfinite(kn_view_at(p->Y, i, j));
    KN_TRY(kn_allreduce_any(ctx, finite, p->n));
    for (ptrdiff_t i = 0; i < p->n && status == KN_OK; i++)
        status = finite[i] ? KN_OK : refuse_row(ctx, d, r->row[i]);
out:
    kn_free(memory);
    return status;
}

/* Fails with KN_ERR_DATA at the first image in r without any finite voxel. Reads whole images one
 * by one, before a mask is known. */
static kn_status refuse_blank_image(kn_ctx *ctx, const kn_data *d, const kn_response_rows *r)
{
    const ptrdiff_t *dim = kn_images_geometry(d->images)->dim;
    ptrdiff_t V = dim[0] * dim[1] * dim[2];
    float *image = NULL;
    kn_status status;
    KN_TRY(kn_alloc_f(ctx, V, &image));
    for (ptrdiff_t i = 0; i < r->n; i++) {
        ptrdiff_t v = 0;
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(kn_images_read_rows(ctx, d->images, r->row[i], 1, NULL, V, image));
        while (v < V && !isfinite(image[v]))
            v++;
        if (v == V) {
            status = refuse_row(ctx, d, r->row[i]);
            goto out;
        }
    }
out:
    kn_free(image);
    return status;
}

/* ---- images -----------------------------------------------------------------------------------
 */

/* Returns the number of voxels in the grid of one image. */
static ptrdiff_t voxels_of(const kn_data *d)
{
    const ptrdiff_t *dim = kn_images_geometry(d->images)->dim;
    return dim[0] * dim[1] * dim[2];
}

/* After an empty default mask: fails with the name of an image without finite voxels if there is
 * one, else again with the message before. */
static kn_status name_blank(kn_ctx *ctx, const kn_data *d, const kn_response_rows *r)
{
    char before[1024];
    snprintf(before, sizeof before, "%s", kn_message(ctx));
    kn_status status = refuse_blank_image(ctx, d, r);
    return status == KN_OK ? kn_fail(ctx, KN_ERR_DATA, "%s", before) : status;
}

/* Returns the bytes of the pass that finds the default mask: an image, and the range and the number
 * of values of each voxel, per worker; among ranks in double, by one worker. */
static double mask_bytes(kn_ctx *ctx, const kn_data *d)
{
    enum { OF_AN_IMAGE = 4, OF_A_RANGE = 12, OF_A_RANK = 24 };
    double ranges = kn_ctx_comm(ctx)->size > 1
                        ? OF_A_RANK
                        : OF_A_RANGE * (double)kn_images_workers(ctx, d->images);
    return (ranges + OF_AN_IMAGE * (double)kn_images_workers(ctx, d->images)) *
           (double)voxels_of(d);
}

/* Sets p->space.voxel and T: the voxels of {mask}, or of the default mask. The latter needs a pass
 * over the images, which is not started if the memory plan already fails for one response.
 * KN_ERR_SHAPE if the mask has another geometry. */
static kn_status choose_voxels(kn_ctx *ctx, const kn_memory_policy *policy, const kn_data *d,
                               const kn_response_rows *r, kn_sample *p)
{
    kn_status status;
    kn_mask mask = {0};
    bool unused;
    kn_response_shape lowest = shape_of(p, r->n, 1, KN_F32);
    if (d->mask) {
        KN_TRY(kn_mask_read(ctx, d->mask, d->responses_path, &p->space.geometry, &mask));
        if (mask.brain && mask.brain != p->space.part[0].brain.hash) {
            kn_mask_clear(&mask);
            return kn_fail(ctx, KN_ERR_SHAPE,
                           "%s: the brain models differ from those of %s; resample the files to "
                           "the same grayordinates",
                           d->mask, d->responses_path);
        }
    } else {
        lowest.reading = mask_bytes(ctx, d);
        KN_TRY(policy->choose_storage(policy, ctx, &lowest, true, &unused));
        status = make_default_mask(ctx, d, r, &mask);
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

/* Reads T voxels of the images in r, and their statistics to `of` (r->n; NULL: not needed), to the
 * storage of p, or `batch` images at a time to the scratch
 * file. A 4D file is read in runs of adjacent volumes, a list AT_ONCE images at a time. Reports
 * progress. */
static kn_status read_all(kn_ctx *ctx, const kn_data *d, const kn_response_rows *r, ptrdiff_t T,
                          ptrdiff_t batch, kn_image_statistics *of, kn_sample *p)
{
    kn_status status = KN_OK;
    float *rows_in_memory = row_storage(p), *buffer = NULL;
    bool list = kn_images_is_list(d->images);
    if (!rows_in_memory)
        KN_TRY(kn_alloc_f(ctx, batch * T, &buffer));
    for (ptrdiff_t first = 0; first < r->n; first += batch) {
        ptrdiff_t count = r->n - first < batch ? r->n - first : batch;
        float *to = buffer ? buffer : rows_in_memory + first * T;
        for (ptrdiff_t i = 0, run; i < count; i += run) {
            run = count - i < AT_ONCE ? count - i : AT_ONCE;
            run = list ? run : run_from(r, first + i, run);
            KN_TRY(kn_check_cancel(ctx));
            kn_image_rows these = {r->row + first + i, run};
            KN_TRY(list
                       ? kn_images_read_these(ctx, d->images, &these, p->space.voxel, T, to + i * T)
                       : kn_images_read_rows(ctx, d->images, r->row[first + i], run, p->space.voxel,
                                             T, to + i * T));
            if (of)
                kn_image_statistics_of(ctx, to + i * T, run, T, of + first + i);
            kn_report_progress(ctx, "reading", first + i + run, r->n, NAN);
        }
        if (buffer)
            kn_scratch_write_rows(ctx, &p->scratch, first, count, buffer);
        release_rows(ctx, p, first, count);
    }
    kn_images_rest(d->images);
out:
    kn_free(buffer);
    return status;
}

/* Returns the number of indices in a half-open range. */
static ptrdiff_t range_length(kn_index_range r)
{
    return r.last - r.first;
}

typedef struct image_exchange {
    const kn_data *d;
    const kn_response_rows *r;
    kn_sample *p;
    kn_image_statistics *of; /* n; NULL: not needed */
    float *first;            /* n x own, borrowed; NULL: the scratch file */
    kn_row_exchange exchange;
} image_exchange;

/* Reads the images of a range of participants into t->exchange.whole (rows x T, float32), with one
 * call per run of adjacent rows. */
static kn_status read_rows_of_step(kn_ctx *ctx, const image_exchange *t,
                                   kn_index_range participants)
{
    kn_status status = KN_OK;
    const ptrdiff_t *row = t->r->row, T = t->exchange.T;
    void *whole = t->exchange.whole;
    for (ptrdiff_t i = participants.first, run; i < participants.last && status == KN_OK;
         i += run) {
        for (run = 1; i + run < participants.last && row[i + run] == row[i] + run;)
            run++;
        status = kn_images_read_rows(ctx, t->d->images, row[i], run, t->p->space.voxel, T,
                                     (float *)whole + (i - participants.first) * T);
    }
    if (status == KN_OK && t->of)
        kn_image_statistics_of(ctx, whole, participants.last - participants.first, T,
                               t->of + participants.first);
    return status;
}

/* Stores the columns that this rank received in a step, for the participants of all ranks, in
 * memory or in the scratch file. */
static void store_columns(kn_ctx *ctx, const image_exchange *t, ptrdiff_t step)
{
    const kn_row_exchange *p = &t->exchange;
    ptrdiff_t own = range_length(p->own);
    for (int q = 0; q < p->ranks; q++) {
        kn_index_range theirs = kn_row_exchange_rows(p, q, step);
        const char *from = p->columns + p->at[q];
        if (p->got[q] == 0)
            continue;
        if (t->first)
            memcpy(t->first + theirs.first * own, from, (size_t)p->got[q]);
        else
            kn_scratch_write_rows(ctx, &t->p->scratch, theirs.first, range_length(theirs), from);
        kn_view_done(ctx, kn_view_row_range(t->p->Y, theirs.first, range_length(theirs)), 0, own);
    }
}

/* Fails unless all ranks have read the same mask (T voxels). Does nothing without {mask}.
 * Collective. */
static kn_status check_equal_voxels(kn_ctx *ctx, const kn_data *d, const kn_sample *p, ptrdiff_t T)
{
    char what[64];
    uint64_t h = kn_hash(p->space.voxel, (size_t)T * sizeof *p->space.voxel, 0);
    if (!d->mask)
        return KN_OK;
    snprintf(what, sizeof what, "%td voxels (%08" PRIx32 ")", T, (uint32_t)h);
    return kn_comm_check_equal(ctx, "a mask of", what, "give all ranks the same file");
}

/* Reads the images in r on all ranks, each its own participants, and exchanges them so that each
 * rank gets its own columns of T voxels in the storage of p. first: storage by rows in memory;
 * NULL: the scratch file. Collective. */
static kn_status read_images_together(kn_ctx *ctx, const kn_data *d, const kn_response_rows *r,
                                      ptrdiff_t T, float *first, kn_image_statistics *of,
                                      kn_sample *p)
{
    kn_status status;
    image_exchange t = {d, r, p, of, first, {0}};
    kn_row_exchange *e = &t.exchange;
    KN_TRY(check_equal_voxels(ctx, d, p, T));
    KN_TRY(kn_row_exchange_new(ctx, r->n, T, sizeof(float), kn_responses_own(ctx, T), e));
    for (ptrdiff_t step = 0; step < kn_row_exchange_steps(e); step++) {
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(read_rows_of_step(ctx, &t, kn_row_exchange_rows(e, e->rank, step)));
        KN_TRY(kn_rows_to_columns(ctx, e, step));
        store_columns(ctx, &t, step);
        ptrdiff_t done = (step + 1) * KN_EXCHANGE_ROWS * e->ranks;
        kn_report_progress(ctx, "reading", done < r->n ? done : r->n, r->n, NAN);
    }
    kn_images_rest(d->images);
    if (of) /* every rank has those of its participants, and 0 for the others */
        KN_TRY(kn_comm_sum(ctx, (double *)of, r->n * (ptrdiff_t)(sizeof *of / sizeof(double))));
out:
    kn_row_exchange_clear(e);
    return status;
}

kn_status kn_read_images(kn_ctx *ctx, const kn_memory_policy *policy, const kn_data *d,
                         const kn_space *space, const kn_response_rows *r, kn_sample *p)
{
    enum {
        OF_A_VOXEL = 20
    }; /* bytes per voxel while an image is read: as float, as stored, compressed */
    enum { OF_A_NAME = 2 * 64 };
    kn_status status = KN_OK;
    void *statistics = NULL;
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
        KN_TRY(choose_voxels(ctx, policy, d, r, p));
    }
    kn_response_shape s = shape_of(p, r->n, p->space.T, KN_F32);
    s.reading = OF_A_VOXEL * (double)voxels_of(d) * kn_images_readers(ctx, d->images);
    s.resident =
        sizeof(ptrdiff_t) * (double)s.T + /* voxel indices, and headers of all files */
        (sizeof(kn_image) + OF_A_NAME) * (double)kn_images_count(d->images) * p->space.parts;
    kn_log(ctx, KN_LOG_DETAIL, "%td images of %td voxels: %.1f MB", r->n, s.T,
           (double)r->n * (double)s.T * 4e-6);
    kn_index_range own = columns_of_rank(ctx, r, &s);
    if (together)
        s.reading += kn_row_exchange_need(ctx, s.T);
    KN_TRY(kn_response_storage_new(ctx, policy, &s, false, p));
    if (r->training)
        KN_TRY(kn_alloc(ctx, r->n, sizeof(kn_image_statistics), &statistics));
    KN_TRY(together ? read_images_together(ctx, d, r, s.T, row_storage(p), statistics, p)
                    : read_all(ctx, d, r, s.T, rows_at_once(policy, &s, AT_ONCE), statistics, p));
    if (r->training)
        KN_TRY(kn_images_check(ctx, d, p, r->row, statistics));
    kn_responses_number(p, own, s.T);
out:
    kn_free(statistics);
    return status;
}

/* ---- memory -----------------------------------------------------------------------------------
 */

/* Sets col[t], for each response t of the model (`space`), to its column of the caller's matrix: by
 * name if both have names, else by position. KN_ERR_SHAPE or KN_ERR_DATA if they do not fit. */
static kn_status find_columns(kn_ctx *ctx, const kn_data *d, const kn_space *space, ptrdiff_t *col)
{
    bool named = d->view_name && space->kind == KN_SPACE_TABLE;
    if (!named && d->view.cols != space->T)
        return kn_fail(ctx, KN_ERR_SHAPE, "responses have %td columns, but the model has %td",
                       d->view.cols, space->T);
    for (ptrdiff_t t = 0; t < space->T; t++) {
        ptrdiff_t j = t;
        if (named && (t >= d->view.cols || strcmp(d->view_name[t], space->name[t]) != 0))
            for (j = 0; j < d->view.cols && strcmp(d->view_name[j], space->name[t]) != 0;)
                j++;
        if (j >= d->view.cols)
            return kn_fail(ctx, KN_ERR_DATA,
                           "the responses have no column '%s' (a response of the model)",
                           space->name[t]);
        col[t] = j;
    }
    return KN_OK;
}

/* Borrows the caller's values if all are used in their order, else copies. */
kn_status kn_read_view(kn_ctx *ctx, const kn_memory_policy *policy, const kn_data *d,
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
    KN_TRY(kn_response_storage_new(ctx, policy, &s, true, p));
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
