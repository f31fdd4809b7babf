/* Assigns participants to folds: units by union-find, folds by seeded permutations of units; and
 * strata, the levels of one or several columns. Rows of one participant or group are one unit. */
#include "commands/cv/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash/xxh64.h"
#include "base/random.h"
#include "data/canonical_order.h"
#include "data/response_space.h"
#include "data/table/columns.h"
#include "data/table/levels.h"
#include "data/table/text_list.h"
#include "gp/assign_folds.h"
#include "io/file/path.h"

/* ---- strata: sorts participants by the text of their level, then numbers the levels ---- */

void kn_strata_clear(kn_strata *s)
{
    kn_names_free(s->name, s->n);
    kn_free(s->size);
    kn_free(s->of);
    *s = (kn_strata){0};
}

/* Level of one participant. */
typedef struct row_level {
    char *text;
    double number; /* value if there is a single column with numbers, else 0 */
    ptrdiff_t participant;
} row_level;

/* Order of row_level for qsort: by number, then text, then participant. */
static int by_level(const void *a, const void *b)
{
    const row_level *x = a, *y = b;
    int order =
        x->number != y->number ? (x->number < y->number ? -1 : 1) : strcmp(x->text, y->text);
    return order ? order : (x->participant > y->participant) - (x->participant < y->participant);
}

/* Level of a table row as text, such as "Leeds Prisma" for two columns, with its number if it is
 * one. The text is owned by the caller. KN_ERR_DATA if it is too long. */
static kn_status level_of(kn_ctx *ctx, const kn_table *t, const ptrdiff_t *col, ptrdiff_t n_cols,
                          ptrdiff_t row, row_level *out)
{
    char text[2 * KN_LEVEL_SIZE], one[KN_LEVEL_SIZE];
    size_t used = 0;
    double x;
    for (ptrdiff_t k = 0; k < n_cols; k++) {
        const char *at = kn_table_cell(t, row, col[k]);
        bool number = kn_number_parse(at, &x) == KN_CELL_NUMBER;
        if (kn_text_is_missing(at))
            strcpy(one, "n/a");
        else if (!kn_level_of(at, number, one))
            return kn_cell_refused(ctx, t, row, col[k], "too long for a level");
        size_t n = strlen(one);
        if (used + n + 2 > sizeof text)
            return kn_cell_refused(ctx, t, row, col[k], "too long for a level");
        if (k > 0)
            text[used++] = ' ';
        memcpy(text + used, one, n);
        used += n;
        if (n_cols == 1 && number)
            out->number = x;
    }
    return kn_text_copy(ctx, text, used, &out->text);
}

/* Number the levels of sorted cells (all: one per participant) into *out; the text of the first of
 * each level is moved there. */
static kn_status number_levels(kn_ctx *ctx, row_level *all, ptrdiff_t participants, kn_strata *out)
{
    kn_status status;
    void *memory;
    KN_TRY(kn_alloc(ctx, participants, sizeof *out->name, &memory));
    out->name = memory;
    KN_TRY(kn_alloc_i(ctx, participants, &out->size));
    KN_TRY(kn_alloc_i(ctx, participants, &out->of));
    for (ptrdiff_t i = 0; i < participants; i++) {
        if (out->n == 0 || strcmp(out->name[out->n - 1], all[i].text) != 0) {
            out->name[out->n++] = all[i].text;
            all[i].text = NULL;
        }
        out->of[all[i].participant] = out->n - 1;
        out->size[out->n - 1]++;
    }
    out->participants = participants;
out:
    return status;
}

kn_status kn_strata_new(kn_ctx *ctx, const kn_table *table, const ptrdiff_t *col, ptrdiff_t n_cols,
                        const ptrdiff_t *row, ptrdiff_t participants, kn_strata *out)
{
    kn_status status;
    void *memory = NULL;
    row_level *all = NULL;
    *out = (kn_strata){0};
    KN_TRY(kn_alloc(ctx, participants, sizeof *all, &memory));
    all = memory;
    for (ptrdiff_t i = 0; i < participants; i++) {
        all[i].participant = i;
        KN_TRY(level_of(ctx, table, col, n_cols, row[i], &all[i]));
    }
    qsort(all, (size_t)participants, sizeof *all, by_level);
    KN_TRY(number_levels(ctx, all, participants, out));
out:
    for (ptrdiff_t i = 0; all && i < participants; i++)
        kn_free(all[i].text);
    kn_free(memory);
    if (status != KN_OK)
        kn_strata_clear(out);
    return status;
}

