/* The prior over sites from cross-validated maps, and in a model file. */
#include "support/failing.h"
#include "support/remakes.h"

#include "model/file/internal.h"
#include "norm/sites/adapt_site.h"
#include "norm/sites/learn_site_prior.h"
#include "support/priors.h"

static kn_ctx *ctx;
static kn_rng rng;

enum { PARTICIPANTS = 45, RESPONSES = 2100 }; /* in two blocks */

static crowd visitors(ptrdiff_t T)
{
    crowd c = crowd_new(&rng, PARTICIPANTS, T);
    for (ptrdiff_t i = 0; i < PARTICIPANTS; i++)
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(c.Y, j)[i] = crowd_age(&c, i) + (double)(i % 4) + kn_rng_normal(&rng);
    return c;
}

/* A noise scale for these participants, and the job. */
static kn_sites_job job_of(const remake *r, int *site, kn_calibration_transform *calibration,
                           kn_mat *D)
{
    ptrdiff_t T = r->m->gp.T;
    *calibration = (kn_calibration_transform){.nu = 30, .beta = ref_normal(&rng, 2, T)};
    *D = ref_new(PARTICIPANTS, 2);
    for (ptrdiff_t i = 0; i < PARTICIPANTS; i++) {
        site[i] = (int)(i % 4);
        kn_col(*D, 0)[i] = 1;
        kn_col(*D, 1)[i] = (double)i / PARTICIPANTS - 0.5;
    }
    return (kn_sites_job){
        .cv = &r->cv, .site = site, .S = 4, .calibration = calibration, .D = *D, .seed = 7};
}

/* Maps that learn nothing from responses, some of which may be missing. */
static kn_gp_maps maps_at_fixed_parameters(const remake *r, kn_fold_prediction *part)
{
    *part =
        (kn_fold_prediction){.n = PARTICIPANTS, .mean = ref_normal(&rng, PARTICIPANTS, r->m->gp.P)};
    return (kn_gp_maps){.gp = &r->m->gp, .Y = r->R, .n = PARTICIPANTS, .n_parts = 1, .part = part};
}

/* By what the maps show: residuals, as they are and scaled. */
static void assert_as_residuals(const kn_sites_job *job, kn_mat D)
{
    kn_mat mean = ref_new(PARTICIPANTS, 20), e = ref_new(PARTICIPANTS, 20),
           es = ref_new(PARTICIPANTS, 20);
    kn_responses Y = kn_gp_maps_y(job->cv);
    kn_sites p;
    assert_ok(ctx, kn_gp_maps_block(ctx, job->cv, 0, mean, kn_mat_none()));
    kn_responses_block(ctx, &Y, 0, e);
    for (ptrdiff_t j = 0; j < 20; j++)
        for (ptrdiff_t i = 0; i < PARTICIPANTS; i++) {
            const double *beta = kn_col(job->calibration->beta, j);
            double eta = beta[0] + beta[1] * kn_at(D, i, 1);
            kn_col(e, j)[i] -= kn_at(mean, i, j);
            kn_col(es, j)[i] = kn_at(e, i, j) * (job->D.data ? exp(-0.5 * eta) : 1);
        }
    assert_ok(ctx, kn_sites_make(ctx, job, &p));
    assert_true(p.T == 20 && p.S == 4 && p.between);
    for (ptrdiff_t j = 0; j < 20; j++)
        assert_true(p.tau2[j] > 0.2 * p.w[j]); /* sites that differ by 1 sd and more */
    ref_prior q = ref_sites(e, es, job->site, 4);
    assert_prior(&p, &q);
    ref_sites_free(&q);
    kn_sites_clear(&p);
    free(mean.data), free(e.data), free(es.data);
}

static void maps_give_what_their_residuals_give(void **state)
{
    (void)state;
    crowd c = visitors(20);
    remake r = remake_new(ctx, &c, NULL, 3);
    int site[PARTICIPANTS];
    kn_calibration_transform calibration;
    kn_mat D;
    kn_fold_prediction part;
    kn_sites_job job = job_of(&r, site, &calibration, &D);
    kn_gp_maps still = maps_at_fixed_parameters(&r, &part);
    site[11] = -1;
    for (int missing = 0; missing < 2; missing++) {
        for (int k = 0; missing && k < 60; k++)
            kn_col(c.Y, kn_rng_below(&rng, 20))[kn_rng_below(&rng, PARTICIPANTS)] = NAN;
        job.cv = missing ? &still : &r.cv;
        for (int scale = 0; scale < 2; scale++) {
            job.D = scale ? D : kn_mat_none();
            assert_as_residuals(&job, D);
        }
    }
    free(calibration.beta.data), free(D.data), free(part.mean.data);
    remake_clear(&r);
    crowd_free(&c);
}

