/* Paragraphs of the methods section. Each sentence is written only if it holds for this model and
 * folder. */
#include "report/compute/internal.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "report/input/records.h"

/* Appends `words`, such as " (Kia & Marquand, 2018)", and marks the paper as cited. */
static void cite_work(kn_methods *m, kn_paper paper, const char *words)
{
    m->cited[paper] = true;
    kn_sentence_words(&m->sentence, "%s", words);
}

/* ---- participants and responses ---- */

typedef struct described { /* the participants that a sentence describes */
    bool training;         /* the training sample; else the scored participants ... */
    int label;             /* ... with this label; -1: all */
} described;

/* Returns whether participant i belongs to the group that a sentence describes. */
static bool is_described(const kn_methods *m, const described *group, ptrdiff_t i)
{
    return group->training || group->label < 0 ||
           m->job->r->participants.participant[i].label == group->label;
}

/* Appends " mean 50.4, SD 17.2, range 20.5 to 79.2" of the finite values x (n) of a group; nothing
 * without any. */
static void describe_number(kn_methods *m, const described *group, const double *x, ptrdiff_t n)
{
    double known = 0, mean = 0, ss = 0, low = INFINITY, high = -INFINITY;
    for (ptrdiff_t i = 0; i < n; i++)
        if (isfinite(x[i]) && is_described(m, group, i)) { /* Welford */
            const double d = x[i] - mean;
            mean += d / ++known;
            ss += d * (x[i] - mean);
            low = fmin(low, x[i]);
            high = fmax(high, x[i]);
        }
    if (known == 0)
        return;
    kn_sentence_words(&m->sentence, " mean ");
    kn_sentence_figures(&m->sentence, mean, 3);
    if (known > 1) {
        kn_sentence_words(&m->sentence, ", SD ");
        kn_sentence_figures(&m->sentence, sqrt(ss / (known - 1)), 3);
        kn_sentence_words(&m->sentence, ", range ");
        kn_sentence_figures(&m->sentence, low, 3);
        kn_sentence_words(&m->sentence, " to ");
        kn_sentence_figures(&m->sentence, high, 3);
    }
}

/* Appends " 48 F, 48 M", the counts of the levels x (n) of covariate c in a group, or the number of
 * levels if there are more than LISTED. */
static void describe_levels(kn_methods *m, const described *group, const kn_report_input_column *c,
                            const double *x, ptrdiff_t n)
{
    enum { LISTED = 12 };
    ptrdiff_t present = 0;
    for (int pass = 0; pass < 2; pass++) {
        ptrdiff_t k = 0;
        for (ptrdiff_t l = 0; l < c->levels; l++) {
            ptrdiff_t count = 0;
            for (ptrdiff_t i = 0; i < n; i++)
                count += x[i] == (double)l && is_described(m, group, i);
            if (count == 0)
                continue;
            if (pass == 1 && present <= LISTED)
                kn_sentence_words(&m->sentence, "%s %td %s", k > 0 ? "," : "", count, c->level[l]);
            k++;
        }
        present = k;
    }
    if (present > LISTED)
        kn_sentence_words(&m->sentence, " %td levels", present);
}

/* Appends " (age: mean 50.4, SD 17.2, range 20.5 to 79.2; sex: 48 F, 48 M)": the covariates of the
 * participants described; nothing if they are not known. O(participants x levels). */
static void describe_characteristics(kn_methods *m, const described *group)
{
    const kn_report_input *input = m->job->m;
    ptrdiff_t written = 0;
    for (ptrdiff_t k = 0; k < input->C; k++) {
        const kn_report_input_column *c = &input->column[k];
        const double *x = group->training ? c->training : c->scored;
        const ptrdiff_t n = group->training ? input->N : input->n;
        ptrdiff_t known = 0;
        for (ptrdiff_t i = 0; x && i < n; i++)
            known += isfinite(x[i]) && is_described(m, group, i);
        if (known == 0)
            continue;
        kn_sentence_words(&m->sentence, "%s%s:", written++ > 0 ? "; " : " (", c->name);
        if (c->numeric)
            describe_number(m, group, x, n);
        else
            describe_levels(m, group, c, x, n);
    }
    kn_sentence_words(&m->sentence, written > 0 ? ")" : "");
}

