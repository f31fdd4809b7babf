/* Implements match_ids.h: both sides are sorted by id, and each id of the covariates is searched
 * for among the responses. An id that occurs twice or on one side only is an error, unless the
 * options say otherwise. */
#include "data/table/match_ids.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/table/columns.h"
#include "data/table/text_list.h"

/* ---- the id column ------------------------------------------------------------------------- */

static const char *const USUAL[] = {"participant_id", "sub_id",  "subject_id", "SubjID",
                                    "participant",    "subject", "eid",        "src_subject_id",
                                    "record_id",      "id",      NULL};

/* Returns whether two names of columns are equal without regard to case, spaces, underscores,
 * hyphens and dots: Subject ID equals subject_id. */
static bool are_alike(const char *a, const char *b)
{
    static const char skipped[] = " \t_-.";
    while (true) {
        a += strspn(a, skipped);
        b += strspn(b, skipped);
        if (!*a || tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return *a == *b;
        a++;
        b++;
    }
}

/* Returns the column with this exact name, else the first that is alike as are_alike() says; -1 if
 * there is none. */
static ptrdiff_t find_alike(const kn_table *table, const char *name)
{
    ptrdiff_t exact = kn_table_find(table, name);
    for (ptrdiff_t j = 0; exact < 0 && j < kn_table_cols(table); j++)
        if (are_alike(kn_table_name(table, j), name))
            return j;
    return exact;
}

/* Returns the column of the table that has the first possible name of USUAL, the usual names of id
 * columns; -1 if there is none. */
static ptrdiff_t find_usual(const kn_table *table)
{
    ptrdiff_t col = -1;
    for (size_t k = 0; USUAL[k] && col < 0; k++)
        col = find_alike(table, USUAL[k]);
    return col;
}

/* Sets *is to whether every cell of the column is text and no two cells are equal, as ids are. O(n
 * log n) for n rows; fails only without memory. */
static kn_status is_text_of_each(kn_ctx *ctx, const kn_table *table, ptrdiff_t col, bool *is)
{
    ptrdiff_t n = kn_table_rows(table);
    void *memory;
    kn_status status = kn_alloc(ctx, n, sizeof(char *), &memory);
    const char **cell = memory;
    *is = false;
    if (status != KN_OK || kn_column_census(table, col, NULL, n).texts < n)
        goto out;
    for (ptrdiff_t i = 0; i < n; i++)
        cell[i] = kn_table_cell(table, i, col);
    qsort(cell, (size_t)n, sizeof *cell, kn_compare_texts);
    *is = true;
    for (ptrdiff_t i = 1; i < n && *is; i++)
        *is = strcmp(cell[i - 1], cell[i]) != 0;
out:
    kn_free(memory);
    return status;
}

/* For a table without an id column: logs a warning that proposes the first named column whose texts
 * all differ as {id}. Fails only without memory. */
static kn_status suggest_column(kn_ctx *ctx, const kn_table *table)
{
    double x;
    bool is = false;
    kn_status status = KN_OK;
    for (ptrdiff_t j = 0;
         j < kn_table_cols(table) && kn_table_cols(table) > 1 && kn_table_rows(table) > 1 && !is;
         j++) {
        if (!kn_table_named(table, j) || kn_table_number(table, 0, j, &x) != KN_CELL_TEXT)
            continue;
        KN_TRY(is_text_of_each(ctx, table, j, &is));
        if (is)
            kn_log(ctx, KN_LOG_WARNING,
                   "%s has no column with a usual name of an ID, but %s is different in every row; "
                   "if it contains the IDs, use {id=%s}",
                   kn_table_path(table), kn_clipped(kn_table_name(table, j)).text,
                   kn_clipped(kn_table_name(table, j)).text);
    }
out:
    return status;
}

/* Sets *col to the column that {id} names; KN_ERR_DATA if the table does not have it. */
static kn_status find_option(kn_ctx *ctx, const kn_table *table, const char *name, ptrdiff_t *col)
{
    *col = kn_column_find(table, name);
    if (*col >= 0)
        return KN_OK;
    return kn_column_unknown(ctx, table, name, "named in {id}");
}

kn_status kn_match_id_columns(kn_ctx *ctx, const char *option, const kn_table *covariates,
                              const kn_table *responses, ptrdiff_t *covariate_col,
                              ptrdiff_t *response_col)
{
    kn_status status = KN_OK;

    *covariate_col = *response_col = -1;
    if (option) {
        KN_TRY(find_option(ctx, covariates, option, covariate_col));
        if (responses && kn_table_id_col(responses) >= 0)
            *response_col = kn_table_id_col(responses);
        else if (responses)
            KN_TRY(find_option(ctx, responses, option, response_col));
        goto out;
    }
    bool defined = responses && kn_table_id_col(responses) >= 0;
    for (size_t k = 0; USUAL[k] && responses && !defined && *response_col < 0; k++) {
        *covariate_col = find_alike(covariates, USUAL[k]);
        *response_col = *covariate_col < 0 ? -1 : find_alike(responses, USUAL[k]);
    }
    if (*response_col >= 0)
        goto out;
    *covariate_col = find_usual(covariates);
    *response_col = !responses ? -1 : defined ? kn_table_id_col(responses) : find_usual(responses);
    if (*covariate_col >= 0 && *response_col >= 0)
        kn_log(ctx, KN_LOG_INFO, "the IDs of %s are in %s, those of %s in %s",
               kn_table_path(covariates), kn_table_name(covariates, *covariate_col),
               kn_table_path(responses), kn_table_name(responses, *response_col));
    else if (*covariate_col < 0)
        KN_TRY(suggest_column(ctx, covariates));
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

/* Comparison for qsort of entries: by id; of equal ids rows in use come first; then by row. */
static int by_id(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    int order = strcmp(x->id, y->id);
    if (order == 0)
        order = (int)x->unused - (int)y->unused;
    return order ? order : (x->row > y->row) - (x->row < y->row);
}

/* Returns the id of a row of one side of the match, from its list or table; borrowed. */
static const char *id_of(const side *s, ptrdiff_t row)
{
    return s->id ? s->id[row] : kn_table_cell(s->table, row, s->id_col);
}

/* Returns whether a row of this side takes part in the match. */
static bool is_used(const side *s, ptrdiff_t row)
{
    return !s->keep || s->keep[row];
}

/* Returns, for messages, the line of a row in its file if it is known, else the number of the row
 * from 1. */
static ptrdiff_t line_of(const side *s, ptrdiff_t row)
{
    if (s->table)
        return kn_table_line(s->table, row);
    return s->list->line ? s->list->line[row] : row + 1;
}

/* Returns what a row of this side is called in messages: "line" or "row". */
static const char *unit_of(const side *s)
{
    return s->table ? kn_table_unit(s->table) : s->list->line ? "line" : "row";
}

/* Fills s->sorted with the ids of all rows of one side (covariates or responses), sorted as by_id()
 * says. s owns the array. KN_ERR_DATA for a missing id in a row in use. */
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
            return kn_fail(ctx, KN_ERR_DATA, "%s %s %td: %s is '%s', but every row must have an ID",
                           s->path, unit_of(s), line_of(s, i),
                           s->table ? kn_clipped(kn_table_name(s->table, s->id_col)).text : "id",
                           kn_clipped(s->sorted[i].id).text);
    }
    qsort(s->sorted, (size_t)s->n, sizeof *s->sorted, by_id);
    return KN_OK;
}

