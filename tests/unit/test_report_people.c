/* People of the page: order, ranks, ranges, clusters, groups and ids, against slow versions and
 * numbers of scipy. */
#include "test.h"

#include "base/rng.h"
#include "report/cluster.h"
#include "report/command_option.h"
#include "report/compute.h"
#include "report/laws.h"
#include "report/people_rows.h"
#include "report/report_json.h"
#include "report/say.h"
#include "report/strip.h"
#include "report/two_samples.h"

static kn_ctx *ctx;
static kn_rng rng;

/* ---- laws ---------------------------------------------------------------------------------------
 */

static void students_tails_are_scipys(void **state)
{
    (void)state;
    static const double CASE[][3] = {
        {0.5, 3.2, 0.6494501780131947},      {2.1, 17.7, 0.05034069445738841},
        {-6.5, 41.3, 8.151614803586635e-08}, {0.001, 8, 0.9992266021030893},
        {25, 5, 1.9106777843954255e-06},     {3, 1e4, 0.0027064481899976636},
        {40, 60, 5.755480486627368e-45},
    };
    for (size_t k = 0; k < sizeof CASE / sizeof *CASE; k++)
        assert_close(kn_laws_student_both(CASE[k][0], CASE[k][1]) / CASE[k][2], 1, 1e-11);
    assert_close(kn_laws_student_both(0, 5), 1, 0);
    assert_true(isnan(kn_laws_student_both(NAN, 5)) && isnan(kn_laws_student_both(1, 0)));
}

static void extreme_values_and_binomials_are_scipys(void **state)
{
    (void)state;
    static const double GEV[][5] = {{0.156, 1.87, .356, .05, 3.2150188000721975},
                                    {-.3, 2, .5, .001, 3.456814276081425},
                                    {0, 2, .5, .01, 4.30007461338829}};
    static const double RANGE[][4] = {
        {24, .04, 0, 3}, {100, .05, 1, 10}, {1, .05, 0, 1}, {500, .05, 16, 35}, {3, .5, 0, 3}};
    double low, high;
    for (int k = 0; k < 3; k++)
        assert_close(kn_laws_gev_beyond(GEV[k], GEV[k][3]), GEV[k][4], 1e-12);
    for (int k = 0; k < 5; k++) {
        kn_laws_binomial_range((ptrdiff_t)RANGE[k][0], RANGE[k][1], &low, &high);
        assert_close(low, RANGE[k][2], 0);
        assert_close(high, RANGE[k][3], 0);
    }
    kn_laws_binomial_range(0, .05, &low, &high);
    assert_true(isnan(low) && isnan(high));
}

/* ---- two groups ---------------------------------------------------------------------------------
 */

/* Every way to deal the values among the groups. */
static double slow_rank_p(const double *x, int n, int all)
{
    double u0 = 0, below = 0, above = 0, total = 0;
    for (unsigned set = 0; set < 1u << all; set++) {
        double u = 0;
        if (__builtin_popcount(set) != n)
            continue;
        for (int i = 0; i < all; i++)
            for (int j = 0; j < all; j++)
                if ((set >> i & 1) && !(set >> j & 1))
                    u += (x[i] > x[j]) + (x[i] == x[j]) / 2.0;
        if (set == (1u << n) - 1)
            u0 = u;
    }
    for (unsigned set = 0; set < 1u << all; set++) {
        double u = 0;
        if (__builtin_popcount(set) != n)
            continue;
        for (int i = 0; i < all; i++)
            for (int j = 0; j < all; j++)
                if ((set >> i & 1) && !(set >> j & 1))
                    u += (x[i] > x[j]) + (x[i] == x[j]) / 2.0;
        below += u <= u0;
        above += u >= u0;
        total++;
    }
    return fmin(1, 2 * fmin(below, above) / total);
}

