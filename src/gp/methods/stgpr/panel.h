/* State of STGPR maps and of the panel under construction; implemented in maps.c [METHOD 7]. Cells
 * of a panel are computed in parallel, each by one worker. */
#ifndef KN_GP_METHODS_STGPR_PANEL_H
#define KN_GP_METHODS_STGPR_PANEL_H

#include "base/parallel/worker_pool.h"
#include "gp/methods/stgpr/stgpr.h"

typedef struct kn_stgpr_maps {
    kn_maps_kind kind; /* the fields below belong to the kind named */
    kn_mat Xs;         /* PREDICT: n x F */
    ptrdiff_t *group;  /* PREDICT: n  known group, or -1; NULL: all in new groups */
    kn_pairs pairs;    /* of the training participants */
    int *fold;         /* CV: N  fold of each participant */
    kn_mat X_alone;    /* CV: N x F without site, or none */
    int n_filled;      /* CV with missing cells: number of folds ... */
    double **filled;   /* ... and the imputed values of each [METHOD 0b] */
    /* The panel: responses first .. first + count - 1. */
    ptrdiff_t first, count;
    bool has_mean, has_var;
    bool alone;       /* means of the panel are without site effects */
    kn_mat mean, var; /* participants x count */
} kn_stgpr_maps;

typedef struct kn_stgpr_panel {
    const kn_gp *gp;
    kn_cell_samples samples;
    const kn_responses *Y;
    kn_stgpr_maps *m;
    kn_cell_groups g; /* responses of the panel by cell */
    ptrdiff_t width;  /* of the work space: from the model's T, not from the rank's share */
    bool mean, var;   /* to be computed */
} kn_stgpr_panel;

/* One cell of a panel: its responses J (n) and its point of R0. */
typedef struct kn_panel_cell {
    const ptrdiff_t *J;
    ptrdiff_t n;
    kn_cov_point at;
    double gamma;
} kn_panel_cell;
/* Returns false if the cell has no responses in the panel. */
bool kn_panel_cell_of(const kn_stgpr_panel *b, ptrdiff_t cell, kn_panel_cell *out);

/* Copies c and d of the responses J (n) to the work space. */
void kn_panel_load(const kn_stgpr *s, const ptrdiff_t *J, ptrdiff_t n, kn_cell_work *w);
/* Copies results of the responses J to the panel; rows: row indices, or NULL for 0 .. n-1. */
void kn_panel_put(kn_mat from, const ptrdiff_t *rows, const ptrdiff_t *J, ptrdiff_t first,
                  kn_mat panel);

/* Calls fn for every cell, in parallel on `workers` workers. */
kn_status kn_panel_run(kn_ctx *ctx, const kn_stgpr_panel *b, int workers, kn_worker_pool_fn fn,
                       void *self);

#endif
