/* What writes a folder or a page. */
#include "glue.h"

static SEXP done(kr_job *job, SEXP listen)
{
    SEXP warnings = PROTECT(kr_work(job, listen));
    SEXP answer = kr_answer(job, R_NilValue, warnings);
    UNPROTECT(1);
    return answer;
}

static kn_status centiles(kr_job *job)
{
    return kn_centiles(job->ctx, job->model, job->training, job->data, job->options, NULL);
}

SEXP kr_centiles(SEXP ctx, SEXP model, SEXP training, SEXP participants, SEXP options, SEXP listen)
{
    kr_job job = {.run = centiles,
                  .ctx = kr_thing(ctx, KR_CTX),
                  .model = kr_thing(model, KR_MODEL),
                  .training = kr_thing_or_null(training, KR_DATA),
                  .data = kr_thing_or_null(participants, KR_DATA),
                  .options = kr_thing(options, KR_OPTIONS)};
    return done(&job, listen);
}

static kn_status change(kr_job *job)
{
    return kn_change(job->ctx, job->model, job->data, job->options, NULL);
}

SEXP kr_change(SEXP ctx, SEXP model, SEXP data, SEXP options, SEXP listen)
{
    kr_job job = {.run = change,
                  .ctx = kr_thing(ctx, KR_CTX),
                  .model = kr_thing(model, KR_MODEL),
                  .data = kr_thing(data, KR_DATA),
                  .options = kr_thing(options, KR_OPTIONS)};
    return done(&job, listen);
}

static kn_status report(kr_job *job)
{
    kn_report *made = NULL;
    kn_status status = kn_report_compute(job->ctx, job->model, job->options, &made);
    if (status == KN_OK)
        status = kn_report_write(job->ctx, made, job->options, NULL);
    kn_report_free(made);
    return status;
}

SEXP kr_report(SEXP ctx, SEXP model, SEXP options, SEXP listen)
{
    kr_job job = {.run = report,
                  .ctx = kr_thing(ctx, KR_CTX),
                  .model = kr_thing(model, KR_MODEL),
                  .options = kr_thing(options, KR_OPTIONS)};
    return done(&job, listen);
}
