#include "gp/journal.h"

#include <string.h>

#include "base/mem.h"

kn_status kn_journal_recall(kn_ctx *ctx, kn_journal *journal, kn_step *step)
{
    step->known = false;
    return journal ? journal->recall(journal, ctx, step) : KN_OK;
}

kn_status kn_journal_note(kn_ctx *ctx, kn_journal *journal, const kn_step *step)
{
    return journal && !kn_cancelled(ctx) ? journal->note(journal, ctx, step) : KN_OK;
}

/* All that one evaluation hands on to later ones: where the inside search starts, counters, and of
 * a low rank whether it held and the pivots, which follow behind. */
typedef struct state {
    double inside[KN_MAX_THETA], s2, residual;
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

typedef struct question {
    double x[KN_MAX_THETA], tolerance;
    int64_t N, P, thorough, gradient;
    state before;
} question;

typedef struct answer {
    double lml, g[KN_MAX_THETA];
    state after;
    ptrdiff_t pivots[]; /* as many as there may be */
} answer;

static kn_status compute(kn_ctx *ctx, kn_step_kind kind, kn_engine *e, const double *x, bool g,
                         answer *a)
{
    kn_status status = kind == KN_STEP_NESTED
                           ? kn_engine_nested(ctx, e, x[0], x[1], &a->lml, g ? a->g : NULL)
                           : kn_engine_joint(ctx, e, x, &a->lml, g ? a->g : NULL);
    a->after = state_of(e);
    if (status == KN_OK && e->low.n_set > 0)
        memcpy(a->pivots, e->low.set, (size_t)e->low.n_set * sizeof *a->pivots);
    return status;
}

/* x: n numbers, (rho, length) or theta; as many derivatives when g is not NULL */
static kn_status evaluate(kn_ctx *ctx, kn_step_kind kind, kn_engine *e, const double *x, int n,
                          double *lml, double *g)
{
    question q = {.tolerance = e->low.tol,
                  .N = e->N,
                  .P = e->P,
                  .thorough = e->thorough,
                  .gradient = g != NULL,
                  .before = state_of(e)};
    kn_step step = {.kind = kind, .in = &q, .n_in = sizeof q};
    size_t size = (size_t)n * sizeof *x;
    kn_status status;
    void *p = NULL;
    memcpy(q.x, x, size);
    step.n_out = (ptrdiff_t)sizeof(answer) + e->low.max_rank * (ptrdiff_t)sizeof(ptrdiff_t);
    KN_TRY(kn_alloc(ctx, step.n_out, 1, &p));
    answer *a = step.out = p;
    KN_TRY(kn_journal_recall(ctx, e->journal, &step));
    if (step.known) {
        KN_TRY(restore(ctx, e, &a->after, a->pivots));
    } else {
        KN_TRY(compute(ctx, kind, e, x, g != NULL, a));
        KN_TRY(kn_journal_note(ctx, e->journal, &step));
    }
    *lml = a->lml;
    if (g)
        memcpy(g, a->g, size);
out:
    kn_free(p);
    return status;
}

kn_status kn_step_nested(kn_ctx *ctx, kn_engine *e, double rho, double length, double *lml,
                         double *g)
{
    double x[] = {rho, length};
    return evaluate(ctx, KN_STEP_NESTED, e, x, 2, lml, g);
}

kn_status kn_step_joint(kn_ctx *ctx, kn_engine *e, const double *theta, double *lml, double *g)
{
    return evaluate(ctx, KN_STEP_JOINT, e, theta, kn_spec_n_theta(&e->spec), lml, g);
}
