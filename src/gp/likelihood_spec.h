/* The specification of a likelihood: noise model, covariances, rank, and the names and order of
 * its parameters. The same for subsamples and folds. */
#ifndef KN_GP_LIKELIHOOD_SPEC_H
#define KN_GP_LIKELIHOOD_SPEC_H

#include "cov/kernel_sum.h"
#include "gp/fit_info.h"

typedef struct kn_spec { /* specification of a likelihood */
    kn_noise noise;
    kn_likelihood likelihood;
    kn_cov sample; /* R, over the columns of X */
    kn_cov task;   /* C, over the columns of Z; no terms unless the noise is iso */
    kn_task_scale task_scale;
    bool identity; /* the basis represents the identity [METHOD 1c] */
    /* Maximal number of features of a low-rank R0 [METHOD 6a]; 0: dense. With rank_auto the engine
     * changes to dense (and sets rank to 0) where they do not suffice. */
    ptrdiff_t rank;
    bool rank_auto;
    bool additive; /* R0 is the design's sum of terms, found by the pilot search and then fixed */
} kn_spec;

enum { KN_THETA = 2 * KN_COV_THETA + 1 }; /* maximal number of parameters: task, sample, noise */
/* Returns the number of all parameters theta: those of the task kernel, of the sample kernel,
 * and the noise. */
int kn_spec_n_theta(const kn_spec *spec);
/* Writes the name of parameter i of theta to name (size bytes). */
void kn_spec_theta_name(const kn_spec *spec, int i, char *name, size_t size);

/* Assembles the log parameters theta of the model with iso noise (one variance for all
 * responses) from the parameters r0 of R0 (covariance between participants) and `inside`, those
 * that leave R0 as it is (task covariance, iso term, noise). */
void kn_spec_join(const kn_spec *spec, const double *r0, const double *inside, double *theta);
/* Splits the parameters theta of the model with iso noise (one variance for all responses) into
 * r0, those of R0 (covariance between participants), and `inside` (task covariance, iso term,
 * noise), the inverse of kn_spec_join. */
void kn_spec_split(const kn_spec *spec, const double *theta, double *r0, double *inside);

/* True if R has an iso term. It belongs to the inside parameters (task covariance, iso term,
 * noise), not to R0. */
static inline bool kn_spec_sample_iso(const kn_spec *spec)
{
    return spec->sample.n > spec->sample.n_between;
}

extern const double kn_theta_lower,
    kn_theta_upper; /* bounds of every entry of theta: [-10, 5], METHOD 1a */

#endif
