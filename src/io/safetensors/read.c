/* Copies tensors with a check of type and shape (second half of safetensors.h). Every function
 * fails with KN_ERR_FORMAT for a tensor that is missing or different from what is expected. */
#include <stdio.h>
#include <string.h>

#include "base/memory/plan.h"
#include "io/file/byte_order.h"
#include "io/safetensors/safetensors.h"

kn_status kn_st_need(kn_ctx *ctx, const kn_st_file *file, const char *name,
                     const kn_st_tensor **out)
{
    *out = kn_st_find(file, name);
    if (!*out)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: tensor '%s' is missing", kn_st_name(file), name);
    return KN_OK;
}

kn_status kn_st_need_metadata(kn_ctx *ctx, const kn_st_file *file, const char *key,
                              const char **out)
{
    *out = kn_st_metadata(file, key);
    if (!*out)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: metadata '%s' is missing", kn_st_name(file), key);
    return KN_OK;
}

/* Fails with KN_ERR_FORMAT because tensor t has another type than `expected`. */
static kn_status fail_type(kn_ctx *ctx, const kn_st_file *file, const kn_st_tensor *t,
                           const char *expected)
{
    return kn_fail(ctx, KN_ERR_FORMAT, "%s: tensor '%s' is %s, expected %s", kn_st_name(file),
                   t->name, kn_st_type_name(t->type), expected);
}

/* Fails with KN_ERR_FORMAT unless the tensor has n elements; n -1: any number. */
static kn_status need_count(kn_ctx *ctx, const kn_st_file *file, const kn_st_tensor *t, ptrdiff_t n)
{
    if (n >= 0 && t->count != n)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: tensor '%s' has %td values, expected %td",
                       kn_st_name(file), t->name, t->count, n);
    return KN_OK;
}

/* Fails with KN_ERR_FORMAT unless the tensor has ndim dimensions. */
static kn_status need_dimensions(kn_ctx *ctx, const kn_st_file *file, const kn_st_tensor *t,
                                 int ndim)
{
    if (t->ndim != ndim)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: tensor '%s' has %d dimensions, expected %d",
                       kn_st_name(file), t->name, t->ndim, ndim);
    return KN_OK;
}

/* Returns a size as text for messages: "230", or "any" for -1; uses `out`. */
static const char *size_text(ptrdiff_t size, char out[32])
{
    if (size < 0)
        return "any";
    snprintf(out, 32, "%td", size);
    return out;
}

/* Reads a 2-D tensor (row-major, F64 or F32) into the column-major matrix `out`, about ROWS_BYTES
 * at a time. */
static kn_status read_rows(kn_ctx *ctx, const kn_st_file *file, const kn_st_tensor *t, kn_mat out)
{
    enum { ROWS_BYTES = 1 << 22 };
    ptrdiff_t size = kn_st_type_size(t->type), n = ROWS_BYTES / size / out.cols;
    void *rows = NULL;
    kn_status status;
    n = n < 1 ? 1 : kn_min_size(n, out.rows);
    KN_TRY(kn_alloc(ctx, n * out.cols, (size_t)size, &rows));
    for (ptrdiff_t i = 0; i < out.rows; i += n) {
        n = kn_min_size(n, out.rows - i);
        KN_TRY(kn_st_values(ctx, file, t, i * out.cols, n * out.cols, rows));
        kn_view_block((kn_view){rows, t->type == KN_ST_F32 ? KN_F32 : KN_F64, n, out.cols, out.cols,
                                1},
                      0, kn_sub(out, i, 0, n, out.cols));
    }
out:
    kn_free(rows);
    return status;
}

kn_status kn_st_read_mat(kn_ctx *ctx, const kn_st_file *file, const char *name, ptrdiff_t rows,
                         ptrdiff_t cols, kn_mat *out)
{
    const kn_st_tensor *t;
    kn_status status;
    *out = kn_mat_none();
    KN_TRY(kn_st_need(ctx, file, name, &t));
    if (t->type != KN_ST_F64 && t->type != KN_ST_F32)
        return fail_type(ctx, file, t, "F64 or F32");
    KN_TRY(need_dimensions(ctx, file, t, 2));
    if ((rows >= 0 && t->shape[0] != rows) || (cols >= 0 && t->shape[1] != cols)) {
        char r[32], c[32];
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: tensor '%s' is %td x %td, expected %s x %s",
                       kn_st_name(file), name, t->shape[0], t->shape[1], size_text(rows, r),
                       size_text(cols, c));
    }
    KN_TRY(kn_mat_new(ctx, t->shape[0], t->shape[1], out));
    if (t->count > 0) /* otherwise the other dimension may be huge: no loop over it */
        KN_TRY(read_rows(ctx, file, t, *out));
