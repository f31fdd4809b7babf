/* Parts of the participants held out in turn: who is in which, sums over parts against sums over
 * all, and kn_cv from memory. */
#include "support/calls.h"
#include "support/failing.h"
#include "support/folders.h"

#include "base/random.h"
#include "commands/cv/internal.h"
#include "gp/zscore.h"
#include "io/file/scratch_file.h"
#include "norm/calibration/calibration_check.h"
#include "norm/metrics/metrics.h"

static kn_ctx *ctx;
static kn_rng rng;

enum { N = 30, T = 8 };

/* ---- sums --------------------------------------------------------------------------------------
 */

/* Two parts in units of their own, against all participants at once in original units. */
static void metrics_of_parts_are_those_of_all(void **state)
{
    (void)state;
    enum { FIRST = 11 };
    kn_mat y = ref_normal(&rng, N, T), mean = ref_normal(&rng, N, T), z = ref_new(N, T);
    kn_mat loss = ref_new(N, T), all = ref_new(T, KN_N_METRICS), parts = ref_new(T, KN_N_METRICS);
    kn_mat null = ref_normal(&rng, N, T);
    double mean0[T], var0[T];
    kn_metric_sums whole[T] = {0}, joined[T] = {0};
    kn_metric_tally tally[T] = {0};
    for (ptrdiff_t k = 0; k < N * T; k++) {
        y.data[k] = 1e4 + 3 * y.data[k];
        mean.data[k] = 0.5 * (y.data[k] + 1e4) + mean.data[k];
        z.data[k] = (y.data[k] - mean.data[k]) / 2;
        loss.data[k] = 0.5 * z.data[k] * z.data[k];
    }
    y.data[5] = NAN;    /* a cell that does not count */
    null.data[7] = NAN; /* a cell without a gain */
    for (int j = 0; j < T; j++) {
        mean0[j] = 1e4 + j;
        var0[j] = 9;
    }
    kn_measured m = {.y = y, .mean = mean, .mean0 = mean0, .var0 = var0};
    kn_tallies_add(ctx, &m, &(kn_cell_losses){z, loss, null}, tally);
    for (int j = 0; j < T; j++)
        whole[j] = kn_tally_sums(&tally[j], mean0[j]);
    kn_metrics_result(whole, all);
    for (int part = 0; part < 2; part++) {
        ptrdiff_t first = part ? FIRST : 0, n = part ? N - FIRST : FIRST;
        double shift = part ? 9999 : 1e4, scale = part ? 2.5 : 0.7;
        kn_mat ys = ref_new(n, T), ms = ref_new(n, T);
        double m0[T], v0[T];
        kn_metric_sums own[T] = {0};
        kn_metric_tally part_tally[T] = {0};
        for (int j = 0; j < T; j++) {
            m0[j] = (mean0[j] - shift) / scale;
            v0[j] = var0[j] / (scale * scale);
            for (ptrdiff_t i = 0; i < n; i++) {
                kn_col(ys, j)[i] = (kn_at(y, first + i, j) - shift) / scale;
                kn_col(ms, j)[i] = (kn_at(mean, first + i, j) - shift) / scale;
            }
        }
        kn_mat null_l = ref_new(n, T),
               l = ref_new(n, T); /* the loss in those units: the density's less log scale */
        for (int j = 0; j < T; j++)
            for (ptrdiff_t i = 0; i < n; i++)
                kn_col(null_l, j)[i] = kn_at(null, first + i, j) - log(scale);
        for (int j = 0; j < T; j++)
            for (ptrdiff_t i = 0; i < n; i++)
                kn_col(l, j)[i] = kn_at(loss, first + i, j) - log(scale);
        kn_measured some = {.y = ys, .mean = ms, .mean0 = m0, .var0 = v0};
        kn_cell_losses losses = {kn_sub(z, first, 0, n, T), l, null_l};
        kn_tallies_add(ctx, &some, &losses, part_tally);
        for (int j = 0; j < T; j++) {
            own[j] = kn_tally_sums(&part_tally[j], m0[j]);
            own[j] = kn_metrics_in_units(&own[j], shift, scale);
            joined[j] = kn_metrics_joined(&joined[j], &own[j]);
        }
        free(ys.data), free(ms.data), free(l.data), free(null_l.data);
    }
    kn_metrics_result(joined, parts);
    assert_same(parts, all, 1e-9);
    free(y.data), free(mean.data), free(z.data), free(loss.data), free(all.data), free(parts.data),
        free(null.data);
}

