/* What a fit of ordinary size needs. */
#ifndef KN_TEST_NEEDS_H
#define KN_TEST_NEEDS_H

#include "support/test.h"

#include "commands/memory/memory_plan.h"
#include "gp/methods/methods.h"

static const kn_problem_size PLAIN = {.method = &kn_method_smtgpr,
                                      .N = 600,
                                      .T = 100000,
                                      .F = 5,
                                      .P = 25,
                                      .M = 600,
                                      .folds = 10,
                                      .top = 0.05,
                                      .value = 4,
                                      .threads = 2};

static inline double total(kn_problem_size s)
{
    kn_need need;
    kn_need_predict(&s, &need);
    return kn_need_total(&need);
}

#endif
