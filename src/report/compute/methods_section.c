/* Assembles the methods section with its references (CC0), the facts needed to reproduce the page,
 * and its title. The sentences are in methods_text.c. */
#include <string.h>

#include "base/options/command_line.h"
#include "report/compute/internal.h"
#include "report/input/records.h"

/* KN_PAPER_METHOD is taken from the method's own row. */
static const char *const PAPERS[KN_PAPERS] = {
    [KN_PAPER_NORMATIVE] =
        "Marquand AF, Rezek I, Buitelaar J, Beckmann CF (2016). Understanding heterogeneity in "
        "clinical cohorts using normative models: beyond case-control studies. Biological "
        "Psychiatry "
        "80(7), 552-561.",
    [KN_PAPER_PROCESSES] =
        "Rasmussen CE, Williams CKI (2006). Gaussian Processes for Machine Learning. MIT Press.",
    [KN_PAPER_SHASH] =
        "Jones MC, Pewsey A (2009). Sinh-arcsinh distributions. Biometrika 96(4), 761-780.",
    [KN_PAPER_FDR] =
        "Benjamini Y, Hochberg Y (1995). Controlling the false discovery rate: a practical and "
        "powerful "
        "approach to multiple testing. Journal of the Royal Statistical Society B 57(1), 289-300.",
    [KN_PAPER_AUC] = "DeLong ER, DeLong DM, Clarke-Pearson DL (1988). Comparing the areas under "
                     "two or more correlated "
                     "receiver operating characteristic curves: a nonparametric approach. "
                     "Biometrics 44(3), 837-845.",
    [KN_PAPER_MODERATED] =
        "Smyth GK (2004). Linear models and empirical Bayes methods for assessing differential "
        "expression in microarray experiments. Statistical Applications in Genetics and Molecular "
        "Biology 3(1), Article 3.",
};

/* ---- paragraphs ---- */

typedef void (*paragraph)(kn_methods *m);
static const paragraph PARAGRAPHS[] = {kn_methods_model, kn_methods_calibration,
                                       kn_methods_abnormality, kn_methods_participants};
enum { N_PARAGRAPHS = sizeof PARAGRAPHS / sizeof *PARAGRAPHS };

/* Sets r->words.paragraph to the paragraphs of the methods section that are not empty, and
 * r->words.results. */
static kn_status write_paragraphs(kn_ctx *ctx, kn_methods *m)
{
    kn_status status;
    kn_report *r = m->job->r;
    void *memory;
    KN_TRY(kn_arena_alloc(ctx, &r->arena, N_PARAGRAPHS, sizeof(char *), &memory));
    const char **text = memory;
    for (int k = 0; k < N_PARAGRAPHS; k++) {
        PARAGRAPHS[k](m);
        KN_TRY(kn_sentence_end(&m->sentence, &text[r->words.paragraphs]));
        r->words.paragraphs += text[r->words.paragraphs][0] != '\0';
    }
    r->words.paragraph = text;
    kn_methods_results(m);
    KN_TRY(kn_sentence_end(&m->sentence, &r->words.results));
    if (r->words.results[0] == '\0')
        r->words.results = NULL;
out:
    return status;
}

/* Sets r->words.reference to the cited papers, each once, in the order of kn_paper. */
static kn_status write_references(kn_ctx *ctx, kn_methods *m)
{
    kn_status status;
    kn_report *r = m->job->r;
    const char *own = kn_report_input_method(m->job->m, "paper");
    void *memory;
    KN_TRY(kn_arena_alloc(ctx, &r->arena, KN_PAPERS, sizeof(char *), &memory));
    const char **text = memory;
    for (int k = 0; k < KN_PAPERS; k++) {
        const char *paper = k == KN_PAPER_METHOD ? own : PAPERS[k];
        bool twice =
            k != KN_PAPER_METHOD && m->cited[KN_PAPER_METHOD] && own && strcmp(own, PAPERS[k]) == 0;
        if (m->cited[k] && paper && !twice)
            text[r->words.references++] = paper;
    }
    r->words.reference = text;
out:
    return status;
}