static void calibration_of_parts_is_that_of_all(void **state)
{
    (void)state;
    kn_mat z = ref_normal(&rng, N, T);
    kn_calibrator all, one, two;
    double a[KN_N_CALIBRATION], b[KN_N_CALIBRATION];
    z.data[3] = NAN;
    assert_ok(ctx, kn_calibrator_init(ctx, &all));
    assert_ok(ctx, kn_calibrator_init(ctx, &one));
    assert_ok(ctx, kn_calibrator_init(ctx, &two));
    assert_ok(ctx, kn_calibrator_add(ctx, &all, z, NULL, kn_mat_none()));
    assert_ok(ctx, kn_calibrator_add(ctx, &one, kn_sub(z, 0, 0, 13, T), NULL, kn_mat_none()));
    assert_ok(ctx, kn_calibrator_add(ctx, &two, kn_sub(z, 13, 0, N - 13, T), NULL, kn_mat_none()));
    kn_calibrator_join(&one, &two);
    kn_calibrator_result(&all, a);
    kn_calibrator_result(&one, b);
    for (int k = 0; k < KN_N_CALIBRATION; k++)
        assert_close(b[k], a[k], 1e-12);
    kn_calibrator_clear(&all), kn_calibrator_clear(&one), kn_calibrator_clear(&two);
    free(z.data);
}

static void rows_come_back_from_memory_and_from_a_file(void **state)
{
    (void)state;
    float row[T], back[T];
    for (int file = 0; file < 2; file++) {
        kn_row_spool s;
        assert_ok(ctx, kn_row_spool_new(ctx, N, T, file ? scratch_dir : NULL, &s));
        for (int i = N - 1; i >= 0; i--) {
            for (int t = 0; t < T; t++)
                row[t] = (float)(100 * i + t);
            assert_ok(ctx, kn_row_spool_write(ctx, &s, i, row));
        }
        assert_int_equal(scratch_count(), 0); /* the file has no name */
        for (int i = 0; i < N; i++) {
            assert_ok(ctx, kn_row_spool_read(ctx, &s, i, back));
            for (int t = 0; t < T; t++)
                assert_true(back[t] == (float)(100 * i + t));
        }
        kn_row_spool_clear(&s);
    }
    kn_row_spool s;
    assert_refused(ctx, kn_row_spool_new(ctx, N, T, "/nowhere", &s), KN_ERR_IO,
                   "cannot hold the scratch file");
}

/* ---- participants
 * ------------------------------------------------------------------------------------
 */

static double values[N * T], ages[N];

/* Two rows per participant, families over two participants, four sites that families cross. */
static kn_data *make_data(bool ids)
{
    static char id[N][8], family[N][8], site[N][2];
    const char *ids_[N], *families[N], *sites[N];
    kn_data *d;
    kn_rng own;
    ref_rng_init(&own, 5, 0);
    for (int i = 0; i < N; i++) {
        snprintf(id[i], sizeof id[i], "p%02d", i / 2);
        snprintf(family[i], sizeof family[i], "f%d", (i / 2) % 7);
        snprintf(site[i], sizeof site[i], "%c", "ABCD"[i % 4]);
        ids_[i] = id[i], families[i] = family[i], sites[i] = site[i];
        ages[i] = 20 + 60 * kn_rng_uniform(&own);
        for (int t = 0; t < T; t++)
            values[i * T + t] = ages[i] * t / 50 + kn_rng_normal(&own);
    }
    assert_ok(ctx, kn_data_new(ctx, N, &d));
    if (ids)
        assert_ok(ctx, kn_data_ids(ctx, d, ids_));
    assert_ok(ctx, kn_data_numbers(ctx, d, "age", ages, 1));
    assert_ok(ctx, kn_data_texts(ctx, d, "family", families));
    assert_ok(ctx, kn_data_texts(ctx, d, "site", sites));
    assert_ok(ctx, kn_data_responses(ctx, d, kn_view_rows(values, N, T), NULL));
    return d;
}

/* No training participant of a fold has the id or the family of a held-out participant.
 */
