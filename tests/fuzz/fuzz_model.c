#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash/xxh64.h"
#include "fuzz.h"
#include "io/safetensors/internal.h"
#include "io/safetensors/safetensors.h"
#include "model/file/file.h"

/* Every way to read a tensor; a copy is no larger than eight times the file. */
static void read_tensor(kn_ctx *ctx, const kn_st_file *file, const kn_st_tensor *t)
{
    kn_mat M;
    double *d;
    int64_t *k;
    char *text;
    ptrdiff_t n;
    bool number = t->type == KN_ST_F64 || t->type == KN_ST_F32;
    if (kn_st_find(file, t->name) != t)
        abort(); /* names are unique */
    if ((kn_st_read_mat(ctx, file, t->name, -1, -1, &M) == KN_OK) != (number && t->ndim == 2))
        abort();
    if ((kn_st_read_doubles(ctx, file, t->name, -1, &d, &n) == KN_OK) != number)
        abort();
    if (M.data && memcmp(&M.data[t->count - 1], &d[n - 1], sizeof *d) != 0)
        abort(); /* the last element is last in either order */
    if ((kn_st_read_i64(ctx, file, t->name, t->count, &k, &n) == KN_OK) == number)
        abort();
    if (kn_st_read_text(ctx, file, t->name, &text) == KN_OK && (ptrdiff_t)strlen(text) != t->count)
        abort();
    kn_mat_clear(&M);
    kn_free(d);
    kn_free(k);
    kn_free(text);
}

/* A copy of the input with the checksum of its bytes where a model has one, so that a mutation
 * reaches the code behind the check. NULL: out of memory. */
static uint8_t *reseal(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + 1);
    char digits[KN_ST_DIGITS + 1];
    if (!copy)
        return NULL;
    memcpy(copy, data, size);
    if (size < KN_ST_SEAL + KN_ST_DIGITS ||
        memcmp(copy + KN_ST_START, KN_ST_SEALED, sizeof KN_ST_SEALED - 1) != 0)
        return copy;
    memcpy(copy + KN_ST_SEAL, KN_ST_NO_DIGITS, KN_ST_DIGITS);
    snprintf(digits, sizeof digits, "%016" PRIx64, kn_hash(copy, size, 0));
    memcpy(copy + KN_ST_SEAL, digits, KN_ST_DIGITS);
    return copy;
}

/* A file that passes as a model must also work as one: prediction reads every array of it. */
static void use_model(kn_ctx *ctx, const uint8_t *data, size_t size)
{
    enum { MAX_COUNT = 64 };
    kn_model *model;
    kn_maps *maps;
    kn_fit_info info;
    double x[MAX_COUNT] = {0}, out[MAX_COUNT];
    if (kn_model_parse(ctx, "x.safetensors", data, (ptrdiff_t)size, &model) != KN_OK) {
        if (model || kn_message(ctx)[0] == '\0')
            abort();
        return;
    }
    kn_model_info(model, &info);
    if (info.n_covariates <= MAX_COUNT && info.n_responses <= MAX_COUNT &&
        kn_maps_predict(ctx, model, kn_view_rows(x, 1, info.n_covariates), &maps) == KN_OK) {
        kn_mat m = kn_mat_cols(out, 1, info.n_responses);
        kn_maps_block(ctx, maps, 0, info.n_responses, m, kn_mat_none());
        kn_maps_block(ctx, maps, 0, info.n_responses, kn_mat_none(), m);
        kn_maps_free(maps);
    }
    kn_model_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MAX_COUNT = 64 }; /* tensors looked at; finding one takes as many steps */
    kn_ctx *ctx = kn_ctx_new();
    kn_st_file *file;
    if (kn_st_parse(ctx, "x.safetensors", data, (ptrdiff_t)size, &file) == KN_OK) {
        ptrdiff_t bytes = 0;
        for (ptrdiff_t i = 0; i < kn_st_count(file); i++) {
            const kn_st_tensor *t = kn_st_at(file, i);
            bytes += t->count * kn_st_type_size(t->type);
            if (i < MAX_COUNT)
                read_tensor(ctx, file, t);
        }
        uint64_t header;
        memcpy(&header, data, sizeof header);
        if ((uint64_t)bytes != size - sizeof header - header)
            abort(); /* every byte is in one tensor */
        for (ptrdiff_t i = 0; i < kn_st_metadata_count(file) && i < MAX_COUNT; i++) {
            const char *key, *value;
            kn_st_metadata_at(file, i, &key, &value);
            if (kn_st_metadata(file, key) != value)
                abort();
        }
        kn_st_close(file);
        uint8_t *sealed = reseal(data, size);
        if (sealed)
            use_model(ctx, sealed, size);
        free(sealed);
    } else if (file || kn_message(ctx)[0] == '\0') {
        abort();
    }
    kn_ctx_free(ctx);
    return 0;
}
