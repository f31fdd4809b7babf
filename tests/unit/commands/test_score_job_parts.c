/* Scores in parts: sums that know no order, who is in which part, and files that are not believed.
 */
#include "support/calls.h"
#include "support/failing.h"
#include "support/folders.h"

#include "base/random.h"
#include "base/sum/binned_sum.h"
#include "data/sample.h"
#include "io/safetensors/safetensors.h"
#include "norm/metrics/metrics.h"

static kn_ctx *ctx;
static kn_rng rng;

/* ---- sums --------------------------------------------------------------------------------------
 */

static void shuffle(double *x, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int k = (int)((i + 1) * kn_rng_uniform(&rng));
        double y = x[i];
        x[i] = x[k];
        x[k] = y;
    }
}

/* Sizes over 2^-range to 2^range; long double is no judge of the last bits, but of all before. */
static void sums_know_neither_order_nor_parts(void **state)
{
    (void)state;
    enum { MAX_COUNT = 60, ROUNDS = 3000 };
    static const int range[] = {0, 3, 30, 120, 900};
    for (int round = 0; round < ROUNDS; round++) {
        double x[MAX_COUNT], first = 0;
        long double plain = 0, size = 0;
        int n = 1 + (int)(MAX_COUNT * kn_rng_uniform(&rng)) % MAX_COUNT;
        for (int i = 0; i < n; i++) {
            int e = (int)(range[round % 5] * (2 * kn_rng_uniform(&rng) - 1));
            x[i] = ldexp(kn_rng_normal(&rng), e);
            plain += (long double)x[i];
            size = fmaxl(size, fabsl((long double)x[i]));
        }
        for (int turn = 0; turn < 4; turn++) {
            kn_binned_sum part[3] = {{0}}, all = {0};
            for (int i = 0; i < n; i++)
                kn_binned_sum_add(&part[turn == 0 ? 0 : i % (turn + 1) % 3], x[i]);
            for (int p = 2; p >= 0; p--)
                kn_binned_sum_merge(&all, &part[p]);
            double value = kn_binned_sum_value(&all);
            if (turn == 0)
                first = value;
            assert_true(value == first);
            shuffle(x, n);
        }
        assert_true(fabsl((long double)first - plain) <= n * size * 0x1p-52L);
    }
}

static void sums_of_nothing_and_of_no_numbers(void **state)
{
    (void)state;
    kn_binned_sum none = {0}, some = {0};
    kn_binned_sum_add(&none, 0);
    kn_binned_sum_merge(&some, &none);
    assert_true(kn_binned_sum_value(&some) == 0);
    kn_binned_sum_add(&some, 0.1);
    assert_true(kn_binned_sum_value(&some) == 0.1);
    const double odd[] = {NAN, INFINITY, -INFINITY, 1e300};
    for (int k = 0; k < 4; k++)
        for (int late = 0; late < 2; late++) {
            kn_binned_sum s = {0};
            kn_binned_sum_add(&s, late ? 3 : odd[k]);
            kn_binned_sum_add(&s, late ? odd[k] : 3);
            assert_true(isnan(kn_binned_sum_value(&s)));
        }
    kn_binned_sum small = {0};
    kn_binned_sum_add(&small, 5e-324);
    assert_true(fabs(kn_binned_sum_value(&small)) < 1e-290);
}

