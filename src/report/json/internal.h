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
void kn_jot(kn_jotter *w, json_t *object, const char *key, json_t *value);
void kn_jot_next(kn_jotter *w, json_t *array, json_t *value);

json_t *kn_jot_number(double x); /* null of what is not finite */
json_t *kn_jot_count(ptrdiff_t n);
json_t *kn_jot_text(const char *text);                /* null of NULL; broken UTF-8 as U+FFFD */
json_t *kn_jot_numbers(const double *x, ptrdiff_t n); /* null of NULL */
json_t *kn_jot_counts(const ptrdiff_t *x, ptrdiff_t n);
json_t *kn_jot_texts(const char *const *text, ptrdiff_t n);
/* Bytes as base64: numpy.frombuffer(base64.b64decode(text), "int8"). null of NULL */
json_t *kn_jot_bytes(kn_jotter *w, const void *bytes, ptrdiff_t n);

/* Parts of the page. */
json_t *kn_jot_cohort(kn_jotter *w);
json_t *kn_jot_model(kn_jotter *w);
json_t *kn_jot_zhist(kn_jotter *w, const kn_report_zhist *z);
json_t *kn_jot_calibration(kn_jotter *w, const kn_report_calibration *c);
json_t *kn_jot_responses(kn_jotter *w);
json_t *kn_jot_curves(kn_jotter *w);
json_t *kn_jot_people(kn_jotter *w);
json_t *kn_jot_abnormality(kn_jotter *w);
json_t *kn_jot_cards(kn_jotter *w);
json_t *kn_jot_group(kn_jotter *w);
json_t *kn_jot_change(kn_jotter *w);
json_t *kn_jot_space(kn_jotter *w);

#endif
