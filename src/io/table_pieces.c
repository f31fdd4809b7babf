/* A large table by pieces of whole rows, each through a parser of its own. Where to cut is guessed
 * from quotes and line ends; that it was right is known afterwards: a piece that begins with a row
 * and leaves its parser between two rows ends where the next one begins with a row. The first piece
 * begins with one, so that a table whose pieces all end so is what a single parser makes of it. */
#include <string.h>

#include "base/parallel.h"
#include "io/table_inside.h"
#include "io/table_lines.h"

typedef struct piece {
    const char *text;
    ptrdiff_t n;
    ptrdiff_t n_lines; /* in it: its rows at most */
    ptrdiff_t row;     /* its first, if all lines before it are rows */
    ptrdiff_t before;  /* lines */
    ptrdiff_t used;    /* bytes of `text`, from the place on where it begins */
    ptrdiff_t rows;    /* so far */
    ptrdiff_t fields;  /* of the row being read */
    kn_lines *lines;
    bool fine; /* it ends between two rows, all of them with all fields */
    const struct work *work;
} piece;

typedef struct work {
    kn_ctx *ctx; /* to ask whether it is cancelled */
    const kn_table_text *text;
    kn_table *t;
    piece *piece;
    ptrdiff_t n;
} work;

/* ---- where to cut ------------------------------------------------------------------------- */

/* Past the quoted field that a quote at i begins; i + 1 where it begins none. */
static ptrdiff_t after_quotes(const kn_table_text *t, ptrdiff_t i)
{
    char before = i > 0 ? t->bytes[i - 1] : '\n';
    if (before != t->separator && before != '\n' && before != '\r')
        return i + 1;
    for (i++; i < t->n; i += 2) {
        const char *end = memchr(t->bytes + i, '"', (size_t)(t->n - i));
        if (!end)
            return t->n;
        i = end - t->bytes;
        if (i + 1 == t->n || end[1] != '"')
            return i + 1;
    }
    return t->n;
}

typedef struct scan {
    ptrdiff_t at;    /* not in quotes */
    ptrdiff_t quote; /* the next one, t->n: none */
} scan;

/* The first line end outside quotes at or after `from`, and past it; t->n: none. */
static ptrdiff_t next_cut(const kn_table_text *t, ptrdiff_t from, scan *s)
{
    for (;;) {
        ptrdiff_t at = s->at > from ? s->at : from;
        const char *end =
            at < s->quote ? memchr(t->bytes + at, '\n', (size_t)(s->quote - at)) : NULL;
        if (end)
            return end + 1 - t->bytes;
        if (s->quote == t->n)
            return t->n;
        s->at = after_quotes(t, s->quote);
        const char *quote =
            s->at < t->n ? memchr(t->bytes + s->at, '"', (size_t)(t->n - s->at)) : NULL;
        s->quote = quote ? quote - t->bytes : t->n;
    }
}

static scan begin_scan(const kn_table_text *t)
{
    const char *quote = memchr(t->bytes, '"', (size_t)t->n);
    return (scan){0, quote ? quote - t->bytes : t->n};
}

static void cut(work *w, ptrdiff_t size)
{
    const kn_table_text *t = w->text;
    scan s = begin_scan(t);
    for (ptrdiff_t at = 0; at < t->n;) {
        ptrdiff_t end = t->n - at > size ? next_cut(t, at + size, &s) : t->n;
        w->piece[w->n++] = (piece){.text = t->bytes + at, .n = end - at, .work = w};
        at = end;
    }
}

static void count_lines(void *self, ptrdiff_t first, ptrdiff_t last)
{
    for (piece *p = (piece *)self + first; p < (piece *)self + last; p++)
        for (ptrdiff_t at = 0; at < p->n; p->n_lines++)
            at += kn_line_length(p->text + at, p->n - at);
}

/* ---- the columns -------------------------------------------------------------------------- */

static void count_field(void *bytes, size_t n, void *self)
{
    (void)bytes;
    (void)n;
    ++*(ptrdiff_t *)self;
}

static void end_count(int terminator, void *self)
{
    (void)terminator;
    (void)self;
}

/* Fields of the first line, which is to be a row; 0: not so. */
static ptrdiff_t count_columns(const kn_table_text *text)
{
    ptrdiff_t n = 0;
    scan s = begin_scan(text);
    kn_lines l = {.field = count_field, .row = end_count, .self = &n};
    if (!kn_lines_begin(&l, text->separator))
        return 0;
    bool fine = kn_lines_feed(&l, text->bytes, next_cut(text, 0, &s)) && kn_lines_between_rows(&l);
    kn_lines_clear(&l);
    return fine && n <= KN_TABLE_MAX_COLS ? n : 0;
}

/* ---- parsing ------------------------------------------------------------------------------ */

