/* What sites are like, and a new one by its controls: against tests/golden/norms, the slow version
 * of tests/ref, and sites that are made so. */
#include "support/priors.h"

#include "base/random.h"
#include "norm/calibration/calibration_transform.h"
#include "norm/sites/adapt_site.h"
#include "norm/sites/learn_site_prior.h"

static kn_ctx *ctx;
static kn_rng rng;

/* ---- from matrices ---- */

static kn_status prior_in_blocks(kn_mat e, kn_mat es, kn_site_assignment of, ptrdiff_t width,
                                 kn_sites *out)
{
    kn_sites_builder m;
    kn_sites_shape shape = {.of = of,
                            .T = e.cols,
                            .blocks = (e.cols + width - 1) / width,
                            .width = width,
                            .scaled = es.data != NULL,
                            .seed = 7};
    kn_status status = kn_sites_builder_new(ctx, &shape, out, &m);
    for (ptrdiff_t k = 0; status == KN_OK && k < shape.blocks; k++) {
        ptrdiff_t first = k * width, count = kn_min_size(width, e.cols - first);
        kn_site_block b = {k, first, kn_cols(e, first, count), kn_mat_none()};
        if (es.data)
            b.scaled = kn_cols(es, first, count);
        kn_sites_builder_add(ctx, &m, &b);
    }
    if (status == KN_OK)
        status = kn_sites_builder_finish(ctx, &m);
    kn_sites_builder_clear(&m);
    return status;
}

static kn_sites prior_of(kn_mat e, kn_mat es, const int *site, int S)
{
    kn_sites p;
    assert_ok(ctx, prior_in_blocks(e, es, (kn_site_assignment){e.rows, site, S}, 3, &p));
    return p;
}

static kn_site_adapted adapt(const kn_sites *p, kn_mat r, kn_mat rs)
{
    kn_site_adapted a;
    assert_ok(ctx, kn_site_adapted_new(ctx, r.cols, &a));
    for (ptrdiff_t j = r.cols - 1; j >= 0; j--) /* in any order */
        kn_site_adapted_add(&a, j, (kn_site_controls){r.rows, NULL}, kn_col(r, j),
                            kn_col(rs.data ? rs : r, j));
    kn_site_adapted_finish(p, &a);
    return a;
}

/* r exp(-eta/2) */
static kn_mat scaled(kn_mat r, kn_mat eta)
{
    kn_mat out = ref_new(r.rows, r.cols);
    for (ptrdiff_t i = 0; i < r.rows; i++)
        for (ptrdiff_t j = 0; j < r.cols; j++)
            kn_col(out, j)[i] = kn_at(r, i, j) * exp(-0.5 * kn_at(eta, i, j));
    return out;
}

/* ---- golden ---- */

static void assert_numbers(const double *a, json_t *at, const char *key)
{
    kn_mat e = golden_column(at, key);
    for (ptrdiff_t i = 0; i < e.rows; i++)
        assert_close(a[i], e.data[i], 1e-9);
    free(e.data);
}

static int *sites_in(json_t *json, const char *path)
{
    kn_mat s = golden_column(json, path);
    int *site = calloc((size_t)s.rows, sizeof *site);
    for (ptrdiff_t i = 0; i < s.rows; i++)
        site[i] = (int)s.data[i];
    free(s.data);
    return site;
}

/* The printed effect, by its formula over a sorted copy. */
static double slow_effect(const kn_sites *p, const kn_site_adapted *a)
{
    double t[64], rho = 0;
    ptrdiff_t n = 0;
    for (ptrdiff_t j = 0; j < a->T; j++) {
        double m = a->raw_offset[j] - p->mu[j], error = p->w[j] / a->n[j];
        if (a->broken[j] > 0 || !(p->tau2[j] > 0))
            continue;
        t[n++] = m * m / (p->tau2[j] + error);
        rho += error / p->tau2[j];
    }
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t k = i + 1; k < n; k++)
            if (t[k] < t[i]) {
                double x = t[i];
                t[i] = t[k];
                t[k] = x;
            }
    double T_eff = fmin(p->T_eff_offset, (double)n), middle = (t[(n - 1) / 2] + t[n / 2]) / 2;
    rho /= (double)n;
    return sqrt((p->S1 + T_eff * fmax(0, (1 + rho) * middle / 0.45493642311957 - rho)) /
                (p->S1 + T_eff));
}

