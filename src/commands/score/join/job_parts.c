/* Job parts of a scoring: writes and reads the file of one part, and joins the files of all parts.
 * Every part records what must agree between parts, and joining checks it. */
#include "commands/score/join/job_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/plan.h"
#include "commands/common/input_hashes.h"
#include "commands/score/internal.h"
#include "commands/score/provenance.h"
#include "data/table/columns.h"
#include "data/table/text_list.h"
#include "io/file/path.h"
#include "io/npy/npy.h"
#include "io/safetensors/safetensors.h"
#include "la/openblas.h"
#include "model/file/file.h"
#include "norm/metrics/implausible_data.h"

/* ---- the file of a job part: participants are rows of doubles (pack, unpack); everything read is
 * validated ---- */

enum {
    PATH = KN_PART_PATH,
    DIGITS = 24,
    OWN = 5
}; /* OWN: fields per participant in addition to columns and tally */

void kn_job_part_name(kn_job_part part, const char *what, char out[KN_PART_NAME])
{
    snprintf(out, KN_PART_NAME, "%s.part-%td-of-%td", what, part.i, part.n);
}

kn_status kn_job_part_path(kn_ctx *ctx, const char *dir, kn_job_part part, const char *what,
                           const char *ending, char path[KN_PART_PATH])
{
    char name[KN_PART_NAME];
    kn_job_part_name(part, what, name);
    int n = snprintf(path, KN_PART_PATH, "%s/%s%s", dir, name, ending);
    return n < KN_PART_PATH ? KN_OK : kn_fail(ctx, KN_ERR_IO, "%s: the path is too long", dir);
}

/* Path of the file with the scores of a job part. KN_ERR_IO if it is too long. */
static kn_status part_path(kn_ctx *ctx, const char *dir, kn_job_part part, char path[PATH])
{
    return kn_job_part_path(ctx, dir, part, "scores", ".safetensors", path);
}

/* ---- one participant as a row ---- */

/* Number of doubles in a row of pack_participant(). */
static int columns_of(const kn_scores *s)
{
    int n = 0;
    while (s->scored && kn_scores_column(n))
        n++;
    return s->scored ? n + OWN + KN_CALIBRATION_TALLY : 1;
}

/* Pack the results of participant i into a row of columns_of(s) doubles. */
static void pack_participant(kn_scores *s, ptrdiff_t i, double *row)
{
    int k = 0;
    if (!s->scored) {
        row[0] = s->extrapolation[i];
        return;
    }
    for (; kn_scores_slot(s, k); k++)
        row[k] = (*kn_scores_slot(s, k))[i];
    row[k++] = s->joint[i];
    row[k++] = (double)s->training[i];
    row[k++] = (double)s->cv_row[i];
    row[k++] = s->changed[i];
    row[k++] = s->implausible_reason[i];
    memcpy(row + k, &s->tally[i], sizeof s->tally[i]);
}

/* *out = x, if it is an integer from `lowest` to `limit`; KN_ERR_FORMAT otherwise. */
static kn_status read_integer(kn_ctx *ctx, const kn_st_file *f, double x, ptrdiff_t lowest,
                              ptrdiff_t limit, ptrdiff_t *out)
{
    if (!(x >= (double)lowest && x <= (double)limit && x == floor(x)))
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: %g where a whole number from %td to %td should be",
                       kn_st_name(f), x, lowest, limit);
    *out = (ptrdiff_t)x;
    return KN_OK;
}

/* Set the results of participant i from a row that pack_participant() wrote; KN_ERR_FORMAT for
 * indices out of range. */
