/* Implements columns.h. Names are compared without surrounding spaces. */
#include "data/table/columns.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/suggest.h"
#include "data/table/text_list.h"
#include "io/file/path.h"

static const char SPACES[] = " \t\r\n";

/* Returns a pointer into `text` behind its leading spaces, and sets *n to the length without
 * trailing spaces. Does not change the text. */
static const char *trim_text(const char *text, size_t *n)
{
    text += strspn(text, SPACES);
    *n = strlen(text);
    while (*n > 0 && strchr(SPACES, text[*n - 1]))
        (*n)--;
    return text;
}

kn_status kn_trimmed(kn_ctx *ctx, const char *text, char **out)
{
    size_t n;
    text = trim_text(text, &n);
    return kn_text_copy(ctx, text, n, out);
}

bool kn_names_equal(const char *a, const char *b)
{
    size_t n, m;
    a = trim_text(a, &n);
    b = trim_text(b, &m);
    return n == m && memcmp(a, b, n) == 0;
}

bool kn_names_equal_any_case(const char *a, const char *b)
{
    size_t n, m;
    a = trim_text(a, &n);
    b = trim_text(b, &m);
    return n == m && strncasecmp(a, b, n) == 0;
}

ptrdiff_t kn_column_find(const kn_table *table, const char *name)
{
    ptrdiff_t col = kn_table_find(table, name);
    for (ptrdiff_t j = 0; col < 0 && j < kn_table_cols(table); j++)
        if (kn_table_named(table, j) && kn_names_equal(kn_table_name(table, j), name))
            col = j;
    if (col >= 0)
        return col;
    ptrdiff_t alike = 0;
    for (ptrdiff_t j = 0; j < kn_table_cols(table); j++)
        if (kn_table_named(table, j) && kn_names_equal_any_case(kn_table_name(table, j), name)) {
            col = j;
            alike++;
        }
    return alike == 1 ? col : -1;
}

bool kn_column_matches(const kn_table *table, ptrdiff_t col, const char *pattern)
{
    const char *header = kn_table_name(table, col);
    return kn_table_named(table, col) && fnmatch(pattern, header + strspn(header, " \t"), 0) == 0;
}

kn_status kn_column_unknown(kn_ctx *ctx, const kn_table *table, const char *name, const char *why)
{
    enum { LOOKED_AT = 10000 }; /* columns searched for a suggestion */
    kn_suggestions near = {.given = name};
    kn_listing list = {.limit = KN_NAMES_LISTED};
    char suggestion[KN_SUGGESTION_TEXT];
    for (ptrdiff_t j = 0; j < kn_table_cols(table) && j < LOOKED_AT; j++) {
        if (!kn_table_named(table, j))
            continue;
        kn_suggest(&near, kn_table_name(table, j), strlen(kn_table_name(table, j)));
        kn_listing_add(&list, kn_table_name(table, j));
    }
    if (near.n > 0)
        return kn_fail(ctx, KN_ERR_DATA, "%s has no column '%s' (%s)%s", kn_table_path(table),
                       kn_clipped(name).text, why, kn_did_you_mean(&near, "", suggestion));
    return kn_fail(ctx, KN_ERR_DATA, "%s has no column '%s' (%s); its columns are %s",
                   kn_table_path(table), kn_clipped(name).text, why,
                   list.n > 0 ? list.text : "without names");
}

kn_census kn_column_census(const kn_table *table, ptrdiff_t col, const ptrdiff_t *rows, ptrdiff_t n)
{
    kn_census census = {.first_text = -1};
    for (ptrdiff_t i = 0; i < n; i++) {
        ptrdiff_t row = rows ? rows[i] : i;
        double x;
        switch (kn_table_number(table, row, col, &x)) {
        case KN_CELL_NUMBER: census.numbers++; break;
        case KN_CELL_MISSING: census.missing++; break;
        case KN_CELL_TEXT:
            if (census.texts++ == 0)
                census.first_text = row;
            break;
        }
    }
    return census;
}

bool kn_census_is_numeric(kn_census census)
{
    return census.numbers > census.texts;
}

