#include "support/report_sample_parts.h"

const char *const sample_name[SAMPLE_KINDS] = {"table",   "hostile",  "change",  "volume",
                                               "crowd",   "model",    "nothing", "one",
                                               "unknown", "constant", "many"};

/* ---- numbers ---- */

/* As good as random, a formula of two places: splitmix64 of them. */
double sample_uniform(ptrdiff_t i, ptrdiff_t t)
{
    uint64_t x = (uint64_t)(i + 1) * 0x9E3779B97F4A7C15u + (uint64_t)(t + 1) * 0xD1B54A32D192ED03u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    x ^= x >> 31;
    return ((double)(x >> 11) + 0.5) / 9007199254740992.0;
}

/* About N(0,1): twelve uniform ones, without a library's log. */
double sample_normal(ptrdiff_t i, ptrdiff_t t)
{
    double sum = -6;
    for (ptrdiff_t k = 0; k < 12; k++)
        sum += sample_uniform(i, 12 * t + k);
    return sum;
}

double sample_z(const maker *m, ptrdiff_t i, ptrdiff_t t)
{
    double z = sample_normal(i, t);
    if (i < m->labelled && t % 3 == 0)
        z -= 2.5;
    return z;
}

double sample_age(ptrdiff_t i)
{
    return floor(20 + 60 * sample_uniform(i, 7001));
}

/* ---- memory ---- */

double *sample_numbers(const maker *m, ptrdiff_t n)
{
    double *x;
    assert_ok(m->ctx, kn_arena_d(m->ctx, &m->r->arena, n, &x));
    return x;
}

void *sample_array(const maker *m, ptrdiff_t n, size_t element)
{
    void *memory;
    assert_ok(m->ctx, kn_arena_alloc(m->ctx, &m->r->arena, n, element, &memory));
    return memory;
}

const char *sample_numbered(const maker *m, const char *word, ptrdiff_t k)
{
    const char *text;
    assert_ok(m->ctx, kn_arena_print(m->ctx, &m->r->arena, &text, "%s%td", word, k));
    return text;
}

const char *const *sample_texts(const maker *m, const char *const *word, ptrdiff_t n)
{
    const char **copy = sample_array(m, n, sizeof *copy);
    for (ptrdiff_t k = 0; k < n; k++)
        copy[k] = word[k];
    return (const char *const *)copy;
}

static void note(const maker *m, kn_report_notes *notes, kn_report_note one)
{
    kn_report_note *all = sample_array(m, notes->n + 1, sizeof *all);
    for (ptrdiff_t k = 0; k < notes->n; k++)
        all[k] = notes->note[k];
    all[notes->n] = one;
    *notes = (kn_report_notes){notes->n + 1, notes->n + 1, all};
}

/* ---- parts ---- */

const char *const SAMPLE_SITES[] = {"Berlin", "Cambridge_Buckner", "NewYork_a", "Oslo"};
const char *const SAMPLE_SEXES[] = {"F", "M"};

static void make_cohort(maker *m)
{
    kn_report_cohort *c = &m->r->cohort;
    c->n = 3;
    c->column = sample_array(m, c->n, sizeof *c->column);
    c->column[0] = (kn_report_column){.name = "age", .numeric = true};
    c->column[1] =
        (kn_report_column){.name = "sex", .levels = 2, .level = sample_texts(m, SAMPLE_SEXES, 2)};
    c->column[2] = (kn_report_column){.name = "site",
                                      .batch = true,
                                      .levels = 4,
                                      .level = sample_texts(m, SAMPLE_SITES, 4)};
    for (int k = 0; k <= KN_REPORT_BARS; k++)
        c->column[0].edge[k] = 20 + 3 * k;
    for (ptrdiff_t j = 0; j < c->n; j++) {
        kn_report_column *column = &c->column[j];
        ptrdiff_t bars = column->numeric ? KN_REPORT_BARS : column->levels;
        column->training = sample_numbers(m, bars);
        column->scored = m->n > 0 && m->kind != SAMPLE_CHANGE ? sample_numbers(m, bars) : NULL;
        for (ptrdiff_t i = 0; i < m->N; i++)
            column
                ->training[column->numeric ? (ptrdiff_t)((sample_age(SAMPLE_TRAINING + i) - 20) / 3)
                                           : i % column->levels]++;
        for (ptrdiff_t i = 0; i < m->n && column->scored; i++)
            column->scored[column->numeric ? (ptrdiff_t)((sample_age(i) - 20) / 3)
                                           : i % column->levels]++;
    }
    if (m->n == 0)
        return;
    static const char *const IDS[] = {"sub-0101", "sub-0102"};
    static const char *const WHY[] = {"age is missing", "not in the table of responses"};
    c->column[0].scored_missing = 1;
    c->matched_by = "participant_id";
    c->n_excluded = 2;
    c->excluded_id = sample_texts(m, IDS, 2);
    c->excluded_reason = sample_texts(m, WHY, 2);
}