/* Returns whether the sorted entry i has the same id as entry i - 1 and both are rows in use. */
static bool is_repeat(const side *s, ptrdiff_t i)
{
    return i > 0 && !s->sorted[i].unused && strcmp(s->sorted[i - 1].id, s->sorted[i].id) == 0;
}

/* Returns the index, among the sorted ids, of the second of the first two entries that have the
 * same id; 0 if all ids in use differ. */
static ptrdiff_t find_repeat(const side *s)
{
    for (ptrdiff_t i = 1; i < s->n; i++)
        if (is_repeat(s, i))
            return i;
    return 0;
}

/* Fails with KN_ERR_DATA if an id in use occurs more than once on this side. The message counts the
 * repeated ids, names the first rows and proposes {session} or {visit}. */
static kn_status check_once(kn_ctx *ctx, const side *s)
{
    kn_listing list = {.limit = KN_NAMES_LISTED};
    ptrdiff_t first = find_repeat(s), ids = 0;
    if (first == 0)
        return KN_OK;
    for (ptrdiff_t i = first; i < s->n; i++) {
        bool fresh = is_repeat(s, i) && !is_repeat(s, i - 1);
        if (fresh)
            kn_listing_add(&list, s->sorted[i].id);
        ids += fresh;
    }
    return kn_fail(
        ctx, KN_ERR_DATA, "%s: %td %s more than once, first on %ss %td and %td: %s; %s", s->path,
        ids, ids == 1 ? "ID occurs" : "IDs occur", unit_of(s), line_of(s, s->sorted[first - 1].row),
        line_of(s, s->sorted[first].row), list.text,
        s->visits ? "name the column of visits in {visit}, or use image paths that contain ses-"
                  : "if these are sessions of one participant, use {session}");
}

