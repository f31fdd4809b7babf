#include "data/sessions.h"

#include <stdlib.h>
#include <string.h>

#include "data/columns.h"
#include "data/space.h"
#include "io/path.h"

static const char PREFIX[] = "ses-"; /* that BIDS puts before labels */
enum { PREFIX_LENGTH = sizeof PREFIX - 1 };

bool kn_session_is_one(const char *option)
{
    return option && (strcmp(option, "first") == 0 || strcmp(option, "last") == 0);
}

bool kn_session_is_name(const char *column)
{
    static const char *const names[] = {"session", "session_id", "ses",       "ses_id",
                                        "visit",   "visit_id",   "timepoint", "time_point"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (kn_same_name_any_case(column, names[k]))
            return true;
    return false;
}

ptrdiff_t kn_session_column(const kn_table *table)
{
    for (ptrdiff_t j = 0; j < kn_table_cols(table); j++)
        if (kn_table_named(table, j) && kn_session_is_name(kn_table_name(table, j)))
            return j;
    return -1;
}

/* A session without the spaces around it and without its prefix. */
static const char *label_of(const char *session, size_t *n)
{
    session += strspn(session, " \t");
    *n = strlen(session);
    while (*n > 0 && strchr(" \t", session[*n - 1]))
        (*n)--;
    if (*n > PREFIX_LENGTH && strncmp(session, PREFIX, PREFIX_LENGTH) == 0) {
        session += PREFIX_LENGTH;
        *n -= PREFIX_LENGTH;
    }
    return session;
}

kn_status kn_session_ids(kn_ctx *ctx, const kn_session_rows *r, char ***out)
{
    void *memory;
    kn_status status;
    char **id = NULL;
    *out = NULL;
    KN_TRY(kn_alloc(ctx, r->n, sizeof *id, &memory));
    id = memory;
    for (ptrdiff_t i = 0; i < r->n; i++) {
        size_t n, m = strlen(r->person[i]);
        const char *label = label_of(r->session[i], &n);
        KN_TRY(kn_alloc(ctx, (ptrdiff_t)(m + 1 + PREFIX_LENGTH + n + 1), 1, &memory));
        id[i] = memory;
        memcpy(id[i], r->person[i], m);
        id[i][m] = '_';
        memcpy(id[i] + m + 1, PREFIX, PREFIX_LENGTH);
        memcpy(id[i] + m + 1 + PREFIX_LENGTH, label, n);
    }
out:
    if (status == KN_OK)
        *out = id;
    else
        kn_names_free(id, r->n);
    return status;
}

/* ---- one row a person ------------------------------------------------------------------------ */

typedef struct visit {
    const char *person, *session; /* session NULL: there is none */
    double number;                /* of the session, where all are numbers */
    bool numbers;
    ptrdiff_t row;
} visit;

static int by_session(const visit *a, const visit *b)
{
    if (a->session && a->numbers && a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->session && !a->numbers ? strcmp(a->session, b->session) : 0;
}

static int by_person(const void *a, const void *b)
{
    const visit *x = a, *y = b;
    int order = strcmp(x->person, y->person);
    if (order == 0)
        order = by_session(x, y);
    return order ? order : (x->row > y->row) - (x->row < y->row);
}

static bool is_used(const kn_session_rows *r, ptrdiff_t i)
{
    return !r->keep || r->keep[i];
}

/* Are the labels of all sessions numbers? */
static bool all_numbers(const kn_session_rows *r)
{
    double x;
    size_t n;
    for (ptrdiff_t i = 0; r->session && i < r->n; i++)
        if (is_used(r, i) && kn_number_parse(label_of(r->session[i], &n), &x) != KN_CELL_NUMBER)
            return false;
    return r->session != NULL;
}

kn_status kn_session_choose(kn_ctx *ctx, const kn_session_rows *r, bool last)
{
    void *memory = NULL;
    ptrdiff_t n = 0;
    size_t unused;
    bool numbers = all_numbers(r);
    kn_status status = kn_alloc(ctx, r->n, sizeof(visit), &memory);
    if (status != KN_OK)
        return status;
    visit *v = memory;
    for (ptrdiff_t i = 0; i < r->n; i++) {
        if (!is_used(r, i))
            continue;
        v[n] = (visit){.person = r->person[i], .numbers = numbers, .row = i};
        if (r->session)
            v[n].session = label_of(r->session[i], &unused);
        if (numbers)
            kn_number_parse(v[n].session, &v[n].number);
        n++;
    }
    qsort(v, (size_t)n, sizeof *v, by_person);
    for (ptrdiff_t i = 0; i < n; i++) {
        const visit *other = last ? &v[i + 1] : &v[i - 1];
        bool at_end = i == (last ? n - 1 : 0);
        r->keep[v[i].row] = at_end || strcmp(v[i].person, other->person) != 0;
    }
    kn_free(memory);
    return KN_OK;
}
