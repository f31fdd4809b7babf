/* Extrapolation of participants whose maps do not measure it [METHOD 8b]
 *
 *     sum_j v_ij   v: model variance at unclamped covariates, as in a new group; participants at
 *                  no site of training are placed at the training site where participants like
 *                  them are known best
 *
 * Predictions without site effect have another variance than those of any training participant:
 * smaller, since it has no site term, or larger, since few sites determine their mean poorly.
 * Neither measures the distance of age or sex from training. So a participant of an adapted or
 * unknown site is compared with the reference at a training site: host_i = argmin_s sum_j v_ij(s),
 * the lowest of equals. Where v is not a sum over components host_i is found from the first block
 * of responses; where the model is more than components (kn_gp.own), among the four largest sites.
 *
 * Cost: S + 1 predictions of components, or five of a block, for minibatches with such
 * participants. */
#ifndef KN_COMMANDS_SCORE_EXTRAPOLATION_H
#define KN_COMMANDS_SCORE_EXTRAPOLATION_H

#include "model/model.h"

/* n participants and their maps; all borrowed. */
typedef struct kn_extrapolation_job {
    const kn_model *model;
    kn_view X;              /* n x covariates, original units */
    const kn_gp_maps *maps; /* n: their maps: clamped, in known groups, some without site effect */
    const int *n_clamped;   /* n: number of clamped covariates */
    const bool *without_site; /* n: predicted without site effect; NULL: none */
} kn_extrapolation_job;

/* extra (n): what must be added to the model variance of the maps, summed over responses, to
 * measure how far covariates are from the training sample: at unclamped covariates, and at the best
 * training site for those without one. 0 for other participants; for models without components the
 * distance of the covariates itself. */
kn_status kn_extrapolation_at_site(kn_ctx *ctx, const kn_extrapolation_job *job, double *extra);

#endif
