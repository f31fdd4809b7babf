/* Estimates the site prior from cross-validated maps, in one block loop over them [METHOD 8e]
 *
 * A builder takes residuals one block of responses at a time, adds each block's sums to a slot
 * of its own, and keeps the residuals of some responses, drawn by the seed, for T_eff. They are
 * drawn one by one and not in runs: neighbours in an image are alike, and runs would count such
 * pairs far too often. The bits do not depend on the number of threads. */
#ifndef KN_NORM_SITES_LEARN_SITE_PRIOR_H
#define KN_NORM_SITES_LEARN_SITE_PRIOR_H

#include "base/sum/block_sums.h"
#include "gp/predict/gp_maps.h"
#include "norm/calibration/calibration_transform.h"
#include "norm/sites/site_prior.h"

/* ---- from residuals ---- */

typedef struct kn_sites_shape {
    kn_site_assignment of;
    ptrdiff_t T, blocks, width; /* responses; number of blocks, and width of the widest */
    bool scaled;                /* residuals are also given scaled by exp(-eta/2) */
    uint64_t seed;
    const uint64_t *key; /* T, by which the kept responses are drawn; NULL: by index */
} kn_sites_shape;

typedef struct kn_sites_builder {
    kn_sites_shape shape;
    /* borrowed; holds each response's own moments until it is finished */
    kn_sites *out;
    double *sites;            /* T: number of sites with a value of each response */
    kn_slots sums;            /* kn_site_sums of a block */
    ptrdiff_t t, *sample;     /* t: responses that T_eff is estimated from, ascending */
    kn_mat within[2];         /* n x t: e - ebar_s, unscaled and scaled */
    double *dof[2];           /* t: N_j - S_j */
    kn_site_moments *moments; /* 2 width: of each response of a block, unscaled and scaled */
    kn_mat ln_ratio, count;   /* S x width */
    kn_mat work;              /* one column per worker */
} kn_sites_builder;

/* Allocate a builder, and the arrays of `out` (borrowed), which it fills. On failure both are
 * empty. */
kn_status kn_sites_builder_new(kn_ctx *ctx, const kn_sites_shape *shape, kn_sites *out,
                               kn_sites_builder *m);
/* Free the builder, not `out`; {0} is allowed. */
void kn_sites_builder_clear(kn_sites_builder *m);

/* A block of residuals: e, and `scaled` if the shape says so, n x count, standardised units;
 * NaN: missing. number: its slot; first: its first response. */
typedef struct kn_site_block {
    ptrdiff_t number, first;
    kn_mat e, scaled;
} kn_site_block;

/* Add a block of residuals; its responses run in parallel, and the bits do not depend on
 * threads. */
void kn_sites_builder_add(kn_ctx *ctx, kn_sites_builder *m, const kn_site_block *b);
/* Complete *out after the last block. KN_ERR_DATA if no response has values of two participants
 * of a site. Collective. */
kn_status kn_sites_builder_finish(kn_ctx *ctx, kn_sites_builder *m);

/* ---- from maps ---- */

typedef struct kn_sites_job {
    const kn_gp_maps *cv; /* maps whose means are predicted without batch */
    const int *site;      /* cv->n: 0 .. S-1; -1: no site */
    int S;
    const kn_calibration_transform *calibration; /* calibration, for eta; NULL: none */
    kn_mat D; /* cv->n x F: columns of its scale (kn_calibration_columns); none without */
    uint64_t seed;
} kn_sites_job;

/* Estimate the site prior from cross-validated maps of n participants, in one block loop over the
 * responses; out is owned by the caller. KN_ERR_DATA if no two participants share a site.
 * Collective. */
kn_status kn_sites_make(kn_ctx *ctx, const kn_sites_job *job, kn_sites *out);

/* Add to the memory plan r what kn_sites_make() allocates for n participants in S sites: the result
 * and the maps stay, the rest is temporary. */
void kn_sites_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, int S);

#endif
