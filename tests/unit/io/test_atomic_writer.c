#include "support/scratch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "io/file/atomic_writer.h"
#include "io/file/path.h"

static void assert_holds(const char *name, const char *expected)
{
    char text[64] = {0};
    scratch_read(name, text, sizeof text - 1);
    assert_string_equal(text, expected);
}

static void a_file_appears_whole_or_not_at_all(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_writer *w;
    scratch_empty();
    assert_ok(ctx, kn_writer_new(ctx, "out.bin", NULL, &w));
    assert_ok(ctx, kn_writer_write(ctx, w, "hello", 5));
    assert_int_not_equal(access("out.bin", F_OK), 0);
    kn_writer_free(w);
    assert_int_equal(scratch_count(), 0);

    assert_ok(ctx, kn_writer_new(ctx, "out.bin", NULL, &w));
    assert_ok(ctx, kn_writer_write(ctx, w, "hello", 5));
    assert_ok(ctx, kn_writer_commit(ctx, w));
    kn_writer_free(w);
    kn_writer_free(NULL);
    assert_holds("out.bin", "hello");
    assert_int_equal(scratch_count(), 1);
    kn_ctx_free(ctx);
}

static void patches_may_come_before_and_after(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_writer *w;
    scratch_empty();
    assert_ok(ctx, kn_writer_new(ctx, "out.bin", NULL, &w));
    assert_ok(ctx, kn_writer_write(ctx, w, "....data", 8));
    assert_ok(ctx, kn_writer_patch(ctx, w, 0, "HEAD", 4));
    assert_ok(ctx, kn_writer_write(ctx, w, "+", 1));
    assert_ok(ctx, kn_writer_patch(ctx, w, 9, "late", 4));
    assert_ok(ctx, kn_writer_write(ctx, w, "!", 1));
    assert_ok(ctx, kn_writer_commit(ctx, w));
    kn_writer_free(w);
    assert_holds("out.bin", "HEADdata+late!");
    kn_ctx_free(ctx);
}

static void large_and_small_writes_keep_their_order(void **state)
{
    (void)state;
    enum { LARGE = 200000 };
    kn_ctx *ctx = kn_ctx_new();
    kn_writer *w;
    scratch_empty();
    unsigned char *bytes = malloc(LARGE), *back = malloc(3 * LARGE);
    for (int i = 0; i < LARGE; i++)
        bytes[i] = (unsigned char)(i * 7);
    assert_ok(ctx, kn_writer_new(ctx, "out.bin", NULL, &w));
    for (int at = 0, n = 1; at < LARGE; at += n, n = n * 3 % 90001) {
        n = n < LARGE - at ? n : LARGE - at;
        assert_ok(ctx, kn_writer_write(ctx, w, bytes + at, n));
    }
    assert_ok(ctx, kn_writer_commit(ctx, w));
    kn_writer_free(w);
    assert_int_equal(scratch_read("out.bin", back, 3 * LARGE), LARGE);
    assert_memory_equal(bytes, back, LARGE);
    free(bytes);
    free(back);
    kn_ctx_free(ctx);
}

static void nothing_is_replaced_without_force(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_writer *w;
    const kn_write_options force = {.force = true};
    static const char sentence[] = "out.bin already exists; use {force} to replace it";
    scratch_empty();
    scratch_text("out.bin", "old");
    assert_sentence(ctx, kn_writer_new(ctx, "out.bin", NULL, &w), KN_ERR_IO, sentence);
    assert_null(w);
    assert_sentence(ctx, kn_writer_check(ctx, "out.bin", NULL), KN_ERR_IO, sentence);
    assert_holds("out.bin", "old");
    assert_ok(ctx, kn_writer_new(ctx, "out.bin", &force, &w));
    assert_ok(ctx, kn_writer_write(ctx, w, "new", 3));
    assert_holds("out.bin", "old");
    assert_ok(ctx, kn_writer_commit(ctx, w));
    kn_writer_free(w);
    assert_holds("out.bin", "new");

    remove("out.bin");
    assert_ok(ctx, kn_writer_new(ctx, "out.bin", NULL, &w));
    scratch_text("out.bin", "came meanwhile");
    assert_sentence(ctx, kn_writer_commit(ctx, w), KN_ERR_IO, sentence);
    kn_writer_free(w);
    assert_holds("out.bin", "came meanwhile");
    assert_int_equal(scratch_count(), 1);
    kn_ctx_free(ctx);
}