/* Zeros for all controls in a quarter of the responses: they are as if nobody had them, and the
 * effect and noise of the site are those of the others. */
static void broken_responses_do_not_speak_for_the_site(void **state)
{
    (void)state;
    enum { N = 90, SITES = 6, CONTROLS = 9, RESPONSES = 24, BROKEN = 6 };
    kn_mat e = ref_normal(&rng, N, RESPONSES), r = ref_normal(&rng, CONTROLS, RESPONSES);
    int site[N];
    for (ptrdiff_t i = 0; i < N; i++) {
        site[i] = (int)(i % SITES);
        for (ptrdiff_t j = 0; j < RESPONSES; j++)
            kn_col(e, j)[i] += sin(3. * site[i] + (double)j);
    }
    kn_sites p = prior_of(e, kn_mat_none(), site, SITES);
    kn_site_adapted plain = adapt(&p, r, kn_mat_none()), a;
    assert_close(plain.effect, slow_effect(&p, &plain), 1e-12);
    assert_ok(ctx, kn_site_adapted_new(ctx, RESPONSES, &a));
    for (ptrdiff_t j = 0; j < RESPONSES; j++)
        if (j < BROKEN)
            kn_site_adapted_break(&a, j);
        else
            kn_site_adapted_add(&a, j, (kn_site_controls){CONTROLS, NULL}, kn_col(r, j),
                                kn_col(r, j));
    kn_site_adapted_finish(&p, &a);
    assert_close(a.effect, slow_effect(&p, &a), 1e-12);
    assert_true(a.effect < 2 && a.factor < 2);
    for (ptrdiff_t j = 0; j < BROKEN; j++) {
        assert_close(a.offset[j], p.mu[j], 0);
        assert_close(a.offset_var[j], a.kappa * p.tau2[j], 1e-12);
    }
    /* not broken, but in other units: the mean over responses is bent, the median is not */
    for (ptrdiff_t j = 0; j < BROKEN; j++)
        for (ptrdiff_t i = 0; i < CONTROLS; i++)
            kn_col(r, j)[i] -= 100;
    kn_site_adapted far = adapt(&p, r, kn_mat_none());
    assert_true(sqrt(far.kappa) > 4 && far.effect < 2);
    kn_site_adapted_clear(&plain);
    kn_site_adapted_clear(&a);
    kn_site_adapted_clear(&far);
    kn_sites_clear(&p);
    free(e.data), free(r.data);
}

static void one_kind_of_residuals_matches_golden(void **state)
{
    (void)state;
    json_t *json = golden_json("norms/expected", ""), *at = json_object_get(json, "site_prior");
    kn_mat e = golden_rows(json, "inputs.e"), r = golden_rows(json, "inputs.controls");
    int *site = sites_in(json, "inputs.site");
    for (ptrdiff_t width = 1; width <= 6; width++) {
        kn_sites p;
        assert_ok(ctx, prior_in_blocks(e, kn_mat_none(), (kn_site_assignment){e.rows, site, 5},
                                       width, &p));
        assert_int_equal(p.S, 5);
        assert_true(p.between && p.S1 == 4);
        assert_numbers(p.w, at, "w");
        assert_numbers(p.w_scale, at, "w");
        assert_numbers(p.mu, at, "mu");
        assert_numbers(p.tau2, at, "tau2");
        assert_close(p.kurt, golden_number(at, "k"), 1e-9);
        assert_close(p.T_eff_offset, golden_number(at, "teff"), 1e-9);
        assert_close(p.T_eff_scale, golden_number(at, "teff"), 1e-9);
        assert_close(p.v_a, golden_number(at, "va"), 1e-9);
        assert_close(p.v_b, golden_number(at, "vb"), 1e-9);
        kn_site_adapted a = adapt(&p, r, kn_mat_none());
        json_t *adapted = json_object_get(json, "adapt");
        assert_numbers(a.offset, adapted, "g");
        assert_numbers(a.offset_var, adapted, "vg");
        assert_numbers(a.scale, adapted, "s");
        assert_close(a.kappa, golden_number(adapted, "kappa"), 1e-9);
        kn_site_adapted_clear(&a);
        kn_sites_clear(&p);
    }
    json_decref(json);
    free(e.data), free(r.data), free(site);
}

