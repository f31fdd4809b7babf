/* Sample reports that are spoilt: texts that try to become mark-up, numbers that are not known. */
#include "support/report_sample_parts.h"

static const char *const HOSTILE[] = {
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "</svg></title><svg onload=alert(1)>",
    "]]><![CDATA[",
    "&lt;b&gt; &amp; &#60;",
    "a\xe2\x80\xaegpj.exe\xe2\x81\xa6",
    "broken \xff\xc3 utf8 \xf0\x9f\x92",
    "line\nbreak\ttab\rreturn\x01\x1f",
    "line separator \xe2\x80\xa8 and \xe2\x80\xa9",
    "javascript:alert(1)",
    "../../etc/passwd",
    "{{7*7}} ${x} %s %n %d",
    "-->",
    "Ünïcödé 脳 \xf0\x9f\xa7\xa0 and a name that is so long that nothing which has a width could "
    "ever show all "
    "of it, whatever the font, whatever the page, and which therefore has to be cut somewhere by "
    "somebody",
};
enum { HOSTILES = sizeof HOSTILE / sizeof *HOSTILE };

static const char *hostile(const maker *m, ptrdiff_t k)
{
    const char *text;
    assert_ok(m->ctx, kn_arena_print(m->ctx, &m->r->arena, &text, "%s", HOSTILE[k % HOSTILES]));
    return text;
}

static const char *const *hostiles(const maker *m, ptrdiff_t n, ptrdiff_t from)
{
    const char **text = sample_array(m, n, sizeof *text);
    for (ptrdiff_t k = 0; k < n; k++)
        text[k] = hostile(m, from + k);
    return (const char *const *)text;
}

void sample_hostile(maker *m)
{
    kn_report *r = m->r;
    r->title = hostile(m, 0);
    r->sentence = hostile(m, 1);
    for (ptrdiff_t k = 0; k < r->warnings.n; k++)
        r->warnings.note[k].title = r->warnings.note[k].words = hostile(m, k);
    r->good.note[0].words = hostile(m, 3);
    for (ptrdiff_t j = 0; j < r->cohort.n; j++) {
        r->cohort.column[j].name = hostile(m, j + 2);
        if (!r->cohort.column[j].numeric)
            r->cohort.column[j].level = hostiles(m, r->cohort.column[j].levels, 6 + 4 * j);
    }
    r->cohort.matched_by = hostile(m, 5);
    r->cohort.excluded_id = hostiles(m, r->cohort.n_excluded, 7);
    r->cohort.excluded_reason = hostiles(m, r->cohort.n_excluded, 0);
    r->model.method = hostile(m, 1);
    r->model.length_units = hostile(m, 2);
    r->model.term = hostiles(m, r->model.terms, 0);
    r->model.word = hostiles(m, r->model.words, 4);
    r->responses.name = hostiles(m, r->responses.T, 0);
    r->responses.z2_of = hostile(m, 13);
    r->curves.over = hostile(m, 3);
    for (ptrdiff_t s = 0; s < r->curves.n; s++)
        for (ptrdiff_t k = 0; k < r->curves.shown[s].curves; k++) {
            r->curves.shown[s].curve[k].level = hostile(m, k);
            r->curves.shown[s].curve[k].label = hostile(m, k + 3);
        }
    for (ptrdiff_t i = 0; i < r->participants.n; i++) {
        r->participants.participant[i].id = hostile(m, i);
        r->participants.participant[i].note = hostile(m, i + 1);
        r->participants.participant[i].covariate = hostiles(m, r->cohort.n, i);
    }
    for (ptrdiff_t k = 0; k < r->participants.n_cards; k++)
        r->participants.card[k].words = hostile(m, k);
    r->group.label = hostile(m, 0);
    for (ptrdiff_t k = 0; k < r->group.rocs; k++)
        r->group.roc[k].name = hostile(m, k + 7);
    r->space.atlas = hostile(m, 0);
    for (ptrdiff_t t = 0; t < r->responses.T; t++)
        r->space.region[t].name = r->space.region[t].full = r->space.region[t].lobe = hostile(m, t);
    r->words.paragraph = hostiles(m, r->words.paragraphs, 0);
    r->words.reference = hostiles(m, r->words.references, 1);
    for (ptrdiff_t k = 0; k < r->words.facts; k++)
        r->words.fact[k] = (kn_report_fact){hostile(m, k), hostile(m, k + 6)};
}

static void fill(double *x, ptrdiff_t n, double value)
{
    for (ptrdiff_t k = 0; x && k < n; k++)
        x[k] = value;
}

