/* The memory of a material before it is opened: sizes of the model and of the files of a folder,
 * rehearsed beside base/memory/plan.h. Files are looked at, not kept: tables are read once for
 * their number of cells. */
#ifndef KN_REPORT_INPUT_MEMORY_H
#define KN_REPORT_INPUT_MEMORY_H

#include "base/memory/plan.h"
#include "base/options/options.h"
#include "report/input/input.h"

typedef struct kn_report_input_table { /* of tables that are open together */
    double bytes, cells;
} kn_report_input_table;

typedef struct kn_report_input_sizes {
    const kn_model *model; /* lent; NULL: cv */
    double model_bytes;    /* in memory */
    ptrdiff_t N, n, T, C;  /* n: at most, since people.tsv has those who were left out as well */
    bool named;            /* responses have names of their own, and no places */
    ptrdiff_t voxels;      /* of the grid of the responses; 0: none */
    ptrdiff_t curves;      /* of one response, at most; 0: none */
    kn_report_input_table people, metrics,
        maps;              /* tables that stay, that passes, of z that stays */
    double packed, image;  /* bytes of a file of maps, and of what it holds */
    kn_problem_size shape; /* of the model, for kn_method_need */
} kn_report_input_sizes;

/* A folder that cannot be read has no sizes: whoever opens it says why. */
void kn_report_input_measure(kn_ctx *ctx, const kn_settings *s, const kn_model *model,
                             const char *dir, kn_report_input_sizes *out);

/* kn_report_input_open: leaves what stays open, and the model. */
void kn_report_input_need(kn_mem_plan *r, const kn_report_input_sizes *s);
/* kn_report_input_over and kn_report_input_curves of S responses: leaves curves and points. */
void kn_report_input_curves_need(kn_mem_plan *r, const kn_report_input_sizes *s, ptrdiff_t S);

/* KN_ERR_MEMORY where `what`, such as "report", needs more than the context may hold. */
kn_status kn_report_input_room(kn_ctx *ctx, const kn_mem_plan *r, const char *what);

#endif
