/* Implements visits.h. */
#include "commands/change/visits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/table/column_name_heuristics.h"
#include "data/table/columns.h"
#include "data/table/sessions.h"
#include "data/table/text_list.h"
#include "io/file/path.h"

typedef struct job {
    const kn_settings *s;
    const kn_model *model;
    const kn_data *data;
    const kn_table *table;
    const kn_sample *people;
    kn_visits *v;
    bool *flag;          /* rows selected by {reference}; NULL: not given */
    ptrdiff_t *order, n; /* rows sorted so that visits of a participant are consecutive */
    double *time;        /* per row; NULL: unknown */
} job;

void kn_visits_clear(kn_visits *v)
{
    kn_free(v->pair);
    kn_names_free(v->id, v->n_pairs);
    kn_free(v->person);
    kn_free(v->visit);
    *v = (kn_visits){0};
}

/* ---- rows ---- */

static kn_status texts(kn_ctx *ctx, ptrdiff_t n, const char ***out)
{
    void *memory;
    kn_status status = kn_alloc(ctx, n, sizeof **out, &memory);
    *out = memory;
    return status;
}

/* Reads participant and visit of each row, and sorts the rows. */
static kn_status read_rows(kn_ctx *ctx, job *j)
{
    kn_status status;
    const kn_sample *p = j->people;
    ptrdiff_t col = kn_column_find(j->table, j->s->session);
    if (col < 0)
        return kn_column_unknown(ctx, j->table, j->s->session, "as {visit} asks for");
    j->v->n_rows = p->n;
    KN_TRY(texts(ctx, p->n, &j->v->person));
    KN_TRY(texts(ctx, p->n, &j->v->visit));
    for (ptrdiff_t i = 0; i < p->n; i++) {
        j->v->person[i] = kn_data_person(j->data, p->covariate_row[i]);
        j->v->visit[i] = kn_table_cell(j->table, p->covariate_row[i], col);
        if (!j->v->person[i]) {
            status =
                kn_fail(ctx, KN_ERR_DATA, "%s: there is no column of ids (name it in {person})",
                        kn_table_path(j->table));
            goto out;
        }
    }
    KN_TRY(kn_alloc_i(ctx, p->n, &j->order));
    kn_session_rows rows = {p->n, j->v->person, j->v->visit, NULL};
    KN_TRY(kn_session_order(ctx, &rows, j->order, &j->n));
out:
    return status;
}

/* Reads the time of each visit; intervals are differences of it. */
static kn_status read_times(kn_ctx *ctx, job *j)
{
    kn_status status = KN_OK;
    const kn_encoding *r = &j->model->recipe;
    const char *name = j->s->interval;
    for (ptrdiff_t c = 0; !name && c < r->n; c++)
        if (r->column[c].kind == KN_COVARIATE_NUMERIC &&
            kn_column_role_of(r->column[c].name) == KN_COLUMN_AGE)
            name = r->column[c].name;
    if (!name)
        return KN_OK;
    ptrdiff_t col = kn_column_find(j->table, name);
    if (col < 0)
        return kn_column_unknown(ctx, j->table, name, "as {interval} asks for");
    j->v->interval_name = kn_table_name(j->table, col);
    KN_TRY(kn_alloc_d(ctx, j->people->n, &j->time));
    for (ptrdiff_t i = 0; i < j->people->n; i++) {
        ptrdiff_t row = j->people->covariate_row[i];
        kn_cell cell = kn_table_number(j->table, row, col, &j->time[i]);
        if (cell == KN_CELL_TEXT)
            KN_TRY(kn_cell_refused(ctx, j->table, row, col, "expected a number"));
        if (cell != KN_CELL_NUMBER)
            j->time[i] = NAN;
    }
out:
    return status;
}

/* ---- pairs ---- */

/* End of the rows of the participant at position k. */
static ptrdiff_t end_of(const job *j, ptrdiff_t k)
{
    ptrdiff_t to = k + 1;
    while (to < j->n && strcmp(j->v->person[j->order[to]], j->v->person[j->order[k]]) == 0)
        to++;
    return to;
}

/* Number of rows from .. to - 1 that {reference} selects. */
static ptrdiff_t flagged(const job *j, ptrdiff_t from, ptrdiff_t to)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t k = from; j->flag && k < to; k++)
        n += j->flag[j->order[k]];
    return n;
}

static ptrdiff_t line_of(const job *j, ptrdiff_t i)
{
    return kn_table_line(j->table, j->people->covariate_row[i]);
}

