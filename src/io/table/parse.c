/* Reads table files (table.h): finds the separator, parses the text into cells in one pass through
 * csv_lines.c, and names file, line and column in every error. Cells stay text until a column is
 * used as numbers. */
#include "io/table/internal.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/memory/alloc.h"
#include "io/file/path.h"

/* ---- separator ------------------------------------------------------------------------------- */

static const char SEPARATORS[] = ",\t;";

char kn_separator_of(const char *text, ptrdiff_t n, char usual)
{
    bool there[sizeof SEPARATORS] = {false}, quoted = false;
    int kinds = 0;
    char other = usual;
    for (ptrdiff_t i = 0; i < n && (quoted || (text[i] != '\n' && text[i] != '\r')); i++) {
        const char *s = text[i] ? strchr(SEPARATORS, text[i]) : NULL;
        quoted = quoted != (text[i] == '"');
        if (s && !quoted)
            there[s - SEPARATORS] = true;
    }
    for (size_t k = 0; SEPARATORS[k]; k++) {
        if (there[k] && SEPARATORS[k] == usual)
            return usual;
        other = there[k] ? SEPARATORS[k] : other;
        kinds += there[k];
    }
    return kinds == 1 ? other : usual;
}

const char *kn_separator_name(char separator)
{
    return separator == ',' ? "commas" : separator == '\t' ? "tabs" : "semicolons";
}

/* ---- tables ---------------------------------------------------------------------------------- */

static const ptrdiff_t MAX_BYTES = (ptrdiff_t)1 << 32; /* 4 GiB: a larger table is a mistake */
enum { MAX_COLS = 1 << 20 };
enum { STRIDE = 1 << 20 }; /* bytes of text between two checks for cancellation */

typedef struct source_text {
    const char *name; /* path, for messages */
    const char *bytes;
    ptrdiff_t n;
    char separator;
    bool bare;         /* the first row is data, not a header */
    ptrdiff_t skipped; /* lines before `bytes` */
} source_text;

/* State of the callbacks on_field and on_row. */
typedef struct parse {
    kn_ctx *ctx;
    kn_table *table;
    const source_text *text;
    kn_lines lines;
    ptrdiff_t used;    /* bytes of table->text in use */
    ptrdiff_t checked; /* value of `used` at the last check for cancellation */
    ptrdiff_t cells, cells_room, lines_room; /* cells so far; capacities of start and line */
    ptrdiff_t fields;                        /* fields of the current row */
    ptrdiff_t filled;                        /* the last of them that is not empty, from 1 */
    kn_status status;
} parse;

/* Records the status and stops the parser unless it is KN_OK. Returns whether it stops. */
static bool stop_on_error(parse *p, kn_status status)
{
    p->status = status;
    p->lines.stop = status != KN_OK;
    return p->lines.stop;
}

/* Callback of libcsv at the end of a field of n bytes: appends a cell. The number of columns is
 * fixed by the first row. */
static void on_field(void *bytes, size_t n, void *self)
{
    parse *p = self;
    kn_table *t = p->table;
    if (p->status != KN_OK)
        return;
    bool header = t->rows < 0;
    if (header && p->fields == MAX_COLS) {
        stop_on_error(p, kn_fail(p->ctx, KN_ERR_FORMAT, "%s line %td: more than %d columns",
                                 t->path, p->lines.row_line, MAX_COLS));
        return;
    }
    p->fields++;
    if (n > 0)
        p->filled = p->fields;
    if (!header && p->fields > t->cols)
        return; /* on_row reports the wrong number of fields, unless they are empty */
    void *start = t->start;
    bool full =
        stop_on_error(p, kn_grow(p->ctx, p->cells + 1, sizeof *t->start, &start, &p->cells_room));
    t->start = start;
    if (full)
        return;
    t->start[p->cells++] = p->used;
    if (n > 0)
        memcpy(t->text + p->used, bytes, n);
    p->used += (ptrdiff_t)n + 1; /* the text was allocated zeroed: the NUL is there */
}

/* Returns, for a message, the separator of the current row: a row of one field may use another
 * separator than the header. */
