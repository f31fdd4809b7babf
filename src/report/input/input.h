/* The input of a page: a model and a folder written by score, cv or change, read into plain
 * arrays. This is the only interface through which report/ accesses models and folders.
 *
 * Responses are numbered 0 .. T-1: those used by the model, in its order; for a cv folder, which
 * has no single model, all responses of the folder. N training participants, n participants of
 * the folder. */
#ifndef KN_REPORT_INPUT_INPUT_H
#define KN_REPORT_INPUT_INPUT_H

#include "base/memory/alloc.h"
#include "data/response_space.h"
#include "kronorm.h"

typedef enum kn_report_input_kind {
    KN_INPUT_MODEL = 0, /* no folder */
    KN_INPUT_SCORE = 1, /* scored by this model: the model hash was compared */
    KN_INPUT_CV = 2,    /* cross-validated z-scores; no model */
    KN_INPUT_CHANGE = 3 /* rows are pairs of visits, z is the z-score of change */
} kn_report_input_kind;

typedef struct kn_report_input_column { /* a covariate */
    const char *name;
    bool numeric, batch;
    ptrdiff_t levels; /* categorical: levels of training, then those only in the folder */
    const char *const *level;
    /* N  number, or index of the level; NaN: missing. NULL: the model has no participants. */
    double *training;
    double *scored; /* n  likewise; NULL: no folder, or a change folder */
} kn_report_input_column;

typedef struct kn_report_input {
    kn_arena arena;
    const kn_model *model; /* borrowed; NULL: cv */
    kn_report_input_kind kind;
    const char *dir; /* the folder; NULL: none */
    ptrdiff_t N, n, T;
    /* Independent units of training: participants, or groups of rows that share noise; 0: no
     * model. */
    ptrdiff_t units;
    /* N  unit of each row; NULL: each row is its own unit, or units were not kept. */
    const ptrdiff_t *training_group;
    const char *const *training_id; /* N; NULL: de-identified, or none */
    const char *const *id;          /* n  for change "person visit1 to visit2" */
    ptrdiff_t C;
    kn_report_input_column *column; /* C */
    const char *summary_json;       /* text of the folder's summary.json; NULL: no folder */
    const char *model_json;         /* output of `info --json`; NULL: cv */
    const char *model_words;        /* output of kn_model_words; NULL: cv */
    ptrdiff_t n_excluded;           /* participants that the folder lists as excluded ... */
    const char *const *excluded_id; /* ... and the reasons */
    const char *const *excluded_reason;
    kn_space space;          /* of the T responses: names of columns, or voxels of an image */
    const char *const *name; /* T  name of a column, or "x,y,z" of a voxel */
    double *y_mean, *y_sd;   /* T  mean and sd in training, original units; NULL: cv */
    bool has_training_z;     /* the model kept the cross-validated z-maps */
    struct kn_report_input_files *files; /* open files, owned */
} kn_report_input;

/* Opens the input. model NULL: dir is a cv folder. dir NULL: the model alone. Fails if a score
 * or change folder was written by another model (hash in its summary.json). model is borrowed. */
kn_status kn_report_input_open(kn_ctx *ctx, const kn_model *model, const char *dir,
                               kn_report_input *out);
/* Frees everything that m owns and sets it to {0}; the model is borrowed. {0} is allowed. */
void kn_report_input_clear(kn_report_input *m);

/* Returns a column of numbers, one per participant of the folder (n; NaN for n/a), borrowed; NULL:
 * no such column. Searched in abnormality.tsv or change.tsv, then folds.tsv (cv), then
 * scored_participants.tsv (reasons, maps, covariates as the model used them). */
const double *kn_report_input_participants(const kn_report_input *m, const char *name);
/* Returns the same column as n texts, borrowed; NULL: no such column. Searched as by
 * kn_report_input_participants. */
const char *const *kn_report_input_texts(const kn_report_input *m, const char *name);
/* Returns a statistic of the N training participants from the model's reference sample:
 * statistic, mean_z, negative, positive, deviance, deviance_noise, extrapolation (ascending, not
 * in participant order); NaN: not in the reference sample. In an exported model all are
 * ascending and interpolated from quantiles. NULL: not kept. */
const double *kn_report_input_training(const kn_report_input *m, const char *name);
/* Returns a column of metrics.tsv as T numbers: R2, MSLL, z2 ...; from maps if there is no
 * table. NULL: no such column. */
const double *kn_report_input_responses(const kn_report_input *m, const char *name);

/* Reads the z-map (T floats, NaN: missing) of participant i of the folder. Each file is read
 * once if i ascends. */
kn_status kn_report_input_z(kn_ctx *ctx, kn_report_input *m, ptrdiff_t i, float *z);
/* Reads the cross-validated z-map (T floats, NaN: missing) of training participant i from the
 * model; all NaN if it is not kept. Fails only if cancelled. */
kn_status kn_report_input_training_z(kn_ctx *ctx, kn_report_input *m, ptrdiff_t i, float *z);

/* Returns a text about the model's method for the methods section: "title", "words", "cite" or
 * "paper"; NULL for cv. */
const char *kn_report_input_method(const kn_report_input *m, const char *what);

/* ---- curves [METHOD 8f] ---- */

enum { KN_INPUT_CENTILES = 5, KN_INPUT_GRID = 60 };
extern const double kn_report_input_centile[KN_INPUT_CENTILES]; /* 5, 25, 50, 75, 95 */

typedef struct kn_report_input_curve { /* one response at one combination of levels */
    const char *label;                 /* values of the other covariates: "sex=F,site=mean" */
    const char *level;                 /* level of the drawn category: "F"; "" for a single curve */
    double *x;                         /* GRID */
    double *value[KN_INPUT_CENTILES];  /* GRID each, original units */
    double *low[KN_INPUT_CENTILES], *high[KN_INPUT_CENTILES]; /* 95 % band; NULL: none */
    double *extrapolation; /* GRID  percentile in the training sample; NaN: not known */
} kn_report_input_curve;

/* Participants placed at the covariates of the curves: the z-score determines the height. */
typedef struct kn_report_input_points {
    ptrdiff_t n;
    double *x, *value, *z; /* n  NaN: not available */
    int *curve;            /* n  index of the participant's curve; -1: none */
} kn_report_input_points;

typedef struct kn_report_input_response {
    ptrdiff_t response; /* 0 .. T-1 */
    ptrdiff_t curves;
    kn_report_input_curve *curve;
    kn_report_input_points training, scored; /* n = 0: none */
} kn_report_input_response;

/* Chooses the covariate on the x axis of the curves: `over`, or if NULL the numeric covariate
 * called age, else another age, else the one along which predictions vary the most: variance of
 * the mean along its curves over that of the response, summed over responses. *out NULL: there
 * is none, as for cv and for models without covariate names. */
kn_status kn_report_input_choose_over(kn_ctx *ctx, const kn_report_input *m, const char *over,
                                      const char **out);
/* Computes the curves of S responses (ascending); out: S rows, arrays in the arena of m. Reads
 * the z-scores of all participants at these responses once. Not for cv; for change without
 * scored points. */
kn_status kn_report_input_curves(kn_ctx *ctx, kn_report_input *m, const char *over,
                                 const ptrdiff_t *response, ptrdiff_t S,
                                 kn_report_input_response *out);

#endif
