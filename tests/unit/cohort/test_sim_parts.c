/* What --sites, --visits and --regions add to a simulated cohort: planted, it can be measured. */
#include "support/failing.h"
#include "support/folders.h"

#include "cohort/simulate.h"
#include "io/image/image_set.h"
#include "io/image/mask.h"
#include "io/table/table.h"

enum { VOXELS = 3560, NX = 20 };
static kn_mask mask; /* of all these cohorts */

static kn_cohort_options cohort_of(const char *dir, ptrdiff_t samples, ptrdiff_t patients)
{
    kn_cohort_options o;
    kn_cohort_options_init(&o);
    o.samples = samples;
    o.patients = patients;
    o.dir = dir;
    return o;
}

static kn_table *table_of(kn_ctx *ctx, const char *path)
{
    kn_table *table;
    assert_ok(ctx, kn_table_read(ctx, path, &table));
    return table;
}

static double number_at(const kn_table *table, ptrdiff_t row, const char *column)
{
    double x;
    assert_int_equal(kn_table_number(table, row, kn_table_find(table, column), &x), KN_CELL_NUMBER);
    return x;
}

static const char *text_at(const kn_table *table, ptrdiff_t row, const char *column)
{
    ptrdiff_t col = kn_table_find(table, column);
    assert_true(col >= 0);
    return kn_table_cell(table, row, col);
}

/* Values of the brain in a 3D image, or a volume of a 4D one. */
static void read_map(kn_ctx *ctx, const char *path, ptrdiff_t volume, float out[VOXELS])
{
    kn_images *images;
    if (mask.count == 0)
        assert_ok(ctx, kn_mask_read(ctx, "study/mask.nii.gz", NULL, NULL, &mask));
    assert_int_equal(mask.count, VOXELS);
    assert_ok(ctx, kn_images_open(ctx, path, 0, &images));
    ptrdiff_t n = kn_images_count(images);
    float *all = malloc(sizeof *all * (size_t)(n * VOXELS));
    assert_ok(ctx, kn_images_read(ctx, images, mask.index, VOXELS, all));
    memcpy(out, all + volume * VOXELS, sizeof *out * VOXELS);
    free(all);
    kn_images_free(images);
}

static void read_participant(kn_ctx *ctx, const char *id, const char *session, float out[VOXELS])
{
    char line[128];
    snprintf(line, sizeof line, "study/images/%s%s%s.nii.gz\n", id, session ? "_" : "",
             session ? session : "");
    scratch_text("one.txt", line);
    read_map(ctx, "one.txt", 0, out);
}

/* *right[i]: the voxel of the brain beside voxel i, or -1. Differences of neighbours are white
 * noise for the most part: what is smooth, as age and offsets are, hardly shows in them. */
static void find_neighbours(kn_ctx *ctx, ptrdiff_t right[VOXELS])
{
    kn_mask_clear(&mask);
    assert_ok(ctx, kn_mask_read(ctx, "study/mask.nii.gz", NULL, NULL, &mask));
    for (ptrdiff_t i = 0; i < VOXELS; i++)
        right[i] =
            i + 1 < VOXELS && mask.index[i + 1] == mask.index[i] + 1 && mask.index[i + 1] % NX != 0
                ? i + 1
                : -1;
    kn_mask_clear(&mask);
}

static void difference(const ptrdiff_t right[VOXELS], const float y[VOXELS], double out[VOXELS])
{
    for (ptrdiff_t i = 0; i < VOXELS; i++)
        out[i] = right[i] < 0 ? 0 : (double)(y[right[i]] - y[i]);
}

static void everything_is_the_same_for_any_number_of_threads(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_cohort_options o = cohort_of("one", 20, 3);
    kn_cohort_summary s;
    o.sites = 2;
    o.visits = 2;
    o.regions = 5;
    kn_set_threads(ctx, 1);
    assert_ok(ctx, kn_sim_cohort(ctx, &o, &s));
    assert_int_equal(s.adapt, 20);
    assert_int_equal(s.new_participants, 23);
    o.dir = "two";
    kn_set_threads(ctx, 2);
    assert_ok(ctx, kn_sim_cohort(ctx, &o, NULL));
    /* images of 66 participants and of 2 visits of 7; mask, atlas; 6 parts of 3 files; 6 of truth;
     * sidecars of 6 tables and of 3 of truth */
    enum { SIDECARS = 9 };
    assert_int_equal(folder_compare("one", "two"), 66 + 14 + 2 + 18 + 6 + SIDECARS);
    assert_int_equal(folder_files("two"), 66 + 14 + 2 + 18 + 6 + SIDECARS);
    folder_remove("one");
    folder_remove("two");
    kn_ctx_free(ctx);
}

