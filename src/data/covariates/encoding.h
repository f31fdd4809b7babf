/* How a table of covariates becomes X: chosen columns, categories and their levels, what to do
 * about missing values. Learned from the training table, kept in the model, and applied to any
 * other table by the names of its columns, so that their order does not matter.
 *
 * With codes [METHOD 0] every covariate is one column: a numeric column its number, a category the
 * place of its level, 0 to L - 1, which data/covariates/design.h spreads out. Without, for explicit
 * sums of kernels, a numeric column is one column of X, and a category is 2 levels    one column, 1
 * for the second level L > 2       L columns, one for each level because the squared exponential
 * kernel sees distances: with all L indicators every two levels of a category are equally far
 * apart, with L - 1 the left-out one would be closer to the others than they are to each other.
 * That the L columns sum to one does no harm to a Gaussian process. */
#ifndef KN_DATA_COVARIATES_ENCODING_H
#define KN_DATA_COVARIATES_ENCODING_H

#include <jansson.h>

#include "data/covariates/design.h"
#include "data/table/levels.h"
#include "io/table/table.h"

enum {
    KN_ENCODING_MOST = 10000, /* covariates */
    KN_COLUMNS_UNCHOSEN = 20, /* columns of a table that may all be covariates without --use */
    KN_LEVEL_ROWS = 5,        /* rows that a level needs, on average */
    KN_TWO_VALUED_MOST = 6,   /* columns of two numbers that are categories by default */
    KN_VALUES_COUNTED = 5     /* different values of a column are counted up to here */
};

typedef enum kn_missing {
    KN_MISSING_ERROR = 0, /* names line and column */
    KN_MISSING_DROP = 1,  /* the row is left out */
    KN_MISSING_MEAN = 2   /* the mean in training; a category is NaN as a code, else an error */
} kn_missing;

typedef enum kn_covariate_kind {
    KN_COVARIATE_NUMERIC = 0,
    KN_COVARIATE_CATEGORY = 1
} kn_covariate_kind;

typedef struct kn_covariate {
    char *name;
    kn_covariate_kind kind;
    double mean;      /* in training; of a numeric column */
    int values;       /* different ones in training, at most KN_VALUES_COUNTED; 0: not known */
    kn_levels levels; /* two or more, as codes one or more; of a category */
    bool two_valued;  /* a category because it had two numbers, not because anybody said so */
    bool batch;       /* a category that new people may have further levels of; with codes */
} kn_covariate;

typedef struct kn_encoding {
    ptrdiff_t n;
    kn_covariate *column;
    kn_missing missing; /* a caller may change it before applying */
    bool codes;         /* one column a covariate */
    bool unseen; /* a caller may set it before applying: with codes, a level that training did not
                  * have is code L, with a warning, and no error; of a batch it always is, and
                  * whoever applies the recipe looks at it (commands/score/new_participants.h) */
} kn_encoding;

typedef struct kn_encoding_options {
    const char *use; /* --use 'a,b*' as typed; NULL: every named column but those below, and those
                      * that by their name say who is a patient or which visit it was */
    const char *categorical; /* --categorical a,b as typed; NULL: none */
    const char *numeric;     /* --numeric a,b as typed: numbers though they have two values */
    const char *batch;       /* --batch a,b|auto|none as typed; NULL: none */
    const char *group;       /* --group COLUMN: no covariate; NULL: none */
    const char *label;       /* the column of --label: no covariate; NULL: none */
    const char *session;     /* --session COLUMN: none by default; NULL: no such column */
    const char *where; /* rows were chosen by; a column that it holds to one value tells nothing */
    kn_missing missing;
    bool codes;
    bool one_file;                /* covariates and responses are one table: `use` is required */
    ptrdiff_t id_col;             /* -1: none */
    const char *const *responses; /* names of responses chosen already: never covariates */
    ptrdiff_t n_responses;
    const ptrdiff_t *rows; /* that training uses; NULL: all */
    ptrdiff_t n_rows;
} kn_encoding_options;