/* Returns whether a cell is a number when its comma is replaced by a point: 23,5 and -1,25e3. False
 * from 64 bytes on. */
static bool has_decimal_comma(const char *cell)
{
    char text[64];
    double x;
    const char *comma = strchr(cell, ',');
    size_t n = strlen(cell);
    if (!comma || n >= sizeof text || !isdigit((unsigned char)comma[1]))
        return false;
    memcpy(text, cell, n + 1);
    text[comma - cell] = '.';
    return kn_number_parse(text, &x) == KN_CELL_NUMBER;
}

ptrdiff_t kn_column_commas(const kn_table *table, ptrdiff_t col, const ptrdiff_t *rows, ptrdiff_t n)
{
    ptrdiff_t first = -1;
    double x;
    for (ptrdiff_t i = 0; i < n; i++) {
        ptrdiff_t row = rows ? rows[i] : i;
        if (kn_table_number(table, row, col, &x) != KN_CELL_TEXT)
            continue;
        if (!has_decimal_comma(kn_table_cell(table, row, col)))
            return -1;
        first = first < 0 ? row : first;
    }
    return first;
}

kn_status kn_cell_refused(kn_ctx *ctx, const kn_table *table, ptrdiff_t row, ptrdiff_t col,
                          const char *what)
{
    if (strstr(what, "a number") && has_decimal_comma(kn_table_cell(table, row, col)))
        what = "which has a decimal comma; save the table with decimal points";
    return kn_fail(ctx, KN_ERR_DATA, "%s %s %td: %s is '%s', %s",
                   kn_table_cell_path(table, row, col), kn_table_unit(table),
                   kn_table_cell_line(table, row, col), kn_clipped(kn_table_name(table, col)).text,
                   kn_clipped(kn_table_cell(table, row, col)).text, what);
}

/* ---- lists of names ------------------------------------------------------------------------ */

/* Fails with KN_ERR_ARGUMENT if the list of an option has a name twice; `option` is for the
 * message. O(n log n). */
static kn_status check_distinct(kn_ctx *ctx, const char *option, const kn_names *names)
{
    void *copy = NULL;
    kn_status status = kn_alloc(ctx, names->n, sizeof(char *), &copy);
    if (status != KN_OK)
        return status;
    char **sorted = copy;
    memcpy(sorted, names->name, (size_t)names->n * sizeof *sorted);
    qsort(sorted, (size_t)names->n, sizeof *sorted, kn_compare_texts);
    for (ptrdiff_t i = 1; i < names->n && status == KN_OK; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            status = kn_fail(ctx, KN_ERR_ARGUMENT, "%s names '%s' twice", option,
                             kn_clipped(sorted[i]).text);
    kn_free(copy);
    return status;
}

ptrdiff_t kn_names_count(const char *text)
{
    ptrdiff_t n = 1;
    for (; *text; text++)
        n += *text == ',';
    return n;
}

kn_status kn_names_split(kn_ctx *ctx, const char *option, const char *text, kn_names *out)
{
    kn_status status = KN_OK;
    void *name;

    *out = (kn_names){0};
    if (!text)
        return KN_OK;
    KN_TRY(kn_text_copy(ctx, text, strlen(text), &out->text));
    KN_TRY(kn_alloc(ctx, kn_names_count(text), sizeof *out->name, &name));
    out->name = name;
    for (char *at = out->text, *next; at; at = next) {
        next = strchr(at, ',');
        if (next)
            *next++ = '\0';
        size_t length;
        char *item = at + (trim_text(at, &length) - at);
        item[length] = '\0';
        if (length == 0) {
            status = kn_fail(ctx, KN_ERR_ARGUMENT,
                             "%s '%s': name %td is empty; separate names with single commas",
                             option, kn_clipped(text).text, out->n + 1);
            goto out;
        }
        out->name[out->n++] = item;
    }
    KN_TRY(check_distinct(ctx, option, out));
out:
    if (status != KN_OK)
        kn_names_clear(out);
    return status;
}

void kn_names_clear(kn_names *names)
{
    kn_free(names->name);
    kn_free(names->text);
    *names = (kn_names){0};
}
