/* Implements methods_text.h: each sentence is written only if it holds for this model and
 * folder. */
#include "report/compute/methods_text.h"

#include <math.h>
#include <string.h>

#include "report/input/command_option.h"
#include "report/input/json_path.h"

void kn_methods_cite(kn_methods *m, kn_paper paper, const char *words)
{
    m->cited[paper] = true;
    kn_sentence_words(&m->say, "%s", words);
}

/* ---- the model ---- */

static void say_covariates(kn_methods *m)
{
    const json_t *columns = kn_json_at(m->model, "recipe.columns");
    ptrdiff_t n = (ptrdiff_t)json_array_size(columns);
    if (n == 0)
        return;
    kn_sentence_words(&m->say, " The covariate%s ", n == 1 ? " was" : "s were");
    for (ptrdiff_t k = 0; k < n; k++) {
        const json_t *c = json_array_get(columns, (size_t)k);
        const char *kind = kn_json_text_at(c, "kind"), *name = kn_json_text_at(c, "name");
        size_t levels = json_array_size(kn_json_at(c, "levels"));
        kn_sentence_and(&m->say, k, n);
        kn_sentence_words(&m->say, "%s", name ? name : "one without a name");
        if (kind && strcmp(kind, "categorical") == 0)
            kn_sentence_words(&m->say,
                              kn_json_true_at(c, "batch") ? " (%zu levels, a batch effect)"
                                                          : " (%zu levels)",
                              levels);
    }
    kn_sentence_words(&m->say, ".");
}

/* Shares of the signal per term, and the length of the smooth term. */
static void say_terms(kn_methods *m)
{
    static const double SHOWN = 5e-4; /* smallest share shown, not 0.0 % */
    const json_t *terms = kn_json_at(m->model, "theta.terms"),
                 *weights = kn_json_at(m->model, "theta.weights");
    ptrdiff_t n = (ptrdiff_t)json_array_size(terms);
    double length = kn_json_number_at(m->model, "theta.length");
    const char *units = kn_json_text_at(m->model, "theta.length_units");
    if (n == 0 || json_array_size(weights) != (size_t)n)
        return;
    kn_sentence_words(
        &m->say,
        " How people resemble each other by their covariates was a sum of terms, with these "
        "shares of the predictable variance: ");
    for (ptrdiff_t k = 0; k < n; k++) {
        const char *name = json_string_value(json_array_get(terms, (size_t)k));
        double w = json_number_value(json_array_get(weights, (size_t)k));
        kn_sentence_and(&m->say, k, n);
        kn_sentence_words(&m->say, "%s ", name ? name : "a term");
        kn_sentence_percent(&m->say, w);
        if (name && strcmp(name, "smooth") == 0 && w >= SHOWN && isfinite(length) && units) {
            kn_sentence_words(&m->say, " (squared exponential, length-scale ");
            kn_sentence_figures(&m->say, length, 3);
            kn_sentence_words(&m->say, strcmp(units, "sd") == 0 ? " %s)" : " in units of %s)",
                              units);
        }
    }
    kn_sentence_words(&m->say, ".");
}

static void say_components(kn_methods *m)
{
    ptrdiff_t P = kn_json_count_at(m->model, "n_components");
    size_t tried = json_array_size(kn_json_at(m->model, "components_curve"));
    const char *basis = kn_json_text_at(m->model, "basis");
    if (P == 0 || P >= m->job->m->T) /* none, or as many as there are responses */
        return;
    if (basis && *basis)
        kn_sentence_words(&m->say, " Responses were expressed in %td components of a basis (%s)", P,
                          basis);
    else
        kn_sentence_words(&m->say, " The model had %td components", P);
    if (tried > 1)
        kn_sentence_words(&m->say, ", their number chosen among %zu by the loss in held-out people",
                          tried);
    kn_sentence_words(&m->say, ".");
}

