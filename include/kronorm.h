/* kronorm: normative modelling of whole brain maps with multi-task Gaussian processes.
 *
 * Conventions
 *   N samples, T responses (voxels, vertices, regions), F covariates, P basis functions.
 *   kn_view  what you pass in: read only, double or float, any strides. Inputs are never modified.
 *   kn_mat   what you get back: column-major doubles, `ld` elements from one column to the next.
 *   A handle returned by the library is opaque; free it with the matching _free, which accepts
 * NULL. A call that fails returns a status other than KN_OK, leaves its output handles NULL, and
 * puts one sentence in kn_message(ctx). The library never prints, exits or keeps global state. A
 * context belongs to one thread at a time; different threads use different contexts. A model is
 * immutable and may be shared between threads.
 */
#ifndef KRONORM_H
#define KRONORM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define KN_API __attribute__((visibility("default")))
#else
#define KN_API
#endif

#define KN_VERSION_MAJOR 0
#define KN_VERSION_MINOR 1
#define KN_VERSION_PATCH 0

KN_API const char *kn_version(void); /* "0.1.0" */

/* ---- status ------------------------------------------------------------------------------- */

typedef enum kn_status { /* values are part of the binary interface: never renumbered */
                         KN_OK = 0,
                         KN_ERR_ARGUMENT = 1, /* an option is out of range or contradicts another */
                         KN_ERR_SHAPE = 2,    /* sizes that should agree do not */
                         KN_ERR_DATA =
                             3, /* the values given cannot be used: not finite, constant, too few */
                         KN_ERR_NUMERIC = 4, /* a factorisation or an optimiser failed */
                         KN_ERR_MEMORY = 5,  /* memory ran out, or would */
                         KN_ERR_CANCELLED =
                             6,            /* kn_cancel came before there was anything to return */
                         KN_ERR_IO = 7,    /* a file could not be read or written */
                         KN_ERR_FORMAT = 8 /* a file is not what it should be */
} kn_status;

KN_API const char *kn_status_name(kn_status status);

/* ---- context ------------------------------------------------------------------------------ */

typedef struct kn_ctx kn_ctx;

typedef enum kn_log_level { KN_LOG_DETAIL = 0, KN_LOG_INFO = 1, KN_LOG_WARNING = 2 } kn_log_level;

typedef struct kn_progress {
    const char *stage; /* "basis", "search", "fit", "cross-validation", ... */
    ptrdiff_t done;    /* evaluations, folds or blocks finished in this stage */
    ptrdiff_t total;   /* how many there will be; 0 when that is not known */
    double lml;        /* best log marginal likelihood so far, NaN where it has no meaning */
} kn_progress;

typedef void (*kn_log_fn)(void *user, kn_log_level level, const char *message);
typedef void (*kn_progress_fn)(void *user, const kn_progress *progress);

KN_API kn_ctx *kn_ctx_new(void); /* NULL when memory is out */
KN_API void kn_ctx_free(kn_ctx *ctx);
KN_API const char *kn_message(const kn_ctx *ctx); /* of the last failure; "" when there was none */
KN_API void kn_set_log(kn_ctx *ctx, kn_log_fn log, void *user);
KN_API void kn_set_progress(kn_ctx *ctx, kn_progress_fn progress, void *user);
KN_API void kn_set_threads(kn_ctx *ctx, int threads); /* 0: all processors it may run on */
KN_API int kn_threads(const kn_ctx *ctx);
/* Bytes that the work may hold; 0: half of what the machine, or the container or batch job, has.
 * Responses that are read from files and find no room go to kn_inputs.scratch; what cannot be done
 * even so is refused. */
KN_API void kn_set_memory(kn_ctx *ctx, size_t bytes);
KN_API size_t kn_memory(const kn_ctx *ctx);
KN_API void kn_cancel(kn_ctx *ctx);       /* from any thread or a signal handler */
KN_API void kn_cancel_clear(kn_ctx *ctx); /* make the context usable again */

/* ---- matrices ----------------------------------------------------------------------------- */

typedef enum kn_type { KN_F64 = 0, KN_F32 = 1 } kn_type;

typedef struct kn_view { /* read-only values of the caller; strides count elements */
    const void *data;
    kn_type type;
    ptrdiff_t rows, cols;
    ptrdiff_t row_stride, col_stride;
} kn_view;

typedef struct kn_mat { /* column-major doubles: element (i, j) is data[i + j * ld] */
    double *data;
    ptrdiff_t rows, cols, ld;
} kn_mat;

