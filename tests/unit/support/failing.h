/* Cases in which allocations fail. Each FAILING_CASE is one row {name, fixture, call} of the table
 * that the test program base_failing_allocations runs; the row is next to the fixture that it
 * needs. A case lets the k-th allocation of a call fail for k = 1, 2, ... and checks that the call
 * returns KN_ERR_MEMORY, leaves no file and no memory, and succeeds once k is above the number of
 * its allocations. The sanitizer build looks for leaks. */
#ifndef KN_TEST_FAILING_H
#define KN_TEST_FAILING_H

#include "support/test.h"

typedef struct failing_case {
    const char
        *name; /* LAYER_CALL: "unit_tests base_failing_allocations 'io_*'" runs a calibration */
    void (*run)(void **state);
    int (*setup)(void **state), (*teardown)(void **state); /* or NULL */
    struct failing_case *next;
} failing_case;

void register_failing_case(failing_case *row);      /* borrowed until the program ends */
const failing_case *registered_failing_cases(void); /* the first of a list; NULL: there is none */

#define FAILING_CASE(NAME, SETUP, TEARDOWN)                                                        \
    static void failing_##NAME(void **state);                                                      \
    __attribute__((constructor)) static void register_failing_##NAME(void)                         \
    {                                                                                              \
        static failing_case row = {#NAME, failing_##NAME, SETUP, TEARDOWN, NULL};                  \
        register_failing_case(&row);                                                               \
    }                                                                                              \
    static void failing_##NAME(void **state __attribute__((unused)))

/* Loops in which the k-th allocation fails, k = 1, 2, ..., until the call succeeds. With few
 * repetitions k takes larger steps; it returns to single steps before the end, so that the last
 * allocation fails too. The call may therefore succeed more than once.
 *   failing f = failing_by(11);
 *   while (failing_next(&f, status)) {
 *       kn_fail_allocation(ctx, f.k);
 *       status = ...; */
typedef struct failing {
    long k;
    int step;
} failing;

static inline failing failing_by(int few)
{
    return (failing){0, repeat(1, few)};
}

/* Advances f; false after success or another error. status is that of the call in which allocation
 * f->k failed; it is ignored before the first call. */
static inline bool failing_next(failing *f, kn_status status)
{
    if (f->k == 0) {
        f->k = 1;
        return true;
    }
    if (status == KN_OK && f->step > 1 && f->k > f->step) {
        f->k -= f->step;
        f->step = 1;
    } else if (status != KN_ERR_MEMORY)
        return false;
    f->k += f->step;
    return true;
}

#endif