static void an_input_is_never_replaced(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_writer *w;
    const char *inputs[] = {"other.bin", "in.bin"};
    const kn_write_options options = {.force = true, .inputs = inputs, .n_inputs = 2};
    scratch_empty();
    scratch_text("in.bin", "data");
    assert_int_equal(link("in.bin", "hard.bin"), 0);
    assert_int_equal(symlink("in.bin", "soft.bin"), 0);
    assert_sentence(ctx, kn_writer_new(ctx, "in.bin", &options, &w), KN_ERR_IO,
                    "in.bin is an input of this run, so it is not replaced; choose another output");
    assert_refused(ctx, kn_writer_new(ctx, "hard.bin", &options, &w), KN_ERR_IO, "is an input");
    assert_refused(ctx, kn_writer_new(ctx, "./soft.bin", &options, &w), KN_ERR_IO, "is an input");
    assert_holds("in.bin", "data");
    kn_ctx_free(ctx);
}

/* Files of a run that ends well appear together; of one that does not, none. */
static void pending_files_get_their_names_at_the_end(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_uncommitted_files pending = {0};
    kn_created_files made = {0};
    const kn_write_options options = {.force = true, .made = &made, .pending = &pending};
    static const char *const names[] = {"a.bin", "b.bin", "c.bin"};
    scratch_empty();
    scratch_text("b.bin", "old");
    for (int good = 0; good < 2; good++) {
        for (int i = 0; i < 3; i++) {
            kn_writer *w;
            assert_ok(ctx, kn_writer_new(ctx, names[i], &options, &w));
            assert_ok(ctx, kn_writer_write(ctx, w, names[i], 5));
            assert_ok(ctx, kn_writer_commit(ctx, w));
            kn_writer_free(w);
        }
        assert_holds("b.bin", "old");
        assert_int_equal(made.n, 0);
        if (good)
            assert_ok(ctx, kn_uncommitted_files_commit(ctx, &pending, &made));
        kn_uncommitted_files_clear(&pending);
        assert_int_equal(scratch_count(), good ? 3 : 1);
    }
    for (int i = 0; i < 3; i++)
        assert_holds(names[i], names[i]);
    assert_int_equal(made.n, 3);
    assert_string_equal(made.path[2], "c.bin");
    kn_created_files_clear(&made);
    kn_ctx_free(ctx);
}

/* A folder of this run can go again, one that was there stays; one that cannot be noted is not
 * left.
 */
static void a_folder_that_was_made_is_noted(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_created_files made = {0};
    scratch_empty();
    assert_int_equal(mkdir("old", 0777), 0);
    assert_ok(ctx, kn_created_files_folder(ctx, &made, "old"));
    assert_int_equal(made.n, 0);
    assert_refused(ctx, kn_created_files_folder(ctx, &made, "no/such"), KN_ERR_IO,
                   "no/such cannot be created: no such file or directory");
    for (long k = 1; k <= 2; k++) {
        kn_created_files none = {0};
        kn_fail_allocation(ctx, k);
        assert_refused(ctx, kn_created_files_folder(ctx, &none, "new"), KN_ERR_MEMORY, "memory");
        kn_fail_allocation(ctx, 0);
        kn_created_files_clear(&none);
        assert_int_equal(scratch_count(), 1);
    }
    assert_ok(ctx, kn_created_files_folder(ctx, &made, "new"));
    assert_int_equal(scratch_count(), 2);
    kn_created_files_remove(&made);
    kn_created_files_clear(&made);
    assert_int_equal(scratch_count(), 1);
    assert_int_equal(rmdir("old"), 0);
    kn_ctx_free(ctx);
}

/* One that came meanwhile stops the rest; what has its name is noted, so that it can go. */
static void a_pending_file_does_not_replace_unasked(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_uncommitted_files pending = {0};
    kn_created_files made = {0};
    const kn_write_options options = {.pending = &pending};
    scratch_empty();
    for (int i = 0; i < 3; i++) {
        kn_writer *w;
        assert_ok(ctx, kn_writer_new(ctx, i == 0 ? "a" : i == 1 ? "b" : "c", &options, &w));
        assert_ok(ctx, kn_writer_commit(ctx, w));
        kn_writer_free(w);
    }
    scratch_text("b", "came meanwhile");
    assert_sentence(ctx, kn_uncommitted_files_commit(ctx, &pending, &made), KN_ERR_IO,
                    "b already exists; use {force} to replace it");
    kn_uncommitted_files_clear(&pending);
    assert_int_equal(made.n, 1);
    kn_created_files_remove(&made);
    kn_created_files_clear(&made);
    assert_holds("b", "came meanwhile");
    assert_int_equal(scratch_count(), 1);
    kn_ctx_free(ctx);
}

