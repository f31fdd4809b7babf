/* Implements summary_text.h and kn_model_words() of kronorm.h: the model as lines of text, one
 * function per line. `kronorm info` prints these lines. */
#include "model/summary_text.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cov/additive.h"
#include "cov/simplex_weights.h"
#include "gp/method.h"
#include "stats/p_values.h"

enum { LINE = 4096 }; /* longest line; names are at most a quarter of it */

/* Name of covariate c; "covariate" if the model does not know names. */
static const char *column_name(const kn_model *m, ptrdiff_t c)
{
    return m->encoding.codes && c >= 0 && c < m->encoding.n ? m->encoding.column[c].name
                                                            : "covariate";
}

void kn_term_name(const kn_model *m, int k, char *out, size_t size)
{
    const kn_cov *cov = &m->gp.spec.sample;
    kn_term_origin o = {0};
    if (m->x.additive)
        o = kn_cov_origin(cov, &m->x, k);
    if (!o.what)
        snprintf(out, size, "%s", cov->term[k].kernel->name);
    else if (o.column < 0)
        snprintf(out, size, "%s", o.what);
    else if (o.second < 0)
        snprintf(out, size, "%s", column_name(m, o.column));
    else
        snprintf(out, size, "%s:%s", column_name(m, o.column), column_name(m, o.second));
}

double kn_length_in_units(const kn_model *m, char *units, size_t size)
{
    const kn_decomp *R0 = &m->gp.latent.cell[0].R0;
    for (int k = 0; k < R0->cov.n; k++) {
        const kn_term *t = &R0->cov.term[k];
        if (t->kernel->n_shape == 0 || R0->m == 0)
            continue;
        double length = exp(R0->theta[t->at + 1]);
        snprintf(units, size, "sd");
        for (ptrdiff_t c = 0; m->x.additive && m->x.Fc == 1 && c < m->x.C; c++)
            if (m->x.column[c].levels == 0 && m->x.column[c].x == 0) {
                snprintf(units, size, "%s", column_name(m, c));
                return length * m->x.sd[c];
            }
        return length;
    }
    snprintf(units, size, "%s", "");
    return NAN;
}

double kn_group_noise_proportion(const kn_model *m)
{
    return m->gp.latent.groups.n == 0 ? NAN : m->gp.method->group_noise_proportion(&m->gp);
}

double kn_mean_slope(const kn_model *m)
{
    double sum = 0;
    for (ptrdiff_t j = 0; m->gp.slope && j < m->gp.T; j++)
        sum += m->gp.slope[j] / (double)m->gp.T;
    return m->gp.slope ? sum : NAN;
}

/* ---- lines ---------------------------------------------------------------------------------- */

typedef struct text {
    char *data;
    size_t used, capacity;
    bool failed;
} text;

/* Append a formatted line (printf) to the growing text t. Lines longer than LINE are cut; without
 * memory t->failed is set and t is empty. */
__attribute__((format(printf, 2, 3))) static void append_text(text *t, const char *format, ...)
{
    char line[LINE];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    size_t n = strlen(line);
    if (t->failed)
        return;
    if (t->used + n + 1 > t->capacity) {
        char *more = realloc(t->data, t->capacity = 2 * (t->used + n + 1));
        if (!more) {
            free(t->data);
            *t = (text){.failed = true};
            return;
        }
        t->data = more;
    }
    memcpy(t->data + t->used, line, n + 1);
    t->used += n;
}

/* Append the line "signal:": the weights of the terms in percent, with the length scale of those
 * that have one; and a line if no component predicts. */
static void add_signal(text *t, const kn_model *m)
{
    const kn_decomp *R0 = &m->gp.latent.cell[0].R0;
    kn_cov_point at;
    static const double SHOWN = 5e-4; /* smallest share that does not print as 0.0% */
    double total, length;
    char name[LINE / 2], units[LINE / 2];
    if (R0->m == 0)
        return;
    kn_cov_point_of(&R0->cov, R0->theta, &at, &total);
    append_text(t, "signal: ");
    for (int k = 0; k < R0->cov.n; k++) {
        kn_term_name(m, k, name, sizeof name);
        append_text(t, "%s%s %.1f%%", k > 0 ? ", " : "", name, 100 * at.w[k]);
        if (R0->cov.term[k].kernel->n_shape > 0 && at.w[k] >= SHOWN) {
            length = kn_length_in_units(m, units, sizeof units);
            append_text(t,
                        strcmp(units, "sd") == 0 ? " (length-scale %.3g SD)"
                                                 : " (length-scale %.3g in %s)",
                        length, units);
        }
    }
    append_text(t, "\n");
    if (m->gp.P == 0 && m->gp.method->components)
        append_text(t, "prediction: no component predicts; the training mean is predicted for each "
                       "participant\n");
}