/* Appends " (Desikan-Killiany atlas, in mm)", as far as it is known. */
static void describe_responses(kn_methods *m)
{
    const kn_report *r = m->job->r;
    const char *atlas = r->space.atlas, *unit = r->unit;
    if (atlas || unit)
        kn_sentence_words(&m->sentence, " (%s%s%s%s%s)", atlas ? atlas : "", atlas ? " atlas" : "",
                          atlas && unit ? ", " : "", unit ? "in " : "", unit ? unit : "");
}

/* ---- the model ---- */

/* Appends a sentence that lists the model's covariates and the numbers of levels of categories. */
static void describe_covariates(kn_methods *m)
{
    const json_t *columns = kn_json_at(m->model, "recipe.columns");
    ptrdiff_t n = (ptrdiff_t)json_array_size(columns);
    if (n == 0)
        return;
    kn_sentence_words(&m->sentence, " The covariate%s ", n == 1 ? " was" : "s were");
    for (ptrdiff_t k = 0; k < n; k++) {
        const json_t *c = json_array_get(columns, (size_t)k);
        const char *kind = kn_json_text_at(c, "kind"), *name = kn_json_text_at(c, "name");
        size_t levels = json_array_size(kn_json_at(c, "levels"));
        kn_sentence_and(&m->sentence, k, n);
        kn_sentence_words(&m->sentence, "%s", name ? name : "one without a name");
        if (kind && strcmp(kind, "categorical") == 0)
            kn_sentence_words(&m->sentence,
                              kn_json_true_at(c, "batch") ? " (%zu levels, a batch effect)"
                                                          : " (%zu levels)",
                              levels);
    }
    kn_sentence_words(&m->sentence, ".");
}

/* Appends a sentence with the proportion of the predicted variance per term, and the length-scale
 * of the smooth term. */
static void describe_terms(kn_methods *m)
{
    static const double MIN_SHOWN = 5e-4; /* smallest share shown, not 0.0 % */
    const json_t *terms = kn_json_at(m->model, "theta.terms"),
                 *weights = kn_json_at(m->model, "theta.weights");
    ptrdiff_t n = (ptrdiff_t)json_array_size(terms);
    double length = kn_json_number_at(m->model, "theta.length");
    const char *units = kn_json_text_at(m->model, "theta.length_units");
    if (n == 0 || json_array_size(weights) != (size_t)n)
        return;
    kn_sentence_words(
        &m->sentence,
        " The covariance between participants was modelled as a sum of terms, with the following "
        "proportions of the predicted variance: ");
    for (ptrdiff_t k = 0; k < n; k++) {
        const char *name = json_string_value(json_array_get(terms, (size_t)k));
        double w = json_number_value(json_array_get(weights, (size_t)k));
        kn_sentence_and(&m->sentence, k, n);
        kn_sentence_words(&m->sentence, "%s ", name ? kn_report_term(name) : "a term");
        kn_sentence_percent(&m->sentence, w);
        if (name && strcmp(name, "smooth") == 0 && w >= MIN_SHOWN && isfinite(length) && units) {
            kn_sentence_words(&m->sentence, " (squared exponential, length-scale ");
            kn_sentence_figures(&m->sentence, length, 3);
            kn_sentence_words(&m->sentence,
                              strcmp(units, "sd") == 0 ? " standard deviations)"
                                                       : " in units of %s)",
                              units);
        }
    }
    kn_sentence_words(&m->sentence, ".");
}

/* Appends a sentence on the number of components and how it was chosen; none for methods without
 * components. */
static void describe_components(kn_methods *m)
{
    ptrdiff_t P = kn_json_count_at(m->model, "n_components");
    size_t tried = json_array_size(kn_json_at(m->model, "components_curve"));
    const char *basis = kn_json_text_at(m->model, "basis");
    if (P == 0 || P >= m->job->m->T) /* none, or as many as there are responses */
        return;
    if (basis && *basis)
        kn_sentence_words(&m->sentence,
                          " Responses were expressed in %td components of a basis (%s)", P, basis);
    else
        kn_sentence_words(&m->sentence, " The model had %td components", P);
    if (tried > 1)
        kn_sentence_words(&m->sentence,
                          "; this number was chosen from %zu candidates by the held-out loss",
                          tried);
    kn_sentence_words(&m->sentence, ".");
}