/* z1, z of the calibration and ln p of participants of a site, by what is to be taken from their
 * residuals, the factor of the noise and what is added to the variance. */
static void assert_participants(json_t *compose, const char *what, const double *offset,
                                const double *factor, const double *added)
{
    json_t *at = json_object_get(compose, what);
    kn_mat r = golden_rows(compose, "inputs.new_residual"),
           eta = golden_rows(compose, "inputs.new_eta");
    kn_mat ys2 = golden_rows(compose, "inputs.new_ys2_without_batch");
    kn_mat noise = golden_column(compose, "inputs.noise"),
           skew = golden_column(compose, "inputs.a");
    kn_mat ln_b = golden_column(compose, "inputs.ln_b"), V = golden_rows(at, "variance");
    kn_mat z1 = golden_rows(at, "z1"), zt = golden_rows(at, "z_student"), z = golden_rows(at, "z");
    kn_mat ln_p = json_object_get(at, "ln_p") ? golden_rows(at, "ln_p") : (kn_mat){0};
    kn_calibration_transform calibration = {.nu = 59, .theta = ref_new(2, 6)};
    assert_ok(ctx, kn_calibration_prepare(ctx, &calibration));
    for (ptrdiff_t j = 0; j < 6; j++) {
        double *theta = kn_col(calibration.theta, j);
        theta[0] = skew.data[j], theta[1] = ln_b.data[j];
        kn_shash distribution = kn_calibration_distribution(&calibration, j);
        for (ptrdiff_t i = 0; i < 2; i++) {
            double e = kn_at(r, i, j) - offset[j], own, loss;
            double v =
                kn_at(ys2, i, j) + factor[j] * noise.data[j] * exp(kn_at(eta, i, j)) + added[j];
            kn_calibration_cells cell = {1, &e, &v, &own, &loss};
            assert_close(v, kn_at(V, i, j), 1e-9);
            assert_close(e / sqrt(v), kn_at(z1, i, j), 1e-9);
            kn_calibration_z(&calibration, NULL, &cell);
            assert_close(own, kn_at(zt, i, j), 1e-9);
            kn_calibration_z(&calibration, &distribution, &cell);
            assert_close(own, kn_at(z, i, j), 1e-8);
            if (ln_p.data)
                assert_close(-loss - 0.5 * log(2 * acos(-1)), kn_at(ln_p, i, j), 1e-8);
        }
    }
    free(calibration.theta.data);
    calibration.theta = kn_mat_none();
    kn_calibration_clear(&calibration);
    kn_mat all[] = {r, eta, ys2, noise, skew, ln_b, V, z1, zt, z, ln_p};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        free(all[k].data);
}

