/* Are the z of normal samples standard normal? [METHOD 8] Overall, over blocks of responses, and
 * per response. Missing z are left out; a quantity without values is NaN.
 *
 *     z2         mean of z^2: 1
 *     kurtosis   fourth central moment over the squared variance: 3
 *     coverage   share of |z| at most the normal quantile for 50, 90, 95, 99 %
 *     ks         sup |F_n(z) - Phi(z)|, the Kolmogorov-Smirnov distance of the PIT from uniform
 *
 * Per response ks is exact. Overall it is taken at the edges of 2^16 equal bins of z in [-8, 8],
 * each with at most 1e-4 of the normal law, so it is too small by at most 1e-4. */
#ifndef KN_NORM_CALIBRATION_CHECK_H
#define KN_NORM_CALIBRATION_CHECK_H

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

extern const char *const kn_calibration_name[KN_N_CALIBRATION];

typedef struct kn_tally {       /* of some z: central moments and counts */
    double n, mean, m2, m3, m4; /* m_k: sum (z - mean)^k */
    double squares;
    double inside[KN_COVERAGES];
} kn_tally;

typedef struct kn_calibrator {
    kn_tally total;
    uint64_t *bins; /* counts of z over all responses */
    /* lent: moments of each person, which _settle makes the total of; NULL: the total takes them as
     * they come. Rows of z are then people from `row` on */
    kn_tally *person;
    ptrdiff_t row;
} kn_calibrator;

enum { KN_CALIBRATION_BINS = 1 << 16, KN_CALIBRATION_TALLY = sizeof(kn_tally) / sizeof(double) };

kn_status kn_calibrator_init(kn_ctx *ctx, kn_calibrator *c);
void kn_calibrator_clear(kn_calibrator *c);

/* z: N* x count; use[N*]: samples that count, NULL: all. per: count x KN_N_CALIBRATION, each
 * response's own values, or kn_mat_none(): ks then costs nothing. Responses go in parallel, and are
 * added in order: the same bits for any number of threads. */
kn_status kn_calibrator_add(kn_ctx *ctx, kn_calibrator *c, kn_mat z, const bool *use, kn_mat per);
/* total = that of n people, in their order: the same bits however they were dealt. */
void kn_calibrator_finalise(kn_calibrator *c, ptrdiff_t n);
/* What b has seen is seen by c too. */
void kn_calibrator_join(kn_calibrator *c, const kn_calibrator *b);
void kn_calibrator_result(const kn_calibrator *c, double out[KN_N_CALIBRATION]);

/* A calibrator; adding rows x cols passes. */
void kn_calibrator_need(kn_mem_plan *r, ptrdiff_t rows, ptrdiff_t cols);

#endif
