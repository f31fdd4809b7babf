/* kronorm: normative modelling of whole brain maps with multi-task Gaussian processes.
 *
 *     kn_data     people: named covariates, ids, responses; from files or from memory
 *     kn_model    what is normal, learned from some people by kn_fit
 *     kn_scores   what a model says of some people, by kn_score or kn_predict
 *     kn_options  how: texts by key, the keys that `kronorm fit --help` has
 *
 * A handle returned by the library is opaque; free it with the matching _free, which accepts NULL.
 * A call that fails returns a status other than KN_OK, leaves its output handles NULL, and puts one
 * sentence in kn_message(ctx). There an option is marked {key} or {key=value}, to be spelled as the
 * host program spells options. The library never prints, exits or keeps global state.
 *
 * A context belongs to one thread at a time, as do data; different threads use their own. A model
 * is immutable and may be shared between threads. Log and progress callbacks come from the thread
 * that made the call, and must return: they may not longjmp or throw. A child of fork may go on
 * with what no other thread was using.
 *
 * Structs that may grow start with their size: set it to sizeof as you were compiled, and a newer
 * library fills what you have. Texts are UTF-8. */
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
#define KN_VERSION_MINOR 2
#define KN_VERSION_PATCH 0

KN_API const char *kn_version(void); /* "0.2.0" */

/* ---- status ------------------------------------------------------------------------------- */

/* Values are part of the binary interface: never renumbered. */
typedef enum kn_status {
    KN_OK = 0,
    KN_ERR_ARGUMENT = 1,  /* an option is out of range or contradicts another */
    KN_ERR_SHAPE = 2,     /* sizes that should agree do not */
    KN_ERR_DATA = 3,      /* values that cannot be used: not finite, constant, too few */
    KN_ERR_NUMERIC = 4,   /* a factorisation or an optimiser failed */
    KN_ERR_MEMORY = 5,    /* memory ran out, or would */
    KN_ERR_CANCELLED = 6, /* kn_cancel came before there was anything to return */
    KN_ERR_IO = 7,        /* a file could not be read or written */
    KN_ERR_FORMAT = 8     /* a file is not what it should be */
} kn_status;

KN_API const char *kn_status_name(kn_status status);

/* ---- context ------------------------------------------------------------------------------ */

typedef struct kn_ctx kn_ctx;

typedef enum kn_log_level { KN_LOG_DETAIL = 0, KN_LOG_INFO = 1, KN_LOG_WARNING = 2 } kn_log_level;