static kn_status unpack_participant(kn_ctx *ctx, const kn_st_file *f, const double *row,
                                    kn_scores *s, ptrdiff_t i)
{
    kn_status status = KN_OK;
    const kn_model *m = s->model;
    ptrdiff_t changed = 0, implausible_reason = 0;
    int k = 0;
    if (!s->scored) {
        s->extrapolation[i] = row[0];
        return KN_OK;
    }
    for (; kn_scores_slot(s, k); k++)
        (*kn_scores_slot(s, k))[i] = row[k];
    s->joint[i] = row[k++];
    KN_TRY(read_integer(ctx, f, row[k++], -1, m->info.n_samples - 1, &s->training[i]));
    KN_TRY(read_integer(ctx, f, row[k++], -1, m->reference.n - 1, &s->cv_row[i]));
    KN_TRY(
        read_integer(ctx, f, row[k++], 0, KN_CHANGED_RESPONSES | KN_CHANGED_COVARIATES, &changed));
    KN_TRY(read_integer(ctx, f, row[k++], 0, KN_N_IMPLAUSIBLE - 1, &implausible_reason));
    s->changed[i] = (int)changed;
    s->implausible_reason[i] = (int)implausible_reason;
    memcpy(&s->tally[i], row + k, sizeof s->tally[i]);
out:
    return status;
}

/* ---- writing ---- */

kn_status kn_job_part_check(kn_ctx *ctx, const char *dir, kn_job_part part,
                            const kn_write_options *options)
{
    char path[PATH];
    kn_status status = part_path(ctx, dir, part, path);
    return status == KN_OK ? kn_writer_check(ctx, path, options) : status;
}

/* Set a metadata entry to a hash, as 16 hexadecimal digits. */
static kn_status set_hash(kn_ctx *ctx, kn_st_writer *w, const char *key, uint64_t h)
{
    char text[DIGITS];
    snprintf(text, sizeof text, "%016" PRIx64, h);
    return kn_st_set_metadata(ctx, w, key, text);
}

/* Set a metadata entry to a whole number. */
static kn_status set_number(kn_ctx *ctx, kn_st_writer *w, const char *key, ptrdiff_t n)
{
    char text[DIGITS];
    snprintf(text, sizeof text, "%td", n);
    return kn_st_set_metadata(ctx, w, key, text);
}

/* Add the stamp of a job part: what must agree between parts (model, options, list, responses), and
 * the hashes of its maps. */
static kn_status add_metadata(kn_ctx *ctx, kn_st_writer *w, kn_job_part part,
                              const kn_job_part_stamp *stamp)
{
    kn_status status;
    char key[KN_PART_NAME];
    KN_TRY(kn_st_seal(ctx, w));
    KN_TRY(kn_st_set_metadata(ctx, w, "kronorm", kn_version()));
    KN_TRY(kn_st_set_metadata(ctx, w, "core", kn_la_core()));
    KN_TRY(set_number(ctx, w, "part", part.i));
    KN_TRY(set_number(ctx, w, "of", part.n));
    KN_TRY(set_number(ctx, w, "people", stamp->participants));
    KN_TRY(set_hash(ctx, w, "model", stamp->model));
    KN_TRY(set_hash(ctx, w, "options", stamp->options));
    KN_TRY(set_hash(ctx, w, "list", stamp->list));
    KN_TRY(set_hash(ctx, w, "responses", stamp->responses));
    for (int k = 0; k < KN_N_MAPS; k++) {
        snprintf(key, sizeof key, "map.%s", kn_map_name[k]);
        KN_TRY(set_hash(ctx, w, key, stamp->map[k]));
    }
out:
    return status;
}

/* Add the sums over participants that the join needs: metrics, histogram of z, responses that are
 * 0, and hashes of the responses. */
static kn_status add_scored(kn_ctx *ctx, kn_st_writer *w, const kn_scores *s)
{
    kn_status status;
    ptrdiff_t kept = s->model->y.n_kept;
    KN_TRY(
        kn_st_add(ctx, w, "sums", KN_ST_F64, 2, (ptrdiff_t[2]){kept, KN_TALLY_DOUBLES}, s->sums));
    KN_TRY(kn_st_add(ctx, w, "bins", KN_ST_I64, 1, (ptrdiff_t[1]){KN_CALIBRATION_BINS},
                     s->calibrator.bins));
    KN_TRY(kn_st_add(ctx, w, "zero", KN_ST_I64, 1, &s->n_zero, s->zero));
    KN_TRY(kn_st_add(ctx, w, "hash", KN_ST_I64, 1, &s->n, s->hash));
out:
    return status;
}

