/* Results of the runs: grouping them, writing results.tsv and summary.json, and reading
 * results.tsv, so that finished runs are not repeated. The key of a run is its method, variant,
 * split, number of components and repeat. */
#include "paper/internal.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/alloc.h"
#include "io/table/table.h"

const char *const kn_quantity_name[KN_N_QUANTITIES] = {
    "R2",  "rho2",        "rho2_all",      "MSLL",
    "z2",  "joint",       "AUC_extreme_z", "AUC_deviance",
    "lml", "evaluations", "seconds_fit",   "seconds_predict"};

void kn_results_clear(kn_results *r)
{
    kn_free(r->row);
    *r = (kn_results){0};
}

kn_status kn_results_add(kn_ctx *ctx, kn_results *r, const kn_result *row)
{
    void *rows = r->row;
    kn_status status = kn_grow(ctx, r->n + 1, sizeof *r->row, &rows, &r->capacity);
    r->row = rows;
    if (status == KN_OK)
        r->row[r->n++] = *row;
    return status;
}

/* Compares two runs by split, method, variant and components, not by repeat: negative, 0 or
 * positive as for qsort. */
static int compare_runs(const kn_run *a, const kn_run *b)
{
    const ptrdiff_t x[] = {a->split, a->method, a->variant, a->components};
    const ptrdiff_t y[] = {b->split, b->method, b->variant, b->components};
    for (int i = 0; i < 4; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

const kn_result *kn_results_find(const kn_results *r, const kn_run *run)
{
    for (ptrdiff_t i = 0; i < r->n; i++)
        if (compare_runs(&r->row[i].run, run) == 0 && r->row[i].run.repeat == run->repeat)
            return &r->row[i];
    return NULL;
}

/* Comparison for qsort of groups: by their run. */
static int by_run(const void *a, const void *b)
{
    return compare_runs(&((const kn_group *)a)->run, &((const kn_group *)b)->run);
}

/* Sets mean and standard deviation of quantity q over the runs of a group, NaN if any run lacks it,
 * and their number. */
static void summarise_runs(const kn_results *r, kn_group *g, int q)
{
    double n = 0, sum = 0, squares = 0;
    for (ptrdiff_t i = 0; i < r->n; i++)
        if (compare_runs(&r->row[i].run, &g->run) == 0) {
            sum += r->row[i].value[q];
            n++;
        }
    g->mean[q] = sum / n;
    for (ptrdiff_t i = 0; i < r->n; i++)
        if (compare_runs(&r->row[i].run, &g->run) == 0) {
            double d = r->row[i].value[q] - g->mean[q];
            squares += d * d;
        }
    g->sd[q] = n > 1 ? sqrt(squares / (n - 1)) : NAN;
    g->run.repeat = (int)n;
}

kn_status kn_results_group(kn_ctx *ctx, const kn_results *r, kn_group **out, ptrdiff_t *n)
{
    void *memory;
    kn_status status = kn_alloc(ctx, r->n, sizeof **out, &memory);
    kn_group *g = memory;
    *out = status == KN_OK ? g : NULL;
    *n = 0;
    for (ptrdiff_t i = 0; status == KN_OK && i < r->n; i++) {
        ptrdiff_t k = 0;
        while (k < *n && compare_runs(&g[k].run, &r->row[i].run) != 0)
            k++;
        if (k < *n)
            continue;
        g[k].run = r->row[i].run;
        g[k].refused = r->row[i].refused;
        for (int q = 0; q < KN_N_QUANTITIES; q++)
            summarise_runs(r, &g[k], q);
        ++*n;
    }
    if (*n > 0)
        qsort(g, (size_t)*n, sizeof *g, by_run);
    return status;
}

kn_status kn_results_path(kn_ctx *ctx, const char *dir, const char *name,
                          char path[KN_RESULTS_PATH])
{
    return snprintf(path, KN_RESULTS_PATH, "%s/%s", dir, name) < KN_RESULTS_PATH
               ? KN_OK
               : kn_fail(ctx, KN_ERR_IO, "%s: the path is too long", dir);
}

/* Writes results.tsv with its sidecar, one row per run, replacing an existing file. */
static kn_status write_table(kn_ctx *ctx, const kn_results *r, const char *path)
{
    static const char *const KEYS[] = {"method", "variant", "split", "components", "repeat"};
    const kn_write_options options = {.force = true};
    kn_table_writer *w = NULL;
    kn_status status;
    KN_TRY(kn_table_writer_new(ctx, path, &options, &w));
    KN_TRY(kn_table_writer_describe(ctx, w, "results.tsv"));
    for (size_t k = 0; k < sizeof KEYS / sizeof *KEYS; k++)
        KN_TRY(kn_table_writer_text(ctx, w, KEYS[k]));
    for (int q = 0; q < KN_N_QUANTITIES; q++)
        KN_TRY(kn_table_writer_text(ctx, w, kn_quantity_name[q]));
    KN_TRY(kn_table_writer_text(ctx, w, KN_REFUSED_NAME));
    KN_TRY(kn_table_writer_end_row(ctx, w));
    for (ptrdiff_t i = 0; i < r->n; i++) {
        const kn_run *u = &r->row[i].run;
        KN_TRY(kn_table_writer_text(ctx, w, kn_systems[u->method].name));
        KN_TRY(kn_table_writer_text(ctx, w, kn_variants[u->variant].name));
        KN_TRY(kn_table_writer_text(ctx, w, kn_split_name[u->split]));
        KN_TRY(kn_table_writer_number(ctx, w, u->components > 0 ? (double)u->components : NAN));
        KN_TRY(kn_table_writer_number(ctx, w, u->repeat));
        for (int q = 0; q < KN_N_QUANTITIES; q++)
            KN_TRY(kn_table_writer_number(ctx, w, r->row[i].value[q]));
        KN_TRY(kn_table_writer_text(ctx, w, r->row[i].refused[0] ? r->row[i].refused : "n/a"));
        KN_TRY(kn_table_writer_end_row(ctx, w));
    }
    KN_TRY(kn_table_writer_commit(ctx, w));
out:
    kn_table_writer_free(w);
    return status;
}

/* Returns x as a JSON number; null if it is not finite. Owned by the caller. */
static json_t *number_json(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

/* Returns JSON of a group of runs: its key, and mean and standard deviation of every quantity over
 * the repeats. Owned by the caller; NULL without memory. */
static json_t *group_json(const kn_group *g)
{
    const kn_run *u = &g->run;
    json_t *j =
        json_pack("{s:s s:s s:s s:o s:i}", "method", kn_systems[u->method].name, "variant",
                  kn_variants[u->variant].name, "split", kn_split_name[u->split], "components",
                  u->components > 0 ? json_integer(u->components) : json_null(), "repeats",
                  u->repeat);
    for (int q = 0; j && q < KN_N_QUANTITIES; q++)
        json_object_set_new(j, kn_quantity_name[q],
                            json_pack("{s:o s:o}", "mean", number_json(g->mean[q]), "sd",
                                      number_json(g->sd[q])));
    if (j && g->refused[0])
        json_object_set_new(j, KN_REFUSED_NAME, json_string(g->refused));
    return j;
}

/* Writes summary.json: data, seed and the groups of runs, replacing an existing file. */
static kn_status write_summary(kn_ctx *ctx, const kn_results *r, const char *path)
{
    const kn_write_options options = {.force = true};
    kn_status status;
    kn_group *group = NULL;
    ptrdiff_t n;
    char *text = NULL, fingerprint[24];
    json_t *list = json_array(), *root = NULL;
    KN_TRY(kn_results_group(ctx, r, &group, &n));
    for (ptrdiff_t i = 0; i < n; i++)
        json_array_append_new(list, group_json(&group[i]));
    snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, r->fingerprint);
    root = json_pack("{s:s s:{s:I s:I s:I s:I s:s} s:I s:O}", "software", kn_version(), "data",
                     "random_scans", (json_int_t)r->random_scans, "figure_scans",
                     (json_int_t)r->figure_scans, "pixels", (json_int_t)r->pixels, "voxels",
                     (json_int_t)r->voxels, "fingerprint", fingerprint, "seed", (json_int_t)r->seed,
                     "results", list);
    text = root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) : NULL;
    if (!text) {
        status = kn_fail(ctx, KN_ERR_MEMORY, "%s: out of memory", path);
        goto out;
    }
    KN_TRY(kn_write_text(ctx, path, text, &options));
out:
    free(text);
    json_decref(root);
    json_decref(list);
    kn_free(group);
    return status;
}

kn_status kn_results_write(kn_ctx *ctx, const kn_results *r, const char *dir)
{
    kn_status status;
    char path[KN_RESULTS_PATH];
    KN_TRY(kn_results_path(ctx, dir, "summary.json", path));
    KN_TRY(write_summary(ctx, r, path));
    KN_TRY(kn_results_path(ctx, dir, "results.tsv", path));
    KN_TRY(write_table(ctx, r, path));
out:
    return status;
}

/* ---- reading, to resume an interrupted experiment ---- */

enum { N_KEYS = 5 };
static const char *const KEYS[N_KEYS] = {"method", "variant", "split", "components", "repeat"};

/* Checks by the fingerprint and seed in summary.json that existing results belong to these data and
 * this seed; KN_ERR_DATA otherwise. */
static kn_status check_origin(kn_ctx *ctx, const char *path, const kn_results *r)
{
    char mine[24];
    snprintf(mine, sizeof mine, "%016" PRIx64, r->fingerprint);
    json_t *root = json_load_file(path, 0, NULL);
    json_t *data = json_object_get(root, "data"), *seed = json_object_get(root, "seed");
    const char *theirs = json_string_value(json_object_get(data, "fingerprint"));
    bool known = theirs && json_is_integer(seed), same_data = known && strcmp(mine, theirs) == 0;
    bool same_seed = known && (uint64_t)json_integer_value(seed) == r->seed;
    json_decref(root);
    if (!known)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s does not describe the results in its folder; use {force} to start again",
                       path);
    if (!same_data || !same_seed)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s: the results in this folder are from %s; use {force} to start again, or "
                       "another folder",
                       path, same_data ? "another seed" : "other data");
    return KN_OK;
}

