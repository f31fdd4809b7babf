/* z of the training samples from their cross-validated or leave-one-out maps, as visitors of a walk
 * over these: who makes z and what is summed on the way, who keeps z, who recalls it. */
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

/* Makes z in the place of y; of a reference (`whole`) also the z of the joint deviance, in the
 * place of the variance, and that z by noise alone, in the place of the mean. z divides by what
 * others say of the noise, the joint deviance by noise_j: its psi comes from the same z, and a
 * response whose scale is off cancels [METHOD 5b, 8b]. Sums over a block go to its slots. */
typedef struct kn_z_builder {
    const kn_gp *gp;
    const kn_gp_maps *maps;
    double share; /* of the statistic */
    bool whole;
    const kn_learner *learner; /* of the layer, who knows what others say of the noise; or ... */
    const kn_calibration_transform *layer; /* ... the layer as it is, for everybody alike */
    kn_mat D;                              /* its columns; none without scale */
    const double *shift;                   /* n, its terms of sites; NULL: none */
    kn_slots losses;                       /* kn_losses of a block */
    kn_slots y, model;  /* n: sums of y, of the model variance without R's iso term (whole) */
    kn_slots noise_sum; /* 1 (whole) */
    kn_slots burden;    /* 3 n: sum of z, how many z are below and above the threshold (whole) */
    kn_extreme_stream top;
    double *iso;       /* width: R's iso term in the variance */
    kn_losses *column; /* width: of each response */
    kn_mat work;       /* of a worker: a column */
} kn_z_builder;

kn_block_loop kn_z_builder_walk(const kn_z_builder *m, const char *stage);
kn_visitor kn_z_builder_visitor(kn_z_builder *m);
/* z of the joint deviances without the sums, which it has had; rounded as if they had been kept,
 * so that nothing depends on whether there was room for them. */
kn_visitor kn_z_builder_again(kn_z_builder *m);
void kn_z_builder_clear(kn_z_builder *m);

/* Keeps all z as floats, for another walk or for ever; each kind where it has a place. */
typedef struct kn_z_cache {
    ptrdiff_t n, T;
    float *z;        /* n x T row by row; NULL: not kept. All belong to the caller */
    kn_range own;    /* whose z of the joint deviances are kept, whole blocks: */
    float *joint[2]; /* n x own by columns; both or none */
    kn_mat recalled[2];
} kn_z_cache;

kn_visitor kn_z_keep(kn_z_cache *k);
kn_visitor kn_z_replay(kn_z_cache *k); /* z_joint, z_noise, in the place of a maker; a walk of
                                        * no maps */
void kn_z_cache_clear(kn_z_cache *k);  /* what was recalled */

/* For a walk over n samples of T responses; the stream of the statistic apart. */
void kn_z_builder_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, bool whole);
void kn_z_replay_need(kn_mem_plan *r, ptrdiff_t n, ptrdiff_t T);

#endif