/* *names = the columns that are to be covariates, by `use` or by default, as the table's own
 * texts. Only the header is looked at. Free with kn_free. */
kn_status kn_encoding_names(kn_ctx *ctx, const kn_table *table, const kn_encoding_options *options,
                            const char ***names, ptrdiff_t *n);

/* Says which columns are left out by default, and what the covariates are. */
void kn_encoding_tell_names(kn_ctx *ctx, const kn_table *table, const kn_encoding_options *options);
void kn_encoding_log(kn_ctx *ctx, const kn_table *table, const kn_encoding *recipe);

/* A column is a category when it is in `categorical` or when its cells are text; with codes also
 * when it is named like a site and has whole numbers, or has two numbers, unless it is in `numeric`
 * or more than KN_TWO_VALUED_MOST columns do. A category with one level gives a warning; it is left
 * out, or with codes kept, so that another level of it is known to be another. */
kn_status kn_encoding_learn(kn_ctx *ctx, const kn_table *table, const kn_encoding_options *options,
                            kn_encoding *out);
void kn_encoding_clear(kn_encoding *recipe); /* {0} is fine */

ptrdiff_t kn_encoding_width(const kn_encoding *recipe); /* F, columns of X */

/* With codes: levels[f] = L of a category, 0 of a numeric column; values[f] as in kn_covariate. */
void kn_encoding_levels(const kn_encoding *recipe, int *levels);
void kn_encoding_values(const kn_encoding *recipe, int *values);

/* With codes: batch[f]. */
void kn_encoding_batch(const kn_encoding *recipe, bool *batch);

/* *out = name of column f of X: age, site=Oxford, as a code site. Free with kn_free. */
kn_status kn_encoding_x_name(kn_ctx *ctx, const kn_encoding *recipe, ptrdiff_t f, char **out);

/* X (n x F) = rows[0..n-1] of the table (NULL: rows 0..n-1). With KN_MISSING_DROP dropped[i] says
 * that row i has a missing value: its X is NaN. With the other policies all are false, and NULL
 * will do. */
kn_status kn_encoding_apply(kn_ctx *ctx, const kn_encoding *recipe, const kn_table *table,
                            const ptrdiff_t *rows, kn_mat X, bool *dropped);

/* *out = pairs of columns of X from "site:age,sex:age" as --interaction takes it, of a recipe with
 * codes. Refuses names that are no covariates, a first that is no category, a second that is no
 * number, and what does not vary. NULL: none. Free with kn_free. */
kn_status kn_encoding_interactions(kn_ctx *ctx, const kn_encoding *recipe, const char *text,
                                   kn_interaction **out, ptrdiff_t *n);

/* *out = which columns of X are named in "age,bmi" as --smooth takes it; NULL: none is. Refuses
 * names that are no covariates. Free with kn_free. */
kn_status kn_encoding_smooth(kn_ctx *ctx, const kn_encoding *recipe, const char *text, bool **out);

const char *kn_missing_name(kn_missing missing);              /* as --missing takes it */
bool kn_missing_from_name(const char *name, kn_missing *out); /* false: there is none */

/* What a JSON text can hold: UTF-8. Learning refuses names and levels that are not. */
bool kn_encoding_text_ok(const char *text);

json_t *kn_encoding_to_json(const kn_encoding *recipe); /* NULL: out of memory */

/* Refuses two covariates of one name; `path` of the file, for the sentence. */
kn_status kn_encoding_check_distinct(kn_ctx *ctx, const char *path, const kn_encoding *recipe);

/* Believes nothing: every size, type, order and text is checked. `name` of the file, for the
 * sentence. */
kn_status kn_encoding_from_json(kn_ctx *ctx, const char *name, const json_t *json,
                                kn_encoding *out);

#endif
