/* Covariates and responses of some samples, read from files and matched row by row. */
#ifndef KN_WORK_DATASET_H
#define KN_WORK_DATASET_H

#include "io/images.h"
#include "io/npy.h"
#include "io/scratch.h"
#include "io/table.h"
#include "model/model.h"

typedef struct kn_dataset {
    ptrdiff_t n;
    kn_table *covariates;
    ptrdiff_t *covariate_row; /* n: row of the covariate table of each sample */
    const char **id;          /* n texts of the table or list; NULL: there are none */
    kn_recipe recipe;         /* training only; a model has its own */
    kn_mat X;                 /* n x F, not standardised */
    kn_view Y;                /* n x T; data NULL when no responses were asked for */
    kn_space space;           /* of the responses */
    /* what keeps the above alive */
    kn_table *responses;
    kn_images *images;
    kn_npy_file array;
    void *values;       /* of the responses, in memory ... */
    kn_scratch scratch; /* ... or in a file */
} kn_dataset;

/* A training set, whose recipe and space are learned. Refused before the responses are read where
 * the fit would not stay within in->memory; `basis`: columns of a basis that is given, or 0. */
kn_status kn_dataset_read_training(kn_ctx *ctx, const kn_inputs *in, const kn_fit_options *fit,
                                   ptrdiff_t basis, kn_dataset *out);
/* Samples for a model, whose recipe and space are applied; in->responses may be NULL. */
kn_status kn_dataset_read(kn_ctx *ctx, const kn_inputs *in, const kn_model *model, kn_dataset *out);
void kn_dataset_clear(kn_dataset *d);

/* Every file behind it, and `other` (NULL: none): what no output may replace. Free with kn_free;
 * the texts belong to `in` and `d`. d NULL: those that `in` names. */
kn_status kn_dataset_files(kn_ctx *ctx, const kn_inputs *in, const kn_dataset *d, const char *other,
                           const char ***files, ptrdiff_t *n);

/* rows[i] = cell of "COLUMN=VALUE" in the covariates is VALUE. Refuses a column that is not there,
 * and a value that nobody has. `option` names it in the message. */
kn_status kn_dataset_flag(kn_ctx *ctx, const kn_dataset *d, const char *option, const char *text,
                          bool *rows);

#endif