static void noise_by_covariates_and_new_participants_match_golden(void **state)
{
    (void)state;
    json_t *json = golden_json("norms/chain", ""), *at = json_object_get(json, "compose");
    kn_mat e = golden_rows(at, "inputs.e_train"), eta = golden_rows(at, "inputs.eta_train");
    kn_mat r = golden_rows(at, "inputs.controls_residual");
    kn_mat reta = golden_rows(at, "inputs.controls_eta"), es = scaled(e, eta), rs = scaled(r, reta);
    int *site = sites_in(at, "inputs.site");
    json_t *prior = json_object_get(at, "prior"), *adapted = json_object_get(at, "adapt");
    kn_sites p = prior_of(e, es, site, 5);
    assert_numbers(p.w, prior, "w");
    assert_numbers(p.mu, prior, "mu");
    assert_numbers(p.tau2, prior, "tau2");
    assert_numbers(p.w_scale, prior, "w_scale");
    assert_close(p.kurt, golden_number(prior, "k_scale"), 1e-9);
    assert_close(p.T_eff_offset, golden_number(prior, "T_eff_offset"), 1e-9);
    assert_close(p.T_eff_scale, golden_number(prior, "T_eff_scale"), 1e-9);
    assert_close(p.v_a, golden_number(prior, "v_a"), 1e-9);
    assert_close(p.v_b, golden_number(prior, "v_b"), 1e-9);
    kn_site_adapted a = adapt(&p, r, rs);
    assert_close(a.kappa, golden_number(adapted, "kappa"), 1e-9);
    assert_numbers(a.offset, adapted, "offset");
    assert_numbers(a.offset_var, adapted, "offset_var");
    assert_numbers(a.scale, adapted, "scale");
    static const double ONE[6] = {1, 1, 1, 1, 1, 1};
    assert_participants(at, "new", a.offset, a.scale, a.offset_var);
    assert_participants(at, "unseen_prior", p.mu, ONE, p.tau2);
    kn_site_adapted_clear(&a);
    kn_sites_clear(&p);
    json_decref(json);
    kn_mat all[] = {e, eta, r, reta, es, rs};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        free(all[k].data);
    free(site);
}

/* ---- the slow version ---- */

typedef struct places { /* participants of some sites */
    kn_mat e, es;
    int *site, S;
} places;

/* S sites that differ in offset by `far` and in ln noise by `spread`; a share of cells missing. */
static places places_new(ptrdiff_t n, ptrdiff_t T, int S, double far, double missing)
{
    places x = {ref_normal(&rng, n, T), ref_new(n, T), calloc((size_t)n, sizeof(int)), S};
    kn_mat offset = ref_normal(&rng, S, T), ln = ref_normal(&rng, S, T);
    for (ptrdiff_t i = 0; i < n; i++) {
        double common = kn_rng_normal(&rng);
        int s = x.site[i] = (int)(i % S);
        for (ptrdiff_t j = 0; j < T; j++) {
            double *e = &kn_col(x.e, j)[i];
            *e = (*e + 0.5 * common) * exp(0.2 * kn_at(ln, s, j)) + far * kn_at(offset, s, j);
            if (kn_rng_uniform(&rng) < missing)
                *e = NAN;
            kn_col(x.es, j)[i] = *e * (0.8 + 0.4 * (double)(i % 2));
        }
    }
    free(offset.data), free(ln.data);
    return x;
}

static void places_free(places *x)
{
    free(x->e.data), free(x->es.data), free(x->site);
}

static void assert_adapted(const kn_sites *p, const ref_prior *q, kn_mat r, kn_mat rs)
{
    kn_site_adapted a = adapt(p, r, rs);
    ref_adapted b = ref_adapt(q, r, rs);
    assert_close(a.kappa, b.kappa, 1e-9);
    assert_close(a.factor, b.factor, 1e-9);
    for (ptrdiff_t j = 0; j < r.cols; j++) {
        assert_close(a.offset[j], b.offset[j], 1e-9);
        assert_close(a.offset_var[j], b.offset_var[j], 1e-9);
        assert_close(a.scale[j], b.scale[j], 1e-9);
        assert_true(a.shrink[j] >= 0 && a.shrink[j] < 1);
    }
    kn_site_adapted_clear(&a);
    ref_adapted_free(&b);
}

