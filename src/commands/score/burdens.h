/* Signed burdens and FDR findings of the scored participants, and burdens of the reference sample
 * to compare with [METHOD 8d] */
#ifndef KN_COMMANDS_SCORE_BURDENS_H
#define KN_COMMANDS_SCORE_BURDENS_H

#include "commands/score/scores.h"

/* Computes burdens and findings of participants row .. row + rows - 1 from their maps, and
 * maps->fdr unless NULL. Training participants with a stored z get the statistic and mean z of the
 * reference, bit for bit. */
kn_status kn_burdens_take(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, ptrdiff_t rows,
                          const kn_row_maps *maps);

/* Computes the burdens of the reference sample from its z (s->counted) if {threshold} is not the
 * stored one, or the model file has no burdens. Warns if the model keeps no z. */
kn_status kn_burdens_of_reference(kn_ctx *ctx, kn_scores *s);

#endif