static void visits_and_regions_leave_the_study_as_it_is(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_cohort_options o = cohort_of("plain", 15, 4);
    assert_ok(ctx, kn_sim_cohort(ctx, &o, NULL));
    o.dir = "more";
    o.visits = 3;
    o.regions = 4;
    assert_ok(ctx, kn_sim_cohort(ctx, &o, NULL));
    unlink("plain/truth/truth.json"); /* says what was asked for */
    assert_int_equal(folder_compare("plain", "more"), 15 + 4 + 10 - 1 + 4);
    folder_remove("plain");
    folder_remove("more");
    kn_ctx_free(ctx);
}

/* Rows of a part: all at the new site, or none. */
static void check_site(kn_ctx *ctx, const char *part, ptrdiff_t rows, bool new_site, bool group)
{
    char path[64];
    snprintf(path, sizeof path, "study/%s_participants.tsv", part);
    kn_table *t = table_of(ctx, path);
    assert_int_equal(kn_table_rows(t), rows);
    for (ptrdiff_t i = 0; i < rows; i++)
        assert_int_equal(strcmp(text_at(t, i, "site"), "site-4") == 0, new_site);
    assert_int_equal(kn_table_find(t, "group") >= 0, group);
    kn_table_free(t);
}

static void the_new_site_is_not_in_training(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_cohort_options o = cohort_of("study", 30, 5);
    o.sites = 3;
    assert_ok(ctx, kn_sim_cohort(ctx, &o, NULL));
    check_site(ctx, "train", 24, false, false);
    check_site(ctx, "test", 11, false, true);
    check_site(ctx, "adapt", 20, true, false);
    check_site(ctx, "new", 25, true, true);
    kn_table *all = table_of(ctx, "study/participants.tsv");
    kn_table *truth = table_of(ctx, "study/truth/sites.tsv");
    assert_int_equal(kn_table_rows(all), 30 + 5 + 20 + 25);
    assert_int_equal(kn_table_rows(truth), 4);
    for (ptrdiff_t i = 0; i < kn_table_rows(all); i++) { /* ages are those of the site */
        ptrdiff_t s = strtol(text_at(all, i, "site") + 5, NULL, 10) - 1;
        double age = number_at(all, i, "age");
        assert_true(age >= number_at(truth, s, "age_min") - 0.2);
        assert_true(age <= number_at(truth, s, "age_max") + 0.2);
    }
    kn_table_free(all);
    kn_table_free(truth);
    folder_remove("study");
    kn_ctx_free(ctx);
}

static void offsets_and_noise_are_drawn_as_stated(void **state)
{
    (void)state;
    enum { S = 50 };
    kn_ctx *ctx = kn_ctx_new();
    kn_cohort_options o = cohort_of("study", 10 * S, 0);
    o.sites = S;
    assert_ok(ctx, kn_sim_cohort(ctx, &o, NULL));
    kn_table *t = table_of(ctx, "study/truth/sites.tsv");
    double square = 0, sum = 0, squares = 0;
    for (ptrdiff_t s = 0; s <= S; s++) {
        double offset = number_at(t, s, "offset_rms_sd"), ln = log(number_at(t, s, "noise_factor"));
        square += offset * offset / (S + 1);
        sum += ln / (S + 1);
        squares += ln * ln / (S + 1);
    }
    assert_true(fabs(sqrt(square) - 0.6) < 0.08);
    assert_true(fabs(sqrt(squares - sum * sum) - 0.25) < 0.08); /* 3 standard errors */
    assert_true(fabs(sum) < 0.11);
    kn_table_free(t);
    folder_remove("study");
    kn_ctx_free(ctx);
}

