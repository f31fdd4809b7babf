/* The loop over blocks of responses: every block is read once and passed to each visitor in turn.
 * All computations over Y are visitors of this loop.
 *
 * Blocks end at multiples of `cut` in the caller's numbering (the mask), so that excluding a
 * response changes its own block only. A block holds the modelled responses between two such cuts
 * and is never empty. A visitor calls the BLAS on whole blocks, or on tiles whose size does not
 * depend on the number of threads, and adds over blocks with exact sums or slots
 * (base/sum/block_sums.h): the result then has the same bits for any number of threads and MPI
 * ranks.
 *
 * Each MPI rank loops over its own blocks only (data/mpi/gather_responses.h). The plan counts
 * all blocks. A visitor that computes something per response must gather it
 * (kn_allgather_responses) in its `end` or after the loop before other ranks' values are used. */
#ifndef KN_GP_BLOCK_VISITOR_H
#define KN_GP_BLOCK_VISITOR_H

#include "base/memory/plan.h"
#include "data/responses/responses.h"

struct kn_gp_maps;

/* What a block contains; visitors request it by these flags. */
enum {
    KN_BLOCK_Y = 1,         /* y */
    KN_BLOCK_MEAN = 2,      /* mean */
    KN_BLOCK_MAPS = 2 | 16, /* mean, var */
    KN_BLOCK_STRIP = 4,     /* y transposed */
    KN_BLOCK_STRIP_F32 = 8, /* y transposed, float32 */
};

/* What to loop over. All pointers are borrowed. */
typedef struct kn_block_loop {
    kn_responses Y;                /* n x T  standardised */
    const struct kn_gp_maps *maps; /* maps of the same participants; NULL: no mean and var */
    const char *stage;             /* name of the stage in progress reports; NULL: no reports */
    ptrdiff_t done, total; /* for progress: responses of earlier loops of the stage, and of all its
                              loops; total 0: this is the only loop */
    ptrdiff_t cut;         /* block size, a power of two up to KN_BLOCK; 0: KN_BLOCK */
    ptrdiff_t every;       /* visit only every n-th block; 0: all */
    ptrdiff_t from, to;    /* only blocks that begin in [from, to); to 0: all */
    /* the n_only responses to visit, ascending, each as a block of its own, in place of cut, every,
     * from and to; NULL: blocks */
    const ptrdiff_t *only;
    ptrdiff_t n_only;
    bool to_the_end; /* ignore cancellation */
} kn_block_loop;

/* Sizes of the loop over all ranks, known before it begins. */
typedef struct kn_block_loop_plan {
    ptrdiff_t n, T;   /* participants and responses */
    ptrdiff_t blocks; /* number of visited blocks */
    ptrdiff_t width;  /* responses of the widest block */
} kn_block_loop_plan;

/* One block. The matrices that no visitor requested are empty. */
typedef struct kn_block {
    ptrdiff_t number;       /* 0 .. blocks-1 in order: the slot index of sums */
    ptrdiff_t first, count; /* range of modelled responses */
    kn_mat y, mean, var;    /* n x count, standardised units */
    kn_mat strip;           /* count x n */
    kn_fmat strip_f32;      /* count x n */
    /* Set by one visitor for later visitors, as norm/reference/zmap_visitors.c does: z-scores,
     * z-scores for the joint deviance, and the latter with noise variance only. */
    kn_mat z, z_joint, z_noise; /* n x count */
} kn_block;

/* A visitor: callbacks with their state `self` (borrowed). */
typedef struct kn_visitor {
    void *self;
    unsigned needs; /* requested contents, KN_BLOCK_Y | ... */
    kn_status (*begin)(kn_ctx *ctx, void *self,
                       const kn_block_loop_plan *plan); /* before the first block; may be NULL */
    /* may modify the block, which later visitors then see */
    kn_status (*block)(kn_ctx *ctx, void *self, kn_block *block);
    kn_status (*end)(
        kn_ctx *ctx,
        void *self); /* after the last block, not after an error; may be NULL; may be collective */
} kn_visitor;

/* Index after the last response of the block that begins at response `first`. Y->scaling NULL:
 * every response is modelled. */
ptrdiff_t kn_block_end(const kn_responses *Y, ptrdiff_t cut, ptrdiff_t first);
/* Returns participants, responses, number of blocks and largest width of a loop over all MPI
 * ranks. Reads no response. */
kn_block_loop_plan kn_block_loop_plan_of(const kn_block_loop *loop);

/* Runs the loop: reads one block after the other and passes it to the n visitors. begin and end
 * are called on all MPI ranks, also on those without blocks. Collective if one of the callbacks
 * is. KN_ERR_CANCELLED unless loop->to_the_end. */
kn_status kn_block_loop_run(kn_ctx *ctx, const kn_block_loop *loop, const kn_visitor *visitor,
                            int n);

/* Returns the width of the widest block of a loop over T responses with block size `cut` (0:
 * KN_BLOCK), for memory plans. */
ptrdiff_t kn_block_loop_width(ptrdiff_t cut, ptrdiff_t T);
/* Predicts in plan r the memory of the buffers of a block loop over n participants for the
 * contents `needs` (KN_BLOCK_Y | ...), which stay in the plan. */
void kn_block_loop_need(kn_mem_plan *r, ptrdiff_t n, ptrdiff_t width, unsigned needs);

#endif