static void ranks_of_few_count_every_way(void **state)
{
    (void)state;
    static const double A[] = {1.1, 2.2, 3.3, 0.4, 5.5}, B[] = {2.5, 3.6, 4.7, 6.8, 7.9, 8.1, 9.3};
    kn_rank_test t;
    assert_ok(ctx, kn_rank_test_of(ctx, A, 5, B, 7, &t));
    assert_true(t.exact);
    assert_close(t.p, 0.030303030303030304, 1e-15);
    assert_close(t.U, 4, 0);
    for (int round = 0; round < repeat(40, 10); round++) {
        double x[9];
        int all = 4 + round % 6, n = 1 + round % 3;
        for (int i = 0; i < all; i++)
            x[i] = floor(4 * kn_rng_uniform(&rng)); /* with ties */
        assert_ok(ctx, kn_rank_test_of(ctx, x, n, x + n, all - n, &t));
        assert_close(t.p, slow_rank_p(x, n, all), 1e-14);
    }
    assert_ok(ctx, kn_rank_test_of(ctx, A, 5, B, 0, &t));
    assert_true(isnan(t.p));
}

static void ranks_of_many_are_scipys(void **state)
{
    (void)state;
    static const double A[] = {-0.8, -1.3, -0.2, 0.4,  1.1,  0.1,  -0.6, -0.8, 0.7,  1.6,
                               0.3,  -1.2, -1.0, 1.6,  0.2,  -1.7, -0.1, -1.2, -0.6, -0.5,
                               -0.7, 0.6,  -0.1, -0.6, 0.4,  0.8,  -1.6, -0.3, -1.0, -0.2,
                               -1.3, 0.0,  -0.0, -0.3, -1.0, -0.4, -1.1, -1.4, 0.2,  -1.1};
    static const double B[] = {1.5, 1.0,  -1.7, 0.6,  -0.8, 0.3,  0.3, -1.7, 0.1, 0.0,
                               1.3, -0.9, 1.0,  -0.8, -0.0, -0.5, 1.7, 0.9,  2.7, 0.9,
                               1.1, 1.1,  -0.3, 0.2,  1.7,  -0.1, 0.5, 0.3,  0.9, -0.1};
    kn_rank_test t;
    assert_ok(ctx, kn_rank_test_of(ctx, A, 40, B, 30, &t));
    assert_false(t.exact);
    assert_close(t.U, 340, 0);
    assert_close(t.p, 0.0020573298530899018, 1e-14);
}

static kn_sums sums_of(const double *x, int n)
{
    kn_sums s = {n, 0, 0};
    for (int i = 0; i < n; i++) {
        s.sum += x[i];
        s.sum2 += x[i] * x[i];
    }
    return s;
}

static void welch_and_false_discoveries_are_scipys(void **state)
{
    (void)state;
    static const double A[] = {0.3, 1.2, -0.5, 2.2, 0.9},
                        B[] = {1.5, -1.25, 0.75, 3.0, 2.5, 1.0, 0.25};
    static const double SAME[] = {0.1, 0.1, 0.1};
    static const double P[] = {.04, .001, NAN, .03, .2};
    double q[5], median;
    kn_welch w = kn_welch_of(sums_of(A, 5), sums_of(B, 7));
    assert_close(w.t, -0.40950879687072206, 1e-13);
    assert_close(w.p, 0.6908068264479126, 1e-12);
    assert_true(isnan(kn_welch_of(sums_of(SAME, 3), sums_of(SAME, 3)).t));
    assert_true(isnan(kn_welch_of(sums_of(A, 1), sums_of(B, 7)).p));
    assert_ok(ctx, kn_adjusted(ctx, P, 5, q));
    assert_close(q[0], .16 / 3, 1e-15);
    assert_close(q[1], .004, 1e-15);
    assert_close(q[3], .16 / 3, 1e-15);
    assert_close(q[4], .2, 1e-15);
    assert_true(isnan(q[2]));
    assert_ok(ctx, kn_median_of(ctx, P, 5, &median));
    assert_close(median, .035, 1e-15);
}

/* ---- clusters -----------------------------------------------------------------------------------
 */

