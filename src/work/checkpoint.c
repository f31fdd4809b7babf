#include "work/checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/comm.h"
#include "base/hash.h"
#include "base/mat.h"
#include "data/design.h"
#include "data/response_ranks.h"
#include "io/grow.h"
#include "io/records.h"
#include "io/writer.h"
#include "la/core.h"

enum { FORMAT = 2 }; /* raised when an older program could misread the file */

struct kn_checkpoint {
    kn_journal journal; /* first: the callbacks get this pointer */
    kn_records *records;
    void *buffer; /* a record on its way out */
    ptrdiff_t room;
    bool broken; /* it could not be written: the fit goes on alone */
};

void kn_checkpoint_path(const char *model, char *out, size_t size)
{
    snprintf(out, size, "%s.resume", model);
}

/* ---- what the steps depend on ------------------------------------------------------------------
 */

/* Values in the order of the strides, which a file always gives alike. */
static uint64_t view_hash(kn_view v)
{
    int64_t shape[] = {v.rows, v.cols, (int64_t)v.type};
    uint64_t h = kn_hash(shape, sizeof shape, 0);
    bool by_rows = v.col_stride == 1;
    size_t element = v.type == KN_F32 ? sizeof(float) : sizeof(double);
    ptrdiff_t runs = by_rows ? v.rows : v.cols, n = by_rows ? v.cols : v.rows;
    ptrdiff_t step = by_rows ? v.row_stride : v.col_stride;
    for (ptrdiff_t k = 0; k < runs; k++) {
        if (by_rows || v.row_stride == 1) {
            h = kn_hash((const char *)v.data + k * step * (ptrdiff_t)element, (size_t)n * element,
                        h);
            continue;
        }
        for (ptrdiff_t i = 0; i < n; i++) {
            double x = kn_view_at(v, i, k);
            h = kn_hash(&x, sizeof x, h);
        }
    }
    return h;
}

/* A block of columns, row by row however they are stored. */
static uint64_t block_hash(kn_view Y, kn_range of)
{
    float single[KN_BLOCK];
    double value[KN_BLOCK];
    kn_hashing h = kn_hashing_begin(0);
    ptrdiff_t n = of.last - of.first, element = Y.type == KN_F32 ? sizeof *single : sizeof *value;
    for (ptrdiff_t i = 0; i < Y.rows; i++) {
        const void *row = (const char *)Y.data + (i * Y.row_stride + of.first) * element;
        if (Y.col_stride != 1) {
            for (ptrdiff_t j = 0; j < n; j++)
                value[j] = kn_view_at(Y, i, of.first + j);
            for (ptrdiff_t j = 0; Y.type == KN_F32 && j < n; j++)
                single[j] = (float)value[j];
            row = Y.type == KN_F32 ? (const void *)single : value;
        }
        kn_hashing_add(&h, row, (size_t)(n * element));
    }
    return kn_hashing_end(&h);
}

/* Blocks as they are dealt to ranks, each hashed by the one that has it: the same for any number.
 * Collective. */
static kn_status responses_hash(kn_ctx *ctx, kn_view Y, uint64_t *out)
{
    enum { HALF = 32 }; /* bits, which a double holds */
    kn_status status;
    int64_t shape[] = {Y.rows, Y.cols, (int64_t)Y.type};
    kn_range own = kn_responses_own(ctx, Y.cols);
    ptrdiff_t blocks = (Y.cols + KN_BLOCK - 1) / KN_BLOCK;
    double *halves = NULL;
    KN_TRY(kn_alloc_d(ctx, 2 * blocks, &halves));
    for (ptrdiff_t b = own.first / KN_BLOCK; b * KN_BLOCK < own.last; b++) {
        KN_TRY(kn_check_cancel(ctx));
        kn_range of = {b * KN_BLOCK, kn_at_most((b + 1) * KN_BLOCK, Y.cols)};
        uint64_t h = block_hash(Y, of);
        halves[2 * b] = (double)(h >> HALF);
        halves[2 * b + 1] = (double)(uint32_t)h;
    }
    KN_TRY(kn_comm_sum(ctx, halves, 2 * blocks));
    *out = kn_hash(halves, (size_t)(2 * blocks) * sizeof *halves, kn_hash(shape, sizeof shape, 0));
out:
    kn_free(halves);
    return status;
}

