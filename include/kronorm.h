/* @file
 * kronorm: normative modelling of whole-brain maps with multi-task Gaussian processes.
 *
 * The four kinds of handles:
 * - kn_data: participants, as named covariates, ids and responses, from files or from memory.
 * - kn_model: a normative model, which kn_fit estimates from a training sample.
 * - kn_scores: the z-scores or predictions of participants, from kn_score or kn_predict.
 * - kn_options: the options of one command as texts; docs/reference/commands.md has the keys.
 *
 * Ownership: every handle is opaque. The caller frees it with the matching _free function, which
 * accepts NULL. A function that borrows memory for longer than the call says so.
 *
 * Errors: a function that returns kn_status returns KN_OK if it succeeds. Otherwise it sets its
 * output handles to NULL and kn_message(ctx) is one sentence about the cause. In these sentences an
 * option is written as {key} or {key=value}; the host program spells it in its own form. The
 * library never prints, exits or keeps global state.
 *
 * Threads: a context and the data made with it belong to one thread at a time; different threads
 * use their own. A model is immutable, so threads may share it. Log and progress callbacks run in
 * the thread that made the call. They must return, so longjmp and C++ exceptions are not allowed.
 * After fork, the child process may use every handle that no other thread was using.
 *
 * Binary interface: a struct whose first field is size may grow in later versions. Set size to
 * sizeof of the struct as your program was compiled; a newer library fills the fields you have.
 * Texts are UTF-8. */
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

/* The version of the loaded library.
 *
 * @return a static text such as "0.2.0"
 */
KN_API const char *kn_version(void);

/* ---- status ------------------------------------------------------------------------------- */

/* Result of a call. The values are part of the binary interface and never change. */
typedef enum kn_status {
    KN_OK = 0,            /* success */
    KN_ERR_ARGUMENT = 1,  /* an option is out of range or contradicts another option */
    KN_ERR_SHAPE = 2,     /* sizes that must agree differ */
    KN_ERR_DATA = 3,      /* unusable values: not finite, constant, or too few */
    KN_ERR_NUMERIC = 4,   /* a factorisation or the optimiser failed */
    KN_ERR_MEMORY = 5,    /* not enough memory, or the memory limit would be exceeded */
    KN_ERR_CANCELLED = 6, /* kn_cancel was called before there was a result */
    KN_ERR_IO = 7,        /* a file could not be read or written */
    KN_ERR_FORMAT = 8,    /* a file does not have the expected format */
} kn_status;

/* The name of a status.
 *
 * @param status any value
 * @return a static text
 */
KN_API const char *kn_status_name(kn_status status);

/* ---- context ------------------------------------------------------------------------------ */

/* The state of one caller: log, progress, threads, memory limit, cancellation and last error. */
typedef struct kn_ctx kn_ctx;

/* Severity of a log message. */
typedef enum kn_log_level {
    KN_LOG_DETAIL = 0,  /* details for diagnosis */
    KN_LOG_INFO = 1,    /* progress of the work */
    KN_LOG_WARNING = 2, /* a property of the data or model that the user should check */
} kn_log_level;

/* State of a long call. */
typedef struct kn_progress {
    size_t size;       /* sizeof(kn_progress) as the library was compiled */
    const char *stage; /* "basis", "search", "fit", "cross-validation", ... */
    ptrdiff_t done;    /* evaluations, folds or blocks finished in this stage */
    ptrdiff_t total;   /* their final number; 0 if it is not known */
    double lml;        /* best log marginal likelihood so far; NaN if it has no meaning here */
} kn_progress;

/* Receives a log message.
 *
 * @param user the pointer passed to kn_set_log
 * @param level severity
 * @param message one sentence, valid during the call only
 */
typedef void (*kn_log_fn)(void *user, kn_log_level level, const char *message);

/* Receives the progress of a long call.
 *
 * @param user the pointer passed to kn_set_progress
 * @param progress valid during the call only
 */
typedef void (*kn_progress_fn)(void *user, const kn_progress *progress);

/* Create a context with the default settings.
 *
 * @return an owned context (free with kn_ctx_free), or NULL if there is not enough memory
 */
KN_API kn_ctx *kn_ctx_new(void);

/* Free a context.
 *
 * @param ctx may be NULL
 */
KN_API void kn_ctx_free(kn_ctx *ctx);

/* The cause of the last failure.
 *
 * @param ctx the context of the failed call
 * @return one sentence, "" if no call failed; valid until the next call with this context
 */
KN_API const char *kn_message(const kn_ctx *ctx);

/* Set the function that receives log messages.
 *
 * @param ctx context
 * @param log NULL: messages are dropped, which is the default
 * @param user passed to log; borrowed
 */
KN_API void kn_set_log(kn_ctx *ctx, kn_log_fn log, void *user);

/* Set the function that receives progress.
 *
 * @param ctx context
 * @param progress NULL: none, which is the default
 * @param user passed to progress; borrowed
 */
KN_API void kn_set_progress(kn_ctx *ctx, kn_progress_fn progress, void *user);

/* Set the number of threads. The option {threads} of a call takes precedence.
 *
 * @param ctx context
 * @param threads 0: all processors that the process may use, which is the default
 */
KN_API void kn_set_threads(kn_ctx *ctx, int threads);

/* The number of threads in use.
 *
 * @param ctx context
 * @return at least 1
 */
KN_API int kn_threads(const kn_ctx *ctx);