static void any_shape_with_missing_cells_equals_the_slow_version(void **state)
{
    (void)state;
    static const struct {
        ptrdiff_t n, T;
        int S;
        double far, missing;
    } SHAPES[] = {{30, 1, 3, 1, 0},    {30, 1, 1, 1, 0.1},   {12, 5, 4, 0, 0},
                  {40, 7, 1, 1, 0.2},  {60, 9, 5, 0.5, 0.2}, {60, 4, 2, 2, 0.4},
                  {90, 13, 6, 0.3, 0}, {45, 6, 3, 3, 0.5},   {100, 8, 25, 1, 0.3}};
    for (size_t k = 0; k < sizeof SHAPES / sizeof *SHAPES; k++) {
        places x =
            places_new(SHAPES[k].n, SHAPES[k].T, SHAPES[k].S, SHAPES[k].far, SHAPES[k].missing);
        ptrdiff_t T = SHAPES[k].T;
        x.site[3] = -1;       /* of none */
        if (T > 4 && x.S > 2) /* a response that one site alone has */
            for (ptrdiff_t i = 0; i < x.e.rows; i++)
                if (x.site[i] != 1)
                    kn_col(x.e, 2)[i] = kn_col(x.es, 2)[i] = NAN;
        kn_sites p = prior_of(x.e, x.es, x.site, x.S);
        ref_prior q = ref_sites(x.e, x.es, x.site, x.S);
        assert_prior(&p, &q);
        for (ptrdiff_t n = 1; n <= 9; n++) {
            places c = places_new(n, T, 1, 2, n > 5 ? SHAPES[k].missing : 0);
            if (n > 5 && T > 3) /* a response of no participant, and one of two */
                for (ptrdiff_t i = 0; i < n; i++) {
                    kn_col(c.e, 1)[i] = kn_col(c.es, 1)[i] = NAN;
                    if (i >= 2)
                        kn_col(c.e, 0)[i] = kn_col(c.es, 0)[i] = NAN;
                }
            assert_adapted(&p, &q, c.e, c.es);
            places_free(&c);
        }
        kn_sites_clear(&p);
        ref_sites_free(&q);
        places_free(&x);
    }
}

/* ---- limits ---- */

static void one_site_gives_the_usual_noise(void **state)
{
    (void)state;
    places x = places_new(50, 4, 1, 3, 0);
    kn_sites p = prior_of(x.e, kn_mat_none(), x.site, 1);
    assert_false(p.between);
    assert_true(p.S == 1 && p.S1 == 5 && p.v_a == 0.05 && p.v_b == 0.015);
    for (ptrdiff_t j = 0; j < 4; j++) {
        assert_close(p.tau2[j] / p.w[j], 0.42, 1e-15);
        assert_true(p.mu[j] == 0);
    }
    kn_sites_clear(&p);
    /* Each participant a site of its own: no better. */
    for (int i = 0; i < 50; i++)
        x.site[i] = i;
    p = prior_of(x.e, kn_mat_none(), x.site, 50);
    assert_false(p.between);
    assert_true(p.S == 50 && p.S1 == 5 && p.kurt == 2 && p.T_eff_offset == 1);
    for (ptrdiff_t j = 0; j < 4; j++)
        assert_true(p.mu[j] == 0 && p.w[j] > 0 && p.tau2[j] > 0);
    kn_sites_clear(&p);
    for (int i = 0; i < 50; i++) /* no participant */
        x.site[i] = -1;
    assert_refused(ctx,
                   prior_in_blocks(x.e, kn_mat_none(), (kn_site_assignment){50, x.site, 1}, 4, &p),
                   KN_ERR_DATA, "from participants of one site");
    kn_sites_clear(&p);
    places_free(&x);
}

/* Sites that do not differ at all. */
static void variances_keep_to_their_floors(void **state)
{
    (void)state;
    places x = places_new(60, 5, 5, 0, 0);
    for (ptrdiff_t j = 0; j < 5; j++) /* the same participants in each site */
        for (ptrdiff_t i = 0; i < 60; i++)
            kn_col(x.e, j)[i] = kn_at(x.e, i - i % 5, j);
    kn_sites p = prior_of(x.e, kn_mat_none(), x.site, 5);
    for (ptrdiff_t j = 0; j < 5; j++)
        assert_true(p.tau2[j] == 0.001 * p.w[j]);
    assert_true(p.v_a == 0.001);
    kn_sites_clear(&p);
    places_free(&x);
}