static void say_noise(kn_methods *m)
{
    const kn_model *model = m->job->m->model;
    const char *noise = model ? kn_model_text(model, "noise") : NULL;
    bool components =
        /* Otherwise responses are modelled separately. */
        kn_json_count_at(m->model, "n_components") > 0;
    bool held_out = kn_json_count_at(m->model, "cv.folds") > 0;
    if (noise && strcmp(noise, "structured") == 0 && components)
        kn_sentence_words(
            &m->say, " Every component had a variance of signal and one of noise%s.",
            held_out ? "; the noise variance of each response was estimated from held-out residuals"
                     : "");
    if (noise && strcmp(noise, "iso") == 0)
        kn_sentence_words(&m->say, " The noise had one variance for all responses.");
    if (noise && strcmp(noise, "whitened") == 0)
        kn_sentence_words(&m->say,
                          " Every response had a noise variance of its own within the model.");
}

/* Repairs of the data, and corrections of the predictions. */
static void say_repairs(kn_methods *m)
{
    double missing = kn_json_number_at(m->model, "missing.share");
    double slope = kn_json_number_at(m->model, "theta.slope_mean");
    if (missing > 0) {
        kn_sentence_words(&m->say, " ");
        kn_sentence_percent(&m->say, missing);
        kn_sentence_words(
            &m->say, " of the cells were missing and were completed from the other responses.");
    }
    if (isfinite(slope)) {
        kn_sentence_words(&m->say,
                          " Predictions of each response were scaled by a slope learned from "
                          "held-out people (mean ");
        kn_sentence_fixed(&m->say, slope, 2);
        kn_sentence_words(&m->say, ").");
    }
}

/* For cv, which has no single model. */
static void say_held_out(kn_methods *m)
{
    char folds[32], leave[256];
    const char *command = kn_json_text_at(m->folder, "command");
    const char *version = kn_json_text_at(m->folder, "software.kronorm");
    kn_sentence_words(
        &m->say,
        "%td people were scored on %td responses with kronorm %s, each by a normative model",
        m->job->m->n, m->job->m->T, version ? version : kn_version());
    kn_methods_cite(m, KN_PAPER_NORMATIVE, " (Marquand et al., 2016) fitted without them");
    if (kn_command_option(command, "--leave", leave, sizeof leave))
        kn_sentence_words(&m->say, ", the people of one level of %s left out after the other",
                          leave);
    else if (kn_command_option(command, "--folds", folds, sizeof folds))
        kn_sentence_words(&m->say, " (%s folds)", folds);
    kn_sentence_words(&m->say, ".");
}

void kn_methods_model(kn_methods *m)
{
    const kn_report_input *of = m->job->m;
    const char *words = kn_report_input_method(of, "words");
    const char *kind = kn_json_text_at(m->model, "responses_kind");
    const char *what = !kind || strcmp(kind, "image") != 0         ? "responses"
                       : m->job->r->space.kind == KN_REPORT_VOLUME ? "voxels"
                                                                   : "vertices";
    if (of->kind == KN_MATERIAL_CV) {
        say_held_out(m);
        return;
    }
    if (!words)
        return;
    kn_sentence_words(&m->say, "A normative model");
    kn_methods_cite(m, KN_PAPER_NORMATIVE, " (Marquand et al., 2016)");
    kn_sentence_words(&m->say, " of %td %s was fitted to ", of->T, what);
    if (of->units < of->N) /* rows of one participant, or of relatives */
        kn_sentence_words(&m->say, "%td maps in %td groups that share noise", of->N, of->units);
    else
        kn_sentence_words(&m->say, "%td people", of->N);
    kn_sentence_words(&m->say, " with kronorm (this text: version %s) by %s (%s; %s)", kn_version(),
                      words, kn_report_input_method(of, "title"),
                      kn_report_input_method(of, "cite"));
    kn_methods_cite(m, KN_PAPER_METHOD, ".");
    say_covariates(m);
    say_terms(m);
    say_components(m);
    say_noise(m);
    say_repairs(m);
    kn_methods_cite(m, KN_PAPER_PROCESSES,
                    " Gaussian processes are described by Rasmussen & Williams (2006).");
}

