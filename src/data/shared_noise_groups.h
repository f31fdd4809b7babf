/* Rows that share noise [METHOD 0]: visits of one person, scans of one stimulus, families. Found by
 * a column that is named, or where it cannot be mistaken: ids that repeat, and many covariates that
 * are all equal. Whole-year ages and a sex make twins by chance, and are no reason. */
#ifndef KN_DATA_SHARED_NOISE_GROUPS_H
#define KN_DATA_SHARED_NOISE_GROUPS_H

#include "data/covariates/encoding.h"

enum { KN_STIMULUS_COVARIATES = 10 }; /* numbers that vary, for equal rows to be no chance */

typedef enum kn_group_rule {
    KN_GROUP_NONE = 0,
    KN_GROUP_COLUMN = 1,  /* that was named */
    KN_GROUP_IDS = 2,     /* that repeat */
    KN_GROUP_STIMULI = 3, /* rows with the same covariates */
} kn_group_rule;

typedef struct kn_grouping {
    kn_group_rule rule;
    ptrdiff_t n_groups;
    int *group;        /* of each row, from 0 in order of first appearance; NULL: none */
    char **group_name; /* n_groups; of stimuli "1", "2", ... */
    char *column;      /* for kn_sample_spec: the name, "" of ids; NULL: new people have no group */
} kn_grouping;

/* The rows that training uses. */
typedef struct kn_group_source {
    const kn_table *table;
    const ptrdiff_t *row;      /* n: of the table */
    const char *const *id;     /* n; NULL: there are none */
    const kn_encoding *recipe; /* with codes */
    kn_mat X;                  /* n x C, raw */
} kn_group_source;

/* The column that --group names; NULL: auto, none, or nothing. */
const char *kn_group_column(const char *text);

/* `text` as --group has it; NULL: none. Refuses a column that is not there, lacks a value, or parts
 * the rows as a category of the covariates does. No group of two, or one of all: none. Says what
 * it found. */
kn_status kn_grouping_find(kn_ctx *ctx, const kn_group_source *from, const char *text,
                           kn_grouping *out);
void kn_grouping_clear(kn_grouping *g); /* {0} is fine */

#endif
