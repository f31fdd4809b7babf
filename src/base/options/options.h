/* Options of the commands: kn_options (kronorm.h) holds texts by key for callers, kn_settings typed
 * values for the library. Both are generated from src/options.def, where every option is one row.
 * A command calls kn_settings_of and then the checks. */
#ifndef KN_BASE_OPTIONS_OPTIONS_H
#define KN_BASE_OPTIONS_OPTIONS_H

#include <stdint.h>

#include "base/context.h"

/* Values of CHOICE options: the index of the word in the row of options.def. */
typedef enum kn_noise {
    KN_NOISE_STRUCTURED = 0,
    KN_NOISE_ISO = 1,
    KN_NOISE_WHITENED = 2,
    KN_NOISE_AUTO = 3
} kn_noise;
typedef enum kn_likelihood { KN_EXACT = 0, KN_PAPER = 1 } kn_likelihood;
typedef enum kn_optimiser { KN_NESTED = 0, KN_TNEWTON = 1, KN_LBFGS = 2 } kn_optimiser;
typedef enum kn_task_scale { KN_TASK_SCALE_NONE = 0, KN_TASK_SCALE_SQRTN = 1 } kn_task_scale;
typedef enum kn_unseen { KN_UNSEEN_ERROR = 0, KN_UNSEEN_PRIOR = 1 } kn_unseen;
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
typedef enum kn_outlier_rule {
    KN_OUTLIERS_MISSING = 0,
    KN_OUTLIERS_KEEP = 1,
    KN_OUTLIERS_ERROR = 2
} kn_outlier_rule;
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
enum { KN_NUMBERS_MAX = 64 }; /* longest list of numbers */

/* The C type of a field, by the type of its row. */
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

/* One field for each row, and below it inputs that have no text form. All pointers are borrowed. */
typedef struct kn_settings {
#define KN_ROW(field, key, type, ...) KN_FIELD_##type field;
#include "options.def"
    kn_view basis_view;        /* T x P basis; data NULL: principal components */
    const double *theta_start; /* n_theta_start numbers of the option `theta`, or NULL */
    int n_theta_start;
    const int *groups; /* N group numbers of repeated measures, or NULL: rows of one group are in
                        * the same fold and share noise in the additive model */
    /* types of the covariates, data/covariates/design.h; NULL: all are numeric */
    const struct kn_design_options *design;
    const bool *smooth_columns;   /* per covariate: does `smooth` name it? NULL: all numeric ones */
    const ptrdiff_t *table_order; /* N: participant at each place of the table; NULL: in order */
    const ptrdiff_t *row_order;   /* N: participant at each place of the canonical order, in which
                                   * folds and subsamples are drawn; NULL: in order */
    bool
        any_response_order; /* the responses are columns of a table or array, and not places of an
                             * image: with row_order samples of them do not depend on their order */
    int product_side; /* kn_product_side, data/responses/responses.h: by size, except in tests */
} kn_settings;

/* Sets all defaults of the table. */
void kn_settings_init(kn_settings *settings);

/* Sets the values that the method implies, and the defaults that depend on other settings. */
void kn_settings_apply_defaults(kn_settings *settings);

/* Returns whether the sample kernel is the additive model over the encoded covariates (additive,
 * additive+iso), and not an explicit sum of kernels. */
bool kn_settings_additive(const kn_settings *settings);

/* Sets threads and memory of the context to those of the settings, if given. Returns the previous
 * values, which the caller restores by kn_resources_restore at the end of the call. */
kn_resources kn_settings_resources(kn_ctx *ctx, const kn_settings *settings);

/* KN_ERR_ARGUMENT if a value is out of range: "folds is 1, expected 0 or at least 2". */
kn_status kn_settings_check_ranges(kn_ctx *ctx, const kn_settings *settings);
/* KN_ERR_ARGUMENT if the method cannot use a setting. */
kn_status kn_settings_check_method(kn_ctx *ctx, const kn_settings *settings);

