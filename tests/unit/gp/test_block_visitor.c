/* Walks over the responses: who is seen, in which blocks, and sums that do not know of threads. */
#include "support/test.h"

#include <unistd.h>

#include "base/random.h"
#include "data/scaling.h"
#include "gp/basis/range_finder.h"
#include "gp/block_visitor.h"
#include "io/file/atomic_writer.h"
#include "model/file/file.h"

static kn_ctx *ctx;

typedef struct data {
    kn_mat values;
    kn_scaling scaling;
    kn_responses Y;
} data;

/* Responses that are constant: at cuts, on both sides of them, and a block of nothing else. */
static bool is_constant(ptrdiff_t j)
{
    ptrdiff_t at = j % KN_BLOCK;
    return j > 0 && (j == 5 || (j >= 2 * KN_BLOCK && j < 3 * KN_BLOCK) || at == 0 || at == 511 ||
                     at == KN_BLOCK - 1);
}

static data make(ptrdiff_t N, ptrdiff_t T, bool constants)
{
    data d = {.values = ref_new(N, T)};
    kn_rng rng;
    ref_rng_init(&rng, 3, 0);
    for (ptrdiff_t j = 0; j < T; j++)
        for (ptrdiff_t i = 0; i < N; i++) {
            double y = kn_rng_normal(&rng) + sin((double)(i + j));
            kn_col(d.values, j)[i] = constants && is_constant(j) ? 7 : y;
        }
    kn_view view = kn_view_cols(d.values.data, N, T);
    assert_ok(ctx, kn_scaling_new(ctx, view, true, &d.scaling));
    return d;
}

static const kn_responses *open(data *d)
{
    d->Y =
        kn_responses_of(kn_view_cols(d->values.data, d->values.rows, d->values.cols), &d->scaling);
    return &d->Y;
}

static void data_free(data *d)
{
    free(d->values.data);
    kn_scaling_clear(&d->scaling);
}

/* ---- who is seen ------------------------------------------------------------------------------
 */

typedef struct witness {
    const kn_responses *Y;
    ptrdiff_t cut, every;
    int begun, ended;
    kn_block_loop_plan plan;
    ptrdiff_t blocks, widest, last; /* blocks seen; the last one's place between the cuts */
    int *seen;                      /* T  times */
} witness;

static kn_status begin(kn_ctx *c, void *self, const kn_block_loop_plan *plan)
{
    (void)c;
    witness *w = self;
    w->begun++;
    w->plan = *plan;
    w->last = -1;
    return KN_OK;
}

static kn_status look(kn_ctx *c, void *self, kn_block *b)
{
    (void)c;
    witness *w = self;
    const kn_scaling *s = w->Y->scaling;
    ptrdiff_t place = s->kept[b->first] / w->cut;
    assert_int_equal(b->number, w->blocks++);
    assert_true(b->count > 0 && b->count <= w->cut && place > w->last);
    assert_true(b->y.rows == w->Y->N && b->y.cols == b->count);
    assert_true(b->strip.rows == b->count && b->strip.cols == w->Y->N);
    w->last = place;
    w->widest = b->count > w->widest ? b->count : w->widest;
    for (ptrdiff_t k = 0; k < b->count; k++) {
        ptrdiff_t j = b->first + k;
        assert_int_equal(s->kept[j] / w->cut, place);
        w->seen[j]++;
        double y = (kn_view_at(w->Y->Y, 1, s->kept[j]) - s->mean[j]) / s->sd[j];
        assert_close(kn_at(b->y, 1, k), y, 1e-14);
        assert_close(kn_at(b->strip, k, 1), y, 1e-14);
        assert_close((double)kn_fcol(b->strip_f32, 1)[k], y, 1e-6);
    }
    return KN_OK;
}

static kn_status end(kn_ctx *c, void *self)
{
    (void)c;
    ((witness *)self)->ended++;
    return KN_OK;
}

static void every_response_in_use_is_seen_once_between_two_cuts(void **state)
{
    (void)state;
    static const ptrdiff_t SIZE[] = {1, 2047, 2048, 2049, 9001}, CUT[] = {0, 512};
    for (size_t t = 0; t < sizeof SIZE / sizeof *SIZE; t++)
        for (int constants = 0; constants < 2; constants++)
            for (int c = 0; c < 2; c++) {
                data d = make(3, SIZE[t], constants);
                witness w = {.Y = open(&d), .cut = CUT[c] ? CUT[c] : KN_BLOCK};
                w.seen = calloc((size_t)d.Y.T, sizeof *w.seen);
                kn_block_loop walk = {.Y = d.Y, .cut = CUT[c]};
                unsigned all = KN_BLOCK_Y | KN_BLOCK_STRIP | KN_BLOCK_STRIP_F32;
                kn_visitor visitor = {&w, all, begin, look, end};
                assert_ok(ctx, kn_block_loop_run(ctx, &walk, &visitor, 1));
                for (ptrdiff_t j = 0; j < d.Y.T; j++)
                    assert_int_equal(w.seen[j], 1);
                assert_true(w.begun == 1 && w.ended == 1);
                assert_int_equal(w.plan.blocks, w.blocks);
                assert_int_equal(w.plan.width, w.widest);
                if (!constants)
                    assert_int_equal(w.blocks, (SIZE[t] + w.cut - 1) / w.cut);
                else if (SIZE[t] == 9001 && !CUT[c])
                    assert_int_equal(w.blocks, 4); /* of five one has nothing in use */
                free(w.seen);
                data_free(&d);
            }
}

