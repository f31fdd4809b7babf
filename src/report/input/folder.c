/* Reads a folder of score, cv or change: its participants and their covariates, and the position
 * of each response in a map. tables.c reads the numeric tables. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "commands/score/participants_table.h"
#include "data/table/column_role.h"
#include "data/table/columns.h"
#include "data/table/levels.h"
#include "data/table/text_list.h"
#include "io/formats/nifti_header.h"
#include "model/model.h"
#include "report/input/internal.h"

/* Returns the opened tables of the folder of score, cv or change. */
static const kn_scored *scored_of(const kn_report_input *m)
{
    return &m->files->scored;
}

/* ---- participants ---- */

/* Sets m->n and m->id: the participant_id of each row, borrowed from the folder's table; for change
 * "id visit1 to visit2" in the arena of the input. */
static kn_status read_ids(kn_ctx *ctx, kn_report_input *m)
{
    kn_status status;
    const kn_scored *s = scored_of(m);
    const char **id;
    m->n = s->n;
    KN_TRY(kn_report_input_alloc_texts(ctx, m, m->n, &id));
    m->id = id;
    for (ptrdiff_t i = 0; i < m->n; i++) {
        const char *cells[3] = {"", "", ""};
        id[i] = kn_scored_id(s, i);
        if (m->kind != KN_INPUT_CHANGE)
            continue;
        for (int k = 0; k < 3; k++)
            cells[k] = kn_table_cell(s->participants, s->row[i],
                                     kn_table_find(s->participants, s->kind->part[k]));
        KN_TRY(kn_arena_print(ctx, &m->arena, &id[i], "%s %s to %s", cells[0], cells[1], cells[2]));
    }
out:
    return status;
}

/* Lists the excluded participants with reasons in m: rows of scored_participants.tsv whose status
 * is not "used". None for change. */
static kn_status read_excluded(kn_ctx *ctx, kn_report_input *m)
{
    kn_status status;
    const kn_table *t = scored_of(m)->participants;
    ptrdiff_t use = kn_table_find(t, "status"), reason_column = kn_table_find(t, "why"),
              name = kn_table_find(t, "participant_id"), rows = kn_table_rows(t);
    const char **id, **reason;
    if (m->kind == KN_INPUT_CHANGE || reason_column < 0 || rows == m->n)
        return KN_OK;
    KN_TRY(kn_report_input_alloc_texts(ctx, m, rows - m->n, &id));
    KN_TRY(kn_report_input_alloc_texts(ctx, m, rows - m->n, &reason));
    m->excluded_id = id;
    m->excluded_reason = reason;
    for (ptrdiff_t i = 0; i < rows; i++) {
        if (strcmp(kn_table_cell(t, i, use), "used") == 0)
            continue;
        id[m->n_excluded] = kn_table_cell(t, i, name);
        reason[m->n_excluded++] = kn_table_cell(t, i, reason_column);
    }
out:
    return status;
}

/* ---- covariates ---- */

typedef struct gathered { /* levels of a category, collected while rows are read */
    const char **text;
    ptrdiff_t n, capacity;
} gathered;

/* Sets *code to the index of a level in the list g; a new level is appended. Fails only without
 * memory. */
static kn_status level_index(kn_ctx *ctx, kn_report_input *m, gathered *g, const char *text,
                             double *code)
{
    const char **more;
    ptrdiff_t l = 0;
    while (l < g->n && strcmp(g->text[l], text) != 0)
        l++;
    *code = (double)l;
    if (l < g->n)
        return KN_OK;
    if (g->n == g->capacity) {
        kn_status status = kn_report_input_alloc_texts(ctx, m, 2 * g->capacity + 4, &more);
        if (status != KN_OK)
            return status;
        for (l = 0; l < g->n; l++)
            more[l] = g->text[l];
        g->text = more;
        g->capacity = 2 * g->capacity + 4;
    }
    return kn_arena_text(ctx, &m->arena, text, &g->text[g->n++]);
}

/* Sets c->scored[i] to the index of each participant's level in column `col`, NaN if missing, and
 * appends unknown levels to c->level. numbers: levels are compared as numbers, so that 1 equals
 * 1.0, as in the encoding of the model. */