kn_status kn_job_part_write(kn_ctx *ctx, const kn_scores *s, kn_job_part part,
                            const kn_job_part_stamp *stamp, const char *dir,
                            const kn_write_options *options)
{
    kn_status status;
    kn_st_writer *w = NULL;
    double *participant = NULL;
    char path[PATH];
    kn_scores *from =
        (kn_scores *)s; /* kn_scores_slot needs a non-const pointer; nothing is changed */
    ptrdiff_t columns = columns_of(s);
    KN_TRY(part_path(ctx, dir, part, path));
    KN_TRY(kn_alloc_d(ctx, s->n * columns, &participant));
    for (ptrdiff_t i = 0; i < s->n; i++)
        pack_participant(from, i, participant + i * columns);
    KN_TRY(kn_st_writer_new(ctx, &w));
    KN_TRY(add_metadata(ctx, w, part, stamp));
    KN_TRY(kn_st_add(ctx, w, "person", KN_ST_F64, 2, (ptrdiff_t[2]){s->n, columns}, participant));
    if (s->scored)
        KN_TRY(add_scored(ctx, w, s));
    KN_TRY(kn_st_write(ctx, w, path, options));
out:
    kn_st_writer_free(w);
    kn_free(participant);
    return status;
}

/* ---- reading ---- */

/* Read a hash from the metadata; KN_ERR_FORMAT if it is missing or not hexadecimal. */
static kn_status get_hash(kn_ctx *ctx, const kn_st_file *f, const char *key, uint64_t *out)
{
    const char *text;
    char *end;
    kn_status status = kn_st_need_metadata(ctx, f, key, &text);
    if (status != KN_OK)
        return status;
    *out = strtoull(text, &end, 16);
    return *text && !*end
               ? KN_OK
               : kn_fail(ctx, KN_ERR_FORMAT, "%s: '%s' is not a hash", kn_st_name(f), key);
}

/* True if text is the decimal form of n. */
static bool is_number(const char *text, ptrdiff_t n)
{
    char own[DIGITS];
    snprintf(own, sizeof own, "%td", n);
    return strcmp(own, text) == 0;
}

/* KN_ERR_FORMAT without checksum, KN_ERR_DATA if the file was made by another version or is another
 * part than its name says. */
static kn_status check_identity(kn_ctx *ctx, const kn_st_file *f, kn_job_part part)
{
    kn_status status;
    const char *version, *i, *n;
    bool sealed;
    KN_TRY(kn_st_verify(ctx, f, &sealed));
    if (!sealed)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s is not a part of scores, because it has no checksum",
                       kn_st_name(f));
    KN_TRY(kn_st_need_metadata(ctx, f, "kronorm", &version));
    KN_TRY(kn_st_need_metadata(ctx, f, "part", &i));
    KN_TRY(kn_st_need_metadata(ctx, f, "of", &n));
    if (strcmp(version, kn_version()) != 0)
        return kn_fail(ctx, KN_ERR_DATA, "%s was made by kronorm %s, but this is %s", kn_st_name(f),
                       version, kn_version());
    if (!is_number(i, part.i) || !is_number(n, part.n))
        return kn_fail(
            ctx, KN_ERR_DATA,
            "%s contains part %s of %s, but its name says otherwise; make the part again",
            kn_st_name(f), i, n);
out:
    return status;
}

/* KN_ERR_DATA if the hashes of the part differ from those of the join (stamp); reads the hashes of
 * its maps into stamp. */
