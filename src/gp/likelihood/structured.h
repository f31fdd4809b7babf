/* Structured noise: each component has its own signal and noise variance, and where groups of
 * samples share noise its own ratio gamma of that                                    [METHOD 1b] */
#ifndef KN_GP_LIKELIHOOD_STRUCTURED_H
#define KN_GP_LIKELIHOOD_STRUCTURED_H

#include "gp/likelihood/engine.h"

/* LML = sum_p LML_p - N(T-P)/2 (ln(2 pi s2) + 1), at s2 = E/(N(T-P)); each component in the cell
 * that is best for it                                                                [METHOD 1b] */
kn_status kn_structured_eval(kn_ctx *ctx, kn_engine *e, double *lml);

/* M = A c^1/2/(c r + d), w_i = sum_p c/(c r_i + d) of the components of cell k, columns of the
 * others zero: the envelope gradient's factors [METHOD 3]. False: none has signal. */
bool kn_structured_outer(kn_engine *e, int k);

#endif
