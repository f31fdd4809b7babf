/* Curves and participants of a sample report. */
#include "support/report_sample_parts.h"

/* ---- curves ---- */

static double centre(double x, int curve, ptrdiff_t response)
{
    return 2.9 - 0.008 * (x - 20) - 0.00004 * (x - 20) * (x - 20) - 0.12 * curve +
           0.1 * (double)response;
}

static void make_curve(maker *m, kn_report_curve *c, int k, ptrdiff_t response)
{
    static const double Q[] = {-1.6448536, -0.6744898, 0, 0.6744898, 1.6448536};
    c->level = SAMPLE_SEXES[k];
    c->label = k == 0 ? "sex=F,site=mean" : "sex=M,site=mean";
    c->x = sample_numbers(m, KN_REPORT_GRID);
    for (int q = 0; q < KN_REPORT_CENTILES; q++) {
        c->value[q] = sample_numbers(m, KN_REPORT_GRID);
        c->low[q] = sample_numbers(m, KN_REPORT_GRID);
        c->high[q] = sample_numbers(m, KN_REPORT_GRID);
        for (int g = 0; g < KN_REPORT_GRID; g++) {
            double x = 20 + 60.0 * g / (KN_REPORT_GRID - 1), u = (x - 50) / 30;
            c->x[g] = x;
            c->value[q][g] = centre(x, k, response) + 0.16 * Q[q];
            c->low[q][g] = c->value[q][g] - 0.015 - 0.03 * u * u;
            c->high[q][g] = c->value[q][g] + 0.015 + 0.03 * u * u;
        }
    }
}

static void make_points(maker *m, kn_report_points *p, ptrdiff_t n, ptrdiff_t from,
                        ptrdiff_t response)
{
    *p = (kn_report_points){.n = n,
                            .x = sample_numbers(m, n),
                            .value = sample_numbers(m, n),
                            .z = sample_numbers(m, n),
                            .curve = sample_array(m, n, sizeof(int))};
    for (ptrdiff_t i = 0; i < n; i++) {
        p->x[i] = sample_age(from + i);
        p->z[i] = sample_z(m, from + i, response);
        p->curve[i] = (int)(i % 2);
        p->value[i] = centre(p->x[i], p->curve[i], response) + 0.16 * p->z[i];
    }
}

void sample_curves(maker *m)
{
    kn_report_curves *c = &m->r->curves;
    c->over = "age";
    c->n = m->T < 2 ? m->T : 2;
    c->shown = sample_array(m, c->n, sizeof *c->shown);
    for (ptrdiff_t s = 0; s < c->n; s++) {
        kn_report_shown *shown = &c->shown[s];
        shown->response = 3 * s;
        shown->curves = 2;
        shown->curve = sample_array(m, 2, sizeof *shown->curve);
        for (int k = 0; k < 2; k++)
            make_curve(m, &shown->curve[k], k, shown->response);
        make_points(m, &shown->training, m->N, SAMPLE_TRAINING, shown->response);
        if (m->kind != SAMPLE_CHANGE)
            make_points(m, &shown->scored, m->n, 0, shown->response);
    }
}

/* ---- participants ---- */

static double statistic_of(const maker *m, ptrdiff_t i)
{
    double top = 0;
    for (ptrdiff_t t = 0; t < m->T; t++)
        top = fmax(top, fabs(sample_z(m, i, t)));
    return top;
}

static void make_participant(maker *m, ptrdiff_t i, kn_report_participant *p)
{
    const char **covariate = sample_array(m, 3, sizeof *covariate);
    double age = sample_age(i), beyond = 0;
    for (ptrdiff_t t = 0; t < m->T; t++)
        beyond += fabs(sample_z(m, i, t)) > 1.96;
    covariate[0] = sample_numbered(m, "", (ptrdiff_t)age);
    covariate[1] = SAMPLE_SEXES[i % 2];
    covariate[2] = SAMPLE_SITES[i % 4];
    *p = (kn_report_participant){.id = sample_numbered(m, "sub-", i + 1),
                                 .label = m->labelled > 0 ? i < m->labelled : -1,
                                 .covariate = (const char *const *)covariate,
                                 .extreme_z = statistic_of(m, i),
                                 .extrapolation_pct = 100 * sample_uniform(i, 7002),
                                 .responses = (double)m->T,
                                 .proportion = beyond / (double)m->T,
                                 .n_low = beyond,
                                 .n_high = 0,
                                 .n_low_p = sample_uniform(i, 7003),
                                 .n_high_p = 1,
                                 .n_low_fdr = beyond > 2};
    p->extreme_z_p = 1 / (1 + p->extreme_z * p->extreme_z * p->extreme_z);
    p->deviance = 4 + p->extreme_z;
    p->deviance_p = p->extreme_z_p / 2;
    p->deviance_noise_p = fmin(1, 2 * p->extreme_z_p);
    p->mean_z2 = p->mean_z2_p = NAN;
    p->mean_z = sample_z(m, i, 1) / 3;
    p->mean_z_p = sample_uniform(i, 7004);
    p->p_is_bound = i == 0;
    p->training = i == m->n - 1 && m->n > 3;
    p->implausible = i == 2;
    p->unseen = i == 3;
    if (m->kind == SAMPLE_CHANGE) {
        p->visit1 = sample_numbered(m, "ses-", 1);
        p->visit2 = sample_numbered(m, "ses-", 2 + i % 2);
        p->interval = 1 + floor(40 * sample_uniform(i, 7005)) / 10;
        p->covariate = NULL;
        p->mean_z2 = p->deviance;
        p->mean_z2_p = p->deviance_p;
        p->deviance = p->deviance_p = p->deviance_noise_p = NAN;
    }
}