static inline kn_view kn_view_cols(const double *data, ptrdiff_t rows, ptrdiff_t cols)
{
    kn_view v = {data, KN_F64, rows, cols, 1, rows};
    return v;
}

static inline kn_view kn_view_rows(const double *data, ptrdiff_t rows, ptrdiff_t cols)
{
    kn_view v = {data, KN_F64, rows, cols, cols, 1};
    return v;
}

static inline kn_view kn_view_rows_f32(const float *data, ptrdiff_t rows, ptrdiff_t cols)
{
    kn_view v = {data, KN_F32, rows, cols, cols, 1};
    return v;
}

static inline kn_mat kn_mat_cols(double *data, ptrdiff_t rows, ptrdiff_t cols)
{
    kn_mat m = {data, rows, cols, rows};
    return m;
}

static inline kn_mat kn_mat_none(void) /* "this output is not wanted" */
{
    kn_mat m = {NULL, 0, 0, 0};
    return m;
}

/* ---- fit ---------------------------------------------------------------------------------- */

typedef enum kn_method_id { KN_SMTGPR = 0, KN_STGPR = 1, KN_KRONPROD = 2 } kn_method_id;
typedef enum kn_noise { KN_NOISE_STRUCTURED = 0, KN_NOISE_ISO = 1 } kn_noise;
typedef enum kn_likelihood { KN_EXACT = 0, KN_PAPER = 1 } kn_likelihood;
typedef enum kn_optimiser { KN_NESTED = 0, KN_TNEWTON = 1, KN_LBFGS = 2 } kn_optimiser;
typedef enum kn_task_scale { KN_TASK_SCALE_NONE = 0, KN_TASK_SCALE_SQRTN = 1 } kn_task_scale;

enum { /* kernels, to be added up: KN_LINEAR | KN_SE */
       KN_LINEAR = 1,
       KN_SE = 2,
       KN_ISO = 4,
       KN_KERNEL_DEFAULT = 0
};

enum { KN_RANK_AUTO = 0, KN_RANK_FULL = -1 };
enum { KN_COMPONENTS_AUTO = 0, KN_MAX_THETA = 49, KN_MAX_CURVE = 16 };

typedef struct kn_fit_options {
    size_t size;              /* sizeof(kn_fit_options) as the caller was compiled; set by _init */
    kn_method_id method;      /* KN_SMTGPR */
    int components;           /* P, or KN_COMPONENTS_AUTO (the default) */
    kn_noise noise;           /* KN_NOISE_STRUCTURED; the paper's model is KN_NOISE_ISO, which
                               * MT-Kronprod implies */
    kn_likelihood likelihood; /* KN_EXACT; KN_PAPER with iso noise only */
    unsigned sample_kernel;   /* sum of kernels on covariates; default linear + se (iso: + iso) */
    unsigned task_kernel;     /* sum of kernels on components or, MT-Kronprod, responses (iso only);
                               * default linear + iso */
    kn_task_scale task_scale; /* divide task features by sqrt(N), iso only */
    kn_view basis;            /* T x P basis of your own; data NULL: principal components */
    kn_optimiser optimiser;   /* KN_NESTED; the joint ones need iso noise */
    int restarts;             /* further starts of the optimiser, 0 */
    int max_evals;            /* -1 no limit; 0 evaluate at the start, do not optimise */
    double max_seconds;       /* 0 no limit; the best point so far is kept */
    const double *theta;      /* start for iso, log standard deviations, n_theta of them, or NULL */
    int n_theta;
    double rho, length; /* start for structured and STGPR; NaN: found by search */
    int standardise;    /* 1: covariates and responses to mean 0, sd 1, undone in predictions */
    int folds;          /* 10: cross-validated reference; 0: none, noise from the training fit */
    uint64_t seed;      /* 1 */
    int plain;  /* STGPR: fit each response alone, all parameters free; slow. theta: start of all */
    double top; /* 0.05: share of the responses behind the abnormality statistic */
    /* S-MTGPR with many samples: R by at most so many pivots (docs/SCALE.md, 3). KN_RANK_AUTO (the
     * default): from 1000 samples on, where fewer than a third of them suffice for a residual of
     * 1e-12; KN_RANK_FULL: never. */
    ptrdiff_t rank;
    const int *groups; /* N numbers, or NULL: samples with the same one never part between folds */
} kn_fit_options;

KN_API void kn_fit_options_init_sized(kn_fit_options *options, size_t size);
#define kn_fit_options_init(options) kn_fit_options_init_sized((options), sizeof(kn_fit_options))