enum { STREAM_CONTROLS = 311, STREAM_TEST = 312 };

void kn_holdout_clear(kn_holdout *h)
{
    kn_free(h->row);
    kn_free(h->unit);
    kn_free(h->order);
    kn_free(h->fold);
    kn_strata_clear(&h->level);
    kn_free(h->control);
    kn_free(h->controls);
    *h = (kn_holdout){0};
}

/* ---- units ---- */

/* First row of the unit that row i belongs to, by union-find with path halving; unit is shortened
 * in place. */
static int root_of(int *unit, int i)
{
    while (unit[i] != i)
        i = unit[i] = unit[unit[i]];
    return i;
}

/* Make the units of rows i and j one unit. */
static void unite_rows(int *unit, int i, int j)
{
    int a = root_of(unit, i), b = root_of(unit, j);
    unit[a > b ? a : b] = a < b ? a : b;
}

typedef struct named {
    const char *text;
    int place;
} named;

/* Order of named rows by text, for qsort. */
static int by_text(const void *a, const void *b)
{
    return strcmp(((const named *)a)->text, ((const named *)b)->text);
}

/* Unite the rows with the same text in column col of the table; missing cells unite nothing. */
static kn_status unite_texts(kn_ctx *ctx, const kn_holdout *h, const kn_table *t, ptrdiff_t col)
{
    void *memory;
    ptrdiff_t n = 0;
    kn_status status = kn_alloc(ctx, h->n, sizeof(named), &memory);
    if (status != KN_OK)
        return status;
    named *all = memory;
    for (ptrdiff_t i = 0; i < h->n; i++) {
        const char *cell = kn_table_cell(t, h->row[i], col);
        if (!kn_text_is_missing(cell))
            all[n++] = (named){cell, (int)i};
    }
    qsort(all, (size_t)n, sizeof *all, by_text);
    for (ptrdiff_t i = 1; i < n; i++)
        if (strcmp(all[i].text, all[i - 1].text) == 0)
            unite_rows(h->unit, all[i].place, all[i - 1].place);
    kn_free(memory);
    return KN_OK;
}

/* Unite the rows of each group of sample p, such as repeated stimuli, which are not in the table.
 * rows: rows of the table. */
static kn_status unite_groups(kn_ctx *ctx, const kn_holdout *h, const kn_sample *p, ptrdiff_t rows)
{
    kn_status status;
    ptrdiff_t *place = NULL, *first = NULL;
    KN_TRY(kn_alloc_i(ctx, rows, &place));
    KN_TRY(kn_alloc_i(ctx, p->grouping.n_groups, &first));
    for (ptrdiff_t i = 0; i < h->n; i++)
        place[h->row[i]] = i;
    for (ptrdiff_t g = 0; g < p->grouping.n_groups; g++)
        first[g] = -1;
    for (ptrdiff_t i = 0; i < p->n; i++) {
        ptrdiff_t at = place[p->covariate_row[i]], g = p->grouping.group[i];
        if (first[g] < 0)
            first[g] = at;
        else
            unite_rows(h->unit, (int)at, (int)first[g]);
    }
out:
    kn_free(first);
    kn_free(place);
    return status;
}

/* ---- order ---- */

/* Hash of a row of the covariate table: of its id, or of all of its cells, in any order of the
 * columns. */
static uint64_t hash_row(const kn_data *d, ptrdiff_t row)
{
    const kn_table *t = d->covariates;
    ptrdiff_t first = d->id_col < 0 ? 0 : d->id_col;
    ptrdiff_t last = d->id_col < 0 ? kn_table_cols(t) : d->id_col + 1;
    uint64_t sum = 0;
    for (ptrdiff_t col = first; col < last; col++) {
        const char *cell = kn_table_cell(t, row, col);
        sum += kn_hash(cell, strlen(cell), 0);
    }
    return sum;
}

/* order (h->n) = the canonical order of sample p, which has the same rows, as indices into the
 * holdout. */
static kn_status order_as_sample(kn_ctx *ctx, const kn_holdout *h, const kn_sample *p,
                                 ptrdiff_t rows, ptrdiff_t *order)
{
    ptrdiff_t *place;
    kn_status status = kn_alloc_i(ctx, rows, &place);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t i = 0; i < h->n; i++)
        place[h->row[i]] = i;
    for (ptrdiff_t k = 0; k < h->n; k++)
        order[k] = place[p->covariate_row[p->order[k]]];
    kn_free(place);
    return KN_OK;
}

