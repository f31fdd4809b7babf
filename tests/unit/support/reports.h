/* Reports of participants of which only the names are known. */
#ifndef KN_TEST_REPORTS_H
#define KN_TEST_REPORTS_H

#include "support/test.h"

#include "report/compute/compute.h"

static kn_ctx *ctx;

static inline kn_report *new_report(ptrdiff_t n)
{
    kn_report *r = calloc(1, sizeof *r);
    void *memory;
    assert_ok(ctx, kn_arena_alloc(ctx, &r->arena, n, sizeof *r->participants.participant, &memory));
    r->participants.participant = memory;
    r->participants.n = n;
    for (ptrdiff_t i = 0; i < n; i++) {
        r->participants.participant[i] = (kn_report_participant){.label = -1,
                                                                 .extreme_z_p = NAN,
                                                                 .extreme_z = NAN,
                                                                 .deviance_p = NAN};
        assert_ok(ctx, kn_arena_print(ctx, &r->arena, &r->participants.participant[i].id,
                                      "sub-%02td", i + 1));
    }
    return r;
}

static inline void free_report(kn_report *r)
{
    kn_arena_clear(&r->arena);
    free(r);
}

#endif
