/* The memory of a material before it is opened: sizes of the model and of the files of a folder,
 * rehearsed beside base/memory/plan.h. Files are looked at, not kept: tables are read once for
 * their number of cells. */
#ifndef KN_REPORT_INPUT_MEMORY_H
#define KN_REPORT_INPUT_MEMORY_H

#include "base/memory/plan.h"
#include "base/options/options.h"
#include "report/input/input.h"

typedef struct kn_material_table { /* of tables that are open together */
    double bytes, cells;
} kn_material_table;

typedef struct kn_material_sizes {
    const kn_model *model; /* lent; NULL: cv */
    double model_bytes;    /* in memory */
    ptrdiff_t N, n, T, C;  /* n: at most, since people.tsv has those who were left out as well */
    bool named;            /* responses have names of their own, and no places */
    ptrdiff_t voxels;      /* of the grid of the responses; 0: none */
    ptrdiff_t curves;      /* of one response, at most; 0: none */
    kn_material_table people, metrics, maps; /* tables that stay, that passes, of z that stays */
    double packed, image;                    /* bytes of a file of maps, and of what it holds */
    kn_need_shape shape;                     /* of the model, for kn_method_need */
} kn_material_sizes;

/* A folder that cannot be read has no sizes: whoever opens it says why. */
void kn_material_measure(kn_ctx *ctx, const kn_settings *s, const kn_model *model, const char *dir,
                         kn_material_sizes *out);

/* kn_material_open: leaves what stays open, and the model. */
void kn_material_need(kn_rehearsal *r, const kn_material_sizes *s);
/* kn_material_over and kn_material_curves of S responses: leaves curves and points. */
void kn_material_curves_need(kn_rehearsal *r, const kn_material_sizes *s, ptrdiff_t S);

/* KN_ERR_MEMORY where `what`, such as "report", needs more than the context may hold. */
kn_status kn_material_room(kn_ctx *ctx, const kn_rehearsal *r, const char *what);

#endif