/* ---- facts ---- */

typedef struct fact_row {
    const char *name, *path;
} fact_row;

static const fact_row OF_FOLDER[] = {
    {"scored by", "command"},
    {"hash of the model", "hashes.model"},
    {"hash of the scored covariates", "hashes.covariates"},
    {"hash of the scored responses", "hashes.responses"},
    {"kronorm version of the scores", "software.kronorm"},
    {"BLAS of the scores", "software.blas"},
};
static const fact_row OF_MODEL[] = {
    {"fitted by", "fit.command"},
    {"hash of the training covariates", "fit.hashes.covariates"},
    {"hash of the training responses", "fit.hashes.responses"},
    {"hash of the training mask", "fit.hashes.mask"},
};
enum {
    N_OF_FOLDER = sizeof OF_FOLDER / sizeof *OF_FOLDER,
    N_OF_MODEL = sizeof OF_MODEL / sizeof *OF_MODEL,
    MAX_FACTS = 64
};

/* Appends a fact (name and value, copied) for reproducing the page; ignored if value is NULL or
 * MAX_FACTS are present. */
static kn_status add_fact(kn_ctx *ctx, kn_report *r, const char *name, const char *value)
{
    kn_status status = KN_OK;
    if (!value || r->words.facts == MAX_FACTS)
        return KN_OK;
    kn_report_fact *fact = &r->words.fact[r->words.facts];
    KN_TRY(kn_arena_text(ctx, &r->arena, name, &fact->name));
    KN_TRY(kn_arena_text(ctx, &r->arena, value, &fact->value));
    r->words.facts++;
out:
    return status;
}

/* Appends the options of the fit as recorded in the model, such as "--seed 7", and its seed.
 * Options that are not recorded had their default. */
static kn_status add_options(kn_ctx *ctx, kn_methods *m)
{
    kn_status status = KN_OK;
    kn_sentence s = {.ctx = ctx, .arena = &m->job->r->arena};
    const json_t *options = kn_json_at(m->model, "options");
    const char *key, *text;
    json_t *value;
    if (!json_is_object(options))
        return KN_OK;
    json_object_foreach((json_t *)(uintptr_t)options, key, value)
    {
        const char *given = json_string_value(value);
        kn_sentence_words(&s, "%s--", s.used > 0 ? " " : "");
        for (const char *c = key; *c; c++)
            kn_sentence_words(&s, "%c", *c == '_' ? '-' : *c);
        if (given)
            kn_sentence_words(&s, " %s", given);
    }
    if (s.used == 0)
        kn_sentence_words(&s, "defaults");
    KN_TRY(kn_sentence_end(&s, &text));
    KN_TRY(add_fact(ctx, m->job->r, "options of the fit", text));
    const char *seed = kn_json_text_at(options, "seed");
    KN_TRY(add_fact(ctx, m->job->r, "seed of the fit", seed ? seed : "1"));
out:
    return status;
}

/* Adds the facts "folds of the reference sample" and "format of the model file". */
static kn_status add_numbers(kn_ctx *ctx, kn_methods *m)
{
    kn_status status = KN_OK;
    kn_report *r = m->job->r;
    const char *text;
    ptrdiff_t folds = kn_json_count_at(m->model, "cv.folds"),
              format = kn_json_count_at(m->model, "format_version");
    if (folds > 0) {
        KN_TRY(kn_arena_print(ctx, &r->arena, &text, "%td", folds));
        KN_TRY(add_fact(ctx, r, "folds of the reference sample", text));
    }
    if (format > 0) {
        KN_TRY(kn_arena_print(ctx, &r->arena, &text, "%td", format));
        KN_TRY(add_fact(ctx, r, "format of the model file", text));
    }
out:
    return status;
}

/* Appends the command of this report without options that do not affect the page: equal inputs give
 * equal bytes for any output path and number of threads. */