static char separator_of_row(const parse *p)
{
    const kn_table *t = p->table;
    if (p->fields != 1)
        return p->text->separator;
    const char *cell = t->text + t->start[p->cells - 1];
    return kn_separator_of(cell, (ptrdiff_t)strlen(cell), p->text->separator);
}

/* Fails with KN_ERR_FORMAT because the row has more or fewer fields than the first one; the message
 * names a likely cause. */
static kn_status refuse_row(const parse *p)
{
    const kn_table *t = p->table;
    const char *first = p->text->bare ? "first row" : "header";
    char header = p->text->separator, row = separator_of_row(p), why[96] = "";
    if (row != header)
        snprintf(why, sizeof why, "; the line has %s, the %s %s", kn_separator_name(row), first,
                 kn_separator_name(header));
    else if (header == ',' && t->rows == 0 && p->fields > t->cols && !p->text->bare)
        snprintf(why, sizeof why, "; check for decimal commas and for commas in unquoted text");
    return kn_fail(p->ctx, KN_ERR_FORMAT, "%s line %td has %td field%s, but the %s has %td%s",
                   t->path, p->lines.row_line, p->fields, p->fields == 1 ? "" : "s", first, t->cols,
                   why);
}

/* Enlarges an array of *had elements to exactly `capacity`, unless it is that large. Fails only
 * without memory. */
static kn_status enlarge_array(kn_ctx *ctx, ptrdiff_t capacity, ptrdiff_t **array, ptrdiff_t *had)
{
    void *larger;
    if (capacity <= *had)
        return KN_OK;
    kn_status status = kn_alloc_raw(ctx, capacity, sizeof **array, &larger);
    if (status != KN_OK)
        return status;
    memcpy(larger, *array, (size_t)*had * sizeof **array);
    kn_free(*array);
    *array = larger;
    *had = capacity;
    return KN_OK;
}

/* After the header: allocates the arrays for all cells and lines, so that they do not double beyond
 * what the table needs. Every cell but the last takes at least one byte (its separator). If the
 * text is too short for lines x cols cells, some lines are blank or within quotes, and the arrays
 * grow as cells are read. */
static kn_status make_room(parse *p)
{
    kn_table *t = p->table;
    const source_text *text = p->text;
    ptrdiff_t lines = 0;
    kn_status status;
    for (ptrdiff_t at = 0; at < text->n; lines++)
        at += kn_line_length(text->bytes + at, text->n - at);
    if (lines > (text->n + 1) / t->cols)
        return KN_OK;
    KN_TRY(enlarge_array(p->ctx, lines * t->cols, &t->start, &p->cells_room));
    KN_TRY(enlarge_array(p->ctx, lines, &t->line, &p->lines_room));
out:
    return status;
}

/* Callback of libcsv at the end of a row: checks the number of fields and notes the line. t->rows
 * is -1 before the first row, 0 after it. */
static void on_row(int terminator, void *self)
{
    (void)terminator;
    parse *p = self;
    kn_table *t = p->table;
    if (p->status != KN_OK)
        return;
    if (t->rows < 0)
        t->cols = p->fields;
    if (p->fields > t->cols && p->filled <= t->cols)
        p->fields = t->cols; /* empty columns of a spreadsheet behind the last one */
    if (p->fields != t->cols) {
        stop_on_error(p, refuse_row(p));
        return;
    }
    void *line = t->line;
    bool full =
        stop_on_error(p, kn_grow(p->ctx, t->rows + 2, sizeof *t->line, &line, &p->lines_room));
    t->line = line;
    if (full)
        return;
    t->rows++;
    t->line[t->rows] = p->lines.row_line;
    p->fields = p->filled = 0;
    if (t->rows == 0 && stop_on_error(p, make_room(p)))
        return;
    if (p->used - p->checked >= STRIDE) {
        p->checked = p->used;
        stop_on_error(p, kn_check_cancel(p->ctx));
    }
}

