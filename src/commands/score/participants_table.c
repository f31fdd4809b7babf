/* Implements participants_table.h. The column `why` notes clamped, missing and new values. */
#include "commands/score/participants_table.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "data/table/columns.h"
#include "data/table/text_list.h"
#include "io/file/path.h"
#include "io/table/sidecar.h"
#include "model/missing_record.h"
#include "norm/metrics/implausible_data.h"

enum { PATH = 4096, NOTES = 2048 };

kn_status kn_participants_table_check(kn_ctx *ctx, const char *dir, const kn_write_options *options)
{
    char path[PATH];
    kn_status status = kn_path_in_folder(ctx, dir, "scored_participants.tsv", path, PATH);
    if (status == KN_OK)
        status = kn_writer_check(ctx, path, options);
    return status == KN_OK ? kn_sidecar_check(ctx, path, options) : status;
}

/* ---- notes ---- */

typedef struct notes { /* "a; b"; notes that do not fit are dropped */
    char text[NOTES];
    size_t n;
} notes;

static void add_note(notes *to, const char *format, ...) KN_PRINTF(2, 3);

/* Appends a note, after "; " if there is one before; it is left out if the text would become too
 * long. */
static void add_note(notes *list, const char *format, ...)
{
    char one[512];
    va_list args;
    va_start(args, format);
    vsnprintf(one, sizeof one, format, args);
    va_end(args);
    if (list->n + strlen(one) + 3 > sizeof list->text)
        return;
    list->n += (size_t)snprintf(list->text + list->n, sizeof list->text - list->n, "%s%s",
                                list->n ? "; " : "", one);
}

/* One covariate of one participant: column f of X, followed by the other indicators of a
 * category. */
typedef struct entry {
    const kn_participants_table *sheet;
    ptrdiff_t participant, k, f; /* k: column of the encoding */
} entry;

/* The covariate of an entry in the model's encoding. */
static const kn_covariate *covariate_of(const entry *e)
{
    return &e->sheet->model->encoding.column[e->k];
}

/* Number of input columns of a covariate: one per level if it is encoded as indicators, else 1. */
static ptrdiff_t design_width(const kn_encoding *r, const kn_covariate *c)
{
    return r->codes || c->kind == KN_COVARIATE_NUMERIC || c->levels.n == 2 ? 1 : c->levels.n;
}

/* Text of the covariate in the table; borrowed. All columns of the encoding exist, else the table
 * would have been rejected. */
static const char *cell_of(const entry *e)
{
    const kn_table *t = e->sheet->data->covariates;
    ptrdiff_t col = kn_column_find(t, covariate_of(e)->name);
    return col < 0 ? ""
                   : kn_table_cell(t, e->sheet->participants->covariate_row[e->participant], col);
}

/* Number that the model used: the training mean if it is missing, the limit if it is clamped. Adds
 * notes on both. */
static double number_of(const entry *e, notes *list)
{
    const kn_design *d = &e->sheet->model->x;
    const kn_covariate *c = covariate_of(e);
    kn_clip name = kn_clipped(c->name);
    double x = kn_at(e->sheet->participants->X, e->participant, e->f), low, high;
    if (kn_text_is_missing(cell_of(e)))
        add_note(list, "%s missing: training mean", name.text);
    kn_design_range(d, e->f, &low, &high);
    if (d->column[e->f].constant) {
        if (fabs(x - low) > 1e-9 * fabs(low))
            add_note(list, "%s %g ignored: it was %g in the training sample", name.text, x, low);
        return x;
    }
    if (!d->additive || (x >= low && x <= high))
        return x;
    double at = x < low ? low : high;
    add_note(list, "%s %g clamped to %g", name.text, x, at);
    return at;
}

/* Level that the model used; NULL if none. Adds notes on missing and new levels. */
static const char *level_of(const entry *e, notes *list)
{
    const kn_encoding *r = &e->sheet->model->encoding;
    const kn_covariate *c = covariate_of(e);
    double x = kn_at(e->sheet->participants->X, e->participant, e->f);
    if (r->codes && isnan(x)) {
        add_note(list, "%s missing: average of its levels", kn_clipped(c->name).text);
        return NULL;
    }
    if (r->codes && x == (double)c->levels.n) {
        add_note(list, "%s %s is a new level", kn_clipped(c->name).text,
                 kn_clipped(cell_of(e)).text);
        return cell_of(e);
    }
    if (r->codes || c->levels.n == 2)
        return c->levels.text[(ptrdiff_t)x];
    for (ptrdiff_t l = 0; l < c->levels.n; l++)
        if (kn_at(e->sheet->participants->X, e->participant, e->f + l) == 1)
            return c->levels.text[l];
    return NULL;
}

