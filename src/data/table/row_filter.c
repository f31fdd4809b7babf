/* Implements row_filter.h. Conditions such as age>18 or group=control,sibling are parsed once and
 * applied row by row. */
#include "data/table/row_filter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/table/columns.h"
#include "data/table/levels.h"
#include "data/table/text_list.h"
#include "io/file/byte_source.h"
#include "io/file/path.h"

/* ---- lists of values from a file: sorted, with binary search --------------------------------- */

static const ptrdiff_t MAX_BYTES = (ptrdiff_t)1 << 28;
static const char BLANKS[] = " \t\r";

/* Frees the values of an @file list and sets it to {0}. */
static void clear_list(kn_row_filter_list *list)
{
    kn_free(list->value);
    kn_free(list->text);
    *list = (kn_row_filter_list){0};
}

/* Returns the number of lines in n characters, a last line without newline included. */
static ptrdiff_t count_lines(const char *text, ptrdiff_t n)
{
    ptrdiff_t lines = 1;
    for (ptrdiff_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    return lines;
}

/* Splits list->text at line ends in place and collects the lines that are not blank, without
 * surrounding spaces, as sorted list->value. */
static void take_lines(kn_row_filter_list *list)
{
    for (char *at = list->text, *next; at; at = next) {
        next = strchr(at, '\n');
        if (next)
            *next++ = '\0';
        at += strspn(at, BLANKS);
        size_t length = strlen(at);
        while (length > 0 && strchr(BLANKS, at[length - 1]))
            at[--length] = '\0';
        if (length > 0)
            list->value[list->n++] = at;
    }
    qsort(list->value, (size_t)list->n, sizeof *list->value, kn_compare_texts);
}

/* Reads the values of a condition `in @FILE`, one per line, as a sorted list that *out owns.
 * KN_ERR_FORMAT if the file has no values or more than MAX_BYTES bytes. */
static kn_status read_list(kn_ctx *ctx, const char *path, kn_row_filter_list *out)
{
    kn_status status;
    kn_byte_source source = {0};
    void *text = NULL, *value = NULL;
    *out = (kn_row_filter_list){0};
    KN_TRY(kn_byte_source_open(ctx, path, &source));
    if (source.size > MAX_BYTES) {
        status =
            kn_fail(ctx, KN_ERR_FORMAT, "%s has %td bytes; a list of values can have at most %td",
                    path, source.size, MAX_BYTES);
        goto out;
    }
    KN_TRY(kn_alloc(ctx, source.size + 1, 1, &text));
    out->text = text;
    KN_TRY(kn_byte_source_read(ctx, &source, 0, source.size, text));
    KN_TRY(kn_byte_source_check(ctx, &source));
    KN_TRY(kn_alloc(ctx, count_lines(text, source.size), sizeof *out->value, &value));
    out->value = value;
    take_lines(out);
    if (out->n == 0)
        status = kn_fail(ctx, KN_ERR_FORMAT, "%s has no values, but must have one per line", path);
out:
    kn_byte_source_close(&source);
    if (status != KN_OK)
        clear_list(out);
    return status;
}

/* Returns whether the text of a cell, without surrounding spaces, is exactly one of the values of
 * the list. Binary search. */
static bool list_has(const kn_row_filter_list *list, const char *cell)
{
    char trimmed[KN_LEVEL_SIZE];
    const char *key = trimmed;
    return kn_level_of(cell, false, trimmed) &&
           bsearch(&key, list->value, (size_t)list->n, sizeof *list->value, kn_compare_texts);
}

/* ---- conditions ------------------------------------------------------------------------------ */

void kn_row_filter_clear(kn_row_filter *where)
{
    for (ptrdiff_t k = 0; k < where->n; k++)
        clear_list(&where->condition[k].list);
    kn_free(where->condition);
    kn_free(where->text);
    kn_free(where->written);
    *where = (kn_row_filter){0};
}

/* ---- parsing -------------------------------------------------------------------------------- */

static const char SPACES[] = " \t\r\n";

/* Trims a text in place. */
static char *trim_text(char *text)
{
    text += strspn(text, SPACES);
    size_t n = strlen(text);
    while (n > 0 && strchr(SPACES, text[n - 1]))
        text[--n] = '\0';
    return text;
}

/* Finds the operator (=, !=, <, ...) in the text of one condition; returns its position and sets
 * *op and *length (bytes). Signs are searched before the word "in", which may be part of a name
 * ("age in years>20"). NULL if there is none. */
static char *find_operator(char *text, kn_row_filter_op *op, size_t *length)
{
    static const struct {
        const char *sign;
        kn_row_filter_op op;
    } signs[] = {{"!=", KN_WHERE_IS_NOT}, {"<=", KN_WHERE_AT_MOST}, {">=", KN_WHERE_AT_LEAST},
                 {"==", KN_WHERE_IS},     {"=", KN_WHERE_IS},       {"<", KN_WHERE_LESS},
                 {">", KN_WHERE_MORE},    {" in ", KN_WHERE_IN}};
    enum { N_SIGNS = sizeof signs / sizeof *signs };
    for (char *at = text; *at; at++)
        for (int k = 0; k < N_SIGNS - 1; k++)
            if (strncmp(at, signs[k].sign, strlen(signs[k].sign)) == 0) {
                *op = signs[k].op;
                *length = strlen(signs[k].sign);
                return at;
            }
    *op = KN_WHERE_IN;
    *length = strlen(signs[N_SIGNS - 1].sign);
    return strstr(text, signs[N_SIGNS - 1].sign);
}

/* Splits c->value, "a | b", in place into c->n trimmed texts, stored one after the other, each with
 * its NUL. Returns false if one is empty. */
static bool split_values(kn_condition *c)
{
    char *to = c->value;
    c->n = 0;
    for (char *at = c->value, *next; at; at = next) {
        next = strchr(at, '|');
        if (next)
            *next++ = '\0';
        const char *value = trim_text(at);
        size_t n = strlen(value);
        if (n == 0)
            return false;
        memmove(to, value, n + 1);
        to += n + 1;
        c->n++;
    }
    return true;
}

/* Returns whether the operator is <, <=, > or >=, which need numbers on both sides. */
static bool compares_numbers(kn_row_filter_op op)
{
    return op == KN_WHERE_LESS || op == KN_WHERE_AT_MOST || op == KN_WHERE_MORE ||
           op == KN_WHERE_AT_LEAST;
}

/* Parses one condition such as age>18 from `text`, which it changes; c points into it. Reads the
 * file of `in @FILE`. KN_ERR_ARGUMENT if there is no operator, a side is empty, or a number is
 * expected. */
static kn_status read_condition(kn_ctx *ctx, char *text, kn_condition *c)
{
    size_t length = 0;
    double x;
    char *at = find_operator(text, &c->op, &length);
    if (at) {
        *at = '\0';
        c->column = trim_text(text);
        c->value = trim_text(at + length);
    }
    c->n = 1;
    if (!at || !*c->column || !*c->value || (c->op == KN_WHERE_IN && !split_values(c)))
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{where} is '%s', but must be a column, an operator (= != < <= > >= in) and "
                       "a value, such as age<60 or site in a|b",
                       kn_clipped(c->written).text);
    if (c->op == KN_WHERE_IN && c->value[0] == '@')
        return read_list(ctx, c->value + 1, &c->list);
    if (compares_numbers(c->op) && kn_number_parse(c->value, &x) != KN_CELL_NUMBER)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{where} is '%s', but <, <=, > and >= compare numbers only",
                       kn_clipped(c->written).text);
    return KN_OK;
}

