/* Implements match_ids.h: both sides are sorted by id, and each id of the covariates is searched
 * for among the responses. */
#include "data/table/match_ids.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "data/table/columns.h"
#include "data/table/text_list.h"

/* ---- the id column ------------------------------------------------------------------------- */

static ptrdiff_t find_any_case(const kn_table *table, const char *name)
{
    ptrdiff_t exact = kn_table_find(table, name);
    for (ptrdiff_t j = 0; exact < 0 && j < kn_table_cols(table); j++)
        if (strcasecmp(kn_table_name(table, j), name) == 0)
            return j;
    return exact;
}

static kn_status find_option(kn_ctx *ctx, const kn_table *table, const char *name, ptrdiff_t *col)
{
    *col = kn_column_find(table, name);
    if (*col >= 0)
        return KN_OK;
    return kn_column_unknown(ctx, table, name, "as {id} asks for");
}

kn_status kn_match_id_columns(kn_ctx *ctx, const char *option, const kn_table *covariates,
                              const kn_table *responses, ptrdiff_t *covariate_col,
                              ptrdiff_t *response_col)
{
    static const char *const usual[] = {"participant_id", "sub_id", "subject_id", "SubjID"};
    kn_status status = KN_OK;

    *covariate_col = *response_col = -1;
    if (option) {
        KN_TRY(find_option(ctx, covariates, option, covariate_col));
        if (responses)
            KN_TRY(find_option(ctx, responses, option, response_col));
        goto out;
    }
    for (size_t k = 0; k < sizeof usual / sizeof usual[0]; k++) {
        ptrdiff_t c = find_any_case(covariates, usual[k]);
        ptrdiff_t r = responses ? find_any_case(responses, usual[k]) : -1;
        if (c >= 0 && (r >= 0 || !responses)) {
            *covariate_col = c;
            *response_col = r;
            break;
        }
    }
out:
    if (status != KN_OK)
        *covariate_col = *response_col = -1;
    return status;
}

/* ---- ids in order -------------------------------------------------------------------------- */

typedef struct entry {
    const char *id;
    ptrdiff_t row;
    bool unused;
} entry;

typedef struct side {
    const char *path;
    const kn_table *table; /* NULL: a list, with or without lines */
    ptrdiff_t id_col;
    const kn_match_side *list;
    const char *const *id; /* NULL: the cells of id_col */
    const bool *keep;      /* NULL: all */
    bool visits;           /* --visit was given */
    ptrdiff_t n, used;
    entry *sorted; /* sorted by id; NULL: no ids */
} side;

/* Orders by id; of equal ids rows in use come first. */
static int by_id(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    int order = strcmp(x->id, y->id);
    if (order == 0)
        order = (int)x->unused - (int)y->unused;
    return order ? order : (x->row > y->row) - (x->row < y->row);
}

static const char *id_of(const side *s, ptrdiff_t row)
{
    return s->id ? s->id[row] : kn_table_cell(s->table, row, s->id_col);
}

static bool is_used(const side *s, ptrdiff_t row)
{
    return !s->keep || s->keep[row];
}

/* Returns the line of an id in its file if it is known, else its row. */
static ptrdiff_t place(const side *s, ptrdiff_t row)
{
    if (s->table)
        return kn_table_line(s->table, row);
    return s->list->line ? s->list->line[row] : row + 1;
}

static const char *unit_of(const side *s)
{
    return s->table ? kn_table_unit(s->table) : s->list->line ? "line" : "row";
}

/* Sorts the ids of a side. KN_ERR_DATA for a missing id in a row in use. */
static kn_status sort_ids(kn_ctx *ctx, side *s)
{
    void *memory;
    kn_status status = kn_alloc(ctx, s->n, sizeof *s->sorted, &memory);
    if (status != KN_OK)
        return status;
    s->sorted = memory;
    for (ptrdiff_t i = 0; i < s->n; i++) {
        s->sorted[i] = (entry){id_of(s, i), i, !is_used(s, i)};
        if (is_used(s, i) && kn_text_is_missing(s->sorted[i].id))
            return kn_fail(ctx, KN_ERR_DATA, "%s %s %td: %s is '%s', expected an id", s->path,
                           unit_of(s), place(s, i),
                           s->table ? kn_clipped(kn_table_name(s->table, s->id_col)).text : "id",
                           kn_clipped(s->sorted[i].id).text);
    }
    qsort(s->sorted, (size_t)s->n, sizeof *s->sorted, by_id);
    return KN_OK;
}

/* Returns whether entry i repeats the id before it, both in use. */
static bool repeats(const side *s, ptrdiff_t i)
{
    return i > 0 && !s->sorted[i].unused && strcmp(s->sorted[i - 1].id, s->sorted[i].id) == 0;
}

