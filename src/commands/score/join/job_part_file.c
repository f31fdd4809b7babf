/* Implements job_part_file.h: participants are rows of doubles (pack, unpack); everything read is
 * validated. */
#include "commands/score/join/job_part_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/safetensors/safetensors.h"
#include "la/blas_core.h"
#include "norm/metrics/implausible_data.h"

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

static kn_status path_of(kn_ctx *ctx, const char *dir, kn_job_part part, char path[PATH])
{
    return kn_job_part_path(ctx, dir, part, "scores", ".safetensors", path);
}

/* ---- one participant as a row ---- */

static int columns_of(const kn_scores *s)
{
    int n = 0;
    while (s->scored && kn_scores_column(n))
        n++;
    return s->scored ? n + OWN + KN_CALIBRATION_TALLY : 1;
}

/* Packs participant i into a row of columns_of(s) doubles; unpack is the inverse. */
static void pack(kn_scores *s, ptrdiff_t i, double *row)
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

/* Converts to an integer from `least` to `most`; KN_ERR_FORMAT otherwise. */
static kn_status whole(kn_ctx *ctx, const kn_st_file *f, double x, ptrdiff_t least, ptrdiff_t most,
                       ptrdiff_t *out)
{
    if (!(x >= (double)least && x <= (double)most && x == floor(x)))
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: %g where a whole number from %td to %td should be",
                       kn_st_name(f), x, least, most);
    *out = (ptrdiff_t)x;
    return KN_OK;
}

/* Unpacks a row into participant i; KN_ERR_FORMAT for indices out of range. */
static kn_status unpack(kn_ctx *ctx, const kn_st_file *f, const double *row, kn_scores *s,
                        ptrdiff_t i)
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
    KN_TRY(whole(ctx, f, row[k++], -1, m->info.n_samples - 1, &s->training[i]));
    KN_TRY(whole(ctx, f, row[k++], -1, m->reference.n - 1, &s->cv_row[i]));
    KN_TRY(whole(ctx, f, row[k++], 0, KN_CHANGED_RESPONSES | KN_CHANGED_COVARIATES, &changed));
    KN_TRY(whole(ctx, f, row[k++], 0, KN_N_IMPLAUSIBLE - 1, &implausible_reason));
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
    kn_status status = path_of(ctx, dir, part, path);
    return status == KN_OK ? kn_writer_check(ctx, path, options) : status;
}

static kn_status set_hash(kn_ctx *ctx, kn_st_writer *w, const char *key, uint64_t h)
{
    char text[DIGITS];
    snprintf(text, sizeof text, "%016" PRIx64, h);
    return kn_st_set_metadata(ctx, w, key, text);
}

static kn_status set_number(kn_ctx *ctx, kn_st_writer *w, const char *key, ptrdiff_t n)
{
    char text[DIGITS];
    snprintf(text, sizeof text, "%td", n);
    return kn_st_set_metadata(ctx, w, key, text);
}

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
    KN_TRY(set_number(ctx, w, "people", stamp->people));
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
    double *person = NULL;
    char path[PATH];
    kn_scores *from =
        (kn_scores *)s; /* kn_scores_slot needs a non-const pointer; nothing is changed */
    ptrdiff_t columns = columns_of(s);
    KN_TRY(path_of(ctx, dir, part, path));
    KN_TRY(kn_alloc_d(ctx, s->n * columns, &person));
    for (ptrdiff_t i = 0; i < s->n; i++)
        pack(from, i, person + i * columns);
    KN_TRY(kn_st_writer_new(ctx, &w));
    KN_TRY(add_metadata(ctx, w, part, stamp));
    KN_TRY(kn_st_add(ctx, w, "person", KN_ST_F64, 2, (ptrdiff_t[2]){s->n, columns}, person));
    if (s->scored)
        KN_TRY(add_scored(ctx, w, s));
    KN_TRY(kn_st_write(ctx, w, path, options));
out:
    kn_st_writer_free(w);
    kn_free(person);
    return status;
}

/* ---- reading ---- */

static kn_status get_hash(kn_ctx *ctx, const kn_st_file *f, const char *key, uint64_t *out)
{
    const char *text;
    char *end;
    kn_status status = kn_st_need_metadata(ctx, f, key, &text);
    if (status != KN_OK)
        return status;
    *out = strtoull(text, &end, 16);
    return *text && !*end ? KN_OK
                          : kn_fail(ctx, KN_ERR_FORMAT, "%s: '%s' is no hash", kn_st_name(f), key);
}

static bool is_number(const char *text, ptrdiff_t n)
{
    char own[DIGITS];
    snprintf(own, sizeof own, "%td", n);
    return strcmp(own, text) == 0;
}

