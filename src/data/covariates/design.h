/* Builds the design matrix that covariance terms are defined over [METHOD 0].
 *
 * Additive, from an encoding with codes:
 *     [ X | Q | E_1 | E_2 ... | I_1 ... ]                                        N x F
 *     X    numeric columns, standardised                                         Fc columns
 *     Q    u = (x^2 - mean(x^2)) / sd(x^2) of columns of X with 5 values or more Fq, or none
 *     E_m  category m: one column per level and one for levels not in the training sample;
 *          a missing value gets the proportions of the levels in the training sample  L_m + 1
 *     I    slopes that differ between the levels of m: E_m times a column of X   L_m + 1
 * Plain, for explicit sums of kernels: the numeric columns, standardised.
 *
 * Covariates that are constant in the training sample have no column: standardising would give a
 * new participant with another value an extreme prediction. They are remembered, so that such
 * participants produce a warning. */
#ifndef KN_DATA_COVARIATES_DESIGN_H
#define KN_DATA_COVARIATES_DESIGN_H

#include <jansson.h>

#include "base/matrix.h"

enum {
    KN_QUADRATIC_VALUES = 5,   /* distinct values that a column of Q needs */
    KN_QUADRATIC_ROWS = 20,    /* participants per column of Q that are needed */
    KN_INTERACTIONS_MAX = 1000 /* interactions of one design */
};

/* A category with at least this many columns, levels and one for unknown levels, is held as the
 * level of each row where R0 is of low rank [cov/indicators.h]. */
enum { KN_INDICATORS_FROM = 52 };

typedef struct kn_interaction {
    ptrdiff_t category, numeric; /* raw columns */
} kn_interaction;

typedef struct kn_design_column { /* One raw column, a covariate as encoding.h gives it. */
    bool constant;       /* constant in the training sample, or a single level: not in the design */
    double min, max;     /* range in the training sample, original units; numeric only */
    double q_mean, q_sd; /* mean and sd of the squares of standardised x; where q >= 0 */
    int levels;          /* L; 0: numeric */
    bool batch;          /* a site category: new participants may have further levels */
    double *proportions; /* L, proportions of the levels in the training sample; NULL: numeric */
    ptrdiff_t x;         /* its column of X, or the first of E_m; -1: none */
    ptrdiff_t q;         /* its column of Q; -1: none */
} kn_design_column;

typedef struct kn_design {
    bool additive;
    ptrdiff_t C;       /* raw columns */
    double *mean, *sd; /* C, subtracted and divided by; 0 and 1 for a category */
    kn_design_column *column;
    kn_interaction *interaction;
    ptrdiff_t n_interactions;
    ptrdiff_t F, Fc, Fq; /* columns of the design, of X, of Q */
    ptrdiff_t n_constant;
} kn_design;

typedef struct kn_design_options {
    bool additive, standardise;
    const int *levels; /* C, L for a category and 0 for a numeric column; NULL: all are numeric */
    const int *values; /* C, distinct values as kn_encoding_values gives them; NULL: counted here */
    const bool *batch; /* C, site categories, see kn_design_column; NULL: none */
    const char *const *names; /* C, for messages; NULL: unknown */
    int quadratic; /* -1: Q if there are KN_QUADRATIC_ROWS participants per column; 0: never; 1:
                      always */
    const kn_interaction *interactions;
    ptrdiff_t n_interactions;
} kn_design_options;

/* Learns the design from the training rows raw (N x C, as encoded); *out is owned
 * (kn_design_clear). KN_ERR_DATA for values that are not finite, with row and column, and if all
 * covariates are constant. */
kn_status kn_design_new(kn_ctx *ctx, kn_view raw, const kn_design_options *options, kn_design *out);
/* Frees the columns and their statistics; {0} is allowed. */
void kn_design_clear(kn_design *d);

/* Computes X (n x F) from raw covariates (n x C). `clamp` clamps new participants of an additive
 * design: x to the training range, extended by half its length on each side, and x inside u to the
 * range, because a line may be extrapolated for a while and a parabola must not. n_clamped (n, or
 * NULL) gets the number of covariates of each participant that are outside that range, have a level
 * that is not in the training sample, or differ from a constant of the training sample. */
kn_status kn_design_apply(kn_ctx *ctx, const kn_design *d, kn_view raw, bool clamp, kn_mat X,
                          int *n_clamped);

/* Sets the columns of site categories and of their interactions to zero, in the rows of X with
 * rows[i] (NULL: all), so that the model predicts without a site effect   [METHOD 8e] */
void kn_design_set_without_site(const kn_design *d, const bool *rows, kn_mat X);
/* Returns whether a covariate is a site category (named in {batch}). */
bool kn_design_has_batch(const kn_design *d);

/* Sets n_participants[c], for each of the C raw columns, to the number of rows of raw (n x C) whose
 * value the training sample does not cover: outside the clamping range, a new level, or another
 * constant. */
kn_status kn_design_count_clamped(kn_ctx *ctx, const kn_design *d, kn_view raw,
                                  ptrdiff_t *n_participants);

/* Sets [low, high] to the range that numeric column c is clamped to, in original units: the
 * training range and half of its length on each side. Of a constant column both are its value. */
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
    ptrdiff_t column, second; /* raw: the category, and the number of an interaction; else -1 */
} kn_design_block;

/* Writes the blocks of columns of the design (X, Q, each category, each interaction) from left to
 * right to out[0 .. limit-1]. Returns how many there are, which may exceed `limit`. */
int kn_design_blocks(const kn_design *d, kn_design_block *out, int limit);

/* Returns the design as JSON of a model file, all but mean and sd, which are arrays of their own.
 * Owned by the caller; NULL: out of memory. */
json_t *kn_design_to_json(const kn_design *d);

/* mean and sd of the design (C each), borrowed arrays of the same model file. */
typedef struct kn_design_scale {
    ptrdiff_t C;
    const double *mean, *sd;
} kn_design_scale;

/* Reads a design from the JSON of a model file and checks every size, type and range; *out is owned
 * (kn_design_clear). scale is copied; `file` is its name for messages. KN_ERR_FORMAT for anything
 * invalid. */
kn_status kn_design_from_json(kn_ctx *ctx, const char *name, const json_t *json,
                              kn_design_scale scale, kn_design *out);

/* Sets where each raw column is in the design (x and q of every kn_design_column), and F, Fc, Fq
 * and n_constant. Needs kinds, constants, interactions, and q >= 0 where a square is wanted. */
void kn_design_assign_columns(kn_design *d);

#endif