/* ---- the table ---- */

enum { ID, STATUS, WHY, EXTRAPOLATION, MAPS, LABEL, N_FIXED };
static const char *const FIXED[N_FIXED] = {"participant_id",    "status", "why",
                                           "extrapolation_pct", "maps",   "label"};

/* True if fixed column k is in the table: predictions have no label, and there are no maps of
 * single participants without {split}. */
static bool has_column(const kn_participants_table *sheet, int k)
{
    return k == LABEL ? sheet->scores->scored : k == MAPS ? sheet->maps != NULL : true;
}

bool kn_participants_ours(const char *name)
{
    for (int k = 0; k < N_FIXED; k++)
        if (strcmp(FIXED[k], name) == 0)
            return true;
    return false;
}

void kn_participants_covariate(const char *name, char out[KN_PARTICIPANTS_NAME])
{
    snprintf(out, KN_PARTICIPANTS_NAME, "%s%s", kn_participants_ours(name) ? "used_" : "", name);
}

/* Write the header: the fixed columns in use, then one column per covariate. */
static kn_status write_header(kn_ctx *ctx, const kn_participants_table *sheet, kn_table_writer *w)
{
    kn_status status = KN_OK;
    const kn_encoding *r = &sheet->model->encoding;
    char name[KN_PARTICIPANTS_NAME];
    for (int k = 0; k < N_FIXED; k++)
        if (has_column(sheet, k))
            KN_TRY(kn_table_writer_text(ctx, w, FIXED[k]));
    for (ptrdiff_t k = 0; k < r->n; k++) {
        kn_participants_covariate(r->column[k].name, name);
        KN_TRY(kn_table_writer_text(ctx, w, name));
    }
    KN_TRY(kn_table_writer_end_row(ctx, w));
out:
    return status;
}

/* Write the covariates of a participant and add notes on them; w NULL: only the notes. Called twice
 * per row, since the notes come first. */
static kn_status write_covariates(kn_ctx *ctx, const kn_participants_table *sheet,
                                  ptrdiff_t participant, notes *list, kn_table_writer *w)
{
    kn_status status = KN_OK;
    const kn_encoding *r = &sheet->model->encoding;
    entry e = {.sheet = sheet, .participant = participant};
    for (; e.k < r->n; e.f += design_width(r, covariate_of(&e)), e.k++) {
        bool numeric = covariate_of(&e)->kind == KN_COVARIATE_NUMERIC;
        double x = numeric ? number_of(&e, list) : NAN;
        const char *level = numeric ? NULL : level_of(&e, list);
        if (!w)
            continue;
        KN_TRY(level ? kn_table_writer_text(ctx, w, level) : kn_table_writer_number(ctx, w, x));
    }
out:
    return status;
}

/* Number of responses that no training participant with the levels of participant i has. */
static ptrdiff_t count_untrained(const kn_participants_table *sheet, ptrdiff_t i)
{
    ptrdiff_t n = 0;
    const kn_model *m = sheet->model;
    kn_view raw = kn_view_cols(sheet->participants->X.data, sheet->participants->n,
                               sheet->participants->X.cols);
    for (ptrdiff_t j = 0; m->empty_level && j < m->y.n_kept; j++)
        n += kn_missing_record_untrained(m, raw, i, j);
    return n;
}

