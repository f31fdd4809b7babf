/* A fit that is interrupted and begun again: the same model, byte for byte. */
#include <signal.h>
#include <sys/resource.h>

#include "covs.h"
#include "logged.h"
#include "scratch.h"
#include "views.h"

#include "base/hash.h"
#include "base/rng.h"
#include "gp/search.h"
#include "io/records.h"
#include "io/writer.h"
#include "work/checkpoint.h"
#include "work/fit.h"

static kn_ctx *ctx;
static logged lines;

/* ---- hash and records ------------------------------------------------------------------------ */

static void hash_matches_the_published_values(void **state)
{
    (void)state;
    static const char text[] = "Nobody inspects the spammish repetition";
    assert_true(kn_hash("", 0, 0) == 0xEF46DB3751D8E999u);
    assert_true(kn_hash("a", 1, 0) == 0xD24EC4F1A98C6E5Bu);
    assert_true(kn_hash("abc", 3, 0) == 0x44BC2CF5AD770999u);
    assert_true(kn_hash(text, sizeof text - 1, 0) == 0xFBCEA83C8A378BF1u);
}

static kn_records *open_records(const char *path)
{
    kn_records *r;
    assert_ok(ctx, kn_records_open(ctx, path, &r));
    return r;
}

/* Three records behind a line; returns the size of the file. */
static size_t make_records(void)
{
    static const char *const text[] = {"first", "", "the third"};
    char all[256];
    scratch_text("r", "a line\n");
    kn_records *r = open_records("r");
    for (int i = 0; i < 3; i++)
        assert_ok(ctx, kn_records_append(ctx, r, text[i], (ptrdiff_t)strlen(text[i])));
    kn_records_free(r);
    return scratch_read("r", all, sizeof all);
}

static bool next_is(kn_records *r, const char *text)
{
    const void *bytes;
    ptrdiff_t n;
    assert_ok(ctx, kn_records_peek(ctx, r, &bytes, &n));
    bool same = bytes && n == (ptrdiff_t)strlen(text) && memcmp(bytes, text, (size_t)n) == 0;
    if (bytes)
        kn_records_take(r);
    return same;
}

static void records_come_back_in_order(void **state)
{
    (void)state;
    make_records();
    kn_records *r = open_records("r");
    assert_string_equal(kn_records_line(r), "a line");
    assert_int_equal(kn_records_count(r), 3);
    assert_true(next_is(r, "first"));
    assert_true(next_is(r, ""));
    assert_true(next_is(r, "the third"));
    assert_false(next_is(r, ""));
    kn_records_free(r);
}

static void a_torn_record_counts_as_never_written(void **state)
{
    (void)state;
    char all[256];
    size_t size = make_records(), heads = 3 * 16, line = 7;
    scratch_read("r", all, sizeof all);
    assert_int_equal(size, line + heads + 5 + 0 + 9);
    for (size_t cut = line; cut <= size; cut++) {
        scratch_file("cut", all, cut);
        kn_records *r = open_records("cut");
        ptrdiff_t whole = cut == size ? 3 : cut >= line + 32 + 5 ? 2 : cut >= line + 16 + 5 ? 1 : 0;
        assert_int_equal(kn_records_count(r), whole);
        for (ptrdiff_t k = 0; k < whole; k++)
            assert_true(next_is(r, k == 0 ? "first" : k == 1 ? "" : "the third"));
        assert_ok(ctx, kn_records_append(ctx, r, "after", 5)); /* in place of the torn one */
        kn_records_free(r);
        r = open_records("cut");
        assert_int_equal(kn_records_count(r), whole + 1);
        kn_records_free(r);
    }
}

static void a_damaged_byte_ends_the_records(void **state)
{
    (void)state;
    char all[256];
    size_t size = make_records();
    scratch_read("r", all, sizeof all);
    for (size_t i = 7; i < size; i++) {
        all[i] ^= 4;
        scratch_file("bad", all, size);
        all[i] ^= 4;
        kn_records *r = open_records("bad");
        assert_int_equal(kn_records_count(r), i < 7 + 21 ? 0 : i < 7 + 37 ? 1 : 2);
        kn_records_free(r);
    }
}

static void records_not_taken_make_room(void **state)
{
    (void)state;
    make_records();
    kn_records *r = open_records("r"), *second;
    assert_refused(ctx, kn_records_open(ctx, "r", &second), KN_ERR_IO, "another run is writing it");
    assert_true(next_is(r, "first"));
    assert_ok(ctx, kn_records_append(ctx, r, "new", 3));
    kn_records_free(r);
    r = open_records("r");
    assert_int_equal(kn_records_count(r), 2);
    assert_true(next_is(r, "first"));
    assert_true(next_is(r, "new"));
    kn_records_free(r);
}

