/* People from a data frame. Columns and ids are copied by the library; a matrix of responses is
 * lent as it is, doubles column by column, and kept by the handle. */
#include "glue.h"

static kn_status add_column(kn_ctx *ctx, kn_data *data, const char *name, SEXP column)
{
    if (TYPEOF(column) == REALSXP)
        return kn_data_numbers(ctx, data, name, REAL_RO(column), 1);
    return kn_data_texts(ctx, data, name, kr_texts(column));
}

static kn_status add_columns(kn_ctx *ctx, kn_data *data, SEXP columns)
{
    kn_status status = KN_OK;
    R_xlen_t n = Rf_xlength(columns);
    SEXP names = PROTECT(Rf_getAttrib(columns, R_NamesSymbol));
    const char *const *name = n ? kr_texts(names) : NULL;
    for (R_xlen_t k = 0; status == KN_OK && k < n; k++)
        status = add_column(ctx, data, name[k], VECTOR_ELT(columns, k));
    UNPROTECT(1);
    return status;
}

/* With the names of its columns, if all have one. */
static kn_status add_responses(kn_ctx *ctx, kn_data *data, SEXP responses)
{
    const char *const *names = NULL;
    SEXP dimnames = PROTECT(Rf_getAttrib(responses, R_DimNamesSymbol));
    if (dimnames != R_NilValue && VECTOR_ELT(dimnames, 1) != R_NilValue)
        names = kr_texts(VECTOR_ELT(dimnames, 1));
    kn_view view = kn_view_cols(REAL_RO(responses), Rf_nrows(responses), Rf_ncols(responses));
    kn_status status = kn_data_responses(ctx, data, view, names);
    UNPROTECT(1);
    return status;
}

static void check(SEXP columns, SEXP ids, SEXP responses, double n)
{
    if (TYPEOF(columns) != VECSXP || !(n >= 0 && n < 2147483648.0))
        Rf_error("data must be a list of columns and the number of rows");
    for (R_xlen_t k = 0; k < Rf_xlength(columns); k++) {
        SEXP column = VECTOR_ELT(columns, k);
        if ((TYPEOF(column) != REALSXP && TYPEOF(column) != STRSXP) ||
            (double)Rf_xlength(column) != n)
            Rf_error("column %d is not numeric or text with one value per row", (int)k + 1);
    }
    if (ids != R_NilValue && (TYPEOF(ids) != STRSXP || (double)Rf_xlength(ids) != n))
        Rf_error("ids must be texts, one per row");
    if (responses != R_NilValue && (TYPEOF(responses) != REALSXP || !Rf_isMatrix(responses)))
        Rf_error("responses are no matrix of numbers");
}

SEXP kr_data(SEXP ctx, SEXP n, SEXP columns, SEXP ids, SEXP responses)
{
    kr_job job = {.ctx = kr_thing(ctx, KR_CTX)};
    check(columns, ids, responses, Rf_asReal(n));
    SEXP handle = PROTECT(kr_handle_new(KR_DATA, responses));
    SEXP none = PROTECT(Rf_allocVector(STRSXP, 0));
    kn_data *data = NULL;
    job.status = kn_data_new(job.ctx, (ptrdiff_t)Rf_asReal(n), &data);
    kr_handle_set(handle, data); /* texts may make R jump */
    if (job.status == KN_OK)
        job.status = add_columns(job.ctx, data, columns);
    if (job.status == KN_OK && ids != R_NilValue)
        job.status = kn_data_ids(job.ctx, data, kr_texts(ids));
    if (job.status == KN_OK && responses != R_NilValue)
        job.status = add_responses(job.ctx, data, responses);
    SEXP answer = kr_answer(&job, handle, none);
    UNPROTECT(2);
    return answer;
}