static const int8_t *map_of(const maker *m, ptrdiff_t i)
{
    int8_t *z = sample_array(m, m->T, 1);
    for (ptrdiff_t t = 0; t < m->T; t++)
        z[t] = t % 17 == 16
                   ? KN_REPORT_NO_Z
                   : (int8_t)fmax(-127, fmin(127, round(sample_z(m, i, t) / KN_REPORT_ZSTEP)));
    return z;
}

static void make_card(maker *m, kn_report_card *c, ptrdiff_t participant)
{
    c->participant = participant;
    c->words = "Extreme values: p = 0.048, by comparison with the reference sample.";
    c->z = map_of(m, participant);
    c->extremes = m->T < 3 ? m->T : 3;
    for (ptrdiff_t k = 0; k < c->extremes; k++)
        c->extreme[k] = (kn_report_extreme){.response = 2 * k % m->T,
                                            .z = sample_z(m, participant, 2 * k % m->T),
                                            .centile = 1.5};
    if (m->kind != SAMPLE_VOLUME)
        return;
    c->clusters = 1;
    c->cluster[0] =
        (kn_report_cluster){.peak = 4, .size = 3, .mm = {-8, 4, 12}, .z = -3.4, .ml = 0.19};
}

void sample_participants(maker *m)
{
    kn_report_participants *o = &m->r->participants;
    *o = (kn_report_participants){.n = m->n,
                                  .N = m->N,
                                  .line = {2.9, 3.8},
                                  .threshold = 1.96,
                                  .flagged_expected_low = 0,
                                  .flagged_expected_high = 3,
                                  .flag = {m->n - m->labelled, 4},
                                  .cases_flagged = {m->labelled, m->labelled > 0},
                                  .extreme = {{m->n - m->labelled, 1},
                                              {m->labelled, m->labelled > 0}}};
    o->participant = sample_array(m, m->n, sizeof *o->participant);
    o->order = sample_array(m, m->n, sizeof *o->order);
    for (ptrdiff_t i = 0; i < m->n; i++) {
        make_participant(m, i, &o->participant[i]);
        ptrdiff_t k = i; /* into its place */
        for (; k > 0 && o->participant[o->order[k - 1]].extreme_z < o->participant[i].extreme_z;
             k--)
            o->order[k] = o->order[k - 1];
        o->order[k] = i;
    }
    for (ptrdiff_t k = 0; k < m->n; k++)
        o->participant[o->order[k]].rank = k;
    o->training = sample_numbers(m, m->N);
    o->training_deviance = sample_numbers(m, m->N);
    for (ptrdiff_t i = 0; i < m->N; i++) {
        o->training[i] = statistic_of(m, SAMPLE_TRAINING + i);
        o->training_deviance[i] = 4 + o->training[i];
    }
    o->n_cards = m->n < 3 ? m->n : 3;
    o->card = sample_array(m, o->n_cards, sizeof *o->card);
    for (ptrdiff_t k = 0; k < o->n_cards; k++)
        make_card(m, &o->card[k], o->order[k]);
    if (m->kind != SAMPLE_VOLUME)
        return;
    o->n_thumbs = m->n;
    o->thumb = o->order;
    o->thumb_z = sample_array(m, m->n, sizeof *o->thumb_z);
    for (ptrdiff_t k = 0; k < m->n; k++)
        o->thumb_z[k] = map_of(m, o->order[k]);
}
