/* Records behind a line, as a fit leaves them when it is interrupted. */
#include "scratch.h"

#include "base/hash.h"
#include "io/records.h"
#include "io/writer.h"

static kn_ctx *ctx;

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

static int begin(void **state)
{
    ctx = kn_ctx_new();
    return ctx ? scratch_enter(state) : -1;
}

static int end(void **state)
{
    kn_ctx_free(ctx);
    return scratch_leave(state);
}

TEST_PROGRAM(records)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash_matches_the_published_values),
        cmocka_unit_test(records_come_back_in_order),
        cmocka_unit_test(a_torn_record_counts_as_never_written),
        cmocka_unit_test(a_damaged_byte_ends_the_records),
        cmocka_unit_test(records_not_taken_make_room),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