/* Over the controls of a site: their mean map, and the mean square of centred differences. */
static ptrdiff_t site_moments(kn_ctx *ctx, const kn_table *participants, const char *site,
                              double mean[VOXELS], double *square)
{
    static ptrdiff_t right[VOXELS];
    static double d[VOXELS], sum[VOXELS], squares[VOXELS];
    static float y[VOXELS];
    ptrdiff_t n = 0;
    memset(mean, 0, sizeof *mean * VOXELS);
    memset(sum, 0, sizeof sum);
    memset(squares, 0, sizeof squares);
    find_neighbours(ctx, right);
    for (ptrdiff_t i = 0; i < kn_table_rows(participants); i++) {
        if (strcmp(text_at(participants, i, "site"), site) != 0)
            continue;
        read_participant(ctx, text_at(participants, i, "participant_id"), NULL, y);
        difference(right, y, d);
        n++;
        for (ptrdiff_t v = 0; v < VOXELS; v++) {
            mean[v] += (double)y[v];
            sum[v] += d[v];
            squares[v] += d[v] * d[v];
        }
    }
    *square = 0;
    for (ptrdiff_t v = 0; v < VOXELS; v++) {
        mean[v] /= (double)n;
        *square += (squares[v] - sum[v] * sum[v] / (double)n) / (double)(n - 1);
    }
    return n;
}

/* Mean maps of two sites differ by their planted offsets, neighbours differ by their planted noise.
 */
static void planted_sites_are_found_in_the_images(void **state)
{
    (void)state;
    static double mean[2][VOXELS];
    static float offset[2][VOXELS];
    kn_ctx *ctx = kn_ctx_new();
    kn_cohort_options o = cohort_of("study", 100, 0);
    double square[2], noise[2], xx = 0, xy = 0, x1 = 0, y1 = 0;
    o.sites = 2;
    o.seed = 3;
    assert_ok(ctx, kn_sim_cohort(ctx, &o, NULL));
    kn_table *participants = table_of(ctx, "study/participants.tsv");
    kn_table *truth = table_of(ctx, "study/truth/sites.tsv");
    for (int s = 0; s < 2; s++) {
        assert_int_equal(site_moments(ctx, participants, s ? "site-2" : "site-1", mean[s],
                                      &square[s]),
                         50);
        read_map(ctx, "study/truth/site_offsets.nii.gz", s, offset[s]);
        noise[s] = number_at(truth, s, "noise_factor");
    }
    assert_true(fabs(log(noise[1] / noise[0])) > 0.15); /* there is something to find */
    assert_true(fabs(log(square[1] / square[0]) - log(noise[1] / noise[0])) < 0.06);
    for (ptrdiff_t v = 0; v < VOXELS; v++) {
        double x = (double)(offset[1][v] - offset[0][v]), y = mean[1][v] - mean[0][v];
        xx += x * x;
        xy += x * y;
        x1 += x;
        y1 += y;
    }
    double slope = (xy - x1 * y1 / VOXELS) / (xx - x1 * x1 / VOXELS);
    assert_true(slope > 0.8 && slope < 1.2);
    kn_table_free(participants);
    kn_table_free(truth);
    folder_remove("study");
    kn_ctx_free(ctx);
}

/* ---- visits -------------------------------------------------------------------------------- */

enum { VISITS = 3 };

typedef struct moments { /* over controls and voxels */
    double square[VISITS], product[VISITS][VISITS];
} moments;

static void take_control(const double d[VISITS][VOXELS], const double mean[VOXELS], moments *m)
{
    for (int a = 0; a < VISITS; a++)
        for (ptrdiff_t v = 0; v < VOXELS; v++) {
            m->square[a] += (d[a][v] - mean[v]) * (d[a][v] - mean[v]);
            for (int b = 0; b < a; b++)
                m->product[a][b] += (d[a][v] - mean[v]) * (d[b][v] - mean[v]);
        }
}

/* Rows of a participant follow each other, ses-1 first, about a year apart. */
static void check_visits(const kn_table *t, ptrdiff_t first)
{
    for (ptrdiff_t v = 0; v < VISITS; v++) {
        char session[32];
        snprintf(session, sizeof session, "ses-%td", v + 1);
        assert_string_equal(text_at(t, first + v, "session"), session);
        assert_string_equal(text_at(t, first + v, "participant_id"),
                            text_at(t, first, "participant_id"));
        if (v == 0)
            continue;
        double years = number_at(t, first + v, "age") - number_at(t, first + v - 1, "age");
        assert_true(years > 0.79 && years < 1.21);
    }
}

