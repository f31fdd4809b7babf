/* What is normal: statistics of the training samples' own cross-validated maps, against which new
 * ones are judged                                                           [METHOD 5b, 8, 8b] */
#ifndef KN_NORM_REFERENCE_REFERENCE_H
#define KN_NORM_REFERENCE_REFERENCE_H

#include "gp/block_visitor.h"
#include "gp/predict/noise.h"
#include "gp/predict/prediction_blocks.h"
#include "norm/calibration/learner.h"
#include "norm/calibration/transform.h"
#include "norm/deviance/deviance.h"
#include "norm/reference/table_order_test.h"
#include "stats/gev.h"
#include "stats/quantile_summary.h"

/* What it has of everybody. */
enum {
    KN_REFERENCE_STATISTIC,
    KN_REFERENCE_MEAN_Z,
    KN_REFERENCE_NEGATIVE,
    KN_REFERENCE_POSITIVE,
    KN_REFERENCE_EXTRAPOLATION,
    KN_REFERENCE_LOO,
    KN_REFERENCE_DEVIANCE,
    KN_REFERENCE_DEVIANCE_NOISE,
    KN_REFERENCE_KINDS
};

typedef struct kn_reference {
    ptrdiff_t n;       /* samples; 0: there is no reference */
    ptrdiff_t *sample; /* n  which training sample each is, ascending; NULL: all, in order */
    double top;        /* fraction of the statistic */
    double *statistic; /* n  trimmed mean of the largest |z| */
    double *mean_z, *negative, *positive; /* n  mean z; how many z are beyond KN_BURDEN_THRESHOLD */
    ptrdiff_t units;  /* people, or groups of them, that are independent of each other */
    double fdr_share; /* of the samples with any finding after FDR; NaN: not known */
    bool has_gev;
    kn_gev gev;
    kn_gev gev_se;
    bool gev_at_bound; /* the shape was held at the end of its range */
    bool has_deviance;
    bool own_deviance; /* deviances are of the model's own law: of them there is ref alone [8j] */
    kn_deviance deviance; /* of z, and of z with noise alone in the denominator */
    kn_deviance deviance_noise;
    double *extrapolation; /* n  model variance over noise variance, ascending */
    double *y_sum; /* n  sum of the standardised responses: tells whether data are the same */
    double *loo_statistic; /* n  the same by leave-one-out in closed form; NULL: not made */
    bool has_loo_gev;
    kn_gev loo_gev;
    kn_resemblance neighbours; /* no pairs: not looked at */
    float *z;                  /* n x T row by row, cross-validated; NULL: not kept */
    bool shared;               /* values are spread from quantiles, in order: they are nobody's */
    kn_quantiles quantiles[KN_REFERENCE_KINDS]; /* then: of each [reference_share.h] */
} kn_reference;

/* Of the deviance, where the maps come from one held-out set. */
enum { KN_REFERENCE_FOLDS = KN_LEARNER_FOLDS };

/* z are kept up to a size: a training sample scored again is owed its cross-validated map. */
bool kn_reference_keeps_z(ptrdiff_t n, ptrdiff_t T);

typedef struct kn_reference_job {
    const kn_gp *gp;
    const kn_gp_maps *cv; /* of all training samples, or of some */
    const int *fold; /* cv->n  deals them among the folds over which the deviance is cross-fitted */
    int folds;
    double top;
    bool keep_z;
    kn_noise_builder *noise; /* sets the noise of a block before z are made, and knows what others
                              * than each sample say of it; NULL: gp->noise is everybody's */
    const ptrdiff_t *order;  /* n: the sample at each place of the table; NULL: as they are */
    const int *group;        /* n, or NULL: of each sample; who is expected to resemble whom */
    uint64_t seed;
    kn_calibrate calibrate;
    const kn_noise_scale_covariates *x; /* of the cv->n samples; NULL: noise depends on nothing */
    const int *site;                    /* cv->n: 0 .. S-1, -1 of none; NULL: there are no sites */
    ptrdiff_t S;
    kn_calibration_transform *layer; /* where what is learned goes; NULL: nothing is */
} kn_reference_job;

/* From the cross-validated maps. What cannot be had from these data, such as an extreme value fit
 * to nine samples, is left out with a warning; another where neighbours in the table resemble each
 * other, which is asked of all training samples, not of some. summary: how the maps are calibrated.
 * Two walks over the maps; see norm/deviance/deviance.h for the cost. Collective. */
kn_status kn_reference_make(kn_ctx *ctx, const kn_reference_job *job, kn_reference *out,
                            kn_cv_summary *summary);
void kn_reference_clear(kn_reference *r);

/* Where training sample t is among the reference; -1: it has no cross-validated map, or t is -1. */
ptrdiff_t kn_reference_row(const kn_reference *r, ptrdiff_t t);

/* Share of the model variance that is not R's iso term, for extrapolation: subtracts c_p iso. */
double kn_reference_iso_share(const kn_gp *gp, ptrdiff_t j);

#endif