/* Set h->order, the canonical order of the rows: that of sample p, or without it by the table
 * alone. */
static kn_status order_rows(kn_ctx *ctx, const kn_data *d, const kn_sample *p, kn_holdout *h)
{
    kn_status status;
    void *memory = NULL;
    KN_TRY(kn_alloc_i(ctx, h->n, &h->order));
    if (p)
        return order_as_sample(ctx, h, p, d->n, h->order);
    KN_TRY(kn_alloc(ctx, h->n, sizeof(uint64_t), &memory));
    uint64_t *key = memory;
    for (ptrdiff_t i = 0; i < h->n; i++)
        key[i] = hash_row(d, h->row[i]);
    KN_TRY(kn_row_order(ctx, &(kn_row_source){.n = h->n, .key = key}, h->order));
out:
    kn_free(memory);
    return status;
}

/* Order of ptrdiff_t for qsort. */
static int by_number(const void *a, const void *b)
{
    ptrdiff_t x = *(const ptrdiff_t *)a, y = *(const ptrdiff_t *)b;
    return (x > y) - (x < y);
}

kn_status kn_holdout_new(kn_ctx *ctx, const kn_data *d, const kn_settings *s, const kn_sample *p,
                         kn_holdout *out)
{
    kn_status status;
    const char *group = kn_group_column(s->group);
    *out = (kn_holdout){.n = p ? p->n : d->match.n};
    KN_TRY(kn_alloc_i(ctx, out->n, &out->row));
    KN_TRY(kn_alloc_int(ctx, out->n, &out->unit));
    KN_TRY(kn_alloc_int(ctx, out->n, &out->fold));
    for (ptrdiff_t i = 0; i < out->n; i++) {
        out->row[i] = p ? p->covariate_row[i] : d->match.covariate_row[i];
        out->unit[i] = (int)i;
    }
    qsort(out->row, (size_t)out->n, sizeof *out->row, by_number);
    KN_TRY(order_rows(ctx, d, p, out));
    if (d->id_col >= 0)
        KN_TRY(unite_texts(ctx, out, d->covariates, d->id_col));
    if (group && kn_column_find(d->covariates, group) < 0) {
        status = kn_column_unknown(ctx, d->covariates, group, "named in {group}");
        goto out;
    }
    if (group)
        KN_TRY(unite_texts(ctx, out, d->covariates, kn_column_find(d->covariates, group)));
    if (p && p->grouping.group)
        KN_TRY(unite_groups(ctx, out, p, d->n));
    for (ptrdiff_t i = 0; i < out->n; i++) {
        out->unit[i] = root_of(out->unit, (int)i);
        out->units += out->unit[i] == i;
    }
out:
    if (status != KN_OK)
        kn_holdout_clear(out);
    return status;
}

ptrdiff_t kn_holdout_training(const kn_holdout *h, int fold, const bool *abnormal, bool *use)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < h->n; i++) /* a unit is represented by its first row */
        use[h->row[h->unit[i]]] = true;
    for (ptrdiff_t i = 0; i < h->n; i++)
        if (h->fold[i] == fold)
            use[h->row[h->unit[i]]] = false;
    for (ptrdiff_t i = h->n - 1; i >= 0; i--) { /* backwards: the first row of a unit comes last */
        use[h->row[i]] = use[h->row[h->unit[i]]] && !(abnormal && abnormal[i]);
        n += use[h->row[i]];
    }
    return n;
}

/* ---- folds ---- */

kn_status kn_holdout_folds(kn_ctx *ctx, const kn_settings *s, kn_holdout *h)
{
    h->folds = s->cv_folds;
    if (h->folds > h->units)
        return kn_fail(
            ctx, KN_ERR_DATA,
            "{folds=%d} is too large for %td %s; use at most as many folds as there are of these",
            h->folds, h->units, h->units < h->n ? "groups that must stay whole" : "participants");
    return kn_folds_assign(ctx, h->n, h->units < h->n ? h->unit : NULL, h->order, s->seed,
                           &h->folds, h->fold);
}

/* ---- {leave_out} ---- */

/* List the rows of a level that can be controls, in canonical order, into healthy (n), and return
 * their number: not labelled, and no row of their unit at this level is labelled. barred (n):
 * scratch, all false on entry. */