static void a_sample_of_blocks_is_an_even_one(void **state)
{
    (void)state;
    data d = make(3, 9001, true);
    witness w = {.Y = open(&d), .cut = 512};
    w.seen = calloc((size_t)d.Y.T, sizeof *w.seen);
    kn_block_loop walk = {.Y = d.Y, .cut = 512, .every = 3};
    kn_visitor visitor = {&w, KN_BLOCK_Y | KN_BLOCK_STRIP | KN_BLOCK_STRIP_F32, begin, look, end};
    assert_ok(ctx, kn_block_loop_run(ctx, &walk, &visitor, 1));
    assert_int_equal(w.plan.blocks, w.blocks);
    assert_int_equal(w.blocks, (18 - 4 + 2) / 3); /* four of eighteen have nothing in use */
    free(w.seen);
    data_free(&d);
}

static void listed_responses_are_seen_alone(void **state)
{
    (void)state;
    data d = make(3, 5000, true);
    witness w = {.Y = open(&d), .cut = 1};
    ptrdiff_t only[] = {0, 1, 700, d.Y.T - 1};
    w.seen = calloc((size_t)d.Y.T, sizeof *w.seen);
    kn_block_loop walk = {.Y = d.Y, .only = only, .n_only = 4};
    kn_visitor visitor = {&w, KN_BLOCK_Y | KN_BLOCK_STRIP | KN_BLOCK_STRIP_F32, begin, look, end};
    assert_ok(ctx, kn_block_loop_run(ctx, &walk, &visitor, 1));
    assert_true(w.plan.blocks == 4 && w.plan.width == 1 && w.blocks == 4 && w.ended == 1);
    for (int k = 0; k < 4; k++)
        assert_int_equal(w.seen[only[k]], 1);
    free(w.seen);
    data_free(&d);
}

typedef struct stopper {
    int after, seen, ended;
    bool cancels;
} stopper;

static kn_status stop(kn_ctx *c, void *self, kn_block *b)
{
    (void)b;
    stopper *s = self;
    if (s->seen++ < s->after)
        return KN_OK;
    if (s->cancels)
        kn_cancel(c);
    return s->cancels ? KN_OK : kn_fail(c, KN_ERR_DATA, "enough");
}

static kn_status note_end(kn_ctx *c, void *self)
{
    (void)c;
    ((stopper *)self)->ended++;
    return KN_OK;
}

static void a_failure_or_a_cancel_ends_the_walk_without_an_end(void **state)
{
    (void)state;
    data d = make(2, 9001, false);
    kn_block_loop walk = {.Y = *open(&d)};
    stopper first = {.after = 9}, second = {.after = 1};
    kn_visitor both[] = {{&first, 0, NULL, stop, note_end}, {&second, 0, NULL, stop, note_end}};
    assert_refused(ctx, kn_block_loop_run(ctx, &walk, both, 2), KN_ERR_DATA, "enough");
    assert_true(first.seen == 2 && second.seen == 2 && first.ended + second.ended == 0);
    second = (stopper){.cancels = true};
    assert_refused(ctx, kn_block_loop_run(ctx, &walk, &both[1], 1), KN_ERR_CANCELLED, "stopped");
    assert_true(second.seen == 1 && second.ended == 0);
    walk.to_the_end = true;
    second = (stopper){.cancels = true};
    assert_ok(ctx, kn_block_loop_run(ctx, &walk, &both[1], 1));
    assert_true(second.seen == 5 && second.ended == 1);
    kn_cancel_clear(ctx);
    data_free(&d);
}

/* ---- sums -------------------------------------------------------------------------------------
 */

