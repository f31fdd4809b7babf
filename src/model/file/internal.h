/* Sections of the model file, which write.c and read.c call in turn. Each section has a function
 * that makes its JSON record, one that adds its arrays, and one that reads and validates both. Only
 * files of src/model include this header. */
#ifndef KN_MODEL_FILE_INTERNAL_H
#define KN_MODEL_FILE_INTERNAL_H

#include <jansson.h>

#include "data/response_space.h"
#include "gp/gp.h"
#include "io/safetensors/safetensors.h"
#include "norm/calibration/calibration_transform.h"
#include "norm/calibration/null_model.h"
#include "norm/reference/reference.h"
#include "norm/sites/site_prior.h"

/* ---- validated_arrays.c ----------------------------------------------------------------------
 *
 * Reads arrays of a model file and validates their values. */

/* KN_ERR_FORMAT with the message that `what` is missing or not what it should be. */
kn_status kn_st_bad(kn_ctx *ctx, const kn_st_file *f, const char *what);

/* Reads strictly ascending indices from 0 to limit - 1; KN_ERR_FORMAT for others. *n: expected
 * number, -1: any; on return their number. *out is owned by the caller. */
kn_status kn_st_read_indices(kn_ctx *ctx, const kn_st_file *f, const char *name, ptrdiff_t limit,
                             ptrdiff_t **out, ptrdiff_t *n);
/* n finite values (-1: any number, returned in *count, which may be NULL); nan: NaN is allowed too.
 * KN_ERR_FORMAT otherwise. */
kn_status kn_st_read_numbers(kn_ctx *ctx, const kn_st_file *f, const char *name, ptrdiff_t n,
                             bool nan, double **out, ptrdiff_t *count);
/* n positive, finite values; zero: 0 is allowed too. */
kn_status kn_st_read_positive(kn_ctx *ctx, const kn_st_file *f, const char *name, ptrdiff_t n,
                              bool zero, double **out);
/* A rows x cols matrix of standardised values: finite and at most 1e100, so that no product of two
 * of them overflows. */
kn_status kn_st_read_finite(kn_ctx *ctx, const kn_st_file *f, const char *name, ptrdiff_t rows,
                            ptrdiff_t cols, kn_mat *out);

/* ---- kernel_json.c ---------------------------------------------------------------------------
 *
 * Covariances of a model as JSON: `kernel` in the record of a model file, and the terms that
 * `info --json` prints. */

/* The `kernel` record; NULL: out of memory. */
json_t *kn_kernel_to_json(const kn_gp *gp);
/* Fill the covariances of gp->spec, terms and theta of R0, inside, iso, s2, pca and
 * complement_component; gp->F, N and noise must be set. file: for the message. KN_ERR_FORMAT if
 * a field is absent or invalid, or a kernel is unknown. */
kn_status kn_kernel_from_json(kn_ctx *ctx, const char *file, json_t *kernel, kn_gp *gp);

/* Terms of R, and the weights of those in R0; weights are null, and terms without parameters, if
 * each response has its own R0. */
json_t *kn_terms_json(const kn_gp *gp);
json_t *kn_weights_json(const kn_gp *gp);

/* ---- space.c ---------------------------------------------------------------------------------
 *
 * Image space in a model file: for each part the geometry of its voxels, the ending and side in
 * the names of its maps, and the brain models of CIFTI. */

/* "parts" of the record. */
json_t *kn_space_parts_to_json(const kn_space *space);
/* Add the NIfTI headers and brain models. */
kn_status kn_space_parts_add(kn_ctx *ctx, const kn_space *space, kn_st_writer *w);

/* Read and validate geometry and parts. Models without parts have one image and write NIfTI.
 * KN_ERR_FORMAT if inconsistent. */
kn_status kn_space_parts_read(kn_ctx *ctx, const kn_st_file *f, const json_t *record,
                              kn_space *space);

/* ---- sites.c ---------------------------------------------------------------------------------
 *
 * Site section of a model file (the site prior): "sites" in the record, arrays site_mu,
 * site_tau2, site_w and site_w_scale. */

/* The record; JSON null without a site prior, NULL: out of memory. */
json_t *kn_sites_to_json(const kn_sites *s);
/* Add the arrays; nothing without a site prior. */
kn_status kn_sites_add(kn_ctx *ctx, const kn_sites *s, kn_st_writer *w);

/* Read and validate the section for T responses; without it out is not changed. KN_ERR_FORMAT if
 * it is inconsistent. */
kn_status kn_sites_read(kn_ctx *ctx, const kn_st_file *f, json_t *record, ptrdiff_t T,
                        kn_sites *out);

/* ---- calibration.c ---------------------------------------------------------------------------
 *
 * Calibration section of a model file: "layer" in the record, arrays scale_beta, scale_batch and
 * shape. */

/* The record; JSON null without calibration, NULL: out of memory. */
json_t *kn_calibration_to_json(const kn_calibration_transform *l);
/* Add the arrays that are set. */
kn_status kn_calibration_add(kn_ctx *ctx, const kn_calibration_transform *l, kn_st_writer *w);

/* What the section must agree with: design, number of responses and of training sites. */
typedef struct kn_calibration_for {
    const kn_design *x;
    ptrdiff_t T, S;
} kn_calibration_for;
/* Read and validate the section; KN_ERR_FORMAT if it is inconsistent. Without "layer", out is
 * not changed. */
kn_status kn_calibration_read(kn_ctx *ctx, const kn_st_file *f, json_t *record,
                              kn_calibration_for of, kn_calibration_transform *out);

/* The null model: `null` in the record (whether it has a shape, and nu), arrays null_noise,
 * null_shape and cv_R2. Models of 0.2 have none. kn_null_read: KN_ERR_FORMAT if it is inconsistent.
 */
json_t *kn_null_to_json(const kn_null_calibration *c);
kn_status kn_null_add(kn_ctx *ctx, const kn_null_calibration *c, ptrdiff_t T, kn_st_writer *w);
kn_status kn_null_read(kn_ctx *ctx, const kn_st_file *f, json_t *record, ptrdiff_t T,
                       kn_null_calibration *out);

/* ---- reference.c -----------------------------------------------------------------------------
 *
 * Reference section of a model file: "reference" in the record, and one array per statistic
 * (statistic, extrapolation, z_cv, ...) and for both deviances. Layout in
 * docs/developers/model_file.md. */

/* The record; NULL: out of memory. */
json_t *kn_reference_to_json(const kn_reference *r);
/* Add the arrays for T responses. known: participants have ids, so z is written too: a training
 * participant that is scored again gets it. */
kn_status kn_reference_add(kn_ctx *ctx, const kn_reference *r, ptrdiff_t T, bool known,
                           kn_st_writer *w);

/* What the section must agree with: N training participants and T responses. */
typedef struct kn_reference_for {
    ptrdiff_t N, T;
    bool shared;       /* de-identified: quantiles */
    bool own_deviance; /* the method has its own whole-map deviance */
} kn_reference_for;
/* Read and validate the section into r ({0}); KN_ERR_FORMAT if it is inconsistent. */
kn_status kn_reference_read(kn_ctx *ctx, const kn_st_file *f, json_t *record, kn_reference_for of,
                            kn_reference *r);

#endif