enum { SIDE = 7, VOXELS = SIDE * SIDE * SIDE };

static bool near(ptrdiff_t a, ptrdiff_t b)
{
    return labs(a % SIDE - b % SIDE) <= 1 && labs(a / SIDE % SIDE - b / SIDE % SIDE) <= 1 &&
           labs(a / SIDE / SIDE - b / SIDE / SIDE) <= 1;
}

/* Everything that a flood from t reaches: its size, and marks it. */
static ptrdiff_t flood(const float *z, ptrdiff_t T, const bool *edge, bool *seen, ptrdiff_t t)
{
    ptrdiff_t size = 1;
    seen[t] = true;
    for (ptrdiff_t s = 0; s < T; s++)
        if (!seen[s] && edge[t * T + s] && fabsf(z[s]) > 3 && (z[s] > 0) == (z[t] > 0))
            size += flood(z, T, edge, seen, s);
    return size;
}

/* Sizes agree, and each peak is in a cluster of its size. */
static void compare(kn_clusters *c, const float *z, ptrdiff_t T, const bool *edge)
{
    kn_report_cluster found[VOXELS];
    kn_cluster_list list = {.cluster = found, .most = VOXELS};
    static bool seen[VOXELS];
    ptrdiff_t n = 0;
    memset(seen, 0, sizeof seen);
    assert_ok(ctx, kn_clusters_find(ctx, c, z, 3, &list));
    for (ptrdiff_t k = 0; k < list.n; k++) {
        assert_false(seen[found[k].peak]);
        assert_int_equal(flood(z, T, edge, seen, found[k].peak), found[k].size);
        assert_true(k == 0 || found[k].size <= found[k - 1].size);
        assert_close(found[k].z, z[found[k].peak], 0);
        n++;
    }
    for (ptrdiff_t t = 0; t < T; t++)
        assert_int_equal(seen[t], fabsf(z[t]) > 3);
    assert_int_equal(n, list.found);
}

static void clusters_of_volumes_are_those_of_a_flood(void **state)
{
    (void)state;
    static bool edge[VOXELS * VOXELS];
    for (int round = 0; round < repeat(30, 5); round++) {
        ptrdiff_t voxel[VOXELS], T = 0;
        float z[VOXELS];
        kn_clusters *c;
        for (ptrdiff_t v = 0; v < VOXELS; v++)
            if (kn_rng_uniform(&rng) < .8) {
                voxel[T] = v;
                z[T++] = (float)(kn_rng_uniform(&rng) < .05 ? NAN : 2.2 * kn_rng_normal(&rng));
            }
        for (ptrdiff_t s = 0; s < T; s++)
            for (ptrdiff_t t = 0; t < T; t++)
                edge[s * T + t] = near(voxel[s], voxel[t]);
        kn_report_space space = {.kind = KN_REPORT_VOLUME,
                                 .dim = {SIDE, SIDE, SIDE},
                                 .affine = {{-2, 0, 0, 90}, {0, 3, 0, -5}, {0, 0, 2, 1}},
                                 .voxel = voxel};
        assert_ok(ctx, kn_clusters_new(ctx, &space, T, &c));
        compare(c, z, T, edge);
        kn_report_cluster one;
        kn_cluster_list list = {.cluster = &one, .most = 1};
        assert_ok(ctx, kn_clusters_find(ctx, c, z, 3, &list));
        ptrdiff_t v = voxel[one.peak];
        assert_close(one.mm[0], 90 - 2.0 * (double)(v % SIDE), 1e-12);
        assert_close(one.mm[1], 3.0 * (double)(v / SIDE % SIDE) - 5, 1e-12);
        assert_close(one.ml, 12e-3 * (double)one.size, 1e-12);
        kn_clusters_free(c);
    }
}