/* Codes of categories and numbers look alike in X. */
static uint64_t covariates_hash(kn_view X, const kn_design_options *design)
{
    uint64_t h = view_hash(X);
    size_t n = (size_t)X.cols * sizeof(int);
    if (design && design->levels)
        h = kn_hash(design->levels, n, h);
    return design && design->values ? kn_hash(design->values, n, h) : h;
}

static json_t *hash_json(uint64_t h)
{
    char text[17];
    snprintf(text, sizeof text, "%016" PRIx64, h);
    return json_string(text);
}

/* What the steps of this run depend on, as the first line of its checkpoint. */
static json_t *identity(const kn_ctx *ctx, kn_view X, uint64_t responses, const kn_settings *s)
{
    char threads[16];
    uint16_t one = 1;
    snprintf(threads, sizeof threads, "%d", kn_threads(ctx));
    return json_pack("{s:s s:i s:s s:o s:o s:o s:o s:s s:s s:s s:s}", "format", "kronorm resume",
                     "format_version", FORMAT, "version", kn_version(), "options",
                     hash_json(kn_settings_hash(s, X.rows)), "covariates",
                     hash_json(covariates_hash(X, s->design)), "responses", hash_json(responses),
                     "basis", hash_json(s->basis_view.data ? view_hash(s->basis_view) : 0),
                     "threads", threads, "BLAS", kn_la_config(), "core", kn_la_core(), "byte_order",
                     *(unsigned char *)&one ? "little" : "big");
}

/* Refuses a file that was begun with something else, and says with what. */
static kn_status compare(kn_ctx *ctx, const char *path, json_t *theirs, json_t *ours)
{
    static const char *const data[] = {"options", "covariates", "responses", "basis"};
    static const char *const machine[] = {"version", "threads", "BLAS", "core", "byte_order"};
    const char *format = json_string_value(json_object_get(theirs, "format"));
    if (!format || strcmp(format, "kronorm resume") != 0)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: is not what kronorm fit {resume} writes", path);
    if (json_integer_value(json_object_get(theirs, "format_version")) != FORMAT)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: has a format that this program does not know",
                       path);
    for (size_t i = 0; i < sizeof data / sizeof *data; i++)
        if (!json_equal(json_object_get(theirs, data[i]), json_object_get(ours, data[i])))
            return kn_fail(ctx, KN_ERR_DATA,
                           "%s: was begun with other %s (remove it to start again, or leave "
                           "{resume} out)",
                           path, data[i]);
    for (size_t i = 0; i < sizeof machine / sizeof *machine; i++) {
        const char *was = json_string_value(json_object_get(theirs, machine[i]));
        const char *is = json_string_value(json_object_get(ours, machine[i]));
        if (!was || strcmp(was, is) != 0)
            return kn_fail(ctx, KN_ERR_DATA,
                           "%s: was begun with %s '%s', this run has '%s' (remove it to start "
                           "again, or leave {resume} out)",
                           path, machine[i], was ? was : "unknown", is);
    }
    return KN_OK;
}

/* ---- the journal -------------------------------------------------------------------------------
 */

typedef struct record_head {
    uint64_t kind, n_in, n_out;
} record_head;

static kn_status recall(kn_journal *self, kn_ctx *ctx, kn_step *step)
{
    kn_checkpoint *c = (kn_checkpoint *)self;
    record_head head = {(uint64_t)step->kind, (uint64_t)step->n_in, (uint64_t)step->n_out};
    const void *bytes;
    ptrdiff_t n;
    kn_status status = kn_records_peek(ctx, c->records, &bytes, &n);
    if (status != KN_OK || !bytes)
        return status;
    const char *in = (const char *)bytes + sizeof head;
    if (n == (ptrdiff_t)sizeof head + step->n_in + step->n_out &&
        memcmp(bytes, &head, sizeof head) == 0 && memcmp(in, step->in, (size_t)step->n_in) == 0) {
        memcpy(step->out, in + step->n_in, (size_t)step->n_out);
        step->known = true;
        kn_records_take(c->records);
        return KN_OK;
    }
    /* This machine does not repeat itself to the last bit. The steps so far are as good as any. */
    kn_log(ctx, KN_LOG_WARNING,
           "%s: the fit now takes another path; its last %td steps are taken anew",
           kn_records_path(c->records), kn_records_count(c->records));
    return kn_records_drop(ctx, c->records);
}

