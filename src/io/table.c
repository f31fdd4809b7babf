#include "io/table.h"

#include <csv.h>
#include <stdlib.h>
#include <string.h>

#include "io/grow.h"
#include "io/path.h"
#include "io/separator.h"

enum { MAX_COLS = 1 << 20 };
static const ptrdiff_t MAX_BYTES = (ptrdiff_t)1 << 32; /* 4 GiB of text is somebody's mistake */

struct kn_table {
    char *path;
    char *text;        /* every cell, each closed by a NUL */
    ptrdiff_t *start;  /* of each cell in `text`: header first, then row by row */
    ptrdiff_t *line;   /* of each row, the header's first */
    ptrdiff_t *sorted; /* named columns in order of their names */
    ptrdiff_t rows, cols, n_named;
    ptrdiff_t head; /* rows of header: 1, or 0 for a bare table */
    bool *category; /* of each column; NULL: the table is a file's */
};

/* What the callbacks of libcsv share. */
typedef struct parse {
    kn_ctx *ctx;
    kn_table *table;
    ptrdiff_t used;                          /* bytes of text */
    ptrdiff_t cells, cells_room, lines_room; /* cells so far; room for starts and lines */
    ptrdiff_t fields;                        /* of the row being read */
    ptrdiff_t row_line, line;                /* where it started; where we are */
    bool bare;                               /* the first row is data already */
    char separator;
    kn_status status;
} parse;

static void on_field(void *bytes, size_t n, void *self)
{
    parse *p = self;
    kn_table *t = p->table;
    if (p->status != KN_OK)
        return;
    bool header = t->rows < 0;
    if (header && p->fields == MAX_COLS) {
        p->status = kn_fail(p->ctx, KN_ERR_FORMAT, "%s line %td: more than %d columns", t->path,
                            p->row_line, MAX_COLS);
        return;
    }
    p->fields++;
    if (!header && p->fields > t->cols)
        return; /* on_row counts them and refuses */
    void *start = t->start;
    p->status = kn_grow(p->ctx, p->cells + 1, sizeof *t->start, &start, &p->cells_room);
    t->start = start;
    if (p->status != KN_OK)
        return;
    t->start[p->cells++] = p->used;
    if (n > 0)
        memcpy(t->text + p->used, bytes, n);
    p->used += (ptrdiff_t)n + 1; /* the text was zeroed: the NUL is there */
}

static void on_row(int terminator, void *self)
{
    (void)terminator;
    parse *p = self;
    kn_table *t = p->table;
    if (p->status != KN_OK)
        return;
    if (t->rows < 0)
        t->cols = p->fields;
    if (p->fields != t->cols) {
        bool commas = p->separator == ',' && t->rows == 0 && p->fields > t->cols && !p->bare;
        p->status =
            kn_fail(p->ctx, KN_ERR_FORMAT, "%s line %td: %td fields, expected %td as in the %s%s",
                    t->path, p->row_line, p->fields, t->cols, p->bare ? "first row" : "header",
                    commas ? " (are there decimal commas, or commas in texts without quotes?)"
                           : "");
        return;
    }
    void *line = t->line;
    p->status = kn_grow(p->ctx, t->rows + 2, sizeof *t->line, &line, &p->lines_room);
    t->line = line;
    if (p->status != KN_OK)
        return;
    t->rows++;
    t->line[t->rows] = p->row_line;
    p->fields = 0;
}

static int never(unsigned char c)
{
    (void)c;
    return 0;
}

/* One physical line: up to LF, CRLF or a lone CR. */
static ptrdiff_t line_length(const char *text, ptrdiff_t n)
{
    const char *lf = memchr(text, '\n', (size_t)n);
    ptrdiff_t length = lf ? lf - text + 1 : n;
    const char *cr = memchr(text, '\r', (size_t)length);
    if (cr && cr + 1 < text + length && cr[1] != '\n')
        length = cr - text + 1;
    return length;
}