/* Set the memory limit. Responses from files that do not fit are kept in a temporary file in
 * {scratch}. A call that cannot keep the limit fails with KN_ERR_MEMORY. The option {memory} of a
 * call takes precedence.
 *
 * @param ctx context
 * @param bytes 0: half of the memory of the machine, container or batch job, which is the default
 */
KN_API void kn_set_memory(kn_ctx *ctx, size_t bytes);

/* The memory limit in use.
 *
 * @param ctx context
 * @return bytes
 */
KN_API size_t kn_memory(const kn_ctx *ctx);

/* Cancel the call that uses this context. It returns soon, with KN_ERR_CANCELLED or, in kn_fit,
 * with the best model so far. May be called from any thread, a callback or a signal handler.
 *
 * @param ctx context; it remains cancelled until kn_cancel_clear
 */
KN_API void kn_cancel(kn_ctx *ctx);

/* Make a cancelled context usable again.
 *
 * @param ctx context
 */
KN_API void kn_cancel_clear(kn_ctx *ctx);

/* ---- matrices ----------------------------------------------------------------------------- */

/* Type of the elements of a view. */
typedef enum kn_type {
    KN_F64 = 0, /* double */
    KN_F32 = 1, /* float */
} kn_type;

/* Read-only matrix in borrowed memory. */
typedef struct kn_view {
    const void *data;     /* element (i, j) is at i * row_stride + j * col_stride; NULL: none */
    kn_type type;         /* of the elements */
    ptrdiff_t rows;       /* number of rows */
    ptrdiff_t cols;       /* number of columns */
    ptrdiff_t row_stride; /* elements from one row to the next */
    ptrdiff_t col_stride; /* elements from one column to the next */
} kn_view;

/* Column-major matrix of doubles in memory of the caller, for output. */
typedef struct kn_mat {
    double *data;   /* element (i, j) is data[i + j * ld]; NULL: the output is not wanted */
    ptrdiff_t rows; /* number of rows */
    ptrdiff_t cols; /* number of columns */
    ptrdiff_t ld;   /* leading dimension, at least rows */
} kn_mat;

/* View of a column-major matrix.
 *
 * @param data rows x cols doubles, borrowed
 * @param rows number of rows
 * @param cols number of columns
 * @return the view
 */
KN_API kn_view kn_view_cols(const double *data, ptrdiff_t rows, ptrdiff_t cols);

/* View of a row-major matrix.
 *
 * @param data rows x cols doubles, borrowed
 * @param rows number of rows
 * @param cols number of columns
 * @return the view
 */
KN_API kn_view kn_view_rows(const double *data, ptrdiff_t rows, ptrdiff_t cols);

/* View of a row-major matrix of floats.
 *
 * @param data rows x cols floats, borrowed
 * @param rows number of rows
 * @param cols number of columns
 * @return the view
 */
KN_API kn_view kn_view_rows_f32(const float *data, ptrdiff_t rows, ptrdiff_t cols);

/* Column-major matrix without gaps between the columns.
 *
 * @param data rows x cols doubles, borrowed
 * @param rows number of rows
 * @param cols number of columns
 * @return the matrix
 */
KN_API kn_mat kn_mat_cols(double *data, ptrdiff_t rows, ptrdiff_t cols);

/* The matrix to pass for an output that is not wanted.
 *
 * @return a matrix without data
 */
KN_API kn_mat kn_mat_none(void);

/* ---- options ------------------------------------------------------------------------------ */

/* The options of one command, such as "fit", "score" or "predict". An option that is not set has
 * its default. docs/reference/commands.md lists all of them. */
typedef struct kn_options kn_options;

/* Create the options of a command, all with their defaults.
 *
 * @param ctx context
 * @param command "fit", "score", ...
 * @param options owned by the caller; free with kn_options_free
 * @return KN_ERR_ARGUMENT if there is no such command
 */
KN_API kn_status kn_options_new(kn_ctx *ctx, const char *command, kn_options **options);

/* Set an option.
 *
 * @param ctx context
 * @param options changed only if the call succeeds
 * @param key key or alias, such as "noise"
 * @param value as text, copied: "iso", "10", "age,sex"; of a flag "yes" or "no", and NULL means yes
 * @return KN_ERR_ARGUMENT if the command has no such option or the value is invalid
 */
KN_API kn_status kn_options_set(kn_ctx *ctx, kn_options *options, const char *key,
                                const char *value);

/* The value of an option.
 *
 * @param options options
 * @param key key
 * @return the value that was set, else the default; NULL if there is no value or no such key. The
 *         text is valid until the option is set again or the options are freed.
 */
KN_API const char *kn_options_get(const kn_options *options, const char *key);

/* Check ranges and combinations: everything that the command would refuse before it reads data.
 *
 * @param ctx context
 * @param options options
 * @return KN_ERR_ARGUMENT if the command would refuse them
 */
KN_API kn_status kn_options_check(kn_ctx *ctx, const kn_options *options);

/* Free options.
 *
 * @param options may be NULL
 */
KN_API void kn_options_free(kn_options *options);

/* Form of the value of an option. */
typedef enum kn_option_type {
    KN_OPTION_FLAG = 0,   /* yes or no */
    KN_OPTION_TEXT = 1,   /* any text */
    KN_OPTION_CHOICE = 2, /* one of the words */
    KN_OPTION_INT = 3,    /* an integer, or one of the words if there are any */
    KN_OPTION_NUMBER = 4, /* a number */
    KN_OPTION_SIZE = 5,   /* an amount of memory: 8G, 512MiB */
    KN_OPTION_LIST = 6,   /* items separated by commas; kernels are separated by + */
} kn_option_type;

