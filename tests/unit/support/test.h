/* What every unit test includes. */
#ifndef KN_TEST_H
#define KN_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/fit/fit.h"
#include "ref/ref.h"
#include "ref/seed.h"
#include "support/golden.h"

/* Each test_NAME.c defines its entry point by TEST_PROGRAM(NAME) { ... return
 * cmocka_run_group_tests(...); }, which registers it with tests/unit/main.c before main begins. */
typedef struct test_program {
    const char *name;
    int (*run)(void);
    struct test_program *next;
} test_program;

void register_test_program(test_program *program);

#define TEST_PROGRAM(NAME)                                                                         \
    static int test_program_##NAME(void);                                                          \
    __attribute__((constructor)) static void register_##NAME(void)                                 \
    {                                                                                              \
        static test_program program = {#NAME, test_program_##NAME, NULL};                          \
        register_test_program(&program);                                                           \
    }                                                                                              \
    static int test_program_##NAME(void)

/* Sums of kernels by bits. */
enum { KN_LINEAR = 1, KN_SE = 2, KN_ISO = 4 };
static const char *const KERNELS[]
    __attribute__((unused)) = {NULL,  "linear",     "se",     "linear+se",
                               "iso", "linear+iso", "se+iso", "linear+se+iso"};

/* How often a check repeats, or at what size: where KN_TEST_REPEAT=few asks for it (tools/check
 * says when), less often. It checks the same. */
static inline int repeat(int all, int few)
{
    const char *asked = getenv("KN_TEST_REPEAT");
    return asked && strcmp(asked, "few") == 0 ? few : all;
}

/* The plainest structured model: linear+se over all covariates, no groups, no calibration, and a
 * basis as it is given. */
static inline void plain_settings(kn_settings *s)
{
    kn_settings_init(s);
    s->sample_kernel = "linear+se";
    s->group = "none";
    s->calibrate = KN_CALIBRATE_NONE;
    s->basis_axes = KN_AXES_GIVEN;
}

/* |a - b| <= tol * max(1, |b|), with both numbers in the message. */
#define assert_close(a, b, tol)                                                                    \
    do {                                                                                           \
        double a_ = (a), b_ = (b), t_ = (tol), s_ = fabs(b_) > 1 ? fabs(b_) : 1;                   \
        if (!(fabs(a_ - b_) <= t_ * s_))                                                           \
            fail_msg("%s = %.17g, expected %.17g, off by %.3g of %.3g allowed", #a, a_, b_,        \
                     fabs(a_ - b_) / s_, t_);                                                      \
    } while (0)

#define assert_same(a, b, tol)                                                                     \
    do {                                                                                           \
        double d_ = ref_difference(a, b);                                                          \
        if (!(d_ <= (tol)))                                                                        \
            fail_msg("%s differs from %s by %.3g, allowed %.3g", #a, #b, d_, (double)(tol));       \
    } while (0)

#define assert_ok(ctx, call)                                                                       \
    do {                                                                                           \
        kn_status s_ = (call);                                                                     \
        if (s_ != KN_OK)                                                                           \
            fail_msg("%s: %s (%s)", #call, kn_message(ctx), kn_status_name(s_));                   \
    } while (0)

/* The call fails with this status and its message holds this text. */
#define assert_refused(ctx, call, expected, text)                                                  \
    do {                                                                                           \
        kn_status s_ = (call);                                                                     \
        if (s_ != (expected) || !strstr(kn_message(ctx), (text)))                                  \
            fail_msg("%s: status %s, message '%s'; expected %s and '%s'", #call,                   \
                     kn_status_name(s_), kn_message(ctx), kn_status_name(expected), (text));       \
    } while (0)

#endif
