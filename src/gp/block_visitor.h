/* A walk over the responses: every block is made once and shown to some visitors, one after the
 * other. What used to be a loop over blocks is a visitor.
 *
 * Blocks are cut at multiples of `cut` of the caller's numbering, the mask's, so that a response
 * left out changes its own block and shifts no other; a block holds those in use between two cuts,
 * and is never empty. A visitor passes whole blocks to the BLAS, or tiles of them by a rule that
 * knows nothing of threads, and adds over blocks by exact sums or slots (base/sum/reduce.h): then
 * the bits of what it makes depend on neither the number of threads nor on who walks where.
 *
 * Ranks walk over the blocks dealt to them (data/mpi/partition_responses.h), each over its own.
 * Plans are of all blocks; a visitor that leaves something for each response makes it known by
 * kn_allgather_responses, in its `end` or after the walk, before anybody asks for another rank's.
 */
#ifndef KN_GP_BLOCK_VISITOR_H
#define KN_GP_BLOCK_VISITOR_H

#include "base/memory/plan.h"
#include "data/responses/responses.h"

struct kn_gp_maps;

/* What a block carries, as visitors ask for it. */
enum {
    KN_WALK_Y = 1,         /* y */
    KN_WALK_MEAN = 2,      /* mean */
    KN_WALK_MAPS = 2 | 16, /* mean, var */
    KN_WALK_STRIP = 4,     /* y lying down */
    KN_WALK_STRIP_F32 = 8, /* ... in float32 */
};

typedef struct kn_block_loop {
    kn_responses Y;                /* n x T standardised */
    const struct kn_gp_maps *maps; /* of the same samples; NULL: none */
    const char *stage;             /* of progress; NULL: in silence */
    ptrdiff_t done, total;         /* responses of earlier walks of the stage, of all its walks;
                                    * total 0: this is the only one */
    ptrdiff_t cut;                 /* a power of two up to KN_BLOCK; 0: KN_BLOCK */
    ptrdiff_t every;               /* the first of each so many blocks; 0: all */
    ptrdiff_t from, to;            /* only blocks that begin among these responses; to 0: all */
    bool to_the_end;               /* cannot be cancelled */
} kn_block_loop;

typedef struct kn_block_loop_plan {
    ptrdiff_t n, T;   /* samples and responses of the walk */
    ptrdiff_t blocks; /* that will be seen */
    ptrdiff_t width;  /* responses of the widest */
} kn_block_loop_plan;

typedef struct kn_block {
    ptrdiff_t number;       /* 0 .. blocks-1, in order: its slot in a sum */
    ptrdiff_t first, count; /* its responses, among those in use */
    kn_mat y, mean, var;    /* n x count */
    kn_mat strip;           /* count x n */
    kn_fmat strip_f32;      /* count x n */
    /* A visitor may put something in their place for those after it, as
     * norm/reference/zmap_visitors.c does: z, the z of the joint deviance, and that z by noise
     * alone. */
    kn_mat z, z_joint, z_noise; /* n x count */
} kn_block;

typedef struct kn_visitor {
    void *self;
    unsigned needs; /* KN_WALK_Y | ... */
    kn_status (*begin)(kn_ctx *ctx, void *self, const kn_block_loop_plan *plan); /* or NULL */
    kn_status (*block)(kn_ctx *ctx, void *self, kn_block *block);
    kn_status (*end)(kn_ctx *ctx, void *self); /* or NULL; not after a failure; may be collective */
} kn_visitor;

/* Where the block that begins at response `first` ends. Without a scaling none is left out. */
ptrdiff_t kn_block_end(const kn_responses *Y, ptrdiff_t cut, ptrdiff_t first);
kn_block_loop_plan kn_block_loop_plan_of(const kn_block_loop *walk);

/* A visitor's begin and end are called on all ranks, with blocks or without. Collective where one
 * of them is. */
kn_status kn_block_loop_run(kn_ctx *ctx, const kn_block_loop *walk, const kn_visitor *visitor,
                            int n);

/* Blocks of n samples by `cut` responses (0: KN_BLOCK) of T, with what visitors ask for. */
ptrdiff_t kn_block_loop_width(ptrdiff_t cut, ptrdiff_t T);
void kn_block_loop_need(kn_mem_plan *r, ptrdiff_t n, ptrdiff_t width, unsigned needs);

#endif
