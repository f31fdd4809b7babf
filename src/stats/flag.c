/* Implements flag.h. The rule is the same in scores, summaries and reports. */
#include "stats/flag.h"

#include <math.h>

bool kn_is_flagged(double p)
{
    return p <= KN_FLAG_P;
}

double kn_flag_of(const kn_flag_row *row)
{
    bool counts = !isnan(row->p) && !row->in_training && !row->site_unknown;
    return counts ? (double)kn_is_flagged(row->p) : NAN;
}

void kn_flag_count(const kn_flag_row *row, kn_flag_counts counts[2])
{
    double flag = kn_flag_of(row);
    if (isnan(flag))
        return;
    counts[row->is_case].n++;
    counts[row->is_case].flagged += flag > 0;
}

double kn_flag_rate(double n)
{
    static const double ROUNDING = 1e-9;
    return floor(KN_FLAG_P * (n + 1) + ROUNDING) / (n + 1);
}
