/* Options: texts by key for callers, a struct of typed values for the library. Both come from
 * src/options.def, where every option is one row. */
#ifndef KN_BASE_OPTIONS_OPTIONS_H
#define KN_BASE_OPTIONS_OPTIONS_H

#include <stdint.h>

#include "base/context.h"

/* Choices by their place among the words of their row. */
typedef enum kn_noise {
    KN_NOISE_STRUCTURED = 0,
    KN_NOISE_ISO = 1,
    KN_NOISE_WHITENED = 2,
    KN_NOISE_AUTO = 3
} kn_noise;
typedef enum kn_likelihood { KN_EXACT = 0, KN_PAPER = 1 } kn_likelihood;
typedef enum kn_optimiser { KN_NESTED = 0, KN_TNEWTON = 1, KN_LBFGS = 2 } kn_optimiser;
typedef enum kn_task_scale { KN_TASK_SCALE_NONE = 0, KN_TASK_SCALE_SQRTN = 1 } kn_task_scale;
typedef enum kn_unseen { KN_UNSEEN_REFUSE = 0, KN_UNSEEN_PRIOR = 1 } kn_unseen;
typedef enum kn_training_rows { KN_TRAINING_CV = 0, KN_TRAINING_PLAIN = 1 } kn_training_rows;
typedef enum kn_format {
    KN_FORMAT_TRAINED = 0,
    KN_FORMAT_NII = 1,
    KN_FORMAT_CSV = 2,
    KN_FORMAT_NPY = 3
} kn_format;
typedef enum kn_missing_responses {
    KN_RESPONSES_FILL = 0,
    KN_RESPONSES_DROP = 1
} kn_missing_responses;
typedef enum kn_basis_axes { KN_AXES_PRINCIPAL = 0, KN_AXES_GIVEN = 1 } kn_basis_axes;
typedef enum kn_on { KN_ON_COMPONENTS = 0, KN_ON_RESPONSES = 1 } kn_on;
typedef enum kn_inducing {
    KN_INDUCING_VARIATIONAL = 0,
    KN_INDUCING_PITC = 1,
    KN_INDUCING_NONE = 2
} kn_inducing;
typedef enum kn_widths { KN_WIDTHS_OWN = 0, KN_WIDTHS_SHARED = 1 } kn_widths;
enum { KN_RANK_AUTO = 0, KN_RANK_FULL = -1, KN_COMPONENTS_AUTO = 0 };
enum { KN_SHRINKAGE_AUTO = -1, KN_SHRINKAGE_INF = -2 };
enum { KN_NUMBERS_MOST = 64 }; /* in a list of them */

#define KN_FIELD_FLAG    bool
#define KN_FIELD_TEXT    const char *
#define KN_FIELD_WORD    const char *
#define KN_FIELD_CHOICE  int
#define KN_FIELD_INT     int
#define KN_FIELD_COUNT   int
#define KN_FIELD_UINT64  uint64_t
#define KN_FIELD_NUMBER  double
#define KN_FIELD_SIZE    double
#define KN_FIELD_LIST    const char *
#define KN_FIELD_SUM     const char *
#define KN_FIELD_NUMBERS const char *
#define KN_FIELD_COUNTS  const char *

/* A field for each row, and what no text can say. */
typedef struct kn_settings {
#define KN_ROW(field, key, type, ...) KN_FIELD_##type field;
#include "options.def"
    kn_view basis_view;        /* T x P basis; data NULL: principal components */
    const double *theta_start; /* `theta` as numbers, or NULL */
    int n_theta_start;
    const int *groups; /* N numbers, or NULL: samples with the same one never part between folds,
                        * and share noise in the additive model */
    /* which covariates are categories and so on, data/covariates/design.h; NULL: numbers alone */
    const struct kn_design_options *design;
    const bool
        *smooth_columns; /* of the covariates: those that `smooth` names; NULL: all numbers */
    const ptrdiff_t *table_order; /* N  the sample at each place of the table; NULL: in order */
} kn_settings;

void kn_settings_init(kn_settings *settings); /* the defaults */

/* What the method leaves no choice in, and the defaults that depend on other settings. */
void kn_settings_apply_defaults(kn_settings *settings);

/* The additive model, of covariates as codes, and not an explicit sum of kernels. */
bool kn_settings_additive(const kn_settings *settings);

/* Threads and memory as the settings have them, where they do; returns what the context had, to be
 * put back when the call is over. */
kn_resources kn_settings_resources(kn_ctx *ctx, const kn_settings *settings);

/* Ranges: "folds is 1, expected 0 or at least 2". */
kn_status kn_settings_check_ranges(kn_ctx *ctx, const kn_settings *settings);
/* What the method has no use for. */
kn_status kn_settings_check_method(kn_ctx *ctx, const kn_settings *settings);

/* `options` with their preset worked in; NULL: the defaults. Refuses options of another command
 * than `command` (NULL: any), and keys that say nothing with the method. Texts and numbers are
 * lent. */
kn_status kn_settings_of(kn_ctx *ctx, const kn_options *options, const char *command,
                         kn_settings *out);

/* Of everything that results of `command` depend on beside its files: not of paths, nor of what
 * threads and memory it may take. */
uint64_t kn_settings_hash_results(const kn_settings *settings, const char *command);

const char *kn_options_command(const kn_options *options);

/* The options that a model remembers, one after the other: key and value of the i-th, or
 * false when there are no more. */
bool kn_options_remembered(const kn_options *options, int i, const char **key, const char **value);

struct kn_option_row;
/* The options that were given, one after the other: the row and the text of the i-th, or false when
 * there are no more. */
bool kn_options_given(const kn_options *options, int i, const struct kn_option_row **row,
                      const char **value);

/* A list as numbers, KN_NUMBERS_MOST at most; how many, or -1. */
int kn_list_numbers(const char *text, double *out);
/* The places in `words` ("a|b|c") of the texts of a list, as bits; false: one of them is not there.
 */
bool kn_list_bits(const char *text, const char *words, unsigned *bits);

#endif