static void metrics_of_parts_are_the_bits_of_all(void **state)
{
    (void)state;
    enum { N = 50, T = 9 };
    kn_mat y = ref_normal(&rng, N, T), mean = ref_normal(&rng, N, T), z = ref_normal(&rng, N, T);
    kn_mat loss = ref_normal(&rng, N, T), null = ref_normal(&rng, N, T);
    kn_mat whole = ref_new(T, KN_N_METRICS);
    double mean0[T], var0[T];
    for (int j = 0; j < T; j++)
        mean0[j] = 0.1 * j, var0[j] = 1 + j;
    kn_col(y, 2)[7] = NAN;
    for (int i = 0; i < N; i++)
        kn_col(y, 5)[i] = 0.3; /* does not vary: no R2 */
    for (int parts = 1; parts < 60; parts += 4) {
        kn_metric_tally all[T] = {0};
        kn_metric_sums sums[T];
        kn_mat out = ref_new(T, KN_N_METRICS);
        for (int p = parts - 1; p >= 0; p--) {
            kn_metric_tally own[T] = {0};
            for (int i = p; i < N; i += parts) {
                kn_measured m = {.y = kn_sub(y, i, 0, 1, T),
                                 .mean = kn_sub(mean, i, 0, 1, T),
                                 .mean0 = mean0,
                                 .var0 = var0};
                kn_cell_losses losses = {kn_sub(z, i, 0, 1, T), kn_sub(loss, i, 0, 1, T),
                                         kn_sub(null, i, 0, 1, T)};
                kn_tallies_add(ctx, &m, &losses, own);
            }
            kn_tallies_join(all, own, T);
        }
        for (int j = 0; j < T; j++)
            sums[j] = kn_tally_sums(&all[j], mean0[j]);
        kn_metrics_result(sums, out);
        assert_true(isnan(kn_at(out, 5, KN_METRIC_R2)) && isfinite(kn_at(out, 5, KN_METRIC_MSLL)));
        if (parts == 1)
            kn_mat_set(whole, out);
        assert_memory_equal(out.data, whole.data, sizeof(double) * T * KN_N_METRICS);
        free(out.data);
    }
    free(y.data), free(mean.data), free(z.data), free(loss.data), free(null.data), free(whole.data);
}

static void each_participant_is_in_one_job_part(void **state)
{
    (void)state;
    for (ptrdiff_t participants = 1; participants < 20; participants++)
        for (ptrdiff_t n = 1; n < 25; n++) {
            int seen[20] = {0};
            for (ptrdiff_t i = 1; i <= n; i++)
                for (ptrdiff_t k = 0; k < kn_job_part_size((kn_job_part){i, n}, participants); k++)
                    seen[kn_job_part_participant((kn_job_part){i, n}, k)]++;
            for (ptrdiff_t p = 0; p < participants; p++)
                assert_int_equal(seen[p], 1);
        }
}

/* ---- files -------------------------------------------------------------------------------------
 */

enum { PARTICIPANTS = 30, NEW = 9, REGIONS = 6 };

static void write_tables(void)
{
    FILE *x = fopen("people.csv", "w"), *y = fopen("regions.csv", "w");
    FILE *new_x = fopen("new.csv", "w"), *new_y = fopen("new_y.csv", "w");
    for (int i = -1; i < PARTICIPANTS + NEW; i++) {
        FILE *to[2] = {i < PARTICIPANTS ? x : new_x, i < PARTICIPANTS ? y : new_y};
        double age = 20 + 50 * kn_rng_uniform(&rng), shared = kn_rng_normal(&rng);
        if (i < 0) {
            fprintf(x, "participant_id,age\n"), fprintf(new_x, "participant_id,age\n");
            for (int k = 0; k < 2; k++)
                fprintf(k ? y : new_y, "participant_id,a,b,c,d,e,f\n");
            continue;
        }
        fprintf(to[0], "s%02d,%.1f\n", i, age);
        fprintf(to[1], "s%02d", i);
        for (int j = 0; j < REGIONS; j++)
            fprintf(to[1], ",%.5f", 3 + 0.01 * age * j + 0.3 * shared + 0.2 * kn_rng_normal(&rng));
        fprintf(to[1], "\n");
    }
    assert_int_equal(fclose(x) | fclose(y) | fclose(new_x) | fclose(new_y), 0);
}

static kn_status score(const char *more, kn_scores **scores)
{
    char text[256];
    snprintf(text, sizeof text, "model=m.safetensors covariates=new.csv responses=new_y.csv %s",
             more);
    return score_files(ctx, "score", text, 0, scores);
}

static void make_parts(void)
{
    kn_scores *s;
    folder_remove("out");
    assert_ok(ctx, score("output=out part=1/2", &s));
    kn_scores_free(s);
    assert_ok(ctx, score("output=out part=2/2", &s));
    kn_scores_free(s);
}