static kn_status read_levels(kn_ctx *ctx, kn_report_input *m, kn_report_input_column *c,
                             ptrdiff_t col, bool numbers)
{
    kn_status status = KN_OK;
    const kn_scored *s = scored_of(m);
    gathered g = {.text = (const char **)c->level, .n = c->levels, .capacity = c->levels};
    for (ptrdiff_t i = 0; i < m->n; i++) {
        char level[KN_LEVEL_SIZE];
        const char *cell = kn_table_cell(s->participants, s->row[i], col);
        c->scored[i] = NAN;
        if (!kn_text_is_missing(cell))
            KN_TRY(level_index(ctx, m, &g, kn_level_of(cell, numbers, level) ? level : cell,
                               &c->scored[i]));
    }
    c->level = g.text;
    c->levels = g.n;
out:
    return status;
}

/* Reads covariate column `col` of the scored participants into c->scored (n values): numbers, or
 * indices of levels if c is categorical. numbers: its levels are numbers. NaN: missing. */
static kn_status read_column(kn_ctx *ctx, kn_report_input *m, kn_report_input_column *c,
                             ptrdiff_t col, bool numbers)
{
    const kn_scored *s = scored_of(m);
    kn_status status = kn_arena_d(ctx, &m->arena, m->n, &c->scored);
    if (status != KN_OK)
        return status;
    if (!c->numeric)
        return read_levels(ctx, m, c, col, numbers);
    for (ptrdiff_t i = 0; i < m->n; i++)
        kn_table_number(s->participants, s->row[i], col, &c->scored[i]); /* NaN: not a number */
    return KN_OK;
}

/* Reads the covariates that the model has from scored_participants.tsv. KN_ERR_DATA if a column is
 * missing. */
static kn_status read_covariates(kn_ctx *ctx, kn_report_input *m)
{
    kn_status status = KN_OK;
    const kn_encoding *r = &m->model->encoding;
    char name[KN_PARTICIPANTS_NAME];
    for (ptrdiff_t k = 0; k < r->n; k++) {
        kn_participants_covariate(r->column[k].name, name);
        ptrdiff_t col = kn_table_find(scored_of(m)->participants, name);
        if (col < 0)
            return kn_column_unknown(ctx, scored_of(m)->participants, name,
                                     "a covariate of the model");
        KN_TRY(read_column(ctx, m, &m->column[k], col, r->column[k].levels.numbers));
    }
out:
    return status;
}

/* ---- covariates without a model ---- */

/* Returns whether column `col` has exactly two different numbers and is not an age, so that it is
 * taken for a category. */
static bool two_valued(const kn_report_input *m, ptrdiff_t col)
{
    const kn_scored *s = scored_of(m);
    double seen[2], x;
    int n = 0;
    for (ptrdiff_t i = 0; i < m->n && n <= 2; i++) {
        int k = 0;
        if (kn_table_number(s->participants, s->row[i], col, &x) != KN_CELL_NUMBER)
            continue;
        while (k < n && k < 2 && seen[k] != x)
            k++;
        if (k == n && n++ < 2)
            seen[n - 1] = x;
    }
    return n == 2 && kn_column_role_of(kn_table_name(s->participants, col)) != KN_COLUMN_AGE;
}

/* Returns column `col` with a guessed type, as kn_encoding_learn guesses it: texts, sites and
 * two-valued numbers are categorical. Sets *numbers if all values are numbers. */
static kn_report_input_column guess_column(const kn_report_input *m, ptrdiff_t col, bool *numbers)
{
    const kn_scored *s = scored_of(m);
    const char *name = kn_table_name(s->participants, col);
    bool site = kn_column_role_of(name) == KN_COLUMN_SITE;
    *numbers = kn_column_census(s->participants, col, s->row, s->n).texts == 0;
    return (kn_report_input_column){.name = name,
                                    .numeric = *numbers && !site && !two_valued(m, col),
                                    .batch = site};
}

/* Sorts the levels of c in the order of a model's levels, and renumbers c->scored accordingly.
 * O(levels^2). */
