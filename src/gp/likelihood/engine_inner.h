/* Inner search of iso noise: maximises over the inside parameters (C, iso, s2) at a fixed,
 * decomposed R0 [METHOD 3, 3b]
 *
 * L-BFGS from the last maximum; without one, or if the engine is `thorough`, from KN_INSIDE_STARTS
 * cold starts. One step is one evaluation of gp/likelihood/iso.h and reuses U. */
#ifndef KN_GP_LIKELIHOOD_ENGINE_INNER_H
#define KN_GP_LIKELIHOOD_ENGINE_INNER_H

#include "gp/likelihood/engine.h"

/* Writes cold start number `which` < KN_INSIDE_STARTS to inside (n_inside): the variance per
 * component is split between signal and noise in different proportions. With the exact likelihood
 * the noise comes from the energy outside the basis. */
enum { KN_INSIDE_STARTS = 3 };
void kn_engine_inside_start(const kn_engine *e, int which, double *inside);

/* Maximises over the inside parameters. Leaves e->inside and the state of e->iso at the maximum,
 * which is the next warm start; *lml is the value there. */
kn_status kn_engine_maximise_inside(kn_ctx *ctx, kn_engine *e, double *lml);

/* Copies c, d and s2 from the iso state to the engine:  d_p = c_p iso + s2. */
void kn_engine_take_iso(kn_engine *e);

#endif
