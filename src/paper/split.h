/* Splits the rows of the experiment into training and test, anew for each repeat. */
#ifndef KN_PAPER_SPLIT_H
#define KN_PAPER_SPLIT_H

#include "paper/visual/load.h"

/* 600 of the paper's 1320 scans of random patterns are for training; with other numbers the same
 * share. The other random scans are the normal test rows, and all figure scans the abnormal
 * ones.
 * scan: any 600 scans. Most test scans then share their pattern with training and no figure
 * does, which favours detection. pattern: scans of one pattern stay together. */
typedef enum kn_split_by { KN_BY_SCAN = 0, KN_BY_PATTERN = 1, KN_N_SPLITS } kn_split_by;

extern const char *const kn_split_name[KN_N_SPLITS];

typedef struct kn_split {
    ptrdiff_t n_train, n_test, n_normal; /* n_normal: normal test rows, which come first */
    /* Row numbers, ascending; in test, figures after normals. */
    ptrdiff_t *train, *test;
} kn_split;

/* Draws a split; it depends on seed, repeat and kind only. */
kn_status kn_split_new(kn_ctx *ctx, const kn_visual *v, kn_split_by by, uint64_t seed, int repeat,
                       kn_split *out);
void kn_split_clear(kn_split *s); /* {0} is allowed */

#endif
