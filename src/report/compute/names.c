/* Names of levels and the unit of the responses: options of the report, else those that the model
 * keeps from its fit. The names replace the levels of the input, so that every section has them. */
#include <string.h>

#include "base/options/category_level_names.h"
#include "report/compute/internal.h"

const char *kn_report_term(const char *term)
{
    return strcmp(term, "curved") == 0 ? "quadratic" : term;
}

/* Returns the index of the level of covariate c that an item of {names} renames; -1 if it is none.
 */
static ptrdiff_t find_level(const kn_report_input_column *c, const kn_level_name *item)
{
    for (ptrdiff_t l = 0; !c->numeric && l < c->levels; l++)
        if (kn_level_name_is(item, c->name, c->level[l]))
            return l;
    return -1;
}

/* Sets copies[k] to a copy of the list of levels of each categorical covariate, so that renaming
 * keeps the originals. */
static kn_status copy_levels(kn_ctx *ctx, kn_report_input *m, const char ***copies)
{
    kn_status status = KN_OK;
    for (ptrdiff_t k = 0; k < m->C; k++) {
        void *memory;
        if (m->column[k].numeric || m->column[k].levels == 0)
            continue;
        KN_TRY(kn_arena_alloc(ctx, &m->arena, m->column[k].levels, sizeof(char *), &memory));
        copies[k] = memory;
        memcpy(memory, m->column[k].level, (size_t)m->column[k].levels * sizeof(char *));
    }
out:
    return status;
}

/* Renames the level of an item in `copies`. KN_ERR_ARGUMENT if an item of the option (not of the
 * model) names no level; those of the model were checked by the fit. */
static kn_status rename_level(kn_ctx *ctx, kn_report_input *m, const char ***copies,
                              const kn_level_name *item, bool option)
{
    for (ptrdiff_t k = 0; k < m->C; k++) {
        const ptrdiff_t l = find_level(&m->column[k], item);
        if (l >= 0)
            return kn_arena_print(ctx, &m->arena, &copies[k][l], "%.*s", item->name_length,
                                  item->name);
    }
    return option ? kn_fail(ctx, KN_ERR_ARGUMENT,
                            "{names}: there is no categorical covariate '%.*s' with a level '%.*s'",
                            item->column_length, item->column, item->level_length, item->level)
                  : KN_OK;
}

/* Applies COLUMN:LEVEL=NAME,... to the levels of the covariates. option: from {names}, where an
 * unknown level is KN_ERR_ARGUMENT. */
static kn_status rename_levels(kn_ctx *ctx, kn_report_input *m, const char *names, bool option)
{
    kn_status status;
    kn_level_name item = {0};
    void *memory;
    const char *text = names;
    KN_TRY(kn_arena_alloc(ctx, &m->arena, m->C, sizeof(char **), &memory));
    const char ***copies = memory;
    KN_TRY(copy_levels(ctx, m, copies));
    while (kn_level_name_next(&text, &item))
        KN_TRY(rename_level(ctx, m, copies, &item, option));
    if (*text)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{names} is '%s', but must be COLUMN:LEVEL=NAME,LEVEL=NAME, such as "
                       "sex:0=female,1=male",
                       names);
    for (ptrdiff_t k = 0; k < m->C; k++)
        if (copies[k])
            m->column[k].level = copies[k];
out:
    return status;
}

/* Returns the item of `names` for `length` bytes of "sex=0"; one without column if there is none.
 */
static kn_level_name find_item(const char *names, const char *text, int length)
{
    kn_level_name item = {0};
    while (names && kn_level_name_next(&names, &item))
        if (item.column_length + 1 + item.level_length == length &&
            memcmp(text, item.column, (size_t)item.column_length) == 0 &&
            text[item.column_length] == '=' &&
            memcmp(text + item.column_length + 1, item.level, (size_t)item.level_length) == 0)
            return item;
    return (kn_level_name){0};
}

kn_status kn_names_of_label(kn_ctx *ctx, kn_report *r, const char *label, const char **out)
{
    kn_sentence s = {.ctx = ctx, .arena = &r->arena};
    for (const char *at = label; *at;) {
        const int length = (int)strcspn(at, ",");
        const kn_level_name item = find_item(r->names, at, length);
        if (item.column)
            kn_sentence_words(&s, "%.*s=%.*s", item.column_length, item.column, item.name_length,
                              item.name);
        else
            kn_sentence_words(&s, "%.*s", length, at);
        kn_sentence_words(&s, at[length] ? "," : "");
        at += length + (at[length] == ',');
    }
    return kn_sentence_end(&s, out);
}

kn_status kn_compute_names(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    json_t *model = NULL;
    KN_TRY(kn_json_parse(ctx, "the model's record", job->m->model_json, &model));
    const char *kept = kn_json_text_at(model, "options.names"), *unit = job->s->unit;
    const char *names = job->s->names ? job->s->names : kept;
    job->r->names = NULL;
    KN_TRY(kn_arena_text(ctx, &job->r->arena, unit ? unit : kn_json_text_at(model, "options.unit"),
                         &job->r->unit));
    if (names) {
        KN_TRY(kn_arena_text(ctx, &job->r->arena, names, &job->r->names));
        KN_TRY(rename_levels(ctx, job->m, names, job->s->names != NULL));
    }
out:
    json_decref(model);
    return status;
}