/* Description of an option. The texts are static. */
typedef struct kn_option_info {
    size_t size;           /* sizeof(kn_option_info) as the caller was compiled */
    const char *key;       /* key for kn_options_set */
    kn_option_type type;   /* form of the value */
    int letter;            /* short option of the command line; 0: none */
    const char *value;     /* placeholder of the value in the help; NULL for a flag */
    const char *words;     /* allowed words, such as "structured|iso"; NULL: any text */
    const char *preferred; /* default; NULL: none */
    const char *heading;   /* heading in the help; NULL: none */
    const char *help;      /* description */
    char without[64];      /* methods that do not have this option, such as "stgpr kronprod" */
    const char *alias;     /* a second name of the key, which kn_options_set accepts; NULL: none */
} kn_option_info;

/* The number of options of a command.
 *
 * @param command "fit", "score", ...
 * @return 0 if there is no such command
 */
KN_API int kn_options_count(const char *command);

/* Describe one option of a command.
 *
 * @param ctx context
 * @param command "fit", "score", ...
 * @param i index in the order of the help, from 0
 * @param info set info->size before the call; the call fills the fields that fit into that size
 * @return KN_ERR_ARGUMENT if there is no such option or info has no size
 */
KN_API kn_status kn_option_at(kn_ctx *ctx, const char *command, int i, kn_option_info *info);

/* ---- data --------------------------------------------------------------------------------- */

/* Participants: row i of every column belongs to participant i. */
typedef struct kn_data kn_data;

/* Create data in memory, without columns.
 *
 * @param ctx context
 * @param n number of participants, at least 1
 * @param data owned by the caller; free with kn_data_free
 * @return KN_ERR_SHAPE if n is below 1
 */
KN_API kn_status kn_data_new(kn_ctx *ctx, ptrdiff_t n, kn_data **data);

/* Add a numeric column: a covariate, or a column for {cases} and {reference}.
 *
 * @param ctx context
 * @param data made by kn_data_new
 * @param name a name that no other column has
 * @param values n numbers, copied; NaN is missing
 * @param stride elements from one value to the next
 * @return KN_ERR_DATA if a value is infinite or the name is taken
 */
KN_API kn_status kn_data_numbers(kn_ctx *ctx, kn_data *data, const char *name, const double *values,
                                 ptrdiff_t stride);

/* Add a categorical column.
 *
 * @param ctx context
 * @param data made by kn_data_new
 * @param name a name that no other column has
 * @param texts n texts, copied; NULL is missing
 * @return KN_ERR_DATA if the name is taken
 */
KN_API kn_status kn_data_texts(kn_ctx *ctx, kn_data *data, const char *name,
                               const char *const *texts);

/* Set the ids of the participants.
 *
 * @param ctx context
 * @param data made by kn_data_new
 * @param ids n texts, copied; none may be NULL
 * @return KN_ERR_DATA if an id is missing
 */
KN_API kn_status kn_data_ids(kn_ctx *ctx, kn_data *data, const char *const *ids);

/* Set the responses.
 *
 * @param ctx context
 * @param data made by kn_data_new
 * @param values n x T, borrowed: the values must outlive the data; NaN is missing
 * @param names T texts, copied. With names, a model finds its responses by name. NULL: by position
 * @return KN_ERR_SHAPE if the number of rows is not n
 */
KN_API kn_status kn_data_responses(kn_ctx *ctx, kn_data *data, kn_view values,
                                   const char *const *names);

/* Open data from files. {covariates}, {responses} and {mask} name the files; rows are matched by
 * {id} as {match} says. The call checks the files of the responses but does not read their values:
 * kn_fit and kn_score do.
 *
 * @param ctx context
 * @param options options of the command that will use the data; {covariates} is required
 * @param data owned by the caller; free with kn_data_free
 * @return KN_ERR_IO, KN_ERR_FORMAT or KN_ERR_DATA if a file cannot be used
 */
KN_API kn_status kn_data_read(kn_ctx *ctx, const kn_options *options, kn_data **data);

/* Read the tables that {responses} names as one table: a SUBJECTS_DIR of FreeSurfer with {measure}
 * and {atlas}, one table, or several with commas, which are joined by ID. Of images, such as those
 * of a BIDS derivatives folder with {suffix}, the table lists the files.
 *
 * @param ctx context
 * @param options options of "fit"; {responses} is required, {covariates} is not used
 * @param text tab-separated rows with a header; the first column is participant_id, and n/a is
 *        missing. Of images the columns are participant_id, session_id if known, and path, or left
 *        and right. Owned by the caller; free with kn_text_free
 * @return KN_ERR_IO, KN_ERR_FORMAT or KN_ERR_DATA if a file cannot be used, or has no IDs
 */
KN_API kn_status kn_responses_table(kn_ctx *ctx, const kn_options *options, char **text);

/* The number of participants.
 *
 * @param data data
 * @return of data from files, the participants who have both covariates and responses
 */
KN_API ptrdiff_t kn_data_count(const kn_data *data);

/* Free data.
 *
 * @param data may be NULL
 */
KN_API void kn_data_free(kn_data *data);

