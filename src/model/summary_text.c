/* Implements summary_text.h and kn_model_words() of kronorm.h: the model as lines of text, one
 * function per line. */
#include "model/summary_text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cov/additive.h"
#include "gp/method.h"
#include "stats/tail_probability.h"

enum { LINE = 4096 }; /* longest line; names are at most a quarter of it */

static const char *column_name(const kn_model *m, ptrdiff_t c)
{
    return m->recipe.codes && c >= 0 && c < m->recipe.n ? m->recipe.column[c].name : "covariate";
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

double kn_group_share(const kn_model *m)
{
    return m->gp.latent.groups.n == 0 ? NAN : m->gp.method->group_share(&m->gp);
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
    size_t used, room;
    bool failed;
} text;

__attribute__((format(printf, 2, 3))) static void add(text *t, const char *format, ...)
{
    char part[LINE];
    va_list args;
    va_start(args, format);
    vsnprintf(part, sizeof part, format, args);
    va_end(args);
    size_t n = strlen(part);
    if (t->failed)
        return;
    if (t->used + n + 1 > t->room) {
        char *more = realloc(t->data, t->room = 2 * (t->used + n + 1));
        if (!more) {
            free(t->data);
            *t = (text){.failed = true};
            return;
        }
        t->data = more;
    }
    memcpy(t->data + t->used, part, n + 1);
    t->used += n;
}

/* Weights of the terms, with the length scale of those that have one. */
static void add_signal(text *t, const kn_model *m)
{
    const kn_decomp *R0 = &m->gp.latent.cell[0].R0;
    kn_cov_point at;
    static const double SHOWN = 5e-4; /* smallest share that does not print as 0.0 % */
    double total, length;
    char name[LINE / 2], units[LINE / 2];
    if (R0->m == 0)
        return;
    kn_cov_point_of(&R0->cov, R0->theta, &at, &total);
    add(t, "signal: ");
    for (int k = 0; k < R0->cov.n; k++) {
        kn_term_name(m, k, name, sizeof name);
        add(t, "%s%s %.1f %%", k > 0 ? ", " : "", name, 100 * at.w[k]);
        if (R0->cov.term[k].kernel->n_shape > 0 && at.w[k] >= SHOWN) {
            length = kn_length_in_units(m, units, sizeof units);
            add(t, " (length %.3g%s%s)", length, strcmp(units, "sd") == 0 ? " " : " of ", units);
        }
    }
    add(t, "\n");
    if (m->gp.P == 0 && m->gp.method->components)
        add(t, "none of it predicts: everybody is expected to have the mean\n");
}

static void add_basis(text *t, const kn_model *m)
{
    const kn_fit_info *info = &m->info;
    if (info->basis_columns == 0)
        return;
    add(t, "basis: %s, %td columns, ", *info->basis ? info->basis : "given", info->basis_columns);
    if (m->gp.axes)
        add(t, "of which the components are the principal axes (%td)", m->gp.P);
    else
        add(t, "which are the components");
    add(t, "; it holds %.0f %% of a shift of all responses alike\n", 100 * info->basis_constant);
}

static void add_own(text *t, const kn_model *m)
{
    char line[LINE] = "";
    if (m->gp.method->say)
        m->gp.method->say(&m->gp, line, sizeof line);
    if (*line)
        add(t, "%s\n", line);
}

/* Only with --noise auto. */
static void add_noise(text *t, const kn_model *m)
{
    const kn_noise_choice *c = &m->info.noise_choice;
    if (c->tried)
        add(t,
            "noise: %s, chosen; a map held out has %.2f nats with structured noise, %.2f with "
            "whitened, a difference of %.2f +- %.2f\n",
            m->info.noise == KN_NOISE_WHITENED ? "whitened" : "structured", c->structured,
            c->whitened, c->gain, c->se);
}

static void add_groups(text *t, const kn_model *m)
{
    static const char *const by[] = {"", "a column", "ids that repeat", "covariates that repeat"};
    const kn_latent *l = &m->gp.latent;
    if (l->groups.n == 0 && m->grouped && !m->shareable)
        add(t, "groups: kept whole in folds; this model has no noise that their rows share\n");
    if (l->groups.n == 0)
        return;
    add(t, "groups: %td of %td rows", l->groups.n, l->groups.N);
    if (m->group_rule == KN_GROUP_COLUMN)
        add(t, ", by %s", m->group_column);
    else if (m->group_rule != KN_GROUP_NONE)
        add(t, ", by %s", by[m->group_rule]);
    add(t, "; %.1f %% of the noise%s is theirs\n", 100 * kn_group_share(m),
        m->gp.method->components ? " of components" : "");
}

/* "2 levels (F, M)", or the first ten levels. */
static void add_levels(text *t, const kn_covariate *c)
{
    enum { MOST = 10 };
    add(t, "%s: %s%td levels (", c->name, c->batch ? "a batch of " : "", c->levels.n);
    for (ptrdiff_t k = 0; k < c->levels.n && k < MOST; k++)
        add(t, "%s%s", k > 0 ? ", " : "", c->levels.text[k]);
    add(t, "%s)\n", c->levels.n > MOST ? ", ..." : "");
}

/* One line per covariate: its levels, or its range and the range to which new participants are
 * clamped. */
static void add_covariates(text *t, const kn_model *m)
{
    for (ptrdiff_t c = 0; !m->recipe.codes && c < m->recipe.n; c++) {
        if (m->recipe.column[c].kind == KN_COVARIATE_CATEGORY)
            add_levels(t, &m->recipe.column[c]);
        else
            add(t, "%s: a number\n", m->recipe.column[c].name);
    }
    for (ptrdiff_t c = 0; m->recipe.codes && c < m->x.C; c++) {
        const kn_design_column *k = &m->x.column[c];
        const kn_covariate *r = &m->recipe.column[c];
        double low, high;
        if (k->levels > 0 && k->constant)
            add(t, "%s: '%s' for everybody, %s\n", r->name, r->levels.text[0],
                k->batch ? "a batch" : "left out");
        else if (k->levels > 0)
            add_levels(t, r);
        else if (k->constant)
            add(t, "%s: %g for everybody, left out\n", r->name, k->min);
        if (k->levels > 0 || k->constant)
            continue;
        kn_design_range(&m->x, c, &low, &high);
        add(t, "%s: %g to %g, new people are held to %g to %g\n", r->name, k->min, k->max, low,
            high);
    }
}

/* The line of the site prior, and a line for each adapted site. */
static void add_sites(text *t, const kn_model *m)
{
    const kn_sites *s = &m->sites;
    double between = 0;
    if (s->T > 0 && !s->between) {
        add(t, "sites: one, others are read after 'kronorm adapt' with healthy people of them\n");
    } else if (s->T > 0) {
        for (ptrdiff_t j = 0; j < s->T; j++)
            between += s->w[j] > 0 ? sqrt(s->tau2[j] / s->w[j]) / (double)s->T : 0;
        add(t,
            "sites: %td, which differ by %.2f standard deviations of people within one; others "
            "after 'kronorm adapt', or by what sites are like\n",
            m->batch.S, between);
    }
    for (ptrdiff_t a = 0; a < m->adapted.n; a++) {
        const kn_adapted_site *site = &m->adapted.site[a];
        add(t, "adapted to ");
        for (ptrdiff_t k = 0; k < m->adapted.M; k++)
            add(t, "%s%s", k > 0 ? " " : "", m->adapted.level[a * m->adapted.M + k]);
        add(t,
            " with %td control%s: %.2f times as far off as sites are, %.2f times the noise "
            "variance\n",
            site->controls, site->controls == 1 ? "" : "s", sqrt(site->kappa), site->factor);
    }
}

/* Slope, and the result of the table-order test. */
static void add_judgement(text *t, const kn_model *m)
{
    const kn_resemblance *n = &m->reference.neighbours;
    if (m->gp.slope)
        add(t, "slope: predictions are %.3f of what they were, as held-out people say\n",
            kn_mean_slope(m));
    if (n->pairs > 0)
        add(t, "neighbours in the table: residual maps correlate by %.3f, %.3f by chance%s\n",
            n->correlation, n->chance,
            n->resemble ? "; is there a site, scanner or session that is not named?" : "");
}

/* One line: the Student step, then the components that were kept, then those that were not. */
static void add_calibration(text *t, const kn_model *m)
{
    static const double ROUNDED = 5e-5; /* smaller values print as 0.0000, without sign */
    const kn_calibration_transform *l = &m->layer;
    if (!(l->nu > 0)) {
        add(t, "calibration: none, z is the residual over its standard deviation\n");
        return;
    }
    add(t, "calibration: Student's t of %.0f degrees of freedom", l->nu);
    for (int kept = 1; kept >= 0; kept--)
        for (int k = 0; k < KN_CALIBRATION_COMPONENTS; k++)
            if (l->part[k].tried && l->part[k].kept == (kept == 1))
                add(t, "; %s%s (held-out gain %.4f +- %.4f)", kept ? "" : "not ",
                    kn_calibration_component_words[k],
                    fabs(l->part[k].gain) < ROUNDED ? 0 : l->part[k].gain, l->part[k].se);
    add(t, "\n");
}

double kn_smallest_p(const kn_model *m)
{
    const kn_reference *r = &m->reference;
    kn_tail_p_reference law = {.n = r->n, .units = r->units, .has_gev = r->has_gev};
    return r->n > 0 ? kn_tail_p_smallest(&law) : NAN;
}

static void add_reference(text *t, const kn_model *m)
{
    const kn_reference *r = &m->reference;
    if (r->n == 0) {
        add(t, "reference: none, no p can be said\n");
        return;
    }
    add(t, "reference: %td people", r->n);
    if (r->units < r->n)
        add(t, " in %td groups", r->units);
    add(t, ", p_upper by %s and not below %.2g",
        r->has_gev ? "an extreme value law" : "rank among them", kn_smallest_p(m));
    if (isfinite(r->fdr_share))
        add(t, "; %.1f %% of them have a response that stands out after FDR", 100 * r->fdr_share);
    add(t, "\n");
}

/* Only if the model has a change reference. */
static void add_change(text *t, const kn_model *m)
{
    const kn_change_reference *r = &m->change;
    if (r->law.T == 0)
        return;
    add(t, "change between visits: compared with %td people in %td pairs", r->people, r->pairs);
    if (r->interval_name)
        add(t, ", %g to %g apart by %s", r->interval[0], r->interval[1], r->interval_name);
    add(t, "; nothing of them is kept but variances, means and sorted values\n");
}

/* If the process has more directions than half the number of participants, their covariates can
 * be reconstructed from it; export warns of this too [METHOD 8h]. */
static void add_sharing(text *t, const kn_model *m)
{
    ptrdiff_t most = 0;
    for (int k = 0; k < m->gp.latent.n_cells; k++)
        most = m->gp.latent.cell[k].R0.m > most ? m->gp.latent.cell[k].R0.m : most;
    if (m->shareable)
        add(t, "shareable: %s; who was in training is scored as anybody new\n",
            2 * most > m->info.n_samples ? "covariates of so few people can be found from it"
                                         : "nobody of training is in it");
}

kn_status kn_model_words(kn_ctx *ctx, const kn_model *m, char **out)
{
    text t = {0};
    *out = NULL;
    if (!m)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "model is a null pointer");
    add(&t, "%s", "");
    add_signal(&t, m);
    add_basis(&t, m);
    add_own(&t, m);
    add_noise(&t, m);
    add_groups(&t, m);
    add_covariates(&t, m);
    add_sites(&t, m);
    add_judgement(&t, m);
    add_calibration(&t, m);
    add_reference(&t, m);
    add_change(&t, m);
    add_sharing(&t, m);
    *out = t.data;
    return t.data ? KN_OK : kn_fail(ctx, KN_ERR_MEMORY, "out of memory");
}
