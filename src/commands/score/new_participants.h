/* Relation of new participants to the training sample: known groups, clamped covariates, new
 * levels and sites [METHOD 0, 4]. Warnings and the columns unseen_level and site_adapted come from
 * it. */
#ifndef KN_COMMANDS_SCORE_NEW_PARTICIPANTS_H
#define KN_COMMANDS_SCORE_NEW_PARTICIPANTS_H

#include "commands/score/site_lookup.h"

/* Results per scored participant. */
typedef struct kn_participant_status {
    ptrdiff_t n;
    ptrdiff_t *group;    /* n: group of the training sample, -1: new; NULL: not wanted */
    int *n_clamped;      /* n: number of covariates that are clamped or have a new level */
    bool *unseen;        /* n: has a level that training did not have */
    ptrdiff_t *column;   /* participants with a clamped value or new level, per covariate */
    ptrdiff_t n_known;   /* participants in a group of the training sample */
    kn_site_lookup from; /* sites of the participants */
} kn_participant_status;

/* Find the relation of new participants to the training sample: sites, clamped covariates, new
 * levels, and with {known_groups} their groups; warns of them. KN_ERR_ARGUMENT for {known_groups}
 * if the model has no groups; errors of kn_site_lookup_new(). out is owned by the caller. */
kn_status kn_participant_status_new(kn_ctx *ctx, const kn_settings *s, const kn_model *model,
                                    const kn_data *data, const kn_sample *participants,
                                    kn_participant_status *out);
void kn_participant_status_clear(kn_participant_status *s); /* accepts {0} */

/* True if row i of the design X equals training participant t, up to 1e-6. X: from
 * kn_design_apply. */
bool kn_provenance_covariates_equal(const kn_model *model, kn_mat X, ptrdiff_t i, ptrdiff_t t);

/* Group column for kn_sample_spec, borrowed from the model; NULL without {known_groups}. */
const char *kn_participant_status_column(const kn_settings *s, const kn_model *model);

#endif