/* ---- calibration ---- */

static void say_layer(kn_methods *m)
{
    const json_t *parts = kn_json_at(m->model, "calibration.parts");
    double nu = kn_json_number_at(m->model, "calibration.nu");
    if (!(nu > 0))
        return;
    kn_sentence_words(&m->say, " z was made standard normal by Student's t distribution with ");
    kn_sentence_fixed(&m->say, nu, 0);
    kn_sentence_words(&m->say, " degrees of freedom");
    if (kn_json_true_at(parts, "line.kept") || kn_json_true_at(parts, "curve.kept"))
        kn_sentence_words(&m->say, ", with a noise variance that depends on the covariates%s",
                          kn_json_true_at(parts, "curve.kept") ? " by a line and a square" : "");
    if (kn_json_true_at(parts, "batch.kept"))
        kn_sentence_words(&m->say, ", with a noise variance of each site");
    if (kn_json_true_at(parts, "shape.kept"))
        kn_methods_cite(
            m, KN_PAPER_SHASH,
            ", and by a sinh-arcsinh transformation for skew and tails of each response (Jones & "
            "Pewsey, 2009)");
    kn_sentence_words(&m->say, ".");
}

/* Held-out participants: training by its folds, or all participants of a cv folder. */
static void say_folds(kn_methods *m)
{
    const bool cv = m->job->m->kind == KN_MATERIAL_CV;
    ptrdiff_t folds = kn_json_count_at(m->model, "cv.folds");
    double z2 =
        cv ? kn_json_number_at(m->folder, "calibration.z2") : kn_json_number_at(m->model, "cv.z2");
    double msll =
        cv ? kn_json_number_at(m->folder, "metrics.MSLL") : kn_json_number_at(m->model, "cv.msll");
    double coverage = cv ? kn_json_number_at(m->folder, "calibration.coverage95")
                         : kn_json_number_at(m->model, "cv.coverage95");
    if ((folds == 0 && !cv) || !isfinite(z2))
        return;
    if (cv)
        kn_sentence_words(&m->say, " The mean of z squared was ");
    else
        kn_sentence_words(
            &m->say,
            "%sIn the training people, each predicted without their own fold (%td folds), "
            "the mean of "
            "z squared was ",
            m->say.used > 0 ? " " : "", folds);
    kn_sentence_fixed(&m->say, z2, 3);
    if (isfinite(msll)) {
        kn_sentence_words(&m->say, ", the mean standardised log loss ");
        kn_sentence_fixed(&m->say, msll, 3);
    }
    if (isfinite(coverage)) {
        kn_sentence_words(&m->say, ", and ");
        kn_sentence_percent(&m->say, coverage);
        kn_sentence_words(&m->say, " of the values lay within the central 95 %%");
    }
    kn_sentence_words(&m->say, ".");
}

static void say_adaptation(kn_methods *m)
{
    const json_t *sites = kn_json_at(m->model, "adapted");
    ptrdiff_t n = (ptrdiff_t)json_array_size(sites), controls = 0;
    for (ptrdiff_t k = 0; k < n; k++)
        controls += kn_json_count_at(json_array_get(sites, (size_t)k), "controls");
    if (n > 0)
        kn_sentence_words(
            &m->say,
            " The model was adapted to %td site%s that training did not have, with %td control%s.",
            n, n == 1 ? "" : "s", controls, controls == 1 ? "" : "s");
}

void kn_methods_calibration(kn_methods *m)
{
    if (m->job->m->kind !=
        /* Z-scores are of differences, with a reference distribution of their own. */
        KN_MATERIAL_CHANGE) {
        kn_sentence_words(&m->say,
                          "A deviation score z is the difference of a value from its "
                          "prediction, over the root of "
                          "the sum of the variance of the prediction and that of the noise.");
        say_layer(m);
    }
    say_folds(m);
    say_adaptation(m);
}