kn_status kn_row_filter_parse(kn_ctx *ctx, const char *text, kn_row_filter *out)
{
    kn_status status = KN_OK;
    void *memory;

    *out = (kn_row_filter){0};
    if (!text)
        return KN_OK;
    KN_TRY(kn_text_copy(ctx, text, strlen(text), &out->text));
    KN_TRY(kn_text_copy(ctx, text, strlen(text), &out->written));
    KN_TRY(kn_alloc(ctx, kn_names_count(text), sizeof *out->condition, &memory));
    out->condition = memory;
    for (char *at = out->text, *next; at; at = next) {
        kn_condition *c = &out->condition[out->n];
        char *written = out->written + (at - out->text);
        next = strchr(at, ',');
        if (next) {
            *next++ = '\0';
            written[next - at - 1] = '\0';
        }
        c->written = trim_text(written);
        KN_TRY(read_condition(ctx, at, c));
        out->n++;
    }
out:
    if (status != KN_OK)
        kn_row_filter_clear(out);
    return status;
}

/* ---- filtering ------------------------------------------------------------------------------ */

/* Returns whether a cell equals the value of a condition: as numbers if both are numbers, otherwise
 * as texts without surrounding spaces. */
static bool same_value(const char *cell, const char *value)
{
    char a[KN_LEVEL_SIZE], b[KN_LEVEL_SIZE];
    double x, y;
    bool numbers =
        kn_number_parse(cell, &x) == KN_CELL_NUMBER && kn_number_parse(value, &y) == KN_CELL_NUMBER;
    if (numbers && kn_level_of(cell, true, a) && kn_level_of(value, true, b))
        return strcmp(a, b) == 0;
    return kn_names_equal(cell, value);
}

