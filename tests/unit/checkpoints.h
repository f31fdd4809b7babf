/* Fits that keep a journal, which counts and can pull the plug. */
#ifndef KN_TEST_CHECKPOINTS_H
#define KN_TEST_CHECKPOINTS_H

#include "logged.h"
#include "scratch.h"
#include "views.h"

#include "base/rng.h"
#include "work/checkpoint.h"
#include "work/fit.h"

static kn_ctx *ctx;
static logged lines;

static const char FILE_NAME[] = "m.safetensors.resume";
enum { ROOM = 1 << 22 };

typedef struct problem {
    kn_mat X, Y;
} problem;

static inline problem new_problem(ptrdiff_t N, ptrdiff_t T)
{
    kn_rng rng;
    ref_rng_init(&rng, 1, 7);
    problem p = {ref_normal(&rng, N, 2), ref_normal(&rng, N, T)};
    for (ptrdiff_t j = 0; j < T; j++)
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(p.Y, j)[i] += sin(kn_at(p.X, i, 0) + (double)j) + 0.5 * kn_at(p.X, i, 1);
    return p;
}

static inline void free_problem(problem p)
{
    free(p.X.data), free(p.Y.data);
}

/* A journal that counts, and that can pull the plug. */
typedef struct counter {
    kn_journal journal;
    kn_journal *inner;
    int known, noted, cancel_after; /* steps; -1: never */
} counter;

static inline kn_status count_recall(kn_journal *self, kn_ctx *c, kn_step *step)
{
    counter *k = (counter *)self;
    if (k->cancel_after >= 0 && k->known + k->noted >= k->cancel_after)
        kn_cancel(c);
    kn_status status = k->inner->recall(k->inner, c, step);
    k->known += step->known;
    return status;
}

static inline kn_status count_note(kn_journal *self, kn_ctx *c, const kn_step *step)
{
    counter *k = (counter *)self;
    k->noted++;
    return k->inner->note(k->inner, c, step);
}

static inline kn_status fit_journalled(problem p, const kn_settings *o, counter *count,
                                       kn_model **m)
{
    kn_checkpoint *c;
    assert_ok(ctx, kn_checkpoint_open(ctx, FILE_NAME, view(p.X), view(p.Y), o, &c));
    *count =
        (counter){{count_recall, count_note}, kn_checkpoint_journal(c), 0, 0, count->cancel_after};
    kn_status status = kn_fit_journal(ctx, view(p.X), view(p.Y), o, &count->journal, m);
    kn_checkpoint_free(c);
    return status;
}

static inline void *read_whole(const char *name, size_t *size)
{
    void *bytes = malloc(ROOM);
    *size = scratch_read(name, bytes, ROOM);
    assert_true(*size < ROOM);
    return bytes;
}

static inline void assert_same_file(const char *name, const void *bytes, size_t size)
{
    size_t n;
    void *found = read_whole(name, &n);
    assert_int_equal(n, size);
    assert_memory_equal(found, bytes, n);
    free(found);
}

static inline kn_settings options(void)
{
    kn_settings o;
    classic_settings(&o);
    o.folds = 2;
    return o;
}

static inline int begin(void **state)
{
    ctx = kn_ctx_new();
    kn_set_log(ctx, logged_take, &lines);
    return ctx ? scratch_enter(state) : -1;
}

static inline int end(void **state)
{
    kn_ctx_free(ctx);
    return scratch_leave(state);
}

#endif
