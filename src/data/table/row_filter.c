/* Implements row_filter.h. */
#include "data/table/row_filter.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/table/columns.h"
#include "data/table/levels.h"
#include "data/table/text_list.h"
#include "io/file/path.h"

void kn_row_filter_clear(kn_row_filter *where)
{
    for (ptrdiff_t k = 0; k < where->n; k++)
        kn_row_filter_list_clear(&where->condition[k].list);
    kn_free(where->condition);
    kn_free(where->text);
    kn_free(where->written);
    *where = (kn_row_filter){0};
}

/* ---- parsing -------------------------------------------------------------------------------- */

static const char SPACES[] = " \t\r\n";

/* Trims a text in place. */
static char *trim(char *text)
{
    text += strspn(text, SPACES);
    size_t n = strlen(text);
    while (n > 0 && strchr(SPACES, text[n - 1]))
        text[--n] = '\0';
    return text;
}

/* Finds the operator of a condition, *length bytes long. Signs are searched before the word `in`,
 * which may be part of a name ("age in years>20"). NULL: there is none. */
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

/* Splits "a | b" in place into the texts a and b, one after the other; false: one of them is
 * empty. */
static bool split_values(kn_condition *c)
{
    char *to = c->value;
    c->n = 0;
    for (char *at = c->value, *next; at; at = next) {
        next = strchr(at, '|');
        if (next)
            *next++ = '\0';
        const char *value = trim(at);
        size_t n = strlen(value);
        if (n == 0)
            return false;
        memmove(to, value, n + 1);
        to += n + 1;
        c->n++;
    }
    return true;
}

static bool compares_numbers(kn_row_filter_op op)
{
    return op == KN_WHERE_LESS || op == KN_WHERE_AT_MOST || op == KN_WHERE_MORE ||
           op == KN_WHERE_AT_LEAST;
}

/* Parses one condition in place: text is cut into column and value. */
static kn_status read_condition(kn_ctx *ctx, char *text, kn_condition *c)
{
    size_t length = 0;
    double x;
    char *at = find_operator(text, &c->op, &length);
    if (at) {
        *at = '\0';
        c->column = trim(text);
        c->value = trim(at + length);
    }
    c->n = 1;
    if (!at || !*c->column || !*c->value || (c->op == KN_WHERE_IN && !split_values(c)))
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{where} has '%s', expected a column, one of = != < <= > >= or in, and a "
                       "value, such as age<60 or site in a|b",
                       kn_clipped(c->written).text);
    if (c->op == KN_WHERE_IN && c->value[0] == '@')
        return kn_row_filter_list_read(ctx, c->value + 1, &c->list);
    if (compares_numbers(c->op) && kn_number_parse(c->value, &x) != KN_CELL_NUMBER)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{where} has '%s', expected a number to compare with",
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
        c->written = trim(written);
        KN_TRY(read_condition(ctx, at, c));
        out->n++;
    }
out:
    if (status != KN_OK)
        kn_row_filter_clear(out);
    return status;
}

/* ---- filtering ------------------------------------------------------------------------------ */

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

static bool is_one_of(const kn_condition *c, const char *cell)
{
    bool missing = kn_text_is_missing(cell);
    const char *value = c->value;
    if (c->list.n > 0)
        return !missing && kn_row_filter_list_has(&c->list, cell);
    for (ptrdiff_t k = 0; k < c->n; k++, value += strlen(value) + 1)
        if (missing ? kn_text_is_missing(value) : same_value(cell, value))
            return true;
    return false;
}

static bool compare(kn_row_filter_op op, double x, double y)
{
    switch (op) {
    case KN_WHERE_LESS: return x < y;
    case KN_WHERE_AT_MOST: return x <= y;
    case KN_WHERE_MORE: return x > y;
    default: return x >= y;
    }
}

typedef enum answer { NO, YES, UNKNOWN } answer;

/* Evaluates a condition for one row. UNKNOWN: the cell is missing and the condition needs a value.
 */
static kn_status meets(kn_ctx *ctx, const kn_condition *c, const kn_table *table, ptrdiff_t row,
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
        snprintf(what, sizeof what, "expected a number, which {where=%s} compares",
                 kn_clipped(c->written).text);
        return kn_cell_refused(ctx, table, row, col, what);
    }
    *out = compare(c->op, x, y) ? YES : NO;
    return KN_OK;
}

/* Describes the values of a column in the rows kept so far, for the message: the first few, or the
 * range. */
static void describe(const kn_table *table, ptrdiff_t col, const bool *keep, char *out, size_t size)
{
    kn_listing list = {.most = KN_NAMES_LISTED};
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

/* Applies one condition; keep holds the rows kept so far, and is updated. */
static kn_status apply(kn_ctx *ctx, const kn_condition *c, const kn_table *table, bool *keep,
                       ptrdiff_t *lacking)
{
    ptrdiff_t col = kn_column_find(table, c->column), left = 0, rows = kn_table_rows(table);
    void *memory = NULL;
    kn_status status;
    char has[sizeof(kn_listing)];
    if (col < 0)
        return kn_column_unknown(ctx, table, c->column, "as {where} asks for");
    KN_TRY(kn_alloc(ctx, rows, sizeof *keep, &memory));
    bool *yes = memory;
    answer met;
    for (ptrdiff_t i = 0; i < rows; i++) {
        if (!keep[i])
            continue;
        KN_TRY(meets(ctx, c, table, i, col, &met));
        yes[i] = met == YES;
        left += yes[i];
        *lacking += met == UNKNOWN;
    }
    if (left == 0) {
        describe(table, col, keep, has, sizeof has);
        status = kn_fail(ctx, KN_ERR_DATA, "%s: {where=%s} leaves no row, %s is %s",
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
        KN_TRY(apply(ctx, &where->condition[k], table, keep, &lacking));
    for (ptrdiff_t i = 0; i < rows; i++)
        left += keep[i];
    if (lacking > 0)
        snprintf(more, sizeof more, "; %td that %s a value it asks for %s not among them", lacking,
                 lacking == 1 ? "lacks" : "lack", lacking == 1 ? "is" : "are");
    if (where->n > 0)
        kn_log(ctx, KN_LOG_INFO, "%s: {where} chooses %td of %td rows%s", kn_table_path(table),
               left, rows, more);
out:
    return status;
}
