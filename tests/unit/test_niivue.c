#include "io/gzip.h"
#include "report/niivue.h"
#include "scratch.h"

static void pack(kn_ctx *ctx, const char *path, const char *text)
{
    kn_writer *file = NULL;
    kn_gzip_writer *g = NULL;
    const kn_write_options options = {.force = true};
    assert_ok(ctx, kn_writer_new(ctx, path, &options, &file));
    assert_ok(ctx, kn_gzip_writer_new(ctx, file, &g));
    assert_ok(ctx, kn_gzip_writer_write(ctx, g, text, (ptrdiff_t)strlen(text)));
    assert_ok(ctx, kn_gzip_writer_finish(ctx, g));
    assert_ok(ctx, kn_writer_commit(ctx, file));
    kn_gzip_writer_free(g);
    kn_writer_free(file);
}

static void where_there_is_none_the_sentence_says_how_to_get_it(void **state)
{
    (void)state;
    kn_niivue n;
    kn_ctx *ctx = kn_ctx_new();
    setenv("KRONORM_NIIVUE", "nowhere/niivue.js.gz", 1);
    assert_refused(
        ctx, kn_niivue_read(ctx, &n), KN_ERR_IO,
        "NiiVue is not at nowhere/niivue.js.gz, expected tools/fetch-niivue to have put it there");
    assert_null(n.bytes);
    kn_ctx_free(ctx);
}

static void it_is_looked_for_in_the_data_folder(void **state)
{
    (void)state;
    unsetenv("KRONORM_NIIVUE");
    const char *place = kn_niivue_place(), *end = "/kronorm/niivue.js.gz";
    assert_true(strlen(place) > strlen(end));
    assert_string_equal(place + strlen(place) - strlen(end), end);
    setenv("KRONORM_NIIVUE", "", 1);
    assert_string_equal(kn_niivue_place(), place);
}

static void another_script_is_refused(void **state)
{
    (void)state;
    kn_niivue n;
    kn_ctx *ctx = kn_ctx_new();
    setenv("KRONORM_NIIVUE", "other.js.gz", 1);
    pack(ctx, "other.js.gz", "abc");
    assert_refused(ctx, kn_niivue_read(ctx, &n), KN_ERR_FORMAT,
                   "other.js.gz: the script in it has the SHA-256 "
                   "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad, expected ");
    assert_null(n.bytes);
    scratch_text("other.js.gz", "function niivue() { return 1; }\n");
    assert_refused(ctx, kn_niivue_read(ctx, &n), KN_ERR_FORMAT,
                   "other.js.gz: not the NiiVue that this kronorm knows, expected the file that "
                   "tools/fetch-niivue makes");
    scratch_text("other.js.gz", "");
    assert_refused(ctx, kn_niivue_read(ctx, &n), KN_ERR_FORMAT, "not the NiiVue");
    assert_null(n.bytes);
    kn_ctx_free(ctx);
}

TEST_PROGRAM(niivue)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_there_is_none_the_sentence_says_how_to_get_it),
        cmocka_unit_test(it_is_looked_for_in_the_data_folder),
        cmocka_unit_test(another_script_is_refused),
    };
    return cmocka_run_group_tests_name("niivue", tests, scratch_enter, scratch_leave);
}