/* KN_ERR_DATA if two rows are the same visit, or time contradicts the order of visits. */
static kn_status check_order(kn_ctx *ctx, const job *j, ptrdiff_t a, ptrdiff_t b)
{
    const char *path = kn_table_path(j->table), *unit = kn_table_unit(j->table);
    const kn_visits *v = j->v;
    if (kn_names_equal(v->visit[a], v->visit[b]))
        return kn_fail(ctx, KN_ERR_DATA, "%s: visit '%s' of %s is on %ss %td and %td, expected one",
                       path, kn_clipped(v->visit[a]).text, kn_clipped(v->person[a]).text, unit,
                       line_of(j, a), line_of(j, b));
    if (j->time && j->time[b] < j->time[a])
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s %s %td: %s of %s is %g at visit '%s' and was %g at visit '%s', expected "
                       "visits whose order is that of their names",
                       path, unit, line_of(j, b), kn_clipped(v->interval_name).text,
                       kn_clipped(v->person[a]).text, j->time[b], kn_clipped(v->visit[b]).text,
                       j->time[a], kn_clipped(v->visit[a]).text);
    return KN_OK;
}

/* True if a batch column, or a category named like a site, differs between two rows. Compared as
 * text, since all unknown levels are the same to the model. */
static bool is_moved(const job *j, ptrdiff_t a, ptrdiff_t b)
{
    const kn_encoding *r = &j->model->recipe;
    for (ptrdiff_t c = 0; c < r->n; c++) {
        ptrdiff_t col = kn_column_find(j->table, r->column[c].name);
        bool site = r->column[c].batch || kn_column_role_of(r->column[c].name) == KN_COLUMN_SITE;
        if (site && r->column[c].kind == KN_COVARIATE_CATEGORY && col >= 0 &&
            !kn_names_equal(kn_table_cell(j->table, j->people->covariate_row[a], col),
                            kn_table_cell(j->table, j->people->covariate_row[b], col)))
            return true;
    }
    return false;
}

static void add_pair(job *j, ptrdiff_t a, ptrdiff_t b, bool whole, bool control)
{
    j->v->pair[j->v->n_pairs++] =
        (kn_visit_pair){.first = a,
                        .second = b,
                        .person = j->v->n_people,
                        .whole = whole,
                        .control = control,
                        .moved = is_moved(j, a, b),
                        .interval = j->time ? j->time[b] - j->time[a] : NAN};
}

/* True if {reference} selects every visit and all are at one site: a difference between sites would
 * count as normal change. */
static bool is_control(const job *j, ptrdiff_t from, ptrdiff_t to)
{
    if (flagged(j, from, to) < to - from)
        return false;
    for (ptrdiff_t k = from + 1; k < to; k++)
        if (is_moved(j, j->order[k - 1], j->order[k]))
            return false;
    return true;
}

/* Adds the pairs of all participants of the reference, or of all others. */
static kn_status add_people(kn_ctx *ctx, job *j, bool control)
{
    kn_status status = KN_OK;
    for (ptrdiff_t from = 0, to; from < j->n; from = to) {
        to = end_of(j, from);
        if (is_control(j, from, to) != control)
            continue;
        if (to - from < 2) {
            j->v->n_alone++;
            continue;
        }
        for (ptrdiff_t k = from + 1; k < to; k++) {
            KN_TRY(check_order(ctx, j, j->order[k - 1], j->order[k]));
            add_pair(j, j->order[k - 1], j->order[k], false, control);
        }
        if (to - from > 2)
            add_pair(j, j->order[from], j->order[to - 1], true, control);
        j->v->n_people++;
        j->v->n_controls += control;
    }
out:
    return status;
}

/* Makes the ids of pairs, "sub-01_ses-1_ses-2", with trimmed visit names. */
static kn_status name_pairs(kn_ctx *ctx, job *j)
{
    kn_status status = KN_OK;
    void *memory = NULL;
    kn_visits *v = j->v;
    char *first = NULL, *second = NULL;
    KN_TRY(kn_alloc(ctx, v->n_pairs, sizeof *v->id, &memory));
    v->id = memory;
    for (ptrdiff_t i = 0; i < v->n_pairs; i++) {
        const char *person = v->person[v->pair[i].first];
        KN_TRY(kn_trimmed(ctx, v->visit[v->pair[i].first], &first));
        KN_TRY(kn_trimmed(ctx, v->visit[v->pair[i].second], &second));
        size_t size = strlen(person) + strlen(first) + strlen(second) + 3;
        KN_TRY(kn_alloc(ctx, (ptrdiff_t)size, 1, &memory));
        v->id[i] = memory;
        snprintf(v->id[i], size, "%s_%s_%s", person, first, second);
        kn_free(first);
        kn_free(second);
        first = second = NULL;
    }
out:
    kn_free(first);
    kn_free(second);
    return status;
}

