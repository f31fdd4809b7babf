/* Implements kn_data_match: filters rows (--where), handles visits (--session) and pairs
 * covariates with responses by id. It runs once, after the files are opened. */
#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"
#include "data/image_names.h"
#include "data/response_space.h"
#include "data/table/align_ids.h"
#include "data/table/columns.h"
#include "data/table/row_filter.h"
#include "data/table/sessions.h"
#include "data/table/text_list.h"
#include "io/file/path.h"

/* State of one pairing: a are the covariates, b the responses. */
typedef struct job {
    kn_ctx *ctx;
    const kn_settings *s;
    kn_data *d;
    bool separate_file; /* the responses are in a separate file */
    kn_session_rows a, b;
    ptrdiff_t *line;                /* lines of b in its file; NULL: not known */
    char **b_id;                    /* ids of b made of participant and session; NULL: not made */
    char **name_id;                 /* ids of images from their file names; NULL: not made */
    char **part_id, **part_session; /* parts of ids such as sub-01_ses-1; NULL: not made */
} job;

/* Allocates n text pointers, freed with kn_free. */
static kn_status alloc_texts(kn_ctx *ctx, ptrdiff_t n, const char ***out)
{
    void *memory;
    kn_status status = kn_alloc(ctx, n, sizeof **out, &memory);
    *out = memory;
    return status;
}

/* Sets *out to the cells of column `col`, one per row, borrowed from the table; the array is owned
 * by the caller. Leaves *out if col is negative. */
static kn_status read_column(kn_ctx *ctx, const kn_table *t, ptrdiff_t col, const char ***out)
{
    if (col < 0)
        return KN_OK;
    kn_status status = alloc_texts(ctx, kn_table_rows(t), out);
    for (ptrdiff_t i = 0; status == KN_OK && i < kn_table_rows(t); i++)
        (*out)[i] = kn_table_cell(t, i, col);
    return status;
}

/* Returns the column of sessions of table t, by the option {session} or by a usual name; -1: none.
 */
static ptrdiff_t session_col(const job *j, const kn_table *t)
{
    const char *option = j->s->session;
    return option && !kn_session_is_one(option) ? kn_column_find(t, option) : kn_session_column(t);
}

/* Copies the paths of the files that conditions `in @FILE` of {where} read to d->list_file; d owns
 * them. */
static kn_status keep_list_files(job *j, const kn_row_filter *where)
{
    kn_status status;
    void *memory;
    ptrdiff_t n = 0;
    kn_names_free(j->d->list_file, j->d->n_list_files);
    j->d->list_file = NULL;
    j->d->n_list_files = 0;
    KN_TRY(kn_alloc(j->ctx, where->n, sizeof(char *), &memory));
    const char **name = memory;
    for (ptrdiff_t k = 0; k < where->n; k++)
        if (where->condition[k].list.n > 0)
            name[n++] = where->condition[k].value + 1;
    status = kn_names_copy(j->ctx, name, n, &j->d->list_file);
    j->d->n_list_files = status == KN_OK ? n : 0;
    kn_free(memory);
out:
    return status;
}

/* Sets j->a: ids and sessions of the covariates, and the rows that {where} keeps; sets d->left
 * accordingly. Fails as the parser and the filter of {where} do. */
static kn_status read_covariates(job *j)
{
    const kn_table *t = j->d->covariates;
    kn_status status;
    void *memory;
    kn_row_filter where = {0};
    j->a.n = kn_table_rows(t);
    KN_TRY(read_column(j->ctx, t, j->d->id_col, &j->a.participant));
    if (j->s->session)
        KN_TRY(read_column(j->ctx, t, session_col(j, t), &j->a.session));
    KN_TRY(kn_alloc(j->ctx, j->a.n, sizeof *j->a.keep, &memory));
    j->a.keep = memory;
    KN_TRY(kn_row_filter_parse(j->ctx, j->s->where, &where));
    KN_TRY(keep_list_files(j, &where));
    KN_TRY(kn_row_filter_rows(j->ctx, &where, t, j->a.keep));
    KN_TRY(kn_alloc(j->ctx, j->a.n, sizeof *j->d->left, &memory));
    j->d->left = memory;
    for (ptrdiff_t i = 0; i < j->a.n; i++)
        j->d->left[i] = j->a.keep[i] ? KN_LEFT_NOT : KN_LEFT_BY_WHERE;
out:
    kn_row_filter_clear(&where);
    return status;
}