/* Write the row of participant i, with notes in column `why`. */
static kn_status used_row(kn_ctx *ctx, const kn_participants_table *sheet, ptrdiff_t i,
                          kn_table_writer *w)
{
    kn_status status;
    const kn_scores *s = sheet->scores;
    notes why = {0}, again = {0};
    KN_TRY(write_covariates(ctx, sheet, i, &why, NULL));
    if (s->implausible_reason && s->implausible_reason[i])
        add_note(&why, "%s", kn_implausible_words((kn_implausible)s->implausible_reason[i]));
    if (s->scored && !isfinite(s->extreme_z[i]))
        add_note(&why, "no finite response");
    if (s->scored && s->training[i] >= 0 && s->cv_row[i] < 0)
        add_note(&why, "in the training sample, but scored as new");
    if (count_untrained(sheet, i) > 0)
        add_note(&why, "level_without_training in %td responses", count_untrained(sheet, i));
    KN_TRY(kn_table_writer_text(ctx, w, s->id[i]));
    KN_TRY(kn_table_writer_text(ctx, w, "used"));
    KN_TRY(kn_table_writer_text(ctx, w, why.n ? why.text : "n/a"));
    KN_TRY(kn_table_writer_number(ctx, w, s->extrapolation_pct[i]));
    if (has_column(sheet, MAPS))
        KN_TRY(kn_table_writer_text(ctx, w, sheet->maps));
    if (has_column(sheet, LABEL))
        KN_TRY(kn_table_writer_number(ctx, w, s->label[i]));
    KN_TRY(write_covariates(ctx, sheet, i, &again, w));
    KN_TRY(kn_table_writer_end_row(ctx, w));
out:
    return status;
}

/* Write the row of an excluded participant: the reason, and n/a elsewhere. */
static kn_status dropped_row(kn_ctx *ctx, const kn_participants_table *sheet,
                             const kn_exclusion *one, kn_table_writer *w)
{
    kn_status status;
    KN_TRY(kn_table_writer_text(ctx, w, one->id));
    KN_TRY(kn_table_writer_text(ctx, w, "dropped"));
    KN_TRY(kn_table_writer_text(ctx, w, one->why));
    for (int k = EXTRAPOLATION; k < N_FIXED; k++)
        if (has_column(sheet, k))
            KN_TRY(kn_table_writer_number(ctx, w, NAN));
    for (ptrdiff_t k = 0; k < sheet->model->encoding.n; k++)
        KN_TRY(kn_table_writer_number(ctx, w, NAN));
    KN_TRY(kn_table_writer_end_row(ctx, w));
out:
    return status;
}

/* Copy the text of the row from the writer w, without its newline; *line is owned by the caller. */
static kn_status copy_line(kn_ctx *ctx, kn_table_writer *w, char **line)
{
    char *text = NULL;
    kn_status status = kn_table_writer_take(ctx, w, &text);
    if (status == KN_OK)
        status = kn_text_copy(ctx, text, strlen(text) - 1, line);
    kn_free(text);
    return status;
}

kn_status kn_participants_line(kn_ctx *ctx, const kn_participants_table *sheet,
                               kn_participants_row which, ptrdiff_t i, char **line)
{
    kn_status status;
    kn_table_writer *w = NULL;
    KN_TRY(kn_table_writer_new_memory(ctx, &w));
    KN_TRY(which == KN_PARTICIPANTS_HEADER ? write_header(ctx, sheet, w)
           : which == KN_PARTICIPANTS_USED
               ? used_row(ctx, sheet, i, w)
               : dropped_row(ctx, sheet, &sheet->exclusions->absent[i], w));
    KN_TRY(copy_line(ctx, w, line));
out:
    kn_table_writer_free(w);
    return status;
}

kn_status kn_participants_table_write(kn_ctx *ctx, const kn_participants_table *sheet,
                                      const char *dir, const kn_write_options *options)
{
    kn_status status;
    kn_table_writer *w = NULL;
    char path[PATH];
    KN_TRY(kn_path_in_folder(ctx, dir, "scored_participants.tsv", path, PATH));
    KN_TRY(kn_table_writer_new(ctx, path, options, &w));
    KN_TRY(kn_table_writer_describe(ctx, w, "scored_participants.tsv"));
    KN_TRY(write_header(ctx, sheet, w));
    for (ptrdiff_t i = 0; i < sheet->scores->n; i++)
        KN_TRY(used_row(ctx, sheet, i, w));
    for (ptrdiff_t i = 0; i < sheet->exclusions->n; i++)
        KN_TRY(dropped_row(ctx, sheet, &sheet->exclusions->absent[i], w));
    KN_TRY(kn_table_writer_commit(ctx, w));
out:
    kn_table_writer_free(w);
    return status;
}