/* A strip of triangles with its vertices shuffled, and some without a response. */
static void clusters_of_meshes_follow_edges(void **state)
{
    (void)state;
    enum { V = 60 };
    static bool edge[V * V];
    for (int round = 0; round < repeat(30, 5); round++) {
        double xyz[3 * V];
        ptrdiff_t corner[3 * (V - 2)], place[V], response[V], T = 0;
        float z[V];
        kn_clusters *c;
        for (ptrdiff_t v = 0; v < V; v++) {
            place[v] = v;
            xyz[3 * v] = (double)v, xyz[3 * v + 1] = -1, xyz[3 * v + 2] = 2;
        }
        for (ptrdiff_t v = V - 1; v > 0; v--) {
            ptrdiff_t w = (ptrdiff_t)(kn_rng_uniform(&rng) * (double)(v + 1)), keep = place[v];
            place[v] = place[w], place[w] = keep;
        }
        for (ptrdiff_t v = 0; v < V; v++) {
            response[v] = kn_rng_uniform(&rng) < .9 ? T++ : -1;
            if (response[v] >= 0)
                z[response[v]] = (float)(4 * kn_rng_normal(&rng));
        }
        memset(edge, 0, sizeof edge);
        for (ptrdiff_t i = 0; i < V - 2; i++)
            for (int a = 0; a < 3; a++) {
                corner[3 * i + a] = place[i + a];
                for (int b = 0; b < 3; b++) {
                    ptrdiff_t s = response[place[i + a]], t = response[place[i + b]];
                    if (s >= 0 && t >= 0)
                        edge[s * T + t] = true;
                }
            }
        kn_report_space space = {.kind = KN_REPORT_SURFACE,
                                 .meshes = 1,
                                 .mesh = {
                                     {.surface = {V, V - 2, xyz, corner}, .response = response}}};
        assert_ok(ctx, kn_clusters_new(ctx, &space, T, &c));
        compare(c, z, T, edge);
        kn_clusters_free(c);
        for (ptrdiff_t v = 0; v < V; v++) /* two vertices each: regions, which have no neighbours */
            response[v] = v / 2;
        assert_ok(ctx, kn_clusters_new(ctx, &space, V / 2, &c));
        assert_null(c);
    }
}

static void tables_have_no_clusters(void **state)
{
    (void)state;
    kn_clusters *c;
    ptrdiff_t voxel[] = {0, 1, 2};
    kn_report_space table = {0},
                    line = {.kind = KN_REPORT_VOLUME, .dim = {3, 1, 1}, .voxel = voxel};
    assert_ok(ctx, kn_clusters_new(ctx, &table, 3, &c));
    assert_null(c);
    assert_ok(ctx, kn_clusters_new(ctx, &line, 3, &c));
    assert_null(c);
}

/* ---- people -------------------------------------------------------------------------------------
 */

static kn_report *new_report(ptrdiff_t n)
{
    kn_report *r = calloc(1, sizeof *r);
    void *memory;
    assert_ok(ctx, kn_arena_alloc(ctx, &r->arena, n, sizeof *r->people.person, &memory));
    r->people.person = memory;
    r->people.n = n;
    for (ptrdiff_t i = 0; i < n; i++) {
        r->people.person[i] =
            (kn_report_person){.label = -1, .p = NAN, .statistic = NAN, .deviance_p = NAN};
        assert_ok(ctx, kn_arena_print(ctx, &r->arena, &r->people.person[i].id, "sub-%02td", i + 1));
    }
    return r;
}

static void free_report(kn_report *r)
{
    kn_arena_clear(&r->arena);
    free(r);
}

static void the_most_abnormal_come_first(void **state)
{
    (void)state;
    static const double P[] = {.5, NAN, .01, .01, NAN, .01, .5};
    static const double M[] = {1, 9, 2, 3, NAN, 2, 1};
    static const ptrdiff_t EXPECTED[] = {3, 2, 5, 0, 6, 1, 4};
    kn_report *r = new_report(7);
    for (int i = 0; i < 7; i++) {
        r->people.person[i].p = P[i];
        r->people.person[i].statistic = M[i];
    }
    assert_ok(ctx, kn_people_sort(ctx, r));
    assert_memory_equal(r->people.order, EXPECTED, sizeof EXPECTED);
    free_report(r);
}

