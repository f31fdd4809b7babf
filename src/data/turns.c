#include "data/turns.h"

#include <stdint.h>

#include "base/comm.h"

static ptrdiff_t rounded_up(ptrdiff_t n, ptrdiff_t by)
{
    return (n + by - 1) / by;
}

ptrdiff_t kn_turns_block(ptrdiff_t n, ptrdiff_t most, int ranks)
{
    ptrdiff_t rounds = rounded_up(n, most * ranks);
    return n > 0 ? rounded_up(n, rounds * ranks) : 1;
}

kn_range kn_turns_of(const kn_people *p, int rank, int ranks, ptrdiff_t round)
{
    ptrdiff_t first = kn_at_most((round * ranks + rank) * p->turn, p->n);
    return (kn_range){first, kn_at_most(first + p->turn, p->n)};
}

ptrdiff_t kn_turns_rows(const kn_ctx *ctx, const kn_people *p, ptrdiff_t *rows)
{
    const kn_comm *c = kn_ctx_comm(ctx);
    ptrdiff_t n = 0;
    if (p->turn == 0)
        return p->n;
    for (ptrdiff_t i = 0; i < p->n; i++)
        if (i / p->turn % c->size == c->rank)
            rows[n++] = rows[i];
    return n;
}

bool kn_turns_own(const kn_ctx *ctx, const kn_people *p, ptrdiff_t k, kn_range *people, kn_view *Y)
{
    const kn_comm *c = kn_ctx_comm(ctx);
    *Y = p->Y;
    if (p->turn == 0) {
        *people = kn_people_dealt_to(p->n, c->rank, c->size);
        return k == 0;
    }
    *people = kn_turns_of(p, c->rank, c->size, k);
    /* blocks before this one are whole: their rows are k blocks, and not those that others have */
    size_t element = Y->type == KN_F32 ? sizeof(float) : sizeof(double);
    ptrdiff_t elsewhere = people->first - k * p->turn;
    Y->data = (const void *)((uintptr_t)Y->data - (size_t)(elsewhere * Y->row_stride) * element);
    Y->rows = p->n;
    return people->last > people->first;
}
