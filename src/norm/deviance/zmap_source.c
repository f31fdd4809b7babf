/* Implements zmap_source.h with a block visitor that fills z before the caller's visitor runs. */
#include "norm/deviance/zmap_source.h"

static kn_status copy_block(void *self, kn_ctx *ctx, ptrdiff_t first, ptrdiff_t count, kn_mat z)
{
    (void)ctx;
    kn_mat *held = self;
    kn_mat_set(z, kn_cols(*held, first, count));
    return KN_OK;
}

kn_z_source kn_z_from_mat(kn_mat *z)
{
    return (kn_z_source){.self = z, .rows = z->rows, .cols = z->cols, .block = copy_block};
}

typedef struct maker {
    const kn_z_source *source;
    kn_mat z; /* rows x width */
} maker;

static kn_status begin(kn_ctx *ctx, void *self, const kn_block_loop_plan *plan)
{
    maker *m = self;
    return kn_mat_new(ctx, plan->n, plan->width, &m->z);
}

static kn_status make(kn_ctx *ctx, void *self, kn_block *b)
{
    maker *m = self;
    b->z = kn_cols(m->z, 0, b->count);
    return m->source->block(m->source->self, ctx, b->first, b->count, b->z);
}

static kn_responses numbering(const kn_z_source *z)
{
    return (kn_responses){.scaling = z->scaling, .N = z->rows, .T = z->cols};
}

kn_block_loop_plan kn_z_plan(const kn_z_source *z)
{
    return kn_block_loop_plan_of(&(kn_block_loop){.Y = numbering(z)});
}

kn_status kn_z_walk(kn_ctx *ctx, const kn_z_source *z, kn_block_loop walk,
                    const kn_visitor *visitor)
{
    maker m = {.source = z};
    kn_visitor both[] = {{&m, 0, begin, make, NULL}, *visitor};
    walk.Y = numbering(z);
    kn_status status = kn_block_loop_run(ctx, &walk, both, 2);
    kn_mat_clear(&m.z);
    return status;
}
