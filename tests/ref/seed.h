/* Seeds of random test data. The environment variable KN_SEED chooses the data of a whole run;
 * without it a seed is drawn. The first use prints "# KN_SEED=n", with which the run can be
 * repeated. */
#ifndef KN_REF_SEED_H
#define KN_REF_SEED_H

#include "base/random.h"

/* The seed of this run: KN_SEED, a whole number, or one drawn from the clock. Exits with a message
 * where KN_SEED is not a whole number. */
uint64_t ref_run_seed(void);

/* Combines a seed written in a test with that of the run. KN_SEED=0 leaves it as it is. */
uint64_t ref_seed(uint64_t seed);

/* kn_rng_init with ref_seed(seed): every random number of a test starts here, except where the test
 * repeats a stream that the product draws. */
void ref_rng_init(kn_rng *rng, uint64_t seed, uint64_t stream);

#endif