/* Fails with KN_ERR_FORMAT, or KN_ERR_MEMORY, because libcsv rejected a byte. */
static kn_status quote_error(parse *p)
{
    if (csv_error(&p->lines.csv) == CSV_ENOMEM)
        return kn_fail(p->ctx, KN_ERR_MEMORY, "%s line %td: out of memory", p->table->path,
                       p->lines.line);
    return kn_fail(p->ctx, KN_ERR_FORMAT,
                   "%s line %td column %td: text after a closing quote; double each quote inside a "
                   "quoted field",
                   p->table->path, p->lines.line, p->fields + 1);
}

/* Runs the CSV parser over the whole text and converts its errors to messages. */
static kn_status parse_lines(parse *p)
{
    kn_lines *l = &p->lines;
    const char *name = p->table->path;
    kn_status status = KN_OK;
    if (!kn_lines_begin(l, p->text->separator))
        return kn_fail(p->ctx, KN_ERR_MEMORY, "%s: out of memory", name);
    bool taken = kn_lines_feed(l, p->text->bytes, p->text->n);
    KN_TRY(p->status);
    if (!taken)
        status = quote_error(p);
    else if (kn_lines_in_quotes(l))
        status = kn_fail(p->ctx, KN_ERR_FORMAT, "%s line %td column %td: a quote is never closed",
                         name, l->row_line, p->fields + 1);
    else if (!kn_lines_end(l))
        status = kn_fail(p->ctx, KN_ERR_FORMAT, "%s line %td: the table ends inside a field", name,
                         l->line);
    else
        status = p->status;
out:
    kn_lines_clear(l);
    return status;
}

/* Allocates the text of all cells of t and fills it from the text of the file. */
static kn_status parse_cells(kn_ctx *ctx, const source_text *text, kn_table *t)
{
    parse p = {.ctx = ctx, .table = t, .text = text};
    void *memory;
    kn_status status;
    p.lines = (kn_lines){.field = on_field, .row = on_row, .self = &p, .line = text->skipped};
    t->rows = -1; /* the header makes it 0 */
    /* A cell and its NUL take no more bytes than the field and its separator; the last field may
     * have no separator. */
    KN_TRY(kn_alloc(ctx, text->n + 2, 1, &memory));
    t->text = memory;
    KN_TRY(parse_lines(&p));
out:
    return status;
}

/* Fails with KN_ERR_FORMAT for a workbook (a ZIP archive or a compound document) that has the name
 * of a table. */
static kn_status check_workbook(kn_ctx *ctx, const char *name, const char *text, ptrdiff_t n)
{
    if (n < 4 || (memcmp(text, "PK\3\4", 4) != 0 && memcmp(text, "\xd0\xcf\x11\xe0", 4) != 0))
        return KN_OK;
    return kn_fail(ctx, KN_ERR_FORMAT,
                   "%s is a spreadsheet workbook, not a text file; save the sheet as CSV", name);
}

/* Fails with KN_ERR_FORMAT for n bytes of text that are too many or have NUL bytes, such as UTF-16.
 */
static kn_status check_bytes(kn_ctx *ctx, const char *name, const char *text, ptrdiff_t n)
{
    if (n > MAX_BYTES)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: %s of text is too large for a table (at most %s)",
                       name, kn_format_size((double)n).text,
                       kn_format_size((double)MAX_BYTES).text);
    kn_status status = n > 0 ? check_workbook(ctx, name, text, n) : KN_OK;
    if (status != KN_OK)
        return status;
    const char *nul = n > 0 ? memchr(text, 0, (size_t)n) : NULL;
    if (nul) {
        ptrdiff_t line = 1;
        for (const char *c = text; c < nul; c++)
            line += *c == '\n';
        return kn_fail(
            ctx, KN_ERR_FORMAT,
            "%s line %td contains a NUL byte, so it is not plain text; save UTF-16 as UTF-8", name,
            line);
    }
    return KN_OK;
}

/* ---- what spreadsheet programs write --------------------------------------------------------- */

/* Returns the number of columns of a row that are not empty. */
static ptrdiff_t count_filled(const kn_table *t, ptrdiff_t row)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t j = 0; j < t->cols; j++) {
        const char *cell = t->text + t->start[row * t->cols + j];
        n += cell[strspn(cell, " \t\r\n")] != '\0';
    }
    return n;
}

