/* Several visits of one participant: --session COLUMN makes an id for each row, sub-01_ses-1;
 * --session first or last keeps one row per participant. Without --session an id that occurs twice
 * is an error. */
#ifndef KN_DATA_TABLE_SESSIONS_H
#define KN_DATA_TABLE_SESSIONS_H

#include "base/memory/alloc.h"
#include "io/table/table.h"

typedef struct kn_session_rows { /* rows of a table or a list; texts are borrowed */
    ptrdiff_t n;
    const char **participant; /* n ids of participants; NULL: none */
    const char **session;     /* n; NULL: not known */
    bool *keep;               /* n, rows in use; NULL: all */
} kn_session_rows;

/* Returns whether the option {session} is "first" or "last", which keep one row per participant;
 * false for NULL. */
bool kn_session_is_one(const char *option);
/* Returns whether a column is named session, ses, visit or timepoint, or such a name with _id, in
 * any case. */
bool kn_session_is_name(const char *column);

/* Returns the index of the first column of the table whose name kn_session_is_name accepts; -1 if
 * there is none. */
ptrdiff_t kn_session_column(const kn_table *table);

/* Makes the id PARTICIPANT_ses-SESSION of each of the r->n rows as *out, n texts that the caller
 * frees with kn_names_free. A session that already is ses-1 is not prefixed again. */
kn_status kn_session_ids(kn_ctx *ctx, const kn_session_rows *rows, char ***out);

/* Sorts the rows in use to order[0 .. *n - 1] (capacity r->n), rows of a participant together in
 * the order of their sessions. That is by number if all sessions of the file are numbers (ses-2
 * before ses-10), else by text in which digits count as numbers (m6 before m12; dates as
 * 2020-01-31). Without sessions, and for equal ones, it is the order of the file. */
kn_status kn_session_order(kn_ctx *ctx, const kn_session_rows *rows, ptrdiff_t *order,
                           ptrdiff_t *n);

/* Clears rows->keep for every row in use except the first session, or with `last` the last one, of
 * each participant. O(n log n). */
kn_status kn_session_choose(kn_ctx *ctx, const kn_session_rows *rows, bool last);

#endif
