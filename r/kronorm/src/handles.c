/* External pointers: an address, a tag that says of what, and what the thing borrows from R. */
#include "glue.h"

static void free_ctx(void *p)
{
    kn_ctx_free(p);
}

static void free_options(void *p)
{
    kn_options_free(p);
}

static void free_data(void *p)
{
    kn_data_free(p);
}

static void free_model(void *p)
{
    kn_model_free(p);
}

static void free_scores(void *p)
{
    kn_scores_free(p);
}

static const struct {
    const char *tag, *name;
    void (*free)(void *);
} KINDS[KR_N_KINDS] = {
    [KR_CTX] = {"kronorm_ctx", "context", free_ctx},
    [KR_OPTIONS] = {"kronorm_options", "options", free_options},
    [KR_DATA] = {"kronorm_data", "data", free_data},
    [KR_MODEL] = {"kronorm_model", "model", free_model},
    [KR_SCORES] = {"kronorm_scores", "scores", free_scores},
};

int kr_is_handle(SEXP handle, kr_kind kind)
{
    return TYPEOF(handle) == EXTPTRSXP && R_ExternalPtrTag(handle) == Rf_install(KINDS[kind].tag);
}

static void release(SEXP handle)
{
    void *thing = R_ExternalPtrAddr(handle);
    SEXP tag = R_ExternalPtrTag(handle);
    R_ClearExternalPtr(handle);
    R_SetExternalPtrProtected(handle, R_NilValue);
    for (int k = 0; thing && k < KR_N_KINDS; k++)
        if (tag == Rf_install(KINDS[k].tag)) {
            KINDS[k].free(thing);
            return;
        }
}

void kr_listen(SEXP handle)
{
    R_RegisterCFinalizerEx(handle, release, TRUE);
}

SEXP kr_handle_new(kr_kind kind, SEXP keep)
{
    SEXP handle = PROTECT(R_MakeExternalPtr(NULL, Rf_install(KINDS[kind].tag), keep));
    kr_listen(handle);
    UNPROTECT(1);
    return handle;
}

void kr_handle_set(SEXP handle, void *thing)
{
    R_SetExternalPtrAddr(handle, thing);
}

void *kr_thing(SEXP handle, kr_kind kind)
{
    if (!kr_is_handle(handle, kind))
        Rf_error("expected a kronorm %s, this is something else", KINDS[kind].name);
    void *thing = R_ExternalPtrAddr(handle);
    if (!thing)
        Rf_error("this kronorm %s was freed, or is of another session", KINDS[kind].name);
    return thing;
}

void *kr_thing_or_null(SEXP handle, kr_kind kind)
{
    return handle == R_NilValue ? NULL : kr_thing(handle, kind);
}

SEXP kr_new_ctx(SEXP threads, SEXP memory)
{
    SEXP handle = PROTECT(kr_handle_new(KR_CTX, R_NilValue));
    int n = Rf_asInteger(threads);
    double bytes = Rf_asReal(memory);
    kn_ctx *ctx = kn_ctx_new();
    if (!ctx)
        Rf_error("memory is out");
    kr_handle_set(handle, ctx);
    kn_set_threads(ctx, n > 0 ? n : 0);
    kn_set_memory(ctx, bytes > 0 && bytes < 9e18 ? (size_t)bytes : 0);
    UNPROTECT(1);
    return handle;
}

/* At once instead of when R next collects; what listens to a call takes nothing away from it. */
SEXP kr_free(SEXP handle)
{
    if (TYPEOF(handle) == EXTPTRSXP && !kr_working())
        for (int k = 0; k < KR_N_KINDS; k++)
            if (kr_is_handle(handle, k))
                release(handle);
    return R_NilValue;
}

SEXP kr_alive(SEXP handle)
{
    return Rf_ScalarLogical(kr_is_handle(handle, KR_MODEL) && R_ExternalPtrAddr(handle) != NULL);
}
