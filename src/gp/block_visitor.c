/* Implements block_visitor.h. Every rank iterates over all block boundaries but reads only its own
 * blocks. */
#include "gp/block_visitor.h"

#include <math.h>

#include "data/responses/responses.h"
#include "gp/predict/gp_maps.h"

/* Returns the block size of a loop: w->cut or, if that is 0, KN_BLOCK. */
static ptrdiff_t find_cut(const kn_block_loop *w)
{
    return w->cut > 0 ? w->cut : KN_BLOCK;
}

ptrdiff_t kn_block_end(const kn_responses *Y, ptrdiff_t cut, ptrdiff_t first)
{
    const ptrdiff_t *kept = Y->scaling ? Y->scaling->kept : NULL;
    ptrdiff_t limit =
        ((kept ? kept[first] : first) / cut + 1) * cut; /* in the caller's numbering */
    kn_index_range among = {first + 1, Y->T - first < cut ? Y->T : first + cut};
    return kn_first_from(Y, among, limit);
}

kn_block_loop_plan kn_block_loop_plan_of(const kn_block_loop *w)
{
    kn_block_loop_plan p = {.n = w->Y.N, .T = w->Y.T};
    if (w->only) {
        p.blocks = w->n_only;
        p.width = 1;
        return p;
    }
    ptrdiff_t every = w->every > 1 ? w->every : 1, number = 0;
    for (ptrdiff_t first = 0, last; first < w->Y.T; first = last, number++) {
        last = kn_block_end(&w->Y, find_cut(w), first);
        if (number % every != 0)
            continue;
        p.blocks++;
        p.width = last - first > p.width ? last - first : p.width;
    }
    return p;
}

/* Buffers for the widest block. */
typedef struct buffers {
    unsigned needs;
    kn_mat y, mean, var, strip;
    kn_fmat strip_f32;
} buffers;

/* Frees the matrices of one block. */
static void buffers_clear(buffers *r)
{
    kn_mat_clear(&r->y);
    kn_mat_clear(&r->mean);
    kn_mat_clear(&r->var);
    kn_mat_clear(&r->strip);
    kn_fmat_clear(&r->strip_f32);
}

/* Allocates the matrices that the visitors need for the widest block: n x width, strips width x
 * n. The caller clears r, also after an error. */
static kn_status buffers_new(kn_ctx *ctx, const kn_block_loop_plan *p, buffers *r)
{
    kn_status status = KN_OK;
    if (r->needs & KN_BLOCK_Y)
        KN_TRY(kn_mat_new(ctx, p->n, p->width, &r->y));
    if (r->needs & KN_BLOCK_MEAN)
        KN_TRY(kn_mat_new(ctx, p->n, p->width, &r->mean));
    if ((r->needs & KN_BLOCK_MAPS) == KN_BLOCK_MAPS)
        KN_TRY(kn_mat_new(ctx, p->n, p->width, &r->var));
    if (r->needs & KN_BLOCK_STRIP)
        KN_TRY(kn_mat_new(ctx, p->width, p->n, &r->strip));
    if (r->needs & KN_BLOCK_STRIP_F32)
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
    if (needs & KN_BLOCK_Y)
        kn_plan_alloc_d(r, KN_NEED_WORK, n, width);
    if (needs & KN_BLOCK_MEAN)
        kn_plan_alloc_d(r, KN_NEED_WORK, n, width);
    if ((needs & KN_BLOCK_MAPS) == KN_BLOCK_MAPS)
        kn_plan_alloc_d(r, KN_NEED_WORK, n, width);
    if (needs & KN_BLOCK_STRIP)
        kn_plan_alloc_d(r, KN_NEED_WORK, n, width);
    if (needs & KN_BLOCK_STRIP_F32)
        kn_plan_alloc_f(r, KN_NEED_WORK, n, width);
}

/* Sets the views of block b, whose range is set, and fills those that a visitor needs:
 * responses, strips, predictive mean and variance. */
static kn_status fill_block(kn_ctx *ctx, const kn_block_loop *w, const buffers *r, kn_block *b)
{
    b->y = kn_cols(r->y, 0, b->count);
    b->mean = kn_cols(r->mean, 0, b->count);
    b->var = kn_cols(r->var, 0, b->count);
    b->strip = kn_sub(r->strip, 0, 0, b->count, w->Y.N);
    b->strip_f32 = kn_fsub(r->strip_f32, 0, 0, b->count, w->Y.N);
    if (r->needs & KN_BLOCK_STRIP)
        kn_responses_strip(ctx, &w->Y, b->first, b->strip);
    if (r->needs & KN_BLOCK_STRIP_F32)
        kn_responses_strip_f32(ctx, &w->Y, b->first, b->strip_f32);
    if (r->needs & KN_BLOCK_Y)
        kn_responses_block(ctx, &w->Y, b->first, b->y);
    if (!(r->needs & KN_BLOCK_MEAN))
        return KN_OK;
    /* Folds compute their basis from the responses of all rows; y can be passed on if it has them
     * all. */
    return kn_gp_maps_from(ctx, w->maps, b->first, w->Y.rows ? kn_mat_none() : b->y, b->mean,
                           b->var);
}