out:
    if (status != KN_OK)
        kn_mat_clear(out);
    return status;
}

/* Converts n floats at the start of x to doubles in place, from the last to the first. */
static void widen_floats(double *x, ptrdiff_t n)
{
    for (ptrdiff_t i = n; i-- > 0;)
        x[i] = (double)kn_load_f32((const unsigned char *)x + i * (ptrdiff_t)sizeof(float), false);
}

kn_status kn_st_read_doubles(kn_ctx *ctx, const kn_st_file *file, const char *name, ptrdiff_t n,
                             double **out, ptrdiff_t *count)
{
    const kn_st_tensor *t;
    kn_status status;
    *out = NULL;
    if (count)
        *count = 0;
    KN_TRY(kn_st_need(ctx, file, name, &t));
    if (t->type != KN_ST_F64 && t->type != KN_ST_F32)
        return fail_type(ctx, file, t, "F64 or F32");
    KN_TRY(need_count(ctx, file, t, n));
    KN_TRY(kn_alloc_d(ctx, t->count, out));
    KN_TRY(kn_st_values(ctx, file, t, 0, t->count, *out));
    if (t->type == KN_ST_F32)
        widen_floats(*out, t->count);
    if (count)
        *count = t->count;
out:
    if (status != KN_OK) {
        kn_free(*out);
        *out = NULL;
    }
    return status;
}

/* Converts n integers of a type (U8, I32) at the start of x to int64 in place, from the last to the
 * first. */
static void widen_integers(int64_t *x, kn_st_type type, ptrdiff_t n)
{
    const unsigned char *bytes = (const unsigned char *)x;
    for (ptrdiff_t i = n; type != KN_ST_I64 && i-- > 0;)
        x[i] = type == KN_ST_I32 ? (int32_t)kn_load32(bytes + 4 * i, false) : bytes[i];
}

kn_status kn_st_read_i64(kn_ctx *ctx, const kn_st_file *file, const char *name, ptrdiff_t n,
                         int64_t **out, ptrdiff_t *count)
{
    const kn_st_tensor *t;
    void *p;
    kn_status status;
    *out = NULL;
    if (count)
        *count = 0;
    KN_TRY(kn_st_need(ctx, file, name, &t));
    if (t->type == KN_ST_F64 || t->type == KN_ST_F32)
        return fail_type(ctx, file, t, "I64, I32 or U8");
    KN_TRY(need_count(ctx, file, t, n));
    KN_TRY(kn_alloc(ctx, t->count, sizeof **out, &p));
    *out = p;
    KN_TRY(kn_st_values(ctx, file, t, 0, t->count, p));
    widen_integers(*out, t->type, t->count);
    if (count)
        *count = t->count;
out:
    if (status != KN_OK) {
        kn_free(*out);
        *out = NULL;
    }
    return status;
}

kn_status kn_st_read_text(kn_ctx *ctx, const kn_st_file *file, const char *name, char **out)
{
    const kn_st_tensor *t;
    void *p = NULL;
    kn_status status;
    *out = NULL;
    KN_TRY(kn_st_need(ctx, file, name, &t));
    if (t->type != KN_ST_U8)
        return fail_type(ctx, file, t, "U8");
    KN_TRY(need_dimensions(ctx, file, t, 1));
    KN_TRY(kn_alloc(ctx, t->count + 1, 1, &p));
    KN_TRY(kn_st_values(ctx, file, t, 0, t->count, p));
    if (memchr(p, 0, (size_t)t->count)) {
        status = kn_fail(ctx, KN_ERR_FORMAT,
                         "%s: tensor '%s' is not a text, because it contains a 0 byte",
                         kn_st_name(file), name);
        goto out;
    }
    *out = p;
    (*out)[t->count] = '\0';
    p = NULL;
out:
    kn_free(p);
    return status;
}
