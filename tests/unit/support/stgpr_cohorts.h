/* Participants with an age, a sex of two levels and a site of four, whose noise groups may share;
 * and the dense Gaussian of each response, from what participants are. */
#ifndef KN_TEST_STGPR_COHORTS_H
#define KN_TEST_STGPR_COHORTS_H

#include "support/stgprs.h"

#include "commands/common/maps_api.h"
#include "gp/predict/noise.h"

enum { LEVELS_SEX = 2, LEVELS_SITE = 4, TERMS = 5 }; /* linear, quadratic, se, sex, site */

typedef struct cohort {
    ptrdiff_t N, T;
    kn_mat raw, Y, news; /* covariates as given: age standardised, codes; Y N x T */
    kn_mat u, u_news;    /* squares of age, standardised as those of training */
    int *code;           /* groups of `members` rows each, and what kn_predict_input calls them */
    kn_design_options design;
} cohort;

static const int LEVELS[3] = {0, LEVELS_SEX, LEVELS_SITE};

/* Everybody's response: a line or a curve of age, effects of site, noise that groups share in every
 * other response as gamma says. */
static inline cohort cohort_of(kn_rng *own, int N, int T, int members, double gamma)
{
    cohort c = {.N = N, .T = T, .raw = ref_new(N, 3), .Y = ref_normal(own, N, T)};
    c.news = ref_new(6, 3), c.u = ref_new(N, 1), c.u_news = ref_new(6, 1);
    c.code = calloc((size_t)N, sizeof *c.code);
    c.design = (kn_design_options){.quadratic = -1, .levels = LEVELS};
    for (int i = 0; i < N; i++) {
        kn_col(c.raw, 0)[i] = kn_rng_normal(own);
        kn_col(c.raw, 1)[i] = i % 5 < 2;
        kn_col(c.raw, 2)[i] = (i / 2) % LEVELS_SITE;
        c.code[i] = (7 * i) % N / members; /* not in the order of the rows */
    }
    double *x = kn_col(c.raw, 0), mean = 0, var = 0, m2 = 0, v2 = 0, n = N;
    for (int i = 0; i < N; i++)
        mean += x[i] / n;
    for (int i = 0; i < N; i++)
        var += (x[i] - mean) * (x[i] - mean) / n;
    for (int i = 0; i < N; i++) {
        x[i] = (x[i] - mean) / sqrt(var);
        m2 += x[i] * x[i] / n;
    }
    for (int i = 0; i < N; i++)
        v2 += (x[i] * x[i] - m2) * (x[i] * x[i] - m2) / n;
    for (int i = 0; i < N; i++)
        c.u.data[i] = (x[i] * x[i] - m2) / sqrt(v2);
    for (int i = 0; i < 6; i++) {
        double a = 0.5 * x[2 * i] + 0.5 * x[2 * i + 1]; /* no participant is held to the range */
        kn_col(c.news, 0)[i] = a;
        kn_col(c.news, 1)[i] = i % 2;
        kn_col(c.news, 2)[i] = i % LEVELS_SITE;
        c.u_news.data[i] = (a * a - m2) / sqrt(v2);
    }
    for (int j = 0; j < T; j++) {
        double site[LEVELS_SITE], w = exp(0.5 * kn_rng_normal(own)), group[256];
        double line = (j % 3) * kn_rng_normal(own), bend = (j % 2) * 1.5 * kn_rng_normal(own);
        for (int s = 0; s < LEVELS_SITE; s++)
            site[s] = 0.6 * kn_rng_normal(own);
        for (int g = 0; g < 256; g++)
            group[g] = (j % 2) * sqrt(gamma) * kn_rng_normal(own);
        for (int i = 0; i < N; i++)
            kn_col(c.Y, j)[i] += line * x[i] + bend * sin(w * x[i]) + group[c.code[i]] +
                                 site[(int)kn_at(c.raw, i, 2)];
    }
    standardise(c.Y);
    return c;
}

static inline void cohort_free(cohort c)
{
    free(c.raw.data), free(c.Y.data), free(c.news.data), free(c.u.data), free(c.u_news.data);
    free(c.code);
}

static inline kn_settings additive_of(const cohort *c, bool groups)
{
    kn_settings o;
    kn_settings_init(&o);
    o.method = "stgpr";
    o.standardise = 0;
    o.folds = 0;
    o.design = &c->design;
    o.groups = groups ? c->code : NULL;
    o.rank = KN_RANK_FULL;
    return o;
}

/* sum_k w_k K_k between two participants, from what they are */
static inline double additive_kernel(const double *w, double length, kn_mat X, kn_mat u,
                                     ptrdiff_t i, kn_mat Xs, kn_mat us, ptrdiff_t j)
{
    double x = kn_at(X, i, 0), y = kn_at(Xs, j, 0);
    return w[0] * x * y + w[1] * u.data[i] * us.data[j] +
           w[2] * exp(-0.5 * (x - y) * (x - y) / (length * length)) +
           w[3] * (kn_at(X, i, 1) == kn_at(Xs, j, 1)) + w[4] * (kn_at(X, i, 2) == kn_at(Xs, j, 2));
}