static void flatten_calibration(kn_report_calibration *c, double v)
{
    c->mean = c->mean_low = c->mean_high = c->z2 = c->z2_low = c->z2_high = v;
    c->pit_low = c->pit_high = v;
    fill(c->coverage, KN_REPORT_COVERAGES, v);
    fill(c->q, KN_REPORT_QQ, v);
    fill(c->worm, KN_REPORT_QQ, v);
    fill(c->worm_low, KN_REPORT_QQ, v);
    fill(c->worm_high, KN_REPORT_QQ, v);
    fill(c->pit, KN_REPORT_PIT, v);
    fill(c->pit_se, KN_REPORT_PIT, v);
}

static void flatten_curves(kn_report_curves *c, double v)
{
    for (ptrdiff_t s = 0; s < c->n; s++) {
        kn_report_shown *shown = &c->shown[s];
        kn_report_points *points[] = {&shown->training, &shown->scored};
        for (ptrdiff_t k = 0; k < shown->curves; k++) {
            fill(shown->curve[k].x, KN_REPORT_GRID, v);
            for (int q = 0; q < KN_REPORT_CENTILES; q++) {
                fill(shown->curve[k].value[q], KN_REPORT_GRID, v);
                fill(shown->curve[k].low[q], KN_REPORT_GRID, v);
                fill(shown->curve[k].high[q], KN_REPORT_GRID, v);
            }
        }
        for (int k = 0; k < 2; k++) {
            fill(points[k]->x, points[k]->n, v);
            fill(points[k]->value, points[k]->n, v);
            fill(points[k]->z, points[k]->n, v);
        }
    }
}

static void flatten_participants(kn_report *r, double v)
{
    kn_report_participants *o = &r->participants;
    for (ptrdiff_t i = 0; i < o->n; i++) {
        kn_report_participant *p = &o->participant[i];
        p->extreme_z = p->extreme_z_p = p->deviance = p->deviance_p = p->deviance_noise_p = v;
        p->extrapolation_pct = p->mean_z = p->mean_z_p = p->n_low = p->n_low_p = v;
        p->n_high = p->n_high_p = p->n_low_fdr = p->n_high_fdr = p->proportion = p->interval = v;
    }
    fill(o->training, o->N, v);
    fill(o->training_deviance, o->N, v);
    fill(o->line, 2, v);
    o->flagged_expected_low = o->flagged_expected_high = v;
    for (ptrdiff_t k = 0; k < o->n_cards; k++)
        for (ptrdiff_t t = 0; t < o->card[k].extremes; t++)
            o->card[k].extreme[t].z = o->card[k].extreme[t].centile = v;
}

/* Every number that may be unknown becomes v. */
void sample_flatten(kn_report *r, double v)
{
    for (ptrdiff_t j = 0; j < r->cohort.n; j++)
        fill(r->cohort.column[j].edge, KN_REPORT_BARS + 1, v);
    fill(r->model.curve_components, r->model.curve_n, v);
    fill(r->model.curve_msll, r->model.curve_n, v);
    fill(r->model.curve_se, r->model.curve_n, v);
    fill(r->model.proportion, r->model.P, v);
    fill(r->model.weight, r->model.terms, v);
    fill(r->model.gev, 3, v);
    r->model.length = r->model.cv_z2 = r->model.cv_msll = r->model.cv_coverage95 =
        r->model.cv_gain = r->model.cv_R2 = r->model.smallest_p = v;
    flatten_calibration(&r->calibration[0], v);
    flatten_calibration(&r->calibration[1], v);
    fill(r->responses.R2, r->responses.T, v);
    fill(r->responses.MSLL, r->responses.T, v);
    fill(r->responses.gain, r->responses.T, v);
    fill(r->responses.z2, r->responses.T, v);
    r->responses.z2_low = r->responses.z2_high = r->responses.z2_inside = v;
    r->responses.mean_R2 = r->responses.mean_MSLL = r->responses.mean_gain = v;
    flatten_curves(&r->curves, v);
    flatten_participants(r, v);
    for (ptrdiff_t k = 0; k < r->group.rocs; k++) {
        fill(r->group.roc[k].fpr, r->group.roc[k].n, v);
        fill(r->group.roc[k].tpr, r->group.roc[k].n, v);
        r->group.roc[k].auc = r->group.roc[k].low = r->group.roc[k].high = v;
    }
    fill(r->group.t, r->responses.T, v);
    fill(r->group.q, r->responses.T, v);
    fill(r->group.overlap, r->responses.T, v);
    fill(r->group.overlap_others, r->responses.T, v);
    r->group.proportion_expected = r->group.proportion_p = v;
    fill(r->group.proportion_median, 2, v);
}
