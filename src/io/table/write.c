/* Writes tables (table.h): RFC 4180 quoting, LF line ends. */
#include <string.h>

#include "io/file/path.h"
#include "io/table/table.h"

struct kn_table_writer {
    kn_writer *file;
    char separator;
    ptrdiff_t col; /* of the next cell */
};

kn_status kn_table_writer_new(kn_ctx *ctx, const char *path, const kn_write_options *options,
                              kn_table_writer **out)
{
    kn_table_writer *w = NULL;
    void *p;
    kn_status status;

    *out = NULL;
    if (!kn_table_is_name(path))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s: expected a table named .csv or .tsv", path);
    KN_TRY(kn_alloc(ctx, 1, sizeof *w, &p));
    w = p;
    w->separator = kn_path_ends(path, ".tsv") ? '\t' : ',';
    KN_TRY(kn_writer_new(ctx, path, options, &w->file));
out:
    if (status == KN_OK)
        *out = w;
    else
        kn_table_writer_free(w);
    return status;
}

kn_status kn_table_writer_new_memory(kn_ctx *ctx, kn_table_writer **out)
{
    kn_table_writer *w = NULL;
    void *p;
    kn_status status;

    *out = NULL;
    KN_TRY(kn_alloc(ctx, 1, sizeof *w, &p));
    w = p;
    w->separator = '\t';
    KN_TRY(kn_writer_new_memory(ctx, "rows", &w->file));
out:
    if (status == KN_OK)
        *out = w;
    else
        kn_table_writer_free(w);
    return status;
}

static kn_status put(kn_ctx *ctx, kn_table_writer *w, const char *text, size_t n)
{
    return kn_writer_write(ctx, w->file, text, (ptrdiff_t)n);
}

/* Writes the field in quotes; a quote within it is doubled. */
static kn_status put_quoted(kn_ctx *ctx, kn_table_writer *w, const char *text)
{
    kn_status status;
    KN_TRY(put(ctx, w, "\"", 1));
    for (const char *quote; (quote = strchr(text, '"')); text = quote + 1) {
        KN_TRY(put(ctx, w, text, (size_t)(quote - text) + 1));
        KN_TRY(put(ctx, w, "\"", 1));
    }
    KN_TRY(put(ctx, w, text, strlen(text)));
    KN_TRY(put(ctx, w, "\"", 1));
out:
    return status;
}

kn_status kn_table_writer_text(kn_ctx *ctx, kn_table_writer *w, const char *text)
{
    kn_status status;
    if (w->col > 0)
        KN_TRY(put(ctx, w, &w->separator, 1));
    /* A row of one empty field would be a blank line, which readers skip: write "" instead. */
    bool quote =
        strpbrk(text, "\"\r\n") || strchr(text, w->separator) || (w->col == 0 && text[0] == '\0');
    KN_TRY(quote ? put_quoted(ctx, w, text) : put(ctx, w, text, strlen(text)));
    w->col++;
out:
    return status;
}

kn_status kn_table_writer_number(kn_ctx *ctx, kn_table_writer *w, double x)
{
    char text[KN_NUMBER_SIZE];
    kn_number_text(x, text);
    return kn_table_writer_text(ctx, w, text);
}

kn_status kn_table_writer_short(kn_ctx *ctx, kn_table_writer *w, double x)
{
    char text[KN_NUMBER_SIZE];
    kn_number_short(x, text);
    return kn_table_writer_text(ctx, w, text);
}

kn_status kn_table_writer_end_row(kn_ctx *ctx, kn_table_writer *w)
{
    w->col = 0;
    return put(ctx, w, "\n", 1);
}

kn_status kn_table_writer_line(kn_ctx *ctx, kn_table_writer *w, const char *line, size_t n)
{
    kn_status status = put(ctx, w, line, n);
    return status == KN_OK ? kn_table_writer_end_row(ctx, w) : status;
}

kn_status kn_table_writer_take(kn_ctx *ctx, kn_table_writer *w, char **text)
{
    kn_status status;
    void *bytes = NULL;
    ptrdiff_t n;
    *text = NULL;
    KN_TRY(put(ctx, w, "", 1)); /* the NUL */
    KN_TRY(kn_writer_take(ctx, w->file, &bytes, &n));
    *text = bytes;
out:
    return status;
}

kn_status kn_table_writer_commit(kn_ctx *ctx, kn_table_writer *w)
{
    return kn_writer_commit(ctx, w->file);
}

void kn_table_writer_free(kn_table_writer *w)
{
    if (!w)
        return;
    kn_writer_free(w->file);
    kn_free(w);
}