/* Sets j->b and j->line: ids, sessions and lines of a set of images, as far as its list or its
 * paths have them. */
static kn_status read_images(job *j)
{
    const kn_images *images = j->d->images;
    kn_status status = KN_OK;
    if (kn_images_id(images, 0))
        KN_TRY(alloc_texts(j->ctx, j->b.n, &j->b.participant));
    if (kn_images_session(images, 0))
        KN_TRY(alloc_texts(j->ctx, j->b.n, &j->b.session));
    if (kn_images_line(images, 0) > 0)
        KN_TRY(kn_alloc_i(j->ctx, j->b.n, &j->line));
    for (ptrdiff_t i = 0; i < j->b.n; i++) {
        if (j->line)
            j->line[i] = kn_images_line(images, i);
        if (j->b.participant)
            j->b.participant[i] = kn_images_id(images, i);
        if (j->b.session)
            j->b.session[i] = kn_images_session(images, i);
    }
out:
    return status;
}

/* Sets *repeats to whether two rows of the covariates have the same id. O(n log n); fails only
 * without memory. */
static kn_status has_repeats(job *j, bool *repeats)
{
    const char **sorted = NULL;
    kn_status status = alloc_texts(j->ctx, j->a.n, &sorted);
    *repeats = false;
    for (ptrdiff_t i = 0; status == KN_OK && i < j->a.n; i++)
        sorted[i] = j->a.participant[i];
    if (status == KN_OK)
        qsort(sorted, (size_t)j->a.n, sizeof *sorted, kn_compare_texts);
    for (ptrdiff_t i = 1; status == KN_OK && i < j->a.n; i++)
        *repeats = *repeats || strcmp(sorted[i], sorted[i - 1]) == 0;
    kn_free(sorted);
    return status;
}

/* For a list of images without ids: sets j->b.participant to the ids of the covariates that their
 * file names contain, if these identify them, and logs that. Does nothing if ids repeat. */
static kn_status name_images(job *j)
{
    kn_status status = KN_OK;
    const kn_images *images = j->d->images;
    const char **path = NULL;
    bool repeats = true;
    if (!images || !kn_images_is_list(images) || j->b.participant || !j->a.participant)
        return KN_OK;
    KN_TRY(has_repeats(j, &repeats));
    if (repeats)
        return KN_OK;
    KN_TRY(alloc_texts(j->ctx, j->b.n, &path));
    for (ptrdiff_t i = 0; i < j->b.n; i++)
        path[i] = kn_images_path(images, i);
    KN_TRY(kn_image_names_find(j->ctx, path, j->b.n, j->a.participant, j->a.n, &j->name_id));
    if (!j->name_id)
        goto out;
    KN_TRY(alloc_texts(j->ctx, j->b.n, &j->b.participant));
    for (ptrdiff_t i = 0; i < j->b.n; i++)
        j->b.participant[i] = j->name_id[i];
    kn_log(j->ctx, KN_LOG_INFO, "%s: images are matched by the IDs in their file names",
           kn_data_responses_name(j->d));
out:
    kn_free(path);
    return status;
}

/* Sets j->b and j->line: number, ids, sessions and lines of the rows of responses in a separate
 * file (table, images or array). */
static kn_status read_responses(job *j)
{
    const kn_data *d = j->d;
    kn_status status = KN_OK;
    j->b.n = d->responses ? kn_table_rows(d->responses)
             : d->images  ? kn_images_count(d->images)
                          : d->array.header.rows;
    if (d->images)
        return read_images(j);
    if (!d->responses)
        return KN_OK;
    KN_TRY(read_column(j->ctx, d->responses, d->response_id_col, &j->b.participant));
    if (j->s->session)
        KN_TRY(read_column(j->ctx, d->responses, session_col(j, d->responses), &j->b.session));
    KN_TRY(kn_alloc_i(j->ctx, j->b.n, &j->line));
    for (ptrdiff_t i = 0; i < j->b.n; i++)
        j->line[i] = kn_table_line(d->responses, i);
out:
    return status;
}

static const char SESSION[] = "_ses-";

/* Returns how many of n ids name a session behind the participant: sub-01_ses-1. */
static ptrdiff_t count_sessions(const char *const *id, ptrdiff_t n)
{
    ptrdiff_t found = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        const char *at = strstr(id[i], SESSION);
        found += at && at > id[i] && at[sizeof SESSION - 1];
    }
    return found;
}