static kn_status check_stamp(kn_ctx *ctx, const kn_st_file *f, kn_job_part part,
                             kn_job_part_stamp *stamp)
{
    kn_status status;
    char key[KN_PART_NAME];
    const char *participants, *core;
    const struct {
        const char *key, *what;
        uint64_t expected;
    } same[] = {{"model", "with another model", stamp->model},
                {"options", "with other options", stamp->options},
                {"list", "for other participants or covariates", stamp->list},
                {"responses", "from other responses", stamp->responses}};
    KN_TRY(kn_st_need_metadata(ctx, f, "people", &participants));
    KN_TRY(kn_st_need_metadata(ctx, f, "core", &core));
    stamp->elsewhere = strcmp(core, kn_la_core()) != 0;
    for (size_t k = 0; k < sizeof same / sizeof *same; k++) {
        uint64_t h;
        KN_TRY(get_hash(ctx, f, same[k].key, &h));
        if (h != same[k].expected || (k == 2 && !is_number(participants, stamp->participants)))
            return kn_fail(ctx, KN_ERR_DATA,
                           "%s was made %s; make it again with {part=%td/%td} and {force}, or give "
                           "the join the options of this part",
                           kn_st_name(f), same[k].what, part.i, part.n);
    }
    for (int k = 0; k < KN_N_MAPS; k++) {
        snprintf(key, sizeof key, "map.%s", kn_map_name[k]);
        KN_TRY(get_hash(ctx, f, key, &stamp->map[k]));
    }
out:
    return status;
}

/* Read the results of the participants of a part to their positions among all participants. */
static kn_status copy_participants(kn_ctx *ctx, const kn_st_file *f, kn_job_part part,
                                   kn_scores *all)
{
    kn_status status;
    double *participant = NULL;
    int64_t *hash = NULL;
    ptrdiff_t n = kn_job_part_size(part, all->n), columns = columns_of(all);
    KN_TRY(kn_st_read_doubles(ctx, f, "person", n * columns, &participant, NULL));
    if (all->scored)
        KN_TRY(kn_st_read_i64(ctx, f, "hash", n, &hash, NULL));
    for (ptrdiff_t k = 0; k < n; k++) {
        ptrdiff_t i = kn_job_part_participant(part, k);
        KN_TRY(unpack_participant(ctx, f, participant + k * columns, all, i));
        if (hash)
            all->hash[i] = (uint64_t)hash[k];
    }
out:
    kn_free(participant);
    kn_free(hash);
    return status;
}

/* Keep the responses that are 0 in this part too; both lists are ascending. */
static kn_status keep_zeros(kn_ctx *ctx, const kn_st_file *f, kn_scores *all)
{
    int64_t *zero = NULL;
    ptrdiff_t n = 0, left = 0, at = 0;
    kn_status status = kn_st_read_i64(ctx, f, "zero", -1, &zero, &n);
    for (ptrdiff_t c = 0; status == KN_OK && c < all->n_zero; c++) {
        while (at < n && zero[at] < all->zero[c])
            at++;
        if (at < n && zero[at] == all->zero[c])
            all->zero[left++] = all->zero[c];
    }
    all->n_zero = left;
    kn_free(zero);
    return status;
}

/* Read sums and histogram of a part, and add them to `all`. KN_ERR_FORMAT for negative counts. */
static kn_status add_sums(kn_ctx *ctx, const kn_st_file *f, kn_scores *all)
{
    kn_status status;
    double *sums = NULL;
    int64_t *bins = NULL;
    ptrdiff_t kept = all->model->y.n_kept;
    KN_TRY(kn_st_read_doubles(ctx, f, "sums", kept * KN_TALLY_DOUBLES, &sums, NULL));
    KN_TRY(kn_st_read_i64(ctx, f, "bins", KN_CALIBRATION_BINS, &bins, NULL));
    for (ptrdiff_t k = 0; k < KN_CALIBRATION_BINS; k++)
        if (bins[k] < 0) {
            status = kn_fail(ctx, KN_ERR_FORMAT, "%s: %" PRId64 " values are counted in a bin",
                             kn_st_name(f), bins[k]);
            goto out;
        }
    KN_TRY(keep_zeros(ctx, f, all));
    kn_tallies_join(all->sums, (const kn_metric_tally *)sums, kept);
    for (ptrdiff_t k = 0; k < KN_CALIBRATION_BINS; k++)
        all->calibrator.bins[k] += (uint64_t)bins[k];
out:
    kn_free(sums);
    kn_free(bins);
    return status;
}