typedef struct kn_progress {
    size_t size;       /* of this struct as the library has it */
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
 * Responses that are read from files and find no room go to a file in {scratch}; what cannot be
 * done even so is refused. The options {threads} and {memory} of a call come before these. */
KN_API void kn_set_memory(kn_ctx *ctx, size_t bytes);
KN_API size_t kn_memory(const kn_ctx *ctx);
KN_API void kn_cancel(kn_ctx *ctx);       /* from any thread, a callback or a signal handler */
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

KN_API kn_view kn_view_cols(const double *data, ptrdiff_t rows, ptrdiff_t cols);
KN_API kn_view kn_view_rows(const double *data, ptrdiff_t rows, ptrdiff_t cols);
KN_API kn_view kn_view_rows_f32(const float *data, ptrdiff_t rows, ptrdiff_t cols);
KN_API kn_mat kn_mat_cols(double *data, ptrdiff_t rows, ptrdiff_t cols);
KN_API kn_mat kn_mat_none(void); /* "this output is not wanted" */

/* ---- options ------------------------------------------------------------------------------ */

/* Of one command: "fit", "score" or "predict". What is not set has its default. docs/options.md
 * lists all. */
typedef struct kn_options kn_options;

KN_API kn_status kn_options_new(kn_ctx *ctx, const char *command, kn_options **options);
/* The value as text: "iso", "10", "age,sex"; of a flag "yes", "no", or NULL for yes. */
KN_API kn_status kn_options_set(kn_ctx *ctx, kn_options *options, const char *key,
                                const char *value);
/* The value given, else the default; NULL: none, or no such key. */
KN_API const char *kn_options_get(const kn_options *options, const char *key);
/* Ranges, and what does not go together: what the call itself would refuse before it reads. */
KN_API kn_status kn_options_check(kn_ctx *ctx, const kn_options *options);
KN_API void kn_options_free(kn_options *options);

typedef enum kn_option_type {
    KN_OPTION_FLAG = 0,
    KN_OPTION_TEXT = 1,
    KN_OPTION_CHOICE = 2, /* one of the words */
    KN_OPTION_INT = 3,    /* or one of the words, if there are any */
    KN_OPTION_NUMBER = 4,
    KN_OPTION_SIZE = 5, /* of memory: 8G, 512MiB */
    KN_OPTION_LIST = 6  /* with commas; kernels with + */
} kn_option_type;

typedef struct kn_option_info {
    size_t size; /* sizeof(kn_option_info) as the caller was compiled */
    const char *key;
    kn_option_type type;
    int letter;            /* of the command line; 0: none */
    const char *value;     /* what the help calls the value; NULL for a flag */
    const char *words;     /* "structured|iso"; NULL: any text */
    const char *preferred; /* the default; NULL: none */
    const char *heading;   /* NULL: none */
    const char *help;
    char without[64]; /* methods that do not take it: "stgpr kronprod" */
} kn_option_info;

KN_API int kn_options_count(const char *command); /* 0: there is no such command */
/* The i-th of them, in the order of the help. Fills as much as info->size has room for. */
KN_API kn_status kn_option_at(kn_ctx *ctx, const char *command, int i, kn_option_info *info);

/* ---- data --------------------------------------------------------------------------------- */

/* n people, row i of everything is person i. Columns and ids are copied; a view of responses is
 * not: its values must outlive the data. NaN and NULL are missing. */
typedef struct kn_data kn_data;

KN_API kn_status kn_data_new(kn_ctx *ctx, ptrdiff_t n, kn_data **data);
/* A covariate, or a column for {label} and {reference}: n numbers, `stride` elements apart ... */
KN_API kn_status kn_data_numbers(kn_ctx *ctx, kn_data *data, const char *name, const double *values,
                                 ptrdiff_t stride);
/* ... or n texts: a category. */
KN_API kn_status kn_data_texts(kn_ctx *ctx, kn_data *data, const char *name,
                               const char *const *texts);
KN_API kn_status kn_data_ids(kn_ctx *ctx, kn_data *data, const char *const *ids);
/* n x T. With names a model finds its responses by name, without them by position. */
KN_API kn_status kn_data_responses(kn_ctx *ctx, kn_data *data, kn_view values,
                                   const char *const *names);
/* From the files that {covariates}, {responses} and {mask} name, matched by {id} as {match} says.
 * Of the responses only what they are is looked at here; values are read by kn_fit and kn_score. */
KN_API kn_status kn_data_read(kn_ctx *ctx, const kn_options *options, kn_data **data);
KN_API ptrdiff_t kn_data_count(const kn_data *data); /* people with covariates and responses */
KN_API void kn_data_free(kn_data *data);

/* ---- fit ---------------------------------------------------------------------------------- */

typedef struct kn_model kn_model;

/* options of "fit", or NULL. Responses that are constant or not finite are left out, counted, and
 * predicted as NaN. With {output} the model and its log are written too, whole or not at all. When
 * kn_cancel or a limit stops the optimiser, the best model so far comes back with KN_OK and its
 * "stop" says so; with {output} such a model is not written, and the call fails as cancelled. */
KN_API kn_status kn_fit(kn_ctx *ctx, kn_data *data, const kn_options *options, kn_model **model);
KN_API void kn_model_free(kn_model *model);

/* One safetensors file, laid out in docs/formats.md, or the same bytes in memory. */
KN_API kn_status kn_model_save(kn_ctx *ctx, const kn_model *model, const char *path, int force);
KN_API kn_status kn_model_open(kn_ctx *ctx, const char *path, kn_model **model);
KN_API kn_status kn_model_to_bytes(kn_ctx *ctx, const kn_model *model, void **bytes, size_t *count);
KN_API kn_status kn_model_from_bytes(kn_ctx *ctx, const void *bytes, size_t count,
                                     kn_model **model);
KN_API void kn_bytes_free(void *bytes);

/* All that is known of a model, as JSON: what `kronorm info --json` prints. */
KN_API kn_status kn_model_json(kn_ctx *ctx, const kn_model *model, char **json);
/* In words, a line each: shares of the signal, groups, what became of each covariate. */
KN_API kn_status kn_model_words(kn_ctx *ctx, const kn_model *model, char **text);
KN_API void kn_text_free(char *text);

/* A number of that JSON by its name: "lml", "n_components", "cv.z2", "seconds.fit"; NaN: unknown.
 * A text: "method", "noise", "likelihood", "stop", or the name of a parameter, "theta.0"; NULL:
 * unknown, or noise and likelihood of a method that has its own. */
KN_API double kn_model_number(const kn_model *model, const char *name);
KN_API const char *kn_model_text(const kn_model *model, const char *name);

/* Arrays by name, as views into the model, valid while it lives; data NULL for an unknown name.
 * theta, gradient; curve.components, curve.msll, curve.se, curve.lml of the search for the number
 * of components. Standardised units: X N x F, the design of covariates (docs/METHOD.md, 0), U N x
 * rank (low rank: map features x rank), r, A rank x P, c d of each component, with groups gamma, B
 * T_kept x P, noise, slope; and x_mean x_sd of the covariates, y_mean y_sd, which lead back to the
 * original ones. MT-Kronprod: c, d and A have one component more than B, for all directions outside
 * it. STGPR: cells, a row of weights and lengths each, and for each response cell (a row of cells),
 * c, d, delta = d/c, lml, alpha N x T_kept: the mean is R0* alpha. Of the reference z_cv, a row for
 * each of its people x T_kept, KN_F32: the z that each of them has by a model made without their
 * fold; not there above 1 GB, and a file has it only where it has ids. */
KN_API kn_view kn_model_array(const kn_model *model, const char *name);

/* The responses in use: their number, and their indices among all in *index. */
KN_API ptrdiff_t kn_model_kept(const kn_model *model, const ptrdiff_t **index);
/* Ids of the n_samples people of training; NULL: there were none, or {strip_ids}. */
KN_API const char *const *kn_model_ids(const kn_model *model);
/* Names of the n_responses responses; NULL: they have none, as those of arrays and images. */
KN_API const char *const *kn_model_response_names(const kn_model *model);
/* Of a model of images the number of responses, and the voxel of each in *index, counted from 0, x
 * fastest, ascending; 0 and NULL of any other. */
KN_API ptrdiff_t kn_model_voxels(const kn_model *model, const ptrdiff_t **index);
/* How many people of training the reference is of, and which, counted from 0, in *sample; NULL: all
 * of them in order, or nobody can be told, as in what kn_export wrote. 0: there is no reference. */
KN_API ptrdiff_t kn_model_reference(const kn_model *model, const ptrdiff_t **sample);
/* Noise variance of each of the T responses, original units; NaN where left out. */
KN_API kn_status kn_model_noise(kn_ctx *ctx, const kn_model *model, double *noise);

/* ---- scores ------------------------------------------------------------------------------- */

typedef struct kn_scores kn_scores;

/* z, abnormality and metrics of people with responses; options of "score", or NULL. People are
 * those of kn_scores_ids, in this order: those without a covariate may have left, and files come
 * in the order of their responses. With {output} the maps that {write} names stream to that folder
 * and all files appear at the end, together; without it they stay in memory, as float32. The model
 * may be freed before the scores.
 *
 * {part=3/10}: the 3rd, 13th, ... of these people alone. With {output} the folder then gets files
 * that {join=10} makes the results of, those of one call for everybody; until then whatever people
 * are compared with each other for is NaN in the scores. {join} reads no responses. */
KN_API kn_status kn_score(kn_ctx *ctx, const kn_model *model, kn_data *data,
                          const kn_options *options, kn_scores **scores);
/* Mean and variance for people without responses; options of "predict", or NULL. */
KN_API kn_status kn_predict(kn_ctx *ctx, const kn_model *model, kn_data *data,
                            const kn_options *options, kn_scores **scores);
KN_API void kn_scores_free(kn_scores *scores);

KN_API ptrdiff_t kn_scores_n_people(const kn_scores *scores);
KN_API ptrdiff_t kn_scores_n_responses(const kn_scores *scores);
KN_API const char *const *kn_scores_ids(const kn_scores *scores); /* "row-0001" without ids */
/* A column of abnormality.tsv by its name, "deviance_p"; NULL: there is none. Of predictions there
 * are "extrapolation" and "extrapolation_pct". */
KN_API const double *kn_scores_people(const kn_scores *scores, const char *name);
/* A column of metrics.tsv, "R2", or "ys2_noise", or "ys2_noise_known", that of members of known
 * groups; NULL: there is none. */
KN_API const double *kn_scores_responses(const kn_scores *scores, const char *name);
/* A number of summary.json, "metrics.R2", "AUC.top", "AUC.top.low", "counts.abnormal", or "files",
 * how many were written; NaN: there is none. */
KN_API double kn_scores_number(const kn_scores *scores, const char *name);
KN_API const char *kn_scores_json(const kn_scores *scores); /* summary.json */
/* A map that is in memory, "z", "yhat", "ys2_model", "fdr" or "ys2": people x T, KN_F32, a view
 * that is valid while the scores live; data NULL: there is none. */
KN_API kn_view kn_scores_array(const kn_scores *scores, const char *name);
/* Responses first .. first + count - 1 of a map that is in memory: "z", "yhat", "ys2_model",
 * "fdr" or "ys2". out is people x count. */
KN_API kn_status kn_scores_block(kn_ctx *ctx, const kn_scores *scores, const char *name,
                                 ptrdiff_t first, ptrdiff_t count, kn_mat out);

/* ---- how this library was built ------------------------------------------------------------- */

/* OpenBLAS's own words, the core in use, and the core to ask for in OPENBLAS_CORETYPE when OpenBLAS
 * does not know the processor (NULL: it does). */
KN_API const char *kn_build_blas(void);
KN_API const char *kn_build_core(void);
KN_API const char *kn_build_better_core(void);

/* ---- experimental: may change in any version ------------------------------------------------ */

/* Mean and model variance of every response in the original units, from covariates as numbers (a
 * column each as "x_mean" has them; of a category the number of the level, from 0), made by blocks
 * of responses so that nothing people x T need ever be held. The model and the responses passed
 * must outlive the maps. */
typedef struct kn_maps kn_maps;

KN_API kn_status kn_maps_predict(kn_ctx *ctx, const kn_model *model, kn_view X, kn_maps **maps);
/* Each training sample as predicted without it: in closed form with basis, scaling and parameters
 * held (optimistic, because the basis saw the sample) ... */
KN_API kn_status kn_maps_loo(kn_ctx *ctx, const kn_model *model, kn_view Y, kn_maps **maps);
/* ... or by refitting mean, basis and component variances without its fold. fold[i] in 0..folds-1
 * for each sample, or NULL for the seeded folds that the fit used. */
KN_API kn_status kn_maps_cv(kn_ctx *ctx, const kn_model *model, kn_view Y, int folds,
                            const int *fold, kn_maps **maps);
/* Responses first .. first + count - 1. Outputs are samples x count, or kn_mat_none(). */
KN_API kn_status kn_maps_block(kn_ctx *ctx, kn_maps *maps, ptrdiff_t first, ptrdiff_t count,
                               kn_mat mean, kn_mat variance);
KN_API ptrdiff_t kn_maps_samples(const kn_maps *maps);
KN_API void kn_maps_free(kn_maps *maps);

/* Covariance between the `count` responses named, for the one sample x (1 x F), original units:
 * of the noise-free response, and of the noise. */
KN_API kn_status kn_covariance(kn_ctx *ctx, const kn_model *model, kn_view x,
                               const ptrdiff_t *responses, ptrdiff_t count, kn_mat model_cov,
                               kn_mat noise_cov);

/* The model for sites that its training did not have, by healthy people of them; options of
 * "adapt", or NULL. With {output} it is written there too. Nothing of these people is in it. */
KN_API kn_status kn_adapt(kn_ctx *ctx, const kn_model *model, kn_data *controls,
                          const kn_options *options, kn_model **adapted);

/* Where deviations overlap: for each group of {by} in the folder {scored}, which kn_score wrote,
 * the share of people beyond {threshold} at each response, and between two groups the difference
 * with p; options of "overlap". Tables or maps go to the folder {output}. */
typedef struct kn_overlap_info { /* [0] negative, [1] positive deviations; p: of two groups */
    size_t size;                 /* sizeof(kn_overlap_info) as the caller was compiled */
    ptrdiff_t people, left_out;  /* left out for want of a group */
    ptrdiff_t groups, responses, files;
    double least_p[2], least_p_fdr[2]; /* family-wise, and adjusted for false discoveries; or NaN */
    ptrdiff_t below[2], below_fdr[2];  /* responses with p below .05 */
} kn_overlap_info;

/* info may be NULL. */
KN_API kn_status kn_overlap(kn_ctx *ctx, const kn_options *options, kn_overlap_info *info);

/* Change between visits: rows are visits of people, and each pair of visits is compared with the
 * changes of the people that {reference} names, or of those that the model keeps; options of
 * "change". Maps and tables go to the folder {output}; {save} writes the model with the reference.
 */
typedef struct kn_change_info {
    size_t size;                 /* sizeof(kn_change_info) as the caller was compiled */
    ptrdiff_t people, one_visit; /* with two visits or more; left out with one */
    ptrdiff_t pairs, responses, files;
    ptrdiff_t reference_people, reference_pairs;
    ptrdiff_t far;           /* pairs whose interval is outside twice the reference's range */
    ptrdiff_t with_p, below; /* pairs of others with a p of the statistic, and with one <= .05 */
    double gamma, d0, s0;    /* of the reference; d0 may be infinite */
    double smallest_p;       /* that the statistic of anybody can have beside so many */
} kn_change_info;

/* info may be NULL. */
KN_API kn_status kn_change(kn_ctx *ctx, const kn_model *model, kn_data *data,
                           const kn_options *options, kn_change_info *info);
/* A model to give away, without anybody of training in it: predictions and scores are those of the
 * model within an error that is measured; options of "export". It goes to the file {output}, and to
 * none where the error is above .01 standard deviations of a response. */
typedef struct kn_export_info { /* errors: the largest, in standard deviations of the response */
    size_t size;                /* sizeof(kn_export_info) as the caller was compiled */
    ptrdiff_t points;           /* synthetic ones in the model, of all cells */
    ptrdiff_t few;              /* levels and sites with fewer than 5 people */
    double mean, sd;            /* of the mean and of the predicted standard deviation, over the */
                                /* people of training ... */
    double mean_between, sd_between; /* ... over other values of their covariates ... */
    double mean_beyond,
        sd_beyond;      /* ... and beyond their range too, the ends of which are rounded */
    ptrdiff_t findable; /* 1: predictions need so many functions of the covariates of people that */
                        /* these can be computed from the file */
} kn_export_info;

/* info may be NULL. */
KN_API kn_status kn_export(kn_ctx *ctx, const kn_model *model, const kn_options *options,
                           kn_export_info *info);
/* Centile curves over {over} at the covariates {at}, in the units of the responses, with bands;
 * options of "centiles". training: the people that the model was fitted to, for {bands=jackknife};
 * people: with responses, to be placed among the curves. Either may be NULL: read from the files
 * that {covariates}, {people} and {responses} name, or none. Tables or maps go to the folder
 * {output}. */
typedef struct kn_centiles_info {
    size_t size; /* sizeof(kn_centiles_info) as the caller was compiled */
    ptrdiff_t responses, curves, values, centiles; /* values of {over} along each curve */
    ptrdiff_t people, files;
    int bands;                /* 0 none, 1 model, 2 jackknife */
    ptrdiff_t n_extrapolated; /* points with extrapolation_pct above 99 */
} kn_centiles_info;

/* info may be NULL. */
KN_API kn_status kn_centiles(kn_ctx *ctx, const kn_model *model, kn_data *training, kn_data *people,
                             const kn_options *options, kn_centiles_info *info);

/* Everybody scored by a model that has not seen them: parts of the people in turn, each by a fit of
 * the others; options of "cv". Files as kn_score writes them, of all people in the order of the
 * covariates, folds.tsv and metrics_by_site.tsv go to the folder {output}; with {leave} those of
 * models that were adapted to what was left out to its folder adapted. With {split} lists of ids
 * alone. */
typedef struct kn_cv_info {
    size_t size; /* sizeof(kn_cv_info) as the caller was compiled */
    ptrdiff_t people, folds, responses, files;
    ptrdiff_t adapted;   /* people scored by adapted models too */
    ptrdiff_t test;      /* of {split}: people of the test list */
    double R2, MSLL, z2; /* means over responses; z2 over all z */
    double adapted_MSLL, adapted_z2;
    double AUC, AUC_deviance; /* of {label}, by the statistic and by the deviance; NaN: none */
    /* mean ln density of a whole map less that of independent responses, nats; NaN: none */
    double joint_density;
} kn_cv_info;

/* info may be NULL. */
KN_API kn_status kn_cv(kn_ctx *ctx, kn_data *data, const kn_options *options, kn_cv_info *info);

/* One page to look at: a model, and with {scored} a folder that kn_score or kn_change wrote with
 * it; options of "report". In two steps, so that the numbers can be had without the page. model
 * NULL: {scored} is a folder of kn_cv. */
typedef struct kn_report kn_report;
typedef struct kn_report_info {
    size_t size; /* sizeof(kn_report_info) as the caller was compiled */
    ptrdiff_t people, responses, warnings;
    ptrdiff_t cards, cards_asked; /* fewer where {max_size} has no room for more */
    ptrdiff_t bytes, figures;     /* of the page; files in {figures} */
    int change;                   /* 1: people are pairs of visits */
} kn_report_info;

KN_API kn_status kn_report_compute(kn_ctx *ctx, const kn_model *model, const kn_options *options,
                                   kn_report **report);
/* What `kronorm report --json` prints; valid while the report lives. */
KN_API kn_status kn_report_json(kn_ctx *ctx, kn_report *report, const char **json);
/* The page {output} and the files of {figures}, whole or not at all. info may be NULL. */
KN_API kn_status kn_report_write(kn_ctx *ctx, const kn_report *report, const kn_options *options,
                                 kn_report_info *info);
KN_API void kn_report_free(kn_report *report);

#ifdef __cplusplus
}
#endif

#endif
