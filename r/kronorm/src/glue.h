/* From R to libkronorm by .Call.
 *
 *     handles.c  what the library made, as external pointers that free it
 *     call.c     a call of the library in a thread of its own, while R's thread listens
 *     options.c  texts by key             data.c    participants from a data frame
 *     model.c    kn_fit and models        scores.c  kn_score, kn_predict and what they say
 *     held_out.c cross-validated z-scores, and names in a model
 *     folders.c  what writes a folder or a page: centiles, change, report
 *
 * R may leave a function by longjmp wherever it allocates or evaluates. So what must be freed
 * belongs to an external pointer before R is asked for anything else, and a call of the library
 * that is under way is ended by the clean-up of R_UnwindProtect. The worker never touches R.
 *
 * Every function that may fail for a reason of the user's returns an answer: list(status, message,
 * value, warnings); R code makes conditions of it. Rf_error is for handles that are not what they
 * should be. */
#ifndef KRONORM_GLUE_H
#define KRONORM_GLUE_H

#define R_NO_REMAP
#define STRICT_R_HEADERS
#include <R.h>
#include <Rinternals.h>
#include <kronorm.h>

/* ---- handles ------------------------------------------------------------------------------- */

typedef enum kr_kind { KR_CTX, KR_OPTIONS, KR_DATA, KR_MODEL, KR_SCORES, KR_N_KINDS } kr_kind;

/* An empty handle with its finaliser; `keep` lives as long as it does. */
SEXP kr_handle_new(kr_kind kind, SEXP keep);
void kr_handle_set(SEXP handle, void *thing);
/* The thing itself; an error of R where it is another thing, freed, or from another session. */
void *kr_thing(SEXP handle, kr_kind kind);
void *kr_thing_or_null(SEXP handle, kr_kind kind); /* R's NULL is NULL */
/* Whether an R object is a handle of that kind, with or without a thing in it. */
int kr_is_handle(SEXP handle, kr_kind kind);
void kr_listen(SEXP handle); /* its finaliser: one that was read from a file has none */

SEXP kr_new_ctx(SEXP threads, SEXP memory);
SEXP kr_free(SEXP handle); /* while a call is under way: when R next collects */
SEXP kr_alive(SEXP handle);

/* ---- calls --------------------------------------------------------------------------------- */

typedef struct kr_job kr_job;
struct kr_job {
    kn_status (*run)(kr_job *job); /* in the worker: no R here */
    kn_ctx *ctx;
    const kn_model *model;
    kn_data *data, *training;
    const kn_options *options;
    const char *path;
    const void *bytes;
    size_t count;
    int force;
    kn_status status; /* what came of it */
    kn_model *new_model;
    kn_scores *new_scores;
    void *new_bytes;
    char *new_text;
};

/* Runs the job and returns the warnings of the library, or does not return: then the job was
 * cancelled, has ended, and what it made is freed. `listen` is list(say, tick): functions of R, or
 * NULL, for lines of the log and for progress. */
SEXP kr_work(kr_job *job, SEXP listen);
int kr_working(void); /* how many calls are under way, one within what listens to another */
/* list(status, message, value, warnings); value only where the job went well. */
SEXP kr_answer(const kr_job *job, SEXP value, SEXP warnings);

/* ---- texts --------------------------------------------------------------------------------- */

SEXP kr_text(const char *text); /* a character vector of one; NULL is NA */
SEXP kr_char(const char *text); /* CHARSXP, NULL is NA */
/* n texts as UTF-8, in memory that R frees when .Call returns; NA is NULL. */
const char *const *kr_texts(SEXP values);
const char *kr_one_text(SEXP value); /* the same of the first; R's NULL is NULL */

/* ---- what .Call calls ---------------------------------------------------------------------- */

SEXP kr_options(SEXP ctx, SEXP command, SEXP keys, SEXP values);
SEXP kr_option_table(SEXP command);
SEXP kr_build(void);
SEXP kr_data(SEXP ctx, SEXP n, SEXP columns, SEXP ids, SEXP responses);
SEXP kr_responses_table(SEXP ctx, SEXP options);
SEXP kr_fit(SEXP ctx, SEXP data, SEXP options, SEXP listen);
SEXP kr_adapt(SEXP ctx, SEXP model, SEXP data, SEXP options, SEXP listen);
SEXP kr_model_open(SEXP ctx, SEXP path);
SEXP kr_model_save(SEXP ctx, SEXP model, SEXP path, SEXP force);
SEXP kr_model_bytes(SEXP ctx, SEXP model);
SEXP kr_model_restore(SEXP ctx, SEXP model, SEXP bytes);
SEXP kr_model_json(SEXP ctx, SEXP model);
SEXP kr_model_words(SEXP ctx, SEXP model);
SEXP kr_model_ids(SEXP model);
SEXP kr_model_response_names(SEXP model);
SEXP kr_model_held_out(SEXP model);
SEXP kr_score(SEXP ctx, SEXP model, SEXP data, SEXP options, SEXP listen);
SEXP kr_predict(SEXP ctx, SEXP model, SEXP data, SEXP options, SEXP listen);
SEXP kr_scores_ids(SEXP scores);
SEXP kr_scores_map(SEXP ctx, SEXP scores, SEXP name);
SEXP kr_scores_participants(SEXP scores, SEXP names);
SEXP kr_scores_responses(SEXP scores, SEXP names);
SEXP kr_scores_json(SEXP scores);
SEXP kr_centiles(SEXP ctx, SEXP model, SEXP training, SEXP participants, SEXP options, SEXP listen);
SEXP kr_change(SEXP ctx, SEXP model, SEXP data, SEXP options, SEXP listen);
SEXP kr_report(SEXP ctx, SEXP model, SEXP options, SEXP listen);

#endif