static void ranks_are_among_the_others(void **state)
{
    (void)state;
    static const double X[] = {1, -3, NAN, 2, 2}, UP[] = {.75, 1, NAN, .5, .5},
                        BOTH[] = {1, .25, NAN, .75, .75};
    double p[5];
    for (int sizes = 0; sizes < 2; sizes++) {
        assert_ok(ctx, kn_people_rank(ctx, X, 5, sizes, p));
        for (int i = 0; i < 5; i++)
            assert_true(isnan(X[i]) ? isnan(p[i]) : p[i] == (sizes ? BOTH : UP)[i]);
    }
    assert_ok(ctx, kn_people_rank(ctx, X, 1, false, p));
    assert_true(isnan(p[0])); /* nobody else */
}

static void who_is_labelled_is_not_expected_to_be_normal(void **state)
{
    (void)state;
    kn_report *r = new_report(30);
    for (int i = 0; i < 30; i++) {
        r->people.person[i].deviance_p = i < 4 ? .02 : .5;
        r->people.person[i].label = i == 0;
        r->people.person[i].training = i == 1;
    }
    r->people.person[29].deviance_p = NAN;
    kn_people_count(r, .04);
    assert_int_equal(r->people.deviance_of, 27);
    assert_int_equal(r->people.deviance_found, 2);
    double low, high;
    kn_laws_binomial_range(27, .04, &low, &high);
    assert_close(r->people.deviance_expected_low, low, 0);
    assert_close(r->people.deviance_expected_high, high, 0);
    kn_people_count(r, 0); /* no p can be .05: then nothing is expected, and nothing is said */
    assert_true(isnan(r->people.deviance_expected_low) && isnan(r->people.deviance_expected_high));
    free_report(r);
}

static void cards_are_of_whom_was_asked_for(void **state)
{
    (void)state;
    kn_report *r = new_report(12);
    const char *id[12];
    for (int i = 0; i < 12; i++) {
        id[i] = r->people.person[i].id;
        r->people.person[i].statistic = i == 11 ? NAN : (double)i;
    }
    const kn_people_named named = {.id = id, .where = "scored/people.tsv"};
    assert_ok(ctx, kn_people_sort(ctx, r));
    assert_ok(ctx, kn_people_choose(ctx, r, "3", &named));
    assert_int_equal(r->people.n_cards, 3);
    assert_int_equal(r->people.card[0].person, 10);
    assert_ok(ctx, kn_people_choose(ctx, r, "99", &named));
    assert_int_equal(r->people.n_cards, 11); /* who has no statistic has nothing to show */
    assert_ok(ctx, kn_people_choose(ctx, r, "sub-12, sub-03,sub-12", &named));
    assert_int_equal(r->people.n_cards, 2);
    assert_int_equal(r->people.card[0].person, 11);
    assert_int_equal(r->people.card[1].person, 2);
    assert_int_equal(kn_people_choose(ctx, r, "sub-99", &named), KN_ERR_DATA);
    assert_string_equal(kn_message(ctx),
                        "{people}: scored/people.tsv has no 'sub-99'; is it 'sub-09'?");
    assert_int_equal(kn_people_choose(ctx, r, "unlike any of them", &named), KN_ERR_DATA);
    assert_string_equal(kn_message(ctx), "{people}: scored/people.tsv has no 'unlike any of them'");
    free_report(r);
}

/* ---- words --------------------------------------------------------------------------------------
 */

