/* Texts are UTF-8 in the library, and in R once they are marked so. */
#include "glue.h"

SEXP kr_char(const char *text)
{
    return text ? Rf_mkCharCE(text, CE_UTF8) : NA_STRING;
}

SEXP kr_text(const char *text)
{
    SEXP one = PROTECT(kr_char(text));
    SEXP all = Rf_ScalarString(one);
    UNPROTECT(1);
    return all;
}

const char *const *kr_texts(SEXP values)
{
    if (TYPEOF(values) != STRSXP)
        Rf_error("expected texts, this is %s", Rf_type2char(TYPEOF(values)));
    R_xlen_t n = Rf_xlength(values);
    const char **texts = (const char **)R_alloc((size_t)n + 1, sizeof *texts);
    for (R_xlen_t i = 0; i < n; i++) {
        SEXP one = STRING_ELT(values, i);
        texts[i] = one == NA_STRING ? NULL : Rf_translateCharUTF8(one);
    }
    return texts;
}

const char *kr_one_text(SEXP value)
{
    if (value == R_NilValue)
        return NULL;
    if (TYPEOF(value) != STRSXP || Rf_xlength(value) != 1)
        Rf_error("expected one text");
    return kr_texts(value)[0];
}
