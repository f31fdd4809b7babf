#include "support/test.h"

#include "base/random.h"
#include "model/file/change.h"
#include "norm/change/reference.h"
#include "stats/distributions.h"

/* ---- derivatives of ln Gamma --------------------------------------------------------------------
 */

static const double SCIPY[][3] = {
    /* x, scipy.special.digamma(x), polygamma(1, x) */
    {0.001, -1000.5755719318103, 1000001.6425331959},
    {0.01, -100.56088545786868, 10001.621213528311},
    {0.10000000000000001, -10.423754940411076, 101.43329915079275},
    {0.5, -1.9635100260214235, 4.9348022005446799},
    {1, -0.57721566490153287, 1.6449340668482266},
    {1.5, 0.03648997397857652, 0.93480220054467933},
    {2, 0.42278433509846713, 0.64493406684822663},
    {2.5, 0.70315664064524319, 0.49035775610023491},
    {3.5, 1.1031566406452431, 0.33035775610023488},
    {4, 1.2561176684318003, 0.28382295573711525},
    {5.5, 1.611093148581751, 0.1993423869896277},
    {7, 1.872784335098467, 0.15354517795933756},
    {9.5, 2.1977378764029494, 0.11099728846909902},
    {10, 2.2517525890667209, 0.10516633568168576},
    {12.25, 2.4641546551853692, 0.085055142988163218},
    {19.5, 2.9445543434255952, 0.052619441213655929},
    {33, 3.4812795305349873, 0.030766804020302092},
    {100, 4.6001618527380881, 0.010050166663333573},
    {1234.5, 7.1180162318279985, 0.00081037272712696678},
    {100000, 11.512920464961896, 1.0000050000166665e-05},
    {10000000, 16.11809560095832, 1.0000000500000016e-07},
};

#define assert_in(x, low, high)                                                                    \
    do {                                                                                           \
        double x_ = (x);                                                                           \
        if (!(x_ >= (low) && x_ <= (high)))                                                        \
            fail_msg("%s is %.4f, expected %g to %g", #x, x_, (double)(low), (double)(high));      \
    } while (0)

static void assert_relative(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance * fabs(b)))
        fail_msg("%.17g, expected %.17g", a, b);
}

static void derivatives_of_ln_gamma_are_scipys(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof SCIPY / sizeof *SCIPY; k++) {
        assert_relative(kn_digamma(SCIPY[k][0]), SCIPY[k][1], 1e-12);
        assert_relative(kn_trigamma(SCIPY[k][0]), SCIPY[k][2], 1e-12);
        assert_relative(kn_trigamma_inverse(SCIPY[k][2]), SCIPY[k][0], 1e-12);
    }
    assert_true(isnan(kn_digamma(0)) && isnan(kn_trigamma(-1)) && isnan(kn_trigamma_inverse(NAN)));
    assert_true(kn_trigamma_inverse(1e9) == KN_TRIGAMMA_LOW);
    assert_true(kn_trigamma_inverse(0) == KN_TRIGAMMA_HIGH);
}

/* ---- golden -------------------------------------------------------------------------------------
 */

/* Row i of a matrix; the caller frees. */
static double *row_of(kn_mat m, ptrdiff_t i)
{
    double *row = malloc((size_t)m.cols * sizeof *row);
    for (ptrdiff_t j = 0; j < m.cols; j++)
        row[j] = kn_at(m, i, j);
    return row;
}

static void add_rows(kn_change_sums *s, kn_mat r1, kn_mat r2, ptrdiff_t n, double w)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        double *a = row_of(r1, i), *b = row_of(r2, i);
        kn_change_sums_add(s, a, b, w);
        free(a), free(b);
    }
}

