/* De-identification of a fitted model: predictions for new participants stay the same, but X, U,
 * pivots and groups of the training sample are replaced by synthetic points [METHOD 8h]. `kronorm
 * export` calls it through the method. */
#ifndef KN_GP_DEIDENTIFY_H
#define KN_GP_DEIDENTIFY_H

#include "gp/method.h"

/* Implements kn_method.deidentify for methods with components. `to` must be a copy of `from`; its
 * latent form is replaced by one on synthetic points. gamma is kept, because the noise variance of
 * a new group needs it. how->limit is set. */
kn_status kn_components_deidentify(kn_ctx *ctx, const kn_gp *from, kn_deidentification *how,
                                   kn_gp *to);

/* Implements kn_method.points for methods with components: number of synthetic points over all
 * cells. */
ptrdiff_t kn_components_points(const kn_gp *gp);

/* Visits the arrays "base" (synthetic points x F) and "map" of cell k (components with equal
 * group noise) of a de-identified model in the model file; checks sizes when reading (a->bad). */
kn_status kn_deidentified_arrays(kn_gp *gp, kn_decomp *R0, ptrdiff_t k, kn_arrays *a);

/* Copies the last m rows of `from` to *A (owned by the caller): the directions that the
 * interpolation kept. */
kn_status kn_deidentified_rows(kn_ctx *ctx, kn_mat from, ptrdiff_t m, kn_mat *A);

/* Writes the name of an array of cell k in the model file to out (size bytes) and returns it:
 * the stem, from k = 1 on followed by ".k". */
const char *kn_cell_name(const char *stem, ptrdiff_t k, char *out, size_t size);

#endif