static void make_model(maker *m)
{
    static const char *const TERMS[] = {"linear", "curved", "smooth", "sex", "site"};
    static const char *const WORDS[] = {"Method: scalable multi-task Gaussian processes.",
                                        "Covariates: age, sex (2 levels), site (batch, 4 levels)."};
    static const double WEIGHT[] = {0.41, 0.08, 0.22, 0.06, 0.23};
    kn_report_model *o = &m->r->model;
    *o = (kn_report_model){.known = true,
                           .method = "S-MTGPR",
                           .noise = "diagonal",
                           .likelihood = "normal",
                           .components = 5,
                           .curve_n = 7,
                           .P = 5,
                           .terms = 5,
                           .length = 18.5,
                           .length_units = "age",
                           .words = 2,
                           .folds = 10,
                           .cv_z2 = 1.01,
                           .cv_msll = -0.14,
                           .cv_gain = 0.13,
                           .cv_R2 = 0.21,
                           .cv_coverage95 = 0.949,
                           .gev = {-0.1, 2.1, 0.35},
                           .smallest_p = 0.5 / (double)(m->N + 1)};
    o->curve_components = sample_numbers(m, o->curve_n);
    o->curve_msll = sample_numbers(m, o->curve_n);
    o->curve_se = sample_numbers(m, o->curve_n);
    for (ptrdiff_t k = 0; k < o->curve_n; k++) {
        static const double P[] = {1, 2, 3, 5, 10, 20, 50};
        o->curve_components[k] = P[k];
        o->curve_msll[k] = -0.14 + 0.06 / P[k] + 0.0006 * P[k];
        o->curve_se[k] = 0.012 - 0.0001 * P[k];
    }
    o->proportion = sample_numbers(m, o->P);
    for (ptrdiff_t p = 0; p < o->P; p++)
        o->proportion[p] = 0.62 / (double)(p + 1);
    o->term = sample_texts(m, TERMS, o->terms);
    o->weight = sample_numbers(m, o->terms);
    for (ptrdiff_t k = 0; k < o->terms; k++)
        o->weight[k] = WEIGHT[k];
    o->word = sample_texts(m, WORDS, o->words);
}

static void make_zhist(maker *m, kn_report_zhist *h, ptrdiff_t n, ptrdiff_t from)
{
    h->n = n;
    h->count = sample_array(m, n * KN_REPORT_ZBINS, sizeof *h->count);
    h->sum = sample_numbers(m, n);
    h->sum2 = sample_numbers(m, n);
    h->responses = sample_array(m, n, sizeof *h->responses);
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t t = 0; t < m->T; t++) {
            double z = sample_z(m, from + i, t);
            double bin = floor((z + KN_REPORT_ZMAX) * (KN_REPORT_ZBINS / (2 * KN_REPORT_ZMAX)));
            h->count[i * KN_REPORT_ZBINS + (ptrdiff_t)fmax(0, fmin(KN_REPORT_ZBINS - 1, bin))]++;
            h->sum[i] += z;
            h->sum2[i] += z * z;
            h->responses[i]++;
        }
}

