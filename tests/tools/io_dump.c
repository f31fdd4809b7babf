/* What the readers of src/io make of files, for comparison with other readers.
 *
 * Commands come on standard input, one a line, words separated by tabs; the answer to each is one
 * line of JSON, {"error": ...} where the library refused. Values go to files, as raw floats. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/formats/gifti.h"
#include "io/image/image.h"
#include "io/image/image_set.h"
#include "io/image/mask.h"
#include "io/npy/npy.h"
#include "io/safetensors/safetensors.h"
#include "io/table/table.h"

static void put_file(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0) {
        perror(path);
        exit(2);
    }
}

static json_t *geometry(const kn_geometry *g)
{
    json_t *affine = json_array();
    for (int i = 0; i < 16; i++)
        json_array_append_new(affine, json_real(g->affine[i / 4][i % 4]));
    return json_pack("{s:[I,I,I], s:o}", "dim", (json_int_t)g->dim[0], (json_int_t)g->dim[1],
                     (json_int_t)g->dim[2], "affine", affine);
}

/* nifti IN OUT [memory]: all voxels in the order volume, z, y, x; memory: see the reader */
static kn_status do_nifti(kn_ctx *ctx, char **word, json_t *answer)
{
    kn_image image = {0};
    kn_image_reader *reader = NULL;
    float *out = NULL;
    kn_status status;
    KN_TRY(kn_image_open(ctx, word[1], &image));
    const kn_nifti_header *h = &image.header;
    ptrdiff_t n = kn_nifti_voxels(h);
    KN_TRY(kn_alloc_f(ctx, n * h->volumes, &out));
    KN_TRY(kn_image_reader_new(ctx, word[3] ? atol(word[3]) : KN_IMAGE_MEMORY, &reader));
    for (ptrdiff_t v = 0; v < h->volumes; v++)
        KN_TRY(kn_image_read(ctx, reader, &image, v, NULL, n, out + v * n));
    put_file(word[2], out, (size_t)(n * h->volumes) * sizeof *out);
    json_object_update_new(answer, geometry(&image.geometry));
    json_object_set_new(answer, "volumes", json_integer(h->volumes));
    json_object_set_new(answer, "dims", json_integer(h->dims));
    json_object_set_new(answer, "dtype", json_string(h->type->name));
    json_object_set_new(answer, "version", json_integer(h->version));
    json_object_set_new(answer, "cifti", json_boolean(h->cifti));
out:
    kn_free(out);
    kn_image_reader_free(reader);
    kn_image_clear(&image);
    return status;
}

/* gifti IN OUT: all arrays one after the other, as doubles */
static kn_status do_gifti(kn_ctx *ctx, char **word, json_t *answer)
{
    kn_gifti gifti = {0};
    json_t *arrays = json_array();
    double *out = NULL;
    ptrdiff_t total = 0, at = 0;
    kn_status status;
    KN_TRY(kn_gifti_read(ctx, word[1], &gifti));
    for (ptrdiff_t i = 0; i < gifti.count; i++)
        total += gifti.array[i].dim[0] * gifti.array[i].dim[1];
    KN_TRY(kn_alloc_d(ctx, total, &out));
    for (ptrdiff_t i = 0; i < gifti.count; i++) {
        const kn_gifti_array *a = &gifti.array[i];
        ptrdiff_t n = a->dim[0] * a->dim[1];
        a->type->doubles[0](a->data, n, out + at);
        at += n;
        json_array_append_new(arrays, json_pack("{s:s, s:s, s:i, s:[I,I]}", "intent", a->intent,
                                                "dtype", a->type->name, "dims", a->dims, "dim",
                                                (json_int_t)a->dim[0], (json_int_t)a->dim[1]));
    }
    put_file(word[2], out, (size_t)total * sizeof *out);
out:
    json_object_set_new(answer, "arrays", arrays);
    kn_free(out);
    kn_gifti_clear(&gifti);
    return status;
}

/* copy IN OUT [3D]: every volume written again as float32; a third word: one volume, as 3D */
static kn_status do_copy(kn_ctx *ctx, char **word, json_t *answer)
{
    kn_images *images = NULL;
    kn_image_writer *w = NULL;
    float *out = NULL;
    kn_status status;
    (void)answer;
    KN_TRY(kn_images_open(ctx, word[1], 0, &images));
    const kn_geometry *g = kn_images_geometry(images);
    ptrdiff_t n = g->dim[0] * g->dim[1] * g->dim[2], volumes = kn_images_count(images);
    KN_TRY(kn_alloc_f(ctx, n * volumes, &out));
    KN_TRY(kn_images_read(ctx, images, NULL, n, out));
    const char *inputs[1] = {word[1]};
    kn_write_options options = {.force = true, .inputs = inputs, .n_inputs = 1};
    KN_TRY(kn_image_writer_new(
        ctx, word[2],
        &(kn_image_target){.geometry = g, .volumes = word[3] ? 0 : volumes, .description = "copy"},
        &options, &w));
    for (ptrdiff_t v = 0; v < volumes; v++)
        KN_TRY(kn_image_writer_volume(ctx, w, &(kn_volume){out + v * n, 1, NULL, n, 0}));
    KN_TRY(kn_image_writer_commit(ctx, w));
out:
    kn_image_writer_free(w);
    kn_free(out);
    kn_images_free(images);
    return status;
}

