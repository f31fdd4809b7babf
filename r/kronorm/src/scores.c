/* Scores and predictions of a model. */
#include "glue.h"

static SEXP make_scores(kr_job *job, SEXP listen)
{
    SEXP handle = PROTECT(kr_handle_new(KR_SCORES, R_NilValue));
    SEXP warnings = PROTECT(kr_work(job, listen));
    kr_handle_set(handle, job->new_scores);
    SEXP answer = kr_answer(job, handle, warnings);
    UNPROTECT(2);
    return answer;
}

static kn_status score(kr_job *job)
{
    return kn_score(job->ctx, job->model, job->data, job->options, &job->new_scores);
}

static kn_status predict(kr_job *job)
{
    return kn_predict(job->ctx, job->model, job->data, job->options, &job->new_scores);
}

SEXP kr_score(SEXP ctx, SEXP model, SEXP data, SEXP options, SEXP listen)
{
    kr_job job = {.run = score,
                  .ctx = kr_thing(ctx, KR_CTX),
                  .model = kr_thing(model, KR_MODEL),
                  .data = kr_thing(data, KR_DATA),
                  .options = kr_thing(options, KR_OPTIONS)};
    return make_scores(&job, listen);
}

SEXP kr_predict(SEXP ctx, SEXP model, SEXP data, SEXP options, SEXP listen)
{
    kr_job job = {.run = predict,
                  .ctx = kr_thing(ctx, KR_CTX),
                  .model = kr_thing(model, KR_MODEL),
                  .data = kr_thing(data, KR_DATA),
                  .options = kr_thing(options, KR_OPTIONS)};
    return make_scores(&job, listen);
}

SEXP kr_scores_ids(SEXP scores)
{
    const kn_scores *s = kr_thing(scores, KR_SCORES);
    ptrdiff_t n = kn_scores_n_participants(s);
    const char *const *id = kn_scores_ids(s);
    SEXP ids = PROTECT(Rf_allocVector(STRSXP, n));
    for (ptrdiff_t i = 0; i < n; i++)
        SET_STRING_ELT(ids, i, kr_char(id ? id[i] : NULL));
    UNPROTECT(1);
    return ids;
}

/* R tells NA from NaN; the library has NaN where a value is missing. */
static void as_na(double *x, R_xlen_t n)
{
    for (R_xlen_t i = 0; i < n; i++)
        if (ISNAN(x[i]))
            x[i] = NA_REAL;
}

SEXP kr_scores_map(SEXP ctx, SEXP scores, SEXP name)
{
    kr_job job = {.ctx = kr_thing(ctx, KR_CTX)};
    const kn_scores *s = kr_thing(scores, KR_SCORES);
    ptrdiff_t n = kn_scores_n_participants(s), T = kn_scores_n_responses(s);
    if (n > INT_MAX || T > INT_MAX)
        Rf_error("a matrix of R has at most %d rows or columns", INT_MAX);
    SEXP none = PROTECT(Rf_allocVector(STRSXP, 0));
    SEXP map = PROTECT(Rf_allocMatrix(REALSXP, (int)n, (int)T));
    job.status = kn_scores_block(job.ctx, s, kr_one_text(name), 0, T, kn_mat_cols(REAL(map), n, T));
    if (job.status == KN_OK)
        as_na(REAL(map), Rf_xlength(map));
    SEXP answer = kr_answer(&job, map, none);
    UNPROTECT(2);
    return answer;
}

/* A list with a column for each name; NULL where there is none. */
static SEXP columns(const kn_scores *s, SEXP names, R_xlen_t n,
                    const double *(*get)(const kn_scores *, const char *))
{
    const char *const *name = kr_texts(names);
    SEXP all = PROTECT(Rf_allocVector(VECSXP, Rf_xlength(names)));
    Rf_setAttrib(all, R_NamesSymbol, names);
    for (R_xlen_t k = 0; k < Rf_xlength(names); k++) {
        const double *x = name[k] ? get(s, name[k]) : NULL;
        if (!x)
            continue;
        SET_VECTOR_ELT(all, k, Rf_allocVector(REALSXP, n));
        double *to = REAL(VECTOR_ELT(all, k));
        for (R_xlen_t i = 0; i < n; i++)
            to[i] = x[i];
        as_na(to, n);
    }
    UNPROTECT(1);
    return all;
}

SEXP kr_scores_participants(SEXP scores, SEXP names)
{
    const kn_scores *s = kr_thing(scores, KR_SCORES);
    return columns(s, names, kn_scores_n_participants(s), kn_scores_participants);
}

SEXP kr_scores_responses(SEXP scores, SEXP names)
{
    const kn_scores *s = kr_thing(scores, KR_SCORES);
    return columns(s, names, kn_scores_n_responses(s), kn_scores_responses);
}

SEXP kr_scores_json(SEXP scores)
{
    return kr_text(kn_scores_json(kr_thing(scores, KR_SCORES)));
}