static void make_calibration(kn_report_calibration *c, ptrdiff_t n, double shift)
{
    double width = 0.5 / sqrt((double)n);
    *c = (kn_report_calibration){.n = n,
                                 .mean = shift,
                                 .mean_low = shift - width,
                                 .mean_high = shift + width,
                                 .z2 = 1.01 + shift,
                                 .z2_low = 1.01 + shift - 2 * width,
                                 .z2_high = 1.01 + shift + 2 * width,
                                 .coverage = {.503, .897, .946, .987},
                                 .pit_low = 1 - 2 * width,
                                 .pit_high = 1 + 2 * width};
    for (int k = 0; k < KN_REPORT_QQ; k++) {
        double q = -3 + 0.1 * k;
        c->q[k] = q;
        c->worm[k] = shift + 0.02 * q - 0.008 * q * q * q;
        c->worm_low[k] = c->worm[k] - width * (0.6 + 0.15 * q * q);
        c->worm_high[k] = c->worm[k] + width * (0.6 + 0.15 * q * q);
    }
    for (int k = 0; k < KN_REPORT_PIT; k++) {
        c->pit[k] = 1 + shift * (k - 9.5) / 5 + 0.05 * sample_normal(k, n);
        c->pit_se[k] = width / 2;
    }
}

static void make_responses(maker *m)
{
    static const char *const NAMES[] = {
        "lh_superiortemporal_thickness", "rh_superiortemporal_thickness", "lh_precuneus_thickness",
        "rh_precuneus_thickness",        "lh_insula_thickness",           "rh_insula_thickness"};
    kn_report_responses *o = &m->r->responses;
    const char **name = sample_array(m, m->T, sizeof *name);
    *o = (kn_report_responses){.T = m->T,
                               .R2 = sample_numbers(m, m->T),
                               .MSLL = sample_numbers(m, m->T),
                               .gain = sample_numbers(m, m->T),
                               .z2 = sample_numbers(m, m->T),
                               .z2_of = "training sample, cross-validated",
                               .z2_low = 0.48,
                               .z2_high = 1.71,
                               .z2_inside = 0.95,
                               .n_best = m->T < 5 ? m->T : 5,
                               .mean_R2 = 0.2,
                               .mean_MSLL = -0.12,
                               .mean_gain = 0.11};
    o->best = sample_array(m, o->n_best, sizeof *o->best);
    for (ptrdiff_t t = 0; t < m->T; t++) {
        name[t] = t < 6 && m->T <= 6 ? NAMES[t] : sample_numbered(m, "response_", t + 1);
        o->R2[t] = 0.45 - 0.5 * sample_uniform(t, 9001);
        o->MSLL[t] = -0.5 * o->R2[t];
        o->gain[t] = 0.4 * o->R2[t];
        o->z2[t] = 1 + 0.2 * sample_normal(t, 9002);
    }
    for (ptrdiff_t k = 0; k < o->n_best; k++)
        o->best[k] = k;
    o->name = (const char *const *)name;
}

/* ---- group, change, space, words ---- */

static void make_group(maker *m)
{
    static const char *const NAMES[] = {"largest |z|", "deviance"};
    kn_report_group *g = &m->r->group;
    if (m->labelled == 0)
        return;
    *g = (kn_report_group){.known = true,
                           .label = "group=patient",
                           .labelled = m->labelled,
                           .others = m->n - m->labelled,
                           .rocs = 2,
                           .proportion_expected = 0.05,
                           .proportion_p = 0.012,
                           .proportion_median = {0.33, 0.04},
                           .overlap = sample_numbers(m, m->T),
                           .overlap_others = sample_numbers(m, m->T),
                           .t = sample_numbers(m, m->T),
                           .q = sample_numbers(m, m->T),
                           .significant = 1,
                           .n_best = m->T < 3 ? m->T : 3};
    g->roc = sample_array(m, g->rocs, sizeof *g->roc);
    for (int k = 0; k < 2; k++) {
        kn_report_roc *roc = &g->roc[k];
        *roc = (kn_report_roc){.name = NAMES[k],
                               .n = 9,
                               .fpr = sample_numbers(m, 9),
                               .tpr = sample_numbers(m, 9),
                               .auc = 0.81 - 0.1 * k,
                               .low = 0.62 - 0.2 * k,
                               .high = 0.95};
        for (int j = 0; j < 9; j++) {
            roc->fpr[j] = j / 8.0;
            roc->tpr[j] = 1 - pow(1 - roc->fpr[j], 4 - 1.5 * k);
        }
    }
    g->best = sample_array(m, g->n_best, sizeof *g->best);
    for (ptrdiff_t k = 0; k < g->n_best; k++)
        g->best[k] = 3 * k % m->T;
    for (ptrdiff_t t = 0; t < m->T; t++) {
        g->overlap[t] = t % 3 == 0 ? 2.0 / 3 : 0;
        g->overlap_others[t] = 0.05 * sample_uniform(t, 9003);
        g->t[t] = t % 3 == 0 ? -3.1 - 0.1 * (double)t : 0.4;
        g->q[t] = t == 0 ? 0.03 : 0.4;
    }
}