/* If all ids of the responses name sessions and no id of the covariates does, splits them into
 * participant and session. */
static kn_status split_ids(job *j)
{
    kn_status status;
    void *memory;
    if (!j->a.participant || !j->b.participant || j->b.session ||
        count_sessions(j->a.participant, j->a.n) > 0 ||
        count_sessions(j->b.participant, j->b.n) < j->b.n)
        return KN_OK;
    KN_TRY(alloc_texts(j->ctx, j->b.n, &j->b.session));
    KN_TRY(kn_alloc(j->ctx, j->b.n, sizeof *j->part_id, &memory));
    j->part_id = memory;
    KN_TRY(kn_alloc(j->ctx, j->b.n, sizeof *j->part_session, &memory));
    j->part_session = memory;
    for (ptrdiff_t i = 0; i < j->b.n; i++) {
        const char *id = j->b.participant[i], *at = strstr(id, SESSION) + 1;
        KN_TRY(kn_text_copy(j->ctx, id, (size_t)(at - 1 - id), &j->part_id[i]));
        KN_TRY(kn_text_copy(j->ctx, at, strlen(at), &j->part_session[i]));
        j->b.participant[i] = j->part_id[i];
        j->b.session[i] = j->part_session[i];
    }
    kn_log(j->ctx, KN_LOG_INFO, "%s: the IDs consist of participant and session, such as %s and %s",
           j->d->responses_path, j->part_id[0], j->part_session[0]);
out:
    return status;
}

/* Replaces ids of the responses that differ from an id of the covariates only in spelling (case,
 * zeros, prefixes) by that id; logs a warning. */
static kn_status align_ids(job *j)
{
    kn_id_list a = {kn_table_path(j->d->covariates), j->a.n, j->a.participant};
    kn_id_list b = {j->d->responses_path, j->b.n, j->b.participant};
    return a.id && b.id ? kn_ids_align(j->ctx, &a, &b) : KN_OK;
}

/* Fails with KN_ERR_DATA if {session} or {visit} is used without an id column, if its column does
 * not exist, or if a row in use has no session. */
static kn_status check_sessions(const job *j)
{
    const kn_table *t = j->d->covariates;
    ptrdiff_t col = session_col(j, t);
    if (!j->a.participant)
        return kn_fail(j->ctx, KN_ERR_DATA,
                       "%s has no ID column, but {%s} needs one; name it in {%s}", kn_table_path(t),
                       j->s->visit ? "visit" : "session", j->s->visit ? "participant" : "id");
    if (col < 0 && !kn_session_is_one(j->s->session))
        return kn_column_unknown(j->ctx, t, j->s->session,
                                 j->s->visit ? "named in {visit}" : "named in {session}");
    for (ptrdiff_t i = 0; col >= 0 && i < j->a.n; i++)
        if (j->a.keep[i] && kn_text_is_missing(j->a.session[i]))
            return kn_cell_refused(j->ctx, t, i, col,
                                   j->s->visit ? "but {visit} requires a visit in every row"
                                               : "but {session} requires a session in every row");
    return KN_OK;
}

/* Returns whether ids contain sessions already (sub-01_ses-1), as those from file paths may; looks
 * at the first. */
static bool names_sessions(const kn_session_rows *r)
{
    return r->participant && r->n > 0 && strstr(r->participant[0], "_ses-");
}

/* Makes ids of participant and session, sub-01_ses-1, for the responses (j->b_id) if they have
 * sessions, and with `covariates` for the covariates (d->session_id) too. */
static kn_status number_sessions(job *j, bool covariates)
{
    kn_status status = KN_OK;
    if (covariates)
        KN_TRY(kn_session_ids(j->ctx, &j->a, &j->d->session_id));
    if (j->b.participant && j->b.session && !names_sessions(&j->b))
        KN_TRY(kn_session_ids(j->ctx, &j->b, &j->b_id));
out:
    return status;
}

/* {session=first} or {session=last}: keeps one row per participant and marks the others as
 * excluded. If both files have sessions, ids with sessions are made so that rows of the same
 * session are paired; else each file keeps its own first or last row. */