/* ---- fit ---------------------------------------------------------------------------------- */

/* A fitted normative model. It is immutable: threads may share it. */
typedef struct kn_model kn_model;

/* Fit a normative model to a training sample of healthy participants.
 *
 * Responses that are constant or not finite are excluded and counted; their predictions are NaN.
 * With {output}, the call also writes the model and its log, completely or not at all.
 *
 * If kn_cancel or a limit stops the optimiser, the call returns the best model so far with KN_OK,
 * and kn_model_text(model, "stop") says so. With {output}, such a model is not written and the call
 * returns KN_ERR_CANCELLED.
 *
 * @param ctx context
 * @param data the training sample
 * @param options options of "fit"; NULL: defaults
 * @param model owned by the caller; free with kn_model_free; NULL if the option {dry_run} is set
 * @return any status
 */
KN_API kn_status kn_fit(kn_ctx *ctx, kn_data *data, const kn_options *options, kn_model **model);

/* Free a model. Views and texts of the model become invalid.
 *
 * @param model may be NULL
 */
KN_API void kn_model_free(kn_model *model);

/* Write a model to a safetensors file; docs/developers/model_file.md describes it.
 *
 * @param ctx context
 * @param model model
 * @param path file to write, completely or not at all
 * @param force nonzero: replace an existing file
 * @return KN_ERR_IO if the file exists or cannot be written
 */
KN_API kn_status kn_model_save(kn_ctx *ctx, const kn_model *model, const char *path, int force);

/* Read a model file.
 *
 * @param ctx context
 * @param path file that kn_model_save, kn_fit or kn_adapt wrote
 * @param model owned by the caller; free with kn_model_free
 * @return KN_ERR_IO if the file cannot be read, KN_ERR_FORMAT if it is not a valid model
 */
KN_API kn_status kn_model_open(kn_ctx *ctx, const char *path, kn_model **model);

/* Make the bytes of the model file in memory.
 *
 * @param ctx context
 * @param model model
 * @param bytes owned by the caller; free with kn_bytes_free
 * @param count number of bytes
 * @return KN_ERR_MEMORY if there is not enough memory
 */
KN_API kn_status kn_model_to_bytes(kn_ctx *ctx, const kn_model *model, void **bytes, size_t *count);

/* Read a model from the bytes of its file.
 *
 * @param ctx context
 * @param bytes content of a model file; not needed after the call
 * @param count number of bytes
 * @param model owned by the caller; free with kn_model_free
 * @return KN_ERR_FORMAT if the bytes are not a valid model
 */
KN_API kn_status kn_model_from_bytes(kn_ctx *ctx, const void *bytes, size_t count,
                                     kn_model **model);

/* Free the bytes of kn_model_to_bytes.
 *
 * @param bytes may be NULL
 */
KN_API void kn_bytes_free(void *bytes);

/* Describe a model completely, as JSON, as kronorm info prints it.
 *
 * @param ctx context
 * @param model model
 * @param json owned by the caller; free with kn_text_free
 * @return KN_ERR_MEMORY if there is not enough memory
 */
KN_API kn_status kn_model_json(kn_ctx *ctx, const kn_model *model, char **json);

/* Describe a model in plain text, one line per fact: the proportions of the signal, groups, and the
 * encoding of each covariate.
 *
 * @param ctx context
 * @param model model
 * @param text owned by the caller; free with kn_text_free
 * @return KN_ERR_MEMORY if there is not enough memory
 */
KN_API kn_status kn_model_words(kn_ctx *ctx, const kn_model *model, char **text);

/* Free the text of kn_model_json or kn_model_words.
 *
 * @param text may be NULL
 */
KN_API void kn_text_free(char *text);

/* A number of kn_model_json by its name.
 *
 * @param model model
 * @param name "lml", "n_components", "cv.z2", "seconds.fit", ...
 * @return NaN if there is no such number
 */
KN_API double kn_model_number(const kn_model *model, const char *name);

/* A text of a model by its name.
 *
 * @param model model
 * @param name "method", "noise", "likelihood", "stop", "theta.0" for the name of a
 *        hyperparameter, or "response_noun": "voxel", "vertex" or "response"
 * @return valid while the model lives. NULL if the name is unknown, and for noise and likelihood of
 *         a method that has its own.
 */
KN_API const char *kn_model_text(const kn_model *model, const char *name);

/* An array of a model by its name.
 *
 * Of the search: theta and gradient (hyperparameters), and curve.components, curve.msll, curve.se
 * and curve.lml (search for the number of components).
 *
 * In standardised units: X (N x F, the design of the covariates, METHOD 0), U (N x rank; low rank:
 * map features x rank), r, A (rank x P), c and d of each component, gamma if there are groups, B
 * (T_kept x P), noise and slope. x_mean, x_sd, y_mean and y_sd convert to the original units.
 *
 * kronprod: c, d and A have one component more than B, for all directions outside the basis.
 * stgpr: cells (one row of weights and lengths per cell) and, for each response, cell (a row of
 * cells), c, d, delta = d/c, lml and alpha (N x T_kept); the mean is R0* alpha.
 *
 * cv.R2: R2 of each response in use, over held-out participants of the training sample.
 *
 * Of the reference sample: z_cv (one row per reference participant x T_kept, KN_F32), the
 * cross-validated z-scores. It is absent above 1 GB, and a file has it only if it has ids.
 *
 * @param model model
 * @param name name of the array
 * @return a view that is valid while the model lives; its data are NULL if the name is unknown
 */
