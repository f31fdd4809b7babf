/* Pages of stored reports: structure, limits of size, refusals. */
#include "support/scratch.h"

#include "base/context.h"
#include "report/page/page.h"
#include "support/report_sample.h"

/* ---- the page as text ---- */

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

/* ---- structure of a page ---- */

static ptrdiff_t count(const char *text, const char *what)
{
    ptrdiff_t n = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        n++;
    return n;
}

/* Removes what is between every `from` and the next `to`, in place. */
static void remove_between(char *text, const char *from, const char *to)
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
        read = end;
    }
    *write = 0;
}

/* Style, script, figures and pictures have tests of their own. */
static void remove_embedded(char *text)
{
    remove_between(text, "<script>", "</script>"); /* first: it mentions the others */
    remove_between(text, "<style>", "</style>");
    remove_between(text, "<svg class=\"fig\"", "</svg>");
    remove_between(text, ";base64,", "\"");
    remove_between(text, "<script type=\"application/octet-stream\"", "</script>");
}

/* Appends to `list` the values of every `before`"value", each followed by a space. */
static void list_values(const char *text, const char *before, char *list, size_t size)
{
    *list = '\0';
    for (const char *at = text; (at = strstr(at, before));) {
        at += strlen(before);
        size_t used = strlen(list);
        assert_true(used + strcspn(at, "\"") + 2 < size);
        snprintf(list + used, size - used, "%.*s ", (int)strcspn(at, "\""), at);
    }
}

static bool is_void_element(const char *name)
{
    static const char *const VOID[] = {"meta", "link", "br", "img", "input", "hr"};
    for (size_t i = 0; i < sizeof VOID / sizeof *VOID; i++)
        if (strcmp(name, VOID[i]) == 0)
            return true;
    return false;
}

/* Every element is closed in the order in which elements were opened. */
static void assert_elements_are_nested(const char *text, const char *page_name)
{
    static char open[64][32];
    int depth = 0;
    for (const char *at = strchr(text, '<'); at; at = strchr(at + 1, '<')) {
        char name[32];
        const bool closes = at[1] == '/';
        if (at[1] == '!')
            continue;
        const char *end = strchr(at, '>');
        assert_non_null(end);
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at + 1 + closes, " >/"), at + 1 + closes);
        if (closes) {
            if (depth == 0 || strcmp(open[--depth], name) != 0)
                fail_msg("%s: </%s> closes <%s>: %.60s", page_name, name, open[depth], at);
        } else if (!is_void_element(name) && end[-1] != '/') {
            assert_true(depth < 64);
            memcpy(open[depth++], name, sizeof name);
        }
    }
    assert_int_equal(depth, 0);
}

/* Each id occurs once; each link within the page and each label has its target. */
static void assert_references_have_targets(const char *text, const char *page_name)
{
    static const char *const REFERENCES[] = {" href=\"#", " aria-labelledby=\"", " for=\""};
    static char list[1 << 16];
    char mark[160], *rest;
    list_values(text, " id=\"", list, sizeof list);
    for (char *id = strtok_r(list, " ", &rest); id; id = strtok_r(NULL, " ", &rest)) {
        snprintf(mark, sizeof mark, " id=\"%s\"", id);
        if (count(text, mark) != 1)
            fail_msg("%s: the id %s occurs %d times", page_name, id, (int)count(text, mark));
    }
    for (int k = 0; k < 3; k++) {
        list_values(text, REFERENCES[k], list, sizeof list);
        for (char *id = strtok_r(list, " ", &rest); id; id = strtok_r(NULL, " ", &rest)) {
            snprintf(mark, sizeof mark, " id=\"%s\"", id);
            if (!strstr(text, mark))
                fail_msg("%s: %s%s\" has no target", page_name, REFERENCES[k], id);
        }
    }
}

/* What the page of a sample holds. Rows and cards are numbered in the order of the table of scores;
 * the page puts the most abnormal first. */
typedef struct expected_page {
    sample_kind kind;
    const char *title, *sections, *rows, *cards, *figures;
    /* number of elements */
    int table, tr, th, td, dt, li, warnings, fine, h3, details, buttons, canvas, maps;
} expected_page;

