/* The lattice of (rho, length) on which STGPR searches: its places, the cells created there, and
 * which places each response requests [METHOD 7]. No likelihood is computed here. Cells are
 * numbered by the lowest response that requests them, on whichever MPI rank it is. */
#ifndef KN_GP_METHODS_STGPR_LATTICE_H
#define KN_GP_METHODS_STGPR_LATTICE_H

#include <math.h>

#include "gp/methods/stgpr/lattice_search.h"

enum {
    KN_LATTICE_CELLS = 8,                                 /* per axis on the coarse lattice */
    KN_LATTICE_LEVELS = 3,                                /* halvings of the step */
    KN_LATTICE_FINE = 1 << KN_LATTICE_LEVELS,             /* lattice units per coarse step */
    KN_LATTICE_SIDE = KN_LATTICE_CELLS * KN_LATTICE_FINE, /* coordinates 0 .. SIDE; coarse cells
                                                           * are at the centres of their steps */
    KN_LATTICE_RHOS = KN_LATTICE_SIDE + 3,                /* lattice coordinates, rho = 0 and
                                                           * rho = 1 */
    KN_LATTICE_PLACES = KN_LATTICE_RHOS * (KN_LATTICE_SIDE + 1) + 1, /* and one cell that the user
                                                                      * gives */
    KN_LATTICE_AROUND = 8 + 2, /* neighbours of a place: 8 on the lattice, 2 at rho = 1 */
    KN_LATTICE_TRIES = KN_LATTICE_AROUND * KN_LATTICE_LEVELS, /* fine cells that one response
                                                               * may try */
    KN_LATTICE_COARSE =
        KN_LATTICE_CELLS * KN_LATTICE_CELLS + KN_LATTICE_CELLS + 2 /* coarse cells, at most */
};

typedef struct kn_place {
    int i, k; /* logit rho, ln length in lattice units */
} kn_place;

typedef struct kn_lattice {
    const kn_cov *cov;
    kn_cov_family family;
    kn_box box;
    double lower[2], upper[2]; /* bounds of (logit rho, ln length), if the family has them */
    const ptrdiff_t *J;        /* T  responses of this rank */
    ptrdiff_t T;
    int n_cells, n_coarse; /* cells created so far, coarse ones among them (first) */
    kn_place *at;          /* PLACES   of each cell */
    kn_mat where;          /* PLACES x 2   rho, length of each cell */
    int *id;               /* PLACES   cell of a place, or -1 */
    kn_mat lml;            /* (n_coarse + TRIES) x T   LML of each cell tried, -inf: not tried */
    int *fine;             /* T x TRIES   fine cells of the rows n_coarse .. of lml, -1: none */
    double *best;          /* T   largest LML so far */
    bool *asks;            /* T   still refining */
} kn_lattice;

/* Creates the lattice with its coarse cells for the responses of one gamma. The caller frees *out.
 */
kn_status kn_lattice_new(kn_ctx *ctx, const kn_cell_samples *samples, const kn_cell_class *which,
                         const kn_cell_search *o, kn_lattice *out);
/* Frees all arrays. */
void kn_lattice_clear(kn_lattice *l);
/* Returns weights and shapes of a cell. */
kn_cov_point kn_lattice_point(const kn_lattice *l, int cell);

/* Request of a response to evaluate a cell; its LML goes to a row of lml. */
typedef struct kn_eval_request {
    ptrdiff_t response; /* index into J */
    int place, cell, row;
} kn_eval_request;

/* Collects the requests of all responses when the step is halved: out (capacity T AROUND) gets n
 * requests ordered by response; new cells are created for them. Collective. */
kn_status kn_lattice_refine(kn_ctx *ctx, kn_lattice *l, int level, kn_eval_request *out,
                            ptrdiff_t *n);

/* Updates l->best of response j after row `row` of lml was set. */
static inline void kn_lattice_keep(kn_lattice *l, ptrdiff_t j, int row)
{
    double *lml = &kn_col(l->lml, j)[row];
    if (isnan(*lml))
        *lml = -INFINITY;
    if (*lml > l->best[j])
        l->best[j] = *lml;
}

void kn_lattice_need(kn_mem_plan *r, const kn_problem_size *s); /* keeps the lattice */

#endif
