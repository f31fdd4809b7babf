#include "gp/journal.h"

#include <string.h>

#include "base/comm.h"
#include "base/mem.h"

kn_status kn_journal_recall(kn_ctx *ctx, kn_journal *journal, kn_step *step)
{
    step->known = false;
    return journal ? journal->recall(journal, ctx, step) : KN_OK;
}

kn_status kn_journal_note(kn_ctx *ctx, kn_journal *journal, const kn_step *step)
{
    bool cancelled = kn_cancelled(ctx); /* asked once: it may be told at any time */
    if (journal && cancelled && !kn_may_stop_early(ctx))
        return kn_stopped(ctx);
    return journal && !cancelled ? journal->note(journal, ctx, step) : KN_OK;
}

/* All that one evaluation hands on to later ones: where the inside search starts, counters, and of
 * a low rank whether it held and the pivots, which follow behind. */
typedef struct state {
    double inside[KN_THETA], s2, residual;
    int64_t warm, evals, inner_evals, rank, n_pivots;
} state;

static state state_of(const kn_engine *e)
{
    state s = {.s2 = e->s2,
               .residual = e->low.residual,
               .warm = e->warm,
               .evals = e->evals,
               .inner_evals = e->inner_evals,
               .rank = e->spec.rank,
               .n_pivots = e->low.n_set};
    memcpy(s.inside, e->inside, sizeof s.inside);
    return s;
}

static kn_status restore(kn_ctx *ctx, kn_engine *e, const state *s, const ptrdiff_t *pivots)
{
    memcpy(e->inside, s->inside, sizeof e->inside);
    e->s2 = s->s2;
    e->warm = s->warm != 0;
    e->evals = (int)s->evals;
    e->inner_evals = (int)s->inner_evals;
    if (e->spec.rank > 0 && s->rank == 0) { /* it did not suffice */
        e->spec.rank = 0;
        return kn_engine_make_dense(ctx, e);
    }
    if (e->spec.rank == 0)
        return KN_OK;
    return kn_lowrank_set_pivots(ctx, &e->low, (ptrdiff_t)s->n_pivots, pivots, s->residual);
}

/* Where: weights and shapes for a nested evaluation, theta for a joint one; the other is zero. */
typedef struct question {
    kn_cov_point at;
    double theta[KN_THETA], tolerance;
    int64_t N, P, thorough, gradient;
    state before;
} question;

typedef struct answer {
    double lml, g[KN_THETA];
    state after;
    ptrdiff_t pivots[]; /* as many as there may be */
} answer;

static kn_status compute(kn_ctx *ctx, kn_step_kind kind, kn_engine *e, const question *q, answer *a)
{
    double *g = q->gradient ? a->g : NULL;
    kn_status status = kind == KN_STEP_NESTED ? kn_engine_nested(ctx, e, &q->at, &a->lml, g)
                                              : kn_engine_joint(ctx, e, q->theta, &a->lml, g);
    a->after = state_of(e);
    if (status == KN_OK && e->low.n_set > 0)
        memcpy(a->pivots, e->low.set, (size_t)e->low.n_set * sizeof *a->pivots);
    return status;
}

/* The question where it is put, and as many derivatives as it has parameters when g is not NULL */
static kn_status evaluate(kn_ctx *ctx, kn_step_kind kind, kn_engine *e, question *q, double *lml,
                          double *g)
{
    int n = kind == KN_STEP_NESTED ? kn_cov_n_outer(&e->cov) : kn_spec_n_theta(&e->spec);
    kn_step step = {.kind = kind, .in = q, .n_in = sizeof *q};
    kn_status status;
    void *p = NULL;
    q->tolerance = e->low.tol;
    q->N = e->N;
    q->P = e->P;
    q->thorough = e->thorough;
    q->gradient = g != NULL;
    q->before = state_of(e);
    step.n_out = (ptrdiff_t)sizeof(answer) + e->low.max_rank * (ptrdiff_t)sizeof(ptrdiff_t);
    KN_TRY(kn_alloc(ctx, step.n_out, 1, &p));
    answer *a = step.out = p;
    KN_TRY(kn_journal_recall(ctx, e->journal, &step));
    if (step.known) {
        KN_TRY(restore(ctx, e, &a->after, a->pivots));
    } else {
        KN_TRY(compute(ctx, kind, e, q, a));
        KN_TRY(kn_journal_note(ctx, e->journal, &step));
    }
    *lml = a->lml;
    if (g)
        memcpy(g, a->g, (size_t)n * sizeof *g);
out:
    kn_free(p);
    return status;
}

kn_status kn_step_nested(kn_ctx *ctx, kn_engine *e, const kn_cov_point *at, double *lml, double *g)
{
    question q = {.at = *at};
    return evaluate(ctx, KN_STEP_NESTED, e, &q, lml, g);
}

kn_status kn_step_joint(kn_ctx *ctx, kn_engine *e, const double *theta, double *lml, double *g)
{
    question q = {0};
    memcpy(q.theta, theta, (size_t)kn_spec_n_theta(&e->spec) * sizeof *theta);
    return evaluate(ctx, KN_STEP_JOINT, e, &q, lml, g);
}
