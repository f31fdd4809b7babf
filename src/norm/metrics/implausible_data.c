/* Implements implausible_data.h. A lesion, however strong, is not implausible. */
#include "norm/metrics/implausible_data.h"

#include <math.h>

#include "stats/order_statistics.h"

static const double TIMES = 5;      /* factor between a value and its size in training */
static const double FROM_ZERO = 3;  /* smallest |mean| in sd for the test "smaller" */
static const double FAR = 10;       /* distance of a missing-value code from the mean in sd */
static const double Z2_ALLOWED = 4; /* largest mean of z^2 over the smaller half */

const char *kn_implausible_words(kn_implausible why)
{
    static const char *const words[KN_N_IMPLAUSIBLE] = {
        "",
        "blank or constant",
        "far larger than in the training sample: other units?",
        "far smaller than in the training sample: other units?",
        "far from the expected value in more than half of the responses",
        "contains -999 or -9999, unlike the training sample: missing values?"};
    return words[why];
}

kn_implausible kn_implausible_values(kn_view Y, ptrdiff_t i, const kn_scaling *s)
{
    ptrdiff_t finite = 0, larger = 0, missed = 0, smaller = 0, codes = 0;
    double first = NAN;
    bool constant = true;
    for (ptrdiff_t k = 0; k < s->n_kept; k++) {
        double y = kn_view_at(Y, i, s->kept[k]), mean = fabs(s->mean0[k]), sd = s->sd0[k];
        if (!isfinite(y))
            continue;
        first = finite++ == 0 ? y : first;
        constant = constant && y == first;
        bool code = y == -999 || y == -9999;
        codes += code && fabs(y - s->mean0[k]) > FAR * sd;
        larger += y * y > TIMES * TIMES * (mean * mean + sd * sd);
        if (mean > FROM_ZERO * sd) {
            missed++;
            smaller += fabs(y) * TIMES < mean;
        }
    }
    if (finite >= KN_CONSTANT_MIN && constant)
        return KN_IMPLAUSIBLE_CONSTANT;
    if (2 * larger > finite)
        return KN_IMPLAUSIBLE_LARGER;
    if (2 * smaller > missed)
        return KN_IMPLAUSIBLE_SMALLER;
    return codes > 0 ? KN_IMPLAUSIBLE_CODE : KN_PLAUSIBLE;
}

kn_implausible kn_implausible_z(const float *z, ptrdiff_t T, double *work)
{
    ptrdiff_t n = 0, beyond = 0;
    double sum = 0;
    for (ptrdiff_t j = 0; j < T; j++)
        if (isfinite(z[j])) {
            work[n] = (double)z[j] * (double)z[j];
            beyond += work[n++] > Z2_ALLOWED;
        }
    /* the mean of the smaller half is at most the median, so most participants end here */
    ptrdiff_t larger = n / 2;
    if (n < KN_IMPLAUSIBLE_Z_MIN || beyond <= larger)
        return KN_PLAUSIBLE;
    kn_select_largest(work, n, larger);
    for (ptrdiff_t j = larger; j < n; j++)
        sum += work[j];
    return sum > Z2_ALLOWED * (double)(n - larger) ? KN_IMPLAUSIBLE_Z : KN_PLAUSIBLE;
}