/* images LIST MASK|default OUT: rows of in-mask voxels */
static kn_status do_images(kn_ctx *ctx, char **word, json_t *answer)
{
    kn_images *images = NULL;
    kn_mask mask = {0};
    float *out = NULL;
    kn_status status;
    KN_TRY(kn_images_open(ctx, word[1], 0, &images));
    if (strcmp(word[2], "default") == 0)
        KN_TRY(kn_mask_observed(ctx, images, PTRDIFF_MAX, &mask));
    else
        KN_TRY(kn_mask_read(ctx, word[2], kn_images_path(images, 0), kn_images_geometry(images),
                            &mask));
    ptrdiff_t count = kn_images_count(images);
    KN_TRY(kn_alloc_f(ctx, count * mask.count, &out));
    KN_TRY(kn_images_read(ctx, images, mask.index, mask.count, out));
    put_file(word[3], out, (size_t)(count * mask.count) * sizeof *out);
    json_object_update_new(answer, geometry(kn_images_geometry(images)));
    json_object_set_new(answer, "count", json_integer(count));
    json_object_set_new(answer, "voxels", json_integer(mask.count));
    json_t *ids = json_array();
    for (ptrdiff_t i = 0; i < count && kn_images_id(images, i); i++)
        json_array_append_new(ids, json_string(kn_images_id(images, i)));
    json_object_set_new(answer, "ids", ids);
out:
    kn_free(out);
    kn_mask_clear(&mask);
    kn_images_free(images);
    return status;
}

/* npy IN OUT [f4|f8 OUT.npy]: raw values in rows, and the array written again */
static kn_status do_npy(kn_ctx *ctx, char **word, json_t *answer)
{
    kn_npy npy = {0};
    double *out = NULL;
    kn_status status;
    KN_TRY(kn_npy_read(ctx, word[1], &npy));
    ptrdiff_t rows = npy.view.rows, cols = npy.view.cols;
    KN_TRY(kn_alloc_d(ctx, rows * cols, &out));
    for (ptrdiff_t i = 0; i < rows; i++)
        for (ptrdiff_t j = 0; j < cols; j++) {
            ptrdiff_t at = i * npy.view.row_stride + j * npy.view.col_stride;
            out[i * cols + j] = npy.view.type == KN_F32 ? (double)((float *)npy.data)[at]
                                                        : ((double *)npy.data)[at];
        }
    put_file(word[2], out, (size_t)(rows * cols) * sizeof *out);
    kn_write_options options = {.force = true};
    if (word[3])
        KN_TRY(kn_npy_write(ctx, word[4], npy.view, strcmp(word[3], "f4") ? KN_F64 : KN_F32,
                            &options));
    json_object_set_new(answer, "rows", json_integer(rows));
    json_object_set_new(answer, "cols", json_integer(cols));
    json_object_set_new(answer, "dims", json_integer(npy.dims));
    json_object_set_new(answer, "type", json_string(npy.view.type == KN_F32 ? "f4" : "f8"));
out:
    kn_free(out);
    kn_npy_clear(&npy);
    return status;
}

/* table IN [OUT]: every cell, header first, and the lines; the table written again */
static kn_status do_table(kn_ctx *ctx, char **word, json_t *answer)
{
    kn_table *t = NULL;
    kn_table_writer *w = NULL;
    json_t *rows = json_array(), *lines = json_array();
    kn_status status;
    KN_TRY(kn_table_read(ctx, word[1], &t));
    kn_write_options options = {.force = true};
    if (word[2])
        KN_TRY(kn_table_writer_new(ctx, word[2], &options, &w));
    for (ptrdiff_t i = -1; i < kn_table_rows(t); i++) {
        json_t *row = json_array();
        json_array_append_new(lines, json_integer(kn_table_line(t, i)));
        for (ptrdiff_t j = 0; j < kn_table_cols(t); j++) {
            const char *cell = i < 0 ? kn_table_name(t, j) : kn_table_cell(t, i, j);
            json_array_append_new(row, json_stringn_nocheck(cell, strlen(cell)));
            if (w)
                KN_TRY(kn_table_writer_text(ctx, w, cell));
        }
        json_array_append_new(rows, row);
        if (w)
            KN_TRY(kn_table_writer_end_row(ctx, w));
    }
    if (w)
        KN_TRY(kn_table_writer_commit(ctx, w));
out:
    json_object_set_new(answer, "rows", rows);
    json_object_set_new(answer, "lines", lines);
    kn_table_writer_free(w);
    kn_table_free(t);
    return status;
}