/* Index of each column. Version 0.2 had neither `joint` nor `refused`: -1. */
typedef struct columns {
    ptrdiff_t key[N_KEYS], quantity[KN_N_QUANTITIES], refused;
} columns;

/* Finds the columns of an existing results.tsv. KN_ERR_FORMAT if they are not those of this version
 * or of 0.2, which had neither `joint` nor `refused`. */
static kn_status find_columns(kn_ctx *ctx, const kn_table *t, columns *c)
{
    ptrdiff_t known = 0;
    bool all = true;
    for (int k = 0; k < N_KEYS; k++) {
        c->key[k] = kn_table_find(t, KEYS[k]);
        all = all && c->key[k] >= 0;
    }
    for (int q = 0; q < KN_N_QUANTITIES; q++) {
        c->quantity[q] = kn_table_find(t, kn_quantity_name[q]);
        all = all && (c->quantity[q] >= 0 || q == KN_Q_JOINT);
        known += c->quantity[q] >= 0;
    }
    c->refused = kn_table_find(t, KN_REFUSED_NAME);
    known += N_KEYS + (c->refused >= 0);
    return all && known == kn_table_cols(t) ? KN_OK
                                            : kn_fail(ctx, KN_ERR_FORMAT,
                                                      "%s line 1: the columns are not those of "
                                                      "this version; use {force} to start again",
                                                      kn_table_path(t));
}