/* What the dense Gaussian of response j says of new participants given some training rows. */
typedef struct dense_part {
    const cohort *c;
    double w[TERMS], length, cj, dj, gamma;
    ptrdiff_t n;
    const ptrdiff_t *rows; /* n  training */
    kn_mat Xs, us;
    const int *known; /* code of the group of each new participant, -1: a new one; NULL: all */
} dense_part;

static inline double dense_additive(const dense_part *p, const double *y, double *mean, double *var)
{
    const cohort *c = p->c;
    ptrdiff_t n = p->n, ns = p->Xs.rows;
    kn_mat K = ref_new(n, n), Ks = ref_new(ns, n);
    double *kss = calloc((size_t)ns, sizeof *kss), g = p->gamma * p->dj;
    for (ptrdiff_t a = 0; a < n; a++) {
        ptrdiff_t i = p->rows[a];
        for (ptrdiff_t b = 0; b < n; b++) {
            ptrdiff_t k = p->rows[b];
            kn_col(K, b)[a] =
                p->cj * additive_kernel(p->w, p->length, c->raw, c->u, i, c->raw, c->u, k) +
                (a == b) * p->dj + (c->code[i] == c->code[k]) * g;
        }
        for (ptrdiff_t s = 0; s < ns; s++)
            kn_col(Ks, a)[s] =
                p->cj * additive_kernel(p->w, p->length, p->Xs, p->us, s, c->raw, c->u, i) +
                (p->known && p->known[s] == c->code[i]) * g;
    }
    for (ptrdiff_t s = 0; s < ns; s++)
        kss[s] = p->cj * additive_kernel(p->w, p->length, p->Xs, p->us, s, p->Xs, p->us, s) +
                 (p->known && p->known[s] >= 0) * g;
    double lml = ref_gp(K, y, Ks, kss, mean, var);
    free(K.data), free(Ks.data), free(kss);
    return lml;
}

/* The parameters of response j as the model has them. */
static inline dense_part dense_of(const cohort *c, const kn_model *model, ptrdiff_t j)
{
    kn_view cells = kn_model_array(model, "cells"), gamma = kn_model_array(model, "gamma");
    ptrdiff_t k = (ptrdiff_t)kn_view_at(kn_model_array(model, "cell"), j, 0);
    dense_part p = {.c = c,
                    .length = kn_view_at(cells, k, TERMS),
                    .cj = kn_view_at(kn_model_array(model, "c"), j, 0),
                    .dj = kn_view_at(kn_model_array(model, "d"), j, 0),
                    .gamma = gamma.data ? kn_view_at(gamma, j, 0) : 0,
                    .Xs = c->news,
                    .us = c->u_news};
    for (int t = 0; t < TERMS; t++)
        p.w[t] = kn_view_at(cells, k, t);
    return p;
}

static inline ptrdiff_t *all_rows(ptrdiff_t N)
{
    ptrdiff_t *rows = calloc((size_t)N, sizeof *rows);
    for (ptrdiff_t i = 0; i < N; i++)
        rows[i] = i;
    return rows;
}

static inline void assert_predicts_as_dense(const cohort *c, const kn_model *model, bool groups,
                                            double tol)
{
    kn_fit_info info;
    kn_maps *maps;
    int known[6] = {c->code[3], -1, c->code[0], c->code[5], -1, c->code[1]};
    ptrdiff_t number[6], *rows = all_rows(c->N);
    double *noise = calloc((size_t)c->T, sizeof *noise), *inside = calloc((size_t)c->T, 8), sum = 0;
    kn_model_info(model, &info);
    for (int i = 0; i < 6; i++) /* the model numbers groups as they appear */
        for (ptrdiff_t r = number[i] = -1; number[i] < 0 && known[i] >= 0 && ++r < c->N;)
            if (c->code[r] == known[i])
                number[i] = groups ? model->gp.latent.groups.of[r] : 0;
    maps_of m = predict(model, c->news, c->T), k = {0};
    if (groups) {
        assert_ok(ctx, kn_maps_predict_known(ctx, model, view(c->news),
                                             (kn_predict_context){.group = number}, &maps));
        k = collect(maps, c->T);
        kn_noise_known_group(&model->gp, inside);
    }
    assert_ok(ctx, kn_model_noise(ctx, model, noise));
    for (ptrdiff_t j = 0; j < c->T; j++) {
        dense_part p = dense_of(c, model, j);
        double mean[6], var[6];
        p.n = c->N;
        p.rows = rows;
        sum += dense_additive(&p, kn_col(c->Y, j), mean, var);
        assert_close(noise[j], p.dj * (1 + p.gamma), 1e-14);
        for (int i = 0; i < 6; i++) {
            assert_close(kn_at(m.mean, i, j), mean[i], tol);
            assert_close(kn_at(m.var, i, j), var[i], tol);
        }
        if (!groups)
            continue;
        p.known = known;
        dense_additive(&p, kn_col(c->Y, j), mean, var);
        assert_close(inside[j], p.dj, 1e-14);
        for (int i = 0; i < 6; i++) {
            assert_close(kn_at(k.mean, i, j), mean[i], tol);
            assert_close(kn_at(k.var, i, j), var[i], tol);
        }
    }
    assert_close(info.lml, sum, 1e-9);
    release(m);
    if (groups)
        release(k);
    free(noise), free(inside), free(rows);
}

#endif
