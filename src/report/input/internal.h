/* What the files behind report/input/input.h share. */
#ifndef KN_REPORT_INPUT_INTERNAL_H
#define KN_REPORT_INPUT_INTERNAL_H

#include "commands/common/scored_folder.h"
#include "report/input/input.h"

typedef struct kn_report_input_named { /* a column of a table */
    const char *name;
    double *number;          /* NaN where the cell is none; NULL: not asked for */
    const char *const *text; /* NULL: not asked for */
} kn_report_input_named;

typedef struct kn_report_input_list {
    ptrdiff_t n;
    kn_report_input_named *column;
} kn_report_input_list;

struct kn_report_input_files {
    kn_scored scored; /* dir NULL: no folder is open */
    kn_table *judged; /* abnormality.tsv; NULL: what scored.people is will do */
    kn_table *folds;  /* of cv: folds.tsv; NULL */
    ptrdiff_t *at;    /* T  where each response is in a map of the folder */
    float *row;       /* such a map */
    kn_report_input_list people, training, responses;
};

/* From the model: N, covariates and statistics of training, T, their space, names and scale. */
kn_status kn_report_input_take_model(kn_ctx *ctx, kn_report_input *m);
/* From the folder, whose kind is known: n, ids, covariates, tables, and of cv the space. */
kn_status kn_report_input_take_folder(kn_ctx *ctx, kn_report_input *m);
/* ... and its tables: abnormality.tsv or change.tsv, people.tsv, metrics.tsv or maps of metrics. */
kn_status kn_report_input_take_tables(kn_ctx *ctx, kn_report_input *m);
/* kind and summary_json; refuses a folder that is not of this model. */
kn_status kn_report_input_identify(kn_ctx *ctx, kn_report_input *m);

/* Names of the T responses, once their space is known; those numbered `number` (NULL: 0 ..) where
 * they have no names. */
kn_status kn_report_input_name(kn_ctx *ctx, kn_report_input *m, const ptrdiff_t *number);
/* Room for n pointers to texts. */
kn_status kn_report_input_pointers(kn_ctx *ctx, kn_report_input *m, ptrdiff_t n, const char ***out);

#endif
