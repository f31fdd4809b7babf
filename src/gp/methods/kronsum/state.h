/* What a model of MT-Kronsum keeps beside its components, in memory and in its file; what it says
 * of itself; the memory that a fit takes                                             [METHOD 1g] */
#ifndef KN_GP_METHODS_KRONSUM_STATE_H
#define KN_GP_METHODS_KRONSUM_STATE_H

#include "gp/method.h"

typedef struct kn_kronsum_own { /* gp->own: what folds are to do as the fit did */
    double nu;
    ptrdiff_t P;      /* components of the structured model */
    kn_limits limits; /* evaluations; and the time of the fit, while it runs */
    double kept[3];   /* as the file has them: a writer comes back for them */
} kn_kronsum_own;

/* For kn_method. */
kn_status kn_kronsum_arrays(kn_gp *gp, kn_arrays *a);
void kn_kronsum_own_clear(kn_gp *gp);
double kn_kronsum_bytes(const kn_gp *gp);
/* S_jj of (1 + tau) S_jj: with all directions in Q nothing is left that groups may not share. */
void kn_kronsum_group_noise(const kn_gp *gp, double *noise);
void kn_kronsum_say(const kn_gp *gp, char *line, size_t size);
void kn_kronsum_finalise(kn_problem_size *s);
void kn_kronsum_need_fit(kn_mem_plan *r, const kn_problem_size *s);

#endif