/* Append the line on a basis that the user gave: source, number of columns, and how much of a shift
 * common to all responses it represents. */
static void add_basis(text *t, const kn_model *m)
{
    const kn_fit_info *info = &m->info;
    if (info->basis_columns == 0)
        return;
    append_text(t, "basis: %s, %td columns; components are ", *info->basis ? info->basis : "given",
                info->basis_columns);
    if (m->gp.axes)
        append_text(t, "its principal axes (%td)", m->gp.P);
    else
        append_text(t, "its columns");
    append_text(t, "; it represents %.0f%% of a shift common to all responses\n",
                100 * info->basis_constant);
}

/* Append the line that the method writes about its own model, if it writes one. */
static void add_own(text *t, const kn_model *m)
{
    char line[LINE] = "";
    if (m->gp.method->describe)
        m->gp.method->describe(&m->gp, line, sizeof line);
    if (*line)
        append_text(t, "%s\n", line);
}

/* Append the line on the choice between structured and whitened noise, which only --noise auto
 * makes. */
static void add_noise(text *t, const kn_model *m)
{
    const kn_noise_choice *c = &m->info.noise_choice;
    if (c->tried)
        append_text(
            t,
            "noise: %s, chosen by held-out log density per map: structured %.2f nats, whitened "
            "%.2f, "
            "difference %.2f +- %.2f\n",
            m->info.noise == KN_NOISE_WHITENED ? "whitened" : "structured", c->structured,
            c->whitened, c->gain, c->se);
}

/* Append the line on repeated measures: how groups were found, and the proportion of noise that
 * their rows share. Nothing without groups. */
static void add_groups(text *t, const kn_model *m)
{
    static const char *const by[] = {"", "a column", "repeated IDs", "repeated covariates"};
    const kn_latent *l = &m->gp.latent;
    if (l->groups.n == 0 && m->grouped && !m->deidentified)
        append_text(
            t, "groups: kept together in folds; the model has no noise that their rows share\n");
    if (l->groups.n == 0)
        return;
    append_text(t, "groups: %td groups of repeated measures in %td rows", l->groups.n, l->groups.N);
    if (m->group_rule == KN_GROUP_COLUMN)
        append_text(t, ", by %s", m->group_column);
    else if (m->group_rule != KN_GROUP_NONE)
        append_text(t, ", by %s", by[m->group_rule]);
    append_text(t, "; %.1f%% of the noise%s is common to the rows of a group\n",
                100 * kn_group_noise_proportion(m),
                m->gp.method->components ? " of components" : "");
}

/* Append the levels of a category, such as " (F, M)" or " (batch effect: A, B)", at most ten of
 * them. */
static void add_levels(text *t, const kn_covariate *c)
{
    enum { MAX_COUNT = 10 };
    append_text(t, " (%s", c->batch ? "batch effect: " : "");
    for (ptrdiff_t k = 0; k < c->levels.n && k < MAX_COUNT; k++)
        append_text(t, "%s%s", k > 0 ? ", " : "", c->levels.text[k]);
    if (c->levels.n > MAX_COUNT)
        append_text(t, ", ... %td levels", c->levels.n);
    append_text(t, ")");
}

/* Append the covariates with their types, then per numeric covariate its range and the range to
 * which new participants are clamped. A lower limit below 0 is not printed if there are no negative
 * values. */
static void add_covariates(text *t, const kn_model *m)
{
    for (ptrdiff_t c = 0; c < m->encoding.n; c++) {
        const kn_covariate *r = &m->encoding.column[c];
        append_text(t, "%s%s", c == 0 ? "covariates: " : ", ", r->name);
        if (r->kind == KN_COVARIATE_CATEGORY)
            add_levels(t, r);
        else
            append_text(t, " (numeric)");
    }
    append_text(t, "%s", m->encoding.n > 0 ? "\n" : "");
    for (ptrdiff_t c = 0; m->encoding.codes && c < m->x.C; c++) {
        const kn_design_column *k = &m->x.column[c];
        const kn_covariate *r = &m->encoding.column[c];
        double low, high;
        if (k->levels > 0 && k->constant)
            append_text(t, "%s: '%s' in all participants%s\n", r->name, r->levels.text[0],
                        k->batch ? "" : ", excluded");
        else if (k->constant)
            append_text(t, "%s: %g in all participants, excluded\n", r->name, k->min);
        if (k->levels > 0 || k->constant)
            continue;
        kn_design_range(&m->x, c, &low, &high);
        if (low < 0 && k->min >= 0)
            append_text(t, "%s: %g to %g; new values are clamped to at most %g\n", r->name, k->min,
                        k->max, high);
        else
            append_text(t, "%s: %g to %g; new values are clamped to %g to %g\n", r->name, k->min,
                        k->max, low, high);
    }
}

