/* Encodes a table of covariates as numbers: the columns used, categories and their levels, and the
 * treatment of missing values. The encoding is learned from the training table, stored in the
 * model, and applied to other tables by column names, so that their order does not matter.
 *
 * With codes [METHOD 0] every covariate is one column: a numeric column its number, a category the
 * index of its level, 0 to L - 1, which data/covariates/design.h expands. Without codes, for
 * explicit sums of kernels, a numeric column is one column of X, and a category is
 *     2 levels    one column, 1 for the second level
 *     L > 2       L columns, one for each level
 * because the squared exponential kernel depends on distances: with all L indicators every two
 * levels are equally far apart; with L - 1 the omitted level would be closer to the others than
 * they are to each other. That the L columns sum to one does not matter to a Gaussian process. */
#ifndef KN_DATA_COVARIATES_ENCODING_H
#define KN_DATA_COVARIATES_ENCODING_H

#include <jansson.h>

#include "data/covariates/design.h"
#include "data/table/levels.h"
#include "io/table/table.h"

enum {
    KN_ENCODING_MAX = 10000, /* most covariates of one model */
    KN_LEVELS_FEW = 5,       /* a category with more levels may be a site: a warning */
    KN_LEVELS_MANY = 50,     /* a category with this many levels gives a warning */
    KN_LEVEL_ROWS = 5,       /* rows per level that a category needs, on average */
    KN_TWO_VALUED_MAX = 6,   /* most columns with two numbers that are categories by default */
    KN_VALUES_COUNTED = 5    /* distinct values of a column are counted up to this */
};

#define KN_USE_USUAL "usual" /* --use usual: columns with the names of usual covariates */
#define KN_USE_ALL   "all"   /* --use all: all columns but ids, diagnoses and visits */

typedef enum kn_missing {
    KN_MISSING_ERROR = 0, /* an error that names line and column */
    KN_MISSING_DROP = 1,  /* the participant is excluded */
    KN_MISSING_MEAN = 2   /* the mean of the training sample; NaN for a category with codes, without
                             codes an error */
} kn_missing;

typedef enum kn_covariate_kind {
    KN_COVARIATE_NUMERIC = 0,
    KN_COVARIATE_CATEGORY = 1
} kn_covariate_kind;

typedef struct kn_covariate {
    char *name;
    kn_covariate_kind kind;
    double mean;      /* mean in the training sample; numeric only */
    int values;       /* distinct training values, at most KN_VALUES_COUNTED; 0: not known */
    kn_levels levels; /* two or more, with codes one or more; category only */
    bool two_valued;  /* a category by default because it had two numbers, not by an option */
    bool batch; /* a site category: new participants may have further levels; only with codes */
} kn_covariate;

typedef struct kn_encoding {
    ptrdiff_t n;
    kn_covariate *column;
    kn_missing missing; /* callers may change it before kn_encoding_apply */
    bool codes;         /* one column per covariate */
    bool unseen; /* Callers may set it before kn_encoding_apply: with codes, a level that is not in
                    the training sample is code L with a warning instead of an error. Levels of a
                    site category always are; the caller must handle them
                    (commands/score/new_participants.h). */
} kn_encoding;

typedef struct kn_encoding_options {
    /* --use 'a,b*' as typed. KN_USE_USUAL: columns with the names of usual covariates
     * (data/table/column_role.h), and those that the next three options name. KN_USE_ALL: every
     * named column. Both except columns whose names mean a diagnosis or a visit. NULL: KN_USE_USUAL
     * for a table from a file, KN_USE_ALL for data in memory, whose columns the caller chose. */
    const char *use;
    const char *categorical; /* --categorical a,b as typed; NULL: none */
    const char *numeric;     /* --numeric a,b as typed: numeric even with two values; NULL: none */
    const char *batch;       /* --batch a,b|auto|none as typed; NULL: none */
    const char *group;       /* --group COLUMN, never a covariate; NULL: none */
    const char *label;       /* column of --cases, never a covariate; NULL: none */
    const char *session;     /* --session COLUMN, by default not a covariate; NULL: none */
    const char *where; /* --where as typed: a column that it fixes to one value is constant and no
                          covariate; NULL: none */
    kn_missing missing;
    bool codes;
    bool one_file;                /* covariates and responses are one table: `use` is required */
    ptrdiff_t id_col;             /* -1: none */
    const char *const *responses; /* names of responses, never covariates */
    ptrdiff_t n_responses;
    const kn_table *beside; /* table of the responses if it is another one, for messages; or NULL */
    const ptrdiff_t *rows;  /* rows of the training sample; NULL: all */
    ptrdiff_t n_rows;
    bool checked; /* the values were checked before: a fold of a cross-validation */
} kn_encoding_options;

/* Lists the *n columns that are covariates, by {use} or by default, from the header of the table
 * alone. *names is freed with kn_free; its texts are borrowed from the table. KN_ERR_ARGUMENT or
 * KN_ERR_DATA if {use} names a column that does not exist or cannot be a covariate, or if none is
 * left. */
kn_status kn_encoding_names(kn_ctx *ctx, const kn_table *table, const kn_encoding_options *options,
                            const char ***names, ptrdiff_t *n);