KN_API kn_view kn_model_array(const kn_model *model, const char *name);

/* The responses that the model uses.
 *
 * @param model model
 * @param index set to their indices among all responses, from 0; borrowed from the model
 * @return their number
 */
KN_API ptrdiff_t kn_model_kept(const kn_model *model, const ptrdiff_t **index);

/* The ids of the training sample.
 *
 * @param model model
 * @return n_samples texts, borrowed from the model; NULL if there were no ids, or with {strip_ids}
 */
KN_API const char *const *kn_model_ids(const kn_model *model);

/* The names of the responses.
 *
 * @param model model
 * @return n_responses texts, borrowed from the model; NULL if they have none, as those of arrays
 *         and images
 */
KN_API const char *const *kn_model_response_names(const kn_model *model);

/* The voxels of a model of images.
 *
 * @param model model
 * @param index set to the voxel of each response, counted from 0 with x fastest, ascending;
 *        borrowed from the model; NULL if the model is not of images
 * @return the number of responses; 0 if the model is not of images
 */
KN_API ptrdiff_t kn_model_voxels(const kn_model *model, const ptrdiff_t **index);

/* The reference sample: the training participants with held-out statistics.
 *
 * @param model model
 * @param sample set to their indices in the training sample, from 0; borrowed from the model. NULL:
 *        all of them in order, or unknown, as in a model of kn_export
 * @return their number; 0 if the model has no reference sample
 */
KN_API ptrdiff_t kn_model_reference(const kn_model *model, const ptrdiff_t **sample);

/* The noise variance of each response in the original units.
 *
 * @param ctx context
 * @param model model
 * @param noise n_responses numbers, filled by the call; NaN for excluded responses
 * @return KN_ERR_MEMORY if there is not enough memory
 */
KN_API kn_status kn_model_noise(kn_ctx *ctx, const kn_model *model, double *noise);

/* ---- scores ------------------------------------------------------------------------------- */

/* Scores or predictions of participants. */
typedef struct kn_scores kn_scores;

/* Compute z-scores, statistics of abnormality and metrics of participants with responses.
 *
 * The rows of the scores are those of kn_scores_ids, in that order: participants without a
 * covariate may have been excluded, and files come in the order of their responses. With {output},
 * the maps that {write} names go to that folder while they are computed, and all files appear
 * together at the end. Without it, the maps stay in memory as float.
 *
 * {part=3/10} scores participants 3, 13, ... only. With {output}, the folder then gets files from
 * which {join=10} makes the results of a single call; {join} reads no responses. Before the join,
 * values that compare participants with each other are NaN.
 *
 * @param ctx context
 * @param model may be freed before the scores
 * @param data participants with responses
 * @param options options of "score"; NULL: defaults
 * @param scores owned by the caller; free with kn_scores_free
 * @return any status
 */
KN_API kn_status kn_score(kn_ctx *ctx, const kn_model *model, kn_data *data,
                          const kn_options *options, kn_scores **scores);

/* Predict mean and variance from covariates.
 *
 * @param ctx context
 * @param model may be freed before the scores
 * @param data participants; responses are not used
 * @param options options of "predict"; NULL: defaults
 * @param scores owned by the caller; free with kn_scores_free
 * @return any status
 */
KN_API kn_status kn_predict(kn_ctx *ctx, const kn_model *model, kn_data *data,
                            const kn_options *options, kn_scores **scores);

/* Free scores. Views, columns and texts of the scores become invalid.
 *
 * @param scores may be NULL
 */
KN_API void kn_scores_free(kn_scores *scores);

/* The number of participants.
 *
 * @param scores scores
 * @return number of rows
 */
KN_API ptrdiff_t kn_scores_n_participants(const kn_scores *scores);

/* The number of responses.
 *
 * @param scores scores
 * @return all responses of the model, including excluded ones
 */
KN_API ptrdiff_t kn_scores_n_responses(const kn_scores *scores);

/* The ids of the participants.
 *
 * @param scores scores
 * @return one text per participant, borrowed from the scores; "row-0001", ... if there are no ids
 */
KN_API const char *const *kn_scores_ids(const kn_scores *scores);

/* A column of abnormality.tsv.
 *
 * @param scores scores
 * @param name such as "deviance_p"; predictions have "extrapolation" and "extrapolation_pct"
 * @return one number per participant, borrowed from the scores; NULL if there is no such column
 */
KN_API const double *kn_scores_participants(const kn_scores *scores, const char *name);

/* A column of metrics.tsv, or a noise variance.
 *
 * @param scores scores
 * @param name such as "R2"; "ys2_noise", or "ys2_noise_known" for members of known groups
 * @return one number per response, borrowed from the scores; NULL if there is no such column
 */
KN_API const double *kn_scores_responses(const kn_scores *scores, const char *name);

/* A number of summary.json.
 *
 * @param scores scores
 * @param name such as "metrics.R2", "AUC.extreme_z", "AUC.extreme_z.low" or "counts.abnormal";
 *        "files" is the number of files written
 * @return NaN if there is no such number
 */
KN_API double kn_scores_number(const kn_scores *scores, const char *name);

/* The content of summary.json.
 *
 * @param scores scores
 * @return JSON, borrowed from the scores
 */
KN_API const char *kn_scores_json(const kn_scores *scores);

