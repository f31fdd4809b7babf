/* Block visitors that compute z-scores of the training participants from their cross-validated
 * or leave-one-out maps, cache them, and replay the cache. */
#ifndef KN_NORM_REFERENCE_ZMAP_VISITORS_H
#define KN_NORM_REFERENCE_ZMAP_VISITORS_H

#include "base/memory/plan.h"
#include "base/sum/reduce.h"
#include "data/mpi/partition_responses.h"
#include "gp/block_visitor.h"
#include "gp/predict/prediction_blocks.h"
#include "gp/zscore.h"
#include "norm/calibration/learner.h"
#include "norm/metrics/extreme_statistic.h"

/* Computes z and overwrites y with it. For a reference (`whole`) it also computes the z of the
 * whole-map deviance, which overwrites the variance, and the same by noise alone, which
 * overwrites the mean. z divides by the leave-one-out noise, the z of the deviance by noise_j of
 * all participants: its psi comes from the same z, so that a wrong scale of a response cancels
 * [METHOD 5b, 8b]. Sums over a block go to the slot of the block. */
typedef struct kn_z_builder {
    const kn_gp *gp;
    const kn_gp_maps *maps;
    double share; /* fraction of responses in the extreme-value statistic */
    bool whole;
    const kn_learner
        *learner; /* learns the calibration, with leave-one-out noise; or NULL and ... */
    const kn_calibration_transform *layer; /* ... a calibration that is applied as it is */
    kn_mat D;                              /* columns of its noise scale; none without scale */
    const double *shift;                   /* n: its site terms; NULL: none */
    kn_slots losses;                       /* kn_losses of a block */
    /* n: sums of y and of the model variance without R's iso term (whole) */
    kn_slots y, model;
    kn_slots noise_sum;    /* 1: sum of the noise variances (whole) */
    kn_slots burden;       /* 3 n: sum of z, number of z below and above the threshold (whole) */
    kn_extreme_stream top; /* for the extreme-value statistic */
    double *iso;           /* width: R's iso term in the model variance */
    kn_losses *column;     /* width: losses of each response */
    kn_mat work;           /* one column per worker */
} kn_z_builder;

/* Block loop over m->maps with this progress stage; NULL: without progress. */
kn_block_loop kn_z_builder_walk(const kn_z_builder *m, const char *stage);
/* Visitor that computes z and all sums. */
kn_visitor kn_z_builder_visitor(kn_z_builder *m);
/* Visitor for a second loop: only the z of the deviances, without the sums. They are rounded to
 * float as in the cache, so that results do not depend on whether memory allowed a cache. */
kn_visitor kn_z_builder_again(kn_z_builder *m);
/* Free sums and work; gp, maps, learner and layer are borrowed. */
void kn_z_builder_clear(kn_z_builder *m);

/* Cache of z as floats, for a second loop or for the model file. Each kind is stored if its
 * array is set. */
typedef struct kn_z_cache {
    ptrdiff_t n, T;
    float *z;           /* n x T, row-major; NULL: not kept. All arrays are borrowed */
    kn_range own;       /* responses whose z of the deviances are cached, whole blocks */
    float *joint[2];    /* n x own, column-major; both or neither */
    kn_mat recalled[2]; /* current block, owned */
} kn_z_cache;

/* Visitor that stores the z of each block. */
kn_visitor kn_z_keep(kn_z_cache *k);
/* Visitor that sets z_joint and z_noise of a block from the cache, in place of kn_z_builder; the
 * block loop then needs no maps. */
kn_visitor kn_z_replay(kn_z_cache *k);
/* Free the current block; the borrowed arrays stay. */
void kn_z_cache_clear(kn_z_cache *k);

/* Memory plan of a loop over n participants, without the stream of the extreme-value statistic. */
void kn_z_builder_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, bool whole);
/* Memory plan of kn_z_replay(). */
void kn_z_replay_need(kn_mem_plan *r, ptrdiff_t n, ptrdiff_t T);

#endif
