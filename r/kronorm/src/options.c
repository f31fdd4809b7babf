/* Options of one command by key, and what the library tells of all of them. */
#include "glue.h"

SEXP kr_options(SEXP ctx, SEXP command, SEXP keys, SEXP values)
{
    kr_job job = {.ctx = kr_thing(ctx, KR_CTX)};
    SEXP handle = PROTECT(kr_handle_new(KR_OPTIONS, R_NilValue));
    SEXP none = PROTECT(Rf_allocVector(STRSXP, 0));
    const char *const *key = kr_texts(keys), *const *value = kr_texts(values);
    const char *of = kr_one_text(command);
    kn_options *options = NULL;
    if (Rf_xlength(keys) != Rf_xlength(values) || !of)
        Rf_error("as many values as keys are needed, and a command");
    job.status = kn_options_new(job.ctx, of, &options);
    kr_handle_set(handle, options);
    for (R_xlen_t i = 0; job.status == KN_OK && i < Rf_xlength(keys); i++)
        job.status = kn_options_set(job.ctx, options, key[i] ? key[i] : "", value[i]);
    if (job.status == KN_OK)
        job.status = kn_options_check(job.ctx, options);
    SEXP answer = kr_answer(&job, handle, none);
    UNPROTECT(2);
    return answer;
}

static const char *const TYPES[] = {"flag", "text", "choice", "integer", "number", "size", "list"};

static void tell(SEXP table, int i, const kn_option_info *o)
{
    enum { N_TYPES = sizeof TYPES / sizeof *TYPES };
    int known = o->type >= 0 && (int)o->type < N_TYPES;
    const char *cells[] = {o->key,       known ? TYPES[o->type] : NULL,
                           o->value,     o->words,
                           o->preferred, o->help,
                           o->without,   o->alias};
    for (int k = 0; k < 8; k++)
        SET_STRING_ELT(VECTOR_ELT(table, k), i, kr_char(cells[k]));
}

/* list(key, type, value, words, default, help, without, alias), each a text for every option. */
SEXP kr_option_table(SEXP command)
{
    const char *names[] = {"key",  "type",    "value", "words", "default",
                           "help", "without", "alias", ""};
    const char *of = kr_one_text(command);
    int n = of ? kn_options_count(of) : 0;
    SEXP owner = PROTECT(kr_handle_new(KR_CTX, R_NilValue));
    SEXP table = PROTECT(Rf_mkNamed(VECSXP, names));
    kn_ctx *ctx = kn_ctx_new();
    if (!ctx)
        Rf_error("memory is out");
    kr_handle_set(owner, ctx);
    for (int k = 0; k < 8; k++)
        SET_VECTOR_ELT(table, k, Rf_allocVector(STRSXP, n));
    for (int i = 0; i < n; i++) {
        kn_option_info info = {.size = sizeof info};
        if (kn_option_at(ctx, of, i, &info) == KN_OK)
            tell(table, i, &info);
    }
    kr_free(owner);
    UNPROTECT(2);
    return table;
}

/* The version that was compiled for, that which is there, and how it was built. */
SEXP kr_build(void)
{
    const char *names[] = {"header", "library", "blas", "core", "better_core", ""};
    char header[64];
    snprintf(header, sizeof header, "%d.%d.%d", KN_VERSION_MAJOR, KN_VERSION_MINOR,
             KN_VERSION_PATCH);
    SEXP build = PROTECT(Rf_mkNamed(VECSXP, names));
    SET_VECTOR_ELT(build, 0, kr_text(header));
    SET_VECTOR_ELT(build, 1, kr_text(kn_version()));
    SET_VECTOR_ELT(build, 2, kr_text(kn_build_blas()));
    SET_VECTOR_ELT(build, 3, kr_text(kn_build_core()));
    SET_VECTOR_ELT(build, 4, kr_text(kn_build_better_core()));
    UNPROTECT(1);
    return build;
}
