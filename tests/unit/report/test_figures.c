/* Figures from stored reports: the same bytes as before, well-formed whatever the names, drawn
 * whatever is missing. KN_GOLDEN_WRITE=1 writes tests/golden/report anew. */
#include <expat.h>
#include <locale.h>
#include <sys/stat.h>

#include "report/assets/assets.h"
#include "report/figures/figures.h"
#include "report/figures/internal.h"
#include "support/report_sample.h"
#include "support/scratch.h"

static kn_ctx *ctx;

/* ---- files ---- */

static char *whole_file(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    char *text = malloc(*n + 1);
    if (!text || fread(text, 1, *n, f) != *n)
        fail_msg("cannot read %s", path);
    text[*n] = '\0';
    fclose(f);
    return text;
}

static void golden_path(const char *name, char *path, size_t size)
{
    const char *root = getenv("KN_TESTS");
    assert_non_null(root);
    snprintf(path, size, "%s/golden/report/%s", root, name);
}

/* `name` in the folder at hand is the golden file `golden`. */
static void same_as_golden(const char *name, const char *golden)
{
    char path[4096];
    size_t n, m;
    golden_path(golden, path, sizeof path);
    char *made = whole_file(name, &n);
    assert_non_null(made);
    if (getenv("KN_GOLDEN_WRITE")) {
        FILE *f = fopen(path, "wb");
        if (!f || fwrite(made, 1, n, f) != n || fclose(f) != 0)
            fail_msg("cannot write %s", path);
    }
    char *stored = whole_file(path, &m);
    if (!stored || n != m || memcmp(made, stored, n) != 0)
        fail_msg("%s is not as %s has it", name, path);
    free(made);
    free(stored);
}

/* All figures of a report, in the folder at hand; how many files. */
static ptrdiff_t write_all(sample_kind kind)
{
    ptrdiff_t files;
    const kn_write_options options = {.force = true};
    kn_report *r = sample_report(ctx, kind);
    assert_ok(ctx, kn_figures_write(ctx, r, ".", &options, &files));
    assert_int_equal(files, scratch_count());
    sample_free(r);
    return files;
}

/* The mark-up of all figures within the page, as one text; free with kn_free. */
static char *inline_all(sample_kind kind)
{
    kn_writer *file;
    void *bytes;
    ptrdiff_t n;
    kn_report *r = sample_report(ctx, kind);
    assert_ok(ctx, kn_writer_new_memory(ctx, "page", &file));
    kn_html out = {.ctx = ctx, .file = file};
    kn_html_raw(&out, "<page>\n");
    for (int i = 0; kn_figures[i]; i++)
        for (ptrdiff_t k = 0; k < kn_figures[i]->count(r); k++)
            kn_figure_inline(r, kn_figures[i]->name, k, &out);
    kn_html_raw(&out, "</page>\n");
    assert_ok(ctx, out.status);
    assert_ok(ctx, kn_writer_write(ctx, file, "", 1));
    assert_ok(ctx, kn_writer_take(ctx, file, &bytes, &n));
    kn_writer_free(file);
    sample_free(r);
    return bytes;
}

/* ---- mark-up ---- */

static bool among(const char *word, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(word, *list) == 0)
            return true;
    return false;
}

typedef struct reading {
    XML_Parser parser;
    ptrdiff_t participants, hexagons, elements;
    char ids[1 << 16]; /* "|f3t|f3d|" */
} reading;

static void once(reading *r, const char *id)
{
    char mark[128];
    snprintf(mark, sizeof mark, "|%s|", id);
    if (strstr(r->ids, mark))
        fail_msg("the id %s is there twice", id);
    if (strlen(r->ids) + strlen(mark) < sizeof r->ids)
        strcat(r->ids, mark);
}

/* Only what figures are made of; numbers where numbers belong, and no more of the page's languages.
 */
