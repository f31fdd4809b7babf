/* Participants of the page: order, ranks, ranges and cards. */
#include "support/failing.h"
#include "support/reports.h"

#include "report/compute/internal.h"
#include "report/text/anonymize.h"
#include "stats/distributions.h"
#include "stats/two_sample_tests.h"

static void the_most_abnormal_come_first(void **state)
{
    (void)state;
    static const double P[] = {.5, NAN, .01, .01, NAN, .01, .5};
    static const double M[] = {1, 9, 2, 3, NAN, 2, 1};
    static const ptrdiff_t EXPECTED[] = {3, 2, 5, 0, 6, 1, 4};
    kn_report *r = new_report(7);
    for (int i = 0; i < 7; i++) {
        r->participants.participant[i].extreme_z_p = P[i];
        r->participants.participant[i].extreme_z = M[i];
    }
    assert_ok(ctx, kn_participants_sort(ctx, r));
    assert_memory_equal(r->participants.order, EXPECTED, sizeof EXPECTED);
    free_report(r);
}

static void ranks_are_among_the_others(void **state)
{
    (void)state;
    static const double X[] = {1, -3, NAN, 2, 2}, UP[] = {.75, 1, NAN, .5, .5},
                        BOTH[] = {1, .25, NAN, .75, .75};
    double p[5];
    for (int sizes = 0; sizes < 2; sizes++) {
        assert_ok(ctx, kn_participants_rank(ctx, X, 5, sizes, p));
        for (int i = 0; i < 5; i++)
            assert_true(isnan(X[i]) ? isnan(p[i]) : p[i] == (sizes ? BOTH : UP)[i]);
    }
    assert_ok(ctx, kn_participants_rank(ctx, X, 1, false, p));
    assert_true(isnan(p[0])); /* no other participant */
}

static void labelled_participants_are_not_expected_to_be_normal(void **state)
{
    (void)state;
    kn_report *r = new_report(30);
    for (int i = 0; i < 30; i++) {
        r->participants.participant[i].flag_p = i < 4 ? .02 : .5;
        r->participants.participant[i].label = i == 0;
        r->participants.participant[i].training = i == 1;
    }
    r->participants.participant[29].flag_p = NAN;
    kn_participants_count(r, .04);
    assert_int_equal(r->participants.flag.n, 27);
    assert_int_equal(r->participants.flag.flagged, 2);
    double low, high;
    kn_binomial_range(27, .04, &low, &high);
    assert_close(r->participants.flagged_expected_low, low, 0);
    assert_close(r->participants.flagged_expected_high, high, 0);
    kn_participants_count(r,
                          0); /* no p can be .05: then nothing is expected, and nothing is said */
    assert_true(isnan(r->participants.flagged_expected_low) &&
                isnan(r->participants.flagged_expected_high));
    free_report(r);
}

static void cards_show_the_requested_participants(void **state)
{
    (void)state;
    kn_report *r = new_report(12);
    const char *id[12];
    for (int i = 0; i < 12; i++) {
        id[i] = r->participants.participant[i].id;
        r->participants.participant[i].extreme_z = i == 11 ? NAN : (double)i;
    }
    const kn_participant_names named = {.id = id, .where = "scored/scored_participants.tsv"};
    assert_ok(ctx, kn_participants_sort(ctx, r));
    assert_ok(ctx, kn_participants_choose_cards(ctx, r, "3", &named));
    assert_int_equal(r->participants.n_cards, 3);
    assert_int_equal(r->participants.card[0].participant, 10);
    assert_ok(ctx, kn_participants_choose_cards(ctx, r, "99", &named));
    assert_int_equal(r->participants.n_cards, 11); /* who has no statistic has nothing to show */
    assert_ok(ctx, kn_participants_choose_cards(ctx, r, "sub-12, sub-03,sub-12", &named));
    assert_int_equal(r->participants.n_cards, 2);
    assert_int_equal(r->participants.card[0].participant, 11);
    assert_int_equal(r->participants.card[1].participant, 2);
    assert_int_equal(kn_participants_choose_cards(ctx, r, "sub-99", &named), KN_ERR_DATA);
    assert_string_equal(
        kn_message(ctx),
        "{participants}: scored/scored_participants.tsv has no ID 'sub-99'; did you mean sub-09?");
    assert_int_equal(kn_participants_choose_cards(ctx, r, "unlike any of them", &named),
                     KN_ERR_DATA);
    assert_string_equal(
        kn_message(ctx),
        "{participants}: scored/scored_participants.tsv has no ID 'unlike any of them'");
    free_report(r);
}

static int open_fixture(void **state)
{
    (void)state;
    ctx = kn_ctx_new();
    return 0;
}

static int close_fixture(void **state)
{
    (void)state;
    kn_ctx_free(ctx);
    return 0;
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

/* Each allocation fails in its turn: the sentence is about memory, and nothing is lost (valgrind).
 */
FAILING_CASE(report_participants, open_fixture, close_fixture)
{
    static const double A[] = {1, 2, 3}, B[] = {2, 4};
    static const kn_alias ALIAS[] = {{"sub-1", "participant-1"}};
    ptrdiff_t voxel[] = {0, 1, 2, 3};
    const float z[] = {4, 4, -4, 1};
    kn_report_space space = {.kind = KN_REPORT_VOLUME, .dim = {2, 2, 1}, .voxel = voxel};
    kn_status status = KN_ERR_MEMORY;
    int k = 0;
    while (status != KN_OK) {
        kn_report_cluster found[4];
        kn_cluster_list list = {.cluster = found, .limit = 4};
        kn_clusters *c = NULL;
        kn_anonymizer *s = NULL;
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
            status = kn_anonymizer_new(ctx, ALIAS, 1, "participant-", &s);
        if (status == KN_OK)
            status = kn_anonymize(ctx, s, "of sub-1", true, &arena, &text);
        kn_fail_allocation(ctx, 0);
        assert_true(status == KN_OK || status == KN_ERR_MEMORY);
        kn_clusters_free(c);
        kn_anonymizer_free(s);
        kn_arena_clear(&arena);
    }
    assert_true(k > 8);
}

TEST_PROGRAM(report_participants)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_abnormal_come_first),
        cmocka_unit_test(ranks_are_among_the_others),
        cmocka_unit_test(labelled_participants_are_not_expected_to_be_normal),
        cmocka_unit_test(cards_show_the_requested_participants),
    };
    return cmocka_run_group_tests_name("report_people", tests, open_fixture, close_fixture);
}
