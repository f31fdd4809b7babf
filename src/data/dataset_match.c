/* Implements kn_data_match: filters rows (--where), handles visits (--session) and pairs
 * covariates with responses by id. */
#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"
#include "data/response_space.h"
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
    bool apart; /* the responses are in a separate file */
    kn_session_rows a, b;
    ptrdiff_t *line; /* lines of b in its file; NULL: not known */
    char **b_id;     /* ids of b made of participant and session; NULL: not made */
} job;

static kn_status texts(kn_ctx *ctx, ptrdiff_t n, const char ***out)
{
    void *memory;
    kn_status status = kn_alloc(ctx, n, sizeof **out, &memory);
    *out = memory;
    return status;
}

static kn_status column_of(kn_ctx *ctx, const kn_table *t, ptrdiff_t col, const char ***out)
{
    if (col < 0)
        return KN_OK;
    kn_status status = texts(ctx, kn_table_rows(t), out);
    for (ptrdiff_t i = 0; status == KN_OK && i < kn_table_rows(t); i++)
        (*out)[i] = kn_table_cell(t, i, col);
    return status;
}

/* Returns the column of sessions, by option or by a common name; -1: none. */
static ptrdiff_t session_col(const job *j, const kn_table *t)
{
    const char *option = j->s->session;
    return option && !kn_session_is_one(option) ? kn_column_find(t, option) : kn_session_column(t);
}

/* Reads ids and sessions of the covariates, and applies --where. */
static kn_status read_covariates(job *j)
{
    const kn_table *t = j->d->covariates;
    kn_status status;
    void *memory;
    kn_row_filter where = {0};
    j->a.n = kn_table_rows(t);
    KN_TRY(column_of(j->ctx, t, j->d->id_col, &j->a.person));
    if (j->s->session)
        KN_TRY(column_of(j->ctx, t, session_col(j, t), &j->a.session));
    KN_TRY(kn_alloc(j->ctx, j->a.n, sizeof *j->a.keep, &memory));
    j->a.keep = memory;
    KN_TRY(kn_row_filter_parse(j->ctx, j->s->where, &where));
    KN_TRY(kn_row_filter_rows(j->ctx, &where, t, j->a.keep));
    KN_TRY(kn_alloc(j->ctx, j->a.n, sizeof *j->d->left, &memory));
    j->d->left = memory;
    for (ptrdiff_t i = 0; i < j->a.n; i++)
        j->d->left[i] = j->a.keep[i] ? KN_LEFT_NOT : KN_LEFT_BY_WHERE;
out:
    kn_row_filter_clear(&where);
    return status;
}

/* Reads ids, sessions and lines of a set of images. */
static kn_status read_images(job *j)
{
    const kn_images *images = j->d->images;
    kn_status status = KN_OK;
    if (kn_images_id(images, 0))
        KN_TRY(texts(j->ctx, j->b.n, &j->b.person));
    if (kn_images_session(images, 0))
        KN_TRY(texts(j->ctx, j->b.n, &j->b.session));
    if (kn_images_line(images, 0) > 0)
        KN_TRY(kn_alloc_i(j->ctx, j->b.n, &j->line));
    for (ptrdiff_t i = 0; i < j->b.n; i++) {
        if (j->line)
            j->line[i] = kn_images_line(images, i);
        if (j->b.person)
            j->b.person[i] = kn_images_id(images, i);
        if (j->b.session)
            j->b.session[i] = kn_images_session(images, i);
    }
out:
    return status;
}

/* Reads ids, sessions and lines of responses in a separate file. */
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
    KN_TRY(column_of(j->ctx, d->responses, d->response_id_col, &j->b.person));
    if (j->s->session)
        KN_TRY(column_of(j->ctx, d->responses, session_col(j, d->responses), &j->b.session));
    KN_TRY(kn_alloc_i(j->ctx, j->b.n, &j->line));
    for (ptrdiff_t i = 0; i < j->b.n; i++)
        j->line[i] = kn_table_line(d->responses, i);
out:
    return status;
}

/* Fails if --session or --visit lacks ids, its column, or a value in a row in use. */
static kn_status check_sessions(const job *j)
{
    const kn_table *t = j->d->covariates;
    ptrdiff_t col = session_col(j, t);
    if (!j->a.person)
        return kn_fail(j->ctx, KN_ERR_DATA, "%s: {%s} needs a column of ids (name it in {%s})",
                       kn_table_path(t), j->s->visit ? "visit" : "session",
                       j->s->visit ? "person" : "id");
    if (col < 0 && !kn_session_is_one(j->s->session))
        return kn_column_unknown(j->ctx, t, j->s->session,
                                 j->s->visit ? "as {visit} asks for" : "as {session} asks for");
    for (ptrdiff_t i = 0; col >= 0 && i < j->a.n; i++)
        if (j->a.keep[i] && kn_text_is_missing(j->a.session[i]))
            return kn_cell_refused(j->ctx, t, i, col,
                                   j->s->visit ? "expected the session that {visit} asks for"
                                               : "expected the session that {session} asks for");
    return KN_OK;
}