static kn_status keep_one_session(job *j)
{
    kn_status status;
    bool last = strcmp(j->s->session, "last") == 0;
    ptrdiff_t left = 0;
    void *memory;
    KN_TRY(kn_session_choose(j->ctx, &j->a, last));
    for (ptrdiff_t i = 0; i < j->a.n; i++) {
        left += j->a.keep[i];
        if (!j->a.keep[i] && j->d->left[i] == KN_LEFT_NOT)
            j->d->left[i] = KN_LEFT_BY_SESSION;
    }
    kn_log(j->ctx, KN_LOG_INFO, "%s: {session=%s} keeps %td of %td rows, one per participant",
           kn_table_path(j->d->covariates), j->s->session, left, j->a.n);
    if (!j->b.participant)
        goto out;
    if (j->a.session && j->b.session) {
        KN_TRY(number_sessions(j, true));
        goto out;
    }
    KN_TRY(kn_alloc(j->ctx, j->b.n, sizeof *j->b.keep, &memory));
    j->b.keep = memory;
    memset(j->b.keep, true, (size_t)j->b.n);
    KN_TRY(kn_session_choose(j->ctx, &j->b, last));
out:
    return status;
}

/* Sets d->response_left for the rows of a separate file of responses that are not used: their
 * covariates row is excluded, or they belong to another session. Does nothing without ids. */
static kn_status exclude_responses(job *j)
{
    kn_status status = KN_OK;
    kn_data *d = j->d;
    void *memory = NULL;
    const char **id = NULL; /* ids of the rows that are not used */
    const char *const *own = d->session_id ? (const char *const *)d->session_id : j->a.participant;
    const char *const *others = j->b_id ? (const char *const *)j->b_id : j->b.participant;
    ptrdiff_t n = 0;
    if (!j->separate_file || !own || !others)
        return KN_OK;
    KN_TRY(kn_alloc(j->ctx, j->b.n, sizeof *d->response_left, &memory));
    d->response_left = memory;
    KN_TRY(alloc_texts(j->ctx, j->a.n, &id));
    for (ptrdiff_t i = 0; i < j->a.n; i++)
        if (d->left[i] != KN_LEFT_NOT)
            id[n++] = own[i];
    qsort(id, (size_t)n, sizeof *id, kn_compare_texts);
    for (ptrdiff_t i = 0; i < j->b.n; i++) {
        if (bsearch(&others[i], id, (size_t)n, sizeof *id, kn_compare_texts))
            d->response_left[i] = KN_LEFT_WITH_ROW;
        else if (d->responses && kn_table_absent(d->responses, i))
            d->response_left[i] = KN_LEFT_BY_TABLE;
        else if (j->b.keep && !j->b.keep[i])
            d->response_left[i] = KN_LEFT_BY_SESSION;
    }
out:
    kn_free(id);
    return status;
}

/* Marks the rows of the covariates whose responses are not in each joined table. id: n IDs. */
static void mark_incomplete(job *j, const char **id, ptrdiff_t n)
{
    const char *const *own =
        j->d->session_id ? (const char *const *)j->d->session_id : j->a.participant;
    qsort(id, (size_t)n, sizeof *id, kn_compare_texts);
    for (ptrdiff_t i = 0; own && i < j->a.n; i++)
        if (j->d->left[i] == KN_LEFT_NOT &&
            bsearch(&own[i], id, (size_t)n, sizeof *id, kn_compare_texts))
            j->d->left[i] = KN_LEFT_BY_TABLE;
}

/* With {match=common}: responses that are not in each joined table are not used. */
static kn_status leave_incomplete(job *j)
{
    const kn_table *t = j->d->responses;
    const char *const *others = j->b_id ? (const char *const *)j->b_id : j->b.participant;
    const char **id = NULL;
    kn_listing list = {.limit = KN_NAMES_LISTED};
    ptrdiff_t n = 0;
    void *memory;
    kn_status status;
    if (!t || !j->separate_file || !j->s->match)
        return KN_OK;
    KN_TRY(alloc_texts(j->ctx, j->b.n, &id));
    for (ptrdiff_t i = 0; i < j->b.n; i++)
        if (kn_table_absent(t, i)) {
            kn_listing_add(&list, others[i]);
            id[n++] = others[i];
        }
    if (n == 0)
        goto out;
    kn_log(j->ctx, KN_LOG_INFO, "%s: %td %s not in each table and %s not used: %s",
           kn_table_path(t), n, n == 1 ? "ID is" : "IDs are", n == 1 ? "is" : "are", list.text);
    if (!j->b.keep) {
        KN_TRY(kn_alloc(j->ctx, j->b.n, sizeof *j->b.keep, &memory));
        j->b.keep = memory;
        memset(j->b.keep, true, (size_t)j->b.n);
    }
    for (ptrdiff_t i = 0; i < j->b.n; i++)
        j->b.keep[i] = j->b.keep[i] && !kn_table_absent(t, i);
    mark_incomplete(j, id, n);
out:
    kn_free(id);
    return status;
}

