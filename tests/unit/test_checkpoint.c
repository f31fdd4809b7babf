/* The file of a fit that may be interrupted: whose it is, and what becomes of it. */
#include <signal.h>
#include <sys/resource.h>

#include "checkpoints.h"

#define assert_other(p, o, text)                                                                   \
    do {                                                                                           \
        kn_checkpoint *c_ = NULL;                                                                  \
        assert_sentence(ctx,                                                                       \
                        kn_checkpoint_open(ctx, FILE_NAME, view((p).X), view((p).Y), (o), &c_),    \
                        KN_ERR_DATA,                                                               \
                        "m.safetensors.resume: was begun with " text                               \
                        " (remove it to start again, or leave {resume} out)");                     \
        assert_null(c_);                                                                           \
    } while (0)

static void a_checkpoint_of_another_fit_is_refused(void **state)
{
    (void)state;
    problem p = new_problem(20, 3);
    kn_settings o = options(), other = o;
    kn_checkpoint *c;
    double theta[] = {0, 0, 0}, was;
    int groups[20] = {0}, levels[20] = {0, 3};
    kn_design_options codes = {.levels = levels};
    kn_set_threads(ctx, 2);
    assert_ok(ctx, kn_checkpoint_open(ctx, FILE_NAME, view(p.X), view(p.Y), &o, &c));
    assert_logged(lines, KN_LOG_INFO,
                  "m.safetensors.resume: not there, the fit starts from the beginning");
    kn_checkpoint_free(c);
    assert_ok(ctx, kn_checkpoint_open(ctx, FILE_NAME, view(p.X), view(p.Y), &o, &c));
    assert_logged(lines, KN_LOG_INFO, "m.safetensors.resume: the fit goes on after 0 steps");
    kn_checkpoint_free(c);
    other.seed = 2;
    assert_other(p, &other, "other options");
    other = o;
    other.rho = 0.5;
    assert_other(p, &other, "other options");
    other = o;
    other.theta_start = theta, other.n_theta_start = 3;
    assert_other(p, &other, "other options");
    other = o;
    other.groups = groups;
    assert_other(p, &other, "other options");
    other = o;
    other.basis_view = view(p.X);
    assert_other(p, &other, "other basis");
    other = o; /* X may hold codes or the same numbers */
    other.design = &codes;
    assert_other(p, &other, "other covariates");
    was = p.X.data[7], p.X.data[7] = nextafter(was, 10);
    assert_other(p, &o, "other covariates");
    p.X.data[7] = was;
    was = p.Y.data[59], p.Y.data[59] = nextafter(was, 10);
    assert_other(p, &o, "other responses");
    p.Y.data[59] = was;
    kn_set_threads(ctx, 3);
    assert_other(p, &o, "threads '2', this run has '3'");
    kn_set_threads(ctx, 0);
    free_problem(p);
    scratch_empty();
}

static void a_file_that_is_no_checkpoint_is_refused(void **state)
{
    (void)state;
    static const char *const text[] = {"", "age,sex\n20,F\n", "{\"format\": \"other\"}\n", "{}",
                                       "\n"};
    problem p = new_problem(20, 3);
    kn_settings o = options();
    kn_checkpoint *c;
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        scratch_text(FILE_NAME, text[i]);
        assert_sentence(ctx, kn_checkpoint_open(ctx, FILE_NAME, view(p.X), view(p.Y), &o, &c),
                        KN_ERR_FORMAT,
                        "m.safetensors.resume: is not what kronorm fit {resume} writes");
        assert_same_file(FILE_NAME, text[i], strlen(text[i]));
    }
    free_problem(p);
    scratch_empty();
}

static void views_of_equal_values_have_equal_checkpoints(void **state)
{
    (void)state;
    problem p = new_problem(20, 3);
    kn_settings o = options();
    kn_checkpoint *c;
    kn_view wide = {p.Y.data, KN_F64, 10, 3, 2, 20}; /* every second row: no stride is 1 */
    kn_view X = {p.X.data, KN_F64, 10, 2, 2, 20};
    for (int i = 0; i < 2; i++) {
        assert_ok(ctx, kn_checkpoint_open(ctx, FILE_NAME, X, wide, &o, &c));
        kn_checkpoint_free(c);
    }
    p.Y.data[1] += 1; /* between the rows */
    assert_ok(ctx, kn_checkpoint_open(ctx, FILE_NAME, X, wide, &o, &c));
    kn_checkpoint_free(c);
    p.Y.data[2] += 1;
    assert_refused(ctx, kn_checkpoint_open(ctx, FILE_NAME, X, wide, &o, &c), KN_ERR_DATA,
                   "other responses");
    free_problem(p);
    scratch_empty();
}

static void a_step_that_differs_is_taken_anew_with_those_after_it(void **state)
{
    (void)state;
    problem p = new_problem(20, 3);
    kn_settings o = options();
    kn_checkpoint *c;
    double in = 1, out = 10;
    kn_step step = {KN_STEP_CELL, &in, sizeof in, &out, sizeof out, false};
    assert_ok(ctx, kn_checkpoint_open(ctx, FILE_NAME, view(p.X), view(p.Y), &o, &c));
    kn_journal *j = kn_checkpoint_journal(c);
    for (; in <= 3; in++, out++)
        assert_ok(ctx, kn_journal_note(ctx, j, &step));
    kn_checkpoint_free(c);
    assert_ok(ctx, kn_checkpoint_open(ctx, FILE_NAME, view(p.X), view(p.Y), &o, &c));
    j = kn_checkpoint_journal(c);
    in = 1;
    assert_ok(ctx, kn_journal_recall(ctx, j, &step));
    assert_true(step.known && out == 10);
    in = 7;
    assert_ok(ctx, kn_journal_recall(ctx, j, &step));
    assert_false(step.known);
    assert_logged(lines, KN_LOG_WARNING,
                  "m.safetensors.resume: the fit now takes another path; its last 2 steps are "
                  "taken anew");
    in = 3; /* known once, but behind another path */
    assert_ok(ctx, kn_journal_recall(ctx, j, &step));
    assert_false(step.known);
    kn_checkpoint_free(c);
    free_problem(p);
    scratch_empty();
}

static void a_full_disk_does_not_stop_the_fit(void **state)
{
    (void)state;
    problem p = new_problem(120, 3); /* enough for nothing else to be said */
    kn_settings o = options();
    counter count = {.cancel_after = -1};
    kn_model *m;
    struct rlimit was, small;
    o.components = 2;
    getrlimit(RLIMIT_FSIZE, &was);
    small = was;
    small.rlim_cur = 2000;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    lines.lines = 0;
    assert_ok(ctx, fit_journalled(p, &o, &count, &m));
    setrlimit(RLIMIT_FSIZE, &was);
    assert_logged(lines, KN_LOG_WARNING,
                  "m.safetensors.resume: cannot be written: file too large; the fit goes on, but "
                  "could not be resumed from here");
    assert_int_equal(lines.lines, 2); /* that it begins, and this one, once */
    kn_model_free(m);
    free_problem(p);
    scratch_empty();
}

TEST_PROGRAM(checkpoint)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_checkpoint_of_another_fit_is_refused),
        cmocka_unit_test(a_file_that_is_no_checkpoint_is_refused),
        cmocka_unit_test(views_of_equal_values_have_equal_checkpoints),
        cmocka_unit_test(a_step_that_differs_is_taken_anew_with_those_after_it),
        cmocka_unit_test(a_full_disk_does_not_stop_the_fit),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
