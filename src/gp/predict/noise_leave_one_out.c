/* Implements noise_leave_one_out.h by sums over all rows less those of each group. */
#include "gp/predict/noise_leave_one_out.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory/alloc.h"

static const double FLOOR = 0.5; /* share of the mean squared residual */

/* Sums over some rows: count, e^2, v. */
typedef struct sums {
    double n, square, model;
} sums;

static int by_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

kn_status kn_exclusion_groups_new(kn_ctx *ctx, ptrdiff_t n, const int *of, kn_exclusion_groups *out)
{
    kn_status status = KN_OK;
    void *memory = NULL, *group = NULL;
    *out = (kn_exclusion_groups){NULL, n};
    if (!of)
        return KN_OK;
    KN_TRY(kn_alloc(ctx, n, sizeof(int), &memory));
    KN_TRY(kn_alloc(ctx, n, sizeof(int), &group));
    int *sorted = memory;
    ptrdiff_t different = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        sorted[i] = of[i];
    qsort(sorted, (size_t)n, sizeof *sorted, by_number);
    for (ptrdiff_t i = 0; i < n; i++)
        if (i == 0 || sorted[i] != sorted[i - 1])
            sorted[different++] = sorted[i];
    out->group = group;
    out->n_groups = different;
    for (ptrdiff_t i = 0; i < n; i++) {
        const int *at = bsearch(&of[i], sorted, (size_t)different, sizeof *sorted, by_number);
        out->group[i] = (int)(at - sorted);
    }
out:
    kn_free(memory);
    return status;
}

void kn_exclusion_groups_clear(kn_exclusion_groups *a)
{
    kn_free(a->group);
    *a = (kn_exclusion_groups){0};
}

/* Noise variance from the remaining rows. */
static double said_by(const kn_heldout_residuals *of, const sums *all, sums rest)
{
    if (!isnan(of->known)) {
        double mean = all->square / all->n;
        return rest.n > 0 && mean > 0 ? of->known * (rest.square / rest.n) / mean : of->known;
    }
    return rest.n > 0 ? fmax((rest.square - rest.model) / rest.n, FLOOR * rest.square / rest.n)
                      : NAN;
}

static sums of_person(const kn_heldout_residuals *of, ptrdiff_t i)
{
    return isfinite(of->e[i]) ? (sums){1, of->e[i] * of->e[i], of->v[i]} : (sums){0};
}

static void add(sums *to, sums more)
{
    to->n += more.n;
    to->square += more.square;
    to->model += more.model;
}

/* Noise variance without group g, whose sums are `less`. If g holds more than half of a sum,
 * subtraction would leave mostly rounding error, so the other rows are summed instead; this can
 * happen for one g only. */
static double left(const kn_heldout_residuals *of, const kn_exclusion_groups *apart,
                   const sums *all, const sums *less, ptrdiff_t g)
{
    sums rest = {all->n - less->n, all->square - less->square, all->model - less->model};
    if (2 * less->square > all->square || 2 * less->model > all->model) {
        rest = (sums){0};
        for (ptrdiff_t i = 0; i < of->n; i++)
            if ((apart->group ? apart->group[i] : i) != g)
                add(&rest, of_person(of, i));
    }
    return said_by(of, all, rest);
}

void kn_noise_leave_one_out(const kn_heldout_residuals *of, const kn_exclusion_groups *apart,
                            double *work, double *noise)
{
    sums all = {0}, *group = (sums *)work;
    for (ptrdiff_t i = 0; i < of->n; i++)
        add(&all, of_person(of, i));
    if (!apart->group) {
        for (ptrdiff_t i = 0; i < of->n; i++) {
            sums own = of_person(of, i);
            noise[i] = left(of, apart, &all, &own, i);
        }
        return;
    }
    for (ptrdiff_t g = 0; g < apart->n_groups; g++)
        group[g] = (sums){0};
    for (ptrdiff_t i = 0; i < of->n; i++)
        add(&group[apart->group[i]], of_person(of, i));
    for (ptrdiff_t g = 0; g < apart->n_groups; g++)
        group[g].n = left(of, apart, &all, &group[g], g); /* overwrites n: computed once per
                                                           * group */
    for (ptrdiff_t i = 0; i < of->n; i++)
        noise[i] = group[apart->group[i]].n;
}
