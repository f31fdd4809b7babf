/* The prior over sites from cross-validated maps, in one walk over them               [METHOD 8e]
 *
 * A maker takes residuals a block of responses at a time, each block's sums to a slot of their own,
 * and keeps those of some responses, drawn by the seed, for T_eff. One by one and not in runs:
 * neighbours in an image are alike, and runs would count such pairs far too often. Same bits for
 * any number of threads. */
#ifndef KN_NORM_SITES_LEARN_H
#define KN_NORM_SITES_LEARN_H

#include "base/sum/reduce.h"
#include "gp/predict/prediction_blocks.h"
#include "norm/calibration/transform.h"
#include "norm/sites/prior.h"

/* ---- from residuals ---- */

typedef struct kn_sites_shape {
    kn_site_people of;
    ptrdiff_t T, blocks, width; /* responses; blocks that will be seen, and of the widest */
    bool scaled;                /* residuals come scaled as well */
    uint64_t seed;
} kn_sites_shape;

typedef struct kn_sites_builder {
    kn_sites_shape shape;
    kn_sites *out;            /* the caller's: each response's own moments until it is finished */
    double *sites;            /* T  that each response has values of */
    kn_slots sums;            /* kn_site_sums of a block */
    ptrdiff_t t, *sample;     /* t  the responses that T_eff is from, ascending */
    kn_mat within[2];         /* n x t  e - ebar_s, as it is and scaled */
    double *dof[2];           /* t */
    kn_site_moments *moments; /* 2 width: of each response of a block, as it is and scaled */
    kn_mat ln_ratio, count;   /* S x width */
    kn_mat work;              /* of a worker: a column */
} kn_sites_builder;

kn_status kn_sites_builder_new(kn_ctx *ctx, const kn_sites_shape *shape, kn_sites *out,
                               kn_sites_builder *m);
void kn_sites_builder_clear(kn_sites_builder *m); /* {0} is fine */

/* A block: e, and scaled where the shape says so, n x count; NaN: missing. */
typedef struct kn_site_block {
    ptrdiff_t number, first;
    kn_mat e, scaled;
} kn_site_block;
void kn_sites_builder_take(kn_ctx *ctx, kn_sites_builder *m, const kn_site_block *b);
kn_status kn_sites_builder_finish(kn_ctx *ctx,
                                  kn_sites_builder *m); /* after the last; collective */

/* ---- from maps ---- */

typedef struct kn_sites_job {
    const kn_gp_maps *cv; /* whose means know no site */
    const int *site;      /* cv->n  0 .. S-1; -1: none */
    int S;
    const kn_calibration_transform *layer; /* NULL: none */
    kn_mat D; /* cv->n x F, columns of its scale (kn_calibration_columns); none without */
    uint64_t seed;
} kn_sites_job;

/* Collective. */
kn_status kn_sites_make(kn_ctx *ctx, const kn_sites_job *job, kn_sites *out);

/* Of n people in S sites, by maps of the folds. Leaves what the result and the maps keep. */
void kn_sites_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, int S);

#endif
