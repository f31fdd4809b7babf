/* Joint density of the whole map of a participant under the model, and its whole-map deviance
 * [METHOD 8j]. A block visitor computes both while it passes over the residuals.
 *
 *     e   residual of one participant, T standardised responses; v its model variance, d noise
 *     e_w = e ./ scale      z = e_w V      a = z W  (no W: a = z)
 *     dev     = sum_k a_k^2/(v_k + d_k) + (|e_w|^2 - |z|^2)/(v_0 + d_0)
 *     ln det  = 2 sum_j ln scale_j + log_det + sum_k ln(v_k + d_k) + (T - K) ln(v_0 + d_0)
 *     ln p    = -1/2 (T ln 2pi + ln det + dev)
 *
 * V is T x K with orthonormal columns. If K = T, V may be any invertible matrix, whose determinant
 * is part of log_det, and there are no directions outside V. kn_method.map_density returns sizes
 * and variances once for each part of the maps; kn_method.map_density_block returns the rows of V
 * and scale for a block of responses, because folds compute theirs from the responses. A method
 * without these two functions has independent responses, and ln p is the sum over responses. */
#ifndef KN_GP_PREDICT_MAP_DENSITY_H
#define KN_GP_PREDICT_MAP_DENSITY_H

#include "gp/block_visitor.h"
#include "gp/predict/gp_maps.h"

typedef struct kn_map_density { /* distribution of the n participants of one part of the maps */
    ptrdiff_t K;
    kn_mat v;        /* n x K  model variance of each coordinate */
    double *d;       /* K      noise variance of each coordinate */
    double *d_known; /* K      noise variance in a known group (kn_gp_maps.known); NULL: d */
    double *v0, d0;  /* n, 1   model and noise variance of a direction outside V; v0 NULL: 0 */
    kn_mat W;        /* K x K  or none: identity */
    double log_det;  /* contribution of V and W to ln det */
} kn_map_density;

/* Frees all arrays and zeroes *l. */
void kn_map_density_clear(kn_map_density *l);

/* Site adjustment of one residual before it is evaluated: e <- (e - offset)/scale. */
typedef struct kn_map_density_shift {
    double offset, scale;
} kn_map_density_shift;

typedef struct kn_map_density_job {
    const kn_gp_maps *maps;    /* borrowed */
    const kn_scaling *scaling; /* of the training responses; NULL: log_null is NaN */
    kn_map_density_shift (*place)(const void *self, ptrdiff_t i, ptrdiff_t j); /* NULL: no shift */
    const void *self; /* first argument of place, which returns the shift of cell (i, j) */
    ptrdiff_t
        participants; /* evaluate only the first so many rows, the others are padding; 0: all */
} kn_map_density_job;

/* State and results of a block visitor over maps and the responses that belong to them; costs 2 n T
 * K flops plus map_density_block. For a participant with missing responses (NaN) the results are of
 * the set J of observed responses: log_p and log_null are of J, deviances are multiplied by T/|J|.
 * All are NaN if |J| < T/2 or if a direction has no variance. Results do not depend on the number
 * of threads, except for participants that lack more than 512 responses when K = T [la.h, kn_chol].
 */
typedef struct kn_map_density_state {
    kn_map_density_job job;
    /* Results, n each, owned: the deviance; the deviance by noise alone (v = 0); the log joint
     * density; the log density of independent normal responses with mean and variance of training.
     */
    double *dev, *dev_noise, *log_p, *log_null;
    /* Work space, freed at the end of the loop. */
    ptrdiff_t T;
    kn_map_density *density;   /* n_parts; NULL: independent responses */
    kn_mat *z;                 /* n_parts: n x K coordinates */
    double *q, *log_scale;     /* n: |e_w|^2; sum of ln scale over J */
    ptrdiff_t words, *missing; /* words per row of gap; n: number of missing responses */
    uint64_t *gap;             /* words x n: bit j is set if response j is missing */
    double *known, *weight; /* independent: T noise in known groups, or NULL; n sum of e^2/noise */
    kn_mat e, V;            /* of a block: n x width, width x K */
    double *scale, *logs;   /* width: scale of the block and its logarithm */
    kn_mat null;            /* width x 3: mean, 1/sd and ln sd of training, in standardised units */
} kn_map_density_state;

/* Returns the block visitor that evaluates the density of each participant's map; the caller
 * initialises w as {.job = ...} and reads the results after the loop. Visitors that follow may
 * overwrite the block. The end of the block loop is collective. */
kn_visitor kn_map_density_visitor(kn_map_density_state *w);
/* Frees results and work space. */
void kn_map_density_state_clear(kn_map_density_state *w);

/* Evaluates the log density of each participant's map by a block loop of its own. Y (n x T):
 * responses of the participants of maps; NULL for cross-validated maps, which hold them. The
 * caller frees *out. Collective. */
kn_status kn_map_density_evaluate(kn_ctx *ctx, const kn_gp_maps *maps, const kn_responses *Y,
                                  kn_map_density_state *out);

/* Predicts in plan r the memory of a block loop with this visitor over n participants, with at
 * most K coordinates: results and work space stay in the plan, although all but the results is
 * freed at the end of the loop. */
void kn_map_density_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, ptrdiff_t K);

/* ---- map density components ----
 *
 * Joint density of a map for methods with components: V = B, and one variance outside the basis.
 * Variances and basis are those of the model or, for a part that is a fold, of the fold.
 *
 *     structured   d_p (1 + gamma_p), of known groups d_p; outside v_0 = 0, d_0 = s2
 *     iso          s2 everywhere, R's iso term is in v; outside v_0 = 0, or c0 R if there is a
 *                  complement component                                    [METHOD 1b, 1c, 8j]
 *     scale = psi^1/2 of whitened responses                                        [METHOD 1f] */

/* Implements kn_method.map_density for methods with components: latent variances and noise of
 * the participants of one part. KN_ERR_ARGUMENT if the part keeps maps of the responses instead
 * of components (kn_fold_prediction.direct). */
kn_status kn_components_map_density(kn_ctx *ctx, const kn_gp_maps *maps, int part,
                                    kn_map_density *out);
/* Implements kn_method.map_density_block for methods with components: V (count x K), the basis,
 * and scale (count) of the responses from `first` on. y (N x count) is the block of maps->Y, or
 * kn_mat_none(). */
kn_status kn_components_map_density_block(kn_ctx *ctx, const kn_gp_maps *maps, int part,
                                          ptrdiff_t first, kn_mat y, kn_mat V, double *scale);

#endif
