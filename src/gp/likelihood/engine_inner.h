/* iso noise at an R0 that is decomposed: the inside parameters (C, iso, s2), which leave the
 * eigenvectors of R0 alone, at their maximum                                       [METHOD 3, 3b]
 *
 * L-BFGS from the last maximum; where there is none, or a thorough search is asked for, from
 * KN_INSIDE_STARTS others. A step is an evaluation of gp/likelihood/iso.h, with U at hand. */
#ifndef KN_GP_LIKELIHOOD_ENGINE_INNER_H
#define KN_GP_LIKELIHOOD_ENGINE_INNER_H

#include "gp/likelihood/engine.h"

/* Starts for the inside parameters: the variance per component split between signal and noise in
 * several proportions, the noise also from the energy outside the basis. which < KN_INSIDE_STARTS.
 */
enum { KN_INSIDE_STARTS = 3 };
void kn_engine_inside_start(const kn_engine *e, int which, double *inside);

/* e->inside at the maximum and e->iso's state there, for whatever starts next. */
kn_status kn_engine_maximise_inside(kn_ctx *ctx, kn_engine *e, double *lml);

/* c, d and s2 of the engine from the state of iso:  d_p = c_p iso + s2. */
void kn_engine_take_iso(kn_engine *e);

#endif
