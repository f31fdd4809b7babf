/* Implements job_parts.h. */
#include "commands/score/join/job_parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/budget.h"
#include "commands/score/implausible.h"
#include "commands/score/provenance.h"
#include "data/table/columns.h"
#include "data/table/text_list.h"
#include "io/file/path.h"
#include "io/npy/npy.h"
#include "model/file/file.h"

enum { PATH = KN_PART_PATH };

kn_status kn_job_parts_asked(kn_ctx *ctx, const kn_settings *s, kn_job_part *part)
{
    kn_status status = kn_job_part_parse(ctx, s->part, part);
    if (status == KN_OK && s->part && s->join > 0)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{part=%s} and {join=%d} are two steps: first each part, then the join",
                       s->part, s->join);
    if (status == KN_OK && s->join > 0 && !s->folder)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{join=%d} needs {output}, the folder of the parts",
                       s->join);
    return status;
}

/* ---- hashes ---- */

/* Hash of all column names (row -1), all cells, which include labels and reasons for exclusion, and
 * the matched rows. */
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
                             const kn_participants_table *of, kn_job_part_stamp *out)
{
    kn_status status;
    *out = (kn_job_part_stamp){.people = of->people->n + of->people->n_other,
                               .options = kn_settings_hash_results(s, command),
                               .list = hash_list(of->data)};
    KN_TRY(kn_model_hash(ctx, of->model, &out->model));
    KN_TRY(kn_responses_stamp(ctx, of->data, &out->responses));
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
    kn_listing missing = {.most = KN_NAMES_LISTED};
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
                       "%s: there is no part of %td to join; {part=1/%td} makes the first", dir, n,
                       n);
    if (count > 0)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s: of %td parts these are missing: %s; {part=%td/%td} makes the first",
                       dir, n, missing.text, first, n);
    KN_TRY(kn_alloc(ctx, n, sizeof *out->map, &memory));
    out->map = memory;
out:
    return status;
}

/* Plan: the model, tables of all participants, sums of all responses, and one part file. */
kn_status kn_job_parts_room(kn_ctx *ctx, const kn_job_parts *p, const kn_participants_table *of)
{
    kn_mem_plan r = {0};
    kn_mem_budget a = kn_mem_budget_of(ctx);
    ptrdiff_t T = of->scores->T, rows = of->people->n / p->n + 1;
    kn_problem_size shape = {.N = of->people->n, .T = T, .threads = 1, .value = 1};
    kn_plan_alloc_bytes(&r, KN_NEED_BASIS, kn_model_bytes(of->model));
    kn_scores_need(&r, &shape, 1);
    kn_plan_alloc(&r, KN_NEED_WORK, T, sizeof(kn_metric_tally) + sizeof(float));
    kn_plan_alloc_d(&r, KN_NEED_WORK, rows, 64);
    double bytes = 0;
    for (int k = 0; k < KN_NEED_PARTS; k++)
        bytes += r.peak.part[k];
    kn_log(ctx, KN_LOG_DETAIL, "memory: this join needs %s; %s %s", kn_size_in_words(bytes).text,
           a.from, kn_size_in_words(a.bytes).text);
    if (bytes <= a.bytes)
        return KN_OK;
    return kn_fail(ctx, KN_ERR_MEMORY, "this join needs %s, but %s %s",
                   kn_size_in_words(bytes).text, a.from, kn_size_in_words(a.bytes).text);
}

kn_status kn_job_parts_take(kn_ctx *ctx, kn_job_parts *p, kn_scores *all)
{
    kn_status status = KN_OK;
    ptrdiff_t elsewhere = 0;
    if (all->scored)
        KN_TRY(kn_implausible_begin(ctx, all));
    for (ptrdiff_t i = 1; i <= p->n; i++) {
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(kn_job_part_take(ctx, p->dir, (kn_job_part){i, p->n}, &p->stamp, all));
        memcpy(p->map[i - 1], p->stamp.map, sizeof p->stamp.map);
        elsewhere += p->stamp.elsewhere;
    }
    if (elsewhere > 0)
        kn_log(ctx, KN_LOG_INFO,
               "%td of %td parts were made by other processors than this one: last digits may not "
               "be those of one run",
               elsewhere, p->n);
out:
    return status;
}

/* ---- maps ---- */

enum { OPEN_MOST = 200 }; /* open files; with more parts each file is opened for every row */

typedef struct source { /* map of one part */
    kn_job_part part;
    ptrdiff_t rows, T;
    kn_npy_file file;
    kn_hashing hash; /* hash of the rows read so far */
} source;

static kn_status open_part(kn_ctx *ctx, const char *path, source *f)
{
    kn_status status = kn_npy_open(ctx, path, &f->file);
    const kn_npy_header *h = &f->file.header;
    if (status == KN_OK && (h->rows != f->rows || h->cols != f->T || f->file.type != KN_F32 ||
                            (h->fortran && f->rows > 1 && f->T > 1)))
        status = kn_fail(ctx, KN_ERR_FORMAT,
                         "%s: is no map of this part, expected %td x %td numbers of float32", path,
                         f->rows, f->T);
    return status;
}

/* Reads row k; rows must be read in order, since the hash is checked at the last. */
static kn_status read_row(kn_ctx *ctx, const kn_job_parts *p, int map, source *from, ptrdiff_t k,
                          float *row)
{
    kn_status status = KN_OK;
    char path[PATH];
    KN_TRY(kn_job_part_path(ctx, p->dir, from->part, kn_map_name[map], ".npy", path));
    if (!from->file.source.name)
        KN_TRY(open_part(ctx, path, from));
    KN_TRY(kn_npy_elements(ctx, &from->file, k * from->T, from->T, row));
    kn_hashing_add(&from->hash, row, (size_t)from->T * sizeof *row);
    if (k == from->rows - 1 && kn_hashing_end(&from->hash) != p->map[from->part.i - 1][map])
        status =
            kn_fail(ctx, KN_ERR_FORMAT, "%s: is damaged, or of another run than its part", path);
    if (p->n > OPEN_MOST || k == from->rows - 1)
        kn_npy_close(&from->file);
out:
    return status;
}

kn_status kn_job_parts_map(kn_ctx *ctx, const kn_job_parts *p, int k, const kn_scores *all,
                           kn_mapfile *to)
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
        KN_TRY(kn_mapfile_rows(ctx, to, row, 1));
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
