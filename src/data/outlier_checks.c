/* Implements outlier_checks.h. Sites are the levels of batch columns; a sample without codes has
 * none. */
#include "data/outlier_checks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mpi/comm.h"
#include "data/table/text_list.h"

enum { FEW_CELLS = 2 };             /* so many are single errors in any case */
enum { PER_CELL = 100 };            /* values of a response for each cell beyond FEW_CELLS */
static const double TOO_MANY = 0.2; /* of a participant's responses */
static const char UNITS[] =
    "; are they in another unit? Correct or exclude them ({outliers=keep} fits them as they are)";

const char *kn_participant_name(const kn_sample *p, ptrdiff_t i, char name[32])
{
    if (p->id)
        return p->id[i];
    snprintf(name, 32, "row %td", p->covariate_row[i] + 1);
    return name;
}

kn_status kn_outliers_participants(kn_ctx *ctx, const kn_sample *p, const kn_outliers *o, bool *out,
                                   ptrdiff_t *n)
{
    kn_status status;
    double *values = NULL;
    ptrdiff_t *outlying = NULL;
    KN_TRY(kn_alloc_i(ctx, p->n, &outlying));
    KN_TRY(kn_alloc_d(ctx, p->n, &values));
    *n = 0;
    for (ptrdiff_t k = 0; k < o->n; k++)
        outlying[o->cell[k].row]++;
    for (ptrdiff_t i = 0; i < p->n; i++)
        for (ptrdiff_t j = p->own.first; j < p->own.last && outlying[i] > 0; j++)
            values[i] += isfinite(kn_view_at(p->Y, i, j)) != 0;
    if (p->distributed)
        KN_TRY(kn_comm_sum(ctx, values, p->n));
    for (ptrdiff_t i = 0; i < p->n; i++) {
        double cells = (double)outlying[i];
        bool many = outlying[i] > FEW_CELLS && cells > TOO_MANY * values[i];
        out[i] = outlying[i] > 0 && (many || cells == values[i]);
        *n += out[i];
    }
out:
    kn_free(values);
    kn_free(outlying);
    return status;
}

/* ---- units ----------------------------------------------------------------------------------- */

/* Counts of the levels of one batch column. */
typedef struct levels {
    const kn_covariate *column;
    const double *code; /* p->n */
    ptrdiff_t *all, *outlying;
} levels;

/* Returns a level of which at least half of the participants, and more than FEW_CELLS, are
 * outlying; -1: none. */
static ptrdiff_t suspicious_level(const levels *l)
{
    for (ptrdiff_t k = 0; k < l->column->levels.n; k++)
        if (l->outlying[k] > FEW_CELLS && 2 * l->outlying[k] >= l->all[k])
            return k;
    return -1;
}

/* Fails with the counts of a level and the name of what is outlying there. KN_ERR_DATA. */
static kn_status fail_level(kn_ctx *ctx, const kn_data *d, const levels *l, ptrdiff_t level,
                            const char *what)
{
    return kn_fail(ctx, KN_ERR_DATA,
                   "%s: %s of %td of the %td participants with %s '%s' %s far beyond those of all "
                   "others%s",
                   kn_data_responses_name(d), what, l->outlying[level], l->all[level],
                   kn_clipped(l->column->name).text, kn_clipped(l->column->levels.text[level]).text,
                   strcmp(what, "the responses") == 0 ? "are" : "is", UNITS);
}

/* Checks one batch column: participants as wholes (whole[i]: too many cells of i are outlying),
 * then the responses of a table one by one. KN_ERR_DATA if a level is suspicious. */
static kn_status check_levels(kn_ctx *ctx, const kn_data *d, const kn_sample *p,
                              const kn_outliers *o, const bool *whole, const levels *l)
{
    char name[256];
    ptrdiff_t level;
    size_t bytes = (size_t)l->column->levels.n * sizeof *l->outlying;
    memset(l->all, 0, bytes);
    memset(l->outlying, 0, bytes);
    for (ptrdiff_t i = 0; i < p->n; i++)
        if (l->code[i] >= 0) {
            l->all[(ptrdiff_t)l->code[i]]++;
            l->outlying[(ptrdiff_t)l->code[i]] += whole[i];
        }
    if ((level = suspicious_level(l)) >= 0)
        return fail_level(ctx, d, l, level, "the responses");
    for (ptrdiff_t k = 0; p->space.kind == KN_SPACE_TABLE && k < o->n;) {
        ptrdiff_t j = o->cell[k].response;
        memset(l->outlying, 0, bytes);
        for (; k < o->n && o->cell[k].response == j; k++)
            if (l->code[o->cell[k].row] >= 0)
                l->outlying[(ptrdiff_t)l->code[o->cell[k].row]]++;
        if ((level = suspicious_level(l)) >= 0) {
            kn_response_name(&p->space, j, name, sizeof name);
            return fail_level(ctx, d, l, level, kn_clipped(name).text);
        }
    }
    return KN_OK;
}