/* Append a line on the training sites with the size of their effects, and a line per adapted
 * site. */
static void add_sites(text *t, const kn_model *m)
{
    const kn_sites *s = &m->sites;
    double between = 0;
    if (s->T > 0 && !s->between) {
        append_text(t, "sites: 1; other sites need 'kronorm adapt' with healthy controls\n");
    } else if (s->T > 0) {
        for (ptrdiff_t j = 0; j < s->T; j++)
            between += s->w[j] > 0 ? sqrt(s->tau2[j] / s->w[j]) / (double)s->T : 0;
        append_text(
            t,
            "sites: %td; SD between sites %.2f times the SD within sites; for other sites use "
            "'kronorm adapt' or the option unseen=prior\n",
            m->batch.S, between);
    }
    for (ptrdiff_t a = 0; a < m->adapted.n; a++) {
        const kn_adapted_site *site = &m->adapted.site[a];
        append_text(t, "adapted to ");
        for (ptrdiff_t k = 0; k < m->adapted.M; k++)
            append_text(t, "%s%s", k > 0 ? " " : "", m->adapted.level[a * m->adapted.M + k]);
        append_text(
            t,
            " with %td control%s: site effect %.2f times the typical size, noise variance %.2f "
            "times "
            "that of the training sites\n",
            site->controls, site->controls == 1 ? "" : "s", site->effect, site->factor);
    }
}

/* Append the mean shrinkage factor, and the result of the test whether adjacent rows of the
 * training table resemble each other. */
static void add_diagnostics(text *t, const kn_model *m)
{
    const kn_resemblance *n = &m->reference.neighbours;
    if (m->gp.slope)
        append_text(t, "shrinkage of predictions: mean factor %.3f, from held-out residuals\n",
                    kn_mean_slope(m));
    if (n->pairs > 0)
        append_text(
            t,
            "residual correlation of participants in adjacent rows: %.3f (expected by chance: "
            "%.3f)%s\n",
            n->correlation, n->chance,
            n->resemble ? "; is a site, scanner or session missing from the covariates?" : "");
}

/* Append the held-out gain of c in nats and its standard error to t: four decimals, or two
 * significant digits if four decimals would print as zero. */
static void append_gain(text *t, const kn_calibration_component *c)
{
    static const double ROUNDED = 5e-5;
    const bool small = c->gain != 0 && fabs(c->gain) < ROUNDED;
    append_text(t, small ? " (held-out gain %.1e +- %.1e)" : " (held-out gain %.4f +- %.4f)",
                c->gain, c->se);
}

/* Return why component k of l, which was kept, is used: its gain, the batch effect of the model, or
 * the option calibrate. The text is constant. */
static const char *explain_use(const kn_calibration_transform *l, int k)
{
    return l->component[k].gain > l->component[k].se ? "used"
           : k == KN_CALIBRATION_SITE                ? "used because the model has a batch effect"
                                                     : "used because of calibrate=full";
}

/* Append the line on the calibration: the degrees of freedom of Student's t, then the components
 * that were kept, then those that were not, with their held-out gains in nats. */
static void add_calibration(text *t, const kn_model *m)
{
    const kn_calibration_transform *l = &m->calibration;
    if (!(l->nu > 0)) {
        append_text(t, "calibration: none; z-scores are residuals divided by their SD\n");
        return;
    }
    append_text(t, "calibration: Student's t with %.0f degrees of freedom", l->nu);
    for (int kept = 1; kept >= 0; kept--)
        for (int k = 0; k < KN_CALIBRATION_COMPONENTS; k++)
            if (l->component[k].failed && kept == 0)
                append_text(t, "; not used: %s (its fit failed)",
                            kn_calibration_component_words[k]);
            else if (l->component[k].tried && l->component[k].kept == (kept == 1)) {
                append_text(t, "; %s: %s", kept ? explain_use(l, k) : "not used",
                            kn_calibration_component_words[k]);
                append_gain(t, &l->component[k]);
            }
    append_text(t, "\n");
}

double kn_smallest_p(const kn_model *m)
{
    const kn_reference *r = &m->reference;
    kn_tail_p_reference reference = {.n = r->n, .units = r->units, .has_gev = r->has_gev};
    return r->n > 0 ? kn_tail_p_smallest(&reference) : NAN;
}

double kn_smallest_deviance_p(const kn_model *m)
{
    const kn_deviance *d = &m->reference.deviance;
    return m->reference.has_deviance ? 1 / ((double)d->n_sorted + 1) : NAN;
}

