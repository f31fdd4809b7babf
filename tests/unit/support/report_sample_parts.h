/* Inside of the reports of report_sample.h. */
#ifndef KN_REPORT_SAMPLE_PARTS_H
#define KN_REPORT_SAMPLE_PARTS_H

#include "support/report_sample.h"
#include "support/test.h"

typedef struct maker {
    kn_ctx *ctx;
    kn_report *r;
    sample_kind kind;
    ptrdiff_t n, N, T; /* scored, training, responses */
    ptrdiff_t labelled;
} maker;

enum { SAMPLE_TRAINING = 100000 }; /* where the places of training participants begin */

/* As good as random, a formula of two places; about N(0,1). */
double sample_uniform(ptrdiff_t i, ptrdiff_t t);
double sample_normal(ptrdiff_t i, ptrdiff_t t);
double sample_z(const maker *m, ptrdiff_t i, ptrdiff_t t);
double sample_age(ptrdiff_t i);

/* From the report's arena. */
double *sample_numbers(const maker *m, ptrdiff_t n);
void *sample_array(const maker *m, ptrdiff_t n, size_t element);
const char *sample_numbered(const maker *m, const char *word, ptrdiff_t k);
const char *const *sample_texts(const maker *m, const char *const *word, ptrdiff_t n);

extern const char *const SAMPLE_SITES[4], *const SAMPLE_SEXES[2];

void sample_curves(maker *m); /* report_sample_people.c */
void sample_participants(maker *m);
void sample_hostile(maker *m);               /* report_sample_spoilt.c */
void sample_flatten(kn_report *r, double v); /* every number that may be unknown becomes v */

#endif