/* Removes rows without any text from the end of a table of two columns or more, as spreadsheet
 * programs write them. */
static void drop_empty_rows(kn_table *t)
{
    while (t->cols > 1 && t->rows > 0 && count_filled(t, t->rows) == 0)
        t->rows--;
}

/* Returns the position of the comma in a number with a decimal comma, 23,5 or -1,25e3; NULL if the
 * cell is none. */
static char *decimal_comma(char *cell)
{
    char *comma = strchr(cell, ',');
    double x;
    if (!comma || comma[1] < '0' || comma[1] > '9')
        return NULL;
    *comma = '.';
    bool number = kn_number_parse(cell, &x) == KN_CELL_NUMBER;
    *comma = ',';
    return number ? comma : NULL;
}

/* Returns whether numbers of the table have decimal commas, and none has a decimal point. */
static bool has_commas_only(const kn_table *t)
{
    bool commas = false;
    double x;
    for (ptrdiff_t k = t->head * t->cols; k < (t->head + t->rows) * t->cols; k++) {
        char *cell = t->text + t->start[k];
        if (strchr(cell, '.') && kn_number_parse(cell, &x) == KN_CELL_NUMBER)
            return false;
        commas = commas || decimal_comma(cell);
    }
    return commas;
}

/* Replaces decimal commas by points in a table whose separator is no comma, if has_commas_only();
 * logs that. */
static void replace_commas(kn_ctx *ctx, kn_table *t)
{
    if (!has_commas_only(t))
        return;
    for (ptrdiff_t k = t->head * t->cols; k < (t->head + t->rows) * t->cols; k++) {
        char *comma = decimal_comma(t->text + t->start[k]);
        if (comma)
            *comma = '.';
    }
    kn_log(ctx, KN_LOG_INFO, "%s: the numbers have decimal commas", t->path);
}

/* Reads the first line "sep=;" that Excel writes, if there is one, and moves the text behind it. */
static void take_separator_line(source_text *text)
{
    ptrdiff_t n = kn_line_length(text->bytes, text->n);
    if (n < 5 || strncasecmp(text->bytes, "sep=", 4) != 0 || !strchr(SEPARATORS, text->bytes[4]) ||
        (n > 5 && text->bytes[5] != '\r' && text->bytes[5] != '\n'))
        return;
    text->separator = text->bytes[4];
    text->bytes += n;
    text->n -= n;
    text->skipped = 1;
}

/* Moves the start of the text behind a UTF-8 byte order mark, if there is one. */
static void skip_byte_order_mark(source_text *text)
{
    if (text->n < 3 || memcmp(text->bytes, "\xef\xbb\xbf", 3) != 0)
        return;
    text->bytes += 3;
    text->n -= 3;
}

/* Parses the text of a table as *out (kn_table_free): checks the bytes, splits cells, indexes
 * names. KN_ERR_FORMAT, with line and column, if it is no table. */
static kn_status parse_text(kn_ctx *ctx, source_text text, kn_table **out)
{
    kn_table *t = NULL;
    void *memory;
    kn_status status;

    *out = NULL;
    KN_TRY(check_bytes(ctx, text.name, text.bytes, text.n));
    skip_byte_order_mark(&text);
    KN_TRY(kn_alloc(ctx, 1, sizeof *t, &memory));
    t = memory;
    KN_TRY(kn_text_copy(ctx, text.name, strlen(text.name), &t->path));
    KN_TRY(parse_cells(ctx, &text, t));
    t->head = text.bare ? 0 : 1;
    if (!text.bare)
        drop_empty_rows(t);
    if (text.separator != ',' && t->rows > 0)
        replace_commas(ctx, t);
    if (t->rows < 0)
        status = kn_fail(ctx, KN_ERR_FORMAT, "%s is empty, but must contain %s", t->path,
                         text.bare ? "rows" : "a header and rows");
    else if (text.bare)
        t->rows++; /* the row that was parsed as header is data */
    else if (t->rows == 0)
        status = kn_fail(ctx, KN_ERR_FORMAT, "%s has a header but no rows", t->path);
    else
        status = kn_table_index_names(ctx, t);
out:
    if (status == KN_OK)
        *out = t;
    else
        kn_table_free(t);
    return status;
}