static void assert_bits(const kn_sites *p, const kn_sites *q)
{
    const double a[] = {p->kurt, p->T_eff_offset, p->T_eff_scale, p->v_a, p->v_b};
    const double b[] = {q->kurt, q->T_eff_offset, q->T_eff_scale, q->v_a, q->v_b};
    size_t bytes = (size_t)p->T * sizeof(double);
    assert_memory_equal(a, b, sizeof a);
    assert_memory_equal(p->mu, q->mu, bytes);
    assert_memory_equal(p->tau2, q->tau2, bytes);
    assert_memory_equal(p->w, q->w, bytes);
    assert_memory_equal(p->w_scale, q->w_scale, bytes);
}

static void threads_make_no_difference_and_memory_is_what_was_declared(void **state)
{
    (void)state;
    static const double SMALL = 4096; /* what grows with no size, see test_need */
    crowd c = visitors(RESPONSES);
    remake r = remake_new(ctx, &c, NULL, 3);
    int site[PARTICIPANTS], threads = kn_threads(ctx);
    kn_calibration_transform calibration;
    kn_mat D;
    kn_sites_job job = job_of(&r, site, &calibration, &D);
    kn_sites p[3];
    for (int k = 0; k < 3; k++) {
        kn_problem_size s = {.method = r.m->gp.method,
                             .N = PARTICIPANTS,
                             .T = RESPONSES,
                             .F = 2,
                             .P = r.m->gp.P,
                             .M = PARTICIPANTS,
                             .folds = 3,
                             .threads = k + 1,
                             .value = 8};
        kn_mem_plan need = {0};
        kn_set_threads(ctx, k + 1);
        kn_memory_peak_reset(ctx);
        size_t before = kn_memory_now(ctx);
        assert_ok(ctx, kn_sites_make(ctx, &job, &p[k]));
        double took = (double)(kn_memory_peak(ctx) - before);
        kn_sites_need(&need, &s, PARTICIPANTS, 4);
        double said = kn_mem_usage_sum(&need.peak);
        if (took > said + SMALL || said > 1.3 * took)
            fail_msg("%d threads: %.0f bytes were declared, %.0f taken", k + 1, said, took);
        assert_bits(&p[0], &p[k]);
    }
    kn_set_threads(ctx, threads);
    for (int k = 0; k < 3; k++)
        kn_sites_clear(&p[k]);
    free(calibration.beta.data), free(D.data);
    remake_clear(&r);
    crowd_free(&c);
}

/* ---- in a file ---- */

static kn_sites some_sites(ptrdiff_t T)
{
    kn_sites p;
    assert_ok(ctx, kn_sites_new(ctx, T, &p));
    p.S = 3, p.between = true, p.S1 = 2, p.kurt = 1.9, p.T_eff_offset = 1 + 1.0 / 3;
    p.T_eff_scale = 1.5, p.v_a = 0.1, p.v_b = 0.03;
    for (ptrdiff_t j = 0; j < T; j++) {
        p.mu[j] = kn_rng_normal(&rng);
        p.tau2[j] = kn_rng_uniform(&rng) + 0.1;
        p.w[j] = kn_rng_uniform(&rng) + 0.1;
        p.w_scale[j] = kn_rng_uniform(&rng) + 0.1;
    }
    return p;
}

static void a_model_saved_and_opened_knows_its_sites(void **state)
{
    (void)state;
    crowd c = visitors(20);
    remake r = remake_new(ctx, &c, NULL, 3);
    for (int with = 0; with < 2; with++) {
        kn_model *back;
        void *bytes;
        size_t n;
        if (with)
            r.m->sites = some_sites(20);
        assert_ok(ctx, kn_model_to_bytes(ctx, r.m, &bytes, &n));
        assert_ok(ctx, kn_model_from_bytes(ctx, bytes, n, &back));
        assert_int_equal(back->sites.T, with ? 20 : 0);
        if (with) {
            assert_true(back->sites.S == 3 && back->sites.between && back->sites.S1 == 2);
            assert_bits(&back->sites, &r.m->sites);
        }
        kn_bytes_free(bytes);
        kn_model_free(back);
    }
    remake_clear(&r);
    crowd_free(&c);
}

/* As a file would have it, with the record as it is here. */
static kn_status read_back(const kn_sites *arrays, json_t *sites, ptrdiff_t T)
{
    kn_st_writer *w;
    kn_st_file *f;
    kn_sites out = {0};
    void *bytes;
    ptrdiff_t n;
    json_t *record = json_object();
    if (sites)
        json_object_set(record, "sites", sites);
    assert_ok(ctx, kn_st_writer_new(ctx, &w));
    assert_ok(ctx, kn_sites_add(ctx, arrays, w));
    assert_ok(ctx, kn_st_write_bytes(ctx, w, &bytes, &n));
    assert_ok(ctx, kn_st_parse(ctx, "x.safetensors", bytes, n, &f));
    kn_status status = kn_sites_read(ctx, f, record, T, &out);
    assert_true(status == KN_OK || out.T == 0);
    kn_sites_clear(&out);
    kn_st_close(f);
    kn_free(bytes);
    kn_st_writer_free(w);
    json_decref(record);
    return status;
}

