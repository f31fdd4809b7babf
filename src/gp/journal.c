#include "gp/journal.h"

#include <string.h>

kn_status kn_journal_recall(kn_ctx *ctx, kn_journal *journal, kn_step *step)
{
    step->known = false;
    return journal ? journal->recall(journal, ctx, step) : KN_OK;
}

kn_status kn_journal_note(kn_ctx *ctx, kn_journal *journal, const kn_step *step)
{
    return journal && !kn_cancelled(ctx) ? journal->note(journal, ctx, step) : KN_OK;
}

/* All that one evaluation hands on to later ones: where the inside search starts, and counters. */
typedef struct state {
    double inside[KN_MAX_THETA], s2;
    int64_t warm, evals, inner_evals;
} state;

static state state_of(const kn_engine *e)
{
    state s = {.s2 = e->s2, .warm = e->warm, .evals = e->evals, .inner_evals = e->inner_evals};
    memcpy(s.inside, e->inside, sizeof s.inside);
    return s;
}

static void restore(kn_engine *e, const state *s)
{
    memcpy(e->inside, s->inside, sizeof e->inside);
    e->s2 = s->s2;
    e->warm = s->warm != 0;
    e->evals = (int)s->evals;
    e->inner_evals = (int)s->inner_evals;
}

typedef struct question {
    double x[KN_MAX_THETA];
    int64_t N, P, thorough, gradient;
    state before;
} question;

typedef struct answer {
    double lml, g[KN_MAX_THETA];
    state after;
} answer;

/* x: n numbers, (rho, length) or theta; as many derivatives when g is not NULL */
static kn_status evaluate(kn_ctx *ctx, kn_step_kind kind, kn_engine *e, const double *x, int n,
                          double *lml, double *g)
{
    question q = {.N = e->N,
                  .P = e->P,
                  .thorough = e->thorough,
                  .gradient = g != NULL,
                  .before = state_of(e)};
    answer a = {0};
    kn_step step = {kind, &q, sizeof q, &a, sizeof a, false};
    size_t size = (size_t)n * sizeof *x;
    kn_status status;
    memcpy(q.x, x, size);
    KN_TRY(kn_journal_recall(ctx, e->journal, &step));
    if (step.known) {
        restore(e, &a.after);
    } else {
        double *gradient = g ? a.g : NULL;
        KN_TRY(kind == KN_STEP_NESTED ? kn_engine_nested(ctx, e, x[0], x[1], &a.lml, gradient)
                                      : kn_engine_joint(ctx, e, x, &a.lml, gradient));
        a.after = state_of(e);
        KN_TRY(kn_journal_note(ctx, e->journal, &step));
    }
    *lml = a.lml;
    if (g)
        memcpy(g, a.g, size);
out:
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
