/* What the files behind report/json/json.h share. */
#ifndef KN_REPORT_JSON_INTERNAL_H
#define KN_REPORT_JSON_INTERNAL_H

#include <jansson.h>

#include "report/report.h"

typedef struct kn_page_json { /* the first failure is kept: a value that could not be made */
    kn_ctx *ctx;
    const kn_report *r;
    bool failed;
} kn_page_json;

/* The value becomes the object's, or the array's. */
void kn_page_json_set(kn_page_json *w, json_t *object, const char *key, json_t *value);
void kn_page_json_append(kn_page_json *w, json_t *array, json_t *value);

json_t *kn_page_json_number(double x); /* null of what is not finite */
json_t *kn_page_json_count(ptrdiff_t n);
json_t *kn_page_json_text(const char *text); /* null of NULL; broken UTF-8 as U+FFFD */
json_t *kn_page_json_numbers(const double *x, ptrdiff_t n); /* null of NULL */
json_t *kn_page_json_counts(const ptrdiff_t *x, ptrdiff_t n);
json_t *kn_page_json_texts(const char *const *text, ptrdiff_t n);
/* Bytes as base64: numpy.frombuffer(base64.b64decode(text), "int8"). null of NULL */
json_t *kn_page_json_bytes(kn_page_json *w, const void *bytes, ptrdiff_t n);

/* Parts of the page. */
json_t *kn_page_json_cohort(kn_page_json *w);
json_t *kn_page_json_model(kn_page_json *w);
json_t *kn_page_json_zhist(kn_page_json *w, const kn_report_zhist *z);
json_t *kn_page_json_calibration(kn_page_json *w, const kn_report_calibration *c);
json_t *kn_page_json_responses(kn_page_json *w);
json_t *kn_page_json_curves(kn_page_json *w);
json_t *kn_page_json_people(kn_page_json *w);
json_t *kn_page_json_abnormality(kn_page_json *w);
json_t *kn_page_json_cards(kn_page_json *w);
json_t *kn_page_json_group(kn_page_json *w);
json_t *kn_page_json_change(kn_page_json *w);
json_t *kn_page_json_space(kn_page_json *w);

#endif