/* Check that the file belongs to this join, and add its participants and sums to `all`. */
static kn_status read_job_part(kn_ctx *ctx, const kn_st_file *f, kn_job_part part,
                               kn_job_part_stamp *stamp, kn_scores *all)
{
    kn_status status;
    KN_TRY(check_identity(ctx, f, part));
    KN_TRY(check_stamp(ctx, f, part, stamp));
    KN_TRY(copy_participants(ctx, f, part, all));
    if (all->scored)
        KN_TRY(add_sums(ctx, f, all));
out:
    return status;
}

kn_status kn_job_part_read(kn_ctx *ctx, const char *dir, kn_job_part part, kn_job_part_stamp *stamp,
                           kn_scores *all)
{
    kn_status status;
    kn_st_file *f = NULL;
    char path[PATH];
    KN_TRY(part_path(ctx, dir, part, path));
    KN_TRY(kn_st_open(ctx, path, &f));
    KN_TRY(read_job_part(ctx, f, part, stamp, all));
    KN_TRY(kn_st_check_unchanged(ctx, f));
out:
    kn_st_close(f);
    return status;
}

kn_status kn_job_parts_parse(kn_ctx *ctx, const kn_settings *s, kn_job_part *part)
{
    kn_status status = kn_job_part_parse(ctx, s->part, part);
    if (status == KN_OK && s->part && s->join > 0)
        return kn_fail(
            ctx, KN_ERR_ARGUMENT,
            "{part=%s} and {join=%d} cannot be combined; run each part first, then the join",
            s->part, s->join);
    if (status == KN_OK && s->join > 0 && !s->folder)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{join=%d} needs {output}, the folder of the parts",
                       s->join);
    return status;
}

/* ---- hashes ---- */

/* Hash of all column names (row -1) and all cells of the covariates, which include labels and
 * reasons for exclusion, and of the matched rows. */
static uint64_t hash_list(const kn_data *d)
{
    const kn_table *t = d->covariates;
    uint64_t h = 0;
    for (ptrdiff_t r = -1; r < kn_table_rows(t); r++)
        for (ptrdiff_t c = 0; c < kn_table_cols(t); c++) {
            const char *cell = r < 0 ? kn_table_name(t, c) : kn_table_cell(t, r, c);
            h = kn_hash(cell, strlen(cell) + 1, h);
        }
    for (ptrdiff_t i = 0; i < d->match.n; i++) {
        h = kn_hash(&d->match.covariate_row[i], sizeof(ptrdiff_t), h);
        if (d->match.response_row)
            h = kn_hash(&d->match.response_row[i], sizeof(ptrdiff_t), h);
    }
    return h;
}

kn_status kn_job_parts_stamp(kn_ctx *ctx, const char *command, const kn_settings *s,
                             const kn_participants_table *sheet, kn_job_part_stamp *out)
{
    kn_status status;
    *out =
        (kn_job_part_stamp){.participants = sheet->participants->n + sheet->participants->n_other,
                            .options = kn_settings_hash_results(s, command),
                            .list = hash_list(sheet->data)};
    KN_TRY(kn_model_hash(ctx, sheet->model, &out->model));
    KN_TRY(kn_responses_stamp(ctx, sheet->data, &out->responses));
out:
    return status;
}

/* ---- all parts ---- */

void kn_job_parts_clear(kn_job_parts *p)
{
    kn_free(p->map);
    *p = (kn_job_parts){0};
}

