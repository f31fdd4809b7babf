/* Recipes of small tables: learned, applied, refused. */
#ifndef KN_TEST_ENCODINGS_H
#define KN_TEST_ENCODINGS_H

#include "support/logged.h"
#include "support/scratch.h"

#include "data/covariates/encoding.h"

static const kn_encoding_options DEFAULTS = {.id_col = -1};

/* 15 rows: 3 sites, 2 sexes, ages 20 to 34. */
static const char COHORT[] = "participant_id\tage\tsex\tsite\n"
                             "s01\t20\tM\tB\ns02\t21\tF\tA\ns03\t22\tM\tC\n"
                             "s04\t23\tM\tB\ns05\t24\tF\tA\ns06\t25\tM\tC\n"
                             "s07\t26\tM\tB\ns08\t27\tF\tA\ns09\t28\tM\tC\n"
                             "s10\t29\tM\tB\ns11\t30\tF\tA\ns12\t31\tM\tC\n"
                             "s13\t32\tM\tB\ns14\t33\tF\tA\ns15\t34\tM\tC\n";

static inline kn_table *table_named(kn_ctx *ctx, const char *name, const char *text)
{
    kn_table *t;
    assert_ok(ctx, kn_table_parse(ctx, name, '\t', text, (ptrdiff_t)strlen(text), &t));
    return t;
}

static inline kn_table *table_of(kn_ctx *ctx, const char *text)
{
    return table_named(ctx, "participants.tsv", text);
}

static inline kn_encoding_options with_id(kn_missing missing)
{
    kn_encoding_options o = DEFAULTS;
    o.id_col = 0;
    o.missing = missing;
    return o;
}

static inline kn_encoding learned(kn_ctx *ctx, const char *text, const kn_encoding_options *o)
{
    kn_table *t = table_of(ctx, text);
    kn_encoding r;
    assert_ok(ctx, kn_encoding_learn(ctx, t, o, &r));
    kn_table_free(t);
    return r;
}

static inline kn_mat applied(kn_ctx *ctx, const kn_encoding *r, const char *text, bool *dropped)
{
    kn_table *t = table_of(ctx, text);
    kn_mat X;
    assert_ok(ctx, kn_mat_new(ctx, kn_table_rows(t), kn_encoding_width(r), &X));
    assert_ok(ctx, kn_encoding_apply(ctx, r, t, NULL, X, dropped));
    kn_table_free(t);
    return X;
}

static inline void assert_x_names(kn_ctx *ctx, const kn_encoding *r, const char *expected)
{
    char all[512] = "", *name;
    for (ptrdiff_t f = 0; f < kn_encoding_width(r); f++) {
        assert_ok(ctx, kn_encoding_x_name(ctx, r, f, &name));
        strcat(strcat(all, f ? " " : ""), name);
        kn_free(name);
    }
    assert_string_equal(all, expected);
}

static inline void refuse_learn(kn_ctx *ctx, const char *text, kn_encoding_options o,
                                kn_status status, const char *sentence)
{
    kn_table *t = table_of(ctx, text);
    kn_encoding r = {.n = 7};
    assert_sentence(ctx, kn_encoding_learn(ctx, t, &o, &r), status, sentence);
    assert_int_equal(r.n, 0);
    assert_null(r.column);
    kn_table_free(t);
}

static inline void refuse_apply(kn_ctx *ctx, const kn_encoding *r, const char *text,
                                const char *sentence)
{
    kn_table *t = table_named(ctx, "new.tsv", text);
    kn_mat X;
    bool dropped[64];
    assert_ok(ctx, kn_mat_new(ctx, kn_table_rows(t), kn_encoding_width(r), &X));
    assert_sentence(ctx, kn_encoding_apply(ctx, r, t, NULL, X, dropped), KN_ERR_DATA, sentence);
    kn_mat_clear(&X);
    kn_table_free(t);
}

static inline kn_encoding_options with_codes(kn_missing missing)
{
    kn_encoding_options o = DEFAULTS;
    o.codes = true;
    o.missing = missing;
    return o;
}

#endif
