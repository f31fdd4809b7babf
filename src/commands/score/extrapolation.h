/* How far people are from training, where their maps do not say it                  [METHOD 8b]
 *
 *     sum_j v_ij   v the model variance at covariates that are not held, of a new group, and of
 *                  people who are at no site of training as if they were at the one of its sites
 *                  where people like them are known best
 *
 * Maps of people without batch have another variance than those of anybody in training: less, since
 * nothing of a site is in it, or more, since few sites say little of their mean. Neither says how
 * far age or sex are from training, so that somebody of an adapted site is compared with the
 * reference at a site of training: at host_i = argmin_s sum_j v_ij(s), the lowest of equals. Where
 * v is no sum over components host_i is by the first block of responses; where the model is more
 * than components (kn_gp.own), one of the four sites with the most people.
 *
 * S + 1 predictions of components, or five of a block, of batches in which such people are. */
#ifndef KN_COMMANDS_SCORE_EXTRAPOLATION_H
#define KN_COMMANDS_SCORE_EXTRAPOLATION_H

#include "model/model.h"

typedef struct kn_extrapolation_job {
    const kn_model *model;
    kn_view X;              /* n x covariates, as given */
    const kn_gp_maps *maps; /* n  theirs: held, in known groups, some without batch */
    const int *held;        /* n  covariates that were held */
    const bool *alone;      /* n  whose batch was left out; NULL: nobody's */
} kn_extrapolation_job;

/* extra (n): what that sum has more than the one of the maps, 0 for who is neither held, nor known,
 * nor alone. Of a model without components the measure that stands for the ratio itself. */
kn_status kn_extrapolation_at_site(kn_ctx *ctx, const kn_extrapolation_job *job, double *extra);

#endif
