/* Reports of people of whom only the names are known. */
#ifndef KN_TEST_REPORTS_H
#define KN_TEST_REPORTS_H

#include "support/test.h"

#include "report/compute/compute.h"

static kn_ctx *ctx;

static inline kn_report *new_report(ptrdiff_t n)
{
    kn_report *r = calloc(1, sizeof *r);
    void *memory;
    assert_ok(ctx, kn_arena_alloc(ctx, &r->arena, n, sizeof *r->people.person, &memory));
    r->people.person = memory;
    r->people.n = n;
    for (ptrdiff_t i = 0; i < n; i++) {
        r->people.person[i] =
            (kn_report_person){.label = -1, .p = NAN, .statistic = NAN, .deviance_p = NAN};
        assert_ok(ctx, kn_arena_print(ctx, &r->arena, &r->people.person[i].id, "sub-%02td", i + 1));
    }
    return r;
}

static inline void free_report(kn_report *r)
{
    kn_arena_clear(&r->arena);
    free(r);
}

#endif