/* Appends a sentence on the noise model; none if it is not recorded. */
static void describe_noise(kn_methods *m)
{
    const kn_model *model = m->job->m->model;
    const char *noise = model ? kn_model_text(model, "noise") : NULL;
    bool components =
        /* Otherwise responses are modelled separately. */
        kn_json_count_at(m->model, "n_components") > 0;
    bool held_out = kn_json_count_at(m->model, "cv.folds") > 0;
    if (noise && strcmp(noise, "structured") == 0 && components)
        kn_sentence_words(
            &m->sentence, " Each component had one signal variance and one noise variance%s.",
            held_out ? "; the noise variance of each response was estimated from held-out residuals"
                     : "");
    if (noise && strcmp(noise, "iso") == 0)
        kn_sentence_words(&m->sentence, " All responses shared one noise variance.");
    if (noise && strcmp(noise, "whitened") == 0)
        kn_sentence_words(&m->sentence,
                          " Each response had its own noise variance within the model.");
}

/* Appends sentences on imputed values and on the shrinkage of predictions, if there were any. */
static void describe_repairs(kn_methods *m)
{
    double missing = kn_json_number_at(m->model, "missing.share");
    double outliers = kn_json_number_at(m->model, "missing.outliers");
    double slope = kn_json_number_at(m->model, "theta.slope_mean");
    if (missing > 0) {
        kn_sentence_words(&m->sentence, " ");
        kn_sentence_percent(&m->sentence, missing);
        kn_sentence_words(&m->sentence,
                          " of the values were missing and were imputed from the other responses.");
    }
    if (outliers > 0)
        kn_sentence_words(
            &m->sentence, " %s%.0f value%s far beyond all others and %s %s.",
            missing > 0 ? "Of these, " : "", outliers, outliers == 1 ? " was" : "s were",
            outliers == 1 ? "was" : "were",
            missing > 0 ? "treated as missing"
                        : "treated as missing and replaced by a regression on the covariates");
    if (isfinite(slope)) {
        kn_sentence_words(&m->sentence,
                          " The predictions of each response were multiplied by a shrinkage factor "
                          "estimated from held-out participants (mean ");
        kn_sentence_fixed(&m->sentence, slope, 2);
        kn_sentence_words(&m->sentence, ").");
    }
}

/* Appends the sentences on the models of a cross-validation, which has no single model. */
static void describe_cross_validation(kn_methods *m)
{
    char folds[32], held_out_column[256];
    const char *command = kn_json_text_at(m->folder, "command");
    const char *version = kn_json_text_at(m->folder, "software.kronorm");
    const char *words = kn_report_input_method(m->job->m, "words");
    kn_sentence_words(&m->sentence, "%td participant%s", m->job->m->n,
                      m->job->m->n == 1 ? "" : "s");
    describe_characteristics(m, &(described){.label = -1});
    kn_sentence_words(&m->sentence,
                      " %s scored on %td %s with kronorm %s, each by a normative model",
                      m->job->m->n == 1 ? "was" : "were", m->job->m->T,
                      kn_report_nouns(m->job->r, m->job->m->T), version ? version : kn_version());
    cite_work(m, KN_PAPER_NORMATIVE,
              " (Marquand et al., 2016) that was fitted without this participant");
    if (kn_command_option(command, "--leave-out", held_out_column, sizeof held_out_column))
        kn_sentence_words(&m->sentence, " (leave-one-%s-out cross-validation)", held_out_column);
    else if (kn_command_option(command, "--folds", folds, sizeof folds))
        kn_sentence_words(&m->sentence, " (cross-validation in %s folds)", folds);
    else
        kn_sentence_words(&m->sentence, " (cross-validation)");
    kn_sentence_words(&m->sentence, ".");
    if (words) {
        kn_sentence_words(&m->sentence, " The models were fitted by %s (%s; %s)", words,
                          kn_report_input_method(m->job->m, "title"),
                          kn_report_input_method(m->job->m, "cite"));
        cite_work(m, KN_PAPER_METHOD, ".");
    }
}