/* Checks checksum, version and part number. */
static kn_status check_identity(kn_ctx *ctx, const kn_st_file *f, kn_job_part part)
{
    kn_status status;
    const char *version, *i, *n;
    bool sealed;
    KN_TRY(kn_st_verify(ctx, f, &sealed));
    if (!sealed)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: is no part of scores: it has no checksum",
                       kn_st_name(f));
    KN_TRY(kn_st_need_metadata(ctx, f, "kronorm", &version));
    KN_TRY(kn_st_need_metadata(ctx, f, "part", &i));
    KN_TRY(kn_st_need_metadata(ctx, f, "of", &n));
    if (strcmp(version, kn_version()) != 0)
        return kn_fail(ctx, KN_ERR_DATA, "%s: was made by kronorm %s, and this is %s",
                       kn_st_name(f), version, kn_version());
    if (!is_number(i, part.i) || !is_number(n, part.n))
        return kn_fail(ctx, KN_ERR_DATA, "%s: holds part %s of %s, as its name does not say",
                       kn_st_name(f), i, n);
out:
    return status;
}

/* Compares the hashes with those of the join, and reads the hashes of the maps. */
static kn_status check_stamp(kn_ctx *ctx, const kn_st_file *f, kn_job_part part,
                             kn_job_part_stamp *stamp)
{
    kn_status status;
    char key[KN_PART_NAME];
    const char *people, *core;
    const struct {
        const char *key, *what;
        uint64_t expected;
    } same[] = {{"model", "by another model", stamp->model},
                {"options", "with other options", stamp->options},
                {"list", "of other people or covariates", stamp->list},
                {"responses", "from other responses", stamp->responses}};
    KN_TRY(kn_st_need_metadata(ctx, f, "people", &people));
    KN_TRY(kn_st_need_metadata(ctx, f, "core", &core));
    stamp->elsewhere = strcmp(core, kn_la_core()) != 0;
    for (size_t k = 0; k < sizeof same / sizeof *same; k++) {
        uint64_t h;
        KN_TRY(get_hash(ctx, f, same[k].key, &h));
        if (h != same[k].expected || (k == 2 && !is_number(people, stamp->people)))
            return kn_fail(ctx, KN_ERR_DATA,
                           "%s: was made %s; run it again with {part=%td/%td} and {force}, or join "
                           "as it was made",
                           kn_st_name(f), same[k].what, part.i, part.n);
    }
    for (int k = 0; k < KN_N_MAPS; k++) {
        snprintf(key, sizeof key, "map.%s", kn_map_name[k]);
        KN_TRY(get_hash(ctx, f, key, &stamp->map[k]));
    }
out:
    return status;
}

/* Reads the rows of a part into their places among all participants. */
static kn_status take_people(kn_ctx *ctx, const kn_st_file *f, kn_job_part part, kn_scores *all)
{
    kn_status status;
    double *person = NULL;
    int64_t *hash = NULL;
    ptrdiff_t n = kn_job_part_size(part, all->n), columns = columns_of(all);
    KN_TRY(kn_st_read_doubles(ctx, f, "person", n * columns, &person, NULL));
    if (all->scored)
        KN_TRY(kn_st_read_i64(ctx, f, "hash", n, &hash, NULL));
    for (ptrdiff_t k = 0; k < n; k++) {
        ptrdiff_t i = kn_job_part_participant(part, k);
        KN_TRY(unpack(ctx, f, person + k * columns, all, i));
        if (hash)
            all->hash[i] = (uint64_t)hash[k];
    }
out:
    kn_free(person);
    kn_free(hash);
    return status;
}

/* Keeps responses that are 0 in all parts; both lists are ascending. */
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

/* Reads sums and histogram of a part, and adds them. */
static kn_status take_sums(kn_ctx *ctx, const kn_st_file *f, kn_scores *all)
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

static kn_status take(kn_ctx *ctx, const kn_st_file *f, kn_job_part part, kn_job_part_stamp *stamp,
                      kn_scores *all)
{
    kn_status status;
    KN_TRY(check_identity(ctx, f, part));
    KN_TRY(check_stamp(ctx, f, part, stamp));
    KN_TRY(take_people(ctx, f, part, all));
    if (all->scored)
        KN_TRY(take_sums(ctx, f, all));
out:
    return status;
}

kn_status kn_job_part_take(kn_ctx *ctx, const char *dir, kn_job_part part, kn_job_part_stamp *stamp,
                           kn_scores *all)
{
    kn_status status;
    kn_st_file *f = NULL;
    char path[PATH];
    KN_TRY(path_of(ctx, dir, part, path));
    KN_TRY(kn_st_open(ctx, path, &f));
    KN_TRY(take(ctx, f, part, stamp, all));
out:
    kn_st_close(f);
    return status;
}
