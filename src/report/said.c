#include "report/said.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>

/* By whole numbers: printf's %f has the host program's decimal point. */
static kn_said fixed(double x, int digits, const char *plus)
{
    static const double TEN[] = {1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
    kn_said s = {"n/a"};
    if (digits > 8)
        digits = 8;
    if (isnan(x))
        return s;
    if (fabs(x) >= 1e9) {
        snprintf(s.text, sizeof s.text, "%sbeyond 1000000000", x < 0 ? "-" : "");
        return s;
    }
    int64_t unit = (int64_t)TEN[digits], whole = (int64_t)round(fabs(x) * TEN[digits]);
    const char *sign = whole == 0 ? "" : x < 0 ? "-" : plus;
    if (digits == 0)
        snprintf(s.text, sizeof s.text, "%s%" PRId64, sign, whole);
    else
        snprintf(s.text, sizeof s.text, "%s%" PRId64 ".%0*" PRId64, sign, whole / unit, digits,
                 whole % unit);
    return s;
}

kn_said kn_said_fixed(double x, int digits)
{
    return fixed(x, digits, "");
}

kn_said kn_said_signed(double x, int digits)
{
    return fixed(x, digits, "+");
}

kn_said kn_said_percent(double share)
{
    double percent = 100 * share;
    return fixed(percent, fabs(percent) < 9.95 ? 1 : 0, "");
}

kn_said kn_said_p(double p)
{
    int digits = 2;
    while (digits < 8 && p > 0 && p < 9.5 * pow(10, -digits))
        digits++;
    return fixed(p, digits, "");
}