static void p_is_never_0(void **state)
{
    (void)state;
    static const struct {
        double p;
        bool bound;
        const char *text;
    } CASE[] = {{.0132, false, "p = 0.013"},     {.0052, true, "p < 0.0052"},
                {1. / 98, true, "p < 0.011"},    {.00991, true, "p < 0.010"},
                {1, false, "p = 1.0"},           {0, false, "p < 0.000001"},
                {3e-7, false, "p = 0.00000030"}, {.5, false, "p = 0.50"}};
    kn_arena arena = {0};
    for (size_t k = 0; k < sizeof CASE / sizeof *CASE; k++) {
        kn_say s = {.ctx = ctx, .arena = &arena};
        const char *text;
        kn_say_p(&s, CASE[k].p, CASE[k].bound);
        assert_ok(ctx, kn_say_end(&s, &text));
        assert_string_equal(text, CASE[k].text);
    }
    kn_say s = {.ctx = ctx, .arena = &arena};
    const char *text;
    kn_say_fixed(&s, -1e-9, 3);
    kn_say_words(&s, " ");
    kn_say_percent(&s, .99987);
    kn_say_words(&s, " ");
    kn_say_figures(&s, 12345.6, 3);
    assert_ok(ctx, kn_say_end(&s, &text));
    assert_string_equal(text, "0.000 99.99 % 12346");
    assert_string_equal(kn_said_percent_least(1 - 1. / 98).text, "98.9"); /* 98.98 */
    assert_string_equal(kn_said_percent_least(.95).text, "95.0");
    kn_arena_clear(&arena);
}

static void options_of_a_command_are_found(void **state)
{
    (void)state;
    char out[16];
    const char *line =
        "kronorm score 'my --threshold 9 model' --label 'a=it'\\''s' --threshold 2.5 --output x";
    assert_true(kn_command_option(line, "--threshold", out, sizeof out));
    assert_string_equal(out, "2.5");
    assert_true(kn_command_option(line, "--label", out, sizeof out));
    assert_string_equal(out, "a=it's");
    assert_false(kn_command_option(line, "--reference", out, sizeof out));
    assert_false(kn_command_option(NULL, "--reference", out, sizeof out));
    assert_false(kn_command_option(line, "--label", out, 3));
}

/* ---- ids ----------------------------------------------------------------------------------------
 */

static void equal_names_have_one_number(void **state)
{
    (void)state;
    static const char *const NAME[] = {"b", "a", "b", "c", "a"};
    static const ptrdiff_t EXPECTED[] = {1, 2, 1, 3, 2};
    ptrdiff_t number[5];
    assert_ok(ctx, kn_strip_numbers(ctx, NAME, 5, number));
    assert_memory_equal(number, EXPECTED, sizeof EXPECTED);
}

static void ids_are_replaced_as_words(void **state)
{
    (void)state;
    static const kn_alias ALIAS[] = {{"sub-1", "person-1"},
                                     {"sub-12", "person-2"},
                                     {"4711", "person-3"},
                                     {"7", "person-4"},
                                     {"M\xC3\xBCller, J.", "person-5"}};
    static const struct {
        const char *text, *expected;
        bool sentence;
    } CASE[] = {
        {"sub-1 and sub-12, not sub-123 or xsub-1", "person-1 and person-2, not sub-123 or xsub-1",
         true},
        {"--responses 'in/sub-12_T1w.nii'", "--responses 'in/person-2_T1w.nii'", false},
        {"4711 people", "4711 people", true},
        {"--where id=4711", "--where id=person-3", false},
        {"--seed 7", "--seed 7", false},
        {"of M\xC3\xBCller, J.: n/a", "of person-5: n/a", true},
        {"", "", true},
    };
    kn_arena arena = {0};
    kn_stripper *s;
    assert_ok(ctx, kn_stripper_new(ctx, ALIAS, 5, "person-", &s));
    for (size_t k = 0; k < sizeof CASE / sizeof *CASE; k++) {
        const char *out;
        assert_ok(ctx, kn_strip(ctx, s, CASE[k].text, CASE[k].sentence, &arena, &out));
        assert_string_equal(out, CASE[k].expected);
    }
    kn_stripper_free(s);
    kn_arena_clear(&arena);
}

