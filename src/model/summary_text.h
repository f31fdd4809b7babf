/* Numbers and names for the text summary of a model (kn_model_words() of kronorm.h, in
 * summary_text.c): composition of signal and noise, covariates, reference. The report uses some of
 * them too. */
#ifndef KN_MODEL_SUMMARY_TEXT_H
#define KN_MODEL_SUMMARY_TEXT_H

#include <jansson.h>

#include "model/model.h"

/* Name of term k of the sample covariance into out: "linear", "quadratic" or "smooth", the column
 * of a category, "site:age" for slopes per level, or the name of the kernel. */
void kn_term_name(const kn_model *m, int k, char *out, size_t size);

/* Length scale of the first term that has one. If the model has one numeric covariate only, in its
 * units, with units set to its name; otherwise in standard deviations, with units "sd". NaN and ""
 * if no term has a length. */
double kn_length_in_units(const kn_model *m, char *units, size_t size);

/* Proportion of the noise that the rows of a group of repeated measures have in common, 0 to 1; NaN
 * without groups. */
double kn_group_noise_proportion(const kn_model *m);

/* Mean shrinkage factor of the responses; NaN if the model has none. */
double kn_mean_slope(const kn_model *m);

/* Smallest extreme_z_p that a new participant can get; NaN if the model has no reference sample. */
double kn_smallest_p(const kn_model *m);

/* Smallest deviance_p, 1 / (n + 1) for a rank among n values of the reference sample; NaN if the
 * model has no whole-map deviance. */
double kn_smallest_deviance_p(const kn_model *m);

#endif
