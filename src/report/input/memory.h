/* Memory plan of a kn_report_input before it is opened, from the sizes of the model and of the
 * files of the folder; see base/memory/plan.h. Files are inspected and closed; tables are read
 * once to count their cells. */
#ifndef KN_REPORT_INPUT_MEMORY_H
#define KN_REPORT_INPUT_MEMORY_H

#include "base/memory/plan.h"
#include "base/options/options.h"
#include "report/input/input.h"

typedef struct kn_report_input_table { /* total size of tables that are open together */
    double bytes, cells;
} kn_report_input_table;

typedef struct kn_report_input_sizes {
    const kn_model *model; /* borrowed; NULL: cv */
    double model_bytes;    /* size in memory */
    ptrdiff_t N, n, T,
        C;      /* n: upper bound, since scored_participants.tsv also lists excluded participants */
    bool named; /* responses are named columns without location */
    ptrdiff_t voxels; /* voxels of the image grid; 0: none */
    ptrdiff_t curves; /* upper bound per response; 0: none */
    /* Tables that stay open, that are temporary, and of z that stay open. */
    kn_report_input_table participants, metrics, maps;
    double packed, image;  /* bytes of a file of maps, compressed and uncompressed */
    kn_problem_size shape; /* shape of the model, for kn_method_need */
} kn_report_input_sizes;

/* Measures the inputs. A folder that cannot be read gets no sizes: kn_report_input_open reports
 * the error. */
void kn_report_input_measure(kn_ctx *ctx, const kn_settings *s, const kn_model *model,
                             const char *dir, kn_report_input_sizes *out);

/* Adds kn_report_input_open to the plan; the open input and the model remain allocated. */
void kn_report_input_need(kn_mem_plan *r, const kn_report_input_sizes *s);
/* Adds kn_report_input_choose_over and kn_report_input_curves of S responses; curves and points
 * remain allocated. */
void kn_report_input_curves_need(kn_mem_plan *r, const kn_report_input_sizes *s, ptrdiff_t S);

/* Returns KN_ERR_MEMORY if the plan exceeds the budget of the context; `what` names the command,
 * such as "report". */
kn_status kn_report_input_check_memory(kn_ctx *ctx, const kn_mem_plan *r, const char *what);

#endif