typedef struct kn_model kn_model;

/* X  N x F covariates, Y  N x T responses (row i of both is one sample). Responses that are
 * constant or not finite are left out, counted in the info, and predicted as NaN. When kn_cancel
 * or a limit stops the optimiser the best model so far comes back with KN_OK and info.stop says so.
 */
KN_API kn_status kn_fit(kn_ctx *ctx, kn_view X, kn_view Y, const kn_fit_options *options,
                        kn_model **model);
KN_API void kn_model_free(kn_model *model);

typedef enum kn_stop {
    KN_STOP_CONVERGED = 0, /* projected gradient or change of the likelihood below tolerance */
    KN_STOP_MAX_EVALS = 1,
    KN_STOP_MAX_SECONDS = 2,
    KN_STOP_CANCELLED = 3,
    KN_STOP_LINE_SEARCH = 4, /* no further progress within rounding; see projected_gradient */
    KN_STOP_NOT_OPTIMISED = 5
} kn_stop;

typedef struct kn_cv_summary { /* over the standardised training responses; folds = 0: not made */
    int folds;
    double z2;         /* mean squared z */
    double msll;       /* mean standardised log loss */
    double coverage95; /* share of |z| below 1.96 */
} kn_cv_summary;

typedef struct kn_curve_point { /* one row of the search for the number of components */
    int components;
    double msll, se; /* cross-validated mean standardised log loss and its standard error */
    double lml;      /* grows with P by construction: not for choosing */
} kn_curve_point;

typedef struct kn_fit_info {
    size_t size; /* sizeof(kn_fit_info) as the caller was compiled */
    kn_method_id method;
    kn_noise noise;
    kn_likelihood likelihood;
    ptrdiff_t n_samples, n_covariates, n_responses;
    ptrdiff_t n_left_out;   /* responses constant or not finite in training */
    ptrdiff_t n_constant_x; /* covariates without variation; they carry no information */
    ptrdiff_t n_components;
    ptrdiff_t rank;            /* of the decomposition of R in use; n_samples when dense */
    double lml;                /* log marginal likelihood of the standardised responses */
    int evaluations;           /* decompositions of R at full size */
    int evaluations_subsample; /* the same on the subsample of the grid */
    int evaluations_inner;     /* likelihoods with cached decomposition (iso) */
    kn_stop stop;
    int converged;
    double projected_gradient; /* largest entry, per sample, in the optimiser's parameters */
    double rho, length;        /* structured: R0 = (1-rho) XX'/F + rho SE(length); else NaN */
    int n_theta;               /* iso: parameters in the order of docs/numerics.md */
    double theta[KN_MAX_THETA];
    double gradient[KN_MAX_THETA];
    char theta_name[KN_MAX_THETA][16];
    double noise_variance;     /* mean over responses, standardised units */
    double complement;         /* |Y - YBB'|^2 / |Y|^2 */
    int complement_empty;      /* 1: the basis spans the responses, no complement was modelled */
    int basis_orthonormalised; /* 1: the basis given was not orthonormal and was made so */
    double jitter;             /* ever added to a matrix; 0 */
    double clamped;            /* how far below zero a variance fell by rounding, before clamping */
    int nothing_predicted;     /* 1: no number of components beat the trivial model */
    int n_curve;
    kn_curve_point curve[KN_MAX_CURVE];
    kn_cv_summary cv;
    double seconds_basis, seconds_fit, seconds_reference;
    kn_cv_summary loo; /* leave-one-out in closed form, folds = N: optimistic, the basis saw all */
    double rank_residual;  /* share of R's trace that its rank leaves out; 0 when dense */
    double basis_residual; /* of principal components by a range finder (more than 5000 samples):
                            * each one's variance is known to this share of it; 0 when exact */
} kn_fit_info;

KN_API void kn_model_info_sized(const kn_model *model, kn_fit_info *info, size_t size);
#define kn_model_info(model, info) kn_model_info_sized((model), (info), sizeof(kn_fit_info))

/* Arrays by name, as views into the model, valid while it lives; data NULL for an unknown name.
 * Standardised units: X N x F, U N x rank (low rank: map pivots x rank), r, A rank x P, c d of each
 * component, B T_kept x P, noise; and x_mean x_sd y_mean y_sd, which lead back to the original
 * ones. MT-Kronprod: c, d and A have one component more than B, for all directions outside it.
 * STGPR: cells n x 2 (rho, length), and for each response cell (a row of cells), c, d, delta = d/c,
 * lml, alpha N x T_kept: the mean is R0* alpha. */
