/* Reports that are there without data, models or computing: every number is a formula of its place,
 * so that pages and figures drawn from them are the same bytes everywhere. */
#ifndef KN_REPORT_SAMPLE_H
#define KN_REPORT_SAMPLE_H

#include "report/report.h"

typedef enum sample_kind {
    SAMPLE_TABLE,    /* 12 scored, 3 of them labelled, 20 of training, 6 regions, 2 with curves */
    SAMPLE_HOSTILE,  /* the same with names, ids and words that try to become mark-up */
    SAMPLE_CHANGE,   /* 9 pairs of visits */
    SAMPLE_VOLUME,   /* 5 scored, a small volume, cards with clusters, thumbnails */
    SAMPLE_CROWD,    /* 2000 of training, 300 scored: what is drawn otherwise when there are many */
    SAMPLE_MODEL,    /* no scored participant */
    SAMPLE_NOTHING,  /* all is empty */
    SAMPLE_ONE,      /* one participant, one response */
    SAMPLE_UNKNOWN,  /* as the table, and every number NaN */
    SAMPLE_CONSTANT, /* as the table, and every number the same */
    SAMPLE_MANY,     /* 2000 scored: most of them are in a density, and not in the table */
    SAMPLE_KINDS
} sample_kind;

extern const char *const sample_name[SAMPLE_KINDS];

/* Fails the test where memory ends. Free with sample_free. */
kn_report *sample_report(kn_ctx *ctx, sample_kind kind);
void sample_free(kn_report *r);

#endif