static void check_golden(kn_ctx *ctx, json_t *all, const char *name, bool conditional)
{
    char z_name[64];
    json_t *in = json_object_get(all, "inputs"), *want = json_object_get(all, name);
    kn_mat r1 = golden_rows(in, "visit1"), r2 = golden_rows(in, "visit2"),
           noise = golden_column(in, "noise"), q = golden_column(want, "q"),
           m1 = golden_column(want, "m1");
    kn_change_sums s = {0};
    kn_change_distribution distribution;
    snprintf(z_name, sizeof z_name, "%s_z", name);
    kn_mat z = golden_rows(all, z_name);
    assert_ok(ctx, kn_change_sums_new(ctx, r1.cols, &s));
    add_rows(&s, r1, r2, r1.rows, 1);
    assert_ok(ctx, kn_change_fit(ctx, &s, noise.data, conditional, KN_CHANGE_MIN, &distribution));
    assert_relative(distribution.d0, golden_number(want, "d0"), 1e-9);
    assert_relative(distribution.s0, golden_number(want, "s0"), 1e-9);
    assert_relative(kn_change_df(&distribution, 0), golden_number(want, "df"), 1e-9);
    assert_close(distribution.gamma, golden_number(want, "gamma"), 1e-9);
    for (ptrdiff_t j = 0; j < distribution.T; j++) {
        assert_relative(distribution.q[j], q.data[j], 1e-9);
        assert_close(distribution.m1[j], m1.data[j], 1e-9);
        assert_true(distribution.n[j] == golden_number(want, "n"));
    }
    for (ptrdiff_t i = 0; i < z.rows; i++) {
        double *a = row_of(r1, i), *b = row_of(r2, i), *out = row_of(z, i);
        kn_change_z(&distribution, noise.data, a, b, out);
        for (ptrdiff_t j = 0; j < distribution.T; j++)
            assert_relative(out[j], kn_at(z, i, j), 1e-9);
        free(a), free(b), free(out);
    }
    kn_change_distribution_clear(&distribution);
    kn_change_sums_clear(&s);
    free(r1.data), free(r2.data), free(noise.data), free(q.data), free(m1.data), free(z.data);
}

static void distribution_and_z_match_golden(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    json_t *all = golden_json("norms/expected", "");
    check_golden(ctx, all, "change_difference", false);
    check_golden(ctx, all, "change_conditional", true);
    json_decref(all);
    kn_ctx_free(ctx);
}

/* ---- slow and obvious ---------------------------------------------------------------------------
 */

typedef struct study {
    ptrdiff_t n, T;
    float *R; /* 2 n x T, visits of one participant together */
    ptrdiff_t *first, *second, *participant;
    double *noise;
} study;

/* Visits that correlate by rho, a share of it common to all responses. */
static study study_new(kn_rng *rng, ptrdiff_t n, ptrdiff_t T, double rho)
{
    study s = {.n = n, .T = T};
    s.R = malloc((size_t)(2 * n * T) * sizeof *s.R);
    s.first = malloc((size_t)n * sizeof *s.first);
    s.second = malloc((size_t)n * sizeof *s.second);
    s.participant = malloc((size_t)n * sizeof *s.participant);
    s.noise = malloc((size_t)T * sizeof *s.noise);
    for (ptrdiff_t j = 0; j < T; j++)
        s.noise[j] = 0.3 + 0.1 * (double)(j % 5);
    for (ptrdiff_t i = 0; i < n; i++) {
        double common[2] = {kn_rng_normal(rng), kn_rng_normal(rng)};
        s.first[i] = 2 * i;
        s.second[i] = 2 * i + 1;
        s.participant[i] = i;
        for (ptrdiff_t j = 0; j < T; j++) {
            double stays = kn_rng_normal(rng);
            for (int v = 0; v < 2; v++) {
                double e = sqrt(0.8) * kn_rng_normal(rng) + sqrt(0.2) * common[v];
                s.R[(2 * i + v) * T + j] =
                    (float)(sqrt(s.noise[j]) * (sqrt(rho) * stays + sqrt(1 - rho) * e));
            }
        }
    }
    return s;
}

static void study_free(study *s)
{
    free(s->R), free(s->first), free(s->second), free(s->participant), free(s->noise);
}