KN_API kn_view kn_model_array(const kn_model *model, const char *name);

/* The responses in use: their number, and their indices among all in *index. */
KN_API ptrdiff_t kn_model_kept(const kn_model *model, const ptrdiff_t **index);

/* ---- maps --------------------------------------------------------------------------------- */

/* What a model says of some samples: mean and model variance of every response, in the original
 * units, made by blocks of responses so that nothing samples x T need ever be held. The model
 * and the responses passed to _new must outlive the maps. */
typedef struct kn_maps kn_maps;

KN_API kn_status kn_predict(kn_ctx *ctx, const kn_model *model, kn_view X, kn_maps **maps);

/* Each training sample as predicted without it: in closed form with basis, scaling and parameters
 * held (optimistic, because the basis saw the sample) ... */
KN_API kn_status kn_loo(kn_ctx *ctx, const kn_model *model, kn_view Y, kn_maps **maps);

/* ... or by refitting mean, basis and component variances without its fold. fold[i] in 0..folds-1
 * for each sample, or NULL for the seeded folds that the fit used. */
KN_API kn_status kn_cv(kn_ctx *ctx, const kn_model *model, kn_view Y, int folds, const int *fold,
                       kn_maps **maps);

/* Responses first .. first + count - 1. Outputs are samples x count, or kn_mat_none(). */
KN_API kn_status kn_maps_block(kn_ctx *ctx, kn_maps *maps, ptrdiff_t first, ptrdiff_t count,
                               kn_mat mean, kn_mat variance);
KN_API ptrdiff_t kn_maps_samples(const kn_maps *maps);
KN_API void kn_maps_free(kn_maps *maps);

/* Noise variance of each of the T responses, original units; NaN where left out. */
KN_API kn_status kn_model_noise(kn_ctx *ctx, const kn_model *model, double *noise);

/* Covariance between the `count` responses named, for the one sample x (1 x F), original units:
 * of the noise-free response, and of the noise. */
KN_API kn_status kn_covariance(kn_ctx *ctx, const kn_model *model, kn_view x,
                               const ptrdiff_t *responses, ptrdiff_t count, kn_mat model_cov,
                               kn_mat noise_cov);

/* ---- files ----------------------------------------------------------------------------------- */

/* A model is one safetensors file, laid out in docs/formats.md; written whole or not at all. */
KN_API kn_status kn_model_save(kn_ctx *ctx, const kn_model *model, const char *path, int force);
KN_API kn_status kn_model_open(kn_ctx *ctx, const char *path, kn_model **model);

/* Where covariates and responses are: tables, images, arrays, matched row by row by id. NULL means
 * the default of `kronorm fit --help`. */
typedef enum kn_missing_policy {
    KN_ON_MISSING_ERROR,
    KN_ON_MISSING_DROP,
    KN_ON_MISSING_MEAN
} kn_missing_policy;

typedef struct kn_inputs {
    const char *covariates;  /* .csv or .tsv */
    const char *responses;   /* an image of 4D, a .txt list of 3D images, .csv .tsv, .npy */
    const char *mask;        /* an image */
    const char *id;          /* column with the ids */
    const char *use;         /* covariates: "age,sex,site" */
    const char *categorical; /* numeric columns that are categories */
    const char *targets;     /* response columns of a table: "lh_*,rh_*" */
    kn_missing_policy missing;
    int match_common;    /* 1: use the ids that both sides have; 0: all must match */
    const char *scratch; /* folder for responses that find no room; NULL: $TMPDIR or /var/tmp */
} kn_inputs;

typedef struct kn_fit_job {
    size_t size; /* sizeof(kn_fit_job) */
    kn_inputs in;
    kn_fit_options fit;
    const char *basis;  /* .npy, T x P; NULL: principal components */
    const char *output; /* the model file; a log goes beside it, output.log.json */
    int force;
    int strip_ids; /* 1: no ids in the model, and no maps of the training samples */
    int resume;    /* 1: steps of the fit are kept in output.resume; if they are there already, the
                    * fit goes on from the last of them. Not with max_seconds */
} kn_fit_job;

/* Reads, fits, writes. *model is also returned when it is not NULL. */
KN_API kn_status kn_fit_files(kn_ctx *ctx, const kn_fit_job *job, kn_model **model);

typedef enum kn_format {
    KN_FORMAT_TRAINED = 0,
    KN_FORMAT_NII = 1,
    KN_FORMAT_CSV = 2,
    KN_FORMAT_NPY = 3
} kn_format;