void kn_methods_model(kn_methods *m)
{
    const kn_report_input *input = m->job->m;
    const char *words = kn_report_input_method(input, "words");
    const char *kind = kn_json_text_at(m->model, "responses_kind");
    const char *responses_noun = !kind || strcmp(kind, "image") != 0         ? "responses"
                                 : m->job->r->space.kind == KN_REPORT_VOLUME ? "voxels"
                                                                             : "vertices";
    if (input->kind == KN_INPUT_CV) {
        describe_cross_validation(m);
        return;
    }
    if (!words)
        return;
    kn_sentence_words(&m->sentence, "A normative model");
    cite_work(m, KN_PAPER_NORMATIVE, " (Marquand et al., 2016)");
    kn_sentence_words(&m->sentence, " of %td %s", input->T, responses_noun);
    describe_responses(m);
    kn_sentence_words(&m->sentence, " was fitted to ");
    if (input->units < input->N) /* rows of one participant, or of relatives */
        kn_sentence_words(&m->sentence, "%td maps in %td groups that share noise", input->N,
                          input->units);
    else
        kn_sentence_words(&m->sentence, "%td participants", input->N);
    describe_characteristics(m, &(described){.training = true});
    kn_sentence_words(&m->sentence, " with kronorm %s by %s (%s; %s)", kn_version(), words,
                      kn_report_input_method(input, "title"),
                      kn_report_input_method(input, "cite"));
    cite_work(m, KN_PAPER_METHOD, ".");
    describe_covariates(m);
    describe_terms(m);
    describe_components(m);
    describe_noise(m);
    describe_repairs(m);
    cite_work(m, KN_PAPER_PROCESSES,
              " Gaussian processes are described by Rasmussen & Williams (2006).");
}

/* ---- calibration ---- */

/* Appends a sentence on the transform to z-scores: degrees of freedom, and which of its parts were
 * kept. */
static void describe_calibration(kn_methods *m)
{
    const json_t *parts = kn_json_at(m->model, "calibration.parts");
    double nu = kn_json_number_at(m->model, "calibration.nu");
    if (!(nu > 0))
        return;
    kn_sentence_words(
        &m->sentence,
        " z-scores were transformed to a standard normal distribution using Student's "
        "t distribution with ");
    kn_sentence_fixed(&m->sentence, nu, 0);
    kn_sentence_words(&m->sentence, " degrees of freedom");
    if (kn_json_true_at(parts, "line.kept") || kn_json_true_at(parts, "curve.kept"))
        kn_sentence_words(&m->sentence, ", with a noise variance that depends on the covariates%s",
                          kn_json_true_at(parts, "curve.kept") ? " (linear and quadratic terms)"
                                                               : "");
    if (kn_json_true_at(parts, "batch.kept"))
        kn_sentence_words(&m->sentence, ", with site-specific noise variance");
    if (kn_json_true_at(parts, "shape.kept"))
        cite_work(m, KN_PAPER_SHASH,
                  ", and a sinh-arcsinh transformation for the skewness and tails of each response "
                  "(Jones & Pewsey, 2009)");
    kn_sentence_words(&m->sentence, ".");
}

/* Appends a sentence with mean z squared, loss, gain and coverage of held-out participants: from
 * the cross-validation of the training sample, or from a cv folder. Nothing if they are not known.
 */
static void describe_folds(kn_methods *m)
{
    const bool cv = m->job->m->kind == KN_INPUT_CV;
    ptrdiff_t folds = kn_json_count_at(m->model, "cv.folds");
    double z2 =
        cv ? kn_json_number_at(m->folder, "calibration.z2") : kn_json_number_at(m->model, "cv.z2");
    double msll =
        cv ? kn_json_number_at(m->folder, "metrics.MSLL") : kn_json_number_at(m->model, "cv.msll");
    double gain =
        cv ? kn_json_number_at(m->folder, "metrics.gain") : kn_json_number_at(m->model, "cv.gain");
    double coverage = cv ? kn_json_number_at(m->folder, "calibration.coverage95")
                         : kn_json_number_at(m->model, "cv.coverage95");
    if ((folds == 0 && !cv) || !isfinite(z2))
        return;
    if (cv)
        kn_sentence_words(&m->sentence, " Mean z squared was ");
    else
        kn_sentence_words(
            &m->sentence,
            "%sIn cross-validation of the training sample (%td folds), mean z squared was ",
            m->sentence.used > 0 ? " " : "", folds);
    kn_sentence_fixed(&m->sentence, z2, 3);
    if (isfinite(msll)) {
        kn_sentence_words(&m->sentence, ", the mean standardised log loss was ");
        kn_sentence_fixed(&m->sentence, msll, 3);
    }
    if (isfinite(gain)) {
        kn_sentence_words(&m->sentence, ", the gain over a model without covariates ");
        kn_sentence_fixed(&m->sentence, gain, 3);
        kn_sentence_words(&m->sentence, " nats per response");
    }
    if (isfinite(coverage)) {
        kn_sentence_words(&m->sentence, ", and ");
        kn_sentence_percent(&m->sentence, coverage);
        kn_sentence_words(&m->sentence, " of z-scores lay within the central 95%% interval");
    }
    kn_sentence_words(&m->sentence, ".");
}