/* Somebody may be called as others are in the page. */
static void ids_like_aliases_are_told_apart(void **state)
{
    (void)state;
    static const char *const NAME[] = {"person-2", "person", "person--x", "person---7", "person-"};
    static const kn_alias ALIAS[] = {{"person-2", "person--1"},
                                     {"person", "person--2"},
                                     {"7", "person--3"}};
    static const char text[] = "person--12 and person-2, a person and person--2 of person--x";
    kn_arena arena = {0};
    kn_stripper *s;
    const char *out;
    assert_int_equal(kn_strip_hyphens(NAME + 1, 1, 0), 0);
    assert_int_equal(kn_strip_hyphens(NAME, 3, 0), 1);
    assert_int_equal(kn_strip_hyphens(NAME, 5, 2), 3);
    assert_int_equal(kn_strip_hyphens(NULL, 5, 2), 2);
    assert_ok(ctx, kn_stripper_new(ctx, ALIAS, 3, "person--", &s));
    assert_ok(ctx, kn_strip(ctx, s, text, true, &arena, &out));
    assert_string_equal(out, "person--12 and person--1, a person--2 and person--2 of person--2--x");
    kn_stripper_free(s);
    kn_arena_clear(&arena);
}

static void a_stripped_report_names_nobody(void **state)
{
    (void)state;
    enum { N = 3 };
    static const char *const ID[N] = {"sub-ann", "sub-bob", "sub-cyd"}, *const GONE[] = {"sub-eve",
                                                                                         "07"};
    static const char *const WHY[] = {"no image sub-eve_T1w.nii", "n/a"};
    kn_report *r = new_report(N);
    kn_report_note note = {"extrapolation", "", "far away: sub-bob"};
    kn_report_fact fact = {
        "folder made by",
        "kronorm score m -y 'maps/sub-ann.nii' -c x/sub-07.tsv --where id=sub-dan"};
    kn_report_card card = {.person = 1, .words = "as sub-cyd"};
    const char *level[] = {"of sub-ann", "17"}, *cell[N] = {"of sub-ann", "of sub-ann", "17"};
    kn_report_column family = {.name = "family", .levels = 2, .level = level};
    kn_material m = {.kind = KN_MATERIAL_SCORE,
                     .dir = "scored",
                     .N = 1,
                     .n = N,
                     .id = ID,
                     .n_dropped = 2,
                     .training_id = (const char *const[]){"sub-dan"},
                     .dropped_id = GONE,
                     .dropped_why = WHY};
    const kn_report_job job = {.m = &m, .r = r};
    char *json;
    for (int i = 0; i < N; i++)
        assert_ok(ctx, kn_arena_print(ctx, &r->arena, &r->people.person[i].id, "person-%d", i + 1));
    r->stripped = true;
    r->alias = "person-";
    r->title = "scored/sub-ann";
    r->sentence = "All but sub-eve.";
    r->warnings = (kn_report_notes){1, 1, &note};
    r->cohort = (kn_report_cohort){
        .n = 1, .column = &family, .n_dropped = 2, .dropped_id = GONE, .dropped_why = WHY};
    for (int i = 0; i < N; i++)
        r->people.person[i].covariate = &cell[i];
    r->group = (kn_report_group){.label = "family=sub-bob"};
    r->words.facts = 1, r->words.fact = &fact;
    r->people.n_cards = 1, r->people.card = &card;
    assert_ok(ctx, kn_compute_strip(ctx, &job));
    assert_ok(ctx, kn_report_json_text(ctx, r, &json));
    assert_null(strstr(json, "sub-"));
    assert_non_null(strstr(json, "far away: person-2"));
    assert_non_null(strstr(json, "id=person-of-training"));
    assert_string_equal(level[0], "of person-1");
    assert_string_equal(cell[1], "of person-1");
    assert_string_equal(r->group.label, "family=person-2");
    json_t *read = json_loads(json, 0, NULL);
    assert_non_null(read);
    json_decref(read);
    kn_free(json);
    free_report(r);
}

