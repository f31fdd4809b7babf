/* Signed burdens of the people scored, and findings after FDR; those of the reference to compare
 * with [METHOD 8d] */
#ifndef KN_COMMANDS_SCORE_BURDENS_H
#define KN_COMMANDS_SCORE_BURDENS_H

#include "commands/score/scores.h"

/* Of people row .. row + rows - 1, whose maps these are; statistics of training people become those
 * of the reference. Sets maps->fdr where it is there. */
kn_status kn_burdens_take(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, ptrdiff_t rows,
                          const kn_row_maps *maps);

/* Burdens of the reference from its z: beyond another threshold than its own, or of a model that
 * was made before burdens were. */
kn_status kn_burdens_of_reference(kn_ctx *ctx, kn_scores *s);

#endif