/* Appends a sentence on the sites that the model was adapted to; none if there are none. */
static void describe_adaptation(kn_methods *m)
{
    const json_t *sites = kn_json_at(m->model, "adapted");
    ptrdiff_t n = (ptrdiff_t)json_array_size(sites), controls = 0;
    for (ptrdiff_t k = 0; k < n; k++)
        controls += kn_json_count_at(json_array_get(sites, (size_t)k), "controls");
    if (n > 0)
        kn_sentence_words(&m->sentence,
                          " The model was adapted to %td new site%s using %td healthy control%s.",
                          n, n == 1 ? "" : "s", controls, controls == 1 ? "" : "s");
}

void kn_methods_calibration(kn_methods *m)
{
    if (m->job->m->kind !=
        /* Z-scores are of differences, with a reference distribution of their own. */
        KN_INPUT_CHANGE) {
        kn_sentence_words(&m->sentence,
                          "Deviation scores (z) were computed as the difference between observed "
                          "and predicted values, divided by the square root of the sum of the "
                          "predictive and noise variances.");
        describe_calibration(m);
    }
    describe_folds(m);
    describe_adaptation(m);
}

/* ---- abnormality ---- */

/* Appends the name of the reference sample of a scored participant's statistic. reference:
 * {reference} of the command; NULL: the default. */
static void describe_reference(kn_methods *m, const char *reference)
{
    ptrdiff_t participants = kn_json_count_at(m->model, "reference.participants");
    if (reference && strcmp(reference, "loo") == 0)
        kn_sentence_words(&m->sentence, "leave-one-out statistics of the %td training participants",
                          participants);
    else if (reference && strcmp(reference, "cv") != 0)
        kn_sentence_words(&m->sentence, "statistics of the scored participants with %s", reference);
    else
        kn_sentence_words(&m->sentence,
                          "cross-validated statistics of the %td training participants",
                          participants);
}

/* Appends a sentence on the p-values: by rank or by extreme-value distribution, and the smallest
 * possible one. */
static void describe_p(kn_methods *m)
{
    char reference[256];
    double smallest = kn_json_number_at(m->folder, "abnormality.smallest_p");
    const kn_report *r = m->job->r;
    if (r->kind == KN_REPORT_MODEL)
        kn_sentence_words(&m->sentence,
                          " Its p-value was computed from the rank of a training participant "
                          "among the others.");
    if (r->kind == KN_REPORT_CV)
        kn_sentence_words(
            &m->sentence,
            " Its p-value refers to the training sample of the model that scored the participant.");
    if (r->kind != KN_REPORT_SCORE || !isfinite(smallest))
        return;
    bool given = kn_command_option(kn_json_text_at(m->folder, "command"), "--reference", reference,
                                   sizeof reference);
    bool gev = json_is_object(kn_json_at(m->folder, "gev"));
    kn_sentence_words(&m->sentence,
                      gev ? " Its p-value is the upper-tail probability of a generalised extreme "
                            "value distribution fitted to the "
                          : " Its p-value was computed from the rank among the ");
    describe_reference(m, given ? reference : NULL);
    if (gev)
        kn_sentence_words(&m->sentence, "; p-values below %s are reported as p < %s.",
                          kn_format_p_bound(smallest).text, kn_format_p_bound(smallest).text);
    else
        kn_sentence_words(&m->sentence, "; the smallest possible one is reported as p ≤ %s.",
                          kn_format_p(smallest).text);
}