/* ---- abnormality ---- */

/* The reference sample of a scored participant's statistic. */
static void say_compared(kn_methods *m, const char *reference)
{
    ptrdiff_t people = kn_json_count_at(m->model, "reference.people");
    if (reference && strcmp(reference, "loo") == 0)
        kn_sentence_words(&m->say, " %td training people, each left out by itself", people);
    else if (reference && strcmp(reference, "cv") != 0)
        kn_sentence_words(&m->say, " scored people with %s", reference);
    else
        kn_sentence_words(&m->say, " %td training people, each without their own fold", people);
}

static void say_p(kn_methods *m)
{
    char reference[256];
    double smallest = kn_json_number_at(m->folder, "abnormality.smallest_p");
    const kn_report *r = m->job->r;
    if (r->kind == KN_REPORT_MODEL)
        kn_sentence_words(&m->say, " Its p is the rank of a training person among the others.");
    if (r->kind == KN_REPORT_CV)
        kn_sentence_words(
            &m->say, " Its p is against the training people of the model that scored the person.");
    if (r->kind != KN_REPORT_SCORE || !isfinite(smallest))
        return;
    bool given = kn_command_option(kn_json_text_at(m->folder, "command"), "--reference", reference,
                                   sizeof reference);
    kn_sentence_words(
        &m->say,
        json_is_object(kn_json_at(m->folder, "gev"))
            ? " Its p is the upper tail of a generalised extreme value distribution fitted to the "
              "statistics of the"
            : " Its p is the rank among the statistics of the");
    say_compared(m, given ? reference : NULL);
    kn_sentence_words(&m->say, "; p below %s are not told apart.", kn_format_p(smallest).text);
}

void kn_methods_abnormality(kn_methods *m)
{
    const kn_report *r = m->job->r;
    bool some = false, deviance = false, fdr = false;
    for (ptrdiff_t i = 0; i < r->people.n; i++) {
        some = some || isfinite(r->people.person[i].statistic);
        deviance = deviance || isfinite(r->people.person[i].deviance_p);
        fdr = fdr || isfinite(r->people.person[i].fdr_positive);
    }
    if (!some)
        return;
    kn_methods_cite(m, KN_PAPER_NORMATIVE,
                    "The abnormality of a person was summarised by the trimmed mean of the largest "
                    "|z|, a statistic of "
                    "extremes (Marquand et al., 2016).");
    say_p(m);
    if (deviance && r->kind != KN_REPORT_CHANGE)
        kn_sentence_words(&m->say,
                          " The whole map was judged by its joint deviance, a squared distance "
                          "that takes into account "
                          "how the z of normal people vary together, with p by rank.");
    if (fdr)
        kn_methods_cite(m, KN_PAPER_FDR,
                        " Within a person, single responses were controlled for false discoveries "
                        "at 5 % (Benjamini & "
                        "Hochberg, 1995).");
}

/* ---- participants ---- */