static void a_response_without_controls_takes_the_site_effect_of_the_others(void **state)
{
    (void)state;
    places x = places_new(60, 6, 5, 1, 0), c = places_new(12, 6, 1, 2, 0);
    kn_sites p = prior_of(x.e, x.es, x.site, 5);
    for (ptrdiff_t i = 0; i < 12; i++) {
        kn_col(c.e, 0)[i] *= 3, kn_col(c.es, 0)[i] *= 3; /* the noisiest response by far */
        kn_col(c.e, 1)[i] = kn_col(c.es, 1)[i] = NAN;
        kn_col(c.e, 4)[i] = kn_col(c.es, 4)[i] = 0.3; /* does not vary: says nothing of noise */
    }
    kn_site_adapted a = adapt(&p, c.e, c.es);
    assert_true(a.n[1] == 0 && a.n[0] == 12 && isnan(a.raw_offset[1]) && a.shrink[1] == 0);
    assert_true(a.offset[1] == p.mu[1] && a.offset_var[1] == a.kappa * p.tau2[1]);
    assert_close(a.raw_offset[4], 0.3, 1e-15);
    assert_true(a.scale[4] == a.scale[1] && a.scale[1] != 1 && a.scale[1] > 0);
    double lowest = INFINITY, limit = 0;
    for (ptrdiff_t j = 0; j < 6; j++) {
        lowest = fmin(lowest, a.scale[j]);
        limit = fmax(limit, a.scale[j]);
    }
    assert_true(lowest < a.scale[1] && a.scale[1] < limit);
    kn_site_adapted_clear(&a);
    /* Fewer than three each: nothing is known of the noise, and it stays as it was. */
    for (ptrdiff_t n = 0; n <= 2; n++) {
        a = adapt(&p, kn_sub(c.e, 0, 0, n, 6), kn_sub(c.es, 0, 0, n, 6));
        for (ptrdiff_t j = 0; j < 6; j++)
            assert_true(a.scale[j] == 1 && (n > 0 || a.offset[j] == p.mu[j]));
        assert_true(a.factor == 1 && (n > 0 || a.kappa == 1));
        kn_site_adapted_clear(&a);
    }
    kn_sites_clear(&p);
    places_free(&x), places_free(&c);
}

/* Controls among other participants: rows that are named are those that count. */
static void controls_are_the_rows_that_are_named(void **state)
{
    (void)state;
    static const ptrdiff_t ROW[4] = {7, 1, 4, 5};
    places x = places_new(60, 3, 5, 1, 0), c = places_new(9, 3, 1, 2, 0);
    kn_sites p = prior_of(x.e, x.es, x.site, 5);
    kn_mat r = ref_new(4, 3), rs = ref_new(4, 3);
    kn_site_adapted a, b;
    kn_mat_rows(c.e, (ptrdiff_t[4]){7, 1, 4, 5}, r);
    kn_mat_rows(c.es, (ptrdiff_t[4]){7, 1, 4, 5}, rs);
    a = adapt(&p, r, rs);
    assert_ok(ctx, kn_site_adapted_new(ctx, 3, &b));
    for (ptrdiff_t j = 0; j < 3; j++)
        kn_site_adapted_add(&b, j, (kn_site_controls){4, ROW}, kn_col(c.e, j), kn_col(c.es, j));
    kn_site_adapted_finish(&p, &b);
    assert_memory_equal(a.offset, b.offset, 3 * sizeof(double));
    assert_memory_equal(a.scale, b.scale, 3 * sizeof(double));
    kn_site_adapted_clear(&a), kn_site_adapted_clear(&b);
    kn_sites_clear(&p);
    free(r.data), free(rs.data);
    places_free(&x), places_free(&c);
}

/* ---- what was put in is found ---- */