static kn_change_pairs pairs_of(const study *s)
{
    return (kn_change_pairs){s->R, s->T, s->n, s->first, s->second, s->participant, NULL};
}

typedef struct kept {
    float *z;
    ptrdiff_t T;
} kept;

static kn_status keep_z(void *self, kn_ctx *ctx, ptrdiff_t i, const float *z)
{
    kept *to = self;
    (void)ctx;
    memcpy(to->z + i * to->T, z, (size_t)to->T * sizeof *z);
    return KN_OK;
}

static kn_change_reference reference_of(kn_ctx *ctx, const study *s, kn_mat value, float *z)
{
    kn_change_reference r = {.threshold = 1.96, .top = 0.05};
    kn_change_pairs p = pairs_of(s);
    kept to = {z, s->T};
    kn_change_sink sink = {&to, keep_z};
    assert_ok(ctx, kn_change_reference_make(ctx, &p, s->noise, value, z ? &sink : NULL, &r));
    return r;
}

/* A refit from nothing but the other participants. */
static void own_pairs_are_never_in_their_reference(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_rng rng;
    static const ptrdiff_t sizes[] = {5, 7, 8, 9, 20};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        ref_rng_init(&rng, k + 1, 3);
        /* The slope of d on x is -1/2 here. With 8 participants and 60 responses its standard error
         * is sqrt(3/4 / (7 * 60)) = .042, or .062 with the part of visits that responses share (it
         * multiplies the variance by 1 + 59 * .1 * .2): gamma < 0 by 8 standard errors. */
        study s = study_new(&rng, sizes[k], 60, 0.5);
        kn_mat value = ref_new(s.n, KN_CHANGE_VALUES);
        float *z = malloc((size_t)(s.n * s.T) * sizeof *z);
        double *a = malloc((size_t)s.T * sizeof *a), *b = malloc((size_t)s.T * sizeof *b),
               *out = malloc((size_t)s.T * sizeof *out);
        if (k == 2)
            s.R[3] = NAN;
        kn_change_reference r = reference_of(ctx, &s, value, z);
        assert_true(r.participants == s.n && r.distribution.conditional == (s.n >= 8));
        assert_true(s.n >= 8 ? r.distribution.gamma < 0 : r.distribution.gamma == 0);
        for (ptrdiff_t i = 0; i < s.n; i++) {
            kn_change_sums others = {0};
            kn_change_distribution distribution;
            assert_ok(ctx, kn_change_sums_new(ctx, s.T, &others));
            for (ptrdiff_t o = 0; o <= s.n; o++) { /* the participant last, to be scored */
                ptrdiff_t p = o < s.n ? o : i;
                for (ptrdiff_t j = 0; j < s.T; j++) {
                    a[j] = (double)s.R[2 * p * s.T + j];
                    b[j] = (double)s.R[(2 * p + 1) * s.T + j];
                }
                if (o < s.n && o != i)
                    kn_change_sums_add(&others, a, b, 1);
            }
            assert_ok(ctx, kn_change_fit(ctx, &others, s.noise, s.n >= 8, 4, &distribution));
            kn_change_z(&distribution, s.noise, a, b, out);
            for (ptrdiff_t j = 0; j < s.T; j++)
                if (isnan(out[j]))
                    assert_true(isnan(z[i * s.T + j]) && i == 0 && j == 3);
                else
                    assert_close((double)z[i * s.T + j], out[j], 1e-6);
            kn_change_distribution_clear(&distribution);
            kn_change_sums_clear(&others);
        }
        free(value.data), free(z), free(a), free(b), free(out);
        kn_change_reference_clear(&r);
        study_free(&s);
    }
    kn_ctx_free(ctx);
}

