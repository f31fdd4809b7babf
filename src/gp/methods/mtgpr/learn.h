/* Learns loadings and noise of MTGPR by maximum likelihood at a fixed R0 [METHOD 1h].
 *
 * Starts at the leading principal components: EM steps (monotone), then L-BFGS over G, H, ln psi
 * and, if free, gamma and iso. psi_j >= 1e-3 of the variance of response j: a response that is all
 * signal (Heywood case) would have no maximum. 6 N T k flops per evaluation. */
#ifndef KN_GP_METHODS_MTGPR_LEARN_H
#define KN_GP_METHODS_MTGPR_LEARN_H

#include "gp/methods/mtgpr/lowrank_sum_gradient.h"
#include "gp/optimise/optimise.h"

/* Most evaluations of EM and of L-BFGS. */
enum { KN_MTGPR_EM = 50, KN_MTGPR_EVALS = 500 };

typedef struct kn_mtgpr_plan {
    ptrdiff_t columns[2]; /* P, Q */
    bool gamma, iso;      /* free parameters? */
    kn_limits limits;     /* evals_left 0: return the start */
    const char *stage;    /* name for progress reports; NULL: none */
} kn_mtgpr_plan;

typedef struct kn_mtgpr_learned {
    kn_lowrank_sum low; /* evaluated at `at` */
    kn_lowrank_sum_point at;
    double lml, projected; /* projected: largest entry of the projected gradient */
    int evals;
    kn_stop stop;
    ptrdiff_t least; /* number of responses with psi at its bound */
} kn_mtgpr_learned;

/* Learns the point. mu T, subtracted from Y; NULL: 0. s->U, s->r, Y and mu are borrowed and must
 * outlive *out, which the caller frees. */
kn_status kn_mtgpr_learn(kn_ctx *ctx, const kn_lowrank_sum_samples *s, const kn_responses *Y,
                         const double *mu, const kn_mtgpr_plan *plan, kn_mtgpr_learned *out);
/* Frees the learned point. */
void kn_mtgpr_learned_clear(kn_mtgpr_learned *l);

/* Memory plan for s->N participants and rank s->M: keeps the result; learning is temporary. */
void kn_mtgpr_learn_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
