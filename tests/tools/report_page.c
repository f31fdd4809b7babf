/* A stored report as a page: report_page KIND OUT.html [TEXTS [MAX_SIZE]]
 *
 * TEXTS: a file of texts, each ended by a 0. They take, in turn, the place of every text of the
 * report that could come from a file of a user's: tests/python/report_fuzz.py looks at what becomes
 * of them. "-": none. */
#include "unit/support/report_sample.h"
#include "unit/support/test.h"

#include "base/context.h"
#include "report/page/page.h"

typedef struct texts {
    char *bytes;
    size_t n, at;
} texts;

static const char *next(texts *t)
{
    const char *text = t->bytes + t->at;
    t->at += strlen(text) + 1;
    if (t->at >= t->n)
        t->at = 0;
    return text;
}

static void each(texts *t, const char *const *text, ptrdiff_t n)
{
    const char **own = (const char **)(uintptr_t)text; /* of the sample's arena: ours to change */
    for (ptrdiff_t k = 0; own && k < n; k++)
        own[k] = next(t);
}

static void replace_participants(kn_report *r, texts *t)
{
    for (ptrdiff_t i = 0; i < r->participants.n; i++) {
        kn_report_participant *p = &r->participants.participant[i];
        p->id = next(t);
        p->note = next(t);
        each(t, p->covariate, p->covariate ? r->cohort.n : 0);
        if (p->visit1) {
            p->visit1 = next(t);
            p->visit2 = next(t);
        }
    }
    for (ptrdiff_t k = 0; k < r->participants.n_cards; k++) {
        r->participants.card[k].words = next(t);
        for (ptrdiff_t c = 0; c < r->participants.card[k].clusters; c++)
            r->participants.card[k].cluster[c].region = next(t);
    }
}

static void replace_words(kn_report *r, texts *t)
{
    r->title = next(t);
    r->sentence = next(t);
    kn_report_notes *notes[] = {&r->warnings, &r->good};
    for (int j = 0; j < 2; j++)
        for (ptrdiff_t k = 0; k < notes[j]->n; k++) {
            notes[j]->note[k].title = next(t);
            notes[j]->note[k].words = next(t);
        }
    each(t, r->words.paragraph, r->words.paragraphs);
    each(t, r->words.reference, r->words.references);
    for (ptrdiff_t k = 0; k < r->words.facts; k++)
        r->words.fact[k] = (kn_report_fact){k == 0 ? next(t) : "command", next(t)};
}

static void replace_rest(kn_report *r, texts *t)
{
    for (ptrdiff_t j = 0; j < r->cohort.n; j++) {
        r->cohort.column[j].name = next(t);
        each(t, r->cohort.column[j].level, r->cohort.column[j].levels);
    }
    if (r->cohort.matched_by)
        r->cohort.matched_by = next(t);
    each(t, r->cohort.excluded_id, r->cohort.n_excluded);
    each(t, r->cohort.excluded_reason, r->cohort.n_excluded);
    r->model.length_units = next(t);
    each(t, r->model.term, r->model.terms);
    each(t, r->model.word, r->model.words);
    each(t, r->responses.name, r->responses.T);
    r->responses.z2_of = next(t);
    r->curves.over = next(t);
    for (ptrdiff_t s = 0; s < r->curves.n; s++)
        for (ptrdiff_t k = 0; k < r->curves.shown[s].curves; k++) {
            r->curves.shown[s].curve[k].level = next(t);
            r->curves.shown[s].curve[k].label = next(t);
        }
    r->group.label = next(t);
    for (ptrdiff_t k = 0; k < r->group.rocs; k++)
        r->group.roc[k].name = next(t);
    r->change.reference = next(t);
    r->change.interval_units = next(t);
    r->space.atlas = next(t);
    for (ptrdiff_t k = 0; r->space.region && k < r->responses.T; k++)
        r->space.region[k] = (kn_report_region){.side = (int)(k % 3) - 1,
                                                .name = next(t),
                                                .full = next(t),
                                                .lobe = next(t)};
}

static void read_texts(const char *path, texts *t)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("%s: no such file", path);
    fseek(f, 0, SEEK_END);
    t->n = (size_t)ftell(f);
    rewind(f);
    t->bytes = calloc(t->n + 1, 1);
    if (fread(t->bytes, 1, t->n, f) != t->n || t->n == 0)
        fail_msg("%s cannot be read", path);
    fclose(f);
}

int main(int argc, char **argv)
{
    texts t = {0};
    ptrdiff_t cards, bytes;
    kn_page_options options = {.max_size = argc > 4 ? atof(argv[4]) : 2e7,
                               .write = {.force = true}};
    int kind = 0;
    while (argc > 2 && kind < SAMPLE_KINDS && strcmp(sample_name[kind], argv[1]) != 0)
        kind++;
    if (argc < 3 || kind == SAMPLE_KINDS) {
        fprintf(stderr, "report_page KIND OUT.html [TEXTS|- [MAX_SIZE]]\n");
        return 2;
    }
    kn_ctx *ctx = kn_ctx_new();
    kn_report *r = sample_report(ctx, (sample_kind)kind);
    if (argc > 3 && strcmp(argv[3], "-") != 0) {
        read_texts(argv[3], &t);
        replace_words(r, &t);
        replace_rest(r, &t);
        replace_participants(r, &t);
    }
    kn_status status = kn_page_write(ctx, r, argv[2], &options, &cards, &bytes);
    if (status == KN_OK)
        printf("%td cards, %td bytes\n", cards, bytes);
    else
        fprintf(stderr, "%s\n", kn_message(ctx));
    sample_free(r);
    kn_ctx_free(ctx);
    free(t.bytes);
    return status != KN_OK;
}
