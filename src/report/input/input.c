/* Implements input.h: opening, access by column name, and reading of z-maps. Memory belongs to one
 * arena, which is freed as a whole. */
#include "report/input/internal.h"

#include <stdio.h>
#include <string.h>

/* Frees the tables of the scored folder; NULL is allowed. */
static void files_clear(struct kn_report_input_files *f)
{
    if (!f)
        return;
    kn_scored_clear(&f->scored);
    kn_table_free(f->judged);
    kn_table_free(f->folds);
}

void kn_report_input_clear(kn_report_input *m)
{
    files_clear(m->files);
    kn_space_clear(&m->space);
    kn_arena_clear(&m->arena);
    *m = (kn_report_input){0};
}

kn_status kn_report_input_alloc_texts(kn_ctx *ctx, kn_report_input *m, ptrdiff_t n,
                                      const char ***out)
{
    void *memory;
    kn_status status = kn_arena_alloc(ctx, &m->arena, n, sizeof(char *), &memory);
    *out = memory;
    return status;
}

/* ---- names ---- */

/* Returns the number of decimal digits of n - 1, at least 1. */
static int count_digits(ptrdiff_t n)
{
    int d = 1;
    for (n--; n > 9; n /= 10)
        d++;
    return d;
}

/* Names responses that have no names, in name[j]: voxels by their coordinates "i,j,k" from 0,
 * others by number[j] + 1 (NULL: j + 1). One block of the arena holds all texts. */
static kn_status number_names(kn_ctx *ctx, kn_report_input *m, const ptrdiff_t *number,
                              const char **name)
{
    const kn_space *s = &m->space;
    bool image = s->kind == KN_SPACE_IMAGE;
    const ptrdiff_t *dim = s->geometry.dim;
    ptrdiff_t limit = number && m->T > 0 ? number[m->T - 1] + 2 : m->T + 1;
    int width = image ? count_digits(dim[0]) + count_digits(dim[1]) + count_digits(dim[2]) + 3
                      : count_digits(limit) + 1;
    void *memory;
    kn_status status = kn_arena_alloc(ctx, &m->arena, m->T, (size_t)width, &memory);
    for (ptrdiff_t j = 0; j < m->T && status == KN_OK; j++) {
        char *text = (char *)memory + j * width;
        if (image) { /* voxel coordinates, from 0 */
            ptrdiff_t v = s->voxel[j];
            snprintf(text, (size_t)width, "%td,%td,%td", v % dim[0], v / dim[0] % dim[1],
                     v / (dim[0] * dim[1]));
        } else {
            snprintf(text, (size_t)width, "%td", (number ? number[j] : j) + 1);
        }
        name[j] = text;
    }
    return status;
}

kn_status kn_report_input_set_names(kn_ctx *ctx, kn_report_input *m, const ptrdiff_t *number)
{
    const char **name;
    kn_status status = kn_report_input_alloc_texts(ctx, m, m->T, &name);
    if (status != KN_OK)
        return status;
    m->name = name;
    if (m->space.kind != KN_SPACE_TABLE)
        return number_names(ctx, m, number, name);
    for (ptrdiff_t j = 0; j < m->T; j++)
        name[j] = m->space.name[j];
    return KN_OK;
}

/* ---- open ---- */

/* Reads model and folder, as far as they are given, into m. On error m is partly filled; the caller
 * clears it. */
static kn_status read_input(kn_ctx *ctx, kn_report_input *m)
{
    kn_status status = KN_OK;
    void *memory;
    KN_TRY(kn_arena_alloc(ctx, &m->arena, 1, sizeof *m->files, &memory));
    m->files = memory;
    if (m->dir)
        KN_TRY(kn_report_input_identify(ctx, m));
    if (m->model)
        KN_TRY(kn_report_input_read_model(ctx, m));
    if (m->dir)
        KN_TRY(kn_report_input_read_folder(ctx, m));
out:
    return status;
}

kn_status kn_report_input_open(kn_ctx *ctx, const kn_model *model, const char *dir,
                               kn_report_input *out)
{
    *out = (kn_report_input){.model = model};
    if (!model && !dir)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "there is neither a model nor a folder; give a model or {scored}");
    kn_status status = kn_arena_text(ctx, &out->arena, dir, &out->dir);
    if (status == KN_OK)
        status = read_input(ctx, out);
    if (status != KN_OK)
        kn_report_input_clear(out);
    return status;
}

/* ---- columns by name ---- */

/* Returns the column with this name from a list; NULL if there is none. */
static const kn_report_input_named *find_column(const kn_report_input_list *list, const char *name)
{
    for (ptrdiff_t k = 0; k < list->n; k++)
        if (strcmp(list->column[k].name, name) == 0)
            return &list->column[k];
    return NULL;
}

/* Returns the numbers of the column with this name, one per row; NULL if there is none, or it is a
 * text. */
static const double *find_numbers(const kn_report_input_list *list, const char *name)
{
    const kn_report_input_named *c = find_column(list, name);
    return c ? c->number : NULL;
}

const double *kn_report_input_participants(const kn_report_input *m, const char *name)
{
    return find_numbers(&m->files->participants, name);
}

const char *const *kn_report_input_texts(const kn_report_input *m, const char *name)
{
    const kn_report_input_named *c = find_column(&m->files->participants, name);
    return c ? c->text : NULL;
}

const double *kn_report_input_training(const kn_report_input *m, const char *name)
{
    return find_numbers(&m->files->training, name);
}

const double *kn_report_input_responses(const kn_report_input *m, const char *name)
{
    return find_numbers(&m->files->responses, name);
}

/* ---- z-maps ---- */

kn_status kn_report_input_z(kn_ctx *ctx, kn_report_input *m, ptrdiff_t i, float *z)
{
    struct kn_report_input_files *f = m->files;
    kn_status status = kn_scored_z(ctx, &f->scored, i, f->row);
    for (ptrdiff_t j = 0; j < m->T && status == KN_OK; j++)
        z[j] = f->row[f->map_index[j]];
    return status;
}
