/* Reads arrays of a model file and validates their values. Contracts: model/file/internal.h. */
#include "model/file/internal.h"

#include <math.h>

kn_status kn_st_bad(kn_ctx *ctx, const kn_st_file *f, const char *what)
{
    return kn_fail(ctx, KN_ERR_FORMAT,
                   "%s: %s is missing or invalid; the file was changed or damaged", kn_st_name(f),
                   what);
}

kn_status kn_st_read_indices(kn_ctx *ctx, const kn_st_file *f, const char *name, ptrdiff_t limit,
                             ptrdiff_t **out, ptrdiff_t *n)
{
    int64_t *raw = NULL;
    kn_status status = kn_st_read_i64(ctx, f, name, *n, &raw, n);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t i = 0; i < *n; i++)
        if (raw[i] < 0 || raw[i] >= limit || (i > 0 && raw[i] <= raw[i - 1])) {
            kn_free(raw);
            return kn_st_bad(ctx, f, name);
        }
    *out = (ptrdiff_t *)raw; /* the same 64-bit integers, see kn_model_write */
    return KN_OK;
}

kn_status kn_st_read_numbers(kn_ctx *ctx, const kn_st_file *f, const char *name, ptrdiff_t n,
                             bool nan, double **out, ptrdiff_t *count)
{
    ptrdiff_t found;
    kn_status status = kn_st_read_doubles(ctx, f, name, n, out, &found);
    for (ptrdiff_t i = 0; status == KN_OK && i < found; i++)
        if (isinf((*out)[i]) || (isnan((*out)[i]) && !nan))
            return kn_st_bad(ctx, f, name);
    if (count)
        *count = found;
    return status;
}

kn_status kn_st_read_positive(kn_ctx *ctx, const kn_st_file *f, const char *name, ptrdiff_t n,
                              bool zero, double **out)
{
    kn_status status = kn_st_read_doubles(ctx, f, name, n, out, NULL);
    for (ptrdiff_t i = 0; status == KN_OK && i < n; i++)
        if (!isfinite((*out)[i]) || (*out)[i] < 0 || (!zero && (*out)[i] == 0))
            return kn_st_bad(ctx, f, name);
    return status;
}

/* True if all entries of m are at most 1e100 in size; a NaN makes it false. */
static bool finite_matrix(kn_mat m)
{
    static const double LARGEST = 1e100;
    for (ptrdiff_t j = 0; j < m.cols; j++)
        for (ptrdiff_t i = 0; i < m.rows; i++)
            if (!(fabs(kn_at(m, i, j)) <= LARGEST))
                return false;
    return true;
}

kn_status kn_st_read_finite(kn_ctx *ctx, const kn_st_file *f, const char *name, ptrdiff_t rows,
                            ptrdiff_t cols, kn_mat *out)
{
    kn_status status = kn_st_read_mat(ctx, f, name, rows, cols, out);
    if (status == KN_OK && !finite_matrix(*out))
        return kn_st_bad(ctx, f, name);
    return status;
}
