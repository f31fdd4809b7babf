/* Writes tables (table.h): RFC 4180 quoting, LF line ends. Numbers are written so that they are
 * read back as the same double, or with few digits. */
#include <string.h>

#include "io/file/path.h"
#include "io/table/sidecar.h"
#include "io/table/table.h"

struct kn_table_writer {
    kn_writer *file;
    char separator;
    ptrdiff_t col;                   /* of the next cell */
    const kn_write_options *options; /* borrowed; may be NULL */
    const char *described;           /* table in columns.def; NULL: no sidecar */
    bool begun;                      /* the header row is complete */
    char **name;                     /* n_names names of the header row, if described */
    ptrdiff_t n_names, capacity;
};

kn_status kn_table_writer_new(kn_ctx *ctx, const char *path, const kn_write_options *options,
                              kn_table_writer **out)
{
    kn_table_writer *w = NULL;
    void *p;
    kn_status status;

    *out = NULL;
    if (!kn_table_is_name(path))
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "%s cannot be a table, because its name does not end in .csv or .tsv; use "
                       "one of these formats",
                       path);
    KN_TRY(kn_alloc(ctx, 1, sizeof *w, &p));
    w = p;
    w->options = options;
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

/* Writes n characters to the file as they are. */
static kn_status write_bytes(kn_ctx *ctx, kn_table_writer *w, const char *text, size_t n)
{
    return kn_writer_write(ctx, w->file, text, (ptrdiff_t)n);
}

/* Writes the text of a cell in double quotes; a quote within it is doubled. KN_ERR_IO, for example
 * if the disk is full. */
static kn_status put_quoted(kn_ctx *ctx, kn_table_writer *w, const char *text)
{
    kn_status status;
    KN_TRY(write_bytes(ctx, w, "\"", 1));
    for (const char *quote; (quote = strchr(text, '"')); text = quote + 1) {
        KN_TRY(write_bytes(ctx, w, text, (size_t)(quote - text) + 1));
        KN_TRY(write_bytes(ctx, w, "\"", 1));
    }
    KN_TRY(write_bytes(ctx, w, text, strlen(text)));
    KN_TRY(write_bytes(ctx, w, "\"", 1));
out:
    return status;
}

kn_status kn_table_writer_describe(kn_ctx *ctx, kn_table_writer *w, const char *file)
{
    if (!kn_sidecar_known(file))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "columns.def has no table '%s'", file);
    w->described = file;
    w->begun = kn_path_ends(file, ".csv"); /* columns of maps are not listed */
    return KN_OK;
}

/* Keeps a copy of the next name of the header row, n characters, for the sidecar. */
static kn_status keep_name(kn_ctx *ctx, kn_table_writer *w, const char *text, size_t n)
{
    kn_status status = KN_OK;
    if (w->n_names == w->capacity) {
        void *names;
        ptrdiff_t capacity = 2 * w->capacity + 16;
        KN_TRY(kn_alloc(ctx, capacity, sizeof *w->name, &names));
        if (w->n_names > 0)
            memcpy(names, w->name, (size_t)w->n_names * sizeof *w->name);
        kn_free(w->name);
        w->name = names;
        w->capacity = capacity;
    }
    void *copy;
    KN_TRY(kn_alloc(ctx, (ptrdiff_t)n + 1, 1, &copy));
    memcpy(copy, text, n);
    w->name[w->n_names++] = copy;
out:
    return status;
}

kn_status kn_table_writer_text(kn_ctx *ctx, kn_table_writer *w, const char *text)
{
    kn_status status;
    if (w->described && !w->begun)
        KN_TRY(keep_name(ctx, w, text, strlen(text)));
    if (w->col > 0)
        KN_TRY(write_bytes(ctx, w, &w->separator, 1));
    /* A row of one empty field would be a blank line, which readers skip: write "" instead. */
    bool quote =
        strpbrk(text, "\"\r\n") || strchr(text, w->separator) || (w->col == 0 && text[0] == '\0');
    KN_TRY(quote ? put_quoted(ctx, w, text) : write_bytes(ctx, w, text, strlen(text)));
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
    w->begun = true;
    return write_bytes(ctx, w, "\n", 1);
}

/* Keeps the names in a header row of n characters, without their quotes, for the sidecar. */
static kn_status keep_line(kn_ctx *ctx, kn_table_writer *w, const char *line, size_t n)
{
    kn_status status;
    void *memory;
    size_t used = 0;
    bool quoted = false;
    KN_TRY(kn_alloc(ctx, (ptrdiff_t)n + 1, 1, &memory));
    char *name = memory;
    for (size_t k = 0; k <= n; k++) {
        if (k < n && quoted && line[k] == '"' && k + 1 < n && line[k + 1] == '"')
            name[used++] = line[k++];
        else if (k < n && line[k] == '"')
            quoted = !quoted;
        else if (k < n && (quoted || line[k] != w->separator))
            name[used++] = line[k];
        else {
            status = keep_name(ctx, w, name, used);
            used = 0;
            if (status != KN_OK)
                break;
        }
    }
    kn_free(memory);
out:
    return status;
}

kn_status kn_table_writer_line(kn_ctx *ctx, kn_table_writer *w, const char *line, size_t n)
{
    kn_status status = KN_OK;
    if (w->described && !w->begun)
        KN_TRY(keep_line(ctx, w, line, n));
    KN_TRY(write_bytes(ctx, w, line, n));
    KN_TRY(kn_table_writer_end_row(ctx, w));
out:
    return status;
}

kn_status kn_table_writer_take(kn_ctx *ctx, kn_table_writer *w, char **text)
{
    kn_status status;
    void *bytes = NULL;
    ptrdiff_t n;
    *text = NULL;
    KN_TRY(write_bytes(ctx, w, "", 1)); /* the NUL */
    KN_TRY(kn_writer_take(ctx, w->file, &bytes, &n));
    *text = bytes;
out:
    return status;
}

kn_status kn_table_writer_commit(kn_ctx *ctx, kn_table_writer *w)
{
    kn_status status = KN_OK;
    if (w->described)
        KN_TRY(kn_sidecar_write(ctx, kn_writer_path(w->file), w->described,
                                (const char *const *)w->name, w->n_names, w->options));
    KN_TRY(kn_writer_commit(ctx, w->file));
out:
    return status;
}

void kn_table_writer_free(kn_table_writer *w)
{
    if (!w)
        return;
    kn_writer_free(w->file);
    for (ptrdiff_t k = 0; k < w->n_names; k++)
        kn_free(w->name[k]);
    kn_free(w->name);
    kn_free(w);
}