/* Returns the index of `word` among n names, which are `stride` bytes apart, as in an array of
 * structs; -1: none. */
static int find_word(const char *word, const char *const *first, size_t stride, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(word, *(const char *const *)((const char *)first + (size_t)i * stride)) == 0)
            return i;
    return -1;
}

/* Returns an integer cell of at least 1; 0 for n/a if `or_missing`; -1: neither. */
static int read_count(const kn_table *t, ptrdiff_t row, ptrdiff_t col, bool or_missing)
{
    double x;
    kn_cell cell = kn_table_number(t, row, col, &x);
    if (cell == KN_CELL_MISSING && or_missing)
        return 0;
    return cell == KN_CELL_NUMBER && x >= 1 && x <= 1e9 && x == floor(x) ? (int)x : -1;
}

/* Reads row i of results.tsv. KN_ERR_FORMAT, with the line, for an unknown name or a value that is
 * not a number. */
static kn_status read_row(kn_ctx *ctx, const kn_table *t, ptrdiff_t i, const columns *c,
                          kn_result *out)
{
    int key[N_KEYS] = {find_word(kn_table_cell(t, i, c->key[0]), &kn_systems[0].name,
                                 sizeof *kn_systems, KN_N_METHODS),
                       find_word(kn_table_cell(t, i, c->key[1]), &kn_variants[0].name,
                                 sizeof *kn_variants, KN_N_VARIANTS),
                       find_word(kn_table_cell(t, i, c->key[2]), kn_split_name,
                                 sizeof *kn_split_name, KN_N_SPLITS),
                       read_count(t, i, c->key[3], true), read_count(t, i, c->key[4], false)};
    for (int k = 0; k < N_KEYS; k++)
        if (key[k] < 0)
            return kn_fail(ctx, KN_ERR_FORMAT, "%s line %td: unknown %s '%s'", kn_table_path(t),
                           kn_table_line(t, i), KEYS[k], kn_table_cell(t, i, c->key[k]));
    *out = (kn_result){.run = {key[0], key[1], key[2], key[3], key[4]}};
    for (int q = 0; q < KN_N_QUANTITIES; q++) {
        out->value[q] = NAN;
        if (c->quantity[q] >= 0 &&
            kn_table_number(t, i, c->quantity[q], &out->value[q]) == KN_CELL_TEXT)
            return kn_fail(ctx, KN_ERR_FORMAT, "%s line %td: %s is '%s', but must be a number",
                           kn_table_path(t), kn_table_line(t, i), kn_quantity_name[q],
                           kn_table_cell(t, i, c->quantity[q]));
    }
    const char *refused = c->refused >= 0 ? kn_table_cell(t, i, c->refused) : "n/a";
    if (strcmp(refused, "n/a") != 0)
        snprintf(out->refused, sizeof out->refused, "%s", refused);
    return KN_OK;
}

kn_status kn_results_resume(kn_ctx *ctx, const char *dir, kn_results *r)
{
    kn_status status;
    kn_table *t = NULL;
    columns c;
    char path[KN_RESULTS_PATH], summary[KN_RESULTS_PATH];
    KN_TRY(kn_results_path(ctx, dir, "results.tsv", path));
    KN_TRY(kn_results_path(ctx, dir, "summary.json", summary));
    if (access(path, F_OK) != 0)
        return KN_OK;
    KN_TRY(kn_table_read(ctx, path, &t));
    KN_TRY(find_columns(ctx, t, &c));
    KN_TRY(check_origin(ctx, summary, r));
    for (ptrdiff_t i = 0; i < kn_table_rows(t); i++) {
        kn_result row;
        KN_TRY(read_row(ctx, t, i, &c, &row));
        KN_TRY(kn_results_add(ctx, r, &row));
    }
out:
    kn_table_free(t);
    return status;
}