static kn_status note(kn_journal *self, kn_ctx *ctx, const kn_step *step)
{
    kn_checkpoint *c = (kn_checkpoint *)self;
    record_head head = {(uint64_t)step->kind, (uint64_t)step->n_in, (uint64_t)step->n_out};
    ptrdiff_t n = (ptrdiff_t)sizeof head + step->n_in + step->n_out;
    if (c->broken)
        return KN_OK;
    kn_status status = kn_reserve(ctx, n, &c->buffer, &c->room);
    if (status != KN_OK)
        return status;
    char *to = c->buffer;
    memcpy(to, &head, sizeof head);
    memcpy(to + sizeof head, step->in, (size_t)step->n_in);
    memcpy(to + sizeof head + step->n_in, step->out, (size_t)step->n_out);
    if (kn_records_append(ctx, c->records, c->buffer, n) != KN_OK) {
        c->broken = true; /* a full disk is no reason to lose the fit */
        kn_log(ctx, KN_LOG_WARNING, "%s; the fit goes on, but could not be resumed from here",
               kn_message(ctx));
    }
    return KN_OK;
}

/* ---- the file ----------------------------------------------------------------------------------
 */

static kn_status begin_file(kn_ctx *ctx, const char *path, json_t *ours)
{
    char *text = json_dumps(ours, JSON_COMPACT);
    if (!text)
        return kn_fail(ctx, KN_ERR_MEMORY, "out of memory while beginning %s", path);
    kn_status status = kn_write_text(ctx, path, text, NULL);
    free(text);
    return status;
}

/* `ours` as identity() has it. */
static kn_status open_file(kn_ctx *ctx, const char *path, json_t *ours, kn_checkpoint **out)
{
    kn_status status;
    kn_checkpoint *c = NULL;
    json_t *theirs = NULL;
    void *p;
    KN_TRY(kn_alloc(ctx, 1, sizeof *c, &p));
    c = p;
    c->journal = (kn_journal){recall, note};
    bool fresh = access(path, F_OK) != 0;
    if (fresh)
        KN_TRY(begin_file(ctx, path, ours));
    KN_TRY(kn_records_open(ctx, path, &c->records));
    theirs = json_loads(kn_records_line(c->records), 0, NULL);
    KN_TRY(compare(ctx, path, theirs, ours));
    if (fresh)
        kn_log(ctx, KN_LOG_INFO, "%s: not there, the fit starts from the beginning", path);
    else
        kn_log(ctx, KN_LOG_INFO, "%s: the fit goes on after %td steps", path,
               kn_records_count(c->records));
    *out = c;
out:
    json_decref(theirs);
    if (status != KN_OK)
        kn_checkpoint_free(c);
    return status;
}

kn_status kn_checkpoint_open(kn_ctx *ctx, const char *path, kn_view X, kn_view Y,
                             const kn_settings *s, kn_checkpoint **out)
{
    uint64_t responses = 0;
    kn_status status = responses_hash(ctx, Y, &responses);
    *out = NULL;
    if (status != KN_OK || kn_ctx_comm(ctx)->rank > 0)
        return status;
    json_t *ours = identity(ctx, X, responses, s);
    status = ours ? open_file(ctx, path, ours, out)
                  : kn_fail(ctx, KN_ERR_MEMORY, "out of memory while opening %s", path);
    json_decref(ours);
    return status;
}

kn_journal *kn_checkpoint_journal(kn_checkpoint *c)
{
    return c ? &c->journal : NULL;
}

void kn_checkpoint_remove(kn_ctx *ctx, const kn_checkpoint *c)
{
    if (c && unlink(kn_records_path(c->records)) != 0 && errno != ENOENT)
        kn_log(ctx, KN_LOG_WARNING, "%s: cannot be removed, and is of no use any more",
               kn_records_path(c->records));
}

void kn_checkpoint_free(kn_checkpoint *c)
{
    if (!c)
        return;
    kn_records_free(c->records);
    kn_free(c->buffer);
    kn_free(c);
}