static void on_field(void *bytes, size_t n, void *self)
{
    piece *p = self;
    kn_table *t = p->work->t;
    p->lines->stop = p->lines->stop || p->fields == t->cols || p->rows == p->n_lines;
    if (p->lines->stop)
        return;
    /* A cell and its NUL take no more than the field and its separator did. */
    char *to = t->text + (p->text - p->work->text->bytes) + p->used;
    t->start[(p->row + p->rows) * t->cols + p->fields++] = to - t->text;
    if (n > 0)
        memcpy(to, bytes, n);
    to[n] = '\0';
    p->used += (ptrdiff_t)n + 1;
}

static void on_row(int terminator, void *self)
{
    (void)terminator;
    piece *p = self;
    kn_table *t = p->work->t;
    p->lines->stop = p->lines->stop || p->fields != t->cols;
    if (p->lines->stop)
        return;
    t->line[p->row + p->rows++] = p->lines->row_line;
    p->fields = 0;
}

static bool parse_piece(const work *w, piece *p)
{
    kn_lines l = {.field = on_field, .row = on_row, .self = p, .line = p->before};
    p->lines = &l;
    if (kn_cancelled(w->ctx) || !kn_lines_begin(&l, w->text->separator))
        return false;
    bool fine = kn_lines_feed(&l, p->text, p->n) && !l.stop;
    if (fine && p == w->piece + w->n - 1) /* the end may stand for a line end */
        fine = !kn_lines_in_quotes(&l) && kn_lines_end(&l) && !l.stop;
    else
        fine = fine && kn_lines_between_rows(&l);
    kn_lines_clear(&l);
    return fine;
}

static void parse(void *self, ptrdiff_t first, ptrdiff_t last)
{
    work *w = self;
    for (piece *p = w->piece + first; p < w->piece + last; p++)
        p->fine = parse_piece(w, p);
}

/* ---- all together ------------------------------------------------------------------------- */

/* Rows of each piece behind those of the one before: between them is room for lines without one. */
static ptrdiff_t join(work *w)
{
    kn_table *t = w->t;
    ptrdiff_t rows = 0;
    for (piece *p = w->piece; p < w->piece + w->n; p++) {
        if (p->row > rows) {
            memmove(t->line + rows, t->line + p->row, (size_t)p->rows * sizeof *t->line);
            memmove(t->start + rows * t->cols, t->start + p->row * t->cols,
                    (size_t)(p->rows * t->cols) * sizeof *t->start);
        }
        rows += p->rows;
    }
    return rows;
}

/* False: more rows than fields fit, so that many lines are none. */
static bool place_pieces(work *w, ptrdiff_t *lines)
{
    ptrdiff_t cols = w->t->cols;
    *lines = 0;
    for (piece *p = w->piece; p < w->piece + w->n; p++) {
        if (p->n_lines > (p->n + 1) / cols)
            return false;
        p->row = p->before = *lines;
        *lines += p->n_lines;
    }
    return true;
}

static kn_status read_pieces(kn_ctx *ctx, work *w, bool *done)
{
    kn_status status = KN_OK;
    kn_table *t = w->t;
    ptrdiff_t lines;
    void *memory;
    kn_parallel(ctx, w->n, 1, count_lines, w->piece);
    if (!place_pieces(w, &lines))
        return KN_OK;
    KN_TRY(kn_alloc_raw(ctx, w->text->n + 1, 1, &memory));
    t->text = memory;
    KN_TRY(kn_alloc_raw(ctx, lines * t->cols, sizeof *t->start, &memory));
    t->start = memory;
    KN_TRY(kn_alloc_raw(ctx, lines, sizeof *t->line, &memory));
    t->line = memory;
    kn_parallel(ctx, w->n, 1, parse, w);
    KN_TRY(kn_check_cancel(ctx));
    for (ptrdiff_t k = 0; k < w->n; k++)
        if (!w->piece[k].fine)
            goto out;
    t->rows = join(w) - 1;
    *done = true;
out:
    return status;
}

kn_status kn_table_pieces(kn_ctx *ctx, const kn_table_text *text, ptrdiff_t size, kn_table *t,
                          bool *done)
{
    kn_status status = KN_OK;
    void *memory = NULL;
    *done = false;
    if (size <= 0 || text->n <= size)
        return KN_OK;
    t->cols = count_columns(text);
    if (t->cols == 0)
        goto out;
    KN_TRY(kn_alloc(ctx, text->n / size + 1, sizeof(piece), &memory));
    work w = {.ctx = ctx, .text = text, .t = t, .piece = memory};
    cut(&w, size);
    KN_TRY(read_pieces(ctx, &w, done));
out:
    kn_free(memory);
    if (!*done) {
        kn_free(t->text);
        kn_free(t->start);
        kn_free(t->line);
        t->text = NULL;
        t->start = t->line = NULL;
        t->cols = 0;
    }
    return status;
}