/* A participant with two pairs counts once; without one of them the rest has its half. */
static void several_pairs_of_one_participant_are_one_participant(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_rng rng;
    ref_rng_init(&rng, 9, 3);
    study s = study_new(&rng, 20, 6, 0.9);
    kn_mat value = ref_new(s.n, KN_CHANGE_VALUES);
    for (ptrdiff_t i = 0; i < s.n; i++)
        s.participant[i] = i / 2;
    s.R[0] = NAN;
    kn_change_reference r = reference_of(ctx, &s, value, NULL);
    assert_true(r.participants == 10 && r.pairs == 20 && r.n[KN_CHANGE_EXTREME_Z] == 20);
    assert_close(r.distribution.n[0], 9.5, 1e-12);
    assert_close(r.distribution.n[1], 10, 1e-12);
    assert_true(kn_change_df(&r.distribution, 1) == r.distribution.d0 + r.distribution.n[1] - 1);
    /* no pair of the same participant is among those it is ranked with: 18 others */
    double own[2] = {kn_at(value, 0, 0), kn_at(value, 1, 0)}, above = 0;
    for (ptrdiff_t i = 2; i < s.n; i++)
        above += kn_at(value, i, 0) >= own[0];
    assert_close(kn_change_p(&r, KN_CHANGE_EXTREME_Z, own[0], own, 2), (1 + above) / 19, 1e-15);
    assert_close(kn_change_p(&r, KN_CHANGE_EXTREME_Z, 1e9, NULL, 0), 1.0 / 21, 1e-15);
    assert_true(isnan(kn_change_p(&r, KN_CHANGE_N_LOW, NAN, NULL, 0)));
    free(value.data);
    kn_change_reference_clear(&r);
    study_free(&s);
    kn_ctx_free(ctx);
}

static void too_few_values_and_no_change_have_no_z(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_rng rng;
    ref_rng_init(&rng, 10, 3);
    study s = study_new(&rng, 9, 6, 0.9);
    kn_mat value = ref_new(s.n, KN_CHANGE_VALUES);
    float z[6];
    double work[18];
    for (ptrdiff_t i = 0; i < s.n; i++) {
        if (i > 3)
            s.R[2 * i * s.T] = NAN; /* four participants have the first response */
        if (i > 4)
            s.R[2 * i * s.T + 1] = NAN;                    /* five the second */
        s.R[(2 * i + 1) * s.T + 2] = s.R[2 * i * s.T + 2]; /* no participant changes in the third */
    }
    kn_change_reference r = reference_of(ctx, &s, value, NULL);
    kn_change_pair_z(&r.distribution, s.noise, s.R, s.R + s.T, work, z);
    assert_true(isnan(z[0]) && isnan(z[2]) && isfinite(z[1]) && isfinite(z[3]));
    assert_true(isfinite(kn_at(value, 8, KN_CHANGE_EXTREME_Z)));
    free(value.data);
    kn_change_reference_clear(&r);
    study_free(&s);
    /* one response: its own variance and nothing else */
    s = study_new(&rng, 12, 1, 0.9);
    value = ref_new(s.n, KN_CHANGE_VALUES);
    r = reference_of(ctx, &s, value, NULL);
    assert_true(r.distribution.d0 == 0 && r.distribution.q[0] > 0 &&
                kn_change_df(&r.distribution, 0) == 11);
    free(value.data);
    kn_change_reference_clear(&r);
    study_free(&s);
    kn_ctx_free(ctx);
}

/* ---- in a file ----------------------------------------------------------------------------------
 */

/* What a file with these arrays and this record gives. */
static kn_status read_back(kn_ctx *ctx, const kn_change_reference *arrays, json_t *change,
                           ptrdiff_t T, kn_change_reference *out)
{
    kn_st_writer *w;
    kn_st_file *f;
    void *bytes;
    ptrdiff_t n;
    json_t *record = json_pack("{s:O}", "change", change);
    *out = (kn_change_reference){0};
    assert_ok(ctx, kn_st_writer_new(ctx, &w));
    assert_ok(ctx, kn_change_add(ctx, arrays, w));
    assert_ok(ctx, kn_st_write_bytes(ctx, w, &bytes, &n));
    assert_ok(ctx, kn_st_parse(ctx, "x.safetensors", bytes, n, &f));
    kn_status status = kn_change_read(ctx, f, record, T, out);
    kn_st_close(f);
    kn_free(bytes);
    kn_st_writer_free(w);
    json_decref(record);
    return status;
}

