/* Copies tensors with a check of type and shape (second half of safetensors.h). */
#include <stdio.h>
#include <string.h>

#include "io/file/path.h"
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

static kn_status fail_type(kn_ctx *ctx, const kn_st_file *file, const kn_st_tensor *t,
                           const char *expected)
{
    return kn_fail(ctx, KN_ERR_FORMAT, "%s: tensor '%s' is %s, expected %s", kn_st_name(file),
                   t->name, kn_st_type_name(t->type), expected);
}

/* KN_ERR_FORMAT unless the tensor has n elements; n -1: any number. */
static kn_status need_count(kn_ctx *ctx, const kn_st_file *file, const kn_st_tensor *t, ptrdiff_t n)
{
    if (n >= 0 && t->count != n)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: tensor '%s' has %td values, expected %td",
                       kn_st_name(file), t->name, t->count, n);
    return KN_OK;
}

static kn_status need_dimensions(kn_ctx *ctx, const kn_st_file *file, const kn_st_tensor *t,
                                 int ndim)
{
    if (t->ndim != ndim)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: tensor '%s' has %d dimensions, expected %d",
                       kn_st_name(file), t->name, t->ndim, ndim);
    return KN_OK;
}

/* "230", or "any" for -1 */
static const char *size_text(ptrdiff_t size, char out[32])
{
    if (size < 0)
        return "any";
    snprintf(out, 32, "%td", size);
    return out;
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
    if (t->count == 0) /* the other dimension may be huge: no loop over it */
        return KN_OK;
    kn_view values = {t->data,   t->type == KN_ST_F32 ? KN_F32 : KN_F64,
                      out->rows, out->cols,
                      out->cols, 1};
    kn_view_block(values, 0, *out);
out:
    return status;
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
    for (ptrdiff_t i = 0; i < t->count; i++)
        (*out)[i] = t->type == KN_ST_F64 ? ((const double *)t->data)[i]
                                         : (double)((const float *)t->data)[i];
    if (count)
        *count = t->count;
out:
    return status;
}

static int64_t integer_at(const kn_st_tensor *t, ptrdiff_t i)
{
    switch (t->type) {
    case KN_ST_I64: return ((const int64_t *)t->data)[i];
    case KN_ST_I32: return ((const int32_t *)t->data)[i];
    default: return ((const uint8_t *)t->data)[i];
    }
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
    for (ptrdiff_t i = 0; i < t->count; i++)
        (*out)[i] = integer_at(t, i);
    if (count)
        *count = t->count;
out:
    return status;
}

kn_status kn_st_read_text(kn_ctx *ctx, const kn_st_file *file, const char *name, char **out)
{
    const kn_st_tensor *t;
    kn_status status;
    *out = NULL;
    KN_TRY(kn_st_need(ctx, file, name, &t));
    if (t->type != KN_ST_U8)
        return fail_type(ctx, file, t, "U8");
    KN_TRY(need_dimensions(ctx, file, t, 1));
    if (t->count > 0 && memchr(t->data, 0, (size_t)t->count))
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: tensor '%s' is not a text, it holds a 0 byte",
                       kn_st_name(file), name);
    KN_TRY(kn_text_copy(ctx, t->data, (size_t)t->count, out));
out:
    return status;
}
