/* Participants in memory, and the same in tables. Comes after headers whose functions take a p. */
#ifndef KN_TEST_PARTICIPANTS_H
#define KN_TEST_PARTICIPANTS_H

#include "support/calls.h"
#include "support/folders.h"

#include "base/random.h"

static kn_ctx *ctx;

enum { N = 40, T = 6 };

static struct participants {
    double age[N], y[N * T]; /* y row by row */
    char id_text[N][8];
    const char *site[N], *id[N], *group[N];
} p;
static const char *const NAMES[T] = {"a", "b", "c", "d", "e", "f"};

static inline void make_participants(void)
{
    static const char *const sites[] = {"01", "02", "03"};
    kn_rng rng;
    ref_rng_init(&rng, 11, 0);
    for (int i = 0; i < N; i++) {
        double s = kn_rng_normal(&rng);
        p.age[i] = 20 + 60 * kn_rng_uniform(&rng);
        p.site[i] = sites[i % 3];
        p.group[i] = i % 8 ? "control" : "patient";
        snprintf(p.id_text[i], sizeof p.id_text[i], "s%02d", i);
        p.id[i] = p.id_text[i];
        for (int j = 0; j < T; j++)
            p.y[i * T + j] =
                3 - 0.01 * j * p.age[i] + 0.2 * s * (j % 2) + 0.1 * kn_rng_normal(&rng) + (i % 3);
    }
}

/* Ids, ages and sites of the first n, and their responses unless names is NULL. */
static inline kn_data *in_memory(ptrdiff_t n, const char *const *names)
{
    kn_data *d;
    assert_ok(ctx, kn_data_new(ctx, n, &d));
    assert_ok(ctx, kn_data_ids(ctx, d, p.id));
    assert_ok(ctx, kn_data_numbers(ctx, d, "age", p.age, 1));
    assert_ok(ctx, kn_data_texts(ctx, d, "site", p.site));
    if (names)
        assert_ok(ctx, kn_data_responses(ctx, d, kn_view_rows(p.y, n, T), names));
    return d;
}

static inline void write_tables(void)
{
    FILE *x = fopen("people.csv", "w"), *y = fopen("maps.csv", "w");
    fprintf(x, "participant_id,age,site\n");
    fprintf(y, "participant_id,a,b,c,d,e,f\n");
    for (int i = 0; i < N; i++) {
        fprintf(x, "%s,%.17g,s%s\n", p.id[i], p.age[i], p.site[i]);
        fprintf(y, "%s", p.id[i]);
        for (int j = 0; j < T; j++)
            fprintf(y, ",%.17g", p.y[i * T + j]);
        fprintf(y, "\n");
    }
    if (fclose(x) != 0 || fclose(y) != 0)
        fail_msg("cannot write tables");
}

static inline kn_mat block(const kn_scores *s, const char *name)
{
    kn_mat m = ref_new(kn_scores_n_participants(s), kn_scores_n_responses(s));
    assert_ok(ctx, kn_scores_block(ctx, s, name, 0, m.cols, m));
    return m;
}

#endif
