/* The law of a whole map under the model itself: its joint density, and the deviance that is the
 * square in its exponent                                                             [METHOD 8j]
 *
 *     e   residual of one sample, T standardised responses; v its model variance, d noise
 *     e_w = e ./ scale      z = e_w V      a = z W  (no W: a = z)
 *     dev     = sum_k a_k^2/(v_k + d_k) + (|e_w|^2 - |z|^2)/(v_0 + d_0)
 *     ln det  = 2 sum_j ln scale_j + log_det + sum_k ln(v_k + d_k) + (T - K) ln(v_0 + d_0)
 *     ln p    = -1/2 (T ln 2pi + ln det + dev)
 *
 * V is T x K with orthonormal columns; where K = T it may be any invertible one, whose determinant
 * is in log_det, and there is nothing outside it. A method says the sizes and variances of each
 * part of its maps once (kn_method.law), and the rows of V and scale of a block of responses when
 * it is asked (kn_method.law_block): folds make theirs from the responses. A method without either
 * has independent responses, whose law is that of each. */
#ifndef KN_GP_PREDICT_MAP_DENSITY_H
#define KN_GP_PREDICT_MAP_DENSITY_H

#include "gp/block_visitor.h"
#include "gp/predict/prediction_blocks.h"

typedef struct kn_map_density { /* of the n samples of a part */
    ptrdiff_t K;
    kn_mat v;        /* n x K  model variance of each coordinate */
    double *d;       /* K      noise variance of each */
    double *d_known; /* K      that of members of a known group (kn_gp_maps.known); NULL: as d */
    double *v0, d0;  /* n      of a direction outside V; NULL: there is none */
    kn_mat W;        /* K x K  or none */
    double log_det;
} kn_map_density;

void kn_map_density_clear(kn_map_density *l);

/* How a residual is moved before it is judged, as at a site of its own: (e - offset)/scale. */
typedef struct kn_map_density_shift {
    double offset, scale;
} kn_map_density_shift;

typedef struct kn_map_density_job {
    const kn_gp_maps *maps;
    const kn_scaling *scaling; /* of the responses of the walk: what the null model is of */
    kn_map_density_shift (*place)(const void *self, ptrdiff_t i,
                                  ptrdiff_t j); /* NULL: as they are */
    const void *self;
    ptrdiff_t people; /* the first so many of maps of one part, whom others fill up; 0: all */
} kn_map_density_job;

/* A walk over maps and the responses that belong to them: 2 n T K flops and what law_block takes.
 * Where responses are missing (NaN) the law is that of the set J which a sample has: log_p and
 * log_null are of J, deviances times T/|J|; all NaN where |J| < T/2, and where some direction has
 * no variance at all. The same bits for any number of threads, but for samples that lack more than
 * 512 responses of a V with K = T [la.h, kn_chol]. */
typedef struct kn_map_density_walk {
    kn_map_density_job job;
    /* n each, once the walk is over: the deviance, that by noise alone (v = 0), the logarithm of
     * the joint density, that of independent responses with mean and variance of training */
    double *dev, *dev_noise, *log_p, *log_null;
    /* on the way */
    ptrdiff_t T;
    kn_map_density *law;   /* of each part; NULL: independent responses */
    kn_mat *z;             /* of each part: n x K */
    double *q, *log_scale; /* n: |e_w|^2, sum of ln scale over J */
    ptrdiff_t words, *missing;
    uint64_t *gap;          /* words x n: which are */
    double *known, *weight; /* independent: T, noise of known groups or NULL; n, |e|^2/noise */
    kn_mat e, V;            /* of a block: n x width, width x K */
    double *scale, *logs;   /* width */
    kn_mat null;            /* width x 3 */
} kn_map_density_walk;

/* {.job = ...} begins; visitors after it may do with the block what they like. The end of its walk
 * is a collective. */
kn_visitor kn_map_density_visitor(kn_map_density_walk *w);
void kn_map_density_walk_clear(kn_map_density_walk *w);

/* A walk of its own. Y: the n samples' responses; NULL: cross-validated maps have them. Collective.
 */
kn_status kn_map_density_density(kn_ctx *ctx, const kn_gp_maps *maps, const kn_responses *Y,
                                 kn_map_density_walk *out);

/* For a walk over n samples with K coordinates at most; all but the results is gone after it. */
void kn_map_density_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, ptrdiff_t K);

#endif
