#include "gp/journal_shared.h"

#include "base/comm.h"

/* All ranks take part in it: a curve of held-out losses is made of the responses of all. */
static bool has_collectives(const kn_step *step)
{
    return step->kind == KN_STEP_COMPONENTS;
}

/* What the first rank has of a step, to all. */
static kn_status share_out(kn_ctx *ctx, const kn_step *step)
{
    return kn_comm_share(ctx, step->out, step->n_out, 0);
}

static kn_status recall_kept(kn_ctx *ctx, const kn_shared_journal *s, kn_step *step)
{
    bool first = kn_ctx_comm(ctx)->rank == 0;
    return first && s->kept ? s->kept->recall(s->kept, ctx, step) : KN_OK;
}

/* All learn whether it is known. */
static kn_status recall_together(kn_ctx *ctx, const kn_shared_journal *s, kn_step *step)
{
    kn_status status;
    char known;
    KN_TRY(recall_kept(ctx, s, step));
    known = step->known;
    KN_TRY(kn_comm_share(ctx, &known, 1, 0));
    step->known = known != 0;
    if (step->known)
        KN_TRY(share_out(ctx, step));
out:
    return status;
}

/* The first takes a step that is not known, and the others wait here for what comes out. */
static kn_status recall(kn_journal *self, kn_ctx *ctx, kn_step *step)
{
    kn_status status;
    const kn_shared_journal *s = (const kn_shared_journal *)self;
    if (has_collectives(step))
        return recall_together(ctx, s, step);
    KN_TRY(recall_kept(ctx, s, step));
    step->known = step->known || kn_ctx_comm(ctx)->rank > 0;
    if (step->known)
        KN_TRY(share_out(ctx, step));
out:
    return status;
}

static kn_status note(kn_journal *self, kn_ctx *ctx, const kn_step *step)
{
    kn_status status = KN_OK;
    const kn_shared_journal *s = (const kn_shared_journal *)self;
    if (kn_ctx_comm(ctx)->rank == 0 && s->kept)
        KN_TRY(s->kept->note(s->kept, ctx, step));
    KN_TRY(share_out(ctx, step));
out:
    return status;
}

kn_journal *kn_journal_share(const kn_ctx *ctx, kn_journal *kept, kn_shared_journal *shared)
{
    *shared = (kn_shared_journal){{recall, note}, kept};
    return kn_ctx_comm(ctx)->size > 1 ? &shared->journal : kept;
}
