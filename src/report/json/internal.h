/* Helpers and section writers behind report/json/report_json.h. A helper returns a new jansson
 * value, or NULL if memory is exhausted; kn_page_json_set and _append then record the failure. */
#ifndef KN_REPORT_JSON_INTERNAL_H
#define KN_REPORT_JSON_INTERNAL_H

#include <jansson.h>

#include "report/report.h"

/* Writer; failed is set by the first value that could not be created. */
typedef struct kn_page_json {
    kn_ctx *ctx;
    const kn_report *r;
    bool failed;
} kn_page_json;

/* Adds a value to an object under this key. The value is moved, also on failure, which sets
 * w->failed. */
void kn_page_json_set(kn_page_json *w, json_t *object, const char *key, json_t *value);
/* Adds a value to the end of an array. The value is moved, also on failure, which sets w->failed.
 */
void kn_page_json_append(kn_page_json *w, json_t *array, json_t *value);

/* Returns x as a JSON number; null if it is not finite. */
json_t *kn_page_json_number(double x);
json_t *kn_page_json_count(ptrdiff_t n);
/* Returns a JSON string; null if text is NULL. Invalid UTF-8 becomes U+FFFD. */
json_t *kn_page_json_text(const char *text);
/* Returns an array of n numbers, null in place of those that are not finite; null if x is NULL and
 * n > 0. */
json_t *kn_page_json_numbers(const double *x, ptrdiff_t n);
/* Returns an array of n integers; null if x is NULL and n > 0. */
json_t *kn_page_json_counts(const ptrdiff_t *x, ptrdiff_t n);
/* Returns an array of n strings, null in place of NULL; null if text is NULL and n > 0. */
json_t *kn_page_json_texts(const char *const *text, ptrdiff_t n);
/* Encodes bytes as base64, null if NULL. Read with numpy.frombuffer(base64.b64decode(text),
 * "int8"). */
json_t *kn_page_json_bytes(kn_page_json *w, const void *bytes, ptrdiff_t n);

/* Returns histograms or level counts of the covariates, training and scored, and the excluded
 * participants with reasons. */
json_t *kn_page_json_cohort(kn_page_json *w);
/* Returns the facts about the model: method, components, terms with weights, cross-validated
 * metrics; null for cv. */
json_t *kn_page_json_model(kn_page_json *w);
/* Returns the z-score histograms of the participants of one sample as counts with bin limits, sums
 * and numbers of responses; null if there are none. */
json_t *kn_page_json_zhist(kn_page_json *w, const kn_report_zhist *z);
/* Returns the calibration of one sample: mean z, mean z^2, coverage, worm plot and PIT with their
 * bands; null if it is empty. */
json_t *kn_page_json_calibration(kn_page_json *w, const kn_report_calibration *c);
/* Returns the accuracy of the T responses: R2, MSLL, gain and mean z^2, with means and the best
 * responses. */
json_t *kn_page_json_responses(kn_page_json *w);
/* Returns an array of the shown responses with centile curves and the participants' points. */
json_t *kn_page_json_curves(kn_page_json *w);
/* Returns an array with the statistics, p-values and covariates of each participant. */
json_t *kn_page_json_participants(kn_page_json *w);
/* Returns what all participants have in common: their order, training statistics, lines at
 * p-values, reference sample, and expected and observed numbers of flagged ones. */
json_t *kn_page_json_abnormality(kn_page_json *w);
/* Returns an array of the cards: most extreme responses, clusters and the z-map as base64 of int8.
 */
json_t *kn_page_json_cards(kn_page_json *w);
/* Returns the comparison of labelled cases with others: ROC curves, burden, overlap and t maps;
 * null without labels. */
json_t *kn_page_json_group(kn_page_json *w);
/* Returns the facts about a report on change between visits; null for other reports. */
json_t *kn_page_json_change(kn_page_json *w);
/* Returns where the responses are: voxels of a volume, vertices of meshes, or regions. */
json_t *kn_page_json_space(kn_page_json *w);

#endif