/* Returns the index of the second of the first two entries with the same id; 0: none. */
static ptrdiff_t find_repeat(const side *s)
{
    for (ptrdiff_t i = 1; i < s->n; i++)
        if (repeats(s, i))
            return i;
    return 0;
}

/* KN_ERR_DATA if an id repeats; the message counts the repeated ids and names the first. */
static kn_status check_once(kn_ctx *ctx, const side *s)
{
    kn_listing list = {.most = KN_NAMES_LISTED};
    ptrdiff_t first = find_repeat(s), ids = 0, rows = 0;
    if (first == 0)
        return KN_OK;
    for (ptrdiff_t i = first; i < s->n; i++) {
        bool fresh = repeats(s, i) && !repeats(s, i - 1);
        if (fresh)
            kn_listing_add(&list, s->sorted[i].id);
        ids += fresh;
        rows += repeats(s, i) + fresh;
    }
    return kn_fail(ctx, KN_ERR_DATA,
                   "%s: %td %s on several %ss, %td in all, the first on %ss %td and %td: %s "
                   "(%s)",
                   s->path, ids, ids == 1 ? "id is" : "ids are", unit_of(s), rows, unit_of(s),
                   place(s, s->sorted[first - 1].row), place(s, s->sorted[first].row), list.text,
                   s->visits
                       ? "they are told apart by the column that {visit} names, or by ses- in "
                         "paths of images"
                       : "for sessions of one person use {session}");
}

static const entry *find_id(const side *s, const char *id)
{
    ptrdiff_t low = 0, high = s->n;
    while (low < high) { /* lower bound */
        ptrdiff_t middle = low + (high - low) / 2;
        if (strcmp(s->sorted[middle].id, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->n && strcmp(s->sorted[low].id, id) == 0 ? &s->sorted[low] : NULL;
}

/* ---- messages for ids that differ ---------------------------------------------------------- */

static const char PREFIX[] = "sub-"; /* prefix of BIDS labels */
enum { PREFIX_LENGTH = sizeof PREFIX - 1 };

/* Counts ids of `with` that are ids of `without` after the prefix is removed. */
static ptrdiff_t count_prefixed(const side *with, const side *without)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < with->n; i++) {
        const char *id = with->sorted[i].id;
        n += strncmp(id, PREFIX, PREFIX_LENGTH) == 0 && find_id(without, id + PREFIX_LENGTH);
    }
    return n;
}

static kn_status nothing_in_common(kn_ctx *ctx, const side *a, const side *b)
{
    ptrdiff_t ab = count_prefixed(a, b), ba = count_prefixed(b, a);
    char hint[256] = "";
    if (ab > 0 || ba > 0)
        snprintf(hint, sizeof hint, "; with '%s' before those of %s, %td would match", PREFIX,
                 kn_clipped(ab >= ba ? b->path : a->path).text, ab >= ba ? ab : ba);
    return kn_fail(ctx, KN_ERR_DATA, "%s and %s have no ids in common: the first are %s and %s%s",
                   a->path, b->path, kn_clipped(id_of(a, 0)).text, kn_clipped(id_of(b, 0)).text,
                   hint);
}

/* Counts the ids of a that b lacks, and lists the first of them in the order of the file. */
static ptrdiff_t lacking(const side *a, const side *b, kn_listing *list)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < a->n; i++)
        if (is_used(a, i) && !find_id(b, id_of(a, i))) {
            kn_listing_add(list, id_of(a, i));
            n++;
        }
    return n;
}

static kn_status check_all(kn_ctx *ctx, const side *a, const side *b)
{
    kn_listing of_a = {.most = KN_NAMES_LISTED}, of_b = {.most = KN_NAMES_LISTED};
    ptrdiff_t na = lacking(a, b, &of_a), nb = lacking(b, a, &of_b);
    char more[64] = "";
    if (na == 0 && nb == 0)
        return KN_OK;
    if (na > 0 && nb > 0)
        snprintf(more, sizeof more, ", and %td the other way round", nb);
    ptrdiff_t n = na > 0 ? na : nb;
    return kn_fail(ctx, KN_ERR_DATA, "%s: %td %s not in %s: %s%s (use {match=common})",
                   na > 0 ? a->path : b->path, n, n == 1 ? "id is" : "ids are",
                   na > 0 ? b->path : a->path, na > 0 ? of_a.text : of_b.text, more);
}

/* ---- matching ------------------------------------------------------------------------------ */