kn_status kn_job_parts_find(kn_ctx *ctx, const char *dir, ptrdiff_t n, kn_job_parts *out)
{
    kn_status status;
    void *memory;
    char path[PATH], number[32];
    kn_listing missing = {.limit = KN_NAMES_LISTED};
    ptrdiff_t first = 0, count = 0;
    *out = (kn_job_parts){.dir = dir, .n = n};
    for (ptrdiff_t i = 1; i <= n; i++) {
        KN_TRY(kn_job_part_path(ctx, dir, (kn_job_part){i, n}, "scores", ".safetensors", path));
        if (access(path, F_OK) == 0)
            continue;
        first = count++ == 0 ? i : first;
        snprintf(number, sizeof number, "%td", i);
        kn_listing_add(&missing, number);
    }
    if (count == n)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s contains none of the %td parts to join; run {part=1/%td} first", dir, n,
                       n);
    if (count > 0)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s: these of the %td parts are missing: %s; run {part=%td/%td} next", dir,
                       n, missing.text, first, n);
    KN_TRY(kn_alloc(ctx, n, sizeof *out->map, &memory));
    out->map = memory;
out:
    return status;
}

/* Plan: the model, tables of all participants, sums of all responses, and one part file. */
kn_status kn_job_parts_check_memory(kn_ctx *ctx, const kn_job_parts *p,
                                    const kn_participants_table *sheet)
{
    kn_mem_plan r = {0};
    kn_mem_budget a = kn_mem_budget_of(ctx);
    ptrdiff_t T = sheet->scores->T, rows = sheet->participants->n / p->n + 1;
    kn_problem_size shape = {.N = sheet->participants->n, .T = T, .threads = 1, .value = 1};
    kn_plan_alloc_bytes(&r, KN_NEED_BASIS, kn_model_bytes(sheet->model));
    kn_scores_need(&r, &shape, 1);
    kn_plan_alloc(&r, KN_NEED_WORK, T, sizeof(kn_metric_tally) + sizeof(float));
    kn_plan_alloc_d(&r, KN_NEED_WORK, rows, 64);
    double bytes = 0;
    for (int k = 0; k < KN_NEED_CATEGORIES; k++)
        bytes += r.peak.bytes[k];
    kn_log(ctx, KN_LOG_DETAIL, "memory: this join needs %s; %s %s", kn_format_size(bytes).text,
           a.from, kn_format_size(a.bytes).text);
    if (bytes <= a.bytes)
        return KN_OK;
    return kn_fail(ctx, KN_ERR_MEMORY, "this join needs %s, but %s %s", kn_format_size(bytes).text,
                   a.from, kn_format_size(a.bytes).text);
}

kn_status kn_job_parts_read(kn_ctx *ctx, kn_job_parts *p, kn_scores *all)
{
    kn_status status = KN_OK;
    ptrdiff_t elsewhere = 0;
    if (all->scored)
        KN_TRY(kn_implausible_begin(ctx, all));
    for (ptrdiff_t i = 1; i <= p->n; i++) {
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(kn_job_part_read(ctx, p->dir, (kn_job_part){i, p->n}, &p->stamp, all));
        memcpy(p->map[i - 1], p->stamp.map, sizeof p->stamp.map);
        elsewhere += p->stamp.elsewhere;
    }
    if (elsewhere > 0)
        kn_log(ctx, KN_LOG_INFO,
               "%td of %td parts were made on other types of processor; last digits may differ "
               "from those of a single run",
               elsewhere, p->n);
out:
    return status;
}

/* ---- maps ---- */

enum { OPEN_MAX = 200 }; /* open files; with more parts each file is opened for every row */

typedef struct source { /* map of one part */
    kn_job_part part;
    ptrdiff_t rows, T;
    kn_npy_file file;
    kn_hashing hash; /* hash of the rows read so far */
} source;