static void places_that_cannot_be_written_are_sentences(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_writer *w;
    scratch_empty();
    assert_sentence(ctx, kn_writer_new(ctx, "none/out.bin", NULL, &w), KN_ERR_IO,
                    "none/out.bin cannot be written: no such file or directory");
    assert_sentence(ctx, kn_writer_new(ctx, ".", NULL, &w), KN_ERR_IO,
                    ". is a folder; give the name of a file");
    scratch_text("file", "");
    assert_sentence(ctx, kn_writer_new(ctx, "file/out.bin", NULL, &w), KN_ERR_IO,
                    "file/out.bin cannot be written: not a directory");
    assert_int_equal(mkdir("locked", 0555), 0);
    if (geteuid() != 0) /* root may write anywhere */
        assert_sentence(ctx, kn_writer_new(ctx, "locked/out.bin", NULL, &w), KN_ERR_IO,
                        "locked/out.bin cannot be written: permission denied");
    rmdir("locked");
    kn_ctx_free(ctx);
}

/* A limit on file size simulates a full disk: the same call fails, with another reason. */
static void a_full_disk_leaves_nothing_behind(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_writer *w;
    struct rlimit before, small;
    static const unsigned char zeros[100000];
    scratch_empty();
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 50000;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    assert_ok(ctx, kn_writer_new(ctx, "out.bin", NULL, &w));
    kn_status s = kn_writer_write(ctx, w, zeros, sizeof zeros);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_sentence(ctx, s, KN_ERR_IO, "out.bin cannot be written: file too large");
    kn_writer_free(w);
    assert_int_equal(scratch_count(), 0);

    int full = open("/dev/full", O_WRONLY); /* where there is one, the words for a full disk */
    if (full >= 0) {
        close(full);
        assert_sentence(ctx, kn_writer_new(ctx, "/dev/full", NULL, &w), KN_ERR_IO,
                        "/dev/full is a pipe or a device; give the name of a file");
    }
    kn_ctx_free(ctx);
}

static void new_files_follow_the_umask(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_writer *w;
    struct stat info;
    scratch_empty();
    mode_t before = umask(027);
    assert_ok(ctx, kn_writer_new(ctx, "out.bin", NULL, &w));
    assert_ok(ctx, kn_writer_commit(ctx, w));
    umask(before);
    kn_writer_free(w);
    assert_int_equal(stat("out.bin", &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    kn_ctx_free(ctx);
}

static void a_path_fits_its_buffer_or_is_refused(void **state)
{
    (void)state;
    char path[8];
    kn_ctx *ctx = kn_ctx_new();
    assert_ok(ctx, kn_path_in_folder(ctx, "dir", "abc", path, sizeof path));
    assert_string_equal(path, "dir/abc");
    assert_int_equal(kn_path_in_folder(ctx, "dir", "abcd", path, sizeof path), KN_ERR_IO);
    assert_string_equal(kn_message(ctx), "dir: the path is too long");
    kn_ctx_free(ctx);
}

TEST_PROGRAM(io_atomic_writer)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_appears_whole_or_not_at_all),
        cmocka_unit_test(patches_may_come_before_and_after),
        cmocka_unit_test(large_and_small_writes_keep_their_order),
        cmocka_unit_test(nothing_is_replaced_without_force),
        cmocka_unit_test(an_input_is_never_replaced),
        cmocka_unit_test(pending_files_get_their_names_at_the_end),
        cmocka_unit_test(a_folder_that_was_made_is_noted),
        cmocka_unit_test(a_pending_file_does_not_replace_unasked),
        cmocka_unit_test(places_that_cannot_be_written_are_sentences),
        cmocka_unit_test(a_full_disk_leaves_nothing_behind),
        cmocka_unit_test(new_files_follow_the_umask),
        cmocka_unit_test(a_path_fits_its_buffer_or_is_refused),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
