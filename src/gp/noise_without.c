#include "gp/noise_without.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

static const double FLOOR = 0.5; /* of the mean squared residual */

/* Sums over some people: how many, e^2, v. */
typedef struct sums {
    double n, square, model;
} sums;

static int by_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

kn_status kn_apart_new(kn_ctx *ctx, ptrdiff_t n, const int *of, kn_apart *out)
{
    kn_status status = KN_OK;
    void *memory = NULL, *group = NULL;
    *out = (kn_apart){NULL, n};
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

void kn_apart_clear(kn_apart *a)
{
    kn_free(a->group);
    *a = (kn_apart){0};
}

/* The noise that is left when `less` leave. */
static double left(const kn_held_out_noise *of, const sums *all, sums less)
{
    double n = all->n - less.n, square = all->square - less.square;
    if (!isnan(of->known)) {
        double mean = all->square / all->n;
        return n > 0 && mean > 0 ? of->known * (square / n) / mean : of->known;
    }
    double moment = square - (all->model - less.model);
    double floor = isnan(of->floor) ? FLOOR * square / n : of->floor;
    return n > 0 ? fmax(moment / n, floor) : NAN;
}

static sums of_person(const kn_held_out_noise *of, ptrdiff_t i)
{
    return isfinite(of->e[i]) ? (sums){1, of->e[i] * of->e[i], of->v[i]} : (sums){0};
}

static void add(sums *to, sums more)
{
    to->n += more.n;
    to->square += more.square;
    to->model += more.model;
}

void kn_noise_without(const kn_held_out_noise *of, const kn_apart *apart, double *work,
                      double *noise)
{
    sums all = {0}, *group = (sums *)work;
    for (ptrdiff_t i = 0; i < of->n; i++)
        add(&all, of_person(of, i));
    if (!apart->group) {
        for (ptrdiff_t i = 0; i < of->n; i++)
            noise[i] = left(of, &all, of_person(of, i));
        return;
    }
    for (ptrdiff_t g = 0; g < apart->n_groups; g++)
        group[g] = (sums){0};
    for (ptrdiff_t i = 0; i < of->n; i++)
        add(&group[apart->group[i]], of_person(of, i));
    for (ptrdiff_t i = 0; i < of->n; i++)
        noise[i] = left(of, &all, group[apart->group[i]]);
}