/* Returns whether ids name sessions already (sub-01_ses-1), as those from file paths may. */
static bool names_sessions(const kn_session_rows *r)
{
    return r->person && r->n > 0 && strstr(r->person[0], "_ses-");
}

/* Makes ids of participant and session for the responses, and with `covariates` for the covariates
 * too. */
static kn_status number_sessions(job *j, bool covariates)
{
    kn_status status = KN_OK;
    if (covariates)
        KN_TRY(kn_session_ids(j->ctx, &j->a, &j->d->session_id));
    if (j->b.person && j->b.session && !names_sessions(&j->b))
        KN_TRY(kn_session_ids(j->ctx, &j->b, &j->b_id));
out:
    return status;
}

/* --session first or last. If both sides have sessions, rows of the same session are paired; else
 * each side keeps its own first or last row. */
static kn_status keep_one(job *j)
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
    kn_log(j->ctx, KN_LOG_INFO, "%s: {session=%s} keeps %td of %td rows, one of each person",
           kn_table_path(j->d->covariates), j->s->session, left, j->a.n);
    if (!j->b.person)
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

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Marks responses whose covariates row is not used, or which belong to another session. */
static kn_status leave_responses(job *j)
{
    kn_status status = KN_OK;
    kn_data *d = j->d;
    void *memory = NULL;
    const char **id = NULL; /* ids of the rows that are not used */
    const char *const *own = d->session_id ? (const char *const *)d->session_id : j->a.person;
    const char *const *others = j->b_id ? (const char *const *)j->b_id : j->b.person;
    ptrdiff_t n = 0;
    if (!j->apart || !own || !others)
        return KN_OK;
    KN_TRY(kn_alloc(j->ctx, j->b.n, sizeof *d->response_left, &memory));
    d->response_left = memory;
    KN_TRY(texts(j->ctx, j->a.n, &id));
    for (ptrdiff_t i = 0; i < j->a.n; i++)
        if (d->left[i] != KN_LEFT_NOT)
            id[n++] = own[i];
    qsort(id, (size_t)n, sizeof *id, by_text);
    for (ptrdiff_t i = 0; i < j->b.n; i++) {
        if (bsearch(&others[i], id, (size_t)n, sizeof *id, by_text))
            d->response_left[i] = KN_LEFT_WITH_ROW;
        else if (j->b.keep && !j->b.keep[i])
            d->response_left[i] = KN_LEFT_BY_SESSION;
    }
out:
    kn_free(id);
    return status;
}

/* Handles sessions, pairs the rows and marks the responses that are not used. */
static kn_status match(job *j)
{
    kn_data *d = j->d;
    kn_status status = KN_OK;
    bool one = kn_session_is_one(j->s->session);
    if (j->s->session) {
        KN_TRY(check_sessions(j));
        KN_TRY(one ? keep_one(j) : number_sessions(j, true));
    } else if (names_sessions(&j->a)) {
        KN_TRY(number_sessions(j, false));
    }
    kn_match_table a = {d->covariates, d->id_col, (const char *const *)d->session_id, j->a.keep,
                        j->s->visit != NULL};
    kn_match_side b = {d->responses_path, j->b.n,
                       j->b_id ? (const char *const *)j->b_id : (const char *const *)j->b.person,
                       j->line, j->b.keep};
    KN_TRY(kn_match_rows(j->ctx, &a, j->apart ? &b : NULL,
                         j->s->match ? KN_MATCH_COMMON : KN_MATCH_ALL, &d->match));
    KN_TRY(leave_responses(j));
    for (ptrdiff_t i = 0; one && i < d->match.n;
         i++) /* one row per participant: ids without session */
        d->match.id[i] = j->a.person[d->match.covariate_row[i]];
out:
    return status;
}

static kn_status copy(kn_ctx *ctx, const char *text, char **out)
{
    kn_free(*out);
    *out = NULL;
    return text ? kn_text_copy(ctx, text, strlen(text), out) : KN_OK;
}

kn_status kn_data_match(kn_ctx *ctx, const kn_settings *s, kn_data *d)
{
    kn_status status;
    job j = {.ctx = ctx, .s = s, .d = d};
    j.apart = d->responses_path && d->responses != d->covariates;
    kn_match_clear(&d->match);
    kn_names_free(d->session_id, d->n);
    d->session_id = NULL;
    kn_free(d->left);
    kn_free(d->response_left);
    d->left = d->response_left = NULL;
    KN_TRY(read_covariates(&j));
    if (j.apart)
        KN_TRY(read_responses(&j));
    KN_TRY(match(&j));
    KN_TRY(copy(ctx, s->where, &d->where));
    KN_TRY(copy(ctx, s->session, &d->session));
out:
    kn_free(j.a.person);
    kn_free(j.a.session);
    kn_free(j.a.keep);
    kn_free(j.b.person);
    kn_free(j.b.session);
    kn_free(j.b.keep);
    kn_free(j.line);
    kn_names_free(j.b_id, j.b.n);
    return status;
}