/* Fills *out with the values of `options`, preset and defaults applied; options NULL: the
 * defaults. KN_ERR_ARGUMENT if the options are of another command than `command` (NULL: any), or
 * if a given key has no meaning with the method. Texts and numbers of *out are borrowed from
 * `options`. */
kn_status kn_settings_of(kn_ctx *ctx, const kn_options *options, const char *command,
                         kn_settings *out);

/* Returns a hash of the settings on which the results of `command` depend; without paths, seed,
 * threads, memory and the like. Job parts compare it when they are joined. */
uint64_t kn_settings_hash_results(const kn_settings *settings, const char *command);

/* Returns the name of the command that the options are for. */
const char *kn_options_command(const kn_options *options);

/* Iterates over the options that the model file stores: sets key and value (borrowed) of the
 * i-th; false if there are no more. */
bool kn_options_remembered(const kn_options *options, int i, const char **key, const char **value);

struct kn_option_row;
/* Iterates over the options that were given: sets row and text (borrowed) of the i-th; false if
 * there are no more. */
bool kn_options_given(const kn_options *options, int i, const struct kn_option_row **row,
                      const char **value);

/* Parses a comma-separated list of at most KN_NUMBERS_MAX numbers into out. Returns the count, -1
 * if it is not such a list. */
int kn_list_numbers(const char *text, double *out);
/* Parses a comma-separated list of words: bit k of *bits is set if the k-th of `words` ("a|b|c") is
 * in it. False if an item is not among the words. */
bool kn_list_bits(const char *text, const char *words, unsigned *bits);

/* ---- table of options ------------------------------------------------------------------------ */

/* The rows of src/options.def as a table, and the parser from text to value. */

enum { KN_KEPT_MODEL = 1 }; /* bit of kn_option_row.kept: the model file stores the option */

/* The types are explained in options.def. */
typedef enum kn_row_type {
    KN_ROW_FLAG,
    KN_ROW_TEXT,
    KN_ROW_WORD,
    KN_ROW_CHOICE,
    KN_ROW_INT,
    KN_ROW_COUNT,
    KN_ROW_UINT64,
    KN_ROW_NUMBER,
    KN_ROW_SIZE,
    KN_ROW_LIST,
    KN_ROW_SUM,
    KN_ROW_NUMBERS,
    KN_ROW_COUNTS
} kn_row_type;

typedef struct kn_option_row { /* the columns of options.def, in their order */
    const char *key;
    kn_row_type type;
    const char *text; /* default; NULL: none */
    bool (*in_range)(const kn_settings *s);
    const char *expected, *words; /* range in words; accepted words "a|b|c"; NULL: none */
    char letter;                  /* short option; 0: none */
    const char *value;            /* name of the value in the help; NULL: words */
    unsigned commands;            /* bits 1 << index in kn_option_commands */
    const char *heading;
    unsigned kept; /* KN_KEPT_MODEL or 0 */
    const char *help;
    size_t at; /* offset of the field in kn_settings */
} kn_option_row;

enum {
    KN_OPTION_ROWS = 0
#define KN_ROW(...) +1
#include "options.def"
};

extern const kn_option_row kn_option_rows[KN_OPTION_ROWS];

enum {
    KN_N_COMMANDS = 0
#define KN_COMMAND(...) +1
#include "options.def"
};
extern const char *const kn_option_commands[KN_N_COMMANDS];

/* What the help of one command says about a row. */
typedef struct kn_option_help {
    const char *value, *words, *help;
} kn_option_help;
/* Returns what the help of one command (its bit) says about a row: the row's own texts, or those
 * of KN_HELP. */
kn_option_help kn_option_help_of(const kn_option_row *r, unsigned command);

/* Parses `text` into the field of the row r in s. False if the row does not accept it; the field
 * may have changed then. Text fields borrow `text`. */
bool kn_option_parse(const kn_option_row *r, const char *text, kn_settings *s);
/* Returns KN_ERR_ARGUMENT with a message that says what the row accepts. */
kn_status kn_option_refuse(kn_ctx *ctx, const kn_option_row *r, const char *text);

#endif
