/* Covariances as lists of terms: the record of a model. */
#include "support/own_kernels.h"

#include "model/file/internal.h"

static kn_gp recorded(void)
{
    kn_gp gp = {.F = F, .s2 = 0.3, .pca = true, .spec = {.noise = KN_NOISE_ISO}};
    static const ptrdiff_t columns[][2] = {{0, F}, {2, 1}, {1, 3}};
    for (int k = 0; k < 3; k++)
        assert_ok(ctx, kn_cov_add(ctx, &gp.spec.sample, k < 2 ? &kn_kernel_linear : &kn_kernel_se,
                                  columns[k][0], columns[k][1]));
    assert_ok(ctx, kn_cov_add(ctx, &gp.spec.sample, &kn_kernel_iso, 0, F));
    gp.spec.task = cov_of("linear+iso", KN_ALL_COLUMNS);
    gp.latent.cell[0].R0.cov = kn_cov_between(&gp.spec.sample);
    gp.latent.cell[0].R0.m = 1;
    for (int i = 0; i < gp.latent.cell[0].R0.cov.n_theta; i++)
        gp.latent.cell[0].R0.theta[i] = 0.1 * (i + 1) + 1e-15;
    gp.latent.cell[0].R0.theta[1] = -INFINITY; /* a term that is off */
    for (int i = 0; i < 4; i++)
        gp.inside[i] = -0.2 * (i + 1);
    return gp;
}

static void terms_and_parameters_survive_the_record(void **state)
{
    (void)state;
    kn_gp gp = recorded(), back = {.F = F};
    json_t *j = kn_kernel_to_json(&gp);
    char *text = json_dumps(j, JSON_REAL_PRECISION(17));
    json_t *again = json_loads(text, 0, NULL);
    assert_ok(ctx, kn_kernel_from_json(ctx, "file", again, &back));
    assert_memory_equal(&back.spec.sample, &gp.spec.sample, sizeof gp.spec.sample);
    assert_memory_equal(&back.spec.task, &gp.spec.task, sizeof gp.spec.task);
    assert_memory_equal(back.latent.cell[0].R0.theta, gp.latent.cell[0].R0.theta,
                        sizeof gp.latent.cell[0].R0.theta);
    assert_memory_equal(back.inside, gp.inside, sizeof gp.inside);
    assert_true(back.s2 == gp.s2 && back.pca);
    json_t *w = json_object_get(again, "weights");
    assert_int_equal(json_array_size(w), 3);
    double sum = 0;
    for (size_t k = 0; k < 3; k++)
        sum += json_number_value(json_array_get(w, k));
    assert_close(sum, 1, 1e-14);
    json_decref(j), json_decref(again), free(text);
}

static void a_damaged_record_is_refused(void **state)
{
    (void)state;
    kn_gp gp = recorded();
#define REFUSED(text, change)                                                                      \
    do {                                                                                           \
        json_t *j = kn_kernel_to_json(&gp), *t = json_array_get(json_object_get(j, "terms"), 0);   \
        kn_gp back = {.F = F};                                                                     \
        change;                                                                                    \
        assert_refused(ctx, kn_kernel_from_json(ctx, "file", j, &back), KN_ERR_FORMAT, text);      \
        json_decref(j);                                                                            \
    } while (0)
    REFUSED("has a term 'cubic' that kronorm",
            json_object_set_new(t, "kernel", json_string("cubic")));
    REFUSED("'kernel'", json_object_set_new(t, "columns", json_pack("[i i]", 0, F + 1)));
    REFUSED("'kernel'", json_object_set_new(t, "columns", json_pack("[i i]", -1, 2)));
    REFUSED("'kernel'", json_object_set_new(t, "columns", json_pack("[i i]", 1, 0)));
    REFUSED("'kernel'", json_object_set_new(t, "columns", json_pack("[i i]", 2, 1))); /* twice */
    REFUSED("'kernel'", json_object_del(j, "task_terms"); (void)t);
    REFUSED("'kernel'", json_array_clear(json_object_get(j, "terms")); (void)t);
    REFUSED("'kernel'", json_object_set_new(j, "s2", json_real(-1)); (void)t);
}

TEST_PROGRAM(cov_json)
{
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 42, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terms_and_parameters_survive_the_record),
        cmocka_unit_test(a_damaged_record_is_refused),
    };
    int failed = cmocka_run_group_tests_name("cov_record", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