/* Sets values[k] (o->n) to the number of values of the response of cell k; 0 for responses of other
 * ranks. */
static void count_values(const kn_sample *p, const kn_outliers *o, double *values)
{
    for (ptrdiff_t k = 0; k < o->n; k++) {
        ptrdiff_t j = o->cell[k].response;
        bool same = k > 0 && o->cell[k - 1].response == j;
        values[k] = same ? values[k - 1] : 0;
        for (ptrdiff_t i = 0; i < p->n && !same && j >= p->own.first && j < p->own.last; i++)
            values[k] += isfinite(kn_view_at(p->Y, i, j)) != 0;
    }
}

/* Checks the number of cells of each response of a table. KN_ERR_DATA if they are too many.
 * Collective. */
static kn_status check_responses(kn_ctx *ctx, const kn_data *d, const kn_sample *p,
                                 const kn_outliers *o)
{
    kn_status status;
    char name[256];
    double *values = NULL;
    if (p->space.kind != KN_SPACE_TABLE)
        return KN_OK;
    KN_TRY(kn_alloc_d(ctx, o->n, &values));
    count_values(p, o, values);
    if (p->distributed)
        KN_TRY(kn_comm_sum(ctx, values, o->n));
    for (ptrdiff_t k = 0, from; k < o->n && status == KN_OK;) {
        ptrdiff_t j = o->cell[k].response;
        for (from = k; k < o->n && o->cell[k].response == j;)
            k++;
        if (k - from <= FEW_CELLS || PER_CELL * (double)(k - from) <= values[from])
            continue;
        kn_response_name(&p->space, j, name, sizeof name);
        status = kn_fail(ctx, KN_ERR_DATA,
                         "%s: %td of %.0f values of %s are far beyond all others, such as %g%s",
                         kn_data_responses_name(d), k - from, values[from], kn_clipped(name).text,
                         o->cell[from].value, UNITS);
    }
out:
    kn_free(values);
    return status;
}

kn_status kn_outliers_check_units(kn_ctx *ctx, const kn_data *d, const kn_sample *p,
                                  const kn_outliers *o)
{
    kn_status status;
    void *memory = NULL;
    ptrdiff_t *count = NULL, n;
    KN_TRY(kn_alloc(ctx, p->n, sizeof(bool), &memory));
    bool *whole = memory;
    KN_TRY(kn_outliers_participants(ctx, p, o, whole, &n));
    for (ptrdiff_t k = 0; p->encoding.codes && k < p->encoding.n; k++) {
        levels l = {.column = &p->encoding.column[k], .code = kn_col(p->X, k)};
        if (!l.column->batch)
            continue;
        KN_TRY(kn_alloc_i(ctx, 2 * l.column->levels.n, &count));
        l.all = count;
        l.outlying = count + l.column->levels.n;
        KN_TRY(check_levels(ctx, d, p, o, whole, &l));
        kn_free(count);
        count = NULL;
    }
    KN_TRY(check_responses(ctx, d, p, o));
out:
    kn_free(count);
    kn_free(memory);
    return status;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Writes "sub-01 lh_thickness is 250". */
static void describe_cell(const kn_sample *p, const kn_outlier *c, char *out, size_t size)
{
    char name[256], row[32];
    kn_response_name(&p->space, c->response, name, sizeof name);
    bool named = p->space.kind == KN_SPACE_TABLE;
    snprintf(out, size, "%s %s%s%s is %.6g", kn_clipped(kn_participant_name(p, c->row, row)).text,
             named ? "" : kn_space_noun(&p->space), named ? "" : " ", kn_clipped(name).text,
             c->value);
}

kn_status kn_outliers_report(kn_ctx *ctx, const kn_data *d, const kn_sample *p,
                             const kn_outliers *o, kn_outlier_rule rule)
{
    enum { NAMED = 5 };
    char text[2 * sizeof(kn_clip) + 64];
    const char *file = kn_data_responses_name(d);
    kn_listing list = {.limit = NAMED};
    ptrdiff_t n = o->n;
    for (ptrdiff_t k = 0; k < n && k <= NAMED; k++) {
        describe_cell(p, &o->cell[k], text, sizeof text);
        kn_listing_add(&list, text);
    }
    if (rule == KN_OUTLIERS_ERROR)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s: %td value%s far beyond all others, and {outliers=error} was given: %s",
                       file, n, n == 1 ? " is" : "s are", list.text);
    kn_log(ctx, KN_LOG_WARNING, "%s: %td value%s far beyond all others and %s ({outliers}): %s",
           file, n, n == 1 ? " is" : "s are",
           rule == KN_OUTLIERS_KEEP
               ? (n == 1 ? "is kept, which may spoil the fit" : "are kept, which may spoil the fit")
           : n == 1 ? "is treated as missing"
                    : "are treated as missing",
           list.text);
    return KN_OK;
}
