/* Finds rows that share noise [METHOD 0]: visits of one participant, scans of one stimulus,
 * families. Groups come from a column named by the user, or where no mistake is possible: from ids
 * that repeat, and from rows in which many covariates are all equal. Equal ages in years and equal
 * sex happen by chance and make no group. */
#ifndef KN_DATA_SHARED_NOISE_GROUPS_H
#define KN_DATA_SHARED_NOISE_GROUPS_H

#include "data/covariates/encoding.h"

enum { KN_STIMULUS_COVARIATES = 10 }; /* varying numeric covariates that rule out chance */

typedef enum kn_group_rule {
    KN_GROUP_NONE = 0,
    KN_GROUP_COLUMN = 1,  /* named by --group */
    KN_GROUP_IDS = 2,     /* ids that repeat */
    KN_GROUP_STIMULI = 3, /* rows with the same covariates */
} kn_group_rule;

typedef struct kn_grouping {
    kn_group_rule rule;
    ptrdiff_t n_groups;
    int *group;        /* group of each row, from 0 in order of appearance; NULL: none */
    char **group_name; /* n_groups names; "1", "2", ... for stimuli */
    char *column;      /* for kn_sample_spec, "" for ids; NULL: new participants have no group */
} kn_grouping;

/* The training rows; all borrowed. */
typedef struct kn_group_source {
    const kn_table *table;
    const ptrdiff_t *row;        /* n, rows of the table */
    const char *const *id;       /* n; NULL: there are none */
    const kn_encoding *encoding; /* with codes */
    kn_mat X;                    /* n x C, encoded, not standardised */
} kn_group_source;

/* Returns the column that {group} names, borrowed from `text`; NULL if it is auto, none or not
 * given. */
const char *kn_group_column(const char *text);

/* Sets *out (kn_grouping_clear) to the groups of training rows that share noise, by {group}; text
 * NULL: none. KN_ERR_DATA if the column does not exist, lacks a value, or groups the rows as a
 * categorical covariate does. Without a group of two rows, or with a single group, there are none.
 * Logs the result. */
kn_status kn_grouping_find(kn_ctx *ctx, const kn_group_source *from, const char *text,
                           kn_grouping *out);
void kn_grouping_clear(kn_grouping *g); /* accepts {0} */

#endif
