/* What a model stores of its training sample: ids, and z-scores of each participant by a model made
 * without their fold, and the names of its responses. */
#include <math.h>

#include "glue.h"

static SEXP names_of(const char *const *name, double n)
{
    if (!name || !(n >= 0))
        return R_NilValue;
    SEXP names = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)n));
    for (R_xlen_t i = 0; i < (R_xlen_t)n; i++)
        SET_STRING_ELT(names, i, kr_char(name[i]));
    UNPROTECT(1);
    return names;
}

SEXP kr_model_ids(SEXP model)
{
    const kn_model *m = kr_thing(model, KR_MODEL);
    return names_of(kn_model_ids(m), kn_model_number(m, "n_samples"));
}

SEXP kr_model_response_names(SEXP model)
{
    const kn_model *m = kr_thing(model, KR_MODEL);
    return names_of(kn_model_response_names(m), kn_model_number(m, "n_responses"));
}

/* Numbers counted from 1; all of them in order where index is NULL. */
static SEXP places(const ptrdiff_t *index, ptrdiff_t n)
{
    SEXP at = PROTECT(Rf_allocVector(REALSXP, n));
    for (ptrdiff_t i = 0; i < n; i++)
        REAL(at)[i] = (double)((index ? index[i] : i) + 1);
    UNPROTECT(1);
    return at;
}

/* The view as a matrix of all T responses: NA in those that are not in use. */
static SEXP widened(kn_view view, const ptrdiff_t *kept, ptrdiff_t T)
{
    SEXP z = PROTECT(Rf_allocMatrix(REALSXP, (int)view.rows, (int)T));
    double *to = REAL(z);
    const float *from = view.data;
    for (R_xlen_t i = 0; i < Rf_xlength(z); i++)
        to[i] = NA_REAL;
    for (ptrdiff_t j = 0; j < view.cols; j++)
        for (ptrdiff_t i = 0; i < view.rows; i++) {
            double x = (double)from[i * view.row_stride + j * view.col_stride];
            to[i + kept[j] * view.rows] = isnan(x) ? NA_REAL : x;
        }
    UNPROTECT(1);
    return z;
}

/* list(z, sample): participants of the reference sample x all responses, and their indices in the
 * training sample. NULL: the model does not keep them. */
SEXP kr_model_held_out(SEXP model)
{
    const char *names[] = {"z", "sample", ""};
    const kn_model *m = kr_thing(model, KR_MODEL);
    const ptrdiff_t *sample = NULL, *kept = NULL;
    kn_view view = kn_model_array(m, "z_cv");
    ptrdiff_t n = kn_model_reference(m, &sample), n_kept = kn_model_kept(m, &kept);
    double T = kn_model_number(m, "n_responses");
    if (!view.data || view.type != KN_F32 || view.rows != n || view.cols != n_kept || n > INT_MAX ||
        !(T < INT_MAX))
        return R_NilValue;
    SEXP found = PROTECT(Rf_mkNamed(VECSXP, names));
    SET_VECTOR_ELT(found, 0, widened(view, kept, (ptrdiff_t)T));
    SET_VECTOR_ELT(found, 1, places(sample, n));
    UNPROTECT(1);
    return found;
}
