/* Models: made, kept as bytes, written and read, told. */
#include <string.h>

#include "glue.h"

/* The answer of a job that makes a model. */
static SEXP make_model(kr_job *job, SEXP listen)
{
    SEXP handle = PROTECT(kr_handle_new(KR_MODEL, R_NilValue));
    SEXP warnings = PROTECT(kr_work(job, listen));
    kr_handle_set(handle, job->new_model);
    SEXP answer = kr_answer(job, handle, warnings);
    UNPROTECT(2);
    return answer;
}

static kn_status fit(kr_job *job)
{
    return kn_fit(job->ctx, job->data, job->options, &job->new_model);
}

SEXP kr_fit(SEXP ctx, SEXP data, SEXP options, SEXP listen)
{
    kr_job job = {.run = fit,
                  .ctx = kr_thing(ctx, KR_CTX),
                  .data = kr_thing(data, KR_DATA),
                  .options = kr_thing(options, KR_OPTIONS)};
    return make_model(&job, listen);
}

static kn_status adapt(kr_job *job)
{
    return kn_adapt(job->ctx, job->model, job->data, job->options, &job->new_model);
}

SEXP kr_adapt(SEXP ctx, SEXP model, SEXP data, SEXP options, SEXP listen)
{
    kr_job job = {.run = adapt,
                  .ctx = kr_thing(ctx, KR_CTX),
                  .model = kr_thing(model, KR_MODEL),
                  .data = kr_thing(data, KR_DATA),
                  .options = kr_thing(options, KR_OPTIONS)};
    return make_model(&job, listen);
}

static kn_status open_file(kr_job *job)
{
    return kn_model_open(job->ctx, job->path, &job->new_model);
}

SEXP kr_model_open(SEXP ctx, SEXP path)
{
    kr_job job = {.run = open_file, .ctx = kr_thing(ctx, KR_CTX), .path = kr_one_text(path)};
    return make_model(&job, R_NilValue);
}

static kn_status save(kr_job *job)
{
    return kn_model_save(job->ctx, job->model, job->path, job->force);
}

SEXP kr_model_save(SEXP ctx, SEXP model, SEXP path, SEXP force)
{
    kr_job job = {.run = save,
                  .ctx = kr_thing(ctx, KR_CTX),
                  .model = kr_thing(model, KR_MODEL),
                  .path = kr_one_text(path),
                  .force = Rf_asLogical(force) == TRUE};
    SEXP warnings = PROTECT(kr_work(&job, R_NilValue));
    SEXP answer = kr_answer(&job, R_NilValue, warnings);
    UNPROTECT(1);
    return answer;
}

/* ---- bytes --------------------------------------------------------------------------------- */

static kn_status to_bytes(kr_job *job)
{
    return kn_model_to_bytes(job->ctx, job->model, &job->new_bytes, &job->count);
}

static void free_bytes(SEXP owner)
{
    kn_bytes_free(R_ExternalPtrAddr(owner));
    R_ClearExternalPtr(owner);
}

SEXP kr_model_bytes(SEXP ctx, SEXP model)
{
    kr_job job = {.run = to_bytes,
                  .ctx = kr_thing(ctx, KR_CTX),
                  .model = kr_thing(model, KR_MODEL)};
    SEXP owner = PROTECT(R_MakeExternalPtr(NULL, R_NilValue, R_NilValue));
    R_RegisterCFinalizer(owner, free_bytes); /* there may be no room for a copy */
    SEXP warnings = PROTECT(kr_work(&job, R_NilValue));
    R_SetExternalPtrAddr(owner, job.new_bytes);
    SEXP raw = PROTECT(Rf_allocVector(RAWSXP, (R_xlen_t)job.count));
    if (job.count)
        memcpy(RAW(raw), job.new_bytes, job.count);
    free_bytes(owner);
    SEXP answer = kr_answer(&job, raw, warnings);
    UNPROTECT(3);
    return answer;
}

static kn_status from_bytes(kr_job *job)
{
    return kn_model_from_bytes(job->ctx, job->bytes, job->count, &job->new_model);
}

/* A handle that came out of a file has no address any more: the same one gets its model back, so
 * that all copies of the object have it. */
SEXP kr_model_restore(SEXP ctx, SEXP model, SEXP bytes)
{
    if (!kr_is_handle(model, KR_MODEL))
        Rf_error("expected a kronorm model, this is something else");
    if (TYPEOF(bytes) != RAWSXP)
        Rf_error("the bytes of a model are a raw vector");
    kr_job job = {.run = from_bytes,
                  .ctx = kr_thing(ctx, KR_CTX),
                  .bytes = RAW_RO(bytes),
                  .count = (size_t)Rf_xlength(bytes)};
    SEXP warnings = PROTECT(kr_work(&job, R_NilValue));
    if (job.new_model && !R_ExternalPtrAddr(model)) {
        kr_handle_set(model, job.new_model);
        kr_listen(model);
    } else {
        kn_model_free(job.new_model);
    }
    SEXP answer = kr_answer(&job, model, warnings);
    UNPROTECT(1);
    return answer;
}

/* ---- what a model tells -------------------------------------------------------------------- */

static void free_text(SEXP owner)
{
    kn_text_free(R_ExternalPtrAddr(owner));
    R_ClearExternalPtr(owner);
}

/* Runs a job that makes a text, and answers with it. */
static SEXP answer_text(kr_job job)
{
    SEXP owner = PROTECT(R_MakeExternalPtr(NULL, R_NilValue, R_NilValue));
    R_RegisterCFinalizer(owner, free_text);
    SEXP warnings = PROTECT(kr_work(&job, R_NilValue));
    R_SetExternalPtrAddr(owner, job.new_text);
    SEXP text = PROTECT(kr_text(job.new_text));
    free_text(owner);
    SEXP answer = kr_answer(&job, text, warnings);
    UNPROTECT(3);
    return answer;
}

static SEXP tell(SEXP ctx, SEXP model, kn_status (*run)(kr_job *))
{
    return answer_text(
        (kr_job){.run = run, .ctx = kr_thing(ctx, KR_CTX), .model = kr_thing(model, KR_MODEL)});
}

static kn_status responses_table(kr_job *job)
{
    return kn_responses_table(job->ctx, job->options, &job->new_text);
}

SEXP kr_responses_table(SEXP ctx, SEXP options)
{
    return answer_text((kr_job){.run = responses_table,
                                .ctx = kr_thing(ctx, KR_CTX),
                                .options = kr_thing(options, KR_OPTIONS)});
}

static kn_status json(kr_job *job)
{
    return kn_model_json(job->ctx, job->model, &job->new_text);
}

static kn_status words(kr_job *job)
{
    return kn_model_words(job->ctx, job->model, &job->new_text);
}

SEXP kr_model_json(SEXP ctx, SEXP model)
{
    return tell(ctx, model, json);
}

SEXP kr_model_words(SEXP ctx, SEXP model)
{
    return tell(ctx, model, words);
}
