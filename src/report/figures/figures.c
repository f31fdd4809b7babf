/* The table of figures, and their output into the page and to files. Each row of the table is a
 * kind of figure; its count says how many the report has. */
#include "report/figures/figures.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "report/figures/internal.h"

/* In the order of the page. */
const kn_figure *const kn_figures[] = {
    &kn_figure_cohort, &kn_figure_components, &kn_figure_proportions, &kn_figure_terms,
    &kn_figure_qq,     &kn_figure_pit,        &kn_figure_z2,          &kn_figure_r2,
    &kn_figure_curve,  &kn_figure_strip,      &kn_figure_card,        &kn_figure_regions,
    &kn_figure_roc,    &kn_figure_burden,     &kn_figure_change,      NULL,
};

enum { NAME = 64, PATH = 4096, TITLE = 60, MAX_OF_KIND = 100000 /* of a kind */ };

/* Returns the row of a kind of figure in kn_figures; asserts that it exists. */
static int index_of(const char *name)
{
    int k = 0;
    while (kn_figures[k] && strcmp(kn_figures[k]->name, name) != 0)
        k++;
    assert(kn_figures[k]);
    return k;
}

const kn_figure *kn_figure_named(const char *name)
{
    return kn_figures[index_of(name)];
}

/* Writes the file name of figure k without ending: "qq", or "curve-1" if the kind has several. */
static void name_of(const kn_figure *f, ptrdiff_t k, char out[NAME])
{
    if (f->many)
        snprintf(out, NAME, "%s-%td", f->name, k + 1);
    else
        snprintf(out, NAME, "%s", f->name);
}

/* Returns the head of figure k: its size, and a number that is unique among all figures, for ids.
 * standalone: an SVG file of its own. */
static kn_svg_head head_of(const kn_figure *f, ptrdiff_t k, bool standalone)
{
    return (kn_svg_head){.width = f->width > 0 ? f->width : KN_FIGURE_WIDTH,
                         .height = f->height > 0 ? f->height : KN_FIGURE_HEIGHT,
                         .number = index_of(f->name) * MAX_OF_KIND + (int)k,
                         .standalone = standalone};
}

void kn_figure_inline(const kn_report *r, const char *name, ptrdiff_t k, kn_html *out)
{
    const kn_figure *f = kn_figure_named(name);
    kn_svg svg = {.out = out};
    char file[NAME];
    if (f->count(r) <= k)
        return;
    const kn_svg_head head = head_of(f, k, false);
    name_of(f, k, file);
    kn_html_print(out, "<figure class=\"drawn\" data-figure=\"%s\">\n", file);
    f->draw(r, k, &head, &svg);
    kn_html_raw(out, "<figcaption><b>");
    kn_html_cut(out, f->title_of ? f->title_of(r, k) : f->title, TITLE);
    kn_html_raw(out, ".</b> ");
    f->caption(r, k, out);
    kn_html_raw(out,
                " <button class=\"save\" type=\"button\" hidden>Save as SVG</button></figcaption>\n"
                "</figure>\n");
}

/* Draws figure k of kind f as the SVG file `path`; options as in kn_writer_new. KN_ERR_IO if it
 * cannot be written. */
static kn_status write_svg(kn_ctx *ctx, const kn_report *r, const kn_figure *f, ptrdiff_t k,
                           const char *path, const kn_write_options *options)
{
    kn_status status;
    kn_writer *file = NULL;
    KN_TRY(kn_writer_new(ctx, path, options, &file));
    kn_html out = {.ctx = ctx, .file = file};
    kn_svg svg = {.out = &out};
    const kn_svg_head head = head_of(f, k, true);
    f->draw(r, k, &head, &svg);
    KN_TRY(out.status);
    KN_TRY(kn_writer_commit(ctx, file));
out:
    kn_writer_free(file);
    return status;
}

/* Writes the numbers of figure k of kind f as the table `path`; options as in kn_writer_new. */
static kn_status write_csv(kn_ctx *ctx, const kn_report *r, const kn_figure *f, ptrdiff_t k,
                           const char *path, const kn_write_options *options)
{
    kn_status status;
    kn_table_writer *csv = NULL;
    KN_TRY(kn_table_writer_new(ctx, path, options, &csv));
    KN_TRY(f->data(ctx, r, k, csv));
    KN_TRY(kn_table_writer_commit(ctx, csv));
out:
    kn_table_writer_free(csv);
    return status;
}

/* Writes DIR/NAME.ENDING to path; KN_ERR_IO if it is too long. */
static kn_status figure_path(kn_ctx *ctx, const char *dir, const char *name, const char *ending,
                             char path[PATH])
{
    return snprintf(path, PATH, "%s/%s%s", dir, name, ending) < PATH
               ? KN_OK
               : kn_fail(ctx, KN_ERR_IO, "%s: the path is too long", dir);
}

/* Writes figure k of kind f as DIR/NAME.svg and its numbers as DIR/NAME.csv. */
static kn_status write_figure(kn_ctx *ctx, const kn_report *r, const kn_figure *f, ptrdiff_t k,
                              const char *dir, const kn_write_options *options)
{
    kn_status status;
    char name[NAME], path[PATH];
    name_of(f, k, name);
    KN_TRY(figure_path(ctx, dir, name, ".svg", path));
    KN_TRY(write_svg(ctx, r, f, k, path, options));
    KN_TRY(figure_path(ctx, dir, name, ".csv", path));
    KN_TRY(write_csv(ctx, r, f, k, path, options));
out:
    return status;
}

kn_status kn_figures_write(kn_ctx *ctx, const kn_report *r, const char *dir,
                           const kn_write_options *options, ptrdiff_t *files)
{
    kn_status status = KN_OK;
    *files = 0;
    for (int i = 0; kn_figures[i]; i++)
        for (ptrdiff_t k = 0; k < kn_figures[i]->count(r); k++) {
            KN_TRY(kn_check_cancel(ctx));
            KN_TRY(write_figure(ctx, r, kn_figures[i], k, dir, options));
            *files += 2;
        }
out:
    return status;
}