/* Append the line on the reference sample: size, smallest p-value, and proportion of participants
 * with a significant response after FDR correction. */
static void add_reference(text *t, const kn_model *m)
{
    const kn_reference *r = &m->reference;
    if (r->n == 0) {
        append_text(t, "reference sample: none, and no p-values\n");
        return;
    }
    append_text(t, "reference sample: %td participants", r->n);
    if (r->units < r->n)
        append_text(t, " in %td groups", r->units);
    append_text(t, "; smallest extreme_z_p %.2g (%s)", kn_smallest_p(m),
                r->has_gev ? "extreme-value distribution" : "rank");
    if (isfinite(r->fdr_proportion))
        append_text(t, "; %.1f%% have a significant response after FDR correction",
                    100 * r->fdr_proportion);
    append_text(t, "\n");
}

/* Append the line on the reference for change between visits; nothing if the model has none. */
static void add_change(text *t, const kn_model *m)
{
    const kn_change_reference *r = &m->change;
    if (r->distribution.T == 0)
        return;
    append_text(t, "change between visits: reference of %td participants in %td pairs of visits",
                r->participants, r->pairs);
    if (r->interval_name)
        append_text(t, ", %g to %g apart in %s", r->interval[0], r->interval[1], r->interval_name);
    append_text(t, "; only their variances, means and sorted values are stored\n");
}

/* Append whether a de-identified model may be shared. Covariates can be reconstructed if the
 * process has more directions than half the number of participants; export warns of this too
 * [METHOD 8h]. */
static void add_sharing(text *t, const kn_model *m)
{
    ptrdiff_t limit = 0;
    for (int k = 0; k < m->gp.latent.n_cells; k++)
        limit = m->gp.latent.cell[k].R0.m > limit ? m->gp.latent.cell[k].R0.m : limit;
    if (m->deidentified)
        append_text(t, "shareable: %s; training participants are scored like new ones\n",
                    2 * limit > m->info.n_samples
                        ? "the covariates of so few participants can be reconstructed from it"
                        : "it contains no individual data");
}

/* Append the unit of the responses and the names of levels, if the fit was given these options. */
static void add_names(text *t, const kn_model *m)
{
    static const struct {
        const char *key, *title;
    } LINES[] = {{"unit", "unit"}, {"names", "names of levels"}};
    json_t *options = m->options ? json_loads(m->options, 0, NULL) : NULL;
    for (size_t k = 0; k < sizeof LINES / sizeof *LINES; k++) {
        const char *value = json_string_value(json_object_get(options, LINES[k].key));
        if (value)
            append_text(t, "%s: %s\n", LINES[k].title, value);
    }
    json_decref(options);
}

/* Append the command that made the model, the hashes of its input files, and its warnings. */
static void add_fit(text *t, const kn_model *m)
{
    json_t *fit = m->fit ? json_loads(m->fit, 0, NULL) : NULL, *value;
    const json_t *inputs = json_object_get(fit, "inputs");
    const char *command = json_string_value(json_object_get(fit, "command")), *key;
    size_t k;
    const char *understood = json_string_value(json_object_get(fit, "understood"));
    if (understood)
        append_text(t, "what fit understood:\n");
    for (const char *at = understood; at && *at; at += *at == '\n') {
        size_t n = strcspn(at, "\n");
        append_text(t, "  %.*s\n", (int)n, at);
        at += n;
    }
    if (command)
        append_text(t, "fitted by: %s\n", command);
    json_object_foreach(json_object_get(fit, "hashes"), key, value) if (json_is_string(value))
        append_text(t, "input: %s %s, %s\n", key, json_string_value(json_object_get(inputs, key)),
                    json_string_value(value));
    json_array_foreach(json_object_get(fit, "warnings"), k, value)
        append_text(t, "warning: %s\n", json_string_value(value));
    json_decref(fit);
}

kn_status kn_model_words(kn_ctx *ctx, const kn_model *m, char **out)
{
    text t = {0};
    *out = NULL;
    if (!m)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "model is a null pointer");
    append_text(&t, "%s", "");
    add_signal(&t, m);
    add_basis(&t, m);
    add_own(&t, m);
    add_noise(&t, m);
    add_groups(&t, m);
    add_covariates(&t, m);
    add_names(&t, m);
    add_sites(&t, m);
    add_diagnostics(&t, m);
    add_calibration(&t, m);
    add_reference(&t, m);
    add_change(&t, m);
    add_sharing(&t, m);
    add_fit(&t, m);
    *out = t.data;
    return t.data ? KN_OK : kn_fail(ctx, KN_ERR_MEMORY, "out of memory");
}
