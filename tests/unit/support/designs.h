/* Designs of small tables. */
#ifndef KN_TEST_DESIGNS_H
#define KN_TEST_DESIGNS_H

#include "support/test.h"
#include "support/views.h"

#include "data/covariates/design.h"

static inline kn_design made(kn_ctx *ctx, kn_mat raw, const kn_design_options *o)
{
    kn_design d;
    assert_ok(ctx, kn_design_new(ctx, view(raw), o, &d));
    return d;
}

static inline kn_mat applied(kn_ctx *ctx, const kn_design *d, kn_mat raw, bool hold, int *held_out)
{
    kn_mat X = ref_new(raw.rows, d->F);
    assert_ok(ctx, kn_design_apply(ctx, d, view(raw), hold, X, held_out));
    return X;
}

static inline kn_mat matrix(ptrdiff_t rows, ptrdiff_t cols, const double *by_rows)
{
    kn_mat m = ref_new(rows, cols);
    for (ptrdiff_t i = 0; i < rows; i++)
        for (ptrdiff_t j = 0; j < cols; j++)
            kn_col(m, j)[i] = by_rows[i * cols + j];
    return m;
}

#define MATRIX(cols, ...)                                                                          \
    matrix((ptrdiff_t)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)) / (cols), cols,     \
           (const double[]){__VA_ARGS__})

static inline void refuse_new(kn_ctx *ctx, kn_mat raw, const kn_design_options *o, kn_status status,
                              const char *sentence)
{
    kn_design d = {.C = 7};
    assert_int_equal(kn_design_new(ctx, view(raw), o, &d), status);
    assert_string_equal(kn_message(ctx), sentence);
    assert_true(d.C == 0 && !d.column && !d.mean);
    free(raw.data);
}

/* age, site of 3, constant, dose of 3 values; the last row's site is missing. */
static inline kn_mat cohort(void)
{
    return MATRIX(4, 20, 0, 7, 0, 30, 1, 7, 1, 40, 1, 7, 2, 50, 2, 7, 0, 60, 2, 7, 1, 75, NAN, 7,
                  2);
}
static const int COHORT_LEVELS[] = {0, 3, 0, 0};

#endif
