/* What .Call finds. */
#include <R_ext/Rdynload.h>

#include "glue.h"

#define ENTRY(name, n)                                                                             \
    {                                                                                              \
#name, (DL_FUNC)&name, n                                                                   \
    }

static const R_CallMethodDef CALLS[] = {
    ENTRY(kr_new_ctx, 2),
    ENTRY(kr_free, 1),
    ENTRY(kr_alive, 1),
    ENTRY(kr_options, 4),
    ENTRY(kr_option_table, 1),
    ENTRY(kr_build, 0),
    ENTRY(kr_data, 5),
    ENTRY(kr_responses_table, 2),
    ENTRY(kr_fit, 4),
    ENTRY(kr_adapt, 5),
    ENTRY(kr_model_open, 2),
    ENTRY(kr_model_save, 4),
    ENTRY(kr_model_bytes, 2),
    ENTRY(kr_model_restore, 3),
    ENTRY(kr_model_json, 2),
    ENTRY(kr_model_words, 2),
    ENTRY(kr_score, 5),
    ENTRY(kr_predict, 5),
    ENTRY(kr_scores_ids, 1),
    ENTRY(kr_scores_map, 3),
    ENTRY(kr_scores_participants, 2),
    ENTRY(kr_scores_responses, 2),
    ENTRY(kr_scores_json, 1),
    ENTRY(kr_centiles, 6),
    ENTRY(kr_change, 5),
    ENTRY(kr_report, 4),
    ENTRY(kr_model_ids, 1),
    ENTRY(kr_model_response_names, 1),
    ENTRY(kr_model_held_out, 1),
    {NULL, NULL, 0},
};

void R_init_kronorm(DllInfo *dll);

void R_init_kronorm(DllInfo *dll)
{
    R_registerRoutines(dll, NULL, CALLS, NULL, NULL);
    R_useDynamicSymbols(dll, FALSE);
    R_forceSymbols(dll, TRUE);
}
