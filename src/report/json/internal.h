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

/* Adds a value to an object or array. The value is moved, also on failure. */
void kn_page_json_set(kn_page_json *w, json_t *object, const char *key, json_t *value);
void kn_page_json_append(kn_page_json *w, json_t *array, json_t *value);

json_t *kn_page_json_number(double x); /* null if not finite */
json_t *kn_page_json_count(ptrdiff_t n);
json_t *kn_page_json_text(const char *text); /* null if NULL; invalid UTF-8 becomes U+FFFD */
json_t *kn_page_json_numbers(const double *x, ptrdiff_t n); /* null if NULL */
json_t *kn_page_json_counts(const ptrdiff_t *x, ptrdiff_t n);
json_t *kn_page_json_texts(const char *const *text, ptrdiff_t n);
/* Encodes bytes as base64, null if NULL. Read with numpy.frombuffer(base64.b64decode(text),
 * "int8"). */
json_t *kn_page_json_bytes(kn_page_json *w, const void *bytes, ptrdiff_t n);

/* Each returns the JSON object or array of one section of the page. */
json_t *kn_page_json_cohort(kn_page_json *w);
json_t *kn_page_json_model(kn_page_json *w);
/* z-score histograms of the participants; calibration of one sample. */
json_t *kn_page_json_zhist(kn_page_json *w, const kn_report_zhist *z);
json_t *kn_page_json_calibration(kn_page_json *w, const kn_report_calibration *c);
json_t *kn_page_json_responses(kn_page_json *w);
json_t *kn_page_json_curves(kn_page_json *w);
json_t *kn_page_json_participants(kn_page_json *w);
json_t *kn_page_json_abnormality(kn_page_json *w);
json_t *kn_page_json_cards(kn_page_json *w);
json_t *kn_page_json_group(kn_page_json *w);
json_t *kn_page_json_change(kn_page_json *w);
json_t *kn_page_json_space(kn_page_json *w);

#endif