static void residuals_of_visits_correlate(void **state)
{
    (void)state;
    static double d[VISITS][VOXELS], mean[VOXELS], all[64][VISITS][VOXELS];
    static float y[VOXELS];
    static ptrdiff_t right[VOXELS];
    kn_ctx *ctx = kn_ctx_new();
    kn_cohort_options o = cohort_of("study", 100, 0);
    ptrdiff_t n = 0;
    moments m = {{0}, {{0}}};
    o.visits = VISITS;
    assert_ok(ctx, kn_sim_cohort(ctx, &o, NULL));
    find_neighbours(ctx, right);
    kn_table *t = table_of(ctx, "study/visits_participants.tsv");
    assert_int_equal(kn_table_rows(t), VISITS * 20);
    memset(mean, 0, sizeof mean);
    for (ptrdiff_t i = 0; i < kn_table_rows(t); i += VISITS, n++) {
        check_visits(t, i);
        for (ptrdiff_t a = 0; a < VISITS; a++) {
            read_participant(ctx, text_at(t, i, "participant_id"), text_at(t, i + a, "session"), y);
            difference(right, y, d[a]);
            for (ptrdiff_t v = 0; v < VOXELS; v++)
                mean[v] += d[a][v] / (20 * VISITS);
        }
        memcpy(all[n], d, sizeof d);
    }
    for (ptrdiff_t i = 0; i < n; i++)
        take_control((const double(*)[VOXELS])all[i], mean, &m);
    for (int a = 0; a < VISITS; a++)
        for (int b = 0; b < a; b++) {
            double r = m.product[a][b] / sqrt(m.square[a] * m.square[b]);
            assert_true(r > 0.87 && r < 0.92); /* a little below 0.9: the mean took its share */
        }
    kn_table_free(t);
    folder_remove("study");
    kn_ctx_free(ctx);
}

/* The change from the first visit to the last, in units of the mean lesion, over a group. */
static double change_along_lesion(kn_ctx *ctx, const kn_table *t, const char *group)
{
    static float first[VOXELS], last[VOXELS], lesion[VOXELS];
    double xx = 0, xy = 0;
    ptrdiff_t participants = 0;
    scratch_text("lesion.txt", "study/truth/lesion.nii.gz\n");
    read_map(ctx, "lesion.txt", 0, lesion);
    for (ptrdiff_t v = 0; v < VOXELS; v++)
        xx += (double)lesion[v] * (double)lesion[v];
    for (ptrdiff_t i = 0; i < kn_table_rows(t); i += VISITS) {
        if (strcmp(text_at(t, i, "group"), group) != 0)
            continue;
        participants++;
        read_participant(ctx, text_at(t, i, "participant_id"), "ses-1", first);
        read_participant(ctx, text_at(t, i, "participant_id"), "ses-3", last);
        for (ptrdiff_t v = 0; v < VOXELS; v++)
            xy += (double)(last[v] - first[v]) * (double)lesion[v];
    }
    return xy / xx / (double)participants;
}

static void patients_decline_and_controls_do_not(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_cohort_options o = cohort_of("study", 60, 12);
    o.visits = VISITS;
    o.decline = 1.5;
    assert_ok(ctx, kn_sim_cohort(ctx, &o, NULL));
    kn_table *t = table_of(ctx, "study/visits_participants.tsv");
    kn_table *truth = table_of(ctx, "study/truth/visits.tsv");
    assert_int_equal(kn_table_rows(t), VISITS * 24);
    assert_int_equal(kn_table_rows(truth), VISITS * 12);
    double planted = 0; /* the mean lesion is of 2 sd */
    for (ptrdiff_t i = 0; i < kn_table_rows(truth); i += VISITS)
        planted +=
            (number_at(truth, i + 2, "lesion_sd") - number_at(truth, i, "lesion_sd")) / 2 / 12;
    assert_true(planted > 1.2 && planted < 1.8);
    assert_true(fabs(change_along_lesion(ctx, t, "patient") - planted) < 0.2);
    assert_true(fabs(change_along_lesion(ctx, t, "control")) < 0.2);
    kn_table_free(t);
    kn_table_free(truth);
    folder_remove("study");
    kn_ctx_free(ctx);
}

/* ---- regions ------------------------------------------------------------------------------- */

