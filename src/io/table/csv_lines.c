/* Implements kn_lines (internal.h) on top of libcsv in strict mode. It is used for quoted cells,
 * which may contain separators and line ends. */
#include "io/table/internal.h"

#include <string.h>

/* Values of libcsv's csv_parser.pstate, which its header does not name. */
enum { ROW_NOT_BEGUN = 0, FIELD_BEGUN = 2 };

/* Callback of libcsv: no character is white space, so that cells keep theirs. */
static int is_never_space(unsigned char c)
{
    (void)c;
    return 0;
}

bool kn_lines_begin(kn_lines *l, char separator)
{
    if (csv_init(&l->csv, CSV_STRICT) != 0)
        return false;
    csv_set_delim(&l->csv, (unsigned char)separator);
    csv_set_space_func(&l->csv, is_never_space); /* do not trim cells */
    return true;
}

void kn_lines_clear(kn_lines *l)
{
    csv_free(&l->csv);
}

/* Searches in windows of doubling size, so that a file with only LF is not scanned to its end for a
 * CR in every line, or the reverse. */
ptrdiff_t kn_line_length(const char *text, ptrdiff_t n)
{
    for (ptrdiff_t from = 0, window = 256; from < n; from += window, window *= 2) {
        size_t m = (size_t)(n - from < window ? n - from : window);
        const char *lf = memchr(text + from, '\n', m);
        const char *cr = memchr(text + from, '\r', lf ? (size_t)(lf - text - from) : m);
        if (cr)
            return cr + 1 - text + (cr + 1 < text + n && cr[1] == '\n');
        if (lf)
            return lf + 1 - text;
    }
    return n;
}

/* Parses one line of n characters strictly, except that a quote within an unquoted field (5" tall)
 * is an ordinary character: the strict parser stops there with its state intact, and that byte is
 * parsed in lenient mode. Returns false for a syntax error. */
static bool feed_line(kn_lines *l, const char *text, ptrdiff_t n)
{
    while (n > 0 && !l->stop) {
        size_t done = csv_parse(&l->csv, text, (size_t)n, l->field, l->row, l->self);
        text += done;
        n -= (ptrdiff_t)done;
        if (l->stop || n == 0)
            break;
        if (csv_error(&l->csv) != CSV_EPARSE || l->csv.quoted)
            return false;
        csv_set_opts(&l->csv, 0);
        csv_parse(&l->csv, text, 1, l->field, l->row, l->self);
        csv_set_opts(&l->csv, CSV_STRICT);
        text++;
        n--;
    }
    return true;
}

bool kn_lines_feed(kn_lines *l, const char *text, ptrdiff_t n)
{
    while (n > 0 && !l->stop) {
        ptrdiff_t length = kn_line_length(text, n);
        l->line++;
        if (l->csv.pstate == ROW_NOT_BEGUN)
            l->row_line = l->line;
        if (!feed_line(l, text, length))
            return false;
        text += length;
        n -= length;
    }
    return true;
}

bool kn_lines_in_quotes(const kn_lines *l)
{
    return l->csv.pstate == FIELD_BEGUN && l->csv.quoted;
}

bool kn_lines_end(kn_lines *l)
{
    return csv_fini(&l->csv, l->field, l->row, l->self) == 0;
}
