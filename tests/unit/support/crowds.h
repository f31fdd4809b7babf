/* Participants in memory, with age and sex, who are fitted or scored by the public calls. */
#ifndef KN_TEST_CROWDS_H
#define KN_TEST_CROWDS_H

#include "support/calls.h"

#include "base/random.h"
#include "model/model.h"

typedef struct crowd {
    ptrdiff_t n;
    kn_mat age; /* n x 1 */
    const char **sex;
    kn_mat Y;
} crowd;

/* Ages 20 to 80, sexes, and responses still to be made of them. */
static inline crowd crowd_new(kn_rng *rng, ptrdiff_t n, ptrdiff_t T)
{
    crowd c = {n, ref_new(n, 1), calloc((size_t)n, sizeof *c.sex), ref_new(n, T)};
    for (ptrdiff_t i = 0; i < n; i++) {
        c.age.data[i] = 20 + 60 * kn_rng_uniform(rng);
        c.sex[i] = kn_rng_uniform(rng) < 0.5 ? "f" : "m";
    }
    return c;
}

static inline void crowd_free(crowd *c)
{
    free(c->age.data), free(c->sex), free(c->Y.data);
}

/* Age between -1 and 1. */
static inline double crowd_age(const crowd *c, ptrdiff_t i)
{
    return (c->age.data[i] - 50) / 30;
}

/* How responses of healthy participants go together: so many patterns, of this size and wave. */
typedef struct crowd_patterns {
    ptrdiff_t T;
    int n;
    double size, wave, phase;
} crowd_patterns;

/* Gaussian maps: an age and a sex effect, shared patterns, noise of different sizes. */
static inline crowd crowd_healthy(kn_rng *rng, ptrdiff_t n, crowd_patterns p)
{
    enum { MAX_COUNT = 8 };
    crowd c = crowd_new(rng, n, p.T);
    assert_true(p.n <= MAX_COUNT);
    for (ptrdiff_t i = 0; i < n; i++) {
        double s[MAX_COUNT];
        for (int k = 0; k < p.n; k++)
            s[k] = kn_rng_normal(rng);
        for (ptrdiff_t j = 0; j < p.T; j++) {
            double x = (double)j, y = 0.5 * crowd_age(&c, i) * sin(p.phase + 0.1 * x);
            y += c.sex[i][0] == 'f' ? 0.2 * cos(p.phase + 0.2 * x) : 0;
            for (int k = 0; k < p.n; k++)
                y += p.size * s[k] * sin(p.phase * (k + 1) + p.wave * (k + 2) * x);
            kn_col(c.Y, j)[i] = y + (0.5 + 0.5 * sin(x) * sin(x)) * kn_rng_normal(rng);
        }
    }
    return c;
}

static inline kn_data *crowd_data(kn_ctx *ctx, const crowd *c)
{
    kn_data *d;
    assert_ok(ctx, kn_data_new(ctx, c->n, &d));
    assert_ok(ctx, kn_data_numbers(ctx, d, "age", c->age.data, 1));
    assert_ok(ctx, kn_data_texts(ctx, d, "sex", c->sex));
    assert_ok(ctx, kn_data_responses(ctx, d, kn_view_cols(c->Y.data, c->n, c->Y.cols), NULL));
    return d;
}

static inline kn_model *crowd_fit(kn_ctx *ctx, const crowd *c, const char *text)
{
    kn_data *d = crowd_data(ctx, c);
    kn_model *m = fit_data(ctx, d, text);
    kn_data_free(d);
    return m;
}

static inline kn_scores *crowd_score(kn_ctx *ctx, const kn_model *m, const crowd *c,
                                     const char *text)
{
    kn_data *d = crowd_data(ctx, c);
    kn_scores *s = score_data(ctx, m, d, text);
    kn_data_free(d);
    return s;
}

/* z of new participants, n x T. */
static inline kn_mat crowd_z(kn_ctx *ctx, const kn_model *m, const crowd *c)
{
    kn_scores *s = crowd_score(ctx, m, c, "write=z");
    kn_mat z = ref_new(c->n, c->Y.cols);
    assert_ok(ctx, kn_scores_block(ctx, s, "z", 0, z.cols, z));
    kn_scores_free(s);
    return z;
}

#endif