/* ---- fits ------------------------------------------------------------------------------------ */

static const char FILE_NAME[] = "m.safetensors.resume";
enum { ROOM = 1 << 22 };

typedef struct problem {
    kn_mat X, Y;
} problem;

static problem new_problem(ptrdiff_t N, ptrdiff_t T)
{
    kn_rng rng;
    kn_rng_init(&rng, 1, 7);
    problem p = {ref_normal(&rng, N, 2), ref_normal(&rng, N, T)};
    for (ptrdiff_t j = 0; j < T; j++)
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(p.Y, j)[i] += sin(kn_at(p.X, i, 0) + (double)j) + 0.5 * kn_at(p.X, i, 1);
    return p;
}

static void free_problem(problem p)
{
    free(p.X.data), free(p.Y.data);
}

/* A journal that counts, and that can pull the plug. */
typedef struct counter {
    kn_journal journal;
    kn_journal *inner;
    int known, noted, cancel_after; /* steps; -1: never */
} counter;

static kn_status count_recall(kn_journal *self, kn_ctx *c, kn_step *step)
{
    counter *k = (counter *)self;
    if (k->cancel_after >= 0 && k->known + k->noted >= k->cancel_after)
        kn_cancel(c);
    kn_status status = k->inner->recall(k->inner, c, step);
    k->known += step->known;
    return status;
}

static kn_status count_note(kn_journal *self, kn_ctx *c, const kn_step *step)
{
    counter *k = (counter *)self;
    k->noted++;
    return k->inner->note(k->inner, c, step);
}

static kn_status fit_journalled(problem p, const kn_settings *o, counter *count, kn_model **m)
{
    kn_checkpoint *c;
    assert_ok(ctx, kn_checkpoint_open(ctx, FILE_NAME, view(p.X), view(p.Y), o, &c));
    *count =
        (counter){{count_recall, count_note}, kn_checkpoint_journal(c), 0, 0, count->cancel_after};
    kn_status status = kn_fit_journal(ctx, view(p.X), view(p.Y), o, &count->journal, m);
    kn_checkpoint_free(c);
    return status;
}

static void *read_whole(const char *name, size_t *size)
{
    void *bytes = malloc(ROOM);
    *size = scratch_read(name, bytes, ROOM);
    assert_true(*size < ROOM);
    return bytes;
}

static void assert_same_file(const char *name, const void *bytes, size_t size)
{
    size_t n;
    void *found = read_whole(name, &n);
    assert_int_equal(n, size);
    assert_memory_equal(found, bytes, n);
    free(found);
}

/* However much of the journal was written, the fit that goes on from it gives the model of one that
 * was never interrupted, and ends with the same journal. */
/* How many steps it keeps. */
static int resumes(ptrdiff_t N, ptrdiff_t T, const kn_settings *o)
{
    problem p = new_problem(N, T);
    kn_model *m;
    size_t size, all;
    counter first = {.cancel_after = -1};
    assert_ok(ctx, kn_fit_arrays(ctx, view(p.X), view(p.Y), o, &m));
    assert_ok(ctx, kn_model_save(ctx, m, "plain", 0));
    kn_model_free(m);
    void *plain = read_whole("plain", &size);
    assert_ok(ctx, fit_journalled(p, o, &first, &m));
    assert_ok(ctx, kn_model_save(ctx, m, "m", 1));
    kn_model_free(m);
    assert_same_file("m", plain, size);
    assert_int_equal(first.known, 0);
    assert_true(first.noted >= 3);
    char *journal = read_whole(FILE_NAME, &all), *line = memchr(journal, '\n', all);
    size_t head = (size_t)(line - journal) + 1;
    for (int part = 0; part <= 8; part += repeat(1, 4)) {
        counter again = {.cancel_after = -1};
        scratch_file(FILE_NAME, journal, head + (all - head) * (size_t)part / 8);
        lines.level = KN_LOG_INFO;
        assert_ok(ctx, fit_journalled(p, o, &again, &m));
        assert_ok(ctx, kn_model_save(ctx, m, "m", 1));
        kn_model_free(m);
        assert_same_file("m", plain, size);
        assert_same_file(FILE_NAME, journal, all);
        assert_int_equal(again.known + again.noted, first.noted);
        assert_true(part == 0 ? again.known == 0 : part < 4 || again.known > 0);
        assert_true(part < 8 || again.noted == 0);
    }
    free(journal);
    free(plain);
    free_problem(p);
    scratch_empty();
    return (int)first.noted;
}

static kn_settings options(void)
{
    kn_settings o;
    classic_settings(&o);
    o.folds = 2;
    return o;
}