/* Reports the progress of this MPI rank after the block that ends at response `last`, scaled
 * from its own range `mine` to all responses. */
static void report_block_progress(kn_ctx *ctx, const kn_block_loop *w, kn_index_range mine,
                                  ptrdiff_t last)
{
    ptrdiff_t total = w->total > 0 ? w->total : w->Y.T;
    double part = (double)(last - mine.first) / (double)(mine.last - mine.first);
    if (w->stage)
        kn_report_progress(ctx, w->stage, w->done + (ptrdiff_t)(part * (double)w->Y.T), total, NAN);
}

typedef struct run {
    const kn_block_loop *w;
    const kn_visitor *visitor;
    int n;
    kn_index_range mine;
    buffers r;
} run;

/* Reads the block number `number` of responses first .. last - 1 and passes it to all visitors
 * in turn. KN_ERR_CANCELLED unless the loop runs to the end. */
static kn_status visit_block(kn_ctx *ctx, run *run_state, ptrdiff_t number, ptrdiff_t first,
                             ptrdiff_t last)
{
    kn_status status = KN_OK;
    kn_block b = {.number = number, .first = first, .count = last - first};
    if (!run_state->w->to_the_end)
        KN_TRY(kn_check_cancel(ctx));
    KN_TRY(fill_block(ctx, run_state->w, &run_state->r, &b));
    for (int k = 0; k < run_state->n; k++)
        KN_TRY(run_state->visitor[k].block(ctx, run_state->visitor[k].self, &b));
    report_block_progress(ctx, run_state->w, run_state->mine, last);
out:
    return status;
}

/* Calls the visitors for every block of responses of this MPI rank, or every n-th if the loop
 * says so, that begins in the range of the loop. */
static kn_status visit_blocks(kn_ctx *ctx, run *run_state)
{
    kn_status status = KN_OK;
    const kn_block_loop *w = run_state->w;
    ptrdiff_t every = w->every > 1 ? w->every : 1;
    for (ptrdiff_t first = 0, last, number = 0; first < w->Y.T; first = last, number++) {
        last = kn_block_end(&w->Y, find_cut(w), first);
        bool outside = w->to > 0 && (first < w->from || first >= w->to);
        if (number % every == 0 && first >= run_state->mine.first && first < run_state->mine.last &&
            !outside)
            KN_TRY(visit_block(ctx, run_state, number / every, first, last));
    }
out:
    return status;
}

/* Visits those of the responses w->only that this MPI rank has, each as a block of its own. */
static kn_status visit_responses(kn_ctx *ctx, run *run_state)
{
    kn_status status = KN_OK;
    for (ptrdiff_t k = 0; k < run_state->w->n_only; k++) {
        ptrdiff_t j = run_state->w->only[k];
        if (j >= run_state->mine.first && j < run_state->mine.last)
            KN_TRY(visit_block(ctx, run_state, k, j, j + 1));
    }
out:
    return status;
}

kn_status kn_block_loop_run(kn_ctx *ctx, const kn_block_loop *w, const kn_visitor *visitor, int n)
{
    kn_status status = KN_OK;
    kn_block_loop_plan plan = kn_block_loop_plan_of(w);
    run run_state = {w, visitor, n, kn_response_range(ctx, &w->Y), {0}};
    for (int k = 0; k < n; k++)
        run_state.r.needs |= visitor[k].needs;
    if (!w->to_the_end) /* also on ranks without blocks */
        KN_TRY(kn_check_cancel(ctx));
    KN_TRY(buffers_new(ctx, &plan, &run_state.r));
    for (int k = 0; k < n; k++)
        if (visitor[k].begin)
            KN_TRY(visitor[k].begin(ctx, visitor[k].self, &plan));
    KN_TRY((w->only ? visit_responses : visit_blocks)(ctx, &run_state));
    for (int k = 0; k < n; k++)
        if (visitor[k].end)
            KN_TRY(visitor[k].end(ctx, visitor[k].self));
out:
    buffers_clear(&run_state.r);
    return status;
}