/* Returns whether a cell equals one of the values of a condition, from its text or from the file of
 * `in @FILE`. A missing cell equals only a value such as n/a in the text. */
static bool is_one_of(const kn_condition *c, const char *cell)
{
    bool missing = kn_text_is_missing(cell);
    const char *value = c->value;
    if (c->list.n > 0)
        return !missing && list_has(&c->list, cell);
    for (ptrdiff_t k = 0; k < c->n; k++, value += strlen(value) + 1)
        if (missing ? kn_text_is_missing(value) : same_value(cell, value))
            return true;
    return false;
}

/* Applies an order operator (<, <=, >, else >=) to numbers; false if x or y is NaN. */
static bool compare_numbers(kn_row_filter_op op, double x, double y)
{
    switch (op) {
    case KN_WHERE_LESS: return x < y;
    case KN_WHERE_AT_MOST: return x <= y;
    case KN_WHERE_MORE: return x > y;
    default: return x >= y;
    }
}

typedef enum answer { NO, YES, UNKNOWN } answer;

/* Evaluates a condition for the cell of `row` in column `col`. *out: YES, NO, or UNKNOWN if the
 * cell is missing and the condition needs a value. KN_ERR_DATA if a text should be compared as a
 * number. */
static kn_status test_row(kn_ctx *ctx, const kn_condition *c, const kn_table *table, ptrdiff_t row,
                          ptrdiff_t col, answer *out)
{
    const char *cell = kn_table_cell(table, row, col);
    double x, y;
    bool named = is_one_of(c, cell);
    *out = UNKNOWN;
    if (kn_text_is_missing(cell) && !named &&
        !(c->op == KN_WHERE_IS_NOT && kn_text_is_missing(c->value)))
        return KN_OK;
    *out = named != (c->op == KN_WHERE_IS_NOT) ? YES : NO;
    if (!compares_numbers(c->op))
        return KN_OK;
    kn_number_parse(c->value, &y);
    if (kn_number_parse(cell, &x) == KN_CELL_TEXT) {
        char what[sizeof(kn_clip) + 64];
        snprintf(what, sizeof what, "but {where=%s} requires a number",
                 kn_clipped(c->written).text);
        return kn_cell_refused(ctx, table, row, col, what);
    }
    *out = compare_numbers(c->op, x, y) ? YES : NO;
    return KN_OK;
}

