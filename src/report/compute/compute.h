/* From the material to what the page says. One file a part of the page; each fills its part of the
 * report from the material and from the parts before it. */
#ifndef KN_REPORT_COMPUTE_COMPUTE_H
#define KN_REPORT_COMPUTE_COMPUTE_H

#include "base/options/options.h"
#include "report/input/input.h"
#include "report/report.h"

typedef struct kn_report_job {
    kn_report_input *m;
    const kn_settings *s; /* of "report" */
    const kn_options *options;
    kn_report *r;
} kn_report_job;

/* In this order. */
kn_status
kn_compute_space(kn_ctx *ctx,
                 const kn_report_job *job); /* compute_space.c: background, meshes, regions */
kn_status kn_compute_cohort(kn_ctx *ctx, const kn_report_job *job); /* compute_cohort.c */
kn_status kn_compute_model(kn_ctx *ctx, const kn_report_job *job);  /* compute_model.c */
kn_status kn_compute_people(kn_ctx *ctx,
                            const kn_report_job *job); /* compute_people.c: rows, order, lines */
/* compute_maps.c: the one pass over the maps of everybody. For each: histogram, sums; per response
 * z^2 and the sums of the group; int8 maps of cards and thumbs. */
kn_status kn_compute_maps(kn_ctx *ctx, const kn_report_job *job);
kn_status kn_compute_calibration(kn_ctx *ctx, const kn_report_job *job); /* compute_calibration.c */
kn_status
kn_compute_responses(kn_ctx *ctx,
                     const kn_report_job *job); /* compute_responses.c: metrics, best, shown */
kn_status kn_compute_curves(kn_ctx *ctx, const kn_report_job *job); /* compute_curves.c */
kn_status kn_compute_group(kn_ctx *ctx, const kn_report_job *job);  /* compute_group.c */
kn_status kn_compute_change(kn_ctx *ctx, const kn_report_job *job); /* compute_change.c */
kn_status kn_compute_cards(kn_ctx *ctx,
                           const kn_report_job *job); /* compute_cards.c: words, tops, clusters */
kn_status kn_compute_words(kn_ctx *ctx,
                           const kn_report_job *job); /* compute_words.c: methods, facts */
kn_status kn_compute_summary(
    kn_ctx *ctx,
    const kn_report_job *job); /* compute_summary.c: sentence, warnings, what is fine */
/* compute_strip.c: with {strip_ids}, ids out of all texts */
kn_status kn_compute_strip(kn_ctx *ctx, const kn_report_job *job);

/* Person i of the folder counts as normal: not labelled, not of training (whose z is training's),
 * and of a folder of change one of the reference. counted.c */
bool kn_report_is_normal(const kn_report_job *job, ptrdiff_t i);

/* A note at the end of a list, its words in the arena of the report. */
kn_status kn_report_note_add(kn_ctx *ctx, kn_report *r, kn_report_notes *notes, const char *code,
                             const char *title, const char *format, ...) KN_PRINTF(6, 7);

#endif
