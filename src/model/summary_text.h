/* A model in words: what the signal and the noise are made of, and what became of the covariates.
 */
#ifndef KN_MODEL_SUMMARY_TEXT_H
#define KN_MODEL_SUMMARY_TEXT_H

#include <jansson.h>

#include "model/model.h"

/* Name of term k: linear, curved, smooth, of a category its column, of slopes "site:age"; of a
 * plain sum the kernel's. */
void kn_term_name(const kn_model *m, int k, char *out, size_t size);

/* The length of the first term that has one, in units of the covariate where there is one alone
 * (*units its name), else of standard deviations ("sd"). NaN: there is none. */
double kn_length_in_units(const kn_model *m, char *units, size_t size);

/* Share of the components' noise that groups of samples have in common; and the mean slope. */
double kn_group_share(const kn_model *m);
double kn_mean_slope(const kn_model *m);

/* The smallest p_upper that a new person can get; NaN: there is no reference. */
double kn_smallest_p(const kn_model *m);

#endif
