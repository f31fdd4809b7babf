/* Change as the public call: what fails leaves nothing, and maps of many responses are those of
 * few. */
#include "support/crowds.h"
#include "support/failing.h"
#include "support/scratch.h"

static kn_ctx *ctx;

enum { PARTICIPANTS = 9, VISITS = 2 * PARTICIPANTS };

/* Two visits of some participants, all of them stable; T responses, each as in the first 24 again.
 */
typedef struct visits {
    crowd c;
    char name[VISITS][16];
    const char *id[VISITS], *visit[VISITS], *state[VISITS];
} visits;

static void visits_new(visits *v, ptrdiff_t T)
{
    kn_rng rng;
    ref_rng_init(&rng, 3, 1);
    v->c = crowd_new(&rng, VISITS, T);
    kn_mat own = ref_normal(&rng, PARTICIPANTS, 24), noise = ref_normal(&rng, VISITS, 24);
    for (ptrdiff_t i = 0; i < VISITS; i++) {
        snprintf(v->name[i], sizeof v->name[i], "p%td", i / 2);
        v->id[i] = v->name[i];
        v->visit[i] = i % 2 ? "later" : "first";
        v->state[i] = i < VISITS - 2 ? "stable" : "asked";
        v->c.age.data[i] = 40 + (double)(i / 2) + (i % 2 ? 0.5 : 0);
        v->c.sex[i] = i / 2 % 2 ? "f" : "m";
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(v->c.Y, j)[i] = kn_at(own, i / 2, j % 24) + 0.4 * kn_at(noise, i, j % 24);
    }
    free(own.data), free(noise.data);
}

static kn_data *visits_data(const visits *v)
{
    kn_data *d = crowd_data(ctx, &v->c);
    assert_ok(ctx, kn_data_ids(ctx, d, v->id));
    assert_ok(ctx, kn_data_texts(ctx, d, "visit", v->visit));
    assert_ok(ctx, kn_data_texts(ctx, d, "state", v->state));
    return d;
}

static kn_model *model_of(ptrdiff_t T)
{
    kn_rng rng;
    ref_rng_init(&rng, 4, 1);
    crowd train = crowd_new(&rng, 40, T);
    kn_mat y = ref_normal(&rng, 40, 24);
    for (ptrdiff_t j = 0; j < T; j++)
        for (ptrdiff_t i = 0; i < 40; i++)
            kn_col(train.Y, j)[i] = kn_at(y, i, j % 24);
    kn_model *m = crowd_fit(ctx, &train, "components=2 calibrate=none folds=4");
    crowd_free(&train);
    free(y.data);
    return m;
}

static void remove_out(void)
{
    static const char *const names[] = {"change_z.npy", "change.tsv", "change.json",
                                        "reference.json", "summary.json"};
    char path[64];
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        snprintf(path, sizeof path, "out/%s", names[k]);
        assert_int_equal(remove(path), 0);
    }
    scratch_empty();
}

/* The values of a .npy of float32, rows x cols. */
static float *values_of(const char *path, ptrdiff_t n)
{
    float *x = malloc((size_t)n * sizeof *x);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, -(long)((size_t)n * sizeof *x), SEEK_END), 0);
    assert_int_equal(fread(x, sizeof *x, (size_t)n, f), n);
    fclose(f);
    return x;
}

/* From 4096 responses on Student's step goes by a table; a response that is there 200 times has one
 * z. */
static void many_responses_have_the_z_of_few(void **state)
{
    (void)state;
    static const ptrdiff_t sizes[] = {24, 200 * 24};
    float *z[2];
    kn_change_info info[2] = {{.size = sizeof *info}, {.size = sizeof *info}};
    for (int k = 0; k < 2; k++) {
        visits v;
        visits_new(&v, sizes[k]);
        kn_model *m = model_of(sizes[k]);
        kn_data *d = visits_data(&v);
        kn_options *o =
            options_of(ctx, "change", "visit=visit reference=state=stable output=out force=yes");
        assert_ok(ctx, kn_change(ctx, m, d, o, &info[k]));
        z[k] = values_of("out/change_z.npy", PARTICIPANTS * sizes[k]);
        kn_options_free(o);
        kn_data_free(d);
        kn_model_free(m);
        crowd_free(&v.c);
    }
    assert_true(info[0].reference_participants == PARTICIPANTS - 1 &&
                info[0].pairs == PARTICIPANTS);
    assert_close(info[0].gamma, info[1].gamma, 1e-2);
    for (ptrdiff_t i = 0; i < PARTICIPANTS; i++)
        for (ptrdiff_t j = 0; j < sizes[1]; j++) {
            float many = z[1][i * sizes[1] + j];
            assert_true(many == z[1][i * sizes[1] + j % 24]);
            assert_close((double)many, (double)z[0][i * 24 + j % 24], 0.1);
        }
    free(z[0]), free(z[1]);
    remove_out();
}

static int open_fixture(void **state)
{
    ctx = kn_ctx_new();
    return scratch_enter(state);
}

static int close_fixture(void **state)
{
    int status = scratch_leave(state);
    kn_ctx_free(ctx);
    return status;
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(commands_change, open_fixture, close_fixture)
{
    visits v;
    visits_new(&v, 24);
    kn_model *m = model_of(24);
    kn_status status = KN_ERR_MEMORY;
    long k = 0;
    kn_options *o =
        options_of(ctx, "change",
                   "visit=visit reference=state=stable output=out save=two.safetensors");
    scratch_empty();
    while (status == KN_ERR_MEMORY && k < 20000) { /* the sanitizer run looks for leaks */
        kn_data *d = visits_data(&v);              /* the call settles it, once */
        kn_fail_allocation(ctx, ++k);
        status = kn_change(ctx, m, d, o, NULL);
        kn_fail_allocation(ctx, 0);
        kn_data_free(d);
        if (status == KN_ERR_MEMORY)
            assert_int_equal(scratch_count(), 0);
    }
    assert_int_equal(status, KN_OK);
    assert_true(k > 50);
    assert_int_equal(scratch_count(), 2);
    kn_options_free(o);
    kn_model_free(m);
    crowd_free(&v.c);
    remove_out();
}

TEST_PROGRAM(commands_change_api)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_responses_have_the_z_of_few),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
