/* Implements sessions.h. Sessions are ordered as numbers if all are numbers, else as text. */
#include "data/table/sessions.h"

#include <stdlib.h>
#include <string.h>

#include "data/response_space.h"
#include "data/table/columns.h"
#include "io/file/path.h"

static const char DIGITS[] = "0123456789";
static const char PREFIX[] = "ses-"; /* prefix of BIDS labels */
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
        if (kn_names_equal_any_case(column, names[k]))
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

/* Returns a pointer into the text of a session behind leading spaces and the prefix ses-; *n is its
 * length without trailing spaces. */
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
        size_t n, m = strlen(r->participant[i]);
        const char *label = label_of(r->session[i], &n);
        KN_TRY(kn_alloc(ctx, (ptrdiff_t)(m + 1 + PREFIX_LENGTH + n + 1), 1, &memory));
        id[i] = memory;
        memcpy(id[i], r->participant[i], m);
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

/* ---- order of sessions ------------------------------------------------------------------------
 */

typedef struct visit {
    const char *participant, *session; /* session NULL: none */
    double number;                     /* number of the session, if all are numbers */
    bool numbers;
    ptrdiff_t row;
} visit;

/* Compares two texts, as strcmp does, but runs of digits by their value: m6 comes before m12. */
static int by_text(const char *a, const char *b)
{
    while (*a && *b) {
        size_t m = strspn(a, DIGITS), n = strspn(b, DIGITS);
        if (m > 0 && n > 0) {
            size_t x = strspn(a, "0"), y = strspn(b, "0");
            x = x < m ? x : m - 1;
            y = y < n ? y : n - 1;
            if (m - x != n - y)
                return m - x < n - y ? -1 : 1;
            int order = strncmp(a + x, b + y, m - x);
            if (order != 0)
                return order;
            a += m;
            b += n;
        } else if (*a != *b) {
            break;
        } else {
            a++;
            b++;
        }
    }
    return strcmp(a, b);
}

/* Compares the sessions of two visits: by number if all sessions are numbers, else by by_text(); 0
 * if there are none. */
static int by_session(const visit *a, const visit *b)
{
    if (a->session && a->numbers && a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->session && !a->numbers ? by_text(a->session, b->session) : 0;
}

/* Comparison for qsort of visits: by participant, then by session, then by row of the table. */
static int by_participant(const void *a, const void *b)
{
    const visit *x = a, *y = b;
    int order = strcmp(x->participant, y->participant);
    if (order == 0)
        order = by_session(x, y);
    return order ? order : (x->row > y->row) - (x->row < y->row);
}

/* Returns whether row i is among those that the caller keeps. */
static bool is_used(const kn_session_rows *r, ptrdiff_t i)
{
    return !r->keep || r->keep[i];
}

/* Returns whether sessions are known and the labels of all rows in use are numbers. */
static bool all_numbers(const kn_session_rows *r)
{
    double x;
    size_t n;
    for (ptrdiff_t i = 0; r->session && i < r->n; i++)
        if (is_used(r, i) && kn_number_parse(label_of(r->session[i], &n), &x) != KN_CELL_NUMBER)
            return false;
    return r->session != NULL;
}

kn_status kn_session_order(kn_ctx *ctx, const kn_session_rows *r, ptrdiff_t *order, ptrdiff_t *n)
{
    void *memory = NULL;
    size_t unused;
    bool numbers = all_numbers(r);
    kn_status status = kn_alloc(ctx, r->n, sizeof(visit), &memory);
    *n = 0;
    if (status != KN_OK)
        return status;
    visit *v = memory;
    for (ptrdiff_t i = 0; i < r->n; i++) {
        if (!is_used(r, i))
            continue;
        v[*n] = (visit){.participant = r->participant[i], .numbers = numbers, .row = i};
        if (r->session)
            v[*n].session = label_of(r->session[i], &unused);
        if (numbers)
            kn_number_parse(v[*n].session, &v[*n].number);
        (*n)++;
    }
    qsort(v, (size_t)*n, sizeof *v, by_participant);
    for (ptrdiff_t i = 0; i < *n; i++)
        order[i] = v[i].row;
    kn_free(memory);
    return KN_OK;
}

/* ---- one row per participant ------------------------------------------------------------------
 */

kn_status kn_session_choose(kn_ctx *ctx, const kn_session_rows *r, bool last)
{
    ptrdiff_t n, *order = NULL;
    kn_status status;
    KN_TRY(kn_alloc_i(ctx, r->n, &order));
    KN_TRY(kn_session_order(ctx, r, order, &n));
    for (ptrdiff_t i = 0; i < n; i++) {
        bool at_end = i == (last ? n - 1 : 0);
        ptrdiff_t other = at_end ? order[i] : order[last ? i + 1 : i - 1];
        r->keep[order[i]] = at_end || strcmp(r->participant[order[i]], r->participant[other]) != 0;
    }
out:
    kn_free(order);
    return status;
}