#define PART "out/scores.part-1-of-2.safetensors"

/* In memory a part is scores of these participants, and nothing else. */
static void a_subset_in_memory_has_these_participants(void **state)
{
    (void)state;
    kn_scores *all, *some;
    kn_mat z = ref_new(NEW, REGIONS), own = ref_new(3, REGIONS);
    assert_ok(ctx, score("write=z", &all));
    assert_ok(ctx, score("write=z part=2/3", &some));
    assert_int_equal(kn_scores_n_participants(some), 3);
    assert_ok(ctx, kn_scores_block(ctx, all, "z", 0, REGIONS, z));
    assert_ok(ctx, kn_scores_block(ctx, some, "z", 0, REGIONS, own));
    for (int k = 0; k < 3; k++) {
        int i = 1 + 3 * k;
        assert_string_equal(kn_scores_ids(some)[k], kn_scores_ids(all)[i]);
        for (int j = 0; j < REGIONS; j++)
            assert_true(kn_at(own, k, j) == kn_at(z, i, j));
        for (const char *const *c =
                 (const char *const[]){"extreme_z", "extreme_z_p", "deviance", NULL};
             *c; c++)
            assert_true(kn_scores_participants(some, *c)[k] == kn_scores_participants(all, *c)[i]);
    }
    kn_scores_free(all);
    kn_scores_free(some);
    assert_refused(ctx, score("part=10/10", &some), KN_ERR_DATA,
                   "part 10 of 10 has no participants; there are only 9");
    assert_refused(ctx, score("join=2", &some), KN_ERR_ARGUMENT,
                   "{join=2} needs {output}, the folder of the parts");
    free(z.data), free(own.data);
}

static void every_cut_and_every_bit_is_noticed(void **state)
{
    (void)state;
    enum { ROOM = 1 << 21 };
    unsigned char *bytes = malloc(ROOM);
    kn_scores *s;
    make_parts();
    size_t n = scratch_read(PART, bytes, ROOM);
    assert_true(n > 1000 && n < ROOM);
    for (size_t cut = 0; cut < n; cut += 1 + cut / 5 + n / 400) {
        scratch_file(PART, bytes, cut);
        assert_int_equal(score("output=out join=2", &s), KN_ERR_FORMAT);
        assert_null(s);
        assert_int_equal(folder_files("out"), 4);
    }
    for (size_t at = 0; at < n; at += 1 + at / 7 + n / 500) {
        bytes[at] ^= 4;
        scratch_file(PART, bytes, n);
        kn_status status = score("output=out join=2", &s);
        assert_true(status != KN_OK);
        bytes[at] ^= 4;
    }
    scratch_file(PART, bytes, n);
    assert_ok(ctx, score("output=out join=2", &s));
    kn_scores_free(s);
    free(bytes);
}

/* The part with its checksum right and something else wrong. */
typedef struct lie {
    const char *name;      /* of the array */
    const char *key, *say; /* or of the text, NULL: gone */
    ptrdiff_t at;          /* -1: the array is gone, -2: it has one value less */
    double value;
    const char *sentence;
} lie;