/* A map in memory.
 *
 * @param scores scores of a call without {output}
 * @param name "z", "yhat", "ys2_model", "fdr" or "ys2"
 * @return participants x responses, KN_F32, valid while the scores live; its data are NULL if there
 *         is no such map
 */
KN_API kn_view kn_scores_array(const kn_scores *scores, const char *name);

/* Copy a range of responses of a map in memory.
 *
 * @param ctx context
 * @param scores scores of a call without {output}
 * @param name "z", "yhat", "ys2_model", "fdr" or "ys2"
 * @param first first response, from 0
 * @param count number of responses
 * @param out participants x count, filled by the call
 * @return KN_ERR_ARGUMENT if there is no such map or range, KN_ERR_SHAPE if out has another shape
 */
KN_API kn_status kn_scores_block(kn_ctx *ctx, const kn_scores *scores, const char *name,
                                 ptrdiff_t first, ptrdiff_t count, kn_mat out);

/* ---- how this library was built ------------------------------------------------------------- */

/* The configuration of the BLAS library, as OpenBLAS describes it.
 *
 * @return a static text
 */
KN_API const char *kn_build_blas(void);

/* The processor core that OpenBLAS uses.
 *
 * @return a static text
 */
KN_API const char *kn_build_core(void);

/* The core to set in OPENBLAS_CORETYPE if OpenBLAS does not recognise the processor.
 *
 * @return a static text; NULL if OpenBLAS recognises the processor
 */
KN_API const char *kn_build_better_core(void);

/* ---- experimental: may change in any version ------------------------------------------------ */

/* Mean and model variance of every response, in the original units. They are computed one block of
 * responses at a time, so that a participants x responses array is never needed. */
typedef struct kn_maps kn_maps;

/* Prepare predictions from covariates as numbers.
 *
 * @param ctx context
 * @param model must outlive the maps
 * @param X participants x covariates, in the order of the array "x_mean"; a categorical covariate
 *        is the number of the level, from 0
 * @param maps owned by the caller; free with kn_maps_free
 * @return KN_ERR_SHAPE if the number of columns is not that of the model
 */
KN_API kn_status kn_maps_predict(kn_ctx *ctx, const kn_model *model, kn_view X, kn_maps **maps);

/* Prepare leave-one-out predictions of the training sample, in closed form. Basis, scaling and
 * hyperparameters are those of all participants, so the predictions are optimistic.
 *
 * @param ctx context
 * @param model must outlive the maps; fitted without missing cells
 * @param Y the training responses, borrowed: they must outlive the maps
 * @param maps owned by the caller; free with kn_maps_free
 * @return KN_ERR_SHAPE if Y is not of the training sample, KN_ERR_DATA if cells were imputed,
 *         KN_ERR_ARGUMENT for a model of kn_export
 */
KN_API kn_status kn_maps_loo(kn_ctx *ctx, const kn_model *model, kn_view Y, kn_maps **maps);

/* Prepare cross-validated predictions of the training sample. Mean, basis and component variances
 * are fitted again without each fold.
 *
 * @param ctx context
 * @param model must outlive the maps; fitted without missing cells
 * @param Y the training responses, borrowed: they must outlive the maps
 * @param folds number of folds, at least 2
 * @param fold fold of each participant, 0 to folds - 1; NULL: the folds that the fit used
 * @param maps owned by the caller; free with kn_maps_free
 * @return as kn_maps_loo; KN_ERR_ARGUMENT also for invalid folds
 */
KN_API kn_status kn_maps_cv(kn_ctx *ctx, const kn_model *model, kn_view Y, int folds,
                            const int *fold, kn_maps **maps);

/* Compute a range of responses.
 *
 * @param ctx context
 * @param maps maps
 * @param first first response, from 0
 * @param count number of responses
 * @param mean participants x count, filled by the call, or kn_mat_none()
 * @param variance participants x count, filled by the call, or kn_mat_none()
 * @return KN_ERR_ARGUMENT if there is no such range, KN_ERR_SHAPE if an output has another shape
 */
KN_API kn_status kn_maps_block(kn_ctx *ctx, kn_maps *maps, ptrdiff_t first, ptrdiff_t count,
                               kn_mat mean, kn_mat variance);

/* The number of participants of maps.
 *
 * @param maps maps
 * @return number of rows
 */
KN_API ptrdiff_t kn_maps_samples(const kn_maps *maps);

/* Free maps.
 *
 * @param maps may be NULL
 */
KN_API void kn_maps_free(kn_maps *maps);

/* Compute the covariance between responses at given covariates, in the original units.
 *
 * @param ctx context
 * @param model model
 * @param x 1 x covariates, as for kn_maps_predict
 * @param responses indices of the responses, from 0
 * @param count number of responses
 * @param model_cov count x count, covariance of the noise-free responses, or kn_mat_none()
 * @param noise_cov count x count, covariance of the noise, or kn_mat_none()
 * @return KN_ERR_ARGUMENT if a response is not in the model, KN_ERR_SHAPE if a size is wrong
 */
KN_API kn_status kn_covariance(kn_ctx *ctx, const kn_model *model, kn_view x,
                               const ptrdiff_t *responses, ptrdiff_t count, kn_mat model_cov,
                               kn_mat noise_cov);