/* Everything that is summed over the blocks of these responses, one after the other. */
static double *sums_of(const kn_responses *Y, int threads, size_t *n)
{
    enum { P = 6 };
    kn_gram gram[2];
    kn_basis pca, range;
    kn_range_info info;
    kn_range_options o = {.passes = 1, .seed = 4, .centre = true};
    kn_ctx *c = kn_ctx_new();
    kn_set_threads(c, threads);
    assert_ok(c, kn_gram_made(c, Y, KN_F64, &gram[0]));
    assert_ok(c, kn_gram_made(c, Y, KN_F32, &gram[1]));
    assert_ok(c, kn_basis_pca(c, Y, &gram[1], P, &pca)); /* repaired: angles, projection */
    assert_ok(c, kn_basis_range(c, Y, P, &o, &range, &info));
    kn_mat parts[] = {gram[0].G, gram[1].G, pca.B, pca.Z, range.B, range.Z};
    double scalars[] = {pca.total, range.total, info.residual};
    *n = sizeof scalars / sizeof *scalars;
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        *n += (size_t)(parts[k].rows * parts[k].cols);
    double *all = malloc(*n * sizeof *all), *to = all;
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        for (ptrdiff_t j = 0; j < parts[k].cols; j++, to += parts[k].rows)
            memcpy(to, kn_col(parts[k], j), (size_t)parts[k].rows * sizeof *to);
    memcpy(to, scalars, sizeof scalars);
    kn_gram_clear(&gram[0]), kn_gram_clear(&gram[1]);
    kn_basis_clear(&pca), kn_basis_clear(&range);
    kn_ctx_free(c);
    return all;
}

static void sums_have_the_same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    data d = make(150, 9001, true);
    size_t n, same;
    open(&d);
    double *one = sums_of(&d.Y, 1, &n);
    for (int threads = 2; threads <= 3; threads++) {
        double *more = sums_of(&d.Y, threads, &same);
        assert_int_equal(n, same);
        assert_memory_equal(one, more, n * sizeof *one);
        free(more);
    }
    free(one);
    data_free(&d);
}

static char *model_of(kn_view X, kn_view Y, kn_settings o, int threads, size_t *n)
{
    kn_ctx *c = kn_ctx_new();
    kn_model *m;
    char path[] = "/tmp/kn_block_loop_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    kn_set_threads(c, threads);
    assert_ok(c, kn_fit_arrays(c, X, Y, &o, &m));
    assert_ok(c, kn_model_write(c, m, path, &(kn_write_options){.force = true}));
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    char *bytes = malloc(*n);
    assert_int_equal(fread(bytes, 1, *n, f), *n);
    fclose(f);
    unlink(path);
    kn_model_free(m);
    kn_ctx_free(c);
    return bytes;
}

static void same_bytes(ptrdiff_t N, ptrdiff_t T, kn_settings o, int limit)
{
    data d = make(N, T, true);
    kn_mat X = ref_new(N, 2);
    kn_rng rng;
    ref_rng_init(&rng, 8, 0);
    for (ptrdiff_t i = 0; i < 2 * N; i++)
        X.data[i] = kn_rng_normal(&rng);
    for (ptrdiff_t j = 0; j < T; j++)
        for (ptrdiff_t i = 0; !is_constant(j) && i < N; i++)
            kn_col(d.values, j)[i] += kn_at(X, i, 0) * cos((double)j);
    size_t n, same;
    kn_view x = kn_view_cols(X.data, N, 2), y = kn_view_cols(d.values.data, N, T);
    char *one = model_of(x, y, o, 1, &n);
    for (int threads = 2; threads <= limit; threads++) {
        char *more = model_of(x, y, o, threads, &same);
        assert_int_equal(n, same);
        assert_memory_equal(one, more, n);
        free(more);
    }
    free(one);
    free(X.data);
    data_free(&d);
}

/* Of few samples even the eigenproblems: curve of components, parameters, noise, z, GEV, deviance.
 */
static void a_model_of_few_samples_has_the_same_bytes_for_any_number_of_threads(void **state)
{
    (void)state;
    kn_settings o;
    plain_settings(&o);
    o.folds = 4;
    same_bytes(120, 4500, o, 3);
}

static void a_model_of_low_rank_has_the_same_bytes_for_any_number_of_threads(void **state)
{
    (void)state;
    kn_settings o;
    plain_settings(&o);
    o.components = 3;
    o.rank = 20;
    o.max_evals = 2;
    if (repeat(true, false)) {
        same_bytes(5001, 2100, o, 2);
    } else { /* two blocks of responses, and then the range finder without a reference */
        same_bytes(240, 2100, o, 2);
        o.folds = 0;
        same_bytes(5001, 60, o, 2);
    }
}

TEST_PROGRAM(gp_block_visitor)
{
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_response_in_use_is_seen_once_between_two_cuts),
        cmocka_unit_test(a_sample_of_blocks_is_an_even_one),
        cmocka_unit_test(listed_responses_are_seen_alone),
        cmocka_unit_test(a_failure_or_a_cancel_ends_the_walk_without_an_end),
        cmocka_unit_test(sums_have_the_same_bits_for_any_number_of_threads),
        cmocka_unit_test(a_model_of_few_samples_has_the_same_bytes_for_any_number_of_threads),
        cmocka_unit_test(a_model_of_low_rank_has_the_same_bytes_for_any_number_of_threads),
    };
    int failed = cmocka_run_group_tests_name("walk", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
