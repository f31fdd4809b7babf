/* Last step of a page without ids: removes ids from texts that came from files, such as command
 * lines. */
#include <string.h>

#include "report/compute/compute.h"
#include "report/text/anonymize.h"

typedef struct sweep {
    kn_ctx *ctx;
    kn_report *r;
    kn_stripper *stripper;
    kn_status status;
} sweep;

static void clean(sweep *s, const char **text, bool sentence)
{
    if (s->status == KN_OK)
        s->status = kn_anonymize(s->ctx, s->stripper, *text, sentence, &s->r->arena, text);
}

static void clean_notes(sweep *s, kn_report_notes *notes)
{
    for (ptrdiff_t i = 0; i < notes->n; i++) {
        /* Warnings of the folder may list ids. */
        const bool ours = strcmp(notes->note[i].code, "folder") != 0;
        clean(s, &notes->note[i].title, ours);
        clean(s, &notes->note[i].words, ours);
    }
}

/* Cleans texts of files. An id that is a number may equally be a site or an age there, and is
 * kept. */
static void clean_list(sweep *s, const char *const *text, ptrdiff_t n)
{
    const char **own = (const char **)(uintptr_t)text; /* in the arena of the report */
    for (ptrdiff_t k = 0; own && k < n; k++)
        clean(s, &own[k], true);
}

/* Cleans levels: a family or a scanner may be named by the id of a participant. */
static void clean_levels(sweep *s)
{
    kn_report *r = s->r;
    for (ptrdiff_t k = 0; k < r->cohort.n; k++)
        clean_list(s, r->cohort.column[k].level, r->cohort.column[k].levels);
    for (ptrdiff_t k = 0; k < r->curves.n; k++)
        for (ptrdiff_t c = 0; c < r->curves.shown[k].curves; c++) {
            clean(s, &r->curves.shown[k].curve[c].label, true);
            clean(s, &r->curves.shown[k].curve[c].level, true);
        }
    clean_list(s, r->model.word, r->model.words);
    clean(s, &r->group.label, true);
    clean(s, &r->change.reference, true);
}

static void clean_people(sweep *s)
{
    kn_report *r = s->r;
    for (ptrdiff_t i = 0; i < r->people.n; i++) {
        kn_report_person *one = &r->people.person[i];
        clean_list(s, one->covariate, r->cohort.n);
        clean(s, &one->id, true); /* the id of a pair includes its visits */
        clean(s, &one->visit1, true);
        clean(s, &one->visit2, true);
        clean(s, &one->note, true);
    }
}

/* Numbers excluded participants after those present. */
static kn_status clean_dropped(sweep *s, ptrdiff_t people)
{
    kn_status status;
    kn_report *r = s->r;
    kn_report_cohort *c = &r->cohort;
    void *ids, *whys;
    KN_TRY(kn_arena_alloc(s->ctx, &r->arena, c->n_dropped, sizeof(char *), &ids));
    KN_TRY(kn_arena_alloc(s->ctx, &r->arena, c->n_dropped, sizeof(char *), &whys));
    const char **id = ids, **why = whys;
    for (ptrdiff_t i = 0; i < c->n_dropped; i++) {
        KN_TRY(kn_arena_print(s->ctx, &r->arena, &id[i], "%s%td", r->alias, people + i + 1));
        why[i] = c->dropped_why[i];
        clean(s, &why[i], false);
    }
    c->dropped_id = id;
    c->dropped_why = why;
out:
    return status;
}

static void clean_texts(sweep *s)
{
    kn_report *r = s->r;
    clean(s, &r->title, false);
    clean(s, &r->sentence, true);
    clean_notes(s, &r->warnings);
    clean_notes(s, &r->good);
    for (ptrdiff_t k = 0; k < r->people.n_cards; k++)
        clean(s, &r->people.card[k].words, true);
    for (ptrdiff_t k = 0; k < r->words.facts; k++)
        clean(s, &r->words.fact[k].value, false);
    const char **paragraph =
        (const char **)(uintptr_t)r->words.paragraph; /* kronorm's own text, in the arena */
    for (ptrdiff_t k = 0; k < r->words.paragraphs; k++)
        clean(s, &paragraph[k], true);
    clean(s, &r->space.surface_note, false);
}

typedef struct alias_list {
    kn_alias *alias;
    ptrdiff_t n;
} alias_list;

/* Ids of one or two digits are kept, except within a file name such as sub-07. */
static kn_status list_alias(kn_ctx *ctx, kn_report *r, alias_list *list, const char *id,
                            const char *instead)
{
    kn_status status = KN_OK;
    const char *file;
    list->alias[list->n++] = (kn_alias){id, instead};
    if (*id && strlen(id) < 3 && strspn(id, "0123456789") == strlen(id)) {
        KN_TRY(kn_arena_print(ctx, &r->arena, &file, "sub-%s", id));
        list->alias[list->n++] = (kn_alias){file, instead};
    }
out:
    return status;
}

/* Lists aliases for the participants of the folder, of training, and those excluded. */
static kn_status list_aliases(kn_ctx *ctx, const kn_report_job *job, alias_list *list)
{
    kn_status status = KN_OK;
    kn_report *r = job->r;
    const kn_report_input *m = job->m;
    const char *const *person =
        m->kind == KN_MATERIAL_CHANGE ? kn_report_input_texts(m, "person") : NULL;
    const char *const *name = m->dir ? m->id : m->training_id;
    for (ptrdiff_t i = 0; name && i < r->people.n; i++) {
        const char *instead = r->people.person[i].id;
        if (person) /* "person-1 ses-1 to ses-2" without its visits */
            KN_TRY(kn_arena_print(ctx, &r->arena, &instead, "%.*s", (int)strcspn(instead, " "),
                                  instead));
        KN_TRY(list_alias(ctx, r, list, person ? person[i] : name[i], instead));
    }
    for (ptrdiff_t i = 0; m->dir && m->training_id && i < m->N; i++)
        KN_TRY(list_alias(ctx, r, list, m->training_id[i], "person-of-training"));
    for (ptrdiff_t i = 0; i < m->n_dropped; i++)
        KN_TRY(list_alias(ctx, r, list, m->dropped_id[i], "person-dropped"));
out:
    return status;
}

kn_status kn_compute_strip(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    kn_report *r = job->r;
    void *memory = NULL;
    alias_list list = {0};
    sweep s = {.ctx = ctx, .r = r};
    if (!r->stripped)
        return KN_OK;
    KN_TRY(kn_alloc(ctx, 2 * (r->people.n + job->m->N + job->m->n_dropped), sizeof(kn_alias),
                    &memory));
    list.alias = memory;
    KN_TRY(list_aliases(ctx, job, &list));
    KN_TRY(kn_stripper_new(ctx, memory, list.n, r->alias, &s.stripper));
    KN_TRY(clean_dropped(&s, r->people.n));
    clean_levels(&s);
    clean_people(&s);
    clean_texts(&s);
    status = s.status;
out:
    kn_stripper_free(s.stripper);
    kn_free(memory);
    return status;
}
