/* Fits of matrices, and predicted maps as matrices. */
#ifndef KN_TEST_FITS_H
#define KN_TEST_FITS_H

#include "support/views.h"
#include "support/with_context.h"

static inline kn_model *fit(kn_mat X, kn_mat Y, const kn_settings *o, kn_fit_info *info)
{
    kn_model *model;
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), o, &model));
    kn_model_info(model, info);
    return model;
}

typedef struct maps_of {
    kn_mat mean, var; /* n x T */
} maps_of;

/* Takes maps over. */
static inline maps_of collect(kn_maps *maps, ptrdiff_t T)
{
    ptrdiff_t n = kn_maps_samples(maps);
    maps_of m = {ref_new(n, T), ref_new(n, T)};
    assert_ok(ctx, kn_maps_block(ctx, maps, 0, T, m.mean, m.var));
    kn_maps_free(maps);
    return m;
}

static inline maps_of predict(const kn_model *model, kn_mat Xs, ptrdiff_t T)
{
    kn_maps *maps;
    assert_ok(ctx, kn_maps_predict(ctx, model, view(Xs), &maps));
    return collect(maps, T);
}

static inline void release(maps_of m)
{
    free(m.mean.data), free(m.var.data);
}

#endif
