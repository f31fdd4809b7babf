/* Evaluations in lock-step: one struct per evaluation is broadcast from root. All ranks therefore
 * run the same optimiser on the same numbers. */
#include "gp/search/internal.h"

#include <string.h>

#include "base/memory/alloc.h"
#include "base/mpi/comm.h"

/* The result of root's evaluation and the state that it leaves for later ones: start of the inner
 * search, counters, and for low rank its size and pivots. */
typedef struct evaluation {
    double lml, g[KN_THETA];
    double inside[KN_THETA], s2, residual;
    int64_t warm, evals, inner_evals, rank, n_pivots;
    ptrdiff_t pivots[]; /* n_pivots of at most low.max_rank */
} evaluation;

/* Copies into v what an evaluation changes in root's engine: noise, counts, warm start,
 * residual, rank and pivots. */
static void save_state(const kn_engine *e, evaluation *v)
{
    v->s2 = e->s2;
    v->residual = e->low.residual;
    v->warm = e->warm;
    v->evals = e->evals;
    v->inner_evals = e->inner_evals;
    v->rank = e->spec.rank;
    v->n_pivots = e->low.n_set;
    memcpy(v->inside, e->inside, sizeof v->inside);
    if (e->low.n_set > 0)
        memcpy(v->pivots, e->low.set, (size_t)e->low.n_set * sizeof *v->pivots);
}

/* Gives the engine of another rank the state v of root's. If root found the low rank
 * insufficient, the engine becomes dense. */
static kn_status restore_state(kn_ctx *ctx, const evaluation *v, kn_engine *e)
{
    memcpy(e->inside, v->inside, sizeof e->inside);
    e->s2 = v->s2;
    e->warm = v->warm != 0;
    e->evals = (int)v->evals;
    e->inner_evals = (int)v->inner_evals;
    if (e->spec.rank > 0 && v->rank == 0) { /* root found the low rank insufficient */
        e->spec.rank = 0;
        return kn_engine_make_dense(ctx, e);
    }
    if (e->spec.rank == 0)
        return KN_OK;
    return kn_lowrank_set_pivots(ctx, &e->low, (ptrdiff_t)v->n_pivots, v->pivots, v->residual);
}

/* Evaluates the log likelihood *lml and, unless g is NULL, its gradient on this rank: nested at
 * `at`, or, if that is NULL, jointly at theta. */
static kn_status evaluate_step(kn_ctx *ctx, kn_engine *e, const kn_cov_point *at,
                               const double *theta, double *lml, double *g)
{
    return at ? kn_engine_nested(ctx, e, at, lml, g) : kn_engine_joint(ctx, e, theta, lml, g);
}

/* Evaluates the likelihood on root and broadcasts lml, gradient and engine state. at: point of
 * the nested likelihood; NULL: theta of the joint one. g: gradient (outer parameters or all of
 * theta), NULL: not needed. KN_ERR_CANCELLED if root was cancelled. Collective. */
static kn_status evaluate_on_root(kn_ctx *ctx, kn_engine *e, const kn_cov_point *at,
                                  const double *theta, double *lml, double *g)
{
    kn_status status;
    void *memory = NULL;
    int n = at ? kn_cov_n_outer(&e->cov) : kn_spec_n_theta(&e->spec);
    bool root = kn_ctx_comm(ctx)->rank == 0;
    ptrdiff_t bytes =
        (ptrdiff_t)sizeof(evaluation) + e->low.max_rank * (ptrdiff_t)sizeof(ptrdiff_t);
    KN_TRY(kn_alloc(ctx, bytes, 1, &memory));
    evaluation *v = memory;
    if (root) {
        KN_TRY(evaluate_step(ctx, e, at, theta, &v->lml, g ? v->g : NULL));
        save_state(e, v);
        if (kn_cancelled(ctx) && !kn_cancel_keeps_best(ctx)) {
            status = kn_fail_cancelled(ctx);
            goto out;
        }
    }
    KN_TRY(kn_comm_broadcast(ctx, v, bytes, 0));
    if (!root)
        KN_TRY(restore_state(ctx, v, e));
    *lml = v->lml;
    if (g)
        memcpy(g, v->g, (size_t)n * sizeof *g);
out:
    kn_free(memory);
    return status;
}

kn_status kn_lockstep_nested(kn_ctx *ctx, kn_engine *e, const kn_cov_point *at, double *lml,
                             double *g)
{
    return (e->lockstep ? evaluate_on_root : evaluate_step)(ctx, e, at, NULL, lml, g);
}

kn_status kn_lockstep_joint(kn_ctx *ctx, kn_engine *e, const double *theta, double *lml, double *g)
{
    return (e->lockstep ? evaluate_on_root : evaluate_step)(ctx, e, NULL, theta, lml, g);
}
