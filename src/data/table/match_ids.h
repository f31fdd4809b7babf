/* Pairs rows of the covariates with rows of the responses, by id or by position.
 *
 * Ids are compared as texts, byte by byte: 18 digits stay 18 digits. align_ids.h gives both sides
 * one spelling before. */
#ifndef KN_DATA_TABLE_MATCH_IDS_H
#define KN_DATA_TABLE_MATCH_IDS_H

#include "base/memory/alloc.h"
#include "io/table/table.h"

typedef enum kn_match_policy {
    KN_MATCH_ALL = 0,   /* every id must be on both sides */
    KN_MATCH_COMMON = 1 /* only ids on both sides are used */
} kn_match_policy;

/* Finds the id columns of the two tables. With `option` (--id NAME) both must have that column;
 * else it is the first of participant_id, sub_id, subject_id, SubjID, participant, subject, eid,
 * src_subject_id, record_id and id that both have, regardless of case and separators; else the
 * first that each has, which is logged. Responses whose format defines their IDs (kn_table_id_col)
 * have them in that column. -1: none; a column of the covariates whose texts all differ is then
 * suggested in a warning. responses NULL: there is one table, or the responses are not a table;
 * *response_col is then -1. */
kn_status kn_match_id_columns(kn_ctx *ctx, const char *option, const kn_table *covariates,
                              const kn_table *responses, ptrdiff_t *covariate_col,
                              ptrdiff_t *response_col);

typedef struct kn_match_table { /* the covariates; all borrowed */
    const kn_table *table;
    ptrdiff_t id_col;      /* -1: none */
    const char *const *id; /* id of each row instead of the cells of id_col; NULL: the cells */
    const bool *keep;      /* rows that are used; NULL: all */
    bool visits;           /* --visit was given, for messages */
} kn_match_table;

typedef struct kn_match_side { /* the responses, of any kind; all borrowed */
    const char *path;          /* for messages */
    ptrdiff_t n;               /* rows or images */
    const char *const *id;     /* NULL: no ids */
    const ptrdiff_t *line;     /* line of each id in the file; NULL: counted from 1 */
    const bool *keep;          /* rows that are used; NULL: all */
} kn_match_side;

typedef struct kn_match {
    ptrdiff_t n;
    ptrdiff_t *covariate_row, *response_row; /* in the order of the covariates */
    const char **id;                         /* n ids, borrowed texts; NULL: no ids */
    bool by_position;    /* rows were paired by position because there are no ids */
    ptrdiff_t repeat[2]; /* positions of two rows with the same id; {0, 0}: none */
} kn_match;

/* Pairs each row of the covariates with a row of the responses, as *out (owned; kn_match_clear).
 * Without ids on both sides rows are paired by position: counts must agree (KN_ERR_SHAPE), and a
 * warning is logged. Rows that are not used need no partner and may have any id; a row whose only
 * partner is not used is excluded too. responses NULL: the same table, or none yet; rows are then
 * those of the covariates. KN_ERR_DATA for a missing id, and for a repeated one where rows are
 * paired by id; otherwise a participant may have several rows. */
kn_status kn_match_rows(kn_ctx *ctx, const kn_match_table *covariates,
                        const kn_match_side *responses, kn_match_policy policy, kn_match *out);
void kn_match_clear(kn_match *match); /* accepts {0} */

#endif