/* Returns whether all columns that may be covariates are ({use=all}, or data in memory), rather
 * than only those with the names of usual covariates. */
bool kn_encoding_is_whole(const kn_table *table, const kn_encoding_options *options);

/* Unless {use} lists columns: logs which columns are covariates and which are not. It is a warning
 * if a column that is not used is no diagnosis or visit. */
void kn_encoding_log_names(kn_ctx *ctx, const kn_table *table, const kn_encoding_options *options);
/* Logs one line with the covariates of the encoding and their kinds: "age (number), sex (2 levels:
 * F, M)". */
void kn_encoding_log(kn_ctx *ctx, const kn_table *table, const kn_encoding *encoding);

/* Learns the encoding from the training rows; *out is owned (kn_encoding_clear). A column is a
 * category if {categorical} names it or its cells are text; also if its name means a site or sex
 * and it has whole numbers, and with codes if it has two numbers, unless {numeric} names it or more
 * than KN_TWO_VALUED_MAX columns have two. A category with one level gives a warning; it is left
 * out, or with codes kept, so that another level is recognised as new. KN_ERR_DATA or
 * KN_ERR_ARGUMENT for a table that cannot be encoded. */
kn_status kn_encoding_learn(kn_ctx *ctx, const kn_table *table, const kn_encoding_options *options,
                            kn_encoding *out);
/* Frees the columns and their levels; {0} is allowed. */
void kn_encoding_clear(kn_encoding *encoding);

/* Returns F, the number of columns of X that the covariates are encoded as. */
ptrdiff_t kn_encoding_width(const kn_encoding *encoding);

/* Sets levels[f], for each of the F covariates of an encoding with codes, to the number of levels
 * of a category, or 0 for a number. */
void kn_encoding_levels(const kn_encoding *encoding, int *levels);
/* Sets values[f], for each of the F covariates of an encoding with codes, to the number of distinct
 * training values of a number, counted up to KN_VALUES_COUNTED. */
void kn_encoding_values(const kn_encoding *encoding, int *values);

/* Sets batch[f], for each of the F covariates of an encoding with codes, to whether it is a site
 * category. */
void kn_encoding_batch(const kn_encoding *encoding, bool *batch);

/* Makes the name of column f of X as *out, freed with kn_free: the covariate (age, with codes also
 * site), or without codes "site=Oxford" for a level of a category. */
kn_status kn_encoding_x_name(kn_ctx *ctx, const kn_encoding *encoding, ptrdiff_t f, char **out);

/* Encodes rows[0..n-1] of the table (NULL: rows 0..n-1) as X (n x F). With KN_MISSING_DROP
 * dropped[i] is set if row i has a missing value, and its X is NaN. With the other policies all are
 * false, and dropped may be NULL. KN_ERR_DATA for missing columns, unknown levels and cells that
 * are not numbers. */
kn_status kn_encoding_apply(kn_ctx *ctx, const kn_encoding *encoding, const kn_table *table,
                            const ptrdiff_t *rows, kn_mat X, bool *dropped);

/* Parses --interaction "site:age,sex:age" to pairs of columns of X, of an encoding with codes;
 * text NULL: none. *out is freed with kn_free. Fails if a name is no covariate, the first is no
 * category, the second is not numeric, or one does not vary. */
kn_status kn_encoding_interactions(kn_ctx *ctx, const kn_encoding *encoding, const char *text,
                                   kn_interaction **out, ptrdiff_t *n);

/* Parses --smooth "age,bmi" to a flag per column of X; text NULL: *out is NULL. *out is freed with
 * kn_free. Fails if a name is no covariate. */
kn_status kn_encoding_smooth(kn_ctx *ctx, const kn_encoding *encoding, const char *text,
                             bool **out);

/* Returns the name of a policy for missing covariates as in {missing}: "error", "drop" or "mean".
 */
const char *kn_missing_name(kn_missing missing);
/* Sets *out to the policy that {missing} names ("error", "drop", "mean"). Returns false for another
 * name. */
bool kn_missing_from_name(const char *name, kn_missing *out);

/* Returns whether a model file (JSON) can hold the text: valid UTF-8. kn_encoding_learn rejects
 * other names and levels. */
bool kn_encoding_text_ok(const char *text);

/* Returns the encoding as JSON of a model file. Owned by the caller; NULL: out of memory. */
json_t *kn_encoding_to_json(const kn_encoding *encoding);

/* Fails with KN_ERR_FORMAT if two covariates have the same name. Names are trimmed, so that spaces
 * around them do not make a difference. `path` of the file is for messages. O(n log n). */
kn_status kn_encoding_check_distinct(kn_ctx *ctx, const char *path, const kn_encoding *encoding);

/* Reads an encoding from JSON of a model file and checks every size, type, order and text; *out is
 * owned (kn_encoding_clear). `name` of the file is for messages. KN_ERR_FORMAT for anything
 * invalid. */
kn_status kn_encoding_from_json(kn_ctx *ctx, const char *name, const json_t *json,
                                kn_encoding *out);

#endif