static void structured_noise_resumes(void **state)
{
    (void)state;
    kn_settings o = options();
    o.components = 3;
    o.restarts = 1;
    resumes(40, 6, &o);
    o.restarts = 0;
    resumes(160, 6, &o); /* with a subsample */
    o.max_evals = 4;
    resumes(40, 6, &o);
}

/* Dense by way of a subsample, of low rank, and with groups; components by the curve. */
static void the_additive_model_resumes(void **state)
{
    (void)state;
    kn_settings o;
    int group[170];
    for (int i = 0; i < 170; i++)
        group[i] = i / 2;
    for (int low = 0; low < 2; low++)
        for (int groups = 0; groups < 2; groups++) {
            kn_settings_init(&o);
            o.folds = 2;
            o.rank = low ? 40 : KN_RANK_AUTO;
            o.groups = groups ? group : NULL;
            resumes(170, 6, &o);
        }
}

static void choice_of_components_resumes(void **state)
{
    (void)state;
    kn_settings o = options();
    resumes(40, 8, &o);
}

static void iso_noise_resumes(void **state)
{
    (void)state;
    kn_settings o = options();
    o.noise = KN_NOISE_ISO;
    o.components = 3;
    resumes(40, 6, &o);
    resumes(155, 6, &o);
    o.task_kernel = "linear+se+iso";
    o.restarts = 1;
    resumes(30, 6, &o);
    o.likelihood = KN_PAPER;
    o.sample_kernel = "se";
    resumes(30, 6, &o);
}

static void low_rank_resumes(void **state)
{
    (void)state;
    kn_settings o = options();
    o.components = 3;
    o.rank = 9;
    resumes(60, 6, &o);
    resumes(160, 6, &o);
    o.noise = KN_NOISE_ISO;
    o.optimiser = KN_LBFGS;
    o.max_evals = 30;
    resumes(60, 6, &o);
}

/* An engine whose few pivots do not suffice is dense from then on, also when it is told so. */
static void a_low_rank_that_turned_dense_resumes(void **state)
{
    (void)state;
    problem p = new_problem(60, 6);
    kn_settings fo = options();
    kn_spec spec = {.sample = cov_of("linear+se", 2), .rank = 12, .rank_auto = true};
    kn_search_options o = {
        .limits = {.evals_left = -1}, .optimise = true, .rho = 0.1, .length = 30, .seed = 1};
    kn_found found[10];
    double c[10][6];
    size_t all = 0, head = 0;
    char *journal = NULL;
    for (int part = 0; part < 10; part++) {
        kn_engine e = {0};
        kn_checkpoint *k;
        if (part > 0)
            scratch_file(FILE_NAME, journal, head + (all - head) * (size_t)(part - 1) / 8);
        assert_ok(ctx, kn_checkpoint_open(ctx, FILE_NAME, view(p.X), view(p.Y), &fo, &k));
        o.journal = kn_checkpoint_journal(k);
        assert_ok(ctx, engine_over(ctx, &spec, p.X, p.Y, 6, 0, 1, &e));
        assert_ok(ctx, kn_search(ctx, &e, &o, &found[part]));
        assert_int_equal(e.spec.rank, 0);
        memcpy(c[part], e.c, sizeof c[part]);
        kn_engine_clear(&e);
        kn_checkpoint_free(k);
        if (part == 0) {
            journal = read_whole(FILE_NAME, &all);
            head = (size_t)((char *)memchr(journal, '\n', all) - journal) + 1;
        }
        assert_same_file(FILE_NAME, journal, all);
        assert_memory_equal(c[part], c[0], sizeof c[0]);
        assert_true(found[part].lml == found[0].lml && found[part].evals == found[0].evals);
    }
    free(journal);
    free_problem(p);
    scratch_empty();
}

static void joint_optimisers_resume(void **state)
{
    (void)state;
    kn_settings o = options();
    o.noise = KN_NOISE_ISO;
    o.likelihood = KN_PAPER;
    o.components = 3;
    o.optimiser = KN_TNEWTON;
    o.task_kernel = "linear+se+iso";
    o.max_evals = 60;
    resumes(30, 6, &o);
    o.likelihood = KN_EXACT;
    o.task_kernel = NULL;
    o.optimiser = KN_LBFGS;
    o.restarts = 1;
    resumes(30, 6, &o);
}

static void stgpr_resumes(void **state)
{
    (void)state;
    kn_settings o = options();
    o.method = "stgpr";
    resumes(30, 5, &o);
    o.max_evals = 30;
    resumes(30, 5, &o);
}

static void plain_stgpr_resumes(void **state)
{
    (void)state;
    kn_settings o = options();
    o.method = "stgpr";
    o.plain = 1;
    o.restarts = 2;
    resumes(25, 5, &o);
    o.max_evals = 60;
    resumes(25, 5, &o);
}

