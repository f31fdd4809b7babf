/* Places on the lattice of (rho, length), and what each response asks for there     [METHOD 7]
 *
 * Nothing here computes a likelihood. Cells are numbered in the order in which the lowest response
 * asks for them, whichever rank it is of. */
#ifndef KN_GP_METHODS_STGPR_LATTICE_H
#define KN_GP_METHODS_STGPR_LATTICE_H

#include <math.h>

#include "gp/methods/stgpr/lattice_search.h"

enum {
    KN_LATTICE_CELLS = 8,
    KN_LATTICE_LEVELS = 3,                                /* halvings */
    KN_LATTICE_FINE = 1 << KN_LATTICE_LEVELS,             /* lattice units per step of the 8 x 8 */
    KN_LATTICE_SIDE = KN_LATTICE_CELLS * KN_LATTICE_FINE, /* coordinates 0 .. SIDE; cells in the
                                                           * middle of their steps */
    KN_LATTICE_RHOS = KN_LATTICE_SIDE + 3,                /* and rho = 0 and 1 beside it */
    KN_LATTICE_PLACES = KN_LATTICE_RHOS * (KN_LATTICE_SIDE + 1) + 1, /* and one that the caller may
                                                                      * give */
    KN_LATTICE_AROUND = 8 + 2, /* of a place on the lattice, and of one at rho = 1 */
    KN_LATTICE_TRIES = KN_LATTICE_AROUND * KN_LATTICE_LEVELS, /* fine cells one response may try */
    KN_LATTICE_COARSE = KN_LATTICE_CELLS * KN_LATTICE_CELLS + KN_LATTICE_CELLS + 2 /* at most */
};

typedef struct kn_place {
    int i, k; /* logit rho, ln length in lattice units */
} kn_place;

typedef struct kn_lattice {
    const kn_cov *cov;
    kn_cov_family family;
    kn_box box;
    double lower[2], upper[2]; /* of (logit rho, ln length), as far as there are */
    const ptrdiff_t *J;        /* T  the responses */
    ptrdiff_t T;
    int n_cells, n_coarse;
    kn_place *at; /* PLACES */
    kn_mat where; /* PLACES x 2   rho, length */
    int *id;      /* PLACES   cell of a place, or -1 */
    kn_mat lml;   /* (n_coarse + TRIES) x T   of each cell tried */
    int *fine;    /* T x TRIES   which fine cells those were, -1: none */
    double *best; /* T */
    bool *asks;   /* T   went on to the next level */
} kn_lattice;

/* With its coarse cells. */
kn_status kn_lattice_new(kn_ctx *ctx, const kn_cell_samples *samples, const kn_cell_class *which,
                         const kn_cell_search *o, kn_lattice *out);
void kn_lattice_clear(kn_lattice *l);
kn_cov_point kn_lattice_point(const kn_lattice *l, int cell);

/* A response asks for a cell, whose likelihood goes to a row of lml. */
typedef struct kn_eval_request {
    ptrdiff_t response; /* among the lattice's */
    int place, cell, row;
} kn_eval_request;

/* What the responses ask for when the step is halved: out (T AROUND) has n wishes in their order,
 * and the lattice their cells, all of them new. Collective. */
kn_status kn_lattice_refine(kn_ctx *ctx, kn_lattice *l, int level, kn_eval_request *out,
                            ptrdiff_t *n);

/* A likelihood of response j in some row of lml, which is there already. */
static inline void kn_lattice_keep(kn_lattice *l, ptrdiff_t j, int row)
{
    double *lml = &kn_col(l->lml, j)[row];
    if (isnan(*lml))
        *lml = -INFINITY;
    if (*lml > l->best[j])
        l->best[j] = *lml;
}

void kn_lattice_need(kn_mem_plan *r, const kn_problem_size *s); /* leaves it */

#endif