/* Adds what `t` holds to the writer; matrices through memory in columns, kept in *M and in a file.
 */
static kn_status copy_tensor(kn_ctx *ctx, const kn_st_file *file, const kn_st_tensor *t,
                             const char *prefix, kn_mat *M, kn_st_writer *w)
{
    char path[8192];
    kn_status status;
    if (t->ndim != 2 || (t->type != KN_ST_F64 && t->type != KN_ST_F32)) {
        status = kn_mat_new(ctx, t->count, 1, M); /* at least as large as the values */
        if (status == KN_OK)
            status = kn_st_values(ctx, file, t, 0, t->count, M->data);
        return status == KN_OK ? kn_st_add(ctx, w, t->name, t->type, t->ndim, t->shape, M->data)
                               : status;
    }
    status = kn_st_read_mat(ctx, file, t->name, t->shape[0], t->shape[1], M);
    if (status != KN_OK)
        return status;
    snprintf(path, sizeof path, "%s.%s", prefix, t->name);
    put_file(path, M->data, (size_t)t->count * sizeof(double));
    return kn_st_add_mat(ctx, w, t->name, *M, t->type);
}

/* tensors IN OUT RAW: names, types and shapes; the file written again; matrices in RAW.name */
static kn_status do_tensors(kn_ctx *ctx, char **word, json_t *answer)
{
    kn_st_file *file = NULL;
    kn_st_writer *w = NULL;
    kn_mat *mats = NULL;
    void *p;
    json_t *tensors = json_object(), *metadata = json_object();
    kn_write_options options = {.force = true};
    kn_status status;
    KN_TRY(kn_st_open(ctx, word[1], &file));
    KN_TRY(kn_st_writer_new(ctx, &w));
    for (ptrdiff_t i = 0; i < kn_st_metadata_count(file); i++) {
        const char *key, *value;
        kn_st_metadata_at(file, i, &key, &value);
        json_object_set_new(metadata, key, json_string(value));
        KN_TRY(kn_st_set_metadata(ctx, w, key, value));
    }
    KN_TRY(kn_alloc(ctx, kn_st_count(file), sizeof *mats, &p));
    mats = p;
    for (ptrdiff_t i = 0; i < kn_st_count(file); i++) {
        const kn_st_tensor *t = kn_st_at(file, i);
        json_t *about = json_pack("[s]", kn_st_type_name(t->type));
        for (int k = 0; k < t->ndim; k++)
            json_array_append_new(about, json_integer(t->shape[k]));
        json_object_set_new(tensors, t->name, about);
        KN_TRY(copy_tensor(ctx, file, t, word[3], &mats[i], w));
    }
    KN_TRY(kn_st_write(ctx, w, word[2], &options));
out:
    json_object_set_new(answer, "tensors", tensors);
    json_object_set_new(answer, "metadata", metadata);
    for (ptrdiff_t i = 0; mats && i < kn_st_count(file); i++)
        kn_mat_clear(&mats[i]);
    kn_free(mats);
    kn_st_writer_free(w);
    kn_st_close(file);
    return status;
}

static const struct {
    const char *name;
    kn_status (*run)(kn_ctx *, char **, json_t *);
} commands[] = {{"nifti", do_nifti},    {"gifti", do_gifti}, {"copy", do_copy},
                {"images", do_images},  {"npy", do_npy},     {"table", do_table},
                {"tensors", do_tensors}};

int main(void)
{
    enum { LINE = 8192, WORDS = 8 };
    char line[LINE];
    kn_ctx *ctx = kn_ctx_new();
    while (fgets(line, LINE, stdin)) {
        char *word[WORDS] = {NULL}, *rest = NULL;
        int n = 0;
        for (char *w = strtok_r(line, "\t\n", &rest); w && n < WORDS - 1;
             w = strtok_r(NULL, "\t\n", &rest))
            word[n++] = w;
        json_t *answer = json_object();
        for (size_t i = 0; n > 1 && i < sizeof commands / sizeof commands[0]; i++)
            if (strcmp(word[0], commands[i].name) == 0 &&
                commands[i].run(ctx, word, answer) != KN_OK)
                json_object_set_new(answer, "error", json_string(kn_message(ctx)));
        json_dumpf(answer, stdout, JSON_REAL_PRECISION(17));
        putchar('\n');
        fflush(stdout);
        json_decref(answer);
    }
    kn_ctx_free(ctx);
    return 0;
}