static void rewrite(const lie *l)
{
    kn_st_file *f;
    kn_st_writer *w;
    void *copy[16] = {0};
    assert_ok(ctx, kn_st_open(ctx, PART, &f));
    assert_ok(ctx, kn_st_writer_new(ctx, &w));
    assert_ok(ctx, kn_st_seal(ctx, w));
    for (ptrdiff_t i = 0; i < kn_st_metadata_count(f); i++) {
        const char *key, *value;
        kn_st_metadata_at(f, i, &key, &value);
        bool wrong = l->key && strcmp(l->key, key) == 0;
        if (strcmp(key, "checksum") != 0 && !(wrong && !l->say))
            assert_ok(ctx, kn_st_set_metadata(ctx, w, key, wrong ? l->say : value));
    }
    for (ptrdiff_t i = 0; i < kn_st_count(f); i++) {
        const kn_st_tensor *t = kn_st_at(f, i);
        size_t bytes = (size_t)(t->count * kn_st_type_size(t->type));
        bool wrong = l->name && strcmp(l->name, t->name) == 0;
        ptrdiff_t one = t->count - 1;
        copy[i] = malloc(bytes + 1);
        assert_ok(ctx, kn_st_values(ctx, f, t, 0, t->count, copy[i]));
        if (wrong && l->at >= 0 && t->type == KN_ST_F64)
            ((double *)copy[i])[l->at] = l->value;
        if (wrong && l->at >= 0 && t->type == KN_ST_I64)
            ((int64_t *)copy[i])[l->at] = (int64_t)l->value;
        if (wrong && l->at == -2)
            assert_ok(ctx, kn_st_add(ctx, w, t->name, t->type, 1, &one, copy[i]));
        else if (!wrong || l->at >= 0)
            assert_ok(ctx, kn_st_add(ctx, w, t->name, t->type, t->ndim, t->shape, copy[i]));
    }
    kn_st_close(f);
    assert_ok(ctx, kn_st_write(ctx, w, PART, &(kn_write_options){.force = true}));
    kn_st_writer_free(w);
    for (int i = 0; i < 16; i++)
        free(copy[i]);
}

static void contents_of_a_job_part_are_checked(void **state)
{
    (void)state;
    enum { COLUMNS = 26, JOINT = COLUMNS, TRAINING, CV, CHANGED, SUSPECT };
    static const lie lies[] = {
        {.name = "person", .at = TRAINING, .value = 30, .sentence = "30 where a whole number"},
        {.name = "person", .at = TRAINING, .value = -2, .sentence = "-2 where a whole number"},
        {.name = "person", .at = TRAINING, .value = 0.5, .sentence = "0.5 where a whole number"},
        {.name = "person", .at = CV, .value = 1e18, .sentence = "1e+18 where a whole number"},
        {.name = "person", .at = CV, .value = NAN, .sentence = "nan where a whole number"},
        {.name = "person", .at = CHANGED, .value = 4, .sentence = "4 where a whole number"},
        {.name = "person",
         .at = SUSPECT,
         .value = 6,
         .sentence = "6 where a whole number from 0 to 5"},
        {.name = "person", .at = -1, .sentence = "person"},
        {.name = "person", .at = -2, .sentence = "person"},
        {.name = "sums", .at = -1, .sentence = "sums"},
        {.name = "sums", .at = -2, .sentence = "sums"},
        {.name = "bins", .at = -2, .sentence = "bins"},
        {.name = "bins", .at = 9, .value = -1, .sentence = "-1 values are counted in a bin"},
        {.name = "zero", .at = -1, .sentence = "zero"},
        {.name = "hash", .at = -2, .sentence = "hash"},
        {.key = "kronorm", .say = "0.1.0", .sentence = "was made by kronorm 0.1.0, but this is"},
        {.key = "part",
         .say = "2",
         .sentence = "contains part 2 of 2, but its name says otherwise"},
        {.key = "of", .say = "3", .sentence = "contains part 1 of 3, but its name says otherwise"},
        {.key = "people", .say = "10", .sentence = "for other participants or covariates"},
        {.key = "people", .sentence = "people"},
        {.key = "model", .say = "g", .sentence = "'model' is not a hash"},
        {.key = "options", .say = "", .sentence = "'options' is not a hash"},
        {.key = "map.z", .say = "0", .sentence = "is damaged, or from another run than its part"},
        {.key = "map.z", .sentence = "map.z"}};
    kn_scores *s;
    for (size_t k = 0; k < sizeof lies / sizeof *lies; k++) {
        make_parts();
        rewrite(&lies[k]);
        kn_status status = score("output=out join=2", &s);
        if (status == KN_OK || !strstr(kn_message(ctx), lies[k].sentence))
            fail_msg("%s: %s, expected '%s'", lies[k].name ? lies[k].name : lies[k].key,
                     kn_message(ctx), lies[k].sentence);
        assert_null(s);
        assert_int_equal(folder_files("out"), 4);
    }
}