/* Fails if a matched row of the responses is not in each joined table. */
static kn_status check_complete(const job *j)
{
    const kn_table *t = j->d->responses;
    const char *path = NULL;
    kn_listing list = {.limit = KN_NAMES_LISTED};
    ptrdiff_t n = 0;
    if (!t || !j->separate_file)
        return KN_OK;
    for (ptrdiff_t i = 0; i < j->d->match.n; i++) {
        const char *absent = kn_table_absent(t, j->d->match.response_row[i]);
        path = path ? path : absent;
        if (absent && strcmp(absent, path) == 0) {
            kn_listing_add(&list, j->d->match.id[i]);
            n++;
        }
    }
    return n == 0 ? KN_OK
                  : kn_fail(j->ctx, KN_ERR_DATA,
                            "%s: %td %s of the other tables %s not in it: %s; use {match=common} "
                            "to keep the IDs in all tables",
                            path, n, n == 1 ? "ID" : "IDs", n == 1 ? "is" : "are", list.text);
}

/* Applies {session}, pairs the rows of j->a and j->b as d->match, and marks the responses that are
 * not used. */
static kn_status match_rows(job *j)
{
    kn_data *d = j->d;
    kn_status status = KN_OK;
    bool one = kn_session_is_one(j->s->session);
    if (j->s->session) {
        KN_TRY(check_sessions(j));
        KN_TRY(one ? keep_one_session(j) : number_sessions(j, true));
    } else if (names_sessions(&j->a)) {
        KN_TRY(number_sessions(j, false));
    }
    KN_TRY(leave_incomplete(j));
    kn_match_table a = {d->covariates, d->id_col, (const char *const *)d->session_id, j->a.keep,
                        j->s->visit != NULL};
    kn_match_side b = {d->responses_path, j->b.n,
                       j->b_id ? (const char *const *)j->b_id
                               : (const char *const *)j->b.participant,
                       j->line, j->b.keep};
    KN_TRY(kn_match_rows(j->ctx, &a, j->separate_file ? &b : NULL,
                         j->s->match ? KN_MATCH_COMMON : KN_MATCH_ALL, &d->match));
    KN_TRY(check_complete(j));
    KN_TRY(exclude_responses(j));
    for (ptrdiff_t i = 0; one && i < d->match.n;
         i++) /* one row per participant: ids without session */
        d->match.id[i] = j->a.participant[d->match.covariate_row[i]];
out:
    return status;
}

/* Replaces *out by an owned copy of text; NULL: by NULL. text may be *out itself. */
static kn_status copy_text(kn_ctx *ctx, const char *text, char **out)
{
    if (text == *out)
        return KN_OK;
    kn_free(*out);
    *out = NULL;
    return text ? kn_text_copy(ctx, text, strlen(text), out) : KN_OK;
}

kn_status kn_data_match(kn_ctx *ctx, const kn_settings *s, kn_data *d)
{
    kn_status status;
    job j = {.ctx = ctx, .s = s, .d = d};
    j.separate_file = d->responses_path && d->responses != d->covariates;
    kn_match_clear(&d->match);
    kn_names_free(d->session_id, d->n);
    d->session_id = NULL;
    kn_free(d->left);
    kn_free(d->response_left);
    d->left = d->response_left = NULL;
    KN_TRY(read_covariates(&j));
    if (j.separate_file) {
        KN_TRY(read_responses(&j));
        KN_TRY(name_images(&j));
        KN_TRY(split_ids(&j));
        KN_TRY(align_ids(&j));
    }
    KN_TRY(match_rows(&j));
    KN_TRY(copy_text(ctx, s->where, &d->where));
    KN_TRY(copy_text(ctx, s->session, &d->session));
    d->policy = s->match;
out:
    kn_free(j.a.participant);
    kn_free(j.a.session);
    kn_free(j.a.keep);
    kn_free(j.b.participant);
    kn_free(j.b.session);
    kn_free(j.b.keep);
    kn_free(j.line);
    kn_names_free(j.b_id, j.b.n);
    kn_names_free(j.name_id, j.b.n);
    kn_names_free(j.part_id, j.b.n);
    kn_names_free(j.part_session, j.b.n);
    return status;
}
