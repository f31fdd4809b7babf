/* Held-out log loss along the ladder of components, from one pass at the largest number, because
 * components are independent once R0 is fixed                         [METHOD 2, components auto]
 */
#ifndef KN_GP_COMPONENTS_LOSS_CURVE_H
#define KN_GP_COMPONENTS_LOSS_CURVE_H

#include "base/memory/plan.h"
#include "base/sum/reduce.h"
#include "gp/block_visitor.h"
#include "gp/method.h"

enum { KN_CURVE_FOLDS = 5, KN_CURVE_TILES = 4 };
extern const int kn_ladder[KN_MAX_CURVE]; /* numbers of components that are tried */

typedef struct kn_curve_fold {
    kn_fold rows;
    const kn_heldout *held; /* NULL, or whose basis and mean these are */
    kn_mat mean, var;       /* n_test x P, latent predictions of the held-out */
    double *d;              /* P  noise of a new group */
    double *s2;             /* P  variance of the training coordinates: |z_p|^2/n */
    ptrdiff_t at;           /* the held-out are rows at ... of the scores */
} kn_curve_fold;

/* The components of the training rows at R0's parameters, and what they say of the held-out. */
kn_status kn_curve_fold_fit(kn_ctx *ctx, const kn_fit_problem *p, const double *r0,
                            kn_curve_fold *f);

typedef struct kn_curve {
    const kn_responses *Y; /* all samples */
    kn_curve_fold fit[KN_CURVE_FOLDS];
    int folds, steps;
    bool missing;     /* some cells are: the scores are of the others, and a column counts them */
    ptrdiff_t rows;   /* held out, of all folds */
    ptrdiff_t scored; /* responses */
    /* rows x (steps + 1, and one more where cells are missing): loss at each step of the ladder,
     * and the trivial model's; summed over a tile, a block and all of them */
    kn_mat tile[KN_CURVE_TILES];
    kn_slots blocks;
    kn_mat score;
    int workers;
    struct kn_curve_work *work;
    const kn_block *block; /* under way */
} kn_curve;

/* score(i, l) = mean_j MSLL of held-out sample i at ladder step l; every few blocks of very many
 * responses. Of folds that are fitted. Collective. */
kn_status kn_curve_score(kn_ctx *ctx, const kn_responses *Y, kn_curve *c);
void kn_curve_clear(kn_curve *c);

/* A fold: n to train on, h held out. */
void kn_curve_fold_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, ptrdiff_t h);
/* The scores of `rows` held out in all, held_out at most in a fold; y of so many samples. */
typedef struct kn_curve_shape {
    ptrdiff_t steps, rows, held_out, samples;
} kn_curve_shape;
void kn_curve_score_need(kn_mem_plan *r, const kn_problem_size *s, const kn_curve_shape *of);

#endif