/* ---- warnings ---- */

/* Warns if the order of visits is by the alphabet only (pre, post) and not confirmed by time: a
 * change might be read backwards. */
static void tell_order(kn_ctx *ctx, const job *j)
{
    static const char DIGITS[] = "0123456789";
    const kn_visits *v = j->v;
    const kn_visit_pair *one = NULL;
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < v->n_pairs; i++) {
        const kn_visit_pair *p = &v->pair[i];
        if (p->whole || p->interval > 0 ||
            (strpbrk(v->visit[p->first], DIGITS) && strpbrk(v->visit[p->second], DIGITS)))
            continue;
        one = one ? one : p;
        n++;
    }
    if (one)
        kn_log(
            ctx, KN_LOG_WARNING,
            "%s tells which visit of %td pair%s is the first: '%s' is taken to be before '%s', by "
            "the alphabet (numbers or dates in {visit} tell)",
            v->interval_name ? "neither number nor time" : "no number", n, n == 1 ? "" : "s",
            kn_clipped(v->visit[one->first]).text, kn_clipped(v->visit[one->second]).text);
}

/* Warns of excluded participants, of {reference} for some visits only, and of changes of site. */
static void tell(kn_ctx *ctx, const job *j)
{
    kn_listing mixed = {.most = KN_NAMES_LISTED}, moved = mixed;
    ptrdiff_t n_mixed = 0, n_moved = 0, n_gone = 0;
    const kn_visits *v = j->v;
    for (ptrdiff_t from = 0, to; from < j->n; from = to) {
        to = end_of(j, from);
        ptrdiff_t n = flagged(j, from, to);
        if (n > 0 && n < to - from) {
            n_mixed++;
            kn_listing_add(&mixed, v->person[j->order[from]]);
        } else if (n > 0 && !is_control(j, from, to)) {
            n_gone++;
        }
    }
    for (ptrdiff_t i = 0; i < v->n_pairs; i++)
        if (v->pair[i].moved) {
            n_moved++;
            kn_listing_add(&moved, v->id[i]);
        }
    if (v->n_alone > 0)
        kn_log(ctx, KN_LOG_WARNING, "%td of %td people have one visit and are left out", v->n_alone,
               v->n_alone + v->n_people);
    if (n_mixed > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "{reference=%s} holds for some visits of %td %s, not for all: they are no part "
               "of the reference: %s",
               j->s->controls, n_mixed, n_mixed == 1 ? "person" : "people", mixed.text);
    if (n_moved > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "the visits of %td pair%s are of different sites, and what differs between sites "
               "counts as change: %s",
               n_moved, n_moved == 1 ? "" : "s", moved.text);
    if (n_gone > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "%td %s whom {reference=%s} names %s at one site and then at another: they are no "
               "part of the reference",
               n_gone, n_gone == 1 ? "person" : "people", j->s->controls,
               n_gone == 1 ? "was" : "were");
    tell_order(ctx, j);
}

static kn_status flag_controls(kn_ctx *ctx, job *j)
{
    void *memory = NULL;
    if (!j->s->controls)
        return KN_OK;
    kn_status status = kn_alloc(ctx, j->people->n, sizeof *j->flag, &memory);
    j->flag = memory;
    return status == KN_OK
               ? kn_sample_flag(ctx, j->data, j->people, "reference", j->s->controls, j->flag)
               : status;
}

kn_status kn_visits_new(kn_ctx *ctx, const kn_settings *s, const kn_model *model,
                        const kn_data *data, const kn_sample *people, kn_visits *out)
{
    kn_status status;
    void *memory = NULL;
    job j = {.s = s,
             .model = model,
             .data = data,
             .table = data->covariates,
             .people = people,
             .v = out};
    *out = (kn_visits){0};
    KN_TRY(read_rows(ctx, &j));
    KN_TRY(read_times(ctx, &j));
    KN_TRY(flag_controls(ctx, &j));
    KN_TRY(kn_alloc(ctx, 2 * people->n, sizeof *out->pair, &memory));
    out->pair = memory;
    KN_TRY(add_people(ctx, &j, true));
    KN_TRY(add_people(ctx, &j, false));
    KN_TRY(name_pairs(ctx, &j));
    tell(ctx, &j);
    if (out->n_pairs == 0)
        status = kn_fail(ctx, KN_ERR_DATA, "%s: nobody has two visits by {visit=%s}",
                         kn_table_path(j.table), s->session);
out:
    kn_free(j.flag);
    kn_free(j.order);
    kn_free(j.time);
    if (status != KN_OK)
        kn_visits_clear(out);
    return status;
}
