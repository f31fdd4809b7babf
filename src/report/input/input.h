/* What a page is made of: a model, and a folder that score, cv or change wrote, read into plain
 * arrays. The one door through which report/ sees models and folders.
 *
 * Responses are numbered 0 .. T-1: those in use by the model, in its order; of a folder of cv,
 * which has no one model, all of the folder. People of training are N, those of the folder n. */
#ifndef KN_REPORT_INPUT_INPUT_H
#define KN_REPORT_INPUT_INPUT_H

#include "base/memory/arena.h"
#include "data/response_space.h"
#include "kronorm.h"

typedef enum kn_report_input_kind {
    KN_MATERIAL_MODEL = 0, /* no folder */
    KN_MATERIAL_SCORE = 1, /* by the model: its hash was compared */
    KN_MATERIAL_CV = 2,    /* by models that have not seen them; there is no model */
    KN_MATERIAL_CHANGE = 3 /* people are pairs of visits, z is of change */
} kn_report_input_kind;

typedef struct kn_report_input_column { /* a covariate */
    const char *name;
    bool numeric, batch;
    ptrdiff_t levels; /* of a category: those of training, then those that only the folder has */
    const char *const *level;
    double
        *training;  /* N  number, or place of the level; NaN: missing. NULL: the model has nobody */
    double *scored; /* n  the same; NULL: no folder, or one of change */
} kn_report_input_column;

typedef struct kn_report_input {
    kn_arena arena;
    const kn_model *model; /* lent; NULL: cv */
    kn_report_input_kind kind;
    const char *dir; /* the folder; NULL: none */
    ptrdiff_t N, n, T;
    ptrdiff_t units; /* of training, independent of each other: people, or groups of rows that share
                        noise; 0: no model */
    const ptrdiff_t
        *training_group; /* N  which of them; NULL: each row is alone, or it is not kept */
    const char *const *training_id; /* N; NULL: stripped, or there are none */
    const char *const *id;          /* n  of change "person visit1 to visit2" */
    ptrdiff_t C;
    kn_report_input_column *column; /* C */
    const char *summary_json;       /* of the folder, its text; NULL: no folder */
    const char *model_json;         /* as `info --json` prints it; NULL: cv */
    const char *model_words;        /* as kn_model_words; NULL: cv */
    ptrdiff_t n_dropped;            /* people that the folder says were left out ... */
    const char *const *dropped_id;  /* ... and why */
    const char *const *dropped_why;
    kn_space space;          /* of the T responses: names of a table, voxels of an image */
    const char *const *name; /* T  name of each response: a column, "x,y,z" of a voxel */
    double *y_mean, *y_sd;   /* T  in training, units of the data; NULL: cv */
    bool has_training_z;     /* the model kept the cross-validated maps */
    struct kn_report_input_files *files; /* what is open */
} kn_report_input;

/* model NULL: dir is a folder of cv. dir NULL: the model alone. A folder of score or change that
 * another model wrote is refused by the hash in its summary.json. */
kn_status kn_report_input_open(kn_ctx *ctx, const kn_model *model, const char *dir,
                               kn_report_input *out);
void kn_report_input_clear(kn_report_input *m); /* {0} is fine */

/* A column of abnormality.tsv or change.tsv, else of folds.tsv (cv), else of people.tsv (why, maps,
 * covariates as the model saw them), as n numbers, NaN where n/a; or as n texts. NULL: no such
 * column. */
const double *kn_report_input_people(const kn_report_input *m, const char *name);
const char *const *kn_report_input_texts(const kn_report_input *m, const char *name);
/* Of the N people of training, from the model's reference: statistic, mean_z, negative, positive,
 * deviance, deviance_noise, extrapolation (ascending, nobody's in particular); NaN: not in the
 * reference. Of an exported model all are ascending, and nobody's: spread from quantiles. NULL: not
 * kept. */
const double *kn_report_input_training(const kn_report_input *m, const char *name);
/* A column of metrics.tsv, T numbers: R2, MSLL, z2 ...; from maps where there is no table. NULL:
 * there is none. */
const double *kn_report_input_responses(const kn_report_input *m, const char *name);

/* z (T floats, NaN where missing) of person i of the folder; ascending i read a file once. */
kn_status kn_report_input_z(kn_ctx *ctx, kn_report_input *m, ptrdiff_t i, float *z);
/* The cross-validated z of person i of training; all NaN where there is none. */
kn_status kn_report_input_training_z(kn_ctx *ctx, kn_report_input *m, ptrdiff_t i, float *z);

/* How the method of the model is told in a methods section: "title", "words", "cite" or "paper" of
 * its row; NULL of cv. */
const char *kn_report_input_method(const kn_report_input *m, const char *what);

/* ---- curves [METHOD 8f] ------------------------------------------------------------------------
 */

enum { KN_MATERIAL_CENTILES = 5, KN_MATERIAL_GRID = 60 };
extern const double kn_report_input_centile[KN_MATERIAL_CENTILES]; /* 5, 25, 50, 75, 95 */

typedef struct kn_report_input_curve { /* one response at one combination of levels */
    const char *label;                 /* "sex=F,site=mean": where the other covariates are */
    const char *level; /* of the category that is drawn: "F"; "" where there is one curve */
    double *x;         /* GRID */
    double *value[KN_MATERIAL_CENTILES]; /* GRID each, units of the data */
    double *low[KN_MATERIAL_CENTILES], *high[KN_MATERIAL_CENTILES]; /* 95 % band; NULL: none */
    double *extrapolation; /* GRID  percentile among training; NaN: not known */
} kn_report_input_curve;

typedef struct kn_report_input_points { /* people at the covariates of the curves: z decides the
                                         * height
                                         */
    ptrdiff_t n;
    double *x, *value, *z; /* n  NaN where he has none */
    int *curve;            /* n  which curve is his; -1: none */
} kn_report_input_points;

typedef struct kn_report_input_response {
    ptrdiff_t response; /* 0 .. T-1 */
    ptrdiff_t curves;
    kn_report_input_curve *curve;
    kn_report_input_points training, scored; /* n = 0: none */
} kn_report_input_response;

/* The covariate that curves are over: `over`, or NULL: the numeric covariate called age, else
 * another age, else the one along which predictions move the most: the variance of the mean along
 * its curves over that of the response, summed over responses. *out NULL: there is none, as of cv
 * and of models without names of covariates. */
kn_status kn_report_input_over(kn_ctx *ctx, const kn_report_input *m, const char *over,
                               const char **out);
/* S responses, ascending; out: S rows in the material's arena. z of everybody at these responses is
 * read once. Not for cv; for change without scored points. */
kn_status kn_report_input_curves(kn_ctx *ctx, kn_report_input *m, const char *over,
                                 const ptrdiff_t *response, ptrdiff_t S,
                                 kn_report_input_response *out);

#endif
