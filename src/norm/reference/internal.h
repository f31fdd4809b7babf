/* Steps in which reference.c makes the reference sample: z maps block by block, both deviances and
 * the distribution of the statistics. Other folders use reference.h. */
#ifndef KN_NORM_REFERENCE_INTERNAL_H
#define KN_NORM_REFERENCE_INTERNAL_H

#include "base/memory/plan.h"
#include "base/sum/block_sums.h"
#include "data/responses/responses.h"
#include "gp/block_visitor.h"
#include "gp/predict/gp_maps.h"
#include "gp/predict/map_density.h"
#include "gp/zscore.h"
#include "norm/calibration/learner.h"
#include "norm/calibration/null_model.h"
#include "norm/deviance/fit.h"
#include "norm/metrics/extreme_statistic.h"
#include "norm/reference/reference.h"

/* ---- zmap_visitors.c -------------------------------------------------------------------------
 *
 * Block visitors that compute z-scores of the training participants from their cross-validated
 * or leave-one-out maps, cache them, and replay the cache. */

/* Computes z and overwrites y with it. For a reference (`whole`) it also computes the z of the
 * whole-map deviance, which overwrites the variance, and the same by noise alone, which
 * overwrites the mean. z divides by the leave-one-out noise, the z of the deviance by noise_j of
 * all participants: its psi comes from the same z, so that a wrong scale of a response cancels
 * [METHOD 5b, 8b]. Sums over a block go to the slot of the block. */
typedef struct kn_z_builder {
    const kn_gp *gp;
    const kn_gp_maps *maps;
    double proportion; /* fraction of responses in the extreme-value statistic */
    bool whole;
    const kn_learner
        *learner; /* learns the calibration, with leave-one-out noise; or NULL and ... */
    const kn_calibration_transform *calibration; /* ... a calibration that is applied unchanged */
    const kn_null_learner *null;                 /* learns the null model; NULL: there is none */
    kn_mat D;            /* columns of its noise scale; none without scale */
    const double *shift; /* n: its site terms; NULL: none */
    kn_slots losses;     /* kn_losses of a block */
    /* n: sums of y and of the model variance without R's iso term (whole) */
    kn_slots y, model;
    kn_slots noise_sum;    /* 1: sum of the noise variances (whole) */
    kn_slots burden;       /* 3 n: sum of z, number of z below and above the threshold (whole) */
    kn_extreme_stream top; /* for the extreme-value statistic */
    double *iso;           /* width: R's iso term in the model variance */
    kn_losses *column;     /* width: losses of each response */
    kn_mat work;           /* one column per worker */
} kn_z_builder;

/* Block loop over the maps of m, with the name `stage` for progress; NULL: no progress is
 * reported. */
kn_block_loop kn_z_builder_loop(const kn_z_builder *m, const char *stage);

/* Visitor that computes z of a block, and all sums of the builder. */
kn_visitor kn_z_builder_visitor(kn_z_builder *m);

/* Visitor for a second loop: computes only the z of the deviances, without the sums. They are
 * rounded to float as in the cache, so that results do not depend on whether memory allowed a
 * cache. */
kn_visitor kn_z_builder_again(kn_z_builder *m);

/* Free sums and work of m; gp, maps, learner and calibration are borrowed. */
void kn_z_builder_clear(kn_z_builder *m);

/* Cache of z as floats, for a second loop or for the model file. Each kind is stored if its
 * array is set. */
typedef struct kn_z_cache {
    ptrdiff_t n, T;
    float *z;           /* n x T, row-major; NULL: not kept. All arrays are borrowed */
    kn_index_range own; /* responses whose z of the deviances are cached, whole blocks */
    float *joint[2];    /* n x own, column-major; both or neither */
    kn_mat recalled[2]; /* current block, owned */
} kn_z_cache;

/* Visitor that stores the z of each block in the arrays of the cache that are set. */
kn_visitor kn_z_keep(kn_z_cache *k);

/* Visitor that sets z_joint and z_noise of a block from the cache, in place of kn_z_builder; the
 * block loop then needs no maps. */
kn_visitor kn_z_replay(kn_z_cache *k);
/* Free the current block; the borrowed arrays stay. */
void kn_z_cache_clear(kn_z_cache *k);

/* Add to the memory plan r what a loop that computes z of n participants allocates, without the
 * stream of the extreme-value statistic. whole: for a reference sample. */
void kn_z_builder_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, bool whole);

/* Add to the memory plan r the block (two n x width matrices) that kn_z_replay() allocates for n
 * participants and T responses. */
void kn_z_replay_need(kn_mem_plan *r, ptrdiff_t n, ptrdiff_t T);

/* ---- deviance.c ------------------------------------------------------------------------------
 *
 * Whole-map deviances of the reference sample: of z, and of z by noise alone [METHOD 8b, 8j]
 *
 * zz' of both comes from the first block loop over the cross-validated maps, together with all
 * other sums over responses; the second loop is for the deviances only. Where z is kept, or the
 * memory budget allows it, the z of the deviances are cached, and the second loop need not
 * recompute mean and variance. A method with its own density of whole maps (own_deviance) has
 * its deviances from the first loop; zz' then only serves the table-order test. With missing
 * cells both are fitted to the cached z. See norm/deviance/fit.h for the cost. */

/* State that the block loops share. */
typedef struct kn_reference_build {
    kn_reference *r;
    kn_z_builder z;
    kn_z_cache keeper;
    /* fitters of z and of z by noise alone; NULL: no deviance. With `own` only the first, for
     * zz' */
    kn_deviance_fitter *deviance[2];
    bool own;                         /* the method has its own deviance */
    kn_map_density_state map_density; /* density of whole maps under the method's own model */
    bool noiseless;                   /* some z by noise alone are not finite */
    kn_exclusion_groups exclusions;   /* participants that are left out together */
    kn_learner *learner;
    kn_null_learner null;
    kn_calibration_transform calibration; /* stands in for job->calibration if that is NULL */
} kn_reference_build;

/* Allocate the fitters of both deviances and the cache of z, before the first loop. Deviances that
 * these data do not allow are left out with a warning. Collective. */
kn_status kn_reference_new_deviances(kn_ctx *ctx, const kn_reference_job *job,
                                     kn_reference_build *w);

/* Visitor of the first loop that feeds pass 1 of both deviances; it runs after the visitor that
 * makes z. */
kn_visitor kn_reference_deviances_visitor(kn_reference_build *w);

/* Free the fitters and the deviances that they have produced: the reference has none. */
void kn_reference_drop_deviances(kn_reference_build *w);

/* After the first loop: run the second loop, fit both deviances and test the table order. A
 * deviance that these data do not allow is left out with a warning. Collective. */
kn_status kn_reference_deviances(kn_ctx *ctx, const kn_reference_job *job, kn_reference_build *w);

/* ---- distribution of the statistics (reference.c) --------------------------------------------
 *
 * Reference distribution of the extreme-value statistic (GEV fit), and the share of healthy
 * participants with a significant response [METHOD 8]. */

/* Fit a GEV distribution to the extreme-value statistic of the reference (r->gev), if there are at
 * least 30 independent units and more than one response. Otherwise, or if the fit fails, warn:
 * p-values are then ranks. Logs the smallest possible p. */
kn_status kn_reference_distribution(kn_ctx *ctx, kn_reference *r, ptrdiff_t T);

/* Set r->fdr_proportion: the proportion of reference participants with any response significant
 * after FDR correction, from r->z (n x T). NaN if z is not kept. O(n T ln T). */
kn_status kn_reference_findings(kn_ctx *ctx, kn_reference *r, ptrdiff_t T);

#endif