static void assert_apart(const kn_holdout *h, const kn_data *d, bool families)
{
    bool use[N];
    for (int k = 0; k < h->folds; k++) {
        memset(use, 0, sizeof use);
        ptrdiff_t n = kn_holdout_training(h, k, NULL, use), counted = 0;
        for (ptrdiff_t i = 0; i < N; i++)
            counted += use[i];
        assert_int_equal(n, counted);
        for (ptrdiff_t i = 0; i < h->n; i++)
            for (ptrdiff_t j = 0; j < h->n; j++) {
                if (h->fold[i] != k || !use[h->row[j]])
                    continue;
                const char *a = kn_data_participant(d, h->row[i]),
                           *b = kn_data_participant(d, h->row[j]);
                assert_true(!a || strcmp(a, b) != 0);
                assert_true(!families || (i / 2) % 7 != (j / 2) % 7);
            }
    }
}

static void participants_and_groups_stay_whole(void **state)
{
    (void)state;
    kn_holdout h;
    kn_settings s;
    kn_settings_init(&s);
    kn_data *d = make_data(true), *plain = make_data(false);
    assert_ok(ctx, kn_data_finalise(ctx, &s, d));
    assert_ok(ctx, kn_data_finalise(ctx, &s, plain));
    s.group = "none";
    assert_ok(ctx, kn_holdout_new(ctx, d, &s, NULL, &h));
    assert_int_equal(h.units, N / 2);
    s.cv_folds = 5;
    assert_ok(ctx, kn_holdout_folds(ctx, &s, &h));
    assert_apart(&h, d, false);
    kn_holdout_clear(&h);
    s.group = "family";
    assert_ok(ctx, kn_holdout_new(ctx, d, &s, NULL, &h));
    assert_int_equal(h.units, 7);
    assert_ok(ctx, kn_holdout_folds(ctx, &s, &h));
    assert_apart(&h, d, true);
    s.cv_folds = 8;
    assert_refused(ctx, kn_holdout_folds(ctx, &s, &h), KN_ERR_DATA,
                   "{folds=8} is too large for 7 groups that must stay whole; use at most as many "
                   "folds as there are of these");
    kn_holdout_clear(&h);
    s.leave_out = "site"; /* which families cross */
    s.cv_controls = 2;
    assert_ok(ctx, kn_holdout_new(ctx, d, &s, NULL, &h));
    assert_ok(ctx, kn_holdout_by_level(ctx, d, &s, NULL, &h));
    assert_int_equal(h.folds, 4);
    assert_apart(&h, d, true);
    for (ptrdiff_t i = 0; i < N; i++)
        for (ptrdiff_t j = 0; j < N;
             j++) /* no control is a relative of a participant scored there */
            if (h.fold[i] == h.fold[j] && h.control[i] && !h.control[j])
                assert_true(h.unit[i] != h.unit[j]);
    kn_holdout_clear(&h);
    s.group = "auto";
    s.cv_folds = 30;
    assert_ok(ctx, kn_holdout_new(ctx, plain, &s, NULL, &h));
    assert_int_equal(h.units, N);
    assert_ok(ctx, kn_holdout_folds(ctx, &s, &h));
    kn_holdout_clear(&h);
    kn_data_free(d), kn_data_free(plain);
}

static void labelled_participants_are_not_learned_from(void **state)
{
    (void)state;
    kn_holdout h;
    kn_settings s;
    bool abnormal[N] = {[3] = true, [4] = true, [20] = true}, use[N] = {false};
    kn_settings_init(&s);
    s.cv_folds = 3;
    kn_data *d = make_data(false);
    assert_ok(ctx, kn_data_finalise(ctx, &s, d));
    assert_ok(ctx, kn_holdout_new(ctx, d, &s, NULL, &h));
    assert_ok(ctx, kn_holdout_folds(ctx, &s, &h));
    ptrdiff_t n = 0;
    for (int k = 0; k < 3; k++) {
        memset(use, 0, sizeof use);
        n += kn_holdout_training(&h, k, abnormal, use);
        assert_false(use[3] || use[4] || use[20]);
    }
    assert_int_equal(n, 2 * (N - 3));
    kn_holdout_clear(&h);
    kn_data_free(d);
}