static double variance_of(const double *x, int n, double *mean)
{
    double square = 0;
    *mean = 0;
    for (int i = 0; i < n; i++)
        *mean += x[i] / n;
    for (int i = 0; i < n; i++)
        square += pow(x[i] - *mean, 2) / (n - 1);
    return square;
}

static void planted_sites_are_found(void **state)
{
    (void)state;
    enum { S = 40, EACH = 50, T = 30, N = S * EACH, FEW = 8 };
    kn_mat e = ref_normal(&rng, N, T), r = ref_normal(&rng, EACH * 20, T);
    int site[N];
    double mean_tau2 = 0, mean_mu = 0, a[S];
    for (int s = 0; s < S; s++)
        a[s] = sqrt(0.1) * kn_rng_normal(&rng);
    kn_mat offset = ref_normal(&rng, S, T);
    for (ptrdiff_t i = 0; i < N; i++) {
        int s = site[i] = (int)(i / EACH);
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(e, j)[i] = kn_at(e, i, j) * exp(0.5 * a[s]) + 0.2 + 0.6 * kn_at(offset, s, j);
    }
    kn_sites p = prior_of(e, kn_mat_none(), site, S);
    /* What these 40 sites have, not what they are drawn from. */
    double mean, planted_tau2 = 0, planted_mu = 0.2, planted_v_a = variance_of(a, S, &mean);
    for (ptrdiff_t j = 0; j < T; j++) {
        mean_tau2 += p.tau2[j] / T;
        mean_mu += p.mu[j] / T;
        planted_tau2 += 0.36 * variance_of(kn_col(offset, j), S, &mean) / T;
        planted_mu += 0.6 * mean / T;
    }
    /* The mean of a site is off by a variance of w/50 = .021: standard errors are
     * sqrt((4 .36 .021 + 2 .021^2)/(39 30)) = .005 of tau2 and sqrt(.021/(40 30)) = .0042 of mu. */
    assert_close(mean_tau2, planted_tau2, 0.03);
    assert_close(mean_mu, planted_mu, 0.025);
    /* a_s is off by a variance of 2/49/30, twice whose covariance with a_s counts: 5 standard
     * errors. The last term covers the bias of what is subtracted. */
    double error = 2.0 / (EACH - 1) / T;
    assert_close(p.v_a, planted_v_a, 10 * sqrt(planted_v_a * error / (S - 1)) + error);
    assert_true(p.v_b < 0.01); /* 0 with a standard error of 2/49 sqrt(2/(39 30)) = .0017 */
    assert_true(p.T_eff_offset > 0.8 * T);
    /* Sites that are off by 1 or -1 and have 4 times the noise variance: one of many controls, and
     * the mean of 125 sites of a few. */
    for (ptrdiff_t i = 0; i < r.rows; i++)
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(r, j)[i] = 2 * kn_at(r, i, j) + (j % 2 ? 1 : -1);
    for (int few = 0; few < 2; few++) {
        ptrdiff_t controls = few ? FEW : r.rows, sites = r.rows / controls;
        double off = 0, raw = 0, scale = 0, kappa = 0, factor = 0, all = (double)(sites * T);
        double left = 0; /* what shrinking should leave of the squared error */
        for (ptrdiff_t k = 0; k < sites; k++) {
            kn_site_adapted x = adapt(&p, kn_sub(r, k * controls, 0, controls, T), kn_mat_none());
            for (ptrdiff_t j = 0; j < T; j++) {
                off += pow(x.offset[j] - (j % 2 ? 1 : -1), 2) / all;
                raw += pow(x.raw_offset[j] - (j % 2 ? 1 : -1), 2) / all;
                scale += log(x.scale[j] / 4 * p.w[j]) / all;
                double between = x.kappa * mean_tau2;
                double shrink = between / (between + p.w[j] / (double)controls),
                       truth = (j % 2 ? 1 : -1) - p.mu[j];
                left +=
                    (pow(shrink, 2) * 4 / (double)controls + pow((1 - shrink) * truth, 2)) / all;
            }
            kappa += x.kappa / (double)sites;
            factor += x.factor / (double)sites;
            kn_site_adapted_clear(&x);
        }
        /* Shrinking helps; many controls leave 4/1000 with a standard error of .001. */
        assert_true(few ? off < raw : off < 0.01);
        /* off is a mean of `all` squared errors that are nearly normal, so that 5 standard errors
         * are 5 sqrt(2/all) of it; kappa, which is of the same controls, changes shrink_j by less
         * than that. */
        assert_true(!few || fabs(off / left - 1) < 5 * sqrt(2 / all));
        assert_true(fabs(scale) < (few ? 0.5 : 0.1));
        assert_true(kappa > 1.5 && (few || factor > 2));
    }
    kn_sites_clear(&p);
    free(e.data), free(r.data), free(offset.data);
}