static void say_group(kn_methods *m)
{
    const kn_report_group *g = &m->job->r->group;
    ptrdiff_t tested = 0; /* responses without variance or with a single participant have no t */
    if (!g->known)
        return;
    kn_sentence_words(&m->say, "%s%td labelled %s%s%s%s compared with %td %s.",
                      m->say.used > 0 ? " " : "", g->labelled,
                      g->labelled == 1 ? "person" : "people", g->label ? " (" : "",
                      g->label ? g->label : "",
                      g->label && g->labelled == 1 ? ") was"
                      : g->label                   ? ") were"
                      : g->labelled == 1           ? " was"
                                                   : " were",
                      g->others, g->others == 1 ? "other" : "others");
    for (ptrdiff_t k = 0; k < g->rocs; k++) {
        kn_sentence_words(&m->say, k == 0 ? " The area under the ROC curve was " : " and ");
        kn_sentence_fixed(&m->say, g->roc[k].auc, 2);
        kn_sentence_words(&m->say, " for the %s", g->roc[k].name);
        if (isfinite(g->roc[k].low)) {
            kn_methods_cite(m, KN_PAPER_AUC,
                            k == 0 ? " (95 % interval by DeLong et al., 1988, " : " (");
            kn_sentence_fixed(&m->say, g->roc[k].low, 2);
            kn_sentence_words(&m->say, " to ");
            kn_sentence_fixed(&m->say, g->roc[k].high, 2);
            kn_sentence_words(&m->say, ")");
        }
    }
    kn_sentence_words(&m->say, g->rocs > 0 ? "." : "");
    if (isfinite(g->share_p)) {
        kn_sentence_words(&m->say, " Shares of responses beyond |z| = ");
        kn_sentence_figures(&m->say, m->job->r->people.threshold, 3);
        kn_sentence_words(&m->say, " were compared by the %s Mann-Whitney test (",
                          g->share_exact ? "exact" : "asymptotic");
        kn_sentence_p(&m->say, g->share_p, false);
        kn_sentence_words(&m->say, ").");
    }
    for (ptrdiff_t j = 0; g->q && j < m->job->r->responses.T; j++)
        tested += !isnan(g->q[j]);
    if (tested > 0)
        kn_methods_cite(m, KN_PAPER_FDR,
                        " Responses were compared one by one with Welch's t-test, controlled for "
                        "false discoveries "
                        "(Benjamini & Hochberg, 1995)");
    if (tested > 0)
        kn_sentence_words(&m->say, ": %td of %td at 5 %%.", g->significant, tested);
}

static void say_change(kn_methods *m)
{
    const kn_report_change *c = &m->job->r->change;
    kn_sentence_words(&m->say,
                      "Change between visits was judged in %td pairs of visits of %td people",
                      c->pairs, c->people);
    if (c->reference_people > 0)
        kn_sentence_words(&m->say, " against that of %td stable people", c->reference_people);
    if (c->interval_low > 0) {
        kn_sentence_words(&m->say, ", ");
        kn_sentence_figures(&m->say, c->interval_low, 3);
        kn_sentence_words(&m->say, " to ");
        kn_sentence_figures(&m->say, c->interval_high, 3);
        kn_sentence_words(&m->say, " apart%s%s", c->interval_units ? " by " : "",
                          c->interval_units ? c->interval_units : "");
    }
    kn_methods_cite(m, KN_PAPER_MODERATED,
                    ": the residual of the second visit less that of the first, with variances "
                    "moderated across responses "
                    "(Smyth, 2004)");
    if (c->formula && strcmp(c->formula, "conditional") == 0 && isfinite(c->gamma)) {
        kn_sentence_words(&m->say, " and regression to the mean (slope ");
        kn_sentence_fixed(&m->say, c->gamma, 2);
        kn_sentence_words(&m->say, ") taken out");
    }
    kn_sentence_words(&m->say, ". p are ranks among the pairs of the stable people.");
}

static void say_scored(kn_methods *m)
{
    const char *version = kn_json_text_at(m->folder, "software.kronorm");
    const ptrdiff_t n = m->job->r->people.n;
    kn_sentence_words(&m->say, "%td %s scored with the model%s%s.", n,
                      n == 1 ? "person was" : "people were", version ? " by kronorm " : "",
                      version ? version : "");
}

void kn_methods_people(kn_methods *m)
{
    const kn_report *r = m->job->r;
    if (r->kind == KN_REPORT_MODEL)
        return;
    if (r->kind == KN_REPORT_CHANGE) {
        say_change(m);
        return;
    }
    if (r->kind == KN_REPORT_SCORE)
        say_scored(m);
    say_group(m);
}