kn_status kn_table_parse(kn_ctx *ctx, const char *name, char separator, const void *bytes,
                         ptrdiff_t n, kn_table **out)
{
    return parse_text(ctx,
                      (source_text){.name = name, .bytes = bytes, .n = n, .separator = separator},
                      out);
}

kn_status kn_table_bytes(kn_ctx *ctx, const char *path, void **bytes, ptrdiff_t *n)
{
    kn_byte_source source = {.fd = -1};
    kn_status status = KN_OK;
    bool freesurfer = false;
    *bytes = NULL;
    if (!kn_table_is_name(path))
        status = kn_freesurfer_file(ctx, path, &freesurfer);
    if (status != KN_OK)
        return status;
    if (!kn_table_is_name(path) && !freesurfer)
        return kn_fail(ctx, KN_ERR_FORMAT,
                       "%s cannot be a table, because its name does not end in .csv or .tsv; use "
                       "one of these formats",
                       path);
    KN_TRY(kn_byte_source_open(ctx, path, &source));
    if (source.size > MAX_BYTES) {
        status = check_bytes(ctx, path, NULL, source.size);
        goto out;
    }
    *n = source.size;
    KN_TRY(kn_alloc_raw(ctx, source.size, 1, bytes));
    KN_TRY(kn_byte_source_read_wide(ctx, &source, 0, source.size, *bytes));
    KN_TRY(kn_byte_source_check(ctx, &source));
out:
    kn_byte_source_close(&source);
    if (status != KN_OK) {
        kn_free(*bytes);
        *bytes = NULL;
    }
    return status;
}

/* Chooses the separator by path and header line, logs an unusual one, and parses the n bytes as
 * *out. bare: there is no header line. */
static kn_status table_of(kn_ctx *ctx, const char *path, const void *bytes, ptrdiff_t n, bool bare,
                          kn_table **out)
{
    char usual = kn_path_ends(path, ".tsv") ? '\t' : ',';
    source_text text = {.name = path, .bytes = bytes, .n = n, .bare = bare};
    char measure[KN_MEASURE_SIZE];
    skip_byte_order_mark(&text);
    if (!bare && kn_freesurfer_header(text.bytes, text.n, &text.separator, measure)) {
        kn_status status = parse_text(ctx, text, out);
        if (status == KN_OK) {
            (*out)->ids = 1;
            memcpy((*out)->measure, measure, sizeof measure);
        }
        return status;
    }
    if (!bare)
        take_separator_line(&text);
    if (text.skipped == 0)
        text.separator = bare ? usual : kn_separator_of(text.bytes, text.n, usual);
    if (text.separator != usual)
        kn_log(ctx, KN_LOG_INFO, "%s: the fields are separated by %s", path,
               kn_separator_name(text.separator));
    return parse_text(ctx, text, out);
}

kn_status kn_table_of_bytes(kn_ctx *ctx, const char *path, const void *bytes, ptrdiff_t n,
                            kn_table **out)
{
    return table_of(ctx, path, bytes, n, false, out);
}

/* Reads and parses a file as *out (kn_table_free; NULL on failure). bare: it has no header line. */
static kn_status read_table(kn_ctx *ctx, const char *path, bool bare, kn_table **out)
{
    void *bytes;
    ptrdiff_t n = 0;
    *out = NULL;
    kn_status status = kn_table_bytes(ctx, path, &bytes, &n);
    if (status == KN_OK)
        status = table_of(ctx, path, bytes, n, bare, out);
    kn_free(bytes);
    return status;
}

kn_status kn_table_read(kn_ctx *ctx, const char *path, kn_table **out)
{
    return read_table(ctx, path, false, out);
}

kn_status kn_table_read_bare(kn_ctx *ctx, const char *path, kn_table **out)
{
    return read_table(ctx, path, true, out);
}
