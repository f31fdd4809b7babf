/* Calibration check: are the z-scores of healthy participants standard normal? [METHOD 8] The
 * quantities below are computed over all responses, block by block, and per response. Missing
 * z-scores are skipped; a quantity without any value is NaN.
 *
 *     z2         mean of z^2: 1
 *     kurtosis   fourth central moment over the squared variance: 3
 *     coverage   share of |z| at most the normal quantile for 50, 90, 95, 99 %
 *     ks         sup |F_n(z) - Phi(z)|, the Kolmogorov-Smirnov distance of the PIT from uniform
 *
 * Per response ks is exact. Over all responses it is evaluated at the edges of 2^16 equal bins
 * of z in [-8, 8], each with at most 1e-4 of the normal probability, so it is too small by at
 * most 1e-4. */
#ifndef KN_NORM_CALIBRATION_CALIBRATION_CHECK_H
#define KN_NORM_CALIBRATION_CALIBRATION_CHECK_H

#include <stdbool.h>

#include "base/memory/plan.h"
#include "gp/zscore.h"

typedef enum kn_calibration {
    KN_CALIBRATION_Z2,
    KN_CALIBRATION_KURTOSIS,
    KN_CALIBRATION_COVERAGE50,
    KN_CALIBRATION_COVERAGE90,
    KN_CALIBRATION_COVERAGE95,
    KN_CALIBRATION_COVERAGE99,
    KN_CALIBRATION_KS,
    KN_N_CALIBRATION
} kn_calibration;

/* Column names of the quantities, as in the output tables. */
extern const char *const kn_calibration_name[KN_N_CALIBRATION];

typedef struct kn_tally {        /* central moments and counts of a set of z-scores */
    double n, mean, m2, m3, m4;  /* m_k: sum (z - mean)^k */
    double squares;              /* sum of z^2 */
    double inside[KN_COVERAGES]; /* number of z inside each central interval */
} kn_tally;

typedef struct kn_calibrator {
    kn_tally total;
    uint64_t *bins; /* KN_CALIBRATION_BINS: histogram of z over all responses */
    /* Borrowed: moments per participant, which kn_calibrator_finalise() joins into `total`. Row
     * i of the z that are added is then participant `row` + i. NULL: z are added to `total`
     * directly. */
    kn_tally *participant;
    ptrdiff_t row;
} kn_calibrator;

enum { KN_CALIBRATION_BINS = 1 << 16, KN_CALIBRATION_TALLY = sizeof(kn_tally) / sizeof(double) };

/* Start an empty calibrator, the sums by which z-scores are compared with a standard normal
 * distribution; release it with kn_calibrator_clear(). KN_ERR_MEMORY. */
kn_status kn_calibrator_init(kn_ctx *ctx, kn_calibrator *c);
/* Free the histogram; c->participant is borrowed and stays. */
void kn_calibrator_clear(kn_calibrator *c);

/* Add z-scores (N* x count; not finite: missing). use (N*): participants that count, NULL: all. per
 * (count x KN_N_CALIBRATION, or none): receives the quantities of each response; must be none if
 * c->participant is set. The bits do not depend on the number of threads. KN_ERR_MEMORY. */
kn_status kn_calibrator_add(kn_ctx *ctx, kn_calibrator *c, kn_mat z, const bool *use, kn_mat per);
/* Set c->total to the moments of the first n participants of c->participant, joined in their order:
 * the bits do not depend on how participants were distributed over ranks or minibatches. */
void kn_calibrator_finalise(kn_calibrator *c, ptrdiff_t n);

/* Add the moments and the histogram of z of calibrator b to c. */
void kn_calibrator_join(kn_calibrator *c, const kn_calibrator *b);

/* Calibration of all z-scores that were added: mean square, kurtosis, coverages and
 * Kolmogorov-Smirnov distance from the normal distribution; NaN without values. */
void kn_calibrator_result(const kn_calibrator *c, double out[KN_N_CALIBRATION]);

/* Add to the memory plan r a calibrator; the work of adding z-scores (rows x cols) is temporary. */
void kn_calibrator_need(kn_mem_plan *r, ptrdiff_t rows, ptrdiff_t cols);

#endif