/* Adapt a model to sites that are not in its training sample. The adapted model contains no
 * individual data of the controls.
 *
 * @param ctx context
 * @param model not changed; may be freed before the adapted model
 * @param controls healthy participants from the new sites
 * @param options options of "adapt"; NULL: defaults. With {output}, the model is also written there
 * @param adapted owned by the caller; free with kn_model_free
 * @return any status
 */
KN_API kn_status kn_adapt(kn_ctx *ctx, const kn_model *model, kn_data *controls,
                          const kn_options *options, kn_model **adapted);

/* Result of kn_overlap. Index 0 is for negative and 1 for positive deviations; p-values are of the
 * difference between two groups, NaN if there are not two. */
typedef struct kn_overlap_info {
    size_t size;            /* sizeof(kn_overlap_info) as the caller was compiled */
    ptrdiff_t participants; /* participants in a group */
    ptrdiff_t excluded;     /* participants without a group */
    ptrdiff_t groups;       /* number of groups */
    ptrdiff_t responses;    /* number of responses */
    ptrdiff_t files;        /* files written */
    double least_p[2];      /* smallest family-wise corrected p-value */
    double least_p_fdr[2];  /* smallest FDR-adjusted p-value */
    ptrdiff_t below[2];     /* responses with a family-wise corrected p-value below 0.05 */
    ptrdiff_t below_fdr[2]; /* responses with an FDR-adjusted p-value below 0.05 */
} kn_overlap_info;

/* Compute overlap maps: the proportion of each group of {by} with a deviation beyond {threshold} at
 * each response and, for two groups, a permutation test of the difference. Participants and maps
 * come from the folder {scored} of kn_score; tables or maps go to the folder {output}.
 *
 * @param ctx context
 * @param options options of "overlap"
 * @param info set info->size before the call; may be NULL
 * @return any status
 */
KN_API kn_status kn_overlap(kn_ctx *ctx, const kn_options *options, kn_overlap_info *info);

/* Result of kn_change. */
typedef struct kn_change_info {
    size_t size;                      /* sizeof(kn_change_info) as the caller was compiled */
    ptrdiff_t participants;           /* participants with at least two visits */
    ptrdiff_t one_visit;              /* participants with one visit, who are excluded */
    ptrdiff_t pairs;                  /* pairs of visits */
    ptrdiff_t responses;              /* number of responses */
    ptrdiff_t files;                  /* files written */
    ptrdiff_t reference_participants; /* participants in the reference sample */
    ptrdiff_t reference_pairs;        /* pairs of visits in the reference sample */
    ptrdiff_t far;                    /* pairs whose interval is outside twice the range of the
                                         reference sample */
    ptrdiff_t with_p;                 /* pairs outside the reference sample with a p-value */
    ptrdiff_t flagged;                /* of these, pairs with mean_z2_p of at most 0.05 */
    double gamma;                     /* regression to the mean in the reference sample */
    double d0;                        /* degrees of freedom of the prior of the variance of change;
                                         may be infinite */
    double s0;         /* typical variance of change, as a proportion of the noise variance */
    double smallest_p; /* smallest mean_z2_p that the reference sample can resolve */
    double expected;   /* expected number of flagged pairs of stable participants */
} kn_change_info;

/* Test for change between visits. Each pair of visits is compared with the changes of the reference
 * participants: those that {reference} names, or those stored in the model. Maps and tables go to
 * the folder {output}; {save} writes the model with the reference sample of change.
 *
 * @param ctx context
 * @param model model
 * @param data one row per visit
 * @param options options of "change"
 * @param info set info->size before the call; may be NULL
 * @return any status
 */
KN_API kn_status kn_change(kn_ctx *ctx, const kn_model *model, kn_data *data,
                           const kn_options *options, kn_change_info *info);

/* Result of kn_export. Errors are the largest ones, in standard deviations of the response: of the
 * predicted mean and of the predicted standard deviation. */
typedef struct kn_export_info {
    size_t size;          /* sizeof(kn_export_info) as the caller was compiled */
    ptrdiff_t points;     /* synthetic points in the exported model, over all cells */
    ptrdiff_t few;        /* levels and sites with fewer than 5 participants */
    double mean;          /* error of the mean at the covariates of the training sample */
    double sd;            /* error of the standard deviation there */
    double mean_between;  /* error of the mean between the training covariates */
    double sd_between;    /* error of the standard deviation there */
    double mean_beyond;   /* error of the mean beyond the range, whose limits are rounded */
    double sd_beyond;     /* error of the standard deviation there */
    ptrdiff_t findable;   /* 1: training covariates could be computed from the file, because
                             predictions need many functions of them */
    double leverage;      /* largest share of the variance of a training participant's map that the
                             file would determine without noise */
    double leverage_left; /* the same in the file; at most {max_leverage} */
    ptrdiff_t blurred;    /* participants and groups of rows whose maps got noise before */
    double mean_blurred;  /* largest difference of the mean with this noise */
    double sd_blurred;    /* largest difference of the standard deviation with this noise */
} kn_export_info;

/* Write a shareable model without individual data to the file {output}. Its predictions and scores
 * agree with those of the original within a measured error. No file is written if the error is
 * above 0.01 standard deviations of a response. Near training participants with unusual covariates,
 * whose maps could be computed from the file, predictions differ by more: their maps get noise
 * first, which the predicted variances include.
 *
 * @param ctx context
 * @param model model
 * @param options options of "export"
 * @param info set info->size before the call; may be NULL
 * @return any status
 */