static void a_test_list_has_its_proportion_of_every_level(void **state)
{
    (void)state;
    static const char *const SPLIT[] = {"test=.4,stratify=site", "stratify=site,test=0.2",
                                        "test=.5"};
    static const int TEST[] = {12, 6, 15};
    kn_settings s;
    kn_settings_init(&s);
    kn_data *d = make_data(false);
    assert_ok(ctx, kn_data_finalise(ctx, &s, d));
    for (int k = 0; k < 3; k++) {
        kn_holdout h;
        int n = 0, of[4] = {0};
        s.lists = SPLIT[k];
        assert_ok(ctx, kn_holdout_new(ctx, d, &s, NULL, &h));
        assert_ok(ctx, kn_holdout_test(ctx, d, &s, &h));
        for (ptrdiff_t i = 0; i < N; i++) {
            n += h.fold[i];
            of[i % 4] += h.fold[i];
        }
        assert_int_equal(n, TEST[k]);
        for (int l = 0; k == 0 && l < 4; l++)
            assert_true(of[l] == 3 || (l < 2 && of[l] == 4) || of[l] == 2);
        kn_holdout_clear(&h);
    }
    kn_data_free(d);
}

/* ---- all of it ---------------------------------------------------------------------------------
 */

static void participants_in_memory_are_held_out(void **state)
{
    (void)state;
    kn_cv_info info = {.size = sizeof info};
    kn_data *d = make_data(true);
    kn_options *o = options_of(ctx, "cv", "use=age,site folds=3 components=2 output=held");
    assert_ok(ctx, kn_cv(ctx, d, o, &info));
    assert_int_equal(info.participants, N);
    assert_int_equal(info.folds, 3);
    assert_int_equal(info.responses, T);
    assert_int_equal(info.files, folder_files("held"));
    assert_true(isfinite(info.MSLL) && info.z2 > 0.3 && info.z2 < 3);
    assert_refused(ctx, kn_cv(ctx, d, o, NULL), KN_ERR_IO, "already exists");
    assert_refused(ctx, kn_cv(ctx, NULL, o, NULL), KN_ERR_ARGUMENT, "data is a null pointer");
    kn_options_free(o);
    kn_data_free(d);
    folder_remove("held");
}

static void stop(void *user, const kn_progress *p)
{
    (void)user;
    if (strncmp(p->stage, "fold 2 of 3, ", 13) == 0)
        kn_cancel(ctx);
}

static void a_run_that_is_stopped_leaves_nothing(void **state)
{
    (void)state;
    kn_data *d = make_data(true);
    kn_options *o = options_of(ctx, "cv", "use=age,site folds=3 output=held");
    kn_set_progress(ctx, stop, NULL);
    assert_refused(ctx, kn_cv(ctx, d, o, NULL), KN_ERR_CANCELLED, "stopped on request");
    kn_set_progress(ctx, NULL, NULL);
    kn_cancel_clear(ctx);
    assert_int_equal(scratch_count(), 0);
    kn_options_free(o);
    kn_data_free(d);
}

static int enter(void **state)
{
    ref_rng_init(&rng, 17, 0);
    ctx = kn_ctx_new();
    return ctx ? scratch_enter(state) : -1;
}

static int leave(void **state)
{
    kn_ctx_free(ctx);
    return scratch_leave(state);
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

/* Every so many allocations one fails, from the first to the last. */
FAILING_CASE(commands_cv, enter, leave)
{
    kn_data *d = make_data(true);
    kn_status status = KN_ERR_MEMORY;
    kn_options *o = options_of(ctx, "cv",
                               "use=age,site leave=site controls=3 components=1 max_evals=0 "
                               "calibrate=none output=held");
    for (long k = 1; status != KN_OK; k += 1 + k / repeat(40, 8)) {
        kn_fail_allocation(ctx, k);
        status = kn_cv(ctx, d, o, NULL);
        kn_fail_allocation(ctx, 0);
        if (status != KN_OK) {
            assert_int_equal(status, KN_ERR_MEMORY);
            assert_int_equal(scratch_count(), 0);
        }
    }
    assert_true(folder_files("held") > 10);
    folder_remove("held");
    kn_options_free(o);
    kn_data_free(d);
}

TEST_PROGRAM(commands_cv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_of_parts_are_those_of_all),
        cmocka_unit_test(calibration_of_parts_is_that_of_all),
        cmocka_unit_test(rows_come_back_from_memory_and_from_a_file),
        cmocka_unit_test(participants_and_groups_stay_whole),
        cmocka_unit_test(labelled_participants_are_not_learned_from),
        cmocka_unit_test(a_test_list_has_its_proportion_of_every_level),
        cmocka_unit_test(participants_in_memory_are_held_out),
        cmocka_unit_test(a_run_that_is_stopped_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