/* A region's value is the mean of its voxels but for an error of its own, of variance 0.2. */
static void regions_are_means_of_the_images(void **state)
{
    (void)state;
    enum { R = 12 };
    static float label[VOXELS], y[VOXELS];
    kn_ctx *ctx = kn_ctx_new();
    kn_cohort_options o = cohort_of("study", 40, 0);
    double count[R] = {0}, square = 0, value;
    o.regions = R;
    assert_ok(ctx, kn_sim_cohort(ctx, &o, NULL));
    scratch_text("label.txt", "study/regions.nii.gz\n");
    read_map(ctx, "label.txt", 0, label);
    for (ptrdiff_t v = 0; v < VOXELS; v++) {
        assert_true(label[v] >= 1 && label[v] <= R);
        count[(int)label[v] - 1]++;
    }
    kn_table *t = table_of(ctx, "study/regions.csv");
    assert_int_equal(kn_table_rows(t), 40);
    assert_int_equal(kn_table_cols(t), 1 + R);
    assert_string_equal(kn_table_name(t, R), "region_12");
    for (ptrdiff_t i = 0; i < 40; i++) {
        double sum[R] = {0};
        read_participant(ctx, kn_table_cell(t, i, 0), NULL, y);
        for (ptrdiff_t v = 0; v < VOXELS; v++)
            sum[(int)label[v] - 1] += (double)y[v];
        for (int r = 0; r < R; r++) {
            assert_true(count[r] > 0);
            assert_int_equal(kn_table_number(t, i, 1 + r, &value), KN_CELL_NUMBER);
            square += (value - sum[r] / count[r]) * (value - sum[r] / count[r]) / (40 * R);
        }
    }
    double error = sqrt(square) / 0.08; /* 0.08: the typical sd of a voxel */
    assert_true(error > 0.36 && error < 0.56);
    kn_table_free(t);
    folder_remove("study");
    kn_ctx_free(ctx);
}

/* ---- what cannot be ------------------------------------------------------------------------ */

static void numbers_that_cannot_be_are_sentences(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_cohort_options o = cohort_of("study", 120, 20);
    o.sites = 51;
    assert_sentence(ctx, kn_sim_cohort(ctx, &o, NULL), KN_ERR_ARGUMENT,
                    "51 sites were requested, but 2 to 50 are allowed");
    o.sites = 13;
    assert_sentence(
        ctx, kn_sim_cohort(ctx, &o, NULL), KN_ERR_ARGUMENT,
        "120 healthy participants at 13 sites are too few; at least 10 per site are needed");
    o.sites = 0;
    o.visits = 1;
    assert_sentence(ctx, kn_sim_cohort(ctx, &o, NULL), KN_ERR_ARGUMENT,
                    "1 visits were requested, but 2 to 10 are allowed");
    o.visits = 2;
    o.decline = -1;
    assert_sentence(ctx, kn_sim_cohort(ctx, &o, NULL), KN_ERR_ARGUMENT,
                    "{decline} is -1 per year; it must be 0 to 1000");
    o.decline = 1;
    o.regions = 1001;
    assert_sentence(ctx, kn_sim_cohort(ctx, &o, NULL), KN_ERR_ARGUMENT,
                    "1001 regions were requested, but 2 to 1000 are allowed");
    assert_int_not_equal(access("study", F_OK), 0);
    kn_ctx_free(ctx);
}

static int open_fixture(void **state)
{
    return scratch_enter(state);
}

static int close_fixture(void **state)
{
    int status = scratch_leave(state);
    kn_mask_clear(&mask);
    return status;
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(cohort_sites_visits_regions, open_fixture, close_fixture)
{
    kn_ctx *ctx = kn_ctx_new();
    kn_cohort_options o = cohort_of("study", 20, 1);
    kn_status status = KN_ERR_MEMORY;
    o.sites = 2;
    o.visits = 2;
    o.regions = 3;
    long k = 1;
    for (; k < 500 && status != KN_OK;
         k += 1 + k / repeat(5, 2)) { /* the later, the more is done */
        kn_fail_allocation(ctx, k);
        status = kn_sim_cohort(ctx, &o, NULL);
        assert_true(status == KN_OK || status == KN_ERR_MEMORY);
        assert_int_equal(access("study", F_OK) == 0, status == KN_OK);
    }
    kn_fail_allocation(ctx, 0);
    assert_true(status == KN_OK && k > 20);
    folder_remove("study");
    kn_ctx_free(ctx);
}

TEST_PROGRAM(cohort_sim_parts)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_the_same_for_any_number_of_threads),
        cmocka_unit_test(visits_and_regions_leave_the_study_as_it_is),
        cmocka_unit_test(the_new_site_is_not_in_training),
        cmocka_unit_test(offsets_and_noise_are_drawn_as_stated),
        cmocka_unit_test(planted_sites_are_found_in_the_images),
        cmocka_unit_test(residuals_of_visits_correlate),
        cmocka_unit_test(patients_decline_and_controls_do_not),
        cmocka_unit_test(regions_are_means_of_the_images),
        cmocka_unit_test(numbers_that_cannot_be_are_sentences),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