static const expected_page PAGES[] = {
    {SAMPLE_TABLE, "<h1 id=\"h-summary\">Cortical thickness</h1>",
     "summary cohort model curves people group methods reproduce ", "0 2 1 6 5 9 11 7 10 8 4 3 ",
     "0 2 1 ",
     "cohort-1 cohort-2 cohort-3 components shares terms qq pit z2 r2 curve-1 curve-2 strip card-1 "
     "regions-1 card-2 regions-2 card-3 regions-3 roc burden ",
     9, 43, 84, 272, 57, 16, 1, 1, 12, 6, 24, 0, 0},
    {SAMPLE_HOSTILE, "<h1 id=\"h-summary\">&lt;script&gt;alert(1)&lt;/script&gt;</h1>",
     "summary cohort model curves people group methods reproduce ", "0 2 1 6 5 9 11 7 10 8 4 3 ",
     "0 2 1 ",
     "cohort-1 cohort-2 cohort-3 components shares terms qq pit z2 r2 curve-1 curve-2 strip card-1 "
     "regions-1 card-2 regions-2 card-3 regions-3 roc burden ",
     9, 43, 84, 272, 58, 16, 1, 1, 11, 6, 24, 0, 0},
    {SAMPLE_CHANGE, "<h1 id=\"h-summary\">Cortical thickness</h1>",
     "summary cohort model curves people group change methods reproduce ", "0 1 6 5 7 2 8 4 3 ",
     "0 1 6 ",
     "cohort-1 cohort-2 cohort-3 components shares terms qq pit z2 r2 curve-1 curve-2 strip card-1 "
     "regions-1 card-2 regions-2 card-3 regions-3 roc burden change ",
     9, 40, 80, 212, 57, 17, 1, 1, 12, 6, 25, 0, 0},
    {SAMPLE_VOLUME, "<h1 id=\"h-summary\">Cortical thickness</h1>",
     "summary cohort model curves people group methods reproduce ", "0 1 3 2 4 ", "0 1 3 ",
     "cohort-1 cohort-2 cohort-3 components shares terms qq pit z2 r2 curve-1 curve-2 strip card-1 "
     "card-2 card-3 roc burden ",
     9, 30, 74, 144, 57, 21, 1, 1, 14, 6, 24, 9, 9},
    {SAMPLE_MODEL, "<h1 id=\"h-summary\">Cortical thickness</h1>",
     "summary cohort model curves methods reproduce ", "", "",
     "cohort-1 cohort-2 cohort-3 components shares terms qq pit z2 r2 curve-1 curve-2 ", 2, 8, 19,
     27, 17, 12, 1, 1, 9, 1, 13, 0, 0},
    {SAMPLE_NOTHING, "<h1 id=\"h-summary\">Nothing</h1>", "summary ", "", "", "", 0, 0, 0, 0, 0, 1,
     0, 0, 0, 0, 0, 0, 0},
    {SAMPLE_ONE, "<h1 id=\"h-summary\">Cortical thickness</h1>",
     "summary cohort model curves people methods reproduce ", "0 ", "0 ",
     "cohort-1 cohort-2 cohort-3 components shares terms qq pit z2 r2 curve-1 strip card-1 "
     "regions-1 ",
     6, 14, 45, 39, 38, 13, 1, 1, 10, 4, 16, 0, 0},
    {SAMPLE_UNKNOWN, "<h1 id=\"h-summary\">Cortical thickness</h1>",
     "summary cohort model curves people group methods reproduce ", "0 2 1 6 5 9 11 7 10 8 4 3 ",
     "0 2 1 ",
     "cohort-1 cohort-2 cohort-3 components shares terms qq pit curve-1 curve-2 card-1 regions-1 "
     "card-2 regions-2 card-3 regions-3 roc ",
     9, 43, 72, 128, 16, 16, 1, 1, 12, 6, 20, 0, 0},
    {SAMPLE_CONSTANT, "<h1 id=\"h-summary\">Cortical thickness</h1>",
     "summary cohort model curves people group methods reproduce ", "0 2 1 6 5 9 11 7 10 8 4 3 ",
     "0 2 1 ",
     "cohort-1 cohort-2 cohort-3 components shares terms qq pit z2 r2 curve-1 curve-2 strip card-1 "
     "regions-1 card-2 regions-2 card-3 regions-3 roc burden ",
     9, 43, 84, 272, 57, 16, 1, 1, 12, 6, 24, 0, 0},
};

static void assert_count(const char *page_name, const char *text, const char *what, int expected)
{
    if (count(text, what) != expected)
        fail_msg("%s: %d times %s, expected %d", page_name, (int)count(text, what), what, expected);
}

static void check_list(const char *page_name, const char *text, const char *before,
                       const char *expected)
{
    static char list[1 << 16];
    list_values(text, before, list, sizeof list);
    if (strcmp(list, expected) != 0)
        fail_msg("%s: the values after '%s' are '%s', expected '%s'", page_name, before, list,
                 expected);
}

