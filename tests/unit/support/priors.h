/* A prior over sites held against the slow version. */
#ifndef KN_TEST_PRIORS_H
#define KN_TEST_PRIORS_H

#include "support/test.h"

#include "norm/sites/site_prior.h"
#include "ref/sites.h"

static inline void assert_prior(const kn_sites *p, const ref_prior *q)
{
    assert_int_equal(p->S, q->S);
    assert_int_equal(p->between, q->between);
    assert_close(p->S1, q->S1, 0);
    assert_close(p->kurt, q->kurt, 1e-9);
    assert_close(p->T_eff_offset, q->T_eff_offset, 1e-9);
    assert_close(p->T_eff_scale, q->T_eff_scale, 1e-9);
    assert_close(p->v_a, q->v_a, 1e-9);
    assert_close(p->v_b, q->v_b, 1e-9);
    for (ptrdiff_t j = 0; j < p->T; j++) {
        assert_close(p->mu[j], q->mu[j], 1e-9);
        assert_close(p->tau2[j], q->tau2[j], 1e-9);
        assert_close(p->w[j], q->w[j], 1e-9);
        assert_close(p->w_scale[j], q->w_scale[j], 1e-9);
    }
}

#endif