static void a_file_that_lies_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *key, *json;
    } LIES[] = {{"sites", "0"},           {"sites", "-3"},          {"sites", "1"},
                {"sites", "4294967297"},  {"sites", "null"},        {"sites", "2.5"},
                {"between", "1"},         {"between", "null"},      {"weight", "0"},
                {"weight", "null"},       {"weight", "-2"},         {"kurt", "-1"},
                {"kurt", "null"},         {"T_eff_offset", "0.5"},  {"T_eff_offset", "6"},
                {"T_eff_offset", "null"}, {"T_eff_scale", "\"2\""}, {"v_a", "0"},
                {"v_a", "null"},          {"v_b", "-0.1"},          {"v_b", "[1]"}};
    static const double NONSENSE[] = {NAN, INFINITY, -INFINITY};
    kn_sites p = some_sites(5);
    json_t *good = kn_sites_to_json(&p), *text = json_string("none");
    assert_ok(ctx, read_back(&p, good, 5));
    for (size_t k = 0; k < sizeof LIES / sizeof *LIES; k++) {
        json_t *bad = json_deep_copy(good);
        json_object_set_new(bad, LIES[k].key, json_loads(LIES[k].json, JSON_DECODE_ANY, NULL));
        if (read_back(&p, bad, 5) != KN_ERR_FORMAT)
            fail_msg("%s = %s is believed", LIES[k].key, LIES[k].json);
        assert_non_null(strstr(kn_message(ctx), "x.safetensors: "));
        json_decref(bad);
    }
    assert_int_equal(read_back(&p, text, 5), KN_ERR_FORMAT); /* no sites is not that */
    assert_int_equal(read_back(&p, good, 6), KN_ERR_FORMAT); /* of other responses */
    assert_int_equal(read_back(&(kn_sites){0}, good, 5), KN_ERR_FORMAT);
    assert_ok(ctx, read_back(&p, NULL, 5));
    double *cell[] = {&p.mu[2], &p.tau2[0], &p.w[4], &p.w_scale[1]};
    for (int c = 0; c < 4; c++)
        for (int k = 0; k < 3 + (c > 0); k++) {
            double was = *cell[c];
            *cell[c] = k < 3 ? NONSENSE[k] : -0.1;
            assert_int_equal(read_back(&p, good, 5), KN_ERR_FORMAT);
            *cell[c] = was;
        }
    json_decref(good), json_decref(text);
    kn_sites_clear(&p);
}

static int open_fixture(void **state)
{
    (void)state;
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 84, 0);
    return 0;
}

static int close_fixture(void **state)
{
    (void)state;
    kn_ctx_free(ctx);
    return 0;
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(norm_site_prior_maps, open_fixture, close_fixture)
{
    crowd c = visitors(20);
    remake r = remake_new(ctx, &c, NULL, 3);
    int site[PARTICIPANTS];
    kn_calibration_transform calibration;
    kn_mat D;
    kn_sites_job job = job_of(&r, site, &calibration, &D);
    kn_status status = KN_ERR_MEMORY;
    long k = 0;
    for (; status != KN_OK && k < 1000; k++) {
        kn_sites p;
        kn_site_adapted a = {0};
        size_t before = kn_memory_now(ctx);
        kn_fail_allocation(ctx, k + 1);
        status = kn_sites_make(ctx, &job, &p);
        if (status == KN_OK)
            status = kn_site_adapted_new(ctx, 20, &a);
        kn_fail_allocation(ctx, 0);
        assert_true(status == KN_OK || status == KN_ERR_MEMORY);
        kn_sites_clear(&p);
        kn_site_adapted_clear(&a);
        assert_true(k > 0 ? kn_memory_now(ctx) == before : true);
    }
    assert_int_equal(status, KN_OK);
    assert_true(k > 20);
    free(calibration.beta.data), free(D.data);
    remake_clear(&r);
    crowd_free(&c);
}

TEST_PROGRAM(norm_site_prior_maps)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_give_what_their_residuals_give),
        cmocka_unit_test(threads_make_no_difference_and_memory_is_what_was_declared),
        cmocka_unit_test(a_model_saved_and_opened_knows_its_sites),
        cmocka_unit_test(a_file_that_lies_is_refused),
    };
    return cmocka_run_group_tests_name("sites_maps", tests, open_fixture, close_fixture);
}
