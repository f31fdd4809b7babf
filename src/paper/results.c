/* Implements results.h: grouping and writing; results_read.c reads. */
#include "paper/results.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/file/growable_array.h"
#include "io/table/table.h"

const char *const kn_quantity_name[KN_N_QUANTITIES] = {
    "R2",      "rho2",         "rho2_all", "MSLL",        "z2",          "joint",
    "AUC_top", "AUC_deviance", "lml",      "evaluations", "seconds_fit", "seconds_predict"};

void kn_results_clear(kn_results *r)
{
    kn_free(r->row);
    *r = (kn_results){0};
}

kn_status kn_results_add(kn_ctx *ctx, kn_results *r, const kn_result *row)
{
    void *rows = r->row;
    kn_status status = kn_grow(ctx, r->n + 1, sizeof *r->row, &rows, &r->room);
    r->row = rows;
    if (status == KN_OK)
        r->row[r->n++] = *row;
    return status;
}

/* Orders by split, method, variant, components, not by repeat. */
static int compare(const kn_run *a, const kn_run *b)
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
        if (compare(&r->row[i].run, run) == 0 && r->row[i].run.repeat == run->repeat)
            return &r->row[i];
    return NULL;
}

static int by_run(const void *a, const void *b)
{
    return compare(&((const kn_group *)a)->run, &((const kn_group *)b)->run);
}

/* Mean and sd of one quantity over the runs of a group; NaN if any run lacks it. */
static void sum_up(const kn_results *r, kn_group *g, int q)
{
    double n = 0, sum = 0, squares = 0;
    for (ptrdiff_t i = 0; i < r->n; i++)
        if (compare(&r->row[i].run, &g->run) == 0) {
            sum += r->row[i].value[q];
            n++;
        }
    g->mean[q] = sum / n;
    for (ptrdiff_t i = 0; i < r->n; i++)
        if (compare(&r->row[i].run, &g->run) == 0) {
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
        while (k < *n && compare(&g[k].run, &r->row[i].run) != 0)
            k++;
        if (k < *n)
            continue;
        g[k].run = r->row[i].run;
        g[k].refused = r->row[i].refused;
        for (int q = 0; q < KN_N_QUANTITIES; q++)
            sum_up(r, &g[k], q);
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

static kn_status write_table(kn_ctx *ctx, const kn_results *r, const char *path)
{
    static const char *const KEYS[] = {"method", "variant", "split", "components", "repeat"};
    const kn_write_options options = {.force = true};
    kn_table_writer *w = NULL;
    kn_status status;
    KN_TRY(kn_table_writer_new(ctx, path, &options, &w));
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

static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

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
                            json_pack("{s:o s:o}", "mean", number(g->mean[q]), "sd",
                                      number(g->sd[q])));
    if (j && g->refused[0])
        json_object_set_new(j, KN_REFUSED_NAME, json_string(g->refused));
    return j;
}

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
    KN_TRY(kn_results_path(ctx, dir, "results.json", path));
    KN_TRY(write_summary(ctx, r, path));
    KN_TRY(kn_results_path(ctx, dir, "results.tsv", path));
    KN_TRY(write_table(ctx, r, path));
out:
    return status;
}
