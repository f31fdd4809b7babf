/* Steps of a long fit that need not be taken twice.
 *
 * A fit walks a path that its inputs determine: each step is a function of what is handed to it,
 * and the next point follows from the values so far. A journal keeps inputs and outputs of the
 * steps that cost something. A fit that is begun again takes the same path, and steps that the
 * journal knows are answered from there, bit for bit. Who keeps the journal, and where, is not
 * known here. A journal that is NULL knows nothing and keeps nothing. */
#ifndef KN_GP_JOURNAL_H
#define KN_GP_JOURNAL_H

#include "gp/engine.h"

typedef enum kn_step_kind { /* values are in files: never renumbered */
                            KN_STEP_NESTED = 1,
                            KN_STEP_JOINT = 2,
                            KN_STEP_COMPONENTS = 3,
                            KN_STEP_CELL = 4,
                            KN_STEP_RESPONSE = 5,
                            KN_STEP_CONVOLUTION = 8,
                            KN_STEP_COVARIANCES = 6,
                            KN_STEP_LOADINGS = 7,
} kn_step_kind;

typedef struct kn_step {
    kn_step_kind kind;
    const void *in; /* compared byte by byte: no padding in it */
    ptrdiff_t n_in;
    void *out;
    ptrdiff_t n_out;
    bool known; /* `out` holds what the step gave the first time */
} kn_step;

typedef struct kn_journal kn_journal;
struct kn_journal {
    kn_status (*recall)(kn_journal *self, kn_ctx *ctx, kn_step *step);
    kn_status (*note)(kn_journal *self, kn_ctx *ctx, const kn_step *step);
};

/* Fills out and sets known, or leaves known false and the step to be taken and noted. Both are
 * collective where the journal is shared. */
kn_status kn_journal_recall(kn_ctx *ctx, kn_journal *journal, kn_step *step);
/* What a cancelled step gave is not what it would have given, and is not kept; among ranks it is a
 * failure. */
kn_status kn_journal_note(kn_ctx *ctx, kn_journal *journal, const kn_step *step);

/* kn_engine_nested and kn_engine_joint by way of the engine's journal. What the engine leaves for
 * prediction (c, d, the decomposition) is not there after an answer from the journal; what its next
 * evaluation starts from is. */
kn_status kn_step_nested(kn_ctx *ctx, kn_engine *e, const kn_cov_point *at, double *lml, double *g);
kn_status kn_step_joint(kn_ctx *ctx, kn_engine *e, const double *theta, double *lml, double *g);

#endif