static void assert_bad(kn_ctx *ctx, const kn_change_reference *arrays, json_t *change, ptrdiff_t T)
{
    kn_change_reference back;
    assert_refused(ctx, read_back(ctx, arrays, change, T, &back), KN_ERR_FORMAT, "x.safetensors: ");
    kn_change_reference_clear(&back);
}

static void a_reference_in_a_file_is_itself_or_refused(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value;
    } lies[] = {{"participants", "4"},
                {"participants", "null"},
                {"pairs", "3"},
                {"formula", "\"best\""},
                {"gamma", "-1.5"},
                {"gamma", "null"},
                {"gamma", "0.1"},
                {"d0", "-1"},
                {"s0", "0"},
                {"s0", "null"},
                {"top", "2"},
                {"threshold", "0"},
                {"interval", "{\"least\": 2, \"largest\": 1}"}};
    enum { T = 7 };
    kn_ctx *ctx = kn_ctx_new();
    kn_rng rng;
    ref_rng_init(&rng, 12, 3);
    study s = study_new(&rng, 20, T, 0.9);
    kn_mat value = ref_new(s.n, KN_CHANGE_VALUES);
    kn_change_reference r = reference_of(ctx, &s, value, NULL), back;
    r.interval[0] = 0.5, r.interval[1] = 2;
    json_t *json = kn_change_to_json(&r);
    float a[T], b[T];
    double work[3 * T];
    assert_ok(ctx, read_back(ctx, &r, json, T, &back));
    kn_change_pair_z(&r.distribution, s.noise, s.R, s.R + T, work, a);
    kn_change_pair_z(&back.distribution, s.noise, s.R, s.R + T, work, b);
    assert_memory_equal(a, b, sizeof a);
    for (int k = 0; k < KN_CHANGE_VALUES; k++) { /* fewer than 20 responses have no counts */
        double p = kn_change_p(&r, (kn_change_value)k, 1, NULL, 0);
        double q = kn_change_p(&back, (kn_change_value)k, 1, NULL, 0);
        assert_true(back.n[k] == r.n[k] && (p == q || (r.n[k] == 0 && isnan(p) && isnan(q))));
    }
    kn_change_reference_clear(&back);
    for (size_t k = 0; k < sizeof lies / sizeof *lies; k++) {
        json_t *lie = json_copy(json);
        json_object_set_new(lie, lies[k].key, json_loads(lies[k].value, JSON_DECODE_ANY, NULL));
        assert_bad(ctx, &r, lie, T);
        json_decref(lie);
    }
    assert_bad(ctx, &r, json, T + 1);
    double q = r.distribution.q[2], lowest = r.sorted[0][0];
    r.distribution.q[2] = -1;
    assert_bad(ctx, &r, json, T);
    r.distribution.q[2] = q;
    r.distribution.m1[0] = NAN;
    assert_bad(ctx, &r, json, T);
    r.distribution.m1[0] = 0;
    r.sorted[0][0] = 1e9;
    assert_bad(ctx, &r, json, T);
    r.sorted[0][0] = lowest;
    assert_ok(ctx, read_back(ctx, &r, json, T, &back));
    kn_change_reference_clear(&back);
    json_decref(json);
    free(value.data);
    kn_change_reference_clear(&r);
    study_free(&s);
    kn_ctx_free(ctx);
}

/* ---- what it is for -----------------------------------------------------------------------------
 */

typedef struct rates {
    double beyond, z, p[KN_CHANGE_VALUES], down,
        participants; /* down: participants whose mean z is negative */
} rates;

