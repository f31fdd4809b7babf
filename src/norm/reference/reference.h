/* The reference sample: statistics of the training participants' own cross-validated maps, with
 * which new participants are compared [METHOD 5b, 8, 8b]
 *
 * kn_reference_make() fills it at the end of a fit; model/file/reference.c stores it.
 *
 * Each participant is scored by a model that was fitted without it. */
#ifndef KN_NORM_REFERENCE_REFERENCE_H
#define KN_NORM_REFERENCE_REFERENCE_H

#include "gp/block_visitor.h"
#include "gp/predict/gp_maps.h"
#include "gp/predict/noise.h"
#include "norm/calibration/calibration_transform.h"
#include "norm/calibration/learner.h"
#include "norm/calibration/null_model.h"
#include "norm/deviance/deviance.h"
#include "norm/reference/table_order_test.h"
#include "stats/gev.h"
#include "stats/order_statistics.h"

/* Statistics that the reference has for each participant. */
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
    ptrdiff_t n; /* participants; 0: there is no reference */
    /* n: index of each in the training sample, ascending; NULL: all, in order */
    ptrdiff_t *sample;
    double top;        /* fraction of responses in the extreme-value statistic */
    double *statistic; /* n: extreme-value statistic, the trimmed mean of the largest |z| */
    /* n: mean z; number of z beyond KN_BURDEN_THRESHOLD on each side */
    double *mean_z, *negative, *positive;
    ptrdiff_t units; /* independent units: participants, or groups of repeated measures */
    /* share of participants with any response significant after FDR; NaN: not known */
    double fdr_proportion;
    bool has_gev;
    kn_gev gev;
    kn_gev gev_se;     /* standard errors of gev */
    bool gev_at_bound; /* the shape parameter is at the end of its range */
    bool has_deviance;
    /* deviances come from the model's own density; they then have `ref` only [METHOD 8j] */
    bool own_deviance;
    /* whole-map deviance of z */
    kn_deviance deviance;
    kn_deviance deviance_noise; /* the same of z with the noise variance alone */
    double *extrapolation;      /* n: model variance over noise variance, ascending */
    /* n: sum of the standardised responses, to recognise identical data */
    double *y_sum;
    double *loo_statistic; /* n: statistic by leave-one-out; NULL: not computed */
    bool has_loo_gev;
    kn_gev loo_gev;
    kn_resemblance neighbours; /* table-order test; pairs = 0: not done */
    float *z;                  /* n x T, row-major, cross-validated z; NULL: not kept */
    /* de-identified: values are recomputed from quantiles, in ascending order */
    bool shared;
    kn_quantiles quantiles[KN_REFERENCE_KINDS]; /* the quantiles of each statistic if `shared`
                                                   (deidentify.h) */
} kn_reference;

/* Folds of the deviance fit if the maps come from one held-out set. */
enum { KN_REFERENCE_FOLDS = KN_LEARNER_FOLDS };

/* True if z of n participants and T responses is small enough to be kept (1e9 bytes as floats). A
 * training participant that is scored again then gets its cross-validated map. */
bool kn_reference_keeps_z(ptrdiff_t n, ptrdiff_t T);

typedef struct kn_reference_job {
    const kn_gp *gp;
    const kn_gp_maps *cv; /* maps of all training participants, or of some */
    /* cv->n: fold of each participant in the cross-fitting of calibration and deviance */
    const int *fold;
    int folds;
    double top;
    bool keep_z;
    /* Sets the noise of a block before z is computed, and provides the leave-one-out noise;
     * NULL: gp->noise for all participants. */
    kn_noise_builder *noise;
    const ptrdiff_t *order; /* n: the training participant in each table row; NULL: same order */
    const int *group;       /* n: group of repeated measures; NULL: none */
    uint64_t seed;
    kn_calibrate calibrate;
    /* covariates of the cv->n participants; NULL: noise does not depend on covariates */
    const kn_noise_scale_covariates *x;
    const int *site; /* cv->n: 0 .. S-1, -1: no site; NULL: no sites */
    ptrdiff_t S;
    kn_calibration_transform
        *calibration;          /* borrowed: receives the calibration; NULL: none is learned */
    kn_null_calibration *null; /* borrowed: receives the null model; NULL: none is learned */
} kn_reference_job;

/* Compute the reference from the cross-validated maps, and learn the calibration. A part that
 * these data do not allow, such as a GEV fit to nine participants, is left out with a warning.
 * Another warning follows if neighbours in the table resemble each other; this is tested only if
 * the maps are of all training participants. *summary: how the maps are calibrated. Two block
 * loops over the maps; see norm/deviance/fit.h for the cost. out is owned by the caller.
 * Collective. */
kn_status kn_reference_make(kn_ctx *ctx, const kn_reference_job *job, kn_reference *out,
                            kn_cv_summary *summary);
/* Free all arrays; {0} is allowed. */
void kn_reference_clear(kn_reference *r);

/* Row of training participant t (index in the training sample) in the reference sample; -1 if it
 * has no cross-validated map or t is -1. O(log n). */
ptrdiff_t kn_reference_row(const kn_reference *r, ptrdiff_t t);

/* The part of the model variance of response j that comes from the iso term of R, sum_p B_jp^2 c_p
 * iso, standardised units; 0 without an iso term. It is subtracted for the extrapolation ratio. */
double kn_reference_iso_variance(const kn_gp *gp, ptrdiff_t j);

#endif
