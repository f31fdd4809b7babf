/* Implements block_visitor.h. Every rank iterates over all block boundaries but reads only its own
 * blocks. */
#include "gp/block_visitor.h"

#include <math.h>

#include "data/mpi/partition_responses.h"
#include "gp/predict/prediction_blocks.h"

static ptrdiff_t cut_of(const kn_block_loop *w)
{
    return w->cut > 0 ? w->cut : KN_BLOCK;
}

ptrdiff_t kn_block_end(const kn_responses *Y, ptrdiff_t cut, ptrdiff_t first)
{
    const ptrdiff_t *kept = Y->scaling ? Y->scaling->kept : NULL;
    ptrdiff_t limit =
        ((kept ? kept[first] : first) / cut + 1) * cut; /* in the caller's numbering */
    kn_range among = {first + 1, Y->T - first < cut ? Y->T : first + cut};
    return kn_first_from(Y, among, limit);
}

kn_block_loop_plan kn_block_loop_plan_of(const kn_block_loop *w)
{
    kn_block_loop_plan p = {.n = w->Y.N, .T = w->Y.T};
    ptrdiff_t every = w->every > 1 ? w->every : 1, number = 0;
    for (ptrdiff_t first = 0, last; first < w->Y.T; first = last, number++) {
        last = kn_block_end(&w->Y, cut_of(w), first);
        if (number % every != 0)
            continue;
        p.blocks++;
        p.width = last - first > p.width ? last - first : p.width;
    }
    return p;
}

/* Buffers for the widest block. */
typedef struct room {
    unsigned needs;
    kn_mat y, mean, var, strip;
    kn_fmat strip_f32;
} room;

static void room_clear(room *r)
{
    kn_mat_clear(&r->y);
    kn_mat_clear(&r->mean);
    kn_mat_clear(&r->var);
    kn_mat_clear(&r->strip);
    kn_fmat_clear(&r->strip_f32);
}

static kn_status room_new(kn_ctx *ctx, const kn_block_loop_plan *p, room *r)
{
    kn_status status = KN_OK;
    if (r->needs & KN_WALK_Y)
        KN_TRY(kn_mat_new(ctx, p->n, p->width, &r->y));
    if (r->needs & KN_WALK_MEAN)
        KN_TRY(kn_mat_new(ctx, p->n, p->width, &r->mean));
    if ((r->needs & KN_WALK_MAPS) == KN_WALK_MAPS)
        KN_TRY(kn_mat_new(ctx, p->n, p->width, &r->var));
    if (r->needs & KN_WALK_STRIP)
        KN_TRY(kn_mat_new(ctx, p->width, p->n, &r->strip));
    if (r->needs & KN_WALK_STRIP_F32)
        KN_TRY(kn_fmat_new(ctx, p->width, p->n, &r->strip_f32));
out:
    return status;
}

ptrdiff_t kn_block_loop_width(ptrdiff_t cut, ptrdiff_t T)
{
    return kn_min_size(cut > 0 ? cut : KN_BLOCK, T);
}

void kn_block_loop_need(kn_mem_plan *r, ptrdiff_t n, ptrdiff_t width, unsigned needs)
{
    if (needs & KN_WALK_Y)
        kn_plan_alloc_d(r, KN_NEED_WORK, n, width);
    if (needs & KN_WALK_MEAN)
        kn_plan_alloc_d(r, KN_NEED_WORK, n, width);
    if ((needs & KN_WALK_MAPS) == KN_WALK_MAPS)
        kn_plan_alloc_d(r, KN_NEED_WORK, n, width);
    if (needs & KN_WALK_STRIP)
        kn_plan_alloc_d(r, KN_NEED_WORK, n, width);
    if (needs & KN_WALK_STRIP_F32)
        kn_plan_alloc_f(r, KN_NEED_WORK, n, width);
}

static kn_status make_block(kn_ctx *ctx, const kn_block_loop *w, const room *r, kn_block *b)
{
    b->y = kn_cols(r->y, 0, b->count);
    b->mean = kn_cols(r->mean, 0, b->count);
    b->var = kn_cols(r->var, 0, b->count);
    b->strip = kn_sub(r->strip, 0, 0, b->count, w->Y.N);
    b->strip_f32 = kn_fsub(r->strip_f32, 0, 0, b->count, w->Y.N);
    if (r->needs & KN_WALK_STRIP)
        kn_responses_strip(ctx, &w->Y, b->first, b->strip);
    if (r->needs & KN_WALK_STRIP_F32)
        kn_responses_strip_f32(ctx, &w->Y, b->first, b->strip_f32);
    if (r->needs & KN_WALK_Y)
        kn_responses_block(ctx, &w->Y, b->first, b->y);
    if (!(r->needs & KN_WALK_MEAN))
        return KN_OK;
    /* Folds compute their basis from the responses of all rows; y can be passed on if it has them
     * all. */
    return kn_gp_maps_from(ctx, w->maps, b->first, w->Y.rows ? kn_mat_none() : b->y, b->mean,
                           b->var);
}

/* Reports the progress of this rank in its own range, scaled to all responses. */
static void tell_progress(kn_ctx *ctx, const kn_block_loop *w, kn_range mine, ptrdiff_t last)
{
    ptrdiff_t total = w->total > 0 ? w->total : w->Y.T;
    double part = (double)(last - mine.first) / (double)(mine.last - mine.first);
    if (w->stage)
        kn_report_progress(ctx, w->stage, w->done + (ptrdiff_t)(part * (double)w->Y.T), total, NAN);
}

kn_status kn_block_loop_run(kn_ctx *ctx, const kn_block_loop *w, const kn_visitor *visitor, int n)
{
    kn_status status = KN_OK;
    kn_block_loop_plan plan = kn_block_loop_plan_of(w);
    kn_range mine = kn_response_range(ctx, &w->Y);
    room r = {0};
    ptrdiff_t every = w->every > 1 ? w->every : 1;
    kn_block b = {0};
    for (int k = 0; k < n; k++)
        r.needs |= visitor[k].needs;
    if (!w->to_the_end) /* also on ranks without blocks */
        KN_TRY(kn_check_cancel(ctx));
    KN_TRY(room_new(ctx, &plan, &r));
    for (int k = 0; k < n; k++)
        if (visitor[k].begin)
            KN_TRY(visitor[k].begin(ctx, visitor[k].self, &plan));
    for (ptrdiff_t first = 0, last, number = 0; first < w->Y.T; first = last, number++) {
        last = kn_block_end(&w->Y, cut_of(w), first);
        if (number % every != 0 || first < mine.first || first >= mine.last)
            continue;
        if (w->to > 0 && (first < w->from || first >= w->to))
            continue;
        b = (kn_block){.number = number / every, .first = first, .count = last - first};
        if (!w->to_the_end)
            KN_TRY(kn_check_cancel(ctx));
        KN_TRY(make_block(ctx, w, &r, &b));
        for (int k = 0; k < n; k++)
            KN_TRY(visitor[k].block(ctx, visitor[k].self, &b));
        tell_progress(ctx, w, mine, last);
    }
    for (int k = 0; k < n; k++)
        if (visitor[k].end)
            KN_TRY(visitor[k].end(ctx, visitor[k].self));
out:
    room_clear(&r);
    return status;
}
