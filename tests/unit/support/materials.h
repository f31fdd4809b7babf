/* A model of participants with hostile names, others who are scored by it, and the material of
 * both. */
#ifndef KN_TEST_MATERIALS_H
#define KN_TEST_MATERIALS_H

#include "support/calls.h"
#include "support/folders.h"

#include "base/random.h"
#include "model/model.h"
#include "report/input/input.h"

static kn_ctx *ctx;

enum { MAX_COUNT = 70, T = 6, N = 60, NEW = 8, LEFT_OUT = 2 };

typedef struct participants {
    ptrdiff_t n;
    const char *id[MAX_COUNT], *sex[MAX_COUNT], *site[MAX_COUNT], *visit[MAX_COUNT],
        *state[MAX_COUNT];
    double age[MAX_COUNT], y[MAX_COUNT * T];
    char name[MAX_COUNT][16];
} participants;

static const char *const RESPONSES[T] = {"thick", "</script>", "constant", "a\tb", "\"q\"", "last"};
static char long_id[100001];

static inline void make(participants *p, ptrdiff_t n, uint64_t seed)
{
    static const char *const SITES[] = {"A", "B", "C"};
    kn_rng rng;
    ref_rng_init(&rng, seed, 0);
    p->n = n;
    for (ptrdiff_t i = 0; i < n; i++) {
        snprintf(p->name[i], sizeof p->name[i], "s%d-%td", (int)seed, i);
        p->id[i] = p->name[i];
        p->age[i] = floor(200 + 600 * kn_rng_uniform(&rng)) / 10;
        p->sex[i] = i % 2 ? "M" : "F";
        p->site[i] = SITES[i % 3];
        for (int j = 0; j < T; j++)
            p->y[i * T + j] = j == LEFT_OUT ? 7
                                            : 10 * (j + 1) + 0.05 * (j + 1) * p->age[i] +
                                                  (double)(i % 2) + kn_rng_normal(&rng);
    }
}

static inline kn_data *data_of(const participants *p)
{
    kn_data *d;
    assert_ok(ctx, kn_data_new(ctx, p->n, &d));
    assert_ok(ctx, kn_data_ids(ctx, d, p->id));
    assert_ok(ctx, kn_data_numbers(ctx, d, "age", p->age, 1));
    assert_ok(ctx, kn_data_texts(ctx, d, "sex", p->sex));
    assert_ok(ctx, kn_data_texts(ctx, d, "site", p->site));
    assert_ok(ctx, kn_data_responses(ctx, d, kn_view_rows(p->y, p->n, T), RESPONSES));
    return d;
}

static inline kn_model *fit(const participants *p, const char *text)
{
    kn_data *d = data_of(p);
    kn_model *m = fit_data(ctx, d, text);
    kn_data_free(d);
    return m;
}

static inline kn_scores *score(const kn_model *m, const participants *p, const char *text)
{
    kn_data *d = data_of(p);
    kn_scores *s = score_data(ctx, m, d, text);
    kn_data_free(d);
    return s;
}

static participants training, scored;
static kn_model *model; /* of training */

static inline const kn_report_input_column *column(const kn_report_input *m, const char *name)
{
    for (ptrdiff_t c = 0; c < m->C; c++)
        if (strcmp(m->column[c].name, name) == 0)
            return &m->column[c];
    fail_msg("no column %s", name);
    return NULL;
}

static inline const char *level(const kn_report_input_column *c, double code)
{
    assert_true(code >= 0 && code < (double)c->levels);
    return c->level[(ptrdiff_t)code];
}

/* z of all participants in the material is that of the scores, at the responses of the model, to
 * the bit; read twice, backwards the second time. */
static inline void assert_z(kn_report_input *m, const kn_scores *s, const ptrdiff_t *kept)
{
    float z[4096];
    ptrdiff_t all = kn_scores_n_responses(s);
    double *expected = malloc((size_t)(m->n * all) * sizeof *expected);
    assert_ok(ctx, kn_scores_block(ctx, s, "z", 0, all, kn_mat_cols(expected, m->n, all)));
    for (ptrdiff_t k = 0; k < 2 * m->n; k++) {
        ptrdiff_t i = k < m->n ? k : 2 * m->n - 1 - k;
        assert_ok(ctx, kn_report_input_z(ctx, m, i, z));
        for (ptrdiff_t j = 0; j < m->T; j++) {
            double x = expected[i + (kept ? kept[j] : j) * m->n];
            assert_true(isnan(x) ? isnan(z[j]) : (double)z[j] == (double)(float)x);
        }
    }
    free(expected);
}

/* In a file, once. */
static inline void replace(const char *path, const char *from, const char *to)
{
    static char text[1 << 20];
    size_t n = scratch_read(path, text, sizeof text - 1);
    text[n] = '\0';
    char *at = strstr(text, from);
    assert_non_null(at);
    size_t tail = (size_t)(at - text) + strlen(from);
    FILE *f = fopen(path, "wb");
    fwrite(text, 1, (size_t)(at - text), f);
    fputs(to, f);
    fwrite(text + tail, 1, n - tail, f);
    fclose(f);
}

static inline void assert_metrics(const kn_report_input *m, const kn_scores *s,
                                  const ptrdiff_t *kept, double tolerance)
{
    static const char *const NAMES[] = {"R2", "MSLL", "z2"};
    for (int k = 0; k < 3; k++)
        for (ptrdiff_t j = 0; j < m->T; j++)
            assert_close(kn_report_input_responses(m, NAMES[k])[j],
                         kn_scores_responses(s, NAMES[k])[kept ? kept[j] : j], tolerance);
}

static inline int begin(void **state)
{
    memset(long_id, 'x', sizeof long_id - 1);
    make(&training, N, 1);
    make(&scored, NEW, 2);
    if (scratch_enter(state) != 0)
        return -1;
    model = fit(&training, "components=2 folds=4 batch=site");
    return 0;
}

static inline int end(void **state)
{
    kn_model_free(model);
    return scratch_leave(state);
}

/* What a test leaves when it fails is not the next one's. */
static inline int fresh(void **state)
{
    (void)state;
    make(&scored, NEW, 2);
    folder_remove("out");
    scratch_empty();
    return 0;
}

#endif