KN_API kn_status kn_export(kn_ctx *ctx, const kn_model *model, const kn_options *options,
                           kn_export_info *info);

/* Result of kn_centiles. */
typedef struct kn_centiles_info {
    size_t size;              /* sizeof(kn_centiles_info) as the caller was compiled */
    ptrdiff_t responses;      /* number of responses */
    ptrdiff_t curves;         /* curves per response */
    ptrdiff_t values;         /* values of {over} along each curve */
    ptrdiff_t centiles;       /* centiles per curve */
    ptrdiff_t participants;   /* participants placed among the curves */
    ptrdiff_t files;          /* files written */
    int bands;                /* 0: none, 1: from the model, 2: jackknife */
    ptrdiff_t n_extrapolated; /* points with extrapolation_pct above 99 */
} kn_centiles_info;

/* Compute centile curves over {over} at the covariates {at}, in the units of the responses, with
 * confidence bands. Tables or maps go to the folder {output}.
 *
 * @param ctx context
 * @param model model
 * @param training the training sample, for {bands=jackknife}. NULL: from {covariates} and
 *        {responses}, if they are set
 * @param participants participants with responses, to be placed among the curves. NULL: from
 *        {people} and {responses}, if they are set
 * @param options options of "centiles"
 * @param info set info->size before the call; may be NULL
 * @return any status
 */
KN_API kn_status kn_centiles(kn_ctx *ctx, const kn_model *model, kn_data *training,
                             kn_data *participants, const kn_options *options,
                             kn_centiles_info *info);

/* Result of kn_cv. */
typedef struct kn_cv_info {
    size_t size;            /* sizeof(kn_cv_info) as the caller was compiled */
    ptrdiff_t participants; /* participants scored */
    ptrdiff_t folds;        /* number of folds */
    ptrdiff_t responses;    /* number of responses */
    ptrdiff_t files;        /* files written */
    ptrdiff_t adapted;      /* participants scored by adapted models too */
    ptrdiff_t test;         /* with {split}: participants in the test list */
    double R2;              /* mean over responses */
    double MSLL;            /* mean over responses */
    double z2;              /* mean squared z-score */
    double adapted_MSLL;    /* MSLL of the adapted models */
    double adapted_z2;      /* mean squared z-score of the adapted models */
    double AUC;             /* of {cases}, by the extreme-value statistic; NaN: none */
    double AUC_deviance;    /* of {cases}, by the whole-map deviance; NaN: none */
    double joint_density;   /* mean log density of a whole map minus that of independent responses,
                               in nats; NaN: none */
    double gain;            /* mean log density minus that of a model without covariates that is
                               calibrated alike, in nats per response; NaN: none */
    double adapted_gain;    /* gain of the adapted models */
} kn_cv_info;

/* Cross-validate: score every participant with a model that was fitted without its fold.
 *
 * Files as those of kn_score for all participants, in the order of the covariates, go to the folder
 * {output}, with folds.tsv and metrics_by_site.tsv. With {leave_out}, the scores of models adapted
 * to the held-out level go to its folder adapted. With {split}, only lists of ids are written.
 *
 * @param ctx context
 * @param data participants with responses
 * @param options options of "cv"
 * @param info set info->size before the call; may be NULL
 * @return any status
 */
KN_API kn_status kn_cv(kn_ctx *ctx, kn_data *data, const kn_options *options, kn_cv_info *info);

/* The numbers of an HTML report. */
typedef struct kn_report kn_report;

/* Result of kn_report_write. */
typedef struct kn_report_info {
    size_t size;            /* sizeof(kn_report_info) as the caller was compiled */
    ptrdiff_t participants; /* rows of the report */
    ptrdiff_t responses;    /* number of responses */
    ptrdiff_t warnings;     /* warnings in the report */
    ptrdiff_t cards;        /* cards of individual participants */
    ptrdiff_t cards_asked;  /* cards requested; more than cards if {max_size} is too small */
    ptrdiff_t bytes;        /* size of the page */
    ptrdiff_t figures;      /* files in {figures} */
    int change;             /* 1: rows are pairs of visits */
} kn_report_info;

/* Compute a report about a model and, with {scored}, about a folder that kn_score or kn_change
 * wrote with this model.
 *
 * @param ctx context
 * @param model NULL: {scored} is a folder of kn_cv
 * @param options options of "report"
 * @param report owned by the caller; free with kn_report_free
 * @return any status
 */
KN_API kn_status kn_report_compute(kn_ctx *ctx, const kn_model *model, const kn_options *options,
                                   kn_report **report);

/* The numbers of a report as JSON, as kronorm report prints them.
 *
 * @param ctx context
 * @param report report
 * @param json set to a text borrowed from the report
 * @return KN_ERR_MEMORY if there is not enough memory
 */
KN_API kn_status kn_report_json(kn_ctx *ctx, kn_report *report, const char **json);

/* Write the page {output} and the files of {figures}, completely or not at all.
 *
 * @param ctx context
 * @param report report
 * @param options options of "report"
 * @param info set info->size before the call; may be NULL
 * @return KN_ERR_IO if a file exists or cannot be written
 */
KN_API kn_status kn_report_write(kn_ctx *ctx, const kn_report *report, const kn_options *options,
                                 kn_report_info *info);

/* Free a report.
 *
 * @param report may be NULL
 */
KN_API void kn_report_free(kn_report *report);

#ifdef __cplusplus
}
#endif

#endif
