/* Learning the loadings and the noise of MTGPR and of the low-rank Kronecker sum by maximum
 * likelihood, R0 held                                                                [METHOD 1h]
 *
 * From the leading principal components: EM steps (monotone), then L-BFGS over G, H, ln psi and,
 * where they are free, gamma and iso. psi_j >= 1e-3 of the variance of response j: a response that
 * is all signal (Heywood) has no maximum otherwise. 6 N T k flops each. */
#ifndef KN_GP_METHODS_MTGPR_LEARN_H
#define KN_GP_METHODS_MTGPR_LEARN_H

#include "gp/methods/mtgpr/lowrank_sum_gradient.h"
#include "gp/optimise/optimise.h"

/* Most evaluations of EM and of L-BFGS. */
enum { KN_MTGPR_EM = 50, KN_MTGPR_EVALS = 500 };

typedef struct kn_mtgpr_plan {
    ptrdiff_t columns[2]; /* P, Q */
    bool gamma, iso;      /* are they free? */
    kn_limits limits;     /* evals_left 0: the start, as it is */
    const char *stage;    /* of progress; NULL: in silence */
} kn_mtgpr_plan;

typedef struct kn_mtgpr_learned {
    kn_lowrank_sum low; /* evaluated at the point */
    kn_lowrank_sum_point at;
    double lml, projected;
    int evals;
    kn_stop stop;
    ptrdiff_t least; /* responses whose psi is at its bound */
} kn_mtgpr_learned;

/* mu T: what is taken off Y; NULL: nothing. s and Y are lent for as long as `out`. */
kn_status kn_mtgpr_learn(kn_ctx *ctx, const kn_lowrank_sum_samples *s, const kn_responses *Y,
                         const double *mu, const kn_mtgpr_plan *plan, kn_mtgpr_learned *out);
void kn_mtgpr_learned_clear(kn_mtgpr_learned *l);

/* Leaves what it learned, over s->N samples of rank s->M; learning passes. */
void kn_mtgpr_learn_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
