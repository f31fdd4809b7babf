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

/* Fail with KN_ERR_FORMAT and the message "FILE: `what` is missing or invalid". */
kn_status kn_st_bad(kn_ctx *ctx, const kn_st_file *f, const char *what);

/* Read strictly ascending indices from 0 to limit - 1; KN_ERR_FORMAT for others. *n: on entry the
 * expected number, or -1 for any; on return their number. *out is owned by the caller. */
kn_status kn_st_read_indices(kn_ctx *ctx, const kn_st_file *f, const char *name, ptrdiff_t limit,
                             ptrdiff_t **out, ptrdiff_t *n);

/* Read n finite doubles (n = -1: any number), also NaN if nan is true; KN_ERR_FORMAT otherwise.
 * *count (may be NULL) is their number. *out is owned by the caller. */
kn_status kn_st_read_numbers(kn_ctx *ctx, const kn_st_file *f, const char *name, ptrdiff_t n,
                             bool nan, double **out, ptrdiff_t *count);

/* Read n finite doubles that are positive, or 0 too if zero is true; KN_ERR_FORMAT otherwise. *out
 * is owned by the caller. */
kn_status kn_st_read_positive(kn_ctx *ctx, const kn_st_file *f, const char *name, ptrdiff_t n,
                              bool zero, double **out);

/* Read a rows x cols matrix whose entries are at most 1e100 in size, so that no product of two of
 * them overflows; KN_ERR_FORMAT otherwise. *out is owned by the caller. */
kn_status kn_st_read_finite(kn_ctx *ctx, const kn_st_file *f, const char *name, ptrdiff_t rows,
                            ptrdiff_t cols, kn_mat *out);

/* ---- kernel_json.c ---------------------------------------------------------------------------
 *
 * Covariances of a model as JSON: `kernel` in the record of a model file, and the terms that
 * `info --json` prints. */

/* The covariance functions of the process with their hyperparameters as a new JSON object, owned by
 * the caller; NULL: out of memory. */
json_t *kn_kernel_to_json(const kn_gp *gp);

/* Set the covariance functions of gp->spec, hyperparameters, and the flags pca, axes and
 * complement_component from their JSON object. gp->F, N and noise must be set. KN_ERR_FORMAT, with
 * the name of the file, if a field is absent or invalid, or a kernel is unknown. */
kn_status kn_kernel_from_json(kn_ctx *ctx, const char *file, json_t *kernel, kn_gp *gp);

/* The terms of the sample covariance R with their columns and parameters as a new JSON array.
 * Without parameters if each response has its own covariance. */
json_t *kn_terms_json(const kn_gp *gp);

/* The weights of the terms in R0 as a new JSON array; JSON null if each response has its own
 * covariance. */
json_t *kn_weights_json(const kn_gp *gp);

/* ---- space.c ---------------------------------------------------------------------------------
 *
 * Image space in a model file: for each part the geometry of its voxels, the ending and side in
 * the names of its maps, and the brain models of CIFTI. */

/* A JSON array with one object per image of a participant (one, or two hemispheres): file ending
 * and side. Owned by the caller. */
json_t *kn_space_parts_to_json(const kn_space *space);

/* Add the NIfTI headers and the CIFTI brain models of the image space to a file that is being
 * written. */
kn_status kn_space_parts_add(kn_ctx *ctx, const kn_space *space, kn_st_writer *w);

/* Read and validate the geometry of the image space and its one or two images. A record without
 * "parts" has one image and writes NIfTI. KN_ERR_FORMAT if they are inconsistent. */
kn_status kn_space_parts_read(kn_ctx *ctx, const kn_st_file *f, const json_t *record,
                              kn_space *space);

/* ---- sites.c ---------------------------------------------------------------------------------
 *
 * Site section of a model file (the site prior): "sites" in the record, arrays site_mu,
 * site_tau2, site_w and site_w_scale. */

