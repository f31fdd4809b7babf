/* State of a convolved model besides X and B, and its arrays in the model file [METHOD 1i]. */
#ifndef KN_GP_METHODS_CONVOLVED_STATE_H
#define KN_GP_METHODS_CONVOLVED_STATE_H

#include "base/array_visitor.h"
#include "gp/gp.h"
#include "gp/methods/convolved/model.h"

enum { KN_CONV_NUMBERS = 7 };

typedef struct kn_convolved {
    kn_conv_spec spec;
    kn_conv_model model;
    double numbers[KN_CONV_NUMBERS]; /* plan and jitter, as written to the file */
} kn_convolved;

kn_status kn_convolved_own(kn_ctx *ctx, kn_gp *gp); /* allocates an empty kn_convolved */
/* Implements kn_method.clear. */
void kn_convolved_clear(kn_gp *gp);
/* Sets latent.P, c and d, which reports show. */
kn_status kn_convolved_latent(kn_ctx *ctx, kn_gp *gp);

/* Implement kn_method.say, arrays and bytes. */
void kn_convolved_say(const kn_gp *gp, char *line, size_t size);
kn_status kn_convolved_arrays(kn_gp *gp, kn_arrays *a);
double kn_convolved_bytes(const kn_gp *gp);

#endif