static void element(void *user, const char *name, const char **attributes)
{
    static const char *const ELEMENTS[] = {"page",   "figure", "figcaption", "b", "button", "svg",
                                           "title",  "desc",   "style",      "g", "line",   "rect",
                                           "circle", "path",   "text",       NULL};
    static const char *const WORDS[] = {"class", "role",   "aria-labelledby",
                                        "id",    "xmlns",  "text-anchor",
                                        "type",  "hidden", "data-figure",
                                        NULL};
    static const char *const NUMBERS[] = {"viewBox", "width", "height", "x",      "y",
                                          "x1",      "y1",    "x2",     "y2",     "cx",
                                          "cy",      "r",     "d",      "data-p", NULL};
    reading *r = user;
    r->elements++;
    if (!among(name, ELEMENTS))
        fail_msg("a figure has an element %s", name);
    for (; *attributes; attributes += 2) {
        if (among(attributes[0], NUMBERS)) {
            if (attributes[1][strspn(attributes[1], "0123456789.- MLhZlvz")] || !attributes[1][0])
                fail_msg("%s of %s is '%s'", attributes[0], name, attributes[1]);
        } else if (!among(attributes[0], WORDS))
            fail_msg("%s has an attribute %s", name, attributes[0]);
        if (strcmp(attributes[0], "id") == 0)
            once(r, attributes[1]);
        r->participants += strcmp(attributes[0], "data-p") == 0;
        r->hexagons += strcmp(attributes[0], "class") == 0 && strcmp(attributes[1], "d5") == 0;
    }
}

static reading *read_markup(const char *text, size_t n, const char *what)
{
    reading *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->parser = XML_ParserCreate("UTF-8");
    XML_SetUserData(r->parser, r);
    XML_SetStartElementHandler(r->parser, element);
    /* "hidden" alone is HTML, and no XML */
    if (XML_Parse(r->parser, text, (int)n, 1) != XML_STATUS_OK)
        fail_msg("%s line %lu: %s", what, XML_GetCurrentLineNumber(r->parser),
                 XML_ErrorString(XML_GetErrorCode(r->parser)));
    XML_ParserFree(r->parser);
    return r;
}

static void read_files(void)
{
    DIR *dir = opendir(".");
    for (struct dirent *e; (e = readdir(dir));) {
        const size_t length = strlen(e->d_name);
        size_t n;
        if (length < 4 || strcmp(e->d_name + length - 4, ".svg") != 0)
            continue;
        char *text = whole_file(e->d_name, &n);
        assert_null(strstr(text, "var(--")); /* programs that draw for paper know no such thing */
        free(read_markup(text, n, e->d_name));
        free(text);
    }
    closedir(dir);
}

static void without_hidden(char *text)
{
    for (char *at; (at = strstr(text, " hidden>"));)
        memmove(at, at + 7, strlen(at + 7) + 1);
}

/* ---- tests ---- */

/* The sample of changes shares most figures with that of the table: only these are its own. */
static bool is_golden_of(sample_kind kind, const char *name)
{
    return name[0] != '.' && (kind == SAMPLE_TABLE || strncmp(name, "change", 6) == 0 ||
                              strncmp(name, "strip", 5) == 0);
}

/* Appends the file `name` of the current folder, under its name, to the open file of all numbers.
 */
static void append_numbers(FILE *all, const char *name)
{
    size_t n;
    char *text = whole_file(name, &n);
    assert_non_null(text);
    fprintf(all, "# %s\n", name);
    fwrite(text, 1, n, all);
    free(text);
}

static void figures_and_their_numbers_have_the_golden_bytes(void **state)
{
    (void)state;
    static const sample_kind KINDS[] = {SAMPLE_TABLE, SAMPLE_CHANGE};
    for (int k = 0; k < 2; k++) {
        struct dirent **entry;
        char golden[512];
        write_all(KINDS[k]);
        int n = scandir(".", &entry, NULL, alphasort);
        assert_true(n > 0);
        FILE *all = fopen("numbers.txt", "wb");
        assert_non_null(all);
        for (int i = 0; i < n; i++) {
            const char *name = entry[i]->d_name, *suffix = strrchr(name, '.');
            if (is_golden_of(KINDS[k], name) && strcmp(suffix, ".csv") == 0) {
                append_numbers(all, name);
            } else if (is_golden_of(KINDS[k], name)) {
                snprintf(golden, sizeof golden, "%s_%s", sample_name[KINDS[k]], name);
                same_as_golden(name, golden);
            }
            free(entry[i]);
        }
        free(entry);
        fclose(all);
        snprintf(golden, sizeof golden, "%s_numbers.txt", sample_name[KINDS[k]]);
        same_as_golden("numbers.txt", golden);
        scratch_empty();
    }
}

static void captions_have_the_golden_bytes(void **state)
{
    (void)state;
    char *text = inline_all(SAMPLE_TABLE);
    FILE *f = fopen("captions.html", "wb");
    for (char *at = text; (at = strstr(at, "<figcaption>"));) {
        char *end = strstr(at, "</figure>");
        fwrite(at, 1, (size_t)(end - at), f);
        at = end;
    }
    fclose(f);
    same_as_golden("captions.html", "captions.html");
    kn_free(text);
    scratch_empty();
}