static kn_status quote_error(const parse *p, const struct csv_parser *csv)
{
    if (csv_error((struct csv_parser *)csv) == CSV_ENOMEM)
        return kn_fail(p->ctx, KN_ERR_MEMORY, "%s line %td: out of memory", p->table->path,
                       p->line);
    return kn_fail(p->ctx, KN_ERR_FORMAT,
                   "%s line %td column %td: text after a closing quote (a quote inside a quoted "
                   "field is written twice)",
                   p->table->path, p->line, p->fields + 1);
}

/* Strict, but for a quote in the middle of an unquoted field (5" tall), which stands for itself:
 * the strict parser stops there with its state intact, and takes the one byte when lenient. */
static kn_status feed(parse *p, struct csv_parser *csv, const char *text, ptrdiff_t n)
{
    while (n > 0 && p->status == KN_OK) {
        size_t done = csv_parse(csv, text, (size_t)n, on_field, on_row, p);
        text += done;
        n -= (ptrdiff_t)done;
        if (p->status != KN_OK || n == 0)
            break;
        if (csv_error(csv) != CSV_EPARSE || csv->quoted)
            return quote_error(p, csv);
        csv_set_opts(csv, 0);
        csv_parse(csv, text, 1, on_field, on_row, p);
        csv_set_opts(csv, CSV_STRICT);
        text++;
        n--;
    }
    return p->status;
}

static kn_status parse_lines(parse *p, char separator, const char *text, ptrdiff_t n)
{
    enum { ROW_NOT_BEGUN = 0 }; /* of libcsv's pstate, which its header shows but does not name */
    struct csv_parser csv;
    kn_status status = KN_OK;
    if (csv_init(&csv, CSV_STRICT) != 0)
        return kn_fail(p->ctx, KN_ERR_MEMORY, "%s: out of memory", p->table->path);
    csv_set_delim(&csv, (unsigned char)separator);
    csv_set_space_func(&csv, never); /* cells are kept as they are */
    while (n > 0) {
        ptrdiff_t length = line_length(text, n);
        p->line++;
        if (csv.pstate == ROW_NOT_BEGUN)
            p->row_line = p->line;
        KN_TRY(feed(p, &csv, text, length));
        text += length;
        n -= length;
    }
    enum { FIELD_BEGUN = 2 };
    if (csv.pstate == FIELD_BEGUN && csv.quoted) {
        status = kn_fail(p->ctx, KN_ERR_FORMAT, "%s line %td column %td: a quote is never closed",
                         p->table->path, p->row_line, p->fields + 1);
        goto out;
    }
    if (csv_fini(&csv, on_field, on_row, p) != 0)
        status = kn_fail(p->ctx, KN_ERR_FORMAT, "%s line %td: the table ends inside a field",
                         p->table->path, p->line);
    else
        status = p->status;
out:
    csv_free(&csv);
    return status;
}

typedef struct name_ref {
    const char *name;
    ptrdiff_t col;
} name_ref;

static int by_name(const void *a, const void *b)
{
    const name_ref *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->col > y->col) - (x->col < y->col);
}

static kn_status index_names(kn_ctx *ctx, kn_table *t)
{
    void *names = NULL;
    kn_status status;
    KN_TRY(kn_alloc(ctx, t->cols, sizeof(name_ref), &names));
    KN_TRY(kn_alloc_i(ctx, t->cols, &t->sorted));
    name_ref *ref = names;
    for (ptrdiff_t j = 0; j < t->cols; j++)
        if (kn_table_named(t, j))
            ref[t->n_named++] = (name_ref){kn_table_name(t, j), j};
    qsort(ref, (size_t)t->n_named, sizeof *ref, by_name);
    for (ptrdiff_t k = 0; k < t->n_named; k++) {
        t->sorted[k] = ref[k].col;
        if (k > 0 && strcmp(ref[k - 1].name, ref[k].name) == 0) {
            status =
                kn_fail(ctx, KN_ERR_FORMAT, "%s line %td: columns %td and %td are both named '%s'",
                        t->path, t->line[0], ref[k - 1].col + 1, ref[k].col + 1, ref[k].name);
            goto out;
        }
    }
out:
    kn_free(names);
    return status;
}