void kn_methods_abnormality(kn_methods *m)
{
    const kn_report *r = m->job->r;
    bool any = false, deviance = false, flag = false, fdr = false;
    for (ptrdiff_t i = 0; i < r->participants.n; i++) {
        any = any || isfinite(r->participants.participant[i].extreme_z);
        deviance = deviance || isfinite(r->participants.participant[i].deviance_p);
        flag = flag || isfinite(r->participants.participant[i].flag_p);
        fdr = fdr || isfinite(r->participants.participant[i].n_high_fdr);
    }
    if (!any)
        return;
    cite_work(m, KN_PAPER_NORMATIVE,
              "Each participant's deviation was summarised by an extreme-value statistic, the "
              "trimmed mean of the largest |z| (Marquand et al., 2016).");
    describe_p(m);
    if (deviance && r->kind != KN_REPORT_CHANGE)
        kn_sentence_words(
            &m->sentence,
            " The whole-map deviance is the squared Mahalanobis distance of a z-map, "
            "given the covariance of z-scores in the reference sample; its p-value was computed "
            "from the rank in the reference sample.");
    if (flag)
        kn_sentence_words(&m->sentence, " %s with p ≤ " KN_FLAG_P_TEXT " for the %s were flagged.",
                          r->kind == KN_REPORT_CHANGE ? "Pairs of visits" : "Participants",
                          kn_report_flag_title(r));
    if (fdr)
        cite_work(m, KN_PAPER_FDR,
                  " Within each participant, the false discovery rate of single responses was "
                  "controlled at 5% (Benjamini & Hochberg, 1995).");
}

/* ---- participants ---- */

/* Appends a sentence on how cases and other participants were compared; the numbers are in the
 * results. */
static void describe_group(kn_methods *m)
{
    const kn_report_group *g = &m->job->r->group;
    bool interval = false;
    ptrdiff_t tested = 0; /* responses without variance or with a single participant have no t */
    if (!g->known)
        return;
    for (ptrdiff_t k = 0; k < g->rocs; k++)
        interval = interval || isfinite(g->roc[k].low);
    for (ptrdiff_t j = 0; g->q && j < m->job->r->responses.T; j++)
        tested += !isnan(g->q[j]);
    kn_sentence_words(&m->sentence, "%sThe %td %s with %s %s compared with the %td %s by ",
                      m->sentence.used > 0 ? " " : "", g->labelled,
                      g->labelled == 1 ? "participant" : "participants", kn_report_cases(m->job->r),
                      g->labelled == 1 ? "was" : "were", g->others,
                      g->others == 1 ? "other participant" : "other participants");
    kn_sentence_words(&m->sentence, "the area under the ROC curve (AUC) of each statistic");
    if (interval)
        cite_work(m, KN_PAPER_AUC, " with a 95% confidence interval (DeLong et al., 1988)");
    if (isfinite(g->proportion_p)) {
        kn_sentence_words(&m->sentence, tested > 0 ? ", by" : " and by");
        kn_sentence_words(&m->sentence,
                          " the %s Mann-Whitney test of the proportion of responses "
                          "with |z| > ",
                          g->proportion_exact ? "exact" : "asymptotic");
        kn_sentence_figures(&m->sentence, m->job->r->participants.threshold, 3);
    }
    if (tested > 0)
        cite_work(m, KN_PAPER_FDR,
                  ", and response by response by Welch's t-test at a false discovery rate of "
                  "5% (Benjamini & Hochberg, 1995)");
    kn_sentence_words(&m->sentence, ".");
}

/* Appends sentences on the comparison of visits, its reference participants and its p-values. */
static void describe_change(kn_methods *m)
{
    const kn_report_change *c = &m->job->r->change;
    kn_sentence_words(&m->sentence,
                      "Change between visits was tested in %td pairs of visits of %td participants",
                      c->pairs, c->participants);
    if (c->reference_participants > 0)
        kn_sentence_words(&m->sentence, ", compared with that of %td stable participants",
                          c->reference_participants);
    if (c->interval_low > 0) {
        kn_sentence_words(&m->sentence, ", ");
        kn_sentence_figures(&m->sentence, c->interval_low, 3);
        kn_sentence_words(&m->sentence, " to ");
        kn_sentence_figures(&m->sentence, c->interval_high, 3);
        kn_sentence_words(&m->sentence, " apart%s%s", c->interval_units ? " in " : "",
                          c->interval_units ? c->interval_units : "");
    }
    cite_work(m, KN_PAPER_MODERATED,
              ". The change is the residual of the second visit minus that of the first, with "
              "variances moderated across responses (Smyth, 2004)");
    if (c->formula && strcmp(c->formula, "conditional") == 0 && isfinite(c->gamma)) {
        kn_sentence_words(&m->sentence, ", after removal of regression to the mean (slope ");
        kn_sentence_fixed(&m->sentence, c->gamma, 2);
        kn_sentence_words(&m->sentence, ")");
    }
    kn_sentence_words(
        &m->sentence,
        ". Its p-values were computed from ranks among the pairs of the stable participants.");
}

