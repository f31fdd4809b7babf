/* Implements sample_groups.h. */
#include "data/sample_groups.h"

#include <string.h>

#include "data/table/columns.h"
#include "data/table/text_list.h"
#include "io/file/path.h"

/* Returns the participant of row i: rows with ids per session still belong to one participant. */
static const char *person_of(const kn_data *d, const kn_sample *p, ptrdiff_t i)
{
    const char *person = kn_data_person(d, p->covariate_row[i]);
    return person ? person : p->id[i];
}

kn_status kn_sample_find_groups(kn_ctx *ctx, const kn_data *d, const kn_settings *s, kn_sample *p)
{
    kn_status status = KN_OK;
    void *person = NULL;
    if (kn_settings_additive(s)) {
        if (p->id)
            KN_TRY(kn_alloc(ctx, p->n, sizeof(char *), &person));
        for (ptrdiff_t i = 0; person && i < p->n; i++)
            ((const char **)person)[i] = person_of(d, p, i);
        kn_group_source from = {d->covariates, p->covariate_row, person, &p->recipe, p->X};
        KN_TRY(kn_grouping_find(ctx, &from, s->group, &p->grouping));
    }
    if (p->grouping.rule == KN_GROUP_NONE && d->match.repeat[1] > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "%s: ids repeat, the rows of one person are taken for rows of several",
               kn_table_path(d->covariates));
out:
    kn_free(person);
    return status;
}

kn_status kn_sample_read_groups(kn_ctx *ctx, const kn_data *d, const char *column, kn_sample *p)
{
    const kn_table *t = d->covariates;
    bool ids = !*column;
    ptrdiff_t col = ids ? -1 : kn_column_find(t, column);
    void *memory;
    if (ids ? !p->id : col < 0)
        return KN_OK;
    kn_status status = kn_alloc(ctx, p->n, sizeof *p->group_text, &memory);
    if (status != KN_OK)
        return status;
    p->group_text = memory;
    for (ptrdiff_t i = 0; i < p->n && status == KN_OK; i++) {
        const char *text = ids ? person_of(d, p, i) : kn_table_cell(t, p->covariate_row[i], col);
        if (ids)
            status = kn_text_copy(ctx, text, strlen(text), &p->group_text[i]);
        else if (!kn_text_is_missing(text))
            status = kn_trimmed(ctx, text, &p->group_text[i]);
    }
    return status;
}