enum { KN_WRITE_Z = 1, KN_WRITE_YHAT = 2, KN_WRITE_YS2_MODEL = 4 };

typedef struct kn_apply_job { /* predict, or score when in.responses is given */
    size_t size;
    const char *model;
    kn_inputs in;
    const char *output; /* a folder */
    unsigned write;     /* KN_WRITE_...; 0: z when scoring, yhat and ys2_model otherwise */
    kn_format format;
    int split; /* 1: one file per sample */
    int force;
    const char *label;     /* "group=patient": rows that count as abnormal */
    const char *reference; /* "cv" (default), "loo" or "group=control" */
    int plain_training;    /* 1: score training samples as if they were new */
} kn_apply_job;

typedef struct kn_apply_result {
    ptrdiff_t n_samples, n_in_training, n_abnormal, n_extrapolated;
    double r2, msll, z2; /* means over responses, of the samples not abnormal */
    double auc_top, auc_deviance, auc_deviance_noise; /* NaN without a label */
    double auc_low[3], auc_high[3];                   /* 95 % intervals, same order */
    ptrdiff_t n_files;
} kn_apply_result;

KN_API kn_status kn_apply_files(kn_ctx *ctx, const kn_apply_job *job, kn_apply_result *result);

typedef enum kn_simulation { KN_SIMULATE_COHORT = 0, KN_SIMULATE_MIYAWAKI = 1 } kn_simulation;

typedef struct kn_simulate_job { /* a study with known truth, as real files on disk */
    size_t size;
    kn_simulation kind;
    int large;          /* 0: small; 1: a cohort at 2 mm, or all of the experiment's runs */
    ptrdiff_t samples;  /* cohort: normals; 0: 120 */
    ptrdiff_t patients; /* cohort; negative: 20 */
    double strength;    /* of the abnormality; NaN: the default */
    uint64_t seed;
    const char *output; /* a folder */
    int force;
} kn_simulate_job;

KN_API kn_status kn_simulate_files(kn_ctx *ctx, const kn_simulate_job *job);

enum { /* of S-MTGPR, to be added up: the paper's settings; its model with the exact likelihood and
        * the nested optimiser; structured noise */
       KN_VARIANT_PAPER = 1,
       KN_VARIANT_ISO_EXACT = 2,
       KN_VARIANT_DEFAULT = 4
};
enum { /* what stays together between training and test, to be added up */
       KN_SPLIT_SCAN = 1,
       KN_SPLIT_PATTERN = 2
};

typedef struct kn_reproduce_job { /* the paper's experiment */
    size_t size;
    const char *data;      /* a folder in the layout of the Miyawaki 2008 data set */
    const char *output;    /* a folder, made if need be: results.tsv, results.json, figure.svg */
    int repeats;           /* 0: 10 */
    const int *components; /* numbers for S-MTGPR, n_components of them; NULL: the paper's seven.
                              More than the data have becomes the most they have */
    int n_components;
    unsigned methods;  /* 1 << KN_SMTGPR | ...; 0: all three */
    unsigned variants; /* KN_VARIANT_... of S-MTGPR; 0: all three */
    unsigned splits;   /* KN_SPLIT_...; 0: scan */
    uint64_t seed;
    int force; /* 1: start again; 0: runs that are in output/results.tsv are not run again */
} kn_reproduce_job;

typedef struct kn_reproduce_result {
    ptrdiff_t n_runs;    /* asked for */
    ptrdiff_t n_resumed; /* of them found finished */
} kn_reproduce_result;

/* results.tsv is written anew, whole, after each run: stopped at any moment it holds the finished
 * ones, and the same call takes up from there. */
KN_API kn_status kn_reproduce_files(kn_ctx *ctx, const kn_reproduce_job *job,
                                    kn_reproduce_result *result);

/* What is in a model, as JSON text (free with kn_text_free); log: its timings, or NULL. */
KN_API kn_status kn_model_describe(kn_ctx *ctx, const char *path, char **json);
KN_API void kn_text_free(char *text);

/* How this library was built: "kronorm 0.1.0; OpenBLAS ...", the core in use, and the core to ask
 * for in OPENBLAS_CORETYPE when OpenBLAS does not know the processor (NULL: it does). */
KN_API const char *kn_build_blas(void);
KN_API const char *kn_build_core(void);
KN_API const char *kn_build_better_core(void);

#ifdef __cplusplus
}
#endif

#endif