/* Finds the entry of an id in s->sorted by binary search; NULL if this side does not have it. */
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

/* Fails with KN_ERR_DATA because covariates `a` and responses `b` share no id; the message shows
 * the first id of each. */
static kn_status fail_no_common_id(kn_ctx *ctx, const side *a, const side *b)
{
    return kn_fail(
        ctx, KN_ERR_DATA,
        "%s and %s have no IDs in common (the first are %s and %s); name the ID column in {id}",
        a->path, b->path, kn_clipped(id_of(a, 0)).text, kn_clipped(id_of(b, 0)).text);
}

/* Returns the number of ids in use of side `a` that side `b` does not have, and appends them to the
 * list in the order of the file. */
static ptrdiff_t list_lacking(const side *a, const side *b, kn_listing *list)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < a->n; i++)
        if (is_used(a, i) && !find_id(b, id_of(a, i))) {
            kn_listing_add(list, id_of(a, i));
            n++;
        }
    return n;
}

/* Fails with KN_ERR_DATA unless covariates `a` and responses `b` have the same ids in use. The
 * message lists the first ids that are missing and proposes {match=common}. */
static kn_status check_all(kn_ctx *ctx, const side *a, const side *b)
{
    kn_listing of_a = {.limit = KN_NAMES_LISTED}, of_b = {.limit = KN_NAMES_LISTED};
    ptrdiff_t na = list_lacking(a, b, &of_a), nb = list_lacking(b, a, &of_b);
    char more[64] = "";
    if (na == 0 && nb == 0)
        return KN_OK;
    if (na > 0 && nb > 0)
        snprintf(more, sizeof more, ", and %td the other way round", nb);
    ptrdiff_t n = na > 0 ? na : nb;
    return kn_fail(
        ctx, KN_ERR_DATA,
        "%s: %td %s not in %s: %s%s; use {match=common} to use only the IDs that are in both",
        na > 0 ? a->path : b->path, n, n == 1 ? "ID is" : "IDs are", na > 0 ? b->path : a->path,
        na > 0 ? of_a.text : of_b.text, more);
}

/* ---- matching ------------------------------------------------------------------------------ */

/* Allocates the arrays of row numbers of at most n matched participants, and of ids if `ids`. out
 * owns them; the caller clears *out on failure. */
static kn_status alloc_match(kn_ctx *ctx, ptrdiff_t n, bool ids, kn_match *out)
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

/* Pairs row i of the covariates `a` with row i of the responses `b`, if both are in use. b NULL:
 * one table has both, and ids may repeat. KN_ERR_SHAPE if the numbers of rows differ; with two
 * files a warning is logged. */
static kn_status match_position(kn_ctx *ctx, const side *a, const side *b, kn_match *out)
{
    const side *named = a->sorted ? a : b && b->sorted ? b : NULL;
    if (b && a->n != b->n)
        return kn_fail(ctx, KN_ERR_SHAPE,
                       "%s has %td rows, but %s has %td; without IDs in both, rows match by "
                       "position and must be equally many",
                       a->path, a->n, b->path, b->n);
    kn_status status = alloc_match(ctx, a->n, named != NULL, out);
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
               "%s and %s have no IDs to match by, so rows are matched by position", a->path,
               b->path);
    return KN_OK;
}

/* Pairs the rows of covariates `a` and responses `b` that have the same id, in the order of the
 * covariates. KN_ERR_DATA for a repeated id, if there is no common id, or with KN_MATCH_ALL if an
 * id in use has no partner. */
static kn_status match_ids(kn_ctx *ctx, const side *a, const side *b, kn_match_policy policy,
                           kn_match *out)
{
    kn_status status;
    KN_TRY(check_once(ctx, a));
    KN_TRY(check_once(ctx, b));
    KN_TRY(alloc_match(ctx, a->n, true, out));
    for (ptrdiff_t i = 0; i < a->n; i++) {
        const entry *e = is_used(a, i) ? find_id(b, id_of(a, i)) : NULL;
        if (!e || e->unused)
            continue;
        out->covariate_row[out->n] = i;
        out->response_row[out->n] = e->row;
        out->id[out->n++] = id_of(a, i);
    }
    if (out->n == 0)
        status = fail_no_common_id(ctx, a, b);
    else if (policy == KN_MATCH_ALL)
        status = check_all(ctx, a, b);
    else if (out->n < a->used || out->n < b->used)
        kn_log(ctx, KN_LOG_INFO, "%td %s in both %s (of %td) and %s (of %td)", out->n,
               out->n == 1 ? "ID is" : "IDs are", a->path, a->used, b->path, b->used);
out:
    return status;
}

/* Adds to s->used the number of rows of this side that take part in the match. */
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