/* Writes the values of a column in the rows with keep[], for a message, to `out` (size bytes): the
 * first distinct values, or "LOW to HIGH" if there are many numbers, or "missing". */
static void describe_values(const kn_table *table, ptrdiff_t col, const bool *keep, char *out,
                            size_t size)
{
    kn_listing list = {.limit = KN_NAMES_LISTED};
    const char *seen[KN_NAMES_LISTED];
    int n = 0;
    double low = INFINITY, high = -INFINITY, x;
    bool numbers = true;
    for (ptrdiff_t i = 0; i < kn_table_rows(table); i++) {
        const char *cell = kn_table_cell(table, i, col);
        int k = 0;
        if (!keep[i] || kn_text_is_missing(cell))
            continue;
        numbers = numbers && kn_number_parse(cell, &x) == KN_CELL_NUMBER;
        low = numbers && x < low ? x : low;
        high = numbers && x > high ? x : high;
        while (k < n && !kn_names_equal(seen[k], cell))
            k++;
        if (k < n || list.closed)
            continue;
        kn_listing_add(&list, cell);
        if (n < KN_NAMES_LISTED)
            seen[n++] = cell;
    }
    if (n == 0)
        snprintf(out, size, "missing");
    else if (numbers && list.closed)
        snprintf(out, size, "%g to %g", low, high);
    else
        snprintf(out, size, "%s", list.text);
}

/* Clears keep[i] for rows of the table that do not meet one condition. *lacking grows by the number
 * of rows whose cell is missing. KN_ERR_DATA if there is no such column or no row is left. */
static kn_status apply_condition(kn_ctx *ctx, const kn_condition *c, const kn_table *table,
                                 bool *keep, ptrdiff_t *lacking)
{
    ptrdiff_t col = kn_column_find(table, c->column), left = 0, rows = kn_table_rows(table);
    void *memory = NULL;
    kn_status status;
    char has[sizeof(kn_listing)];
    if (col < 0)
        return kn_column_unknown(ctx, table, c->column, "named in {where}");
    KN_TRY(kn_alloc(ctx, rows, sizeof *keep, &memory));
    bool *yes = memory;
    answer met;
    for (ptrdiff_t i = 0; i < rows; i++) {
        if (!keep[i])
            continue;
        KN_TRY(test_row(ctx, c, table, i, col, &met));
        yes[i] = met == YES;
        left += yes[i];
        *lacking += met == UNKNOWN;
    }
    if (left == 0) {
        describe_values(table, col, keep, has, sizeof has);
        status = kn_fail(ctx, KN_ERR_DATA, "%s: {where=%s} selects no row; the values of %s are %s",
                         kn_table_path(table), kn_clipped(c->written).text,
                         kn_clipped(kn_table_name(table, col)).text, has);
        goto out;
    }
    memcpy(keep, yes, (size_t)rows * sizeof *keep);
out:
    kn_free(memory);
    return status;
}

kn_status kn_row_filter_rows(kn_ctx *ctx, const kn_row_filter *where, const kn_table *table,
                             bool *keep)
{
    ptrdiff_t rows = kn_table_rows(table), left = 0, lacking = 0;
    char more[96] = "";
    kn_status status = KN_OK;
    for (ptrdiff_t i = 0; i < rows; i++)
        keep[i] = true;
    for (ptrdiff_t k = 0; k < where->n; k++)
        KN_TRY(apply_condition(ctx, &where->condition[k], table, keep, &lacking));
    for (ptrdiff_t i = 0; i < rows; i++)
        left += keep[i];
    if (lacking > 0)
        snprintf(more, sizeof more, "; %td that %s a value for it %s excluded", lacking,
                 lacking == 1 ? "lacks" : "lack", lacking == 1 ? "is" : "are");
    if (where->n > 0)
        kn_log(ctx, KN_LOG_INFO, "%s: {where} selects %td of %td rows%s", kn_table_path(table),
               left, rows, more);
out:
    return status;
}
