/* Resumes an interrupted experiment: finished rows are not run again. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/table/table.h"
#include "paper/results.h"

enum { N_KEYS = 5 };
static const char *const KEYS[N_KEYS] = {"method", "variant", "split", "components", "repeat"};

/* Checks by results.json that the rows belong to these data and this seed. */
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
                       "%s: does not say what the results beside it are of; {force} starts again",
                       path);
    if (!same_data || !same_seed)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s: the results there are of %s; {force} starts again, or take another "
                       "folder",
                       path, same_data ? "another seed" : "other data");
    return KN_OK;
}

/* Index of each column. Version 0.2 had neither `joint` nor `refused`: -1. */
typedef struct columns {
    ptrdiff_t key[N_KEYS], quantity[KN_N_QUANTITIES], refused;
} columns;

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
    return all && known == kn_table_cols(t)
               ? KN_OK
               : kn_fail(ctx, KN_ERR_FORMAT,
                         "%s line 1: the columns are not those of this version; {force} starts "
                         "again",
                         kn_table_path(t));
}

/* Returns the index of the word among n names, `stride` bytes apart; -1: none. */
static int place(const char *word, const char *const *first, size_t stride, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(word, *(const char *const *)((const char *)first + (size_t)i * stride)) == 0)
            return i;
    return -1;
}

/* Reads an integer of at least 1, or with `or_missing` n/a as 0; -1: neither. */
static int count(const kn_table *t, ptrdiff_t row, ptrdiff_t col, bool or_missing)
{
    double x;
    kn_cell cell = kn_table_number(t, row, col, &x);
    if (cell == KN_CELL_MISSING && or_missing)
        return 0;
    return cell == KN_CELL_NUMBER && x >= 1 && x <= 1e9 && x == floor(x) ? (int)x : -1;
}

/* Reads one run; an unknown name or a value that is not a number is an error. */
static kn_status read_row(kn_ctx *ctx, const kn_table *t, ptrdiff_t i, const columns *c,
                          kn_result *out)
{
    int key[N_KEYS] = {place(kn_table_cell(t, i, c->key[0]), &kn_systems[0].name,
                             sizeof *kn_systems, KN_N_METHODS),
                       place(kn_table_cell(t, i, c->key[1]), &kn_variants[0].name,
                             sizeof *kn_variants, KN_N_VARIANTS),
                       place(kn_table_cell(t, i, c->key[2]), kn_split_name, sizeof *kn_split_name,
                             KN_N_SPLITS),
                       count(t, i, c->key[3], true), count(t, i, c->key[4], false)};
    for (int k = 0; k < N_KEYS; k++)
        if (key[k] < 0)
            return kn_fail(ctx, KN_ERR_FORMAT, "%s line %td: there is no %s '%s'", kn_table_path(t),
                           kn_table_line(t, i), KEYS[k], kn_table_cell(t, i, c->key[k]));
    *out = (kn_result){.run = {key[0], key[1], key[2], key[3], key[4]}};
    for (int q = 0; q < KN_N_QUANTITIES; q++) {
        out->value[q] = NAN;
        if (c->quantity[q] >= 0 &&
            kn_table_number(t, i, c->quantity[q], &out->value[q]) == KN_CELL_TEXT)
            return kn_fail(ctx, KN_ERR_FORMAT, "%s line %td: %s is '%s', expected a number",
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
    KN_TRY(kn_results_path(ctx, dir, "results.json", summary));
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