static kn_status reserve(kn_ctx *ctx, ptrdiff_t n, bool ids, kn_match *out)
{
    void *memory = NULL;
    kn_status status;
    KN_TRY(kn_alloc_i(ctx, n, &out->covariate_row));
    KN_TRY(kn_alloc_i(ctx, n, &out->response_row));
    if (ids)
        KN_TRY(kn_alloc(ctx, n, sizeof *out->id, &memory));
    out->id = memory;
out:
    return status;
}

/* Pairs row i with row i. b NULL: one table; ids may then repeat. */
static kn_status match_position(kn_ctx *ctx, const side *a, const side *b, kn_match *out)
{
    const side *named = a->sorted ? a : b && b->sorted ? b : NULL;
    if (b && a->n != b->n)
        return kn_fail(ctx, KN_ERR_SHAPE,
                       "%s has %td rows and %s %td: without ids on both sides rows match by "
                       "position, expected as many",
                       a->path, a->n, b->path, b->n);
    kn_status status = reserve(ctx, a->n, named != NULL, out);
    if (status != KN_OK)
        return status;
    out->by_position = b != NULL;
    ptrdiff_t twice = named ? find_repeat(named) : 0;
    for (ptrdiff_t i = 0; i < a->n; i++) {
        if (!is_used(a, i) || (b && !is_used(b, i)))
            continue;
        for (int k = 0; k < 2 && twice > 0; k++)
            if (named->sorted[twice - 1 + k].row == i)
                out->repeat[k] = out->n;
        if (named)
            out->id[out->n] = id_of(named, i);
        out->covariate_row[out->n] = out->response_row[out->n] = i;
        out->n++;
    }
    if (b)
        kn_log(ctx, KN_LOG_WARNING,
               "%s and %s have no ids to match by: row 1 is taken to belong to row 1, and so on",
               a->path, b->path);
    return KN_OK;
}

/* Pairs rows by id. With KN_MATCH_ALL every id in use must have a partner. */
static kn_status match_ids(kn_ctx *ctx, const side *a, const side *b, kn_match_policy policy,
                           kn_match *out)
{
    kn_status status;
    KN_TRY(check_once(ctx, a));
    KN_TRY(check_once(ctx, b));
    KN_TRY(reserve(ctx, a->n, true, out));
    for (ptrdiff_t i = 0; i < a->n; i++) {
        const entry *e = is_used(a, i) ? find_id(b, id_of(a, i)) : NULL;
        if (!e || e->unused)
            continue;
        out->covariate_row[out->n] = i;
        out->response_row[out->n] = e->row;
        out->id[out->n++] = id_of(a, i);
    }
    if (out->n == 0)
        status = nothing_in_common(ctx, a, b);
    else if (policy == KN_MATCH_ALL)
        status = check_all(ctx, a, b);
    else if (out->n < a->used || out->n < b->used)
        kn_log(ctx, KN_LOG_INFO, "%td %s in both %s (of %td) and %s (of %td)", out->n,
               out->n == 1 ? "id is" : "ids are", a->path, a->used, b->path, b->used);
out:
    return status;
}

static void count_used(side *s)
{
    for (ptrdiff_t i = 0; i < s->n; i++)
        s->used += is_used(s, i);
}

kn_status kn_match_rows(kn_ctx *ctx, const kn_match_table *covariates,
                        const kn_match_side *responses, kn_match_policy policy, kn_match *out)
{
    side a = {.path = kn_table_path(covariates->table),
              .table = covariates->table,
              .id_col = covariates->id_col,
              .id = covariates->id,
              .keep = covariates->keep,
              .visits = covariates->visits,
              .n = kn_table_rows(covariates->table)};
    side b = {0};
    kn_status status = KN_OK;

    *out = (kn_match){0};
    if (responses)
        b = (side){.path = responses->path,
                   .list = responses,
                   .id = responses->id,
                   .keep = responses->keep,
                   .visits = covariates->visits,
                   .n = responses->n};
    count_used(&a);
    count_used(&b);
    if (a.id || a.id_col >= 0)
        KN_TRY(sort_ids(ctx, &a));
    if (responses && responses->id)
        KN_TRY(sort_ids(ctx, &b));
    status = a.sorted && b.sorted ? match_ids(ctx, &a, &b, policy, out)
                                  : match_position(ctx, &a, responses ? &b : NULL, out);
out:
    kn_free(a.sorted);
    kn_free(b.sorted);
    if (status != KN_OK)
        kn_match_clear(out);
    return status;
}

void kn_match_clear(kn_match *match)
{
    kn_free(match->covariate_row);
    kn_free(match->response_row);
    kn_free(match->id);
    *match = (kn_match){0};
}