enum { DIM_X = 7, DIM_Y = 8, DIM_Z = 6 };

static bool inside(ptrdiff_t x, ptrdiff_t y, ptrdiff_t z)
{
    double a = ((double)x - 3) / 3, b = ((double)y - 3.5) / 3.5, c = ((double)z - 2.5) / 2.5;
    return a * a + b * b + c * c <= 1;
}

/* In the order of voxels, x fastest; counted only where `voxel` is NULL. */
static ptrdiff_t voxels(ptrdiff_t *voxel)
{
    ptrdiff_t T = 0;
    for (ptrdiff_t z = 0; z < DIM_Z; z++)
        for (ptrdiff_t y = 0; y < DIM_Y; y++)
            for (ptrdiff_t x = 0; x < DIM_X; x++)
                if (inside(x, y, z)) {
                    if (voxel)
                        voxel[T] = (z * DIM_Y + y) * DIM_X + x;
                    T++;
                }
    return T;
}

static void make_volume(maker *m)
{
    static const double AFFINE[3][4] = {{4, 0, 0, -12}, {0, 4, 0, -14}, {0, 0, 4, -10}};
    kn_report_space *s = &m->r->space;
    uint8_t *grey = sample_array(m, DIM_X * DIM_Y * DIM_Z, 1);
    s->kind = KN_REPORT_VOLUME;
    s->dim[0] = DIM_X;
    s->dim[1] = DIM_Y;
    s->dim[2] = DIM_Z;
    memcpy(s->affine, AFFINE, sizeof AFFINE);
    s->voxel = sample_array(m, m->T, sizeof *s->voxel);
    voxels(s->voxel);
    for (ptrdiff_t t = 0; t < m->T; t++)
        grey[s->voxel[t]] = (uint8_t)(80 + 140 * sample_uniform(t, 9004));
    s->background = grey;
}

static void make_regions(maker *m)
{
    static const char *const NAMES[] = {"superiortemporal", "precuneus", "insula"};
    kn_report_space *s = &m->r->space;
    s->atlas = "Desikan-Killiany";
    s->region = sample_array(m, m->T, sizeof *s->region);
    for (ptrdiff_t t = 0; t < m->T; t++)
        s->region[t] = (kn_report_region){.side = (int)(t % 2),
                                          .name = NAMES[t / 2 % 3],
                                          .lobe = t / 2 == 0 ? "temporal" : NULL};
}

static void make_words(maker *m)
{
    static const char *const PARAGRAPHS[] = {
        "A normative model was fitted to 20 participants.",
        "Deviation scores are z-scores of held-out participants."};
    static const char *const REFERENCES[] = {"Kia SM, Beckmann CF, Marquand AF (2018)."};
    kn_report_methods *w = &m->r->words;
    w->paragraphs = 2;
    w->paragraph = sample_texts(m, PARAGRAPHS, 2);
    w->results = "Out-of-sample R² was 0.20, averaged over 6 responses.";
    w->references = 1;
    w->reference = sample_texts(m, REFERENCES, 1);
    w->facts = 2;
    w->fact = sample_array(m, 2, sizeof *w->fact);
    w->fact[0] = (kn_report_fact){"model", "xxh64:28192758c5b520c3"};
    w->fact[1] = (kn_report_fact){"command", "kronorm score model.knm --covariates people.tsv"};
    m->r->title = "Cortical thickness";
    m->r->sentence =
        "12 participants scored on 6 responses with a model fitted to 20 participants.";
    note(m, &m->r->warnings,
         (kn_report_note){"shift", "z-scores are shifted.",
                          "Mean z = +0.20 (95% CI 0.06 to 0.34; expected 0)."});
    note(m, &m->r->notes,
         (kn_report_note){"few", "", "The reference sample has fewer than 100 participants."});
    note(m, &m->r->good,
         (kn_report_note){"calibration", "", "Calibrated variance: mean z² = 1.01."});
}