/* New participants against these; shift: of the second visit, in sd of the noise. */
static void score_new(const kn_change_reference *r, const study *s, double shift, rates *out)
{
    float *z = malloc((size_t)s->T * sizeof *z);
    double *work = malloc((size_t)(3 * s->T) * sizeof *work), value[KN_CHANGE_VALUES];
    for (ptrdiff_t i = 0; i < s->n; i++) {
        float *second = s->R + (2 * i + 1) * s->T;
        for (ptrdiff_t j = 0; j < s->T; j++)
            second[j] += (float)(shift * sqrt(s->noise[j]));
        kn_change_pair_z(&r->distribution, s->noise, s->R + 2 * i * s->T, second, work, z);
        for (ptrdiff_t j = 0; j < s->T; j++)
            out->beyond += fabs((double)z[j]) > 1.96;
        out->z += (double)s->T;
        kn_change_describe(z, s->T, r, work, value);
        for (int k = 0; k < KN_CHANGE_VALUES; k++)
            out->p[k] += kn_change_p(r, (kn_change_value)k, value[k], NULL, 0) <= 0.05;
        out->down += value[KN_CHANGE_MEAN_Z] < 0;
        out->participants++;
    }
    free(z), free(work);
}

/* The rate among new participants depends on who the 40 are, by .033 of one draw: so of many. */
static void stable_participants_are_called_changed_as_often_as_they_should(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_rng rng;
    rates stable = {0}, decline = {0};
    int draws = repeat(400, 200);
    ref_rng_init(&rng, 4, 8);
    for (int k = 0; k < draws; k++) {
        study controls = study_new(&rng, 40, 24, 0.9), fresh = study_new(&rng, 20, 24, 0.9);
        kn_mat value = ref_new(controls.n, KN_CHANGE_VALUES);
        kn_change_reference r = reference_of(ctx, &controls, value, NULL);
        score_new(&r, &fresh, 0, &stable);
        score_new(&r, &fresh, -1, &decline);
        kn_change_reference_clear(&r);
        study_free(&controls), study_free(&fresh);
        free(value.data);
    }
    printf("# %g stable people: %.3f beyond 1.96; p <= .05: %.3f %.3f %.3f %.3f %.3f\n",
           stable.participants, stable.beyond / stable.z, stable.p[0] / stable.participants,
           stable.p[1] / stable.participants, stable.p[2] / stable.participants,
           stable.p[3] / stable.participants, stable.p[4] / stable.participants);
    assert_true(stable.participants >= 400);
    assert_in(stable.beyond / stable.z, 0.03, 0.07);
    assert_in(stable.p[KN_CHANGE_EXTREME_Z] / stable.participants, 0.03, 0.07);
    assert_in(stable.p[KN_CHANGE_MEAN_Z] / stable.participants, 0.03, 0.07);
    assert_in(stable.p[KN_CHANGE_MEAN_Z2] / stable.participants, 0.03, 0.07);
    assert_true(stable.p[KN_CHANGE_N_LOW] <=
                0.07 * stable.participants); /* ties count against it */
    /* The mean z of a participant is 1/sqrt(.2) = 2.2 lower, and its standard deviation is
     * sqrt(.2 + .8/24) = .48: one participant in 400000 has the other sign. */
    assert_true(decline.down > 0.999 * decline.participants);
    assert_true(decline.p[KN_CHANGE_MEAN_Z] > 0.9 * decline.participants);
    assert_true(decline.p[KN_CHANGE_N_LOW] > 0.9 * decline.participants);
    assert_true(decline.p[KN_CHANGE_N_HIGH] < 0.05 * decline.participants);
    kn_ctx_free(ctx);
}

TEST_PROGRAM(norm_change_model)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derivatives_of_ln_gamma_are_scipys),
        cmocka_unit_test(distribution_and_z_match_golden),
        cmocka_unit_test(own_pairs_are_never_in_their_reference),
        cmocka_unit_test(several_pairs_of_one_participant_are_one_participant),
        cmocka_unit_test(too_few_values_and_no_change_have_no_z),
        cmocka_unit_test(a_reference_in_a_file_is_itself_or_refused),
        cmocka_unit_test(stable_participants_are_called_changed_as_often_as_they_should),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
