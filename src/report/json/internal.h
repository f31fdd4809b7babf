/* What the files behind report/json/json.h share. */
#ifndef KN_REPORT_JSON_INTERNAL_H
#define KN_REPORT_JSON_INTERNAL_H

#include <jansson.h>

#include "report/report.h"

typedef struct kn_jotter { /* the first failure is kept: a value that could not be made */
    kn_ctx *ctx;
    const kn_report *r;
    bool failed;
} kn_jotter;

/* The value becomes the object's, or the array's. */
void kn_json_writer(kn_jotter *w, json_t *object, const char *key, json_t *value);
void kn_json_set_next(kn_jotter *w, json_t *array, json_t *value);

json_t *kn_json_set_number(double x); /* null of what is not finite */
json_t *kn_json_set_count(ptrdiff_t n);
json_t *kn_json_set_text(const char *text); /* null of NULL; broken UTF-8 as U+FFFD */
json_t *kn_json_set_numbers(const double *x, ptrdiff_t n); /* null of NULL */
json_t *kn_json_set_counts(const ptrdiff_t *x, ptrdiff_t n);
json_t *kn_json_set_texts(const char *const *text, ptrdiff_t n);
/* Bytes as base64: numpy.frombuffer(base64.b64decode(text), "int8"). null of NULL */
json_t *kn_json_set_bytes(kn_jotter *w, const void *bytes, ptrdiff_t n);

/* Parts of the page. */
json_t *kn_json_set_cohort(kn_jotter *w);
json_t *kn_json_set_model(kn_jotter *w);
json_t *kn_json_set_zhist(kn_jotter *w, const kn_report_zhist *z);
json_t *kn_json_set_calibration(kn_jotter *w, const kn_report_calibration *c);
json_t *kn_json_set_responses(kn_jotter *w);
json_t *kn_json_set_curves(kn_jotter *w);
json_t *kn_json_set_people(kn_jotter *w);
json_t *kn_json_set_abnormality(kn_jotter *w);
json_t *kn_json_set_cards(kn_jotter *w);
json_t *kn_json_set_group(kn_jotter *w);
json_t *kn_json_set_change(kn_jotter *w);
json_t *kn_json_set_space(kn_jotter *w);

#endif