static kn_status add_command(kn_ctx *ctx, kn_methods *m)
{
    static const char *const WITHOUT[] = {"output", "figures", "json",    "threads", "memory",
                                          "force",  "quiet",   "verbose", NULL};
    kn_status status;
    const char *text;
    char *line = NULL;
    if (!m->job->options)
        return KN_OK;
    KN_TRY(kn_command_line_without(ctx, m->job->options, WITHOUT, &line));
    KN_TRY(kn_arena_print(ctx, &m->job->r->arena, &text, "%s --output report.html", line));
    KN_TRY(add_fact(ctx, m->job->r, "this report", text));
out:
    kn_free(line);
    return status;
}

/* Sets r->words.fact to the facts needed to reproduce the page: commands, hashes, options and
 * versions. */
static kn_status write_facts(kn_ctx *ctx, kn_methods *m)
{
    kn_status status;
    kn_report *r = m->job->r;
    void *memory;
    KN_TRY(kn_arena_alloc(ctx, &r->arena, MAX_FACTS, sizeof *r->words.fact, &memory));
    r->words.fact = memory;
    KN_TRY(add_command(ctx, m));
    for (int k = 0; k < N_OF_FOLDER; k++)
        KN_TRY(add_fact(ctx, r, OF_FOLDER[k].name, kn_json_text_at(m->folder, OF_FOLDER[k].path)));
    for (int k = 0; k < N_OF_MODEL; k++)
        KN_TRY(add_fact(ctx, r, OF_MODEL[k].name, kn_json_text_at(m->model, OF_MODEL[k].path)));
    KN_TRY(add_options(ctx, m));
    KN_TRY(add_numbers(ctx, m));
    KN_TRY(add_fact(ctx, r, "kronorm version of this report", kn_version()));
out:
    return status;
}

/* ---- title ---- */

/* Returns the file name in a path, behind its last slash; NULL stays NULL. */
static const char *last_component(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash && slash[1] ? slash + 1 : path;
}

/* Sets r->title to {title}, or to one from what is shown: number of participants and model. */
static kn_status make_title(kn_ctx *ctx, const kn_report_job *job)
{
    kn_report *r = job->r;
    const ptrdiff_t n = r->participants.n;
    const char *model = job->m->model ? last_component(job->s->model) : NULL,
               *dir = last_component(job->m->dir), *by = "Normative modelling report",
               *what = n == 1 ? "participant" : "participants";
    if (job->s->title)
        return kn_arena_text(ctx, &r->arena, job->s->title, &r->title);
    if (job->m->kind == KN_INPUT_CV || !model)
        return kn_arena_print(ctx, &r->arena, &r->title, "%s: %td %s, cross-validated, %s", by, n,
                              what, dir);
    if (n == 0) /* a de-identified model */
        return kn_arena_print(ctx, &r->arena, &r->title, "%s: %s", by, model);
    if (job->m->kind == KN_INPUT_MODEL)
        what = n == 1 ? "training participant" : "training participants";
    if (job->m->kind == KN_INPUT_CHANGE)
        what = n == 1 ? "change" : "changes";
    return kn_arena_print(ctx, &r->arena, &r->title, "%s: %td %s, %s", by, n, what, model);
}

/* ---- all ---- */

kn_status kn_compute_methods(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    kn_methods m = {.job = job, .sentence = {.ctx = ctx, .arena = &job->r->arena}};
    KN_TRY(kn_json_parse(ctx, "the model's record", job->m->model_json, &m.model));
    KN_TRY(kn_json_parse(ctx, "summary.json", job->m->summary_json, &m.folder));
    KN_TRY(make_title(ctx, job));
    KN_TRY(write_paragraphs(ctx, &m));
    KN_TRY(write_references(ctx, &m));
    KN_TRY(write_facts(ctx, &m));
out:
    kn_free(m.sentence.text);
    json_decref(m.model);
    json_decref(m.folder);
    return status;
}