static void every_row_of_the_table_is_drawn_by_some_sample(void **state)
{
    (void)state;
    kn_report *r[SAMPLE_KINDS];
    for (int s = 0; s < SAMPLE_KINDS; s++)
        r[s] = sample_report(ctx, (sample_kind)s);
    for (int i = 0; kn_figures[i]; i++) {
        ptrdiff_t all = 0;
        for (int s = 0; s < SAMPLE_KINDS; s++)
            all += kn_figures[i]->count(r[s]);
        if (all == 0)
            fail_msg("nothing draws %s", kn_figures[i]->name);
        assert_ptr_equal(kn_figure_named(kn_figures[i]->name), kn_figures[i]);
    }
    for (int s = 0; s < SAMPLE_KINDS; s++)
        sample_free(r[s]);
}

/* Hostile names, unknown numbers, and no participant at all. */
static void whatever_the_report_figures_are_well_formed(void **state)
{
    (void)state;
    for (int s = 0; s < SAMPLE_KINDS; s++) {
        const ptrdiff_t files = write_all((sample_kind)s);
        assert_true(s == SAMPLE_NOTHING ? files == 0 : files > 0);
        read_files();
        scratch_empty();
        char *text = inline_all((sample_kind)s);
        without_hidden(text);
        free(read_markup(text, strlen(text), sample_name[s]));
        kn_free(text);
    }
}

static void a_participant_is_a_mark_in_every_figure_of_participants(void **state)
{
    (void)state;
    enum { PARTICIPANTS = 12, CURVES = 2 };
    char *text = inline_all(SAMPLE_TABLE);
    without_hidden(text);
    reading *r = read_markup(text, strlen(text), "table");
    assert_int_equal(r->participants, PARTICIPANTS * (CURVES + 2)); /* strip and burden */
    assert_int_equal(r->hexagons, 0);
    for (int i = 0; i < PARTICIPANTS; i++) {
        char mark[32];
        ptrdiff_t n = 0;
        snprintf(mark, sizeof mark, "data-p=\"%d\"", i);
        for (const char *at = text; (at = strstr(at, mark)); at++)
            n++;
        assert_int_equal(n, CURVES + 2);
    }
    free(r);
    kn_free(text);
}

static void many_training_participants_are_drawn_as_a_density(void **state)
{
    (void)state;
    char *text = inline_all(SAMPLE_CROWD);
    without_hidden(text);
    reading *r = read_markup(text, strlen(text), "crowd");
    assert_int_equal(r->hexagons, 3); /* two curves, and the strip */
    assert_true(strlen(text) < 400000);
    free(r);
    kn_free(text);
}

/* 16000 marks are megabytes, and a page that is slow: those of the table can be found, the others
 * are counted in hexagons, of which there are as many as the figure is large. */
static void of_many_scored_participants_only_those_of_the_table_are_marks(void **state)
{
    (void)state;
    enum { CURVES = 2 };
    kn_report *sample = sample_report(ctx, SAMPLE_MANY);
    char *text = inline_all(SAMPLE_MANY), mark[32];
    assert_true(sample->participants.n > KN_REPORT_TABLE);
    without_hidden(text);
    reading *r = read_markup(text, strlen(text), "many");
    assert_int_equal(r->participants, KN_REPORT_TABLE * (CURVES + 2));
    assert_true(r->hexagons >= CURVES + 3); /* curves, the strip, both rows of burden */
    assert_non_null(strstr(
        text, "The 1000 most abnormal participants are marks; the others are shown as a density."));
    for (ptrdiff_t k = 0; k < sample->participants.n; k++) {
        snprintf(mark, sizeof mark, "data-p=\"%td\"", sample->participants.order[k]);
        assert_int_equal(strstr(text, mark) != NULL, k < KN_REPORT_TABLE);
    }
    sample_free(sample);
    free(r);
    kn_free(text);
}

/* A library's decimal comma must not reach a coordinate. */
static void a_locale_with_commas_changes_nothing(void **state)
{
    (void)state;
    char *plain = inline_all(SAMPLE_TABLE);
    if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "fr_FR.UTF-8")) {
        kn_free(plain);
        print_message("# skipped: no locale with decimal commas is installed\n");
        return;
    }
    char *comma = inline_all(SAMPLE_TABLE);
    setlocale(LC_ALL, "C");
    assert_string_equal(plain, comma);
    kn_free(plain);
    kn_free(comma);
}

