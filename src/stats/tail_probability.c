/* Implements tail_probability.h. */
#include "stats/tail_probability.h"

#include <math.h>

#include "stats/sort_select.h"

static const double ROUGH = 0.02; /* p below which few participants get the note `rough` */

double kn_tail_p_least(ptrdiff_t units)
{
    return 1 / (2 * ((double)units + 1));
}

double kn_tail_p_smallest(const kn_tail_p_reference *law)
{
    return law->has_gev ? kn_tail_p_least(law->units)
                        : fmax(kn_tail_p_least(law->units), 1 / ((double)law->n + 1));
}

double kn_tail_p_least_unseen(int S)
{
    return 1 / ((double)S + 1);
}

kn_tail_p kn_tail_p_bounded(kn_tail_p r, double least)
{
    return r.p < least ? (kn_tail_p){least, KN_TAIL_P_BOUND} : r;
}

double kn_rank_p(const double *sorted, ptrdiff_t n, double value, bool member)
{
    if (isnan(value))
        return NAN;
    ptrdiff_t above = n - kn_count_below(sorted, n, value, 0);
    ptrdiff_t self = member && above > 0;
    return (double)(1 + above - self) / (double)(n + 1 - self);
}

kn_tail_p kn_tail_p_of(const kn_tail_p_reference *law, double value, bool member)
{
    kn_tail_p r = {NAN, KN_TAIL_P_PLAIN};
    if (isnan(value) || law->n - member < 1)
        return r;
    double least = kn_tail_p_least(law->units - member);
    r.p = law->has_gev ? kn_gev_upper(law->gev, value)
                       : kn_rank_p(law->sorted, law->n, value, member);
    if (law->has_gev && law->units < KN_FINE_FROM && r.p < ROUGH)
        r.note = KN_TAIL_P_ROUGH;
    return kn_tail_p_bounded(r, least);
}