/* Appends a sentence on the scored participants with their characteristics, per group if there are
 * groups. */
static void describe_scored(kn_methods *m)
{
    const kn_report *r = m->job->r;
    const char *version = kn_json_text_at(m->folder, "software.kronorm");
    const ptrdiff_t n = r->participants.n;
    kn_sentence_words(&m->sentence, "%td %s scored with the model%s%s", n,
                      n == 1 ? "participant was" : "participants were",
                      version ? " by kronorm " : "", version ? version : "");
    if (!r->group.known) {
        describe_characteristics(m, &(described){.label = -1});
        kn_sentence_words(&m->sentence, ".");
        return;
    }
    kn_sentence_words(&m->sentence, ": %td with %s", r->group.labelled, kn_report_cases(r));
    describe_characteristics(m, &(described){.label = 1});
    kn_sentence_words(&m->sentence, " and %td other participant%s", r->group.others,
                      r->group.others == 1 ? "" : "s");
    describe_characteristics(m, &(described){.label = 0});
    kn_sentence_words(&m->sentence, ".");
}

void kn_methods_participants(kn_methods *m)
{
    const kn_report *r = m->job->r;
    if (r->kind == KN_REPORT_MODEL)
        return;
    if (r->kind == KN_REPORT_CHANGE) {
        describe_change(m);
        return;
    }
    if (r->kind == KN_REPORT_SCORE)
        describe_scored(m);
    describe_group(m);
}

/* ---- results ---- */

/* Appends calibration and accuracy to the results: the numbers of the table of calibration and of
 * the summary. */
static void describe_accuracy(kn_methods *m)
{
    const kn_report *r = m->job->r;
    const bool scored = r->calibration[1].n > 0;
    const kn_report_calibration *c = &r->calibration[scored];
    if (c->n > 0) {
        kn_sentence_words(&m->sentence, "In the %td %s%s%s", c->n,
                          !scored          ? "training "
                          : r->group.known ? "other "
                                           : "",
                          c->n == 1 ? "participant" : "participants",
                          scored ? "" : " (cross-validated)");
        kn_sentence_words(&m->sentence, ", mean z squared was ");
        kn_sentence_fixed(&m->sentence, c->z2, 2);
        if (isfinite(c->z2_low)) {
            kn_sentence_words(&m->sentence, " (95%% CI ");
            kn_sentence_fixed(&m->sentence, c->z2_low, 2);
            kn_sentence_words(&m->sentence, " to ");
            kn_sentence_fixed(&m->sentence, c->z2_high, 2);
            kn_sentence_words(&m->sentence, "; expected 1)");
        }
        kn_sentence_words(&m->sentence, " and ");
        kn_sentence_percent(&m->sentence, c->coverage[2]);
        kn_sentence_words(&m->sentence, " of z-scores lay within the central 95%% interval.");
    }
    if (isfinite(r->responses.mean_R2) && !r->responses.R2_of_training) {
        kn_sentence_words(&m->sentence, "%sOut-of-sample R² was ", m->sentence.used > 0 ? " " : "");
        kn_sentence_fixed(&m->sentence, r->responses.mean_R2, 2);
        if (isfinite(r->responses.mean_MSLL)) {
            kn_sentence_words(&m->sentence, " and the mean standardised log loss ");
            kn_sentence_fixed(&m->sentence, r->responses.mean_MSLL, 3);
        }
        kn_sentence_words(&m->sentence, ", averaged over %td %s.", r->responses.T,
                          kn_report_nouns(r, r->responses.T));
    }
}

/* Appends "18 of 20 (90.0%)". */
static void describe_count(kn_methods *m, kn_flag_counts count)
{
    kn_sentence_words(&m->sentence, "%td of %td (", count.flagged, count.n);
    kn_sentence_percent(&m->sentence, (double)count.flagged / (double)count.n);
    kn_sentence_words(&m->sentence, ")");
}