static void kronprod_resumes(void **state)
{
    (void)state;
    kn_settings o = options();
    o.method = "kronprod";
    resumes(30, 6, &o);
    o.task_kernel = "se+iso";
    resumes(25, 5, &o);
}

static void kronsum_resumes(void **state)
{
    (void)state;
    kn_settings o = options();
    o.method = "kronsum";
    o.folds = 3;
    o.max_evals = 30;
    resumes(30, 4, &o);
    o.shrinkage = 0;
    resumes(25, 3, &o);
}

static void convolved_processes_resume(void **state)
{
    (void)state;
    kn_settings o;
    kn_settings_init(&o);
    o.method = "convolved";
    o.folds = 2;
    o.components = 2;
    o.max_evals = 12;
    resumes(30, 5, &o);
    o.inducing = KN_INDUCING_PITC;
    o.restarts = 1;
    o.max_evals = 4;
    resumes(25, 5, &o);
}

static void mtgpr_resumes(void **state)
{
    (void)state;
    kn_settings o = options();
    o.method = "mtgpr";
    o.components = 2;
    int steps = resumes(30, 6, &o);
    o.folds = 0;
    assert_true(steps >= resumes(30, 6, &o) + 2); /* each fold keeps its own */
    o.folds = 2;
    o.noise_rank = 1;
    o.ppca = true;
    resumes(25, 5, &o);
}

/* What a step gives after kn_cancel need not be what it would have given. */
static void a_cancelled_fit_resumes(void **state)
{
    (void)state;
    kn_settings o = options();
    problem p = new_problem(40, 6);
    kn_model *m;
    size_t size;
    o.components = 3;
    for (int noise = 0; noise < 2; noise++) {
        o.noise = noise;
        counter count = {.cancel_after = -1};
        assert_ok(ctx, fit_journalled(p, &o, &count, &m));
        assert_ok(ctx, kn_model_save(ctx, m, "plain", 1));
        kn_model_free(m);
        void *plain = read_whole("plain", &size);
        unlink(FILE_NAME);
        for (int after = 1; after < count.noted; after += repeat(9, 40)) {
            counter cut = {.cancel_after = after}, rest = {.cancel_after = -1};
            kn_status status = fit_journalled(p, &o, &cut, &m);
            assert_true(status == KN_OK || status == KN_ERR_CANCELLED);
            kn_model_free(m);
            kn_cancel_clear(ctx);
            assert_ok(ctx, fit_journalled(p, &o, &rest, &m));
            assert_true(rest.known == after);
            assert_ok(ctx, kn_model_save(ctx, m, "m", 1));
            kn_model_free(m);
            assert_same_file("m", plain, size);
            unlink(FILE_NAME);
        }
        free(plain);
    }
    free_problem(p);
    scratch_empty();
}

/* ---- the file -------------------------------------------------------------------------------- */

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

static int begin(void **state)
{
    ctx = kn_ctx_new();
    kn_set_log(ctx, logged_take, &lines);
    return ctx ? scratch_enter(state) : -1;
}

static int end(void **state)
{
    kn_ctx_free(ctx);
    return scratch_leave(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash_matches_the_published_values),
        cmocka_unit_test(records_come_back_in_order),
        cmocka_unit_test(a_torn_record_counts_as_never_written),
        cmocka_unit_test(a_damaged_byte_ends_the_records),
        cmocka_unit_test(records_not_taken_make_room),
        cmocka_unit_test(structured_noise_resumes),
        cmocka_unit_test(the_additive_model_resumes),
        cmocka_unit_test(choice_of_components_resumes),
        cmocka_unit_test(iso_noise_resumes),
        cmocka_unit_test(low_rank_resumes),
        cmocka_unit_test(a_low_rank_that_turned_dense_resumes),
        cmocka_unit_test(joint_optimisers_resume),
        cmocka_unit_test(stgpr_resumes),
        cmocka_unit_test(plain_stgpr_resumes),
        cmocka_unit_test(kronprod_resumes),
        cmocka_unit_test(kronsum_resumes),
        cmocka_unit_test(convolved_processes_resume),
        cmocka_unit_test(mtgpr_resumes),
        cmocka_unit_test(a_cancelled_fit_resumes),
        cmocka_unit_test(a_checkpoint_of_another_fit_is_refused),
        cmocka_unit_test(a_file_that_is_no_checkpoint_is_refused),
        cmocka_unit_test(views_of_equal_values_have_equal_checkpoints),
        cmocka_unit_test(a_step_that_differs_is_taken_anew_with_those_after_it),
        cmocka_unit_test(a_full_disk_does_not_stop_the_fit),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