static kn_status check_bytes(kn_ctx *ctx, const char *name, const char *text, ptrdiff_t n)
{
    if (n > MAX_BYTES)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: %s of text is too large for a table (at most %s)",
                       name, kn_size_in_words((double)n).text,
                       kn_size_in_words((double)MAX_BYTES).text);
    const char *nul = n > 0 ? memchr(text, 0, (size_t)n) : NULL;
    if (nul) {
        ptrdiff_t line = 1;
        for (const char *c = text; c < nul; c++)
            line += *c == '\n';
        return kn_fail(ctx, KN_ERR_FORMAT,
                       "%s line %td: a NUL byte, expected plain text (UTF-16 must be saved as "
                       "UTF-8)",
                       name, line);
    }
    return KN_OK;
}

static kn_status parse_table(kn_ctx *ctx, const char *name, char separator, bool bare,
                             const void *bytes, ptrdiff_t n, kn_table **out)
{
    const char *text = bytes;
    kn_table *t = NULL;
    void *memory;
    kn_status status;

    *out = NULL;
    KN_TRY(check_bytes(ctx, name, text, n));
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        n -= 3;
    }
    KN_TRY(kn_alloc(ctx, 1, sizeof *t, &memory));
    t = memory;
    t->rows = -1; /* the header makes it 0 */
    KN_TRY(kn_text_copy(ctx, name, strlen(name), &t->path));
    /* A cell and its NUL never need more than the field and its separator did, the last one
     * apart. */
    KN_TRY(kn_alloc(ctx, n + 2, 1, &memory));
    t->text = memory;
    parse p = {.ctx = ctx, .table = t, .bare = bare, .separator = separator};
    KN_TRY(parse_lines(&p, separator, text, n));
    t->head = bare ? 0 : 1;
    if (t->rows < 0)
        status = kn_fail(ctx, KN_ERR_FORMAT, "%s: the file is empty, expected %s", t->path,
                         bare ? "rows" : "a header and rows");
    else if (bare)
        t->rows++; /* what was taken for the header is the first of them */
    else if (t->rows == 0)
        status = kn_fail(ctx, KN_ERR_FORMAT, "%s: a header but no rows", t->path);
    else
        status = index_names(ctx, t);
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
    return parse_table(ctx, name, separator, false, bytes, n, out);
}

bool kn_table_is_name(const char *path)
{
    return kn_path_ends(path, ".csv") || kn_path_ends(path, ".tsv");
}