/* Numbers that are only added up do no harm, whatever they are. */
static void odd_sums_do_no_harm(void **state)
{
    (void)state;
    static const double odd[] = {NAN, INFINITY, -1, 1e-320, 1e308, 0};
    kn_scores *s;
    for (int k = 0; k < 6; k++)
        for (ptrdiff_t at = 0; at < KN_TALLY_DOUBLES; at += 3) {
            make_parts();
            rewrite(&(lie){.name = "sums", .at = at, .value = odd[k]});
            assert_ok(ctx, score("output=out join=2", &s));
            kn_scores_free(s);
        }
}

static void cancel(void *user, const kn_progress *p)
{
    if (strcmp(p->stage, user) == 0)
        kn_cancel(ctx);
}

static void what_is_stopped_leaves_what_was_there(void **state)
{
    (void)state;
    kn_scores *s;
    make_parts();
    kn_set_progress(ctx, cancel, "joining");
    assert_int_equal(score("output=out join=2", &s), KN_ERR_CANCELLED);
    kn_cancel_clear(ctx);
    assert_int_equal(folder_files("out"), 4);
    folder_remove("out");
    kn_set_progress(ctx, cancel, "scoring");
    assert_int_equal(score("output=out part=1/2", &s), KN_ERR_CANCELLED);
    kn_cancel_clear(ctx);
    assert_int_equal(access("out", F_OK), 0); /* other parts may be about to write there */
    assert_int_equal(folder_files("out"), 0);
    folder_remove("out");
    kn_set_progress(ctx, NULL, NULL);
}

static int open_fixture(void **state)
{
    kn_model *model;
    ctx = kn_ctx_new();
    kn_set_threads(ctx, 1);
    ref_rng_init(&rng, 11, 0);
    if (scratch_enter(state) != 0)
        return -1;
    write_tables();
    assert_ok(ctx, fit_files(ctx,
                             "covariates=people.csv responses=regions.csv folds=3 components=2 "
                             "output=m.safetensors",
                             &model));
    kn_model_free(model);
    return 0;
}

static int close_fixture(void **state)
{
    int status = scratch_leave(state);
    kn_ctx_free(ctx);
    return status;
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(commands_score_job_parts, open_fixture, close_fixture)
{
    kn_options *o = options_of(ctx, "score",
                               "model=m.safetensors covariates=new.csv responses=new_y.csv "
                               "output=out join=2");
    kn_status status = KN_ERR_MEMORY;
    make_parts();
    for (long k = 1; status != KN_OK; k += 1 + k / 9) {
        kn_model *model = NULL;
        kn_data *data = NULL;
        kn_scores *scores = NULL;
        kn_fail_allocation(ctx, k);
        status = kn_model_open(ctx, "m.safetensors", &model);
        if (status == KN_OK)
            status = kn_data_read(ctx, o, &data);
        if (status == KN_OK)
            status = kn_score(ctx, model, data, o, &scores);
        kn_fail_allocation(ctx, 0);
        kn_scores_free(scores);
        kn_data_free(data);
        kn_model_free(model);
        assert_true(status == KN_OK || status == KN_ERR_MEMORY);
        assert_int_equal(folder_files("out"), status == KN_OK ? 9 : 4);
    }
    kn_options_free(o);
    folder_remove("out");
}

TEST_PROGRAM(commands_score_job_parts)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_know_neither_order_nor_parts),
        cmocka_unit_test(sums_of_nothing_and_of_no_numbers),
        cmocka_unit_test(metrics_of_parts_are_the_bits_of_all),
        cmocka_unit_test(each_participant_is_in_one_job_part),
        cmocka_unit_test(a_subset_in_memory_has_these_participants),
        cmocka_unit_test(every_cut_and_every_bit_is_noticed),
        cmocka_unit_test(contents_of_a_job_part_are_checked),
        cmocka_unit_test(odd_sums_do_no_harm),
        cmocka_unit_test(what_is_stopped_leaves_what_was_there),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