static ptrdiff_t find_healthy(const kn_holdout *h, const bool *abnormal, ptrdiff_t level,
                              bool *barred, ptrdiff_t *healthy)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; abnormal && i < h->n; i++)
        if (h->fold[i] == level && abnormal[i])
            barred[h->unit[i]] = true;
    for (ptrdiff_t k = 0; k < h->n; k++)
        if (h->fold[h->order[k]] == level && !barred[h->unit[h->order[k]]])
            healthy[n++] = h->order[k];
    return n;
}

/* Draw the controls of a level: whole units in seeded order until there are enough, so that no
 * scored participant has a relative among them. At least one row must remain to be scored;
 * otherwise there are none. */
static kn_status draw_controls(kn_ctx *ctx, const kn_settings *s, const bool *abnormal,
                               kn_holdout *h, ptrdiff_t level)
{
    kn_status status;
    kn_rng rng;
    bool *barred = NULL;
    ptrdiff_t *order = NULL, *healthy = NULL, n, taken = 0;
    KN_TRY(kn_alloc_bool(ctx, h->n, &barred));
    KN_TRY(kn_alloc_i(ctx, h->n, &healthy));
    n = find_healthy(h, abnormal, level, barred, healthy);
    KN_TRY(kn_alloc_i(ctx, n, &order));
    kn_rng_init(&rng, s->seed, STREAM_CONTROLS + 1000 * (uint64_t)level);
    kn_rng_permutation(&rng, n, order);
    for (ptrdiff_t k = 0; k < n && taken < s->cv_controls; k++) {
        int unit = h->unit[healthy[order[k]]];
        for (ptrdiff_t i = 0; i < n; i++)
            if (h->unit[healthy[i]] == unit && !h->control[healthy[i]]) {
                h->control[healthy[i]] = true;
                taken++;
            }
    }
    bool enough = taken >= s->cv_controls && taken < h->level.size[level];
    h->controls[level] = enough ? taken : 0;
    for (ptrdiff_t i = 0; !enough && i < n; i++)
        h->control[healthy[i]] = false;
out:
    kn_free(order);
    kn_free(healthy);
    kn_free(barred);
    return status;
}

kn_status kn_holdout_by_level(kn_ctx *ctx, const kn_data *d, const kn_settings *s,
                              const bool *abnormal, kn_holdout *h)
{
    enum { MIN = 3 };
    kn_status status;
    const kn_table *t = d->covariates;
    ptrdiff_t col = kn_column_find(t, s->leave_out);
    if (col < 0)
        return kn_column_unknown(ctx, t, s->leave_out, "named in {leave_out}");
    for (ptrdiff_t i = 0; i < h->n; i++)
        if (kn_text_is_missing(kn_table_cell(t, h->row[i], col)))
            return kn_cell_refused(ctx, t, h->row[i], col,
                                   "but {leave_out} requires a level in every row");
    KN_TRY(kn_strata_new(ctx, t, &col, 1, h->row, h->n, &h->level));
    if (h->level.n < MIN || h->level.n > h->n / 2) {
        status = kn_fail(ctx, KN_ERR_DATA,
                         "%s: %s has %td %s in %td participants; {leave_out} needs at least %d "
                         "levels%s",
                         kn_table_path(t), kn_clipped(kn_table_name(t, col)).text, h->level.n,
                         h->level.n == 1 ? "level" : "levels", h->n, MIN,
                         h->level.n < MIN ? "" : ", and at most one per two participants");
        goto out;
    }
    h->folds = (int)h->level.n;
    for (ptrdiff_t i = 0; i < h->n; i++)
        h->fold[i] = (int)h->level.of[i];
    KN_TRY(kn_alloc_bool(ctx, h->n, &h->control));
    KN_TRY(kn_alloc_i(ctx, h->level.n, &h->controls));
    for (ptrdiff_t l = 0; s->cv_controls > 0 && l < h->level.n; l++)
        KN_TRY(draw_controls(ctx, s, abnormal, h, l));
out:
    return status;
}

/* ---- {split} ---- */

/* {split}: share of the test set, and column to stratify by. */
typedef struct test_split {
    double test;
    char stratify[256];
} test_split;

/* Parse "test=0.2,stratify=site". KN_ERR_ARGUMENT for another text or a proportion outside (0,
 * 1). */