/* Appends the number of flagged participants of each group, and the number expected by chance. */
static void describe_flagged(kn_methods *m)
{
    const kn_report *r = m->job->r;
    const kn_report_participants *p = &r->participants;
    const bool change = r->kind == KN_REPORT_CHANGE;
    const char *noun = change ? "pairs of visits" : "participants";
    const kn_flag_counts controls = p->flag;
    if (controls.n + p->cases_flagged.n == 0 || r->kind == KN_REPORT_MODEL)
        return;
    const char *title = kn_report_flag_title(r);
    kn_sentence_words(&m->sentence, "%s%c%s was significant (p ≤ " KN_FLAG_P_TEXT ") in ",
                      m->sentence.used > 0 ? " " : "", toupper((unsigned char)*title), title + 1);
    if (p->cases_flagged.n > 0) {
        describe_count(m, p->cases_flagged);
        kn_sentence_words(&m->sentence, " %s with %s%s", noun, kn_report_cases(r),
                          controls.n > 0 ? " and in " : "");
    }
    if (controls.n > 0) {
        describe_count(m, controls);
        kn_sentence_words(&m->sentence, "%s %s", p->cases_flagged.n > 0 ? " other" : "", noun);
        if (isfinite(p->flagged_expected_low)) {
            kn_sentence_words(&m->sentence, ", where ");
            kn_sentence_fixed(&m->sentence, p->flagged_expected_low, 0);
            kn_sentence_words(&m->sentence, " to ");
            kn_sentence_fixed(&m->sentence, p->flagged_expected_high, 0);
            kn_sentence_words(&m->sentence, " are expected by chance");
        }
    }
    kn_sentence_words(&m->sentence, ".");
}

/* Appends AUC, burden and responses that differ between cases and other participants; nothing
 * without groups. */
static void describe_difference(kn_methods *m)
{
    const kn_report_group *g = &m->job->r->group;
    ptrdiff_t tested = 0;
    if (!g->known)
        return;
    for (ptrdiff_t k = 0; k < g->rocs; k++) {
        kn_sentence_words(&m->sentence, k == 0 ? " The AUC was " : " and ");
        kn_sentence_fixed(&m->sentence, g->roc[k].auc, 2);
        kn_sentence_words(&m->sentence, " for %s", g->roc[k].name);
        if (isfinite(g->roc[k].low)) {
            kn_sentence_words(&m->sentence, k == 0 ? " (95%% CI " : " (");
            kn_sentence_fixed(&m->sentence, g->roc[k].low, 2);
            kn_sentence_words(&m->sentence, " to ");
            kn_sentence_fixed(&m->sentence, g->roc[k].high, 2);
            kn_sentence_words(&m->sentence, ")");
        }
    }
    kn_sentence_words(&m->sentence, g->rocs > 0 ? "." : "");
    if (isfinite(g->proportion_p)) {
        kn_sentence_words(&m->sentence, " The median proportion of responses with |z| > ");
        kn_sentence_figures(&m->sentence, m->job->r->participants.threshold, 3);
        kn_sentence_words(&m->sentence, " was ");
        kn_sentence_percent(&m->sentence, g->proportion_median[0]);
        kn_sentence_words(&m->sentence, " with %s and ", kn_report_cases(m->job->r));
        kn_sentence_percent(&m->sentence, g->proportion_median[1]);
        kn_sentence_words(&m->sentence, " in the other participants (Mann-Whitney ");
        kn_sentence_p(&m->sentence, g->proportion_p, false);
        kn_sentence_words(&m->sentence, ").");
    }
    for (ptrdiff_t j = 0; g->q && j < m->job->r->responses.T; j++)
        tested += !isnan(g->q[j]);
    if (tested > 0)
        kn_sentence_words(&m->sentence,
                          " After FDR correction, %td of %td %s differed between the groups.",
                          g->significant, tested, kn_report_nouns(m->job->r, tested));
}

void kn_methods_results(kn_methods *m)
{
    if (m->job->r->kind != KN_REPORT_CHANGE) /* whose z-scores are of differences */
        describe_accuracy(m);
    describe_flagged(m);
    describe_difference(m);
}
