/* The summary: first sentence, warnings, and checks that passed [METHOD 11b]. The rules of
 * warnings are in warnings_fit.c and warnings_participants.c. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "report/compute/compute.h"
#include "report/compute/internal.h"

/* Returns "participant" or "participants". */
static const char *participant_noun(ptrdiff_t n)
{
    return n == 1 ? "participant" : "participants";
}

/* Returns the number of participants with the label of cases. */
static ptrdiff_t count_cases(const kn_report *r)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < r->participants.n; i++)
        n += r->participants.participant[i].label == 1;
    return n;
}

/* Sets the first sentence of the page for scored participants: how many, responses, `by` which
 * model, cases. */
static kn_status write_scored_sentence(kn_ctx *ctx, const kn_report_job *job, const char *by)
{
    kn_status status;
    kn_report *r = job->r;
    const ptrdiff_t n = job->m->n, cases = count_cases(r), T = job->m->T;
    const char *cases_words = "";
    if (cases > 0)
        KN_TRY(kn_arena_print(ctx, &r->arena, &cases_words,
                              " The scored participants include %td with %s.", cases,
                              kn_report_cases(r)));
    KN_TRY(kn_arena_print(ctx, &r->arena, &r->sentence, "%td %s scored on %td %s %s.%s", n,
                          n == 1 ? "participant was" : "participants were", T,
                          kn_report_nouns(r, T), by, cases_words));
out:
    return status;
}

/* Sets r->sentence, the first sentence of the page: how many participants were scored on what, and
 * by which model. */
static kn_status write_first_sentence(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    kn_report *r = job->r;
    const kn_report_change *c = &r->change;
    const char *by = NULL;
    const char *sample;
    const ptrdiff_t T = job->m->T;
    KN_TRY(kn_summary_training_words(ctx, job, &sample));
    switch (job->m->kind) {
    case KN_INPUT_MODEL:
        return kn_arena_print(ctx, &r->arena, &r->sentence,
                              "A normative model of %td %s, fitted to %s.", T,
                              kn_report_nouns(r, T), sample);
    case KN_INPUT_SCORE:
        KN_TRY(kn_arena_print(ctx, &r->arena, &by, "with a model fitted to %s", sample));
        return write_scored_sentence(ctx, job, by);
    case KN_INPUT_CV:
        return write_scored_sentence(ctx, job,
                                     "by cross-validation, each by a model fitted without them");
    case KN_INPUT_CHANGE:
        return kn_arena_print(ctx, &r->arena, &r->sentence,
                              "%td change%s between visits of %td %s on %td %s, compared with the "
                              "changes of %td stable %s.",
                              c->pairs, c->pairs == 1 ? "" : "s", c->participants,
                              participant_noun(c->participants), T, kn_report_nouns(r, T),
                              c->reference_participants,
                              participant_noun(c->reference_participants));
    }
    status = KN_OK;
out:
    return status;
}

/* In the order in which a reader should know them: data, model, participants. */
static const kn_summary_rule RULES[] = {
    kn_summary_implausible, kn_summary_sites,  kn_summary_training_participants,
    kn_summary_calibration, kn_summary_shift,  kn_summary_shape,
    kn_summary_gain,        kn_summary_wiggly, kn_summary_extrapolation,
    kn_summary_abnormal,    kn_summary_few,    kn_summary_folder,
};

kn_status kn_compute_summary(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    KN_TRY(write_first_sentence(ctx, job));
    for (size_t k = 0; k < sizeof RULES / sizeof *RULES; k++)
        KN_TRY(RULES[k](ctx, job));
out:
    return status;
}

/* ---- notes ---- */

/* Doubles the capacity of a list of notes; the old list stays in the arena. */
static kn_status grow_notes(kn_ctx *ctx, kn_report *r, kn_report_notes *notes)
{
    const ptrdiff_t capacity = notes->capacity > 0 ? 2 * notes->capacity : 8;
    void *memory;
    kn_status status = kn_arena_alloc(ctx, &r->arena, capacity, sizeof *notes->note, &memory);
    if (status != KN_OK)
        return status;
    if (notes->n > 0)
        memcpy(memory, notes->note, (size_t)notes->n * sizeof *notes->note);
    notes->note = memory;
    notes->capacity = capacity;
    return KN_OK;
}

kn_status kn_report_note_add(kn_ctx *ctx, kn_report *r, kn_report_notes *notes, const char *code,
                             const char *title, const char *format, ...)
{
    kn_status status;
    kn_report_note note = {0};
    void *words;
    va_list args;
    if (notes->n == notes->capacity)
        KN_TRY(grow_notes(ctx, r, notes));
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "a text could not be formatted");
    KN_TRY(kn_arena_alloc(ctx, &r->arena, n + 1, 1, &words));
    va_start(args, format);
    vsnprintf(words, (size_t)n + 1, format, args);
    va_end(args);
    KN_TRY(kn_arena_text(ctx, &r->arena, code, &note.code));
    KN_TRY(kn_arena_text(ctx, &r->arena, title, &note.title));
    note.words = words;
    notes->note[notes->n++] = note;
out:
    return status;
}
