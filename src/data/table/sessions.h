/* Several rows of one person: --session COLUMN gives each an id of its own, sub-01_ses-1; --session
 * first or last keeps one row of everybody. */
#ifndef KN_DATA_TABLE_SESSIONS_H
#define KN_DATA_TABLE_SESSIONS_H

#include "base/memory/alloc.h"
#include "io/table/table.h"

typedef struct kn_session_rows { /* of a table or a list; texts are lent */
    ptrdiff_t n;
    const char **person;  /* n ids; NULL: there are none */
    const char **session; /* n; NULL: not known */
    bool *keep;           /* n: rows that are used; NULL: all */
} kn_session_rows;

bool kn_session_is_one(const char *option);  /* first or last */
bool kn_session_is_name(const char *column); /* session, ses, visit, timepoint, also with _id */

/* The first column of such a name; -1: none. */
ptrdiff_t kn_session_column(const kn_table *table);

/* *out = PERSON_ses-SESSION for each row; a session that is named ses-1 already stays so. Free with
 * kn_names_free. */
kn_status kn_session_ids(kn_ctx *ctx, const kn_session_rows *rows, char ***out);

/* order[0 .. *n - 1] = the rows that are used, those of a person together and in the order of their
 * sessions: by number where all sessions of the file are numbers (ses-2 comes before ses-10), else
 * by text in which digits count as numbers (m6 before m12; dates as 2020-01-31); without sessions,
 * and of equal ones, by the order of the file. order has room for n. */
kn_status kn_session_order(kn_ctx *ctx, const kn_session_rows *rows, ptrdiff_t *order,
                           ptrdiff_t *n);

/* Of each person only the row of the first session, or the last, stays in `keep`. */
kn_status kn_session_choose(kn_ctx *ctx, const kn_session_rows *rows, bool last);

#endif