/* Open a map of a job part; KN_ERR_FORMAT unless it is f->rows x f->T floats in C order. */
static kn_status open_job_part(kn_ctx *ctx, const char *path, source *f)
{
    kn_status status = kn_npy_open(ctx, path, &f->file);
    const kn_npy_header *h = &f->file.header;
    if (status == KN_OK && (h->rows != f->rows || h->cols != f->T || f->file.type != KN_F32 ||
                            (h->fortran && f->rows > 1 && f->T > 1)))
        status = kn_fail(
            ctx, KN_ERR_FORMAT,
            "%s is not a map of this part, because it is not an array of %td x %td float32 numbers",
            path, f->rows, f->T);
    return status;
}

/* Read row k (T floats) of the map of a job part. Rows must be read in order, since the hash of the
 * map is checked at the last; KN_ERR_FORMAT if it differs. */
static kn_status read_row(kn_ctx *ctx, const kn_job_parts *p, int map, source *from, ptrdiff_t k,
                          float *row)
{
    kn_status status = KN_OK;
    char path[PATH];
    KN_TRY(kn_job_part_path(ctx, p->dir, from->part, kn_map_name[map], ".npy", path));
    if (!from->file.source.name)
        KN_TRY(open_job_part(ctx, path, from));
    KN_TRY(kn_npy_elements(ctx, &from->file, k * from->T, from->T, row));
    kn_hashing_add(&from->hash, row, (size_t)from->T * sizeof *row);
    if (k == from->rows - 1 && kn_hashing_end(&from->hash) != p->map[from->part.i - 1][map])
        status =
            kn_fail(ctx, KN_ERR_FORMAT, "%s is damaged, or from another run than its part", path);
    if (p->n > OPEN_MAX || k == from->rows - 1)
        kn_npy_close(&from->file);
out:
    return status;
}

kn_status kn_job_parts_write_map(kn_ctx *ctx, const kn_job_parts *p, int k, const kn_scores *all,
                                 kn_mapfile *file)
{
    kn_status status;
    void *memory = NULL;
    source *from = NULL;
    float *row = NULL;
    KN_TRY(kn_alloc(ctx, p->n, sizeof *from, &memory));
    from = memory;
    for (ptrdiff_t i = 0; i < p->n; i++) {
        kn_job_part part = {i + 1, p->n};
        from[i] = (source){.part = part,
                           .rows = kn_job_part_size(part, all->n),
                           .T = all->T,
                           .hash = kn_hashing_begin(0)};
    }
    KN_TRY(kn_alloc_f(ctx, all->T, &row));
    for (ptrdiff_t i = 0; i < all->n; i++) {
        KN_TRY(read_row(ctx, p, k, &from[i % p->n], i / p->n, row));
        KN_TRY(kn_mapfile_rows(ctx, file, row, 1));
        kn_report_progress(ctx, "joining", i + 1, all->n, NAN);
    }
out:
    for (ptrdiff_t i = 0; from && i < p->n; i++)
        kn_npy_close(&from[i].file);
    kn_free(memory);
    kn_free(row);
    return status;
}

/* ---- clean-up ---- */

/* Delete a file; *stayed counts those that cannot be deleted. A file that does not exist is
 * fine. */
static void remove_file(const char *path, ptrdiff_t *stayed)
{
    if (unlink(path) != 0 && errno != ENOENT)
        (*stayed)++;
}

void kn_job_parts_remove(kn_ctx *ctx, const kn_job_parts *p)
{
    char path[PATH];
    ptrdiff_t stayed = 0;
    for (ptrdiff_t i = 1; i <= p->n; i++) {
        kn_job_part part = {i, p->n};
        for (int k = 0; k < KN_N_MAPS; k++)
            if (p->map[i - 1][k] &&
                kn_job_part_path(ctx, p->dir, part, kn_map_name[k], ".npy", path) == KN_OK)
                remove_file(path, &stayed);
        if (kn_job_part_path(ctx, p->dir, part, "scores", ".safetensors", path) == KN_OK)
            remove_file(path, &stayed);
    }
    if (stayed > 0)
        kn_log(ctx, KN_LOG_WARNING, "%s: %td files of parts could not be removed", p->dir, stayed);
}