/* Each allocation fails in its turn: the sentence is about memory, and nothing is lost (valgrind).
 */
static void memory_that_is_not_there_is_told(void **state)
{
    (void)state;
    static const double A[] = {1, 2, 3}, B[] = {2, 4};
    static const kn_alias ALIAS[] = {{"sub-1", "person-1"}};
    ptrdiff_t voxel[] = {0, 1, 2, 3};
    const float z[] = {4, 4, -4, 1};
    kn_report_space space = {.kind = KN_REPORT_VOLUME, .dim = {2, 2, 1}, .voxel = voxel};
    kn_status status = KN_ERR_MEMORY;
    int k = 0;
    while (status != KN_OK) {
        kn_report_cluster found[4];
        kn_cluster_list list = {.cluster = found, .most = 4};
        kn_clusters *c = NULL;
        kn_stripper *s = NULL;
        kn_arena arena = {0};
        kn_rank_test test;
        const char *text;
        kn_fail_allocation(ctx, ++k);
        status = kn_clusters_new(ctx, &space, 4, &c);
        if (status == KN_OK)
            status = kn_clusters_find(ctx, c, z, 3, &list);
        if (status == KN_OK)
            status = kn_rank_test_of(ctx, A, 3, B, 2, &test);
        if (status == KN_OK)
            status = kn_stripper_new(ctx, ALIAS, 1, "person-", &s);
        if (status == KN_OK)
            status = kn_strip(ctx, s, "of sub-1", true, &arena, &text);
        kn_fail_allocation(ctx, 0);
        assert_true(status == KN_OK || status == KN_ERR_MEMORY);
        kn_clusters_free(c);
        kn_stripper_free(s);
        kn_arena_clear(&arena);
    }
    assert_true(k > 8);
}

static void broken_texts_are_json_all_the_same(void **state)
{
    (void)state;
    kn_report *r = new_report(1);
    char *json;
    r->people.person[0].id = "a\xFF\xC3(b\xE2\x82 \xC3\xA9\x01";
    assert_ok(ctx, kn_report_json_text(ctx, r, &json));
    json_t *read = json_loads(json, 0, NULL);
    const char *id = json_string_value(
        json_object_get(json_array_get(json_object_get(read, "people"), 0), "id"));
    assert_string_equal(id, "a\xEF\xBF\xBD\xEF\xBF\xBD(b\xEF\xBF\xBD\xEF\xBF\xBD \xC3\xA9\x01");
    json_decref(read);
    kn_free(json);
    free_report(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(students_tails_are_scipys),
        cmocka_unit_test(extreme_values_and_binomials_are_scipys),
        cmocka_unit_test(ranks_of_few_count_every_way),
        cmocka_unit_test(ranks_of_many_are_scipys),
        cmocka_unit_test(welch_and_false_discoveries_are_scipys),
        cmocka_unit_test(clusters_of_volumes_are_those_of_a_flood),
        cmocka_unit_test(clusters_of_meshes_follow_edges),
        cmocka_unit_test(tables_have_no_clusters),
        cmocka_unit_test(the_most_abnormal_come_first),
        cmocka_unit_test(ranks_are_among_the_others),
        cmocka_unit_test(who_is_labelled_is_not_expected_to_be_normal),
        cmocka_unit_test(cards_are_of_whom_was_asked_for),
        cmocka_unit_test(p_is_never_0),
        cmocka_unit_test(options_of_a_command_are_found),
        cmocka_unit_test(equal_names_have_one_number),
        cmocka_unit_test(ids_are_replaced_as_words),
        cmocka_unit_test(ids_like_aliases_are_told_apart),
        cmocka_unit_test(a_stripped_report_names_nobody),
        cmocka_unit_test(memory_that_is_not_there_is_told),
        cmocka_unit_test(broken_texts_are_json_all_the_same),
    };
    ctx = kn_ctx_new();
    kn_rng_init(&rng, 11, 0);
    int failed = cmocka_run_group_tests_name("report_people", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