static kn_status parse_test_split(kn_ctx *ctx, const char *text, test_split *out)
{
    kn_status status;
    kn_names part = {0};
    bool good = true;
    *out = (test_split){.test = NAN};
    KN_TRY(kn_names_split(ctx, "{split}", text, &part));
    for (ptrdiff_t k = 0; k < part.n && good; k++) {
        const char *p = part.name[k];
        if (strncmp(p, "test=", 5) == 0)
            good = kn_number_parse(p + 5, &out->test) == KN_CELL_NUMBER;
        else if (strncmp(p, "stratify=", 9) == 0 && p[9])
            good = (size_t)snprintf(out->stratify, sizeof out->stratify, "%s", p + 9) <
                   sizeof out->stratify;
        else
            good = false;
    }
    if (!good || !(out->test > 0 && out->test < 1))
        status = kn_fail(ctx, KN_ERR_ARGUMENT,
                         "{split=%s} is invalid; give test=PROPORTION between 0 and 1, and "
                         "optionally stratify=COLUMN, such as test=0.2,stratify=site",
                         kn_clipped(text).text);
out:
    kn_names_clear(&part);
    return status;
}

/* Set h->level, the levels to stratify by; without stratify all rows are one level. KN_ERR_DATA if
 * they are too many. */
static kn_status find_strata(kn_ctx *ctx, const kn_data *d, const test_split *w, kn_holdout *h)
{
    enum { SHARE = 5 }; /* participants per level at least, on average */
    const kn_table *t = d->covariates;
    ptrdiff_t col = w->stratify[0] ? kn_column_find(t, w->stratify) : -1;
    if (w->stratify[0] && col < 0)
        return kn_column_unknown(ctx, t, w->stratify, "named in stratify of {split}");
    kn_status status = kn_strata_new(ctx, t, &col, w->stratify[0] ? 1 : 0, h->row, h->n, &h->level);
    if (status == KN_OK && h->level.n > 1 && h->level.n > h->n / SHARE)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s: %s has %td levels in %td participants, too many to stratify by; "
                       "at most one per %d participants is allowed",
                       kn_table_path(t), kn_clipped(kn_table_name(t, col)).text, h->level.n, h->n,
                       SHARE);
    return status;
}

/* Add units of one level in seeded order to the test set, while that brings its size *taken nearer
 * to `target`. A unit belongs to the level of its first row in canonical order. */
static kn_status fill_level(kn_ctx *ctx, kn_holdout *h, ptrdiff_t level, kn_rng *rng, double target,
                            ptrdiff_t *taken)
{
    kn_status status;
    ptrdiff_t *order = NULL, *first = NULL, *size = NULL, n = 0;
    KN_TRY(kn_alloc_i(ctx, h->n, &first));
    KN_TRY(kn_alloc_i(ctx, h->n, &size));
    for (ptrdiff_t k = 0; k < h->n; k++) {
        ptrdiff_t i = h->order[k], unit = h->unit[i];
        if (size[unit]++ == 0 && h->level.of[i] == level)
            first[n++] = unit;
    }
    KN_TRY(kn_alloc_i(ctx, n, &order));
    kn_rng_permutation(rng, n, order);
    for (ptrdiff_t k = 0; k < n; k++) {
        ptrdiff_t unit = first[order[k]];
        double now = (double)*taken, then = now + (double)size[unit];
        if (fabs(then - target) >= fabs(now - target))
            continue;
        *taken += size[unit];
        for (ptrdiff_t i = 0; i < h->n; i++)
            if (h->unit[i] == unit)
                h->fold[i] = 1;
    }
out:
    kn_free(order);
    kn_free(size);
    kn_free(first);
    return status;
}

kn_status kn_holdout_test(kn_ctx *ctx, const kn_data *d, const kn_settings *s, kn_holdout *h)
{
    kn_status status;
    test_split w;
    kn_rng rng;
    ptrdiff_t taken = 0;
    double participants = 0;
    KN_TRY(parse_test_split(ctx, s->lists, &w));
    KN_TRY(find_strata(ctx, d, &w, h));
    kn_rng_init(&rng, s->seed, STREAM_TEST);
    for (ptrdiff_t l = 0; l < h->level.n;
         l++) { /* cumulative target: the next level balances the last */
        participants += (double)h->level.size[l];
        KN_TRY(fill_level(ctx, h, l, &rng, w.test * participants, &taken));
    }
    h->folds = 2;
    if (taken == 0 || taken == h->n)
        status = kn_fail(
            ctx, KN_ERR_DATA,
            "{split=%s} leaves none of the %td participants to %s; choose another proportion",
            kn_clipped(s->lists).text, h->n, taken == 0 ? "test" : "train");
out:
    return status;
}