static void check_structure(const expected_page *e, const char *text)
{
    const char *name = sample_name[e->kind];
    char nav[512];
    assert_elements_are_nested(text, name);
    assert_references_have_targets(text, name);
    check_list(name, text, "<section id=\"", e->sections);
    list_values(strstr(text, "<nav"), "<li><a href=\"#", nav, sizeof nav);
    assert_memory_equal(nav, e->sections,
                        strlen(e->sections)); /* links to every section, in order */
    check_list(name, text, "<tr id=\"row", e->rows);
    check_list(name, text, " id=\"card", e->cards);
    check_list(name, text, "data-figure=\"", e->figures);
    assert_count(name, text, e->title, 1);
    const struct {
        const char *element;
        int n;
    } counts[] = {
        {"<table", e->table},
        {"<caption>", e->table},
        {"<tr", e->tr},
        {"<th ", e->th},
        {"<td", e->td},
        {"<dt>", e->dt},
        {"<dd>", e->dt},
        {"<li", e->li},
        {"<li class=\"warning\">", e->warnings},
        {"<ul class=\"fine\">", e->fine},
        {"<h3", e->h3},
        {"<details", e->details},
        {"<button", e->buttons},
        {"<canvas", e->canvas},
        {"<image ", e->maps},
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        assert_count(name, text, counts[i].element, counts[i].n);
}

static void pages_have_the_sections_tables_and_figures_of_their_reports(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    for (size_t i = 0; i < sizeof PAGES / sizeof *PAGES; i++) {
        kn_report *r = sample_report(ctx, PAGES[i].kind);
        page p = draw(ctx, r, 2e7);
        assert_ok(ctx, p.status);
        assert_int_equal(strncmp(p.text, "<!DOCTYPE html>\n<html lang=\"en\">\n", 33), 0);
        remove_embedded(p.text);
        check_structure(&PAGES[i], p.text);
        assert_count(sample_name[PAGES[i].kind], p.text, "name=\"generator\" content=\"kronorm ",
                     1);
        assert_null(strstr(p.text, ">nan<")); /* a number that is missing is a word */
        free(p.text);
        sample_free(r);
    }
    kn_ctx_free(ctx);
}

/* Names and ids that try to become markup stay text: no element or attribute of theirs exists. */
static void hostile_names_stay_text(void **state)
{
    (void)state;
    static const char *const MARKUP[] = {"<script>alert", "<svg onload", "<img src=x",
                                         " onmouseover='", " onerror=alert(1)>"};
    kn_ctx *ctx = kn_ctx_new();
    kn_report *r = sample_report(ctx, SAMPLE_HOSTILE);
    page p = draw(ctx, r, 2e7);
    assert_ok(ctx, p.status);
    for (int k = 0; k < 5; k++)
        assert_null(strstr(p.text, MARKUP[k]));
    assert_non_null(strstr(p.text, "&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert_non_null(strstr(p.text, "<h4>&#39; onmouseover=&#39;alert(1)</h4>"));
    assert_non_null(strstr(p.text, "<h4>&quot;&gt;&lt;img src=x onerror=alert(1)&gt;</h4>"));
    free(p.text);
    sample_free(r);
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

/* Whatever the limit: no page is above it, less room never means more of anything, what is missing
 * is said, and in the end there is a sentence and no file. */
static void a_limit_of_size_is_kept_and_reported(void **state)
{
    (void)state;
    static const sample_kind kinds[] = {SAMPLE_VOLUME, SAMPLE_TABLE, SAMPLE_CROWD};
    kn_ctx *ctx = kn_ctx_new();
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        kn_report *r = sample_report(ctx, kinds[k]);
        page all = draw(ctx, r, 2e7);
        assert_ok(ctx, all.status);
        assert_int_equal(all.cards, r->participants.n_cards);
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
    assert_true(r->participants.n_cards > 1 && r->participants.n_thumbs > 1);
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
        cmocka_unit_test(pages_have_the_sections_tables_and_figures_of_their_reports),
        cmocka_unit_test(hostile_names_stay_text),
        cmocka_unit_test(the_same_report_is_the_same_bytes),
        cmocka_unit_test(a_limit_of_size_is_kept_and_reported),
        cmocka_unit_test(what_cannot_be_written_leaves_nothing),
        cmocka_unit_test(a_page_can_be_stopped_between_its_pictures),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
