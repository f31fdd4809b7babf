/* The page of the stored reports. Goldens are made again by KN_GOLDEN_WRITE=1 tests/test_page. */
#include "support/scratch.h"

#include "base/context.h"
#include "report/page/page.h"
#include "support/report_sample.h"

/* ---- the page as text, without what others test ---- */

typedef struct page {
    kn_status status;
    ptrdiff_t cards, bytes;
    char *text;
} page;

static page draw(kn_ctx *ctx, const kn_report *r, double max_size)
{
    page p = {0};
    const kn_page_options options = {.max_size = max_size, .write = {.force = true}};
    p.status = kn_page_write(ctx, r, "page.html", &options, &p.cards, &p.bytes);
    if (p.status != KN_OK)
        return p;
    FILE *f = fopen("page.html", "rb");
    assert_non_null(f);
    p.text = calloc((size_t)p.bytes + 1, 1);
    assert_int_equal(fread(p.text, 1, (size_t)p.bytes + 1, f), p.bytes); /* and not a byte more */
    fclose(f);
    return p;
}

/* From every `from` to the next `to`, in place: a star. */
static void leave_out(char *text, const char *from, const char *to)
{
    char *write = text;
    for (const char *read = text; *read;) {
        if (strncmp(read, from, strlen(from)) != 0) {
            *write++ = *read++;
            continue;
        }
        const char *inside = read + strlen(from), *end = strstr(inside, to);
        assert_non_null(end);
        memmove(write, read, strlen(from));
        write += strlen(from);
        *write++ = '*';
        read = end;
    }
    *write = 0;
}

/* Style and script are files of their own, figures and pictures have goldens of their own, and the
 * version is not the page's. */
static void bare(char *text)
{
    leave_out(text, "<script>", "</script>"); /* first: it holds the words of the others */
    leave_out(text, "<style>", "</style>");
    leave_out(text, "'sha256-", "'");
    leave_out(text, "<svg class=\"fig\"", "</svg>");
    leave_out(text, ";base64,", "\"");
    leave_out(text, "<script type=\"application/octet-stream\" id=\"", "</script>");
    leave_out(text, "content=\"kronorm ", "\"");
    leave_out(text, "<dd>kronorm ", "</dd>");
    leave_out(text, "Made by kronorm ", " Nothing");
}

static const char *golden_path(sample_kind kind)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/golden/report/%s.html", getenv("KN_TESTS"), sample_name[kind]);
    return path;
}

static void the_pages_of_stored_reports_are_those_of_the_goldens(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    for (int kind = 0; kind < SAMPLE_KINDS; kind++) {
        if (kind == SAMPLE_CROWD || kind == SAMPLE_MANY) /* a table's page, with many rows */
            continue;
        kn_report *r = sample_report(ctx, (sample_kind)kind);
        page p = draw(ctx, r, 2e7);
        assert_ok(ctx, p.status);
        bare(p.text);
        const char *path = golden_path((sample_kind)kind);
        if (getenv("KN_GOLDEN_WRITE")) {
            FILE *f = fopen(path, "wb");
            assert_non_null(f);
            fputs(p.text, f);
            fclose(f);
        }
        FILE *f = fopen(path, "rb");
        if (!f)
            fail_msg("%s: no such file", path);
        char *expected = calloc(1, strlen(p.text) + 2);
        size_t n = fread(expected, 1, strlen(p.text) + 1, f);
        fclose(f);
        size_t same = 0;
        while (same < n && expected[same] == p.text[same])
            same++;
        if (n != strlen(p.text) || same < n)
            fail_msg("the page of %s differs from its golden after %zu bytes: %.80s",
                     sample_name[kind], same, p.text + same);
        free(expected);
        free(p.text);
        sample_free(r);
    }
    kn_ctx_free(ctx);
}

static void the_same_report_is_the_same_bytes(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    for (int kind = 0; kind < SAMPLE_KINDS; kind++) {
        kn_report *r = sample_report(ctx, (sample_kind)kind);
        page a = draw(ctx, r, 2e7), b = draw(ctx, r, 2e7);
        assert_ok(ctx, a.status);
        assert_ok(ctx, b.status);
        assert_int_equal(a.bytes, b.bytes);
        assert_string_equal(a.text, b.text);
        free(a.text);
        free(b.text);
        sample_free(r);
    }
    kn_ctx_free(ctx);
}

static ptrdiff_t count(const char *text, const char *what)
{
    ptrdiff_t n = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        n++;
    return n;
}

/* Whatever the limit: no page is above it, less room never means more of anything, what is missing
 * is said, and in the end there is a sentence and no file. */
