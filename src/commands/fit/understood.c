/* Implements understood.h: one function per line. Counts are those of the participants in the fit;
 * names and levels are clipped. */
#include "commands/fit/understood.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "commands/common/exclusions.h"
#include "data/dataset.h"
#include "data/table/column_role.h"
#include "data/table/columns.h"
#include "data/table/text_list.h"
#include "io/file/path.h"

enum { TEXT = 8192 };

typedef struct lines {
    char text[TEXT];
    size_t n;
} lines;

/* Appends formatted text; what does not fit is left out. */
static void append(lines *l, const char *format, ...) KN_PRINTF(2, 3);

/* Append formatted text (printf) to l; what does not fit is left out. */
static void append(lines *l, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(l->text + l->n, TEXT - l->n, format, args);
    va_end(args);
    if (n > 0)
        l->n = l->n + (size_t)n < TEXT ? l->n + (size_t)n : TEXT - 1;
}

/* Appends a path, or several with commas, without folders. */
static void append_name(lines *l, const char *path)
{
    for (const char *at = path; at && *at; at += *at == ',') {
        size_t n = strcspn(at, ","), folder = 0;
        for (size_t k = 0; k + 1 < n; k++)
            folder = at[k] == '/' ? k + 1 : folder;
        append(l, "%.*s%s", (int)(n - folder), at + folder, at[n] ? ", " : "");
        at += n;
    }
}

/* The file name of a path; borrowed. */
static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Append the number of rows of each level of a category, such as "; sex: 21 F, 19 M"; at most eight
 * levels. */
static void append_levels(lines *l, const kn_data *d, const kn_sample *p, const kn_covariate *c)
{
    enum { SHOWN = 8 };
    ptrdiff_t col = kn_column_find(d->covariates, c->name);
    char level[KN_LEVEL_SIZE];
    append(l, "; %s: ", kn_clipped(c->name).text);
    for (ptrdiff_t k = 0; k < c->levels.n && k < SHOWN; k++) {
        ptrdiff_t count = 0;
        for (ptrdiff_t i = 0; i < p->n; i++)
            count += kn_level_of(kn_table_cell(d->covariates, p->covariate_row[i], col),
                                 c->levels.numbers, level) &&
                     strcmp(level, c->levels.text[k]) == 0;
        append(l, "%s%td %s", k > 0 ? ", " : "", count, kn_clipped(c->levels.text[k]).text);
    }
    if (c->levels.n > SHOWN)
        append(l, " and %td more", c->levels.n - SHOWN);
}

/* Append the range of a numeric covariate, such as "; age 20.3 to 69.8"; nothing without a
 * value. */
static void append_range(lines *l, const kn_data *d, const kn_sample *p, const kn_covariate *c)
{
    ptrdiff_t col = kn_column_find(d->covariates, c->name);
    double low = INFINITY, high = -INFINITY, x;
    for (ptrdiff_t i = 0; i < p->n; i++)
        if (kn_table_number(d->covariates, p->covariate_row[i], col, &x) == KN_CELL_NUMBER) {
            low = fmin(low, x);
            high = fmax(high, x);
        }
    if (low <= high)
        append(l, "; %s %.5g to %.5g", kn_clipped(c->name).text, low, high);
}

/* Append the line on the participants in the fit: their number of the rows of the table, levels of
 * site and sex, and range of age. */
static void write_participants(lines *l, const kn_data *d, const kn_sample *p)
{
    append(l, "Participants  %td of %td rows of %s", p->n, kn_table_rows(d->covariates),
           base_of(kn_table_path(d->covariates)));
    for (ptrdiff_t k = 0; k < p->encoding.n; k++) {
        const kn_covariate *c = &p->encoding.column[k];
        kn_column_role role = kn_column_role_of(c->name);
        if (kn_column_find(d->covariates, c->name) < 0)
            continue;
        if (c->kind != KN_COVARIATE_NUMERIC && (role == KN_COLUMN_SITE || role == KN_COLUMN_SEX))
            append_levels(l, d, p, c);
        else if (c->kind == KN_COVARIATE_NUMERIC && role == KN_COLUMN_AGE)
            append_range(l, d, p, c);
    }
    append(l, "\n");
}

