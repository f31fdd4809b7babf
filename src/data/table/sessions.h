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

bool kn_session_is_one(const char *option);  /* the option is first or last */
bool kn_session_is_name(const char *column); /* session, ses, visit, timepoint, also with _id */

/* Returns the first column with such a name; -1: none. */
ptrdiff_t kn_session_column(const kn_table *table);

/* Makes the id PARTICIPANT_ses-SESSION of each row; a session ses-1 is not prefixed again. Free
 * with kn_names_free. */
kn_status kn_session_ids(kn_ctx *ctx, const kn_session_rows *rows, char ***out);

/* Sorts the rows in use to order[0 .. *n - 1] (capacity n): rows of a participant together, in the
 * order of their sessions: by number if all sessions of the file are numbers (ses-2 before
 * ses-10), else by text in which digits count as numbers (m6 before m12; dates as 2020-01-31).
 * Without sessions, and for equal ones, in the order of the file. */
kn_status kn_session_order(kn_ctx *ctx, const kn_session_rows *rows, ptrdiff_t *order,
                           ptrdiff_t *n);

/* Keeps in rows->keep only the first, or the last, session of each participant. */
kn_status kn_session_choose(kn_ctx *ctx, const kn_session_rows *rows, bool last);

#endif