static void a_limit_of_size_is_kept_and_said(void **state)
{
    (void)state;
    static const sample_kind kinds[] = {SAMPLE_VOLUME, SAMPLE_TABLE, SAMPLE_CROWD};
    kn_ctx *ctx = kn_ctx_new();
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        kn_report *r = sample_report(ctx, kinds[k]);
        page all = draw(ctx, r, 2e7);
        assert_ok(ctx, all.status);
        assert_int_equal(all.cards, r->people.n_cards);
        assert_null(strstr(all.text, "id=\"less\""));
        ptrdiff_t cards = all.cards, rows = count(all.text, "<tr id=\"row"), refused = 0;
        ptrdiff_t thumbs = count(all.text, "<a href=\"#row");
        const ptrdiff_t all_rows = rows;
        for (double max = (double)all.bytes; max > 1e4; max -= 1500) {
            scratch_empty();
            page p = draw(ctx, r, max);
            if (p.status != KN_OK) {
                assert_non_null(strstr(kn_message(ctx), "without cards, thumbnails and the table"));
                assert_int_equal(scratch_count(), 0);
                refused++;
                continue;
            }
            assert_int_equal(refused, 0);
            assert_true((double)p.bytes <= max);
            assert_int_equal(p.cards, count(p.text, "class=\"card\""));
            assert_true(p.cards <= all.cards && count(p.text, "<a href=\"#row") <= thumbs);
            assert_true(count(p.text, "<tr id=\"row") <= rows);
            if (p.cards == 0 && thumbs > 0)
                assert_int_equal(count(p.text, "id=\"viewer-space\""), 0);
            assert_int_equal(p.bytes < all.bytes, strstr(p.text, "id=\"less\"") != NULL);
            cards = p.cards;
            rows = count(p.text, "<tr id=\"row");
            thumbs = count(p.text, "<a href=\"#row");
            free(p.text);
        }
        assert_int_equal(cards, 0);
        assert_int_equal(thumbs, 0);
        assert_true(rows < all_rows);
        assert_true(refused > 0);
        free(all.text);
        sample_free(r);
    }
    kn_ctx_free(ctx);
}

static void what_cannot_be_written_leaves_nothing(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_report *r = sample_report(ctx, SAMPLE_ONE);
    kn_page_options options = {.max_size = 2e7};
    ptrdiff_t cards, bytes;
    scratch_empty();
    scratch_text("page.html", "kept");
    assert_refused(ctx, kn_page_write(ctx, r, "page.html", &options, &cards, &bytes), KN_ERR_IO,
                   "page.html");
    assert_int_equal(scratch_count(), 1);
    sample_free(r);
    kn_ctx_free(ctx);
}

typedef struct watch {
    kn_ctx *ctx;
    const char *stage; /* that it is stopped in */
    ptrdiff_t stated;
} watch;

static void stop(void *user, const kn_progress *p)
{
    watch *w = user;
    assert_true(p->done >= 1 && p->done <= p->total);
    if (strcmp(p->stage, w->stage) == 0 && ++w->stated == 1)
        kn_cancel(w->ctx);
}

static void a_page_can_be_stopped_between_its_pictures(void **state)
{
    (void)state;
    static const char *const stages[] = {"page, small maps", "page, cards"};
    kn_ctx *ctx = kn_ctx_new();
    kn_report *r = sample_report(ctx, SAMPLE_VOLUME);
    kn_page_options options = {.max_size = 2e7};
    ptrdiff_t cards, bytes;
    assert_true(r->people.n_cards > 1 && r->people.n_thumbs > 1);
    for (int k = 0; k < 2; k++) {
        watch w = {ctx, stages[k], 0};
        scratch_empty();
        kn_set_progress(ctx, stop, &w);
        assert_int_equal(kn_page_write(ctx, r, "page.html", &options, &cards, &bytes),
                         KN_ERR_CANCELLED);
        kn_cancel_clear(ctx);
        assert_int_equal(w.stated, 1); /* not one more */
        assert_int_equal(scratch_count(), 0);
    }
    sample_free(r);
    kn_ctx_free(ctx);
}

TEST_PROGRAM(report_page)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_pages_of_stored_reports_are_those_of_the_goldens),
        cmocka_unit_test(the_same_report_is_the_same_bytes),
        cmocka_unit_test(a_limit_of_size_is_kept_and_said),
        cmocka_unit_test(what_cannot_be_written_leaves_nothing),
        cmocka_unit_test(a_page_can_be_stopped_between_its_pictures),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