/* Append the line on the columns by which covariates and responses are matched. */
static void write_ids(lines *l, const kn_data *d)
{
    append(l, "IDs           ");
    if (d->match.by_position || d->id_col < 0)
        append(l, "none: rows are matched by position");
    else
        append(l, "%s of %s", kn_clipped(kn_table_name(d->covariates, d->id_col)).text,
               base_of(kn_table_path(d->covariates)));
    if (!d->match.by_position && d->responses && d->responses != d->covariates &&
        d->response_id_col >= 0) {
        append(l, ", %s of ", kn_clipped(kn_table_name(d->responses, d->response_id_col)).text);
        append_name(l, d->responses_path);
    } else if (!d->match.by_position && d->images) {
        append(l, ", and those of the images");
    }
    append(l, "\n");
}

/* Append the line on the covariates, each with its kind. */
static void write_covariates(lines *l, const kn_sample *p)
{
    append(l, "Covariates    ");
    for (ptrdiff_t k = 0; k < p->encoding.n; k++) {
        const kn_covariate *c = &p->encoding.column[k];
        append(l, "%s%s (", k > 0 ? ", " : "", kn_clipped(c->name).text);
        if (c->kind == KN_COVARIATE_NUMERIC)
            append(l, "number)");
        else
            append(l, "%s%td level%s)", c->batch ? "batch effect, " : "category, ", c->levels.n,
                   c->levels.n == 1 ? "" : "s");
    }
    append(l, "\n");
}

/* Append the line on the responses: their number, source and first names. */
static void write_responses(lines *l, const kn_data *d, const kn_sample *p)
{
    kn_listing list = {.limit = KN_NAMES_LISTED};
    ptrdiff_t T = p->space.T > 0 ? p->space.T : p->Y.cols;
    append(l, "Responses     %td of ", T);
    append_name(l, d->responses_path);
    for (ptrdiff_t t = 0; p->space.name && t < T && t <= KN_NAMES_LISTED; t++)
        kn_listing_add(&list, p->space.name[t]);
    if (list.n > 0)
        append(l, ": %s", list.text);
    if (d->images)
        append(l, " (%td images)", kn_images_count(d->images));
    append(l, "\n");
}

/* Append the line on excluded participants: their number per reason. KN_ERR_MEMORY. */
static kn_status write_left_out(kn_ctx *ctx, lines *l, const kn_data *d, const kn_sample *p)
{
    kn_exclusions left;
    kn_status status = kn_exclusions_new(ctx, d, &p->encoding, p, &left);
    const char *why;
    json_t *counts = status == KN_OK ? kn_exclusions_json(&left) : NULL, *count;
    append(l, "Left out      ");
    if (counts && json_object_size(counts) == 0)
        append(l, "no participant");
    bool first = true;
    json_object_foreach(counts, why, count)
    {
        append(l, "%s%" JSON_INTEGER_FORMAT " (%s)", first ? "" : ", ", json_integer_value(count),
               why);
        first = false;
    }
    append(l, "\n");
    json_decref(counts);
    if (status == KN_OK)
        kn_exclusions_clear(&left);
    return status;
}

kn_status kn_understood_text(kn_ctx *ctx, const kn_data *d, const kn_sample *p, char **text)
{
    kn_status status;
    void *memory = NULL;
    *text = NULL;
    KN_TRY(kn_alloc(ctx, 1, sizeof(lines), &memory));
    lines *l = memory;
    write_participants(l, d, p);
    write_ids(l, d);
    write_covariates(l, p);
    write_responses(l, d, p);
    KN_TRY(write_left_out(ctx, l, d, p));
    KN_TRY(kn_text_copy(ctx, l->text, l->n, text));
out:
    kn_free(memory);
    return status;
}

void kn_understood_log(kn_ctx *ctx, const char *text)
{
    kn_log(ctx, KN_LOG_INFO, "What fit understood:");
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
        kn_log(ctx, KN_LOG_INFO, "  %.*s", (int)strcspn(at, "\n"), at);
}
