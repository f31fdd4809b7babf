/* Computes the content of the page from the input. Each function fills one section of the report
 * from the input and from sections computed before it; report.c calls them all, in the order of
 * its table STEPS. */
#ifndef KN_REPORT_COMPUTE_COMPUTE_H
#define KN_REPORT_COMPUTE_COMPUTE_H

#include "base/options/options.h"
#include "report/input/input.h"
#include "report/report.h"

/* Arguments common to all steps; everything is borrowed. */
typedef struct kn_report_job {
    kn_report_input *m;
    const kn_settings *s; /* settings of the command "report" */
    const kn_options *options;
    kn_report *r;
} kn_report_job;

/* Sets r->names and r->unit by {names} and {unit} or the model, and renames the levels of
 * covariates in the input, for all sections (names.c). KN_ERR_ARGUMENT for an unknown level. */
kn_status kn_compute_names(kn_ctx *ctx, const kn_report_job *job);
/* Fills the locations of the responses: background, meshes, regions (space.c). Fails if {surface},
 * {labels} or {background} do not fit the responses. */
kn_status kn_compute_space(kn_ctx *ctx, const kn_report_job *job);
/* Fills the distributions of covariates and the exclusions (cohort.c). */
kn_status kn_compute_cohort(kn_ctx *ctx, const kn_report_job *job);
/* Fills the section on the model: method, terms, components, cross-validation (model.c). */
kn_status kn_compute_model(kn_ctx *ctx, const kn_report_job *job);
/* Rows, order and p-value lines of the scored participants (participants.c). */
kn_status kn_compute_participants(kn_ctx *ctx, const kn_report_job *job);
/* Reads every z-map once (maps.c): histogram and sums of each participant; z^2 and group sums of
 * each response; int8 maps of cards and thumbnails. */
kn_status kn_compute_maps(kn_ctx *ctx, const kn_report_job *job);
/* Fills the calibration of training and scored z-scores (calibration.c). */
kn_status kn_compute_calibration(kn_ctx *ctx, const kn_report_job *job);
/* Metrics of the responses, the best predicted, and those with curves (responses.c). */
kn_status kn_compute_responses(kn_ctx *ctx, const kn_report_job *job);
/* Fills the centile curves of the shown responses with the participants as points (curves.c). */
kn_status kn_compute_curves(kn_ctx *ctx, const kn_report_job *job);
/* Fills the comparison of cases with the other participants (group.c). */
kn_status kn_compute_group(kn_ctx *ctx, const kn_report_job *job);
/* Fills the section on change between visits; nothing unless the folder is one of `kronorm change`
 * (change.c). */
kn_status kn_compute_change(kn_ctx *ctx, const kn_report_job *job);
/* Sentences, extreme responses and clusters of the cards (cards.c). */
kn_status kn_compute_cards(kn_ctx *ctx, const kn_report_job *job);
/* Methods text and the facts to reproduce the page (methods_section.c). */
kn_status kn_compute_methods(kn_ctx *ctx, const kn_report_job *job);
/* Computes the summary of the report: first sentence, warnings, checks that passed, and notes. The
 * other sections must be computed before. */
kn_status kn_compute_summary(kn_ctx *ctx, const kn_report_job *job);
/* With {strip_ids}, replaces the ids in all texts; must run last (anonymize_report.c). */
kn_status kn_compute_anonymize(kn_ctx *ctx, const kn_report_job *job);

/* True if scored participant i counts as normal: not labelled, not in the training sample (whose
 * cross-validated z-scores are counted there), and for change a member of the reference sample. */
bool kn_report_is_normal(const kn_report_job *job, ptrdiff_t i);

/* Appends a note to a list of the report. The text is formatted, and code and title are copied,
 * into the arena of the report. */
kn_status kn_report_note_add(kn_ctx *ctx, kn_report *r, kn_report_notes *notes, const char *code,
                             const char *title, const char *format, ...) KN_PRINTF(6, 7);

#endif
