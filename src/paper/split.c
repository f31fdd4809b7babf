/* Splits of the scans into training and test sample, by a random permutation of rows or patterns.
 * All methods see the same splits. */
#include "paper/internal.h"

#include <math.h>

#include "base/random.h"

static const double TRAIN_PROPORTION = 600.0 / 1320.0;
enum { MIN_ROWS = 10 }; /* needed for the GEV fit of the reference sample */

const char *const kn_split_name[KN_N_SPLITS] = {"scan", "pattern"};

void kn_split_clear(kn_split *s)
{
    kn_free(s->train);
    kn_free(s->test);
    *s = (kn_split){0};
}

/* Chooses training rows: takes groups of rows in the drawn order as long as they fit into
 * `capacity` rows. A group is a row, or all rows of a pattern. Sets train[i] (n_random values). */
static void draw_training(const kn_visual *v, bool by_pattern, const ptrdiff_t *order,
                          ptrdiff_t capacity, bool *train)
{
    for (ptrdiff_t k = 0; k < v->n_random && capacity > 0; k++) {
        ptrdiff_t lead = order[k], size = 0;
        if (by_pattern && v->pattern[lead] != lead)
            continue;
        for (ptrdiff_t i = lead; i < v->n_random; i++)
            size += i == lead || (by_pattern && v->pattern[i] == lead);
        if (size > capacity)
            continue;
        for (ptrdiff_t i = lead; i < v->n_random; i++)
            train[i] = train[i] || i == lead || (by_pattern && v->pattern[i] == lead);
        capacity -= size;
    }
}

kn_status kn_split_new(kn_ctx *ctx, const kn_visual *v, kn_split_by by, uint64_t seed, int repeat,
                       kn_split *out)
{
    kn_status status;
    kn_rng rng;
    void *train = NULL;
    ptrdiff_t *order = NULL,
              capacity = (ptrdiff_t)floor(TRAIN_PROPORTION * (double)v->n_random + 0.5);
    *out = (kn_split){0};
    if (capacity < MIN_ROWS) {
        status = kn_fail(ctx, KN_ERR_DATA,
                         "%td scans of random patterns are too few; %td would be used for "
                         "training, expected at least %d",
                         v->n_random, capacity, MIN_ROWS);
        goto out;
    }
    KN_TRY(kn_alloc(ctx, v->n_random, sizeof(bool), &train));
    KN_TRY(kn_alloc_i(ctx, v->n_random, &order));
    KN_TRY(kn_alloc_i(ctx, v->n_random, &out->train));
    KN_TRY(kn_alloc_i(ctx, v->n, &out->test));
    kn_rng_init(&rng, seed, (uint64_t)repeat * KN_N_SPLITS + (uint64_t)by);
    kn_rng_permutation(&rng, v->n_random, order);
    bool *in = train;
    draw_training(v, by == KN_BY_PATTERN, order, capacity, in);
    for (ptrdiff_t i = 0; i < v->n; i++) {
        if (i < v->n_random && in[i])
            out->train[out->n_train++] = i;
        else
            out->test[out->n_test++] = i;
    }
    out->n_normal = v->n_random - out->n_train;
    if (out->n_train < MIN_ROWS || out->n_normal == 0)
        status = kn_fail(ctx, KN_ERR_DATA,
                         "%td scans of random patterns cannot be split by %s: %td would train and "
                         "%td test",
                         v->n_random, kn_split_name[by], out->n_train, out->n_normal);
out:
    kn_free(order);
    kn_free(train);
    if (status != KN_OK)
        kn_split_clear(out);
    return status;
}
