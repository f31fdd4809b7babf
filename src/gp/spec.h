/* What a likelihood is made of, and its parameters by name: the same for subsamples and folds. */
#ifndef KN_GP_SPEC_H
#define KN_GP_SPEC_H

#include "cov/kernel.h"

typedef struct kn_spec { /* what the likelihood is; the same for subsamples and folds */
    kn_noise noise;
    kn_likelihood likelihood;
    unsigned sample_kernel; /* with KN_ISO where R has that term */
    unsigned task_kernel;
    kn_task_scale task_scale;
    ptrdiff_t F;
    bool kronprod; /* MT-Kronprod: the basis stands for the identity [METHOD 1c] */
    /* R0 by at most so many pivots [SCALE 3]; 0: dense. With rank_auto it is dense after all where
     * they do not suffice, and rank says what was decided. */
    ptrdiff_t rank;
    bool rank_auto;
} kn_spec;

int kn_spec_n_theta(const kn_spec *spec);
void kn_spec_theta_name(const kn_spec *spec, int i, char *name, size_t size);

/* theta of iso noise from R0's parameters and the inside ones. */
void kn_spec_join(const kn_spec *spec, const double *r0, const double *inside, double *theta);
void kn_spec_split(const kn_spec *spec, const double *theta, double *r0, double *inside);

static inline unsigned kn_spec_r0(const kn_spec *spec)
{
    return spec->sample_kernel & ~(unsigned)KN_ISO;
}

extern const double kn_theta_lower, kn_theta_upper; /* [-10, 5], METHOD 1a */

#endif