static kn_status sort_levels(kn_ctx *ctx, kn_report_input *m, kn_report_input_column *c,
                             bool numbers)
{
    kn_status status;
    const char **sorted;
    ptrdiff_t *position = NULL;
    KN_TRY(kn_report_input_alloc_texts(ctx, m, c->levels, &sorted));
    KN_TRY(kn_alloc_i(ctx, c->levels, &position));
    for (ptrdiff_t a = 0; a < c->levels; a++)
        for (ptrdiff_t b = 0; b < c->levels; b++)
            position[a] += kn_level_order(c->level[b], c->level[a], numbers) < 0;
    for (ptrdiff_t a = 0; a < c->levels; a++)
        sorted[position[a]] = c->level[a];
    for (ptrdiff_t i = 0; i < m->n; i++)
        if (!isnan(c->scored[i]))
            c->scored[i] = (double)position[(ptrdiff_t)c->scored[i]];
    c->level = sorted;
out:
    kn_free(position);
    return status;
}

/* Reads all columns of scored_participants.tsv that kronorm did not add itself, with guessed types,
 * for a folder without a model (cv). */
static kn_status guess_covariates(kn_ctx *ctx, kn_report_input *m)
{
    static const char used[] = "used_";
    kn_status status;
    const kn_table *t = scored_of(m)->participants;
    ptrdiff_t cols = kn_table_cols(t);
    void *memory;
    bool numbers;
    KN_TRY(kn_arena_alloc(ctx, &m->arena, cols, sizeof *m->column, &memory));
    m->column = memory;
    for (ptrdiff_t col = 0; col < cols; col++) {
        const char *name = kn_table_name(t, col);
        if (kn_participants_ours(name))
            continue;
        kn_report_input_column *c = &m->column[m->C++];
        *c = guess_column(m, col, &numbers);
        if (strncmp(name, used, sizeof used - 1) == 0 &&
            kn_participants_ours(name + sizeof used - 1))
            c->name = name + sizeof used - 1;
        KN_TRY(read_column(ctx, m, c, col, numbers));
        if (!c->numeric)
            KN_TRY(sort_levels(ctx, m, c, numbers));
    }
out:
    return status;
}

/* ---- responses ---- */

/* Returns the index of the first voxel of hemisphere k of the model in a map of the folder, whose
 * hemispheres are sorted by name; -1 if the folder does not have it. */
static ptrdiff_t find_hemisphere(const kn_space *files, const kn_space *own, int k)
{
    ptrdiff_t at = 0;
    for (int p = 0; p < files->parts; p++) {
        if (strcmp(files->part[p].side, own->part[k].side) == 0)
            return at;
        at += kn_geometry_voxels(&files->part[p].geometry);
    }
    return -1;
}

/* Sets map_index[j] to the position of response j of the model in a map of the folder. KN_ERR_DATA
 * if the geometry differs, or a hemisphere has no map. */
static kn_status locate_voxels(kn_ctx *ctx, kn_report_input *m)
{
    const kn_space *files = &scored_of(m)->space, *own = &m->space;
    ptrdiff_t first = own->parts > 1 ? kn_geometry_voxels(&own->part[0].geometry) : PTRDIFF_MAX;
    ptrdiff_t begin[KN_PARTS] = {0, 0};
    kn_status status;
    KN_TRY(kn_geometry_compare(ctx, m->dir, &files->geometry, "the model", &own->geometry));
    for (int k = 0; own->parts > 1 && k < own->parts; k++) {
        begin[k] = find_hemisphere(files, own, k);
        if (begin[k] < 0)
            return kn_fail(ctx, KN_ERR_DATA, "%s has no z map of %s", m->dir, own->part[k].side);
    }
    for (ptrdiff_t j = 0; j < m->T; j++) {
        ptrdiff_t v = own->voxel[j];
        m->files->map_index[j] = v < first ? begin[0] + v : begin[1] + v - first;
    }
out:
    return status;
}

/* Checks that the columns of a z table have the names of the model's responses; KN_ERR_DATA at the
 * first difference. Responses without names pass. */
static kn_status check_names(kn_ctx *ctx, const kn_report_input *m)
{
    const kn_scored *s = scored_of(m);
    const bool named = s->space.kind == KN_SPACE_TABLE && m->space.kind == KN_SPACE_TABLE;
    for (ptrdiff_t j = 0; named && j < m->T; j++) {
        ptrdiff_t at = m->files->map_index[j];
        if (strcmp(s->space.name[at], m->name[j]) != 0)
            return kn_fail(ctx, KN_ERR_DATA, "%s/%s: column %td is '%s', but '%s' in the model",
                           m->dir, s->tail[0], at + 2, kn_clipped(s->space.name[at]).text,
                           kn_clipped(m->name[j]).text);
    }
    return KN_OK;
}