/* Of any range: in order, within it, round, and with room for their numbers. */
static void ticks_are_round_and_do_not_touch(void **state)
{
    (void)state;
    for (int i = 0; i < 4000; i++) {
        const double size = pow(10, i % 13 - 6), low = size * sin(i) * (i % 7);
        const kn_axis_scale s = {.range = {low, low + size * (0.1 + i % 11)},
                                 .from = 52,
                                 .to = 446};
        const kn_ticks t = kn_ticks_across(&s);
        assert_true(t.n >= 1 && t.n <= 9);
        for (int k = 1; k < t.n; k++) {
            char text[2][KN_TICK_TEXT];
            const double gap =
                kn_axis_scale_px(&s, t.value[k]) - kn_axis_scale_px(&s, t.value[k - 1]);
            kn_tick_text(&t, t.value[k - 1], text[0]);
            kn_tick_text(&t, t.value[k], text[1]);
            assert_true(kn_axis_scale_contains(&s, t.value[k]) &&
                        kn_axis_scale_contains(&s, t.value[k - 1]));
            assert_true(gap >= (kn_text_width(text[0]) + kn_text_width(text[1])) / 2 + 4 ||
                        t.n == 2);
            assert_string_not_equal(text[0], text[1]);
        }
    }
    char text[KN_TICK_TEXT];
    kn_tick_text(&(kn_ticks){.digits = 1}, -0.5, text);
    assert_string_equal(text, "−0.5");
    kn_tick_text(&(kn_ticks){.digits = 2}, -0.001, text);
    assert_string_equal(text, "0.00");
    kn_tick_text(&(kn_ticks){.digits = 2, .percent = true}, 0.25, text);
    assert_string_equal(text, "25%");
}

/* ---- colours ---- */

/* The relative luminance of #rrggbb, of the colour `name` in a block of the style (WCAG 2). */
static double luminance(const char *block, const char *name)
{
    char text[64];
    unsigned rgb[3];
    double linear[3];
    snprintf(text, sizeof text, "--%s: #", name);
    const char *at = strstr(block, text);
    assert_non_null(at);
    assert_int_equal(sscanf(at + strlen(text), "%2x%2x%2x", &rgb[0], &rgb[1], &rgb[2]), 3);
    for (int k = 0; k < 3; k++) {
        const double c = rgb[k] / 255.0;
        linear[k] = c <= 0.03928 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
    }
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

static void colours_can_be_seen_on_light_and_dark_paper(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double lowest;
    } COLOURS[] = {{"ink", 4.5}, {"soft", 4.5},   {"blue", 4.5}, /* centiles are text in it */
                   {"grey", 3},  {"orange", 4.5}, {"magenta", 3}};
    int blocks = 0;
    for (const char *at = kn_asset_figure_css.text; (at = strstr(at, ":root {")); at++, blocks++)
        for (size_t k = 0; k < sizeof COLOURS / sizeof *COLOURS; k++) {
            const double paper = luminance(at, "paper"), c = luminance(at, COLOURS[k].name);
            const double contrast = (fmax(paper, c) + 0.05) / (fmin(paper, c) + 0.05);
            if (contrast < COLOURS[k].lowest)
                fail_msg("%s has a contrast of %.2f", COLOURS[k].name, contrast);
        }
    assert_int_equal(blocks, 3); /* light, dark, on paper */
}

TEST_PROGRAM(report_figures)
{
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_and_their_numbers_have_the_golden_bytes),
        cmocka_unit_test(captions_have_the_golden_bytes),
        cmocka_unit_test(every_row_of_the_table_is_drawn_by_some_sample),
        cmocka_unit_test(whatever_the_report_figures_are_well_formed),
        cmocka_unit_test(a_participant_is_a_mark_in_every_figure_of_participants),
        cmocka_unit_test(many_training_participants_are_drawn_as_a_density),
        cmocka_unit_test(of_many_scored_participants_only_those_of_the_table_are_marks),
        cmocka_unit_test(a_locale_with_commas_changes_nothing),
        cmocka_unit_test(colours_can_be_seen_on_light_and_dark_paper),
        cmocka_unit_test(ticks_are_round_and_do_not_touch),
    };
    const int failed = cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
    kn_ctx_free(ctx);
    return failed;
}
