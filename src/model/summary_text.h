/* Numbers and names for the text summary of a model (kn_model_words() of kronorm.h, in
 * summary_text.c): composition of signal and noise, covariates, reference. The report uses some of
 * them too. */
#ifndef KN_MODEL_SUMMARY_TEXT_H
#define KN_MODEL_SUMMARY_TEXT_H

#include <jansson.h>

#include "model/model.h"

/* Name of term k of the sample kernel: linear, quadratic, smooth; the column of a category;
 * "site:age" for slopes; the kernel's name for a plain sum. */
void kn_term_name(const kn_model *m, int k, char *out, size_t size);

/* Length scale of the first term that has one, in units of the covariate if there is only one
 * (*units: its name), otherwise in standard deviations ("sd"). NaN: no such term. */
double kn_length_in_units(const kn_model *m, char *units, size_t size);

/* Share of the components' noise that groups of repeated measures have in common; and the mean
 * slope. NaN without groups or slope. */
double kn_group_noise_proportion(const kn_model *m);
double kn_mean_slope(const kn_model *m);

/* The smallest extreme_z_p that a new participant can get; NaN: no reference. */
double kn_smallest_p(const kn_model *m);
/* The smallest deviance_p, which is a rank in the reference sample; NaN: none. */
double kn_smallest_deviance_p(const kn_model *m);

#endif
