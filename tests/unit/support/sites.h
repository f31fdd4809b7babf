/* Participants at sites whose true values are known, fitted, adapted to and scored by the public
 * calls.
 */
#ifndef KN_TEST_SITES_H
#define KN_TEST_SITES_H

#include "support/calls.h"

#include "base/random.h"
#include "model/model.h"

enum { VISITOR_RESPONSES = 30, VISITOR_FACTORS = 4 };

/* What sites are like: offsets vary by `apart`, ln noise variance by `spread`. */
typedef struct world {
    kn_rng rng;
    ptrdiff_t T;
    double apart, spread;
    double age[VISITOR_RESPONSES], load[VISITOR_FACTORS][VISITOR_RESPONSES];
} world;

typedef struct place {
    char name[16];
    double offset[VISITOR_RESPONSES], sd;
} place;

typedef struct visitors {
    ptrdiff_t n;
    kn_mat age, Y;
    const char **sex, **site, **scanner, **id; /* scanner, id: NULL: no such column */
} visitors;

static inline world world_new(uint64_t seed, ptrdiff_t T)
{
    world w = {.T = T, .apart = 0.6, .spread = 0.25};
    ref_rng_init(&w.rng, seed, 8);
    for (ptrdiff_t j = 0; j < T; j++) {
        w.age[j] = 0.8 * kn_rng_normal(&w.rng);
        for (int f = 0; f < VISITOR_FACTORS; f++)
            w.load[f][j] = 0.4 * kn_rng_normal(&w.rng);
    }
    return w;
}

static inline place place_new(world *w, const char *name)
{
    place p = {.sd = exp(0.5 * w->spread * kn_rng_normal(&w->rng))};
    snprintf(p.name, sizeof p.name, "%s", name);
    for (ptrdiff_t j = 0; j < w->T; j++)
        p.offset[j] = w->apart * kn_rng_normal(&w->rng);
    return p;
}

static inline visitors visitors_new(ptrdiff_t n, ptrdiff_t T)
{
    return (visitors){n,
                      ref_new(n, 1),
                      ref_new(n, T),
                      calloc((size_t)n, sizeof(char *)),
                      calloc((size_t)n, sizeof(char *)),
                      NULL,
                      NULL};
}

static inline void visitors_free(visitors *v)
{
    free(v->age.data), free(v->Y.data), free(v->sex), free(v->site);
    free(v->scanner), free(v->id);
}

/* Participant i comes to p. */
static inline void visit(world *w, visitors *v, ptrdiff_t i, const place *p)
{
    double factor[VISITOR_FACTORS], age = 20 + 60 * kn_rng_uniform(&w->rng);
    for (int f = 0; f < VISITOR_FACTORS; f++)
        factor[f] = kn_rng_normal(&w->rng);
    v->age.data[i] = age;
    v->sex[i] = kn_rng_uniform(&w->rng) < 0.5 ? "f" : "m";
    v->site[i] = p->name;
    for (ptrdiff_t j = 0; j < w->T; j++) {
        double e = kn_rng_normal(&w->rng);
        for (int f = 0; f < VISITOR_FACTORS; f++)
            e += w->load[f][j] * factor[f];
        kn_col(v->Y, j)[i] = 10 + w->age[j] * (age - 50) / 20 + p->offset[j] + p->sd * e;
    }
}

/* `each` participants of every one of S places, in turn. */
static inline visitors visitors_of(world *w, const place *p, int S, ptrdiff_t each)
{
    visitors v = visitors_new(S * each, w->T);
    for (ptrdiff_t i = 0; i < v.n; i++)
        visit(w, &v, i, &p[i % S]);
    return v;
}

static inline kn_data *visitors_data(kn_ctx *ctx, const visitors *v)
{
    kn_data *d;
    assert_ok(ctx, kn_data_new(ctx, v->n, &d));
    if (v->id)
        assert_ok(ctx, kn_data_ids(ctx, d, v->id));
    assert_ok(ctx, kn_data_numbers(ctx, d, "age", v->age.data, 1));
    assert_ok(ctx, kn_data_texts(ctx, d, "sex", v->sex));
    assert_ok(ctx, kn_data_texts(ctx, d, "site", v->site));
    if (v->scanner)
        assert_ok(ctx, kn_data_texts(ctx, d, "scanner", v->scanner));
    assert_ok(ctx, kn_data_responses(ctx, d, kn_view_cols(v->Y.data, v->n, v->Y.cols), NULL));
    return d;
}

static inline kn_model *visitors_fit(kn_ctx *ctx, const visitors *v, const char *text)
{
    kn_data *d = visitors_data(ctx, v);
    kn_model *m = fit_data(ctx, d, text);
    kn_data_free(d);
    return m;
}

static inline kn_status visitors_adapt(kn_ctx *ctx, const kn_model *m, const visitors *v,
                                       kn_model **out)
{
    kn_data *d = visitors_data(ctx, v);
    kn_status status = kn_adapt(ctx, m, d, NULL, out);
    kn_data_free(d);
    return status;
}

static inline kn_model *adapted_to(kn_ctx *ctx, const kn_model *m, const visitors *v)
{
    kn_model *out;
    assert_ok(ctx, visitors_adapt(ctx, m, v, &out));
    return out;
}

static inline kn_status visitors_score(kn_ctx *ctx, const kn_model *m, const visitors *v,
                                       const char *text, kn_scores **out)
{
    kn_data *d = visitors_data(ctx, v);
    kn_options *o = options_of(ctx, "score", text);
    kn_status status = kn_score(ctx, m, d, o, out);
    kn_options_free(o);
    kn_data_free(d);
    return status;
}

/* One map of participants, n x T. */
static inline kn_mat visitors_map(kn_ctx *ctx, const kn_scores *s, const char *name)
{
    kn_mat map = ref_new(kn_scores_n_participants(s), kn_scores_n_responses(s));
    assert_ok(ctx, kn_scores_block(ctx, s, name, 0, map.cols, map));
    return map;
}

static inline kn_mat visitors_z(kn_ctx *ctx, const kn_model *m, const visitors *v, const char *text)
{
    kn_scores *s;
    assert_ok(ctx, visitors_score(ctx, m, v, text, &s));
    kn_mat z = visitors_map(ctx, s, "z");
    kn_scores_free(s);
    return z;
}

#endif
