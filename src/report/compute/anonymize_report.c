/* Last step of a page without ids: removes ids from texts that came from files, such as command
 * lines. The alias of a participant is the same everywhere on the page. */
#include <string.h>

#include "report/compute/compute.h"
#include "report/text/anonymize.h"

typedef struct sweep {
    kn_ctx *ctx;
    kn_report *r;
    kn_anonymizer *stripper;
    kn_status status;
} sweep;

/* Replaces the ids in *text (the result is in the arena of the report); does nothing after a
 * failure, which s->status keeps. sentence: as in kn_anonymize. */
static void clean_text(sweep *s, const char **text, bool sentence)
{
    if (s->status == KN_OK)
        s->status = kn_anonymize(s->ctx, s->stripper, *text, sentence, &s->r->arena, text);
}

/* Replaces ids in titles and texts of the notes. Notes on the folder and on the fit are texts of
 * other programs and searched as a whole. */
static void clean_notes(sweep *s, kn_report_notes *notes)
{
    for (ptrdiff_t i = 0; i < notes->n; i++) {
        /* Warnings of the fit and of the folder may list ids. */
        const char *code = notes->note[i].code;
        const bool ours = strcmp(code, "folder") != 0 && strcmp(code, "fit") != 0;
        clean_text(s, &notes->note[i].title, ours);
        clean_text(s, &notes->note[i].words, ours);
    }
}

/* Replaces ids in n texts from files (NULL: none). An id that is a number may equally be a site or
 * an age there, and is kept. */
static void clean_list(sweep *s, const char *const *text, ptrdiff_t n)
{
    const char **own = (const char **)(uintptr_t)text; /* in the arena of the report */
    for (ptrdiff_t k = 0; own && k < n; k++)
        clean_text(s, &own[k], true);
}

/* Replaces ids in the levels of covariates, in labels of curves and in the model's words: a family
 * or a scanner may be named by the id of a participant. */
static void clean_levels(sweep *s)
{
    kn_report *r = s->r;
    for (ptrdiff_t k = 0; k < r->cohort.n; k++)
        clean_list(s, r->cohort.column[k].level, r->cohort.column[k].levels);
    for (ptrdiff_t k = 0; k < r->curves.n; k++)
        for (ptrdiff_t c = 0; c < r->curves.shown[k].curves; c++) {
            clean_text(s, &r->curves.shown[k].curve[c].label, true);
            clean_text(s, &r->curves.shown[k].curve[c].level, true);
        }
    clean_list(s, r->model.word, r->model.words);
    clean_text(s, &r->group.label, true);
    clean_text(s, &r->change.reference, true);
}

/* Replaces ids, visits, covariates and notes of every participant. */
static void clean_participants(sweep *s)
{
    kn_report *r = s->r;
    for (ptrdiff_t i = 0; i < r->participants.n; i++) {
        kn_report_participant *row = &r->participants.participant[i];
        clean_list(s, row->covariate, r->cohort.n);
        clean_text(s, &row->id, true); /* the id of a pair includes its visits */
        clean_text(s, &row->visit1, true);
        clean_text(s, &row->visit2, true);
        clean_text(s, &row->note, true);
    }
}

/* Replaces the ids of excluded participants by aliases, numbered after the `participants` that are
 * present, and ids in their reasons. Fails only without memory. */
static kn_status clean_excluded(sweep *s, ptrdiff_t participants)
{
    kn_status status;
    kn_report *r = s->r;
    kn_report_cohort *c = &r->cohort;
    void *ids, *reasons;
    KN_TRY(kn_arena_alloc(s->ctx, &r->arena, c->n_excluded, sizeof(char *), &ids));
    KN_TRY(kn_arena_alloc(s->ctx, &r->arena, c->n_excluded, sizeof(char *), &reasons));
    const char **id = ids, **reason = reasons;
    for (ptrdiff_t i = 0; i < c->n_excluded; i++) {
        KN_TRY(kn_arena_print(s->ctx, &r->arena, &id[i], "%s%td", r->alias, participants + i + 1));
        reason[i] = c->excluded_reason[i];
        clean_text(s, &reason[i], false);
    }
    c->excluded_id = id;
    c->excluded_reason = reason;
out:
    return status;
}

/* Replaces ids in all texts of the report: title, notes, cards, methods. */
static void clean_texts(sweep *s)
{
    kn_report *r = s->r;
    clean_text(s, &r->title, false);
    clean_text(s, &r->sentence, true);
    clean_notes(s, &r->warnings);
    clean_notes(s, &r->good);
    clean_notes(s, &r->notes);
    clean_text(s, &r->words.results, true);
    for (ptrdiff_t k = 0; k < r->participants.n_cards; k++)
        clean_text(s, &r->participants.card[k].words, true);
    for (ptrdiff_t k = 0; k < r->words.facts; k++)
        clean_text(s, &r->words.fact[k].value, false);
    const char **paragraph =
        (const char **)(uintptr_t)r->words.paragraph; /* kronorm's own text, in the arena */
    for (ptrdiff_t k = 0; k < r->words.paragraphs; k++)
        clean_text(s, &paragraph[k], true);
    clean_text(s, &r->space.surface_note, false);
}

typedef struct alias_list {
    kn_alias *alias;
    ptrdiff_t n;
} alias_list;

/* Appends id and alias to the list. An id of one or two digits is replaced only within a file name
 * such as sub-07. */
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

/* Fills the list with the ids to be replaced and their aliases: participants of the folder, of the
 * training sample, and excluded ones. */
static kn_status list_aliases(kn_ctx *ctx, const kn_report_job *job, alias_list *list)
{
    kn_status status = KN_OK;
    kn_report *r = job->r;
    const kn_report_input *m = job->m;
    const char *const *participant =
        m->kind == KN_INPUT_CHANGE ? kn_report_input_texts(m, "participant_id") : NULL;
    const char *const *name = m->dir ? m->id : m->training_id;
    for (ptrdiff_t i = 0; name && i < r->participants.n; i++) {
        const char *instead = r->participants.participant[i].id;
        if (participant) /* "participant-1 ses-1 to ses-2" without its visits */
            KN_TRY(kn_arena_print(ctx, &r->arena, &instead, "%.*s", (int)strcspn(instead, " "),
                                  instead));
        KN_TRY(list_alias(ctx, r, list, participant ? participant[i] : name[i], instead));
    }
    for (ptrdiff_t i = 0; m->dir && m->training_id && i < m->N; i++)
        KN_TRY(list_alias(ctx, r, list, m->training_id[i], "participant-of-training"));
    for (ptrdiff_t i = 0; i < m->n_excluded; i++)
        KN_TRY(list_alias(ctx, r, list, m->excluded_id[i], "participant-excluded"));
out:
    return status;
}

kn_status kn_compute_anonymize(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    kn_report *r = job->r;
    void *memory = NULL;
    alias_list list = {0};
    sweep s = {.ctx = ctx, .r = r};
    if (!r->anonymized)
        return KN_OK;
    KN_TRY(kn_alloc(ctx, 2 * (r->participants.n + job->m->N + job->m->n_excluded), sizeof(kn_alias),
                    &memory));
    list.alias = memory;
    KN_TRY(list_aliases(ctx, job, &list));
    KN_TRY(kn_anonymizer_new(ctx, memory, list.n, r->alias, &s.stripper));
    KN_TRY(clean_excluded(&s, r->participants.n));
    clean_levels(&s);
    clean_participants(&s);
    clean_texts(&s);
    status = s.status;
out:
    kn_anonymizer_free(s.stripper);
    kn_free(memory);
    return status;
}
