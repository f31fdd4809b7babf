/* Implements stats_file.h. The text is copied once; names and values point into the copy. */
#include "io/freesurfer/stats_file.h"

#include <string.h>

#include "io/file/byte_source.h"
#include "io/file/path.h"
#include "io/table/number.h"

enum { MAX_FIELDS = 64, MAX_BYTES = 4 << 20 };
static const char SPACES[] = " \t\r";

typedef struct reader {
    kn_ctx *ctx;
    const char *path, *column;
    ptrdiff_t line;
    int fields, name_at, value_at; /* of "# ColHeaders"; -1: not found */
    kn_stats_file *out;
} reader;

/* Splits a line at spaces, in place. Returns the number of fields, at most MAX_FIELDS. */
static int split_fields(char *line, char *field[MAX_FIELDS])
{
    int n = 0;
    for (line += strspn(line, SPACES); *line && n < MAX_FIELDS; line += strspn(line, SPACES)) {
        field[n++] = line;
        line += strcspn(line, SPACES);
        if (*line)
            *line++ = '\0';
    }
    return n;
}

/* Appends a name with its value, both borrowed, to an array of *n items that grows. Fails only
 * without memory. */
static kn_status append_item(reader *r, const char *name, const char *value, ptrdiff_t *n,
                             ptrdiff_t *room, kn_stats_item **items)
{
    void *memory = *items;
    kn_status status = kn_grow(r->ctx, *n + 1, sizeof **items, &memory, room);
    *items = memory;
    if (status == KN_OK)
        (*items)[(*n)++] = (kn_stats_item){name, value};
    return status;
}

/* Finds the columns of names and values in the fields behind "# ColHeaders". */
static kn_status take_headers(reader *r, char *rest)
{
    char *field[MAX_FIELDS];
    r->fields = split_fields(rest, field);
    r->name_at = r->value_at = -1;
    for (int k = 0; k < r->fields; k++) {
        if (strcmp(field[k], "StructName") == 0)
            r->name_at = k;
        if (strcmp(field[k], r->column) == 0)
            r->value_at = k;
    }
    if (r->name_at >= 0 && r->value_at >= 0)
        return KN_OK;
    return kn_fail(r->ctx, KN_ERR_FORMAT, "%s line %td: ColHeaders have no column %s", r->path,
                   r->line, r->name_at < 0 ? "StructName" : r->column);
}

/* "Cortex, MeanThickness, Mean Thickness, 2.36, mm": the second and the fourth field. Lines of
 * another form have no value. */
static kn_status take_measure(reader *r, char *rest)
{
    enum { NAME = 1, VALUE = 3, FIELDS = 4 };
    char *field[FIELDS];
    double x;
    int n = 0;
    for (char *next = rest; next && n < FIELDS;) {
        char *at = next + strspn(next, SPACES);
        next = strchr(at, ',');
        if (next)
            *next++ = '\0';
        for (size_t k = strlen(at); k > 0 && strchr(SPACES, at[k - 1]); k--)
            at[k - 1] = '\0';
        field[n++] = at;
    }
    if (n < FIELDS || kn_number_parse(field[VALUE], &x) != KN_CELL_NUMBER || !*field[NAME])
        return KN_OK;
    return append_item(r, field[NAME], field[VALUE], &r->out->n_measures, &r->out->measure_room,
                       &r->out->measure);
}

/* Reads a row of the table of a .stats file. KN_ERR_FORMAT, with the line, if it stands before the
 * column headers or does not fit them. */
static kn_status take_row(reader *r, char *text)
{
    char *field[MAX_FIELDS];
    double x;
    int n = split_fields(text, field);
    if (n == 0)
        return KN_OK;
    if (r->fields == 0)
        return kn_fail(r->ctx, KN_ERR_FORMAT,
                       "%s line %td: a row before '# ColHeaders', expected a .stats file of "
                       "recon-all",
                       r->path, r->line);
    if (n < r->fields)
        return kn_fail(r->ctx, KN_ERR_FORMAT,
                       "%s line %td: %d fields, expected %d as in ColHeaders", r->path, r->line, n,
                       r->fields);
    const char *name = field[r->name_at], *value = field[r->value_at];
    if (kn_number_parse(value, &x) == KN_CELL_TEXT)
        return kn_fail(r->ctx, KN_ERR_FORMAT,
                       "%s line %td: %s of %.60s is '%.60s', but must be a number", r->path,
                       r->line, r->column, name, value);
    return append_item(r, name, value, &r->out->n_regions, &r->out->region_room, &r->out->region);
}

/* Reads one line of a .stats file: a comment with column headers or a measure, another comment, or
 * a row of the table. */
static kn_status take_line(reader *r, char *line)
{
    static const char HEADERS[] = "ColHeaders ", MEASURE[] = "Measure ";
    line += strspn(line, SPACES);
    if (*line != '#')
        return take_row(r, line);
    line += 1 + strspn(line + 1, SPACES);
    if (strncmp(line, HEADERS, sizeof HEADERS - 1) == 0)
        return take_headers(r, line + sizeof HEADERS - 1);
    if (strncmp(line, MEASURE, sizeof MEASURE - 1) == 0)
        return take_measure(r, line + sizeof MEASURE - 1);
    return KN_OK;
}

kn_status kn_stats_parse(kn_ctx *ctx, const char *path, const char *bytes, ptrdiff_t n,
                         const char *column, kn_stats_file *out)
{
    kn_status status;
    reader r = {.ctx = ctx, .path = path, .column = column, .out = out};
    *out = (kn_stats_file){0};
    KN_TRY(kn_text_copy(ctx, bytes, (size_t)n, &out->text));
    if ((ptrdiff_t)strlen(out->text) != n) {
        status = kn_fail(ctx, KN_ERR_FORMAT, "%s contains a NUL byte, expected text", path);
        goto out;
    }
    for (char *at = out->text, *next; at; at = next) {
        next = strchr(at, '\n');
        if (next)
            *next++ = '\0';
        r.line++;
        KN_TRY(take_line(&r, at));
    }
    if (out->n_regions == 0)
        status = kn_fail(ctx, KN_ERR_FORMAT, "%s has no rows, expected a .stats file of recon-all",
                         path);
out:
    if (status != KN_OK)
        kn_stats_clear(out);
    return status;
}

kn_status kn_stats_read(kn_ctx *ctx, const char *path, const char *column, kn_stats_file *out)
{
    kn_byte_source source = {.fd = -1};
    void *bytes = NULL;
    kn_status status;
    *out = (kn_stats_file){0};
    KN_TRY(kn_byte_source_open(ctx, path, &source));
    if (source.size > MAX_BYTES) {
        status = kn_fail(ctx, KN_ERR_FORMAT, "%s: %s is too large for a .stats file", path,
                         kn_format_size((double)source.size).text);
        goto out;
    }
    KN_TRY(kn_alloc(ctx, source.size + 1, 1, &bytes));
    KN_TRY(kn_byte_source_read(ctx, &source, 0, source.size, bytes));
    KN_TRY(kn_stats_parse(ctx, path, bytes, source.size, column, out));
out:
    kn_free(bytes);
    kn_byte_source_close(&source);
    return status;
}

void kn_stats_clear(kn_stats_file *f)
{
    kn_free(f->region);
    kn_free(f->measure);
    kn_free(f->text);
    *f = (kn_stats_file){0};
}