/* T_eff of all responses at once. */
static double T_eff_of_all(const places *x)
{
    kn_mat within = ref_new(x->e.rows, x->e.cols);
    double *dof = calloc((size_t)x->e.cols, sizeof *dof), *room = calloc((size_t)x->S * 3, 8),
           T_eff;
    kn_site_assignment of = {x->e.rows, x->site, x->S};
    kn_site_sums_of_response r = {room, room + x->S, room + 2 * x->S};
    for (ptrdiff_t j = 0; j < x->e.cols; j++) {
        kn_site_moments m = kn_site_moments_of(&of, kn_col(x->e, j), &r, kn_col(within, j));
        dof[j] = m.N - m.S;
    }
    assert_ok(ctx, kn_site_T_eff(ctx, within, dof, x->e.cols, &T_eff));
    free(within.data), free(dof), free(room);
    return T_eff;
}

static void a_sample_of_responses_knows_how_many_all_are_worth(void **state)
{
    (void)state;
    enum { N = 600, T = 2500, SAMPLE = 1000 }; /* 600,000 cells */
    places x = places_new(N, T, 4, 0, 0);
    kn_mat z = ref_normal(&rng, N, T);
    for (int kind = 0; kind < 3; kind++) {
        for (ptrdiff_t j = 0; j < T; j++)
            for (ptrdiff_t i = 0; i < N; i++) /* independent; runs of 50 alike; one like all */
                kn_col(x.e, j)[i] = kind == 0   ? kn_at(z, i, j)
                                    : kind == 1 ? kn_at(z, i, j / 50) + 0.3 * kn_at(z, i, j)
                                                : kn_at(z, i, 0);
        kn_sites p;
        assert_ok(ctx,
                  prior_in_blocks(x.e, kn_mat_none(), (kn_site_assignment){N, x.site, 4}, 500, &p));
        double all = T_eff_of_all(&x);
        assert_true(fabs(log(p.T_eff_offset / all)) < 0.1);
        assert_true(kind != 0 || p.T_eff_offset > 1.5 * SAMPLE);
        assert_true(kind != 1 || (p.T_eff_offset > 40 && p.T_eff_offset < 75));
        assert_true(kind != 2 || p.T_eff_offset < 1.01);
        kn_sites_clear(&p);
    }
    free(z.data);
    places_free(&x);
}

TEST_PROGRAM(norm_site_prior)
{
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 83, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_responses_do_not_speak_for_the_site),
        cmocka_unit_test(one_kind_of_residuals_matches_golden),
        cmocka_unit_test(noise_by_covariates_and_new_participants_match_golden),
        cmocka_unit_test(any_shape_with_missing_cells_equals_the_slow_version),
        cmocka_unit_test(one_site_gives_the_usual_noise),
        cmocka_unit_test(variances_keep_to_their_floors),
        cmocka_unit_test(a_response_without_controls_takes_the_site_effect_of_the_others),
        cmocka_unit_test(controls_are_the_rows_that_are_named),
        cmocka_unit_test(planted_sites_are_found),
        cmocka_unit_test(a_sample_of_responses_knows_how_many_all_are_worth),
    };
    int failed = cmocka_run_group_tests_name("sites", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