/* ---- all ---- */

static const struct size {
    ptrdiff_t n, N, T, labelled;
    kn_report_kind kind;
} SIZES[SAMPLE_KINDS] = {
    [SAMPLE_TABLE] = {12, 20, 6, 3, KN_REPORT_SCORE},
    [SAMPLE_HOSTILE] = {12, 20, 6, 3, KN_REPORT_SCORE},
    [SAMPLE_CHANGE] = {9, 20, 6, 2, KN_REPORT_CHANGE},
    [SAMPLE_VOLUME] = {5, 20, 0, 2, KN_REPORT_SCORE},
    [SAMPLE_CROWD] = {300, 2000, 60, 40, KN_REPORT_SCORE},
    [SAMPLE_MODEL] = {0, 20, 6, 0, KN_REPORT_MODEL},
    [SAMPLE_NOTHING] = {0, 0, 0, 0, KN_REPORT_MODEL},
    [SAMPLE_ONE] = {1, 1, 1, 0, KN_REPORT_SCORE},
    [SAMPLE_UNKNOWN] = {12, 20, 6, 3, KN_REPORT_SCORE},
    [SAMPLE_CONSTANT] = {12, 20, 6, 3, KN_REPORT_SCORE},
    [SAMPLE_MANY] = {2000, 20, 6, 900, KN_REPORT_SCORE},
};

static void make_parts(maker *m)
{
    kn_report *r = m->r;
    make_cohort(m);
    make_model(m);
    make_zhist(m, &r->zhist, m->n, 0);
    make_zhist(m, &r->zhist_training, m->N, SAMPLE_TRAINING);
    make_calibration(&r->calibration[0], m->N, 0.01);
    if (m->n > m->labelled)
        make_calibration(&r->calibration[1], m->n - m->labelled, 0.2);
    make_responses(m);
    sample_curves(m);
    sample_participants(m);
    make_group(m);
    make_words(m);
    if (m->kind == SAMPLE_VOLUME)
        make_volume(m);
    else
        make_regions(m);
    if (m->kind == SAMPLE_CHANGE)
        r->change = (kn_report_change){.known = true,
                                       .reference = "group=control",
                                       .pairs = m->n,
                                       .participants = 8,
                                       .reference_participants = 20,
                                       .gamma = 0.71,
                                       .interval_units = "years"};
}

kn_report *sample_report(kn_ctx *ctx, sample_kind kind)
{
    const struct size *size = &SIZES[kind];
    void *memory;
    assert_ok(ctx, kn_alloc(ctx, 1, sizeof(kn_report), &memory));
    maker m = {.ctx = ctx,
               .r = memory,
               .kind = kind,
               .n = size->n,
               .N = size->N,
               .T = kind == SAMPLE_VOLUME ? voxels(NULL) : size->T,
               .labelled = size->labelled};
    m.r->kind = size->kind;
    m.r->title = m.r->sentence = "Nothing";
    if (kind != SAMPLE_NOTHING)
        make_parts(&m);
    if (kind == SAMPLE_HOSTILE)
        sample_hostile(&m);
    if (kind == SAMPLE_UNKNOWN)
        sample_flatten(m.r, NAN);
    if (kind == SAMPLE_CONSTANT)
        sample_flatten(m.r, 1);
    return m.r;
}

void sample_free(kn_report *r)
{
    if (!r)
        return;
    kn_arena_clear(&r->arena);
    kn_free(r->json);
    kn_free(r);
}
