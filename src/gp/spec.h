/* What a likelihood is made of, and its parameters by name: the same for subsamples and folds. */
#ifndef KN_GP_SPEC_H
#define KN_GP_SPEC_H

#include "cov/terms.h"
#include "gp/fit_info.h"

typedef struct kn_spec { /* what the likelihood is; the same for subsamples and folds */
    kn_noise noise;
    kn_likelihood likelihood;
    kn_cov sample; /* R over the columns of X */
    kn_cov task;   /* C over the columns of Z; no terms without iso noise */
    kn_task_scale task_scale;
    bool identity; /* the basis stands for the identity [METHOD 1c] */
    /* R0 by at most so many pivots [METHOD 6a]; 0: dense. With rank_auto it is dense after all
     * where they do not suffice, and rank says what was decided. */
    ptrdiff_t rank;
    bool rank_auto;
    bool additive; /* R0 is the design's sum of terms, found with a few components and then held */
} kn_spec;

enum { KN_THETA = 2 * KN_COV_THETA + 1 }; /* most parameters: task, sample, noise */
int kn_spec_n_theta(const kn_spec *spec);
void kn_spec_theta_name(const kn_spec *spec, int i, char *name, size_t size);

/* theta of iso noise from R0's parameters and the inside ones. */
void kn_spec_join(const kn_spec *spec, const double *r0, const double *inside, double *theta);
void kn_spec_split(const kn_spec *spec, const double *theta, double *r0, double *inside);

/* R has a term that relates a sample with itself alone: not R0's, but an inside parameter. */
static inline bool kn_spec_sample_iso(const kn_spec *spec)
{
    return spec->sample.n > spec->sample.n_between;
}

extern const double kn_theta_lower, kn_theta_upper; /* [-10, 5], METHOD 1a */

#endif
