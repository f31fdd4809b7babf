/* The calibration layer: from a residual and its variance to a standard normal z   [METHOD 8c]
 *
 *     V   = v + noise_j exp(eta_j(x))         eta_j(x) = D(x) beta_j + batch_s at site s; without
 *                                             either v + noise_j
 *     z1  = e / sqrt(V)                       what a model without the layer calls z
 *     zt  = Phi^-1(F_nu(z1))                  noise_j is an estimate from nu + 1 people
 *     z   = sinh(b_j asinh((zt - loc_j)/sc_j) - a_j)            without shape: z = zt
 *     -ln p(y) = 1/2 ln V - ln t_nu(z1) - zt^2/2 - 1/2 ln 2pi - ln density_j(zt)
 *
 * Which parts there are is chosen when the layer is made (norm/calibration/learner.h) and told in
 * `part`. */
#ifndef KN_NORM_CALIBRATION_TRANSFORM_H
#define KN_NORM_CALIBRATION_TRANSFORM_H

#include "data/covariates/design.h"
#include "norm/calibration/noise_scale_columns.h"
#include "stats/shash.h"
#include "stats/student_t.h"

typedef enum kn_calibrate { /* the option, in its order */
                            KN_CALIBRATE_NONE,
                            KN_CALIBRATE_STUDENT,
                            KN_CALIBRATE_AUTO,
                            KN_CALIBRATE_FULL
} kn_calibrate;

enum {
    KN_CALIBRATION_LINE,
    KN_CALIBRATION_SQUARE,
    KN_CALIBRATION_SITE,
    KN_CALIBRATION_SHAPE,
    KN_CALIBRATION_COMPONENTS
};
extern const char
    *const kn_calibration_component_name[KN_CALIBRATION_COMPONENTS]; /* in model files */
extern const char *const kn_calibration_component_words[KN_CALIBRATION_COMPONENTS];

typedef struct kn_calibration_component { /* that may be there beside the Student step */
    bool tried, kept;
    double gain, se; /* held out: mean loss of a person less with it than without, and its error */
} kn_calibration_component;

typedef struct kn_calibration_transform {
    double nu;                      /* of the Student step; 0: no layer at all, z = z1 */
    kn_noise_scale_columns columns; /* of D; F = 0: the noise is the same for everybody */
    kn_mat beta;                    /* F x T */
    ptrdiff_t S;                    /* sites of training; 0: none, or their noise is the same */
    double *batch; /* S: the term of each, in the order in which the model has them */
    kn_mat theta;  /* 2 x T: a, ln b; none: z = zt */
    kn_calibration_component part[KN_CALIBRATION_COMPONENTS];
    kn_student_map *map; /* made of nu */
    kn_shash_nodes nodes;
} kn_calibration_transform;

void kn_calibration_clear(kn_calibration_transform *l); /* {0} is fine */
kn_status kn_calibration_prepare(kn_ctx *ctx,
                                 kn_calibration_transform *l); /* what is made of the rest */

/* The covariates that D is made of: numbers and categories of two levels of a design, but for
 * batches, which have terms of their own. raw: people as kn_design_apply takes them. `rows`: some
 * of them, n; NULL: all. */
typedef struct kn_calibration_covariates {
    kn_noise_scale_covariates x; /* owned */
} kn_calibration_covariates;
kn_status kn_calibration_covariates_new(kn_ctx *ctx, const kn_design *d, kn_view raw,
                                        const ptrdiff_t *rows, ptrdiff_t n,
                                        kn_calibration_covariates *out);
void kn_calibration_covariates_clear(kn_calibration_covariates *c);
void kn_calibration_covariates_count(const kn_design *d, ptrdiff_t *numbers, ptrdiff_t *levels);

/* D of people, n x F; none without scale. */
kn_status kn_calibration_columns(kn_ctx *ctx, const kn_calibration_transform *l, const kn_design *d,
                                 kn_view raw, kn_mat *D);

/* shift_i = the term of the site that each of n people is at; 0 of a site that training did not
 * have, -1, and where there are no terms. */
void kn_calibration_shift(const kn_calibration_transform *l, const int *site, ptrdiff_t n,
                          double *shift);

/* factor_i = exp(D_i beta + shift_i), n of them; D none: without the line, shift NULL: without. */
void kn_calibration_factor(kn_mat D, const double *beta, ptrdiff_t n, const double *shift,
                           double *factor);

/* z (n) of residuals e and total variances V; loss (or NULL): -ln p(y) - 1/2 ln 2pi. Both NaN where
 * e or V is not finite or V not positive. z may be e. law: of the response; NULL: z = zt. */
typedef struct kn_calibration_cells {
    ptrdiff_t n;
    const double *e, *V;
    double *z, *loss;
} kn_calibration_cells;
void kn_calibration_z(const kn_calibration_transform *l, const kn_shash *law,
                      const kn_calibration_cells *cells);

kn_shash kn_calibration_distribution(const kn_calibration_transform *l,
                                     ptrdiff_t j); /* of a layer with a shape */

#endif
