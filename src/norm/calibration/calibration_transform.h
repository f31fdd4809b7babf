/* The calibration transform: from a residual and its variance to a standard normal z-score
 *                                                                                    [METHOD 8c]
 *
 *     V   = v + noise_j exp(eta_j(x))         eta_j(x) = D(x) beta_j + batch_s at site s; without
 *                                             either v + noise_j
 *     z1  = e / sqrt(V)                       the z-score without calibration
 *     zt  = Phi^-1(F_nu(z1))                  noise_j is an estimate from nu + 1 participants
 *     z   = sinh(b_j asinh((zt - loc_j)/sc_j) - a_j)            without shape: z = zt
 *     -ln p(y) = 1/2 ln V - ln t_nu(z1) - zt^2/2 - 1/2 ln 2pi - ln density_j(zt)
 *
 * norm/calibration/learner.h learns it and chooses its components, which `component` records. All
 * values are in standardised units. */
#ifndef KN_NORM_CALIBRATION_CALIBRATION_TRANSFORM_H
#define KN_NORM_CALIBRATION_CALIBRATION_TRANSFORM_H

#include "data/covariates/design.h"
#include "norm/calibration/noise_scale.h"
#include "stats/shash.h"
#include "stats/student_t.h"

typedef enum kn_calibrate { /* values of --calibrate, in this order */
                            KN_CALIBRATE_NONE,
                            KN_CALIBRATE_STUDENT,
                            KN_CALIBRATE_AUTO,
                            KN_CALIBRATE_FULL
} kn_calibrate;

enum {
    /* optional components, in the order of kn_calibration_transform.component */
    KN_CALIBRATION_LINE,
    KN_CALIBRATION_SQUARE,
    KN_CALIBRATION_SITE,
    KN_CALIBRATION_SHAPE,
    KN_CALIBRATION_COMPONENTS
};
/* names in model files */
extern const char *const kn_calibration_component_name[KN_CALIBRATION_COMPONENTS];
/* Descriptions for messages. */
extern const char *const kn_calibration_component_words[KN_CALIBRATION_COMPONENTS];

typedef struct kn_calibration_component { /* a component beside the Student step */
    bool tried, kept;
    bool failed; /* the fit went wrong: it loses a nat or more per response, or is not finite */
    /* mean decrease of the held-out loss per participant, and its standard error */
    double gain, se;
} kn_calibration_component;

typedef struct kn_calibration_transform {
    double nu; /* degrees of freedom of the Student step; 0: no calibration, z = z1 */
    /* columns of D; F = 0: the noise does not depend on covariates */
    kn_noise_scale_columns columns;
    kn_mat beta;   /* F x T */
    ptrdiff_t S;   /* training sites; 0: none, or no site terms */
    double *batch; /* S: term of each site, in the model's order of sites */
    kn_mat theta;  /* 2 x T: a, ln b; none: no shape, z = zt */
    kn_calibration_component component[KN_CALIBRATION_COMPONENTS];
    kn_student_map *map; /* table of the Student step, made from nu */
    kn_shash_nodes nodes;
} kn_calibration_transform;

/* Free the arrays of l; {0} is allowed. */
void kn_calibration_clear(kn_calibration_transform *l);

/* Make the tables (`map`, `nodes`) of a calibration transform from its other fields, for example
 * after reading them from a file. KN_ERR_MEMORY. */
kn_status kn_calibration_prepare(kn_ctx *ctx, kn_calibration_transform *l);

/* Covariates that D is computed from. */
typedef struct kn_calibration_covariates {
    kn_noise_scale_covariates x; /* owned */
} kn_calibration_covariates;

/* Extract the covariates of the noise scale from a design: numbers and two-level categories, not
 * batch effects, which have terms of their own. raw: input of kn_design_apply(), original units.
 * rows: the n rows to use; NULL: the first n. out is owned by the caller. */
kn_status kn_calibration_covariates_new(kn_ctx *ctx, const kn_design *d, kn_view raw,
                                        const ptrdiff_t *rows, ptrdiff_t n,
                                        kn_calibration_covariates *out);

/* Free the covariates; {0} is allowed. */
void kn_calibration_covariates_clear(kn_calibration_covariates *c);

/* Number of numeric covariates, and of categories with two levels that are no batch effect, in
 * design d. */
void kn_calibration_covariates_count(const kn_design *d, ptrdiff_t *numbers, ptrdiff_t *levels);

/* *D (n x F, owned by the caller) = columns of the noise scale for the participants in raw (n x
 * covariates, original units); none if the noise does not depend on covariates. */
kn_status kn_calibration_columns(kn_ctx *ctx, const kn_calibration_transform *l, const kn_design *d,
                                 kn_view raw, kn_mat *D);

/* shift_i = logarithmic noise term of the site of each of n participants; 0 for site -1, for a site
 * beyond l->S and if there are no terms. */
void kn_calibration_shift(const kn_calibration_transform *l, const int *site, ptrdiff_t n,
                          double *shift);

/* Noise factor of n participants for one response: factor_i = exp(D_i beta + shift_i). D (n x F)
 * none: without D beta; shift NULL: without shift. */
void kn_calibration_factor(kn_mat D, const double *beta, ptrdiff_t n, const double *shift,
                           double *factor);

/* Input and output of kn_calibration_z(), n each. */
typedef struct kn_calibration_cells {
    ptrdiff_t n;
    const double *e, *V;
    double *z, *loss;
} kn_calibration_cells;

/* Calibrated z-scores of one response from residuals e and total variances V; loss (may be NULL):
 * -ln density - 1/2 ln 2pi. NaN where e or V is not finite or V not positive. z may alias e. shash:
 * distribution of the response; NULL: no shape. Cannot fail. */
void kn_calibration_z(const kn_calibration_transform *l, const kn_shash *shash,
                      const kn_calibration_cells *cells);

/* The sinh-arcsinh distribution of response j; the transform must have theta. */
kn_shash kn_calibration_distribution(const kn_calibration_transform *l, ptrdiff_t j);

/* ---- inverse ---------------------------------------------------------------------------------
 *
 * Inverse of the calibration transform: from a standard normal z to the response value
 * [METHOD 8c, 8f]
 *
 *     zt = loc_j + sc_j sinh((asinh(z) + a_j)/b_j)      without shape: zt = z
 *     t  = F_nu^-1(Phi(zt))                             without calibration, or nu > 10000: t = zt
 *     y  = mean + sqrt(V) t
 *
 * Some tens of Newton steps per value; t increases with z. Used for centiles. */

/* t, the standardised residual whose calibrated z-score is z. shash: distribution of the response;
 * NULL: no shape. NaN for NaN. */
double kn_calibration_inverse(const kn_calibration_transform *l, const kn_shash *shash, double z);

#endif
