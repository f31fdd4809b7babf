/* From covariates to the matrix that covariance terms are over [METHOD 0].
 *
 * Additive, from a recipe with codes:
 *     [ X | Q | E_1 | E_2 ... | I_1 ... ]                                        N x F
 *     X    numeric columns, standardised                                         Fc columns
 *     Q    u = (x^2 - mean(x^2)) / sd(x^2) of columns of X with 5 values or more Fq, or none
 *     E_m  category m: one column a level and one for a level that training did not have; of a
 *          missing code the shares of the levels in training                     L_m + 1
 *     I    slopes that differ between the levels of m: E_m times a column of X   L_m + 1
 * Plain, for explicit sums of kernels: the numeric columns, standardised.
 *
 * What is constant in training is in no column: a new person who differs would be blown up by a
 * deviation that nobody has seen. It is remembered, so that such a person can be told of. */
#ifndef KN_DATA_COVARIATES_DESIGN_H
#define KN_DATA_COVARIATES_DESIGN_H

#include <jansson.h>

#include "base/matrix.h"

enum {
    KN_QUADRATIC_VALUES = 5,    /* different ones that a column of Q needs */
    KN_QUADRATIC_ROWS = 20,     /* people that a column of Q needs */
    KN_INTERACTIONS_MOST = 1000 /* of one design */
};

typedef struct kn_interaction {
    ptrdiff_t category, numeric; /* raw columns */
} kn_interaction;

typedef struct kn_design_column { /* of one raw column */
    bool constant;                /* in training, or one level: nowhere */
    double min, max;              /* in training; of a number */
    double q_mean, q_sd;          /* of x^2; where q >= 0 */
    int levels;                   /* L; 0 of a number */
    bool batch;                   /* a category that new people may have further levels of */
    double *shares;               /* L, of the levels in training; NULL of a number */
    ptrdiff_t x;                  /* its column of X, or the first of E_m; -1: none */
    ptrdiff_t q;                  /* its column of Q; -1: none */
} kn_design_column;

typedef struct kn_design {
    bool additive;
    ptrdiff_t C;       /* raw columns */
    double *mean, *sd; /* C, removed and divided by; 0 and 1 of a category */
    kn_design_column *column;
    kn_interaction *interaction;
    ptrdiff_t n_interactions;
    ptrdiff_t F, Fc, Fq; /* columns, those of X, those of Q */
    ptrdiff_t n_constant;
} kn_design;

typedef struct kn_design_options {
    bool additive, standardise;
    const int *levels; /* C, L of a category and 0 of a number; NULL: all are numbers */
    const int *values; /* C, different values as kn_encoding_values has them; NULL: counted */
    const bool *batch; /* C, see kn_design_column; NULL: none */
    int quadratic; /* -1: Q where it has KN_QUADRATIC_ROWS people a column; 0: never; 1: always */
    const kn_interaction *interactions;
    ptrdiff_t n_interactions;
} kn_design_options;

/* From the training rows. Refuses numbers that are not finite, naming row and column, and
 * covariates that are all constant. */
kn_status kn_design_new(kn_ctx *ctx, kn_view raw, const kn_design_options *options, kn_design *out);
void kn_design_clear(kn_design *d); /* {0} is fine */

/* X (n x F). hold, for new people of an additive design: x stays within half a range of what
 * training had, and within what it had inside u; a line goes on for a while, a parabola must not.
 * held (NULL, or n numbers): covariates of a person outside that range, or of a level that
 * training did not have, or other than the constant that they were in training. */
kn_status kn_design_apply(kn_ctx *ctx, const kn_design *d, kn_view raw, bool hold, kn_mat X,
                          int *held);

/* The rows of X that are named (NULL: all) as if people were of no batch: what the model says
 * beside the terms of these categories and their interactions, which are zero     [METHOD 8e] */
void kn_design_leave_batch(const kn_design *d, const bool *rows, kn_mat X);
bool kn_design_has_batch(const kn_design *d);

/* people[c] = how many have raw column c held, as above. */
kn_status kn_design_count_clamped(kn_ctx *ctx, const kn_design *d, kn_view raw, ptrdiff_t *people);

/* What x of column c is held to; of a constant one what it was. Of a number. */
void kn_design_range(const kn_design *d, ptrdiff_t c, double *low, double *high);

typedef enum kn_design_kind {
    KN_DESIGN_LINEAR = 0,    /* X */
    KN_DESIGN_QUADRATIC = 1, /* Q */
    KN_DESIGN_CATEGORY = 2,
    KN_DESIGN_INTERACTION = 3
} kn_design_kind;

typedef struct kn_design_block {
    kn_design_kind kind;
    ptrdiff_t first, count;   /* columns of the design */
    ptrdiff_t column, second; /* raw: the category, and of an interaction the number; else -1 */
} kn_design_block;

/* The blocks from left to right; how many there are, of which `most` are written. */
int kn_design_blocks(const kn_design *d, kn_design_block *out, int most);

json_t *kn_design_to_json(const kn_design *d); /* all but mean and sd; NULL: out of memory */

/* Believes nothing. mean and sd (C each) are arrays of the same file, and are copied. */
typedef struct kn_design_scale {
    ptrdiff_t C;
    const double *mean, *sd;
} kn_design_scale;

kn_status kn_design_from_json(kn_ctx *ctx, const char *name, const json_t *json,
                              kn_design_scale scale, kn_design *out);

/* Columns of everything else, once kinds, constants, q (>= 0 where there is one) and interactions
 * are known. */
void kn_design_place(kn_design *d);

#endif
