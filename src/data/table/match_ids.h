/* Which row of the covariates belongs to which row of the responses.
 *
 * Ids are compared as the texts they are, byte by byte: 18 digits stay 18 digits, 01 is not 1. */
#ifndef KN_DATA_TABLE_MATCH_IDS_H
#define KN_DATA_TABLE_MATCH_IDS_H

#include "base/memory/alloc.h"
#include "io/table/table.h"

typedef enum kn_match_policy {
    KN_MATCH_ALL = 0,   /* every id must be on both sides */
    KN_MATCH_COMMON = 1 /* the ids on both sides */
} kn_match_policy;

/* The id columns: `option` (--id NAME), or the first of participant_id, sub_id, subject_id, SubjID
 * in any case that the tables have; -1: none. With two tables both must have it. responses NULL:
 * there is one table, or the responses are no table; *response_col is then -1. */
kn_status kn_match_id_columns(kn_ctx *ctx, const char *option, const kn_table *covariates,
                              const kn_table *responses, ptrdiff_t *covariate_col,
                              ptrdiff_t *response_col);

typedef struct kn_match_table { /* the covariates */
    const kn_table *table;
    ptrdiff_t id_col;      /* -1: none */
    const char *const *id; /* of each row, in the place of that column's cells; NULL: these */
    const bool *keep;      /* rows that are used; NULL: all */
    bool visits;           /* several rows a person are asked for: for the sentence */
} kn_match_table;

typedef struct kn_match_side { /* the responses, whatever file they are in */
    const char *path;          /* for messages */
    ptrdiff_t n;               /* rows or images */
    const char *const *id;     /* NULL: there are none */
    const ptrdiff_t *line;     /* of each id in the file; NULL: they are counted from 1 */
    const bool *keep;          /* rows that are used; NULL: all */
} kn_match_side;

typedef struct kn_match {
    ptrdiff_t n;
    ptrdiff_t *covariate_row, *response_row; /* in the order of the covariates */
    const char **id;     /* of each row, the caller's own texts; NULL: there are none */
    bool by_position;    /* for want of ids */
    ptrdiff_t repeat[2]; /* places above with one id, the first two there are; {0, 0}: none */
} kn_match;

/* Without ids on both sides rows match by position: counts must agree, and a warning is logged.
 * Rows that are not used need no partner and may have any id; who has only such a partner is left
 * out too.
 * responses NULL: the same table, or none yet; rows are then those of the covariates. A missing
 * id is refused in any case, a doubled one where rows match by id: one person may have several rows
 * where nothing hangs on it. */
kn_status kn_match_rows(kn_ctx *ctx, const kn_match_table *covariates,
                        const kn_match_side *responses, kn_match_policy policy, kn_match *out);
void kn_match_clear(kn_match *match); /* {0} is fine */

#endif