/* Sets map_index[j] (T) to the position of each response of the model in a z map of the folder: a
 * column of its table, or a voxel. KN_ERR_DATA if the folder has other responses. */
static kn_status locate_responses(kn_ctx *ctx, kn_report_input *m)
{
    const kn_space *files = &scored_of(m)->space;
    const kn_scaling *y = &m->model->y;
    kn_status status = kn_arena_i(ctx, &m->arena, m->T, &m->files->map_index);
    if (status != KN_OK)
        return status;
    if (files->kind == KN_SPACE_IMAGE && m->space.kind == KN_SPACE_IMAGE)
        return locate_voxels(ctx, m);
    if (files->kind == KN_SPACE_IMAGE || files->T != y->n_all)
        return kn_fail(ctx, KN_ERR_DATA, "%s has z maps of %td responses, but the model has %td",
                       m->dir, files->T, y->n_all);
    for (ptrdiff_t j = 0; j < m->T; j++)
        m->files->map_index[j] = y->kept[j];
    return check_names(ctx, m);
}

/* Recovers the mask from the folder's maps: voxels where the first z map or the map of mean z^2 is
 * not exactly 0. Sets map_index and T. KN_ERR_DATA if there is none. */
static kn_status find_mask(kn_ctx *ctx, kn_report_input *m)
{
    kn_status status;
    struct kn_report_input_files *f = m->files;
    ptrdiff_t all = f->scored.space.T;
    float *map = NULL;
    bool found = false;
    KN_TRY(kn_alloc_f(ctx, all, &map));
    KN_TRY(kn_scored_single(ctx, &f->scored, "metrics_z2", &found, map));
    KN_TRY(kn_scored_z(ctx, &f->scored, 0, f->row));
    KN_TRY(kn_arena_i(ctx, &m->arena, all, &f->map_index));
    for (ptrdiff_t v = 0; v < all; v++)
        if (f->row[v] != 0 || (found && map[v] != 0))
            f->map_index[m->T++] = v;
    if (m->T == 0)
        status = kn_fail(ctx, KN_ERR_DATA,
                         "%s: the z-scores are 0 everywhere, so they are not those of cv", m->dir);
out:
    kn_free(map);
    return status;
}

/* Takes the responses from the folder, for cv, which has no model: all columns of its table, or the
 * voxels of its mask. */
static kn_status copy_space(kn_ctx *ctx, kn_report_input *m)
{
    kn_status status = KN_OK;
    struct kn_report_input_files *f = m->files;
    const kn_space *from = &f->scored.space;
    if (from->kind == KN_SPACE_IMAGE) {
        KN_TRY(find_mask(ctx, m));
    } else {
        KN_TRY(kn_arena_i(ctx, &m->arena, from->T, &f->map_index));
        for (; m->T < from->T; m->T++)
            f->map_index[m->T] = m->T;
    }
    KN_TRY(kn_space_copy(ctx, from, &m->space));
    m->space.T = m->T;
    for (ptrdiff_t j = 0; m->space.voxel && j < m->T; j++)
        m->space.voxel[j] = f->map_index[j];
    KN_TRY(kn_report_input_set_names(ctx, m, NULL));
out:
    return status;
}

kn_status kn_report_input_read_folder(kn_ctx *ctx, kn_report_input *m)
{
    kn_status status;
    bool change = m->kind == KN_INPUT_CHANGE;
    struct kn_report_input_files *f = m->files;
    KN_TRY(kn_scored_open(ctx, m->dir, change ? &kn_scored_by_change : &kn_scored_by_score,
                          &f->scored));
    KN_TRY(kn_arena_f(ctx, &m->arena, f->scored.space.T, &f->row));
    KN_TRY(read_ids(ctx, m));
    KN_TRY(read_excluded(ctx, m));
    if (!change)
        KN_TRY(m->model ? read_covariates(ctx, m) : guess_covariates(ctx, m));
    KN_TRY(m->model ? locate_responses(ctx, m) : copy_space(ctx, m));
    KN_TRY(kn_report_input_read_tables(ctx, m));
out:
    return status;
}
