/* Internals shared by the files that implement report/input/input.h. report/compute uses input.h
 * alone. */
#ifndef KN_REPORT_INPUT_INTERNAL_H
#define KN_REPORT_INPUT_INTERNAL_H

#include "commands/common/scored_folder.h"
#include "report/input/input.h"

typedef struct kn_report_input_named { /* a column of a table */
    const char *name;
    double *number;          /* NaN if the cell is not a number; NULL: not requested */
    const char *const *text; /* NULL: not requested */
} kn_report_input_named;

typedef struct kn_report_input_list {
    ptrdiff_t n;
    kn_report_input_named *column;
} kn_report_input_list;

/* Files that stay open while the report is computed. */
struct kn_report_input_files {
    kn_scored scored;     /* dir NULL: no folder is open */
    kn_table *judged;     /* abnormality.tsv; NULL: use scored.participants */
    kn_table *folds;      /* cv: folds.tsv; NULL */
    ptrdiff_t *map_index; /* T  position of each response in a map of the folder */
    float *row;           /* buffer for such a map */
    kn_report_input_list participants, training, responses;
};

/* Reads from the model: N, covariates and statistics of training, T, response space, names and
 * scale. */
kn_status kn_report_input_read_model(kn_ctx *ctx, kn_report_input *m);
/* Reads from the folder, whose kind is known: n, ids, covariates, tables, and for cv the
 * response space. */
kn_status kn_report_input_read_folder(kn_ctx *ctx, kn_report_input *m);
/* Reads the tables: abnormality.tsv or change.tsv, scored_participants.tsv, metrics.tsv or maps of
 * metrics. */
kn_status kn_report_input_read_tables(kn_ctx *ctx, kn_report_input *m);
/* Determines kind and summary_json; fails if the folder was written by another model. */
kn_status kn_report_input_identify(kn_ctx *ctx, kn_report_input *m);

/* Names the T responses once their space is known. Responses without names are numbered by
 * `number` (NULL: 0 ..). */
kn_status kn_report_input_set_names(kn_ctx *ctx, kn_report_input *m, const ptrdiff_t *number);
/* Allocates n text pointers in the arena. */
kn_status kn_report_input_alloc_texts(kn_ctx *ctx, kn_report_input *m, ptrdiff_t n,
                                      const char ***out);

#endif