static kn_status read_table(kn_ctx *ctx, const char *path, bool bare, kn_table **out)
{
    kn_source source = {.fd = -1};
    void *bytes = NULL;
    kn_status status;

    *out = NULL;
    if (!kn_table_is_name(path))
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: expected a table named .csv or .tsv", path);
    KN_TRY(kn_source_open(ctx, path, &source));
    if (source.size > MAX_BYTES) {
        status = check_bytes(ctx, path, NULL, source.size);
        goto out;
    }
    KN_TRY(kn_alloc(ctx, source.size, 1, &bytes));
    KN_TRY(kn_source_read(ctx, &source, 0, source.size, bytes));
    char usual = kn_path_ends(path, ".tsv") ? '\t' : ',';
    char separator = bare ? usual : kn_separator_of(bytes, source.size, usual);
    if (separator != usual)
        kn_log(ctx, KN_LOG_INFO, "%s: its fields are parted by %s", path,
               kn_separator_name(separator));
    KN_TRY(parse_table(ctx, path, separator, bare, bytes, source.size, out));
out:
    kn_free(bytes);
    kn_source_close(&source);
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

/* The text of a cell, -1 for the column's name. */
static const char *given(const kn_table_column *c, ptrdiff_t row)
{
    return row < 0 ? c->name : c->text[row] ? c->text[row] : "";
}

kn_status kn_table_make(kn_ctx *ctx, const char *name, const kn_table_column *column,
                        ptrdiff_t cols, ptrdiff_t rows, kn_table **out)
{
    kn_status status;
    kn_table *t = NULL;
    void *memory;
    size_t bytes = 0;
    ptrdiff_t cell = 0;
    *out = NULL;
    for (ptrdiff_t j = 0; j < cols; j++)
        for (ptrdiff_t i = -1; i < rows; i++)
            bytes += strlen(given(&column[j], i)) + 1;
    KN_TRY(kn_alloc(ctx, 1, sizeof *t, &memory));
    t = memory;
    t->rows = rows;
    t->cols = cols;
    t->head = 1;
    KN_TRY(kn_text_copy(ctx, name, strlen(name), &t->path));
    KN_TRY(kn_alloc(ctx, (ptrdiff_t)bytes, 1, &memory));
    t->text = memory;
    KN_TRY(kn_alloc(ctx, cols, sizeof *t->category, &memory));
    t->category = memory;
    KN_TRY(kn_alloc_i(ctx, (rows + 1) * cols, &t->start));
    KN_TRY(kn_alloc_i(ctx, rows + 1, &t->line));
    bytes = 0;
    for (ptrdiff_t i = -1; i < rows; i++) {
        t->line[i + 1] = i + 1;
        for (ptrdiff_t j = 0; j < cols; j++) {
            const char *text = given(&column[j], i);
            t->start[cell++] = (ptrdiff_t)bytes;
            strcpy(t->text + bytes, text);
            bytes += strlen(text) + 1;
            t->category[j] = column[j].category;
        }
    }
    KN_TRY(index_names(ctx, t));
out:
    if (status == KN_OK)
        *out = t;
    else
        kn_table_free(t);
    return status;
}

bool kn_table_made(const kn_table *t)
{
    return t->category != NULL;
}

const char *kn_table_unit(const kn_table *t)
{
    return t->category ? "row" : "line";
}

bool kn_table_category(const kn_table *t, ptrdiff_t col)
{
    return t->category && t->category[col];
}

void kn_table_free(kn_table *t)
{
    if (!t)
        return;
    kn_free(t->path);
    kn_free(t->text);
    kn_free(t->start);
    kn_free(t->line);
    kn_free(t->sorted);
    kn_free(t->category);
    kn_free(t);
}

const char *kn_table_path(const kn_table *t)
{
    return t->path;
}

ptrdiff_t kn_table_rows(const kn_table *t)
{
    return t->rows;
}

ptrdiff_t kn_table_cols(const kn_table *t)
{
    return t->cols;
}

const char *kn_table_cell(const kn_table *t, ptrdiff_t row, ptrdiff_t col)
{
    return t->text + t->start[(row + t->head) * t->cols + col];
}

const char *kn_table_name(const kn_table *t, ptrdiff_t col)
{
    return t->head ? kn_table_cell(t, -1, col) : "";
}

bool kn_table_named(const kn_table *t, ptrdiff_t col)
{
    const char *name = kn_table_name(t, col);
    return name[strspn(name, " \t")] != '\0';
}

ptrdiff_t kn_table_find(const kn_table *t, const char *name)
{
    ptrdiff_t low = 0, high = t->n_named;
    while (low < high) {
        ptrdiff_t middle = low + (high - low) / 2;
        int order = strcmp(kn_table_name(t, t->sorted[middle]), name);
        if (order == 0)
            return t->sorted[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

kn_cell kn_table_number(const kn_table *t, ptrdiff_t row, ptrdiff_t col, double *out)
{
    return kn_number_parse(kn_table_cell(t, row, col), out);
}

ptrdiff_t kn_table_line(const kn_table *t, ptrdiff_t row)
{
    return t->line[row + t->head];
}
