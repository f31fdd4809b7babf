/* A panel of STGPR's maps while it is made: cell by cell, each by one worker        [METHOD 7] */
#ifndef KN_GP_METHODS_STGPR_PANEL_H
#define KN_GP_METHODS_STGPR_PANEL_H

#include "base/parallel/worker_pool.h"
#include "gp/methods/stgpr/stgpr.h"

typedef struct kn_stgpr_maps {
    kn_maps_kind kind;
    kn_mat Xs;        /* PREDICT */
    ptrdiff_t *group; /* PREDICT: the known one of each, or -1; NULL: all are in new ones */
    kn_pairs pairs;   /* of the training samples */
    int *fold;        /* CV */
    kn_mat X_alone;   /* CV: see kn_cv_problem, or none */
    int n_filled;     /* CV of missing responses: folds ... */
    double **filled;  /* ... and what each has filled in by itself [METHOD 0b] */
    /* the panel: responses first .. first + count - 1 */
    ptrdiff_t first, count;
    bool has_mean, has_var;
    bool alone;       /* means of it are as if people were of no batch */
    kn_mat mean, var; /* samples x count */
} kn_stgpr_maps;

typedef struct kn_stgpr_panel {
    const kn_gp *gp;
    kn_cell_samples samples;
    const kn_responses *Y;
    kn_stgpr_maps *m;
    kn_cell_groups g; /* of the panel's responses */
    ptrdiff_t width;  /* of the work space: of the model, and not of a rank's part of it */
    bool mean, var;   /* to be made */
} kn_stgpr_panel;

/* The responses of a cell, and where it is. False: it has none here. */
typedef struct kn_panel_cell {
    const ptrdiff_t *J;
    ptrdiff_t n;
    kn_cov_point at;
    double gamma;
} kn_panel_cell;
bool kn_panel_cell_of(const kn_stgpr_panel *b, ptrdiff_t cell, kn_panel_cell *out);

/* c and d of responses J to the work space. */
void kn_panel_load(const kn_stgpr *s, const ptrdiff_t *J, ptrdiff_t n, kn_cell_work *w);
/* Puts the results for responses J into the panel, rows as named or in order. */
void kn_panel_put(kn_mat from, const ptrdiff_t *rows, const ptrdiff_t *J, ptrdiff_t first,
                  kn_mat panel);

/* fn for every cell, side by side on so many workers. */
kn_status kn_panel_run(kn_ctx *ctx, const kn_stgpr_panel *b, int workers, kn_worker_pool_fn fn,
                       void *self);

#endif