/* The scalars of the site prior as a new JSON object; JSON null without a site prior, NULL: out of
 * memory. */
json_t *kn_sites_to_json(const kn_sites *s);

/* Add the arrays of the site prior (T each) to a file that is being written; nothing without a site
 * prior. */
kn_status kn_sites_add(kn_ctx *ctx, const kn_sites *s, kn_st_writer *w);

/* Read and validate the site prior for T responses; without one in the file, out is not changed.
 * KN_ERR_FORMAT if it is inconsistent, and out is then empty. */
kn_status kn_sites_read(kn_ctx *ctx, const kn_st_file *f, json_t *record, ptrdiff_t T,
                        kn_sites *out);

/* ---- calibration.c ---------------------------------------------------------------------------
 *
 * Calibration section of a model file: "layer" in the record, arrays scale_beta, scale_batch and
 * shape. */

/* The calibration transform without its arrays as a new JSON object; JSON null without calibration,
 * NULL: out of memory. */
json_t *kn_calibration_to_json(const kn_calibration_transform *l);

/* Add the coefficient arrays of the calibration that are set to a file that is being written. */
kn_status kn_calibration_add(kn_ctx *ctx, const kn_calibration_transform *l, kn_st_writer *w);

/* What the section must agree with: design, number of responses and of training sites. */
typedef struct kn_calibration_for {
    const kn_design *x;
    ptrdiff_t T, S;
} kn_calibration_for;

/* Read and validate the calibration transform; KN_ERR_FORMAT if it is inconsistent with `sizes`.
 * Without "layer" in the record, out is not changed. */
kn_status kn_calibration_read(kn_ctx *ctx, const kn_st_file *f, json_t *record,
                              kn_calibration_for sizes, kn_calibration_transform *out);

/* The null model without its arrays as a new JSON object: nu, and whether each response has a
 * shape. */
json_t *kn_null_to_json(const kn_null_calibration *c);

/* Add the arrays of the null model for T responses to a file that is being written: null_noise,
 * null_shape (2 x T) and cv_R2. Nothing without a null model. */
kn_status kn_null_add(kn_ctx *ctx, const kn_null_calibration *c, ptrdiff_t T, kn_st_writer *w);

/* Read and validate the null model for T responses; a file of version 0.2 has none and leaves out
 * unchanged. KN_ERR_FORMAT if it is inconsistent. */
kn_status kn_null_read(kn_ctx *ctx, const kn_st_file *f, json_t *record, ptrdiff_t T,
                       kn_null_calibration *out);

/* ---- reference.c -----------------------------------------------------------------------------
 *
 * Reference section of a model file: "reference" in the record, and one array per statistic
 * (statistic, extrapolation, z_cv, ...) and for both deviances. Layout in
 * docs/developers/model_file.md. */

/* The scalars of the reference sample as a new JSON object: size, GEV distributions, test of the
 * table order, and which deviance there is. NULL: out of memory. */
json_t *kn_reference_to_json(const kn_reference *r);

/* Add the statistics of the reference participants and the whole-map deviances for T responses.
 * known: participants have ids, so their z-scores are written too, for those who are scored again.
 * Nothing if the sample is empty. */
kn_status kn_reference_add(kn_ctx *ctx, const kn_reference *r, ptrdiff_t T, bool known,
                           kn_st_writer *w);

/* What the section must agree with: N training participants and T responses. */
typedef struct kn_reference_for {
    ptrdiff_t N, T;
    bool shared;       /* de-identified: quantiles */
    bool own_deviance; /* the method has its own whole-map deviance */
} kn_reference_for;

/* Read and validate the reference sample into r ({0}); KN_ERR_FORMAT if it is inconsistent with
 * `sizes`. r is then partly set, and its owner clears it. */
kn_status kn_reference_read(kn_ctx *ctx, const kn_st_file *f, json_t *record,
                            kn_reference_for sizes, kn_reference *r);

#endif
