/* What processes say to each other, against the obvious answer. Started by mpirun any number of
 * times: comm_check all | large | stop RANK CODE | sleep | resources Exit code 0, or 1 with a line
 * on stderr for each promise that was broken. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/machine.h"
#include "base/mpi/load_plugin.h"
#include "base/random.h"
#include "base/sum/block_sums.h"

static kn_ctx *ctx;
static kn_comm comm;
static int R, rank, wrong;

#define PROMISE(true_, ...)                                                                        \
    do {                                                                                           \
        if (!(true_)) {                                                                            \
            fprintf(stderr, "rank %d of %d, line %d: %s: ", rank, R, __LINE__, #true_);            \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fprintf(stderr, " (%s)\n", kn_message(ctx));                                           \
            wrong++;                                                                               \
        }                                                                                          \
    } while (0)

static void *some(ptrdiff_t bytes)
{
    void *p = calloc((size_t)bytes + 1, 1);
    if (!p)
        abort();
    return p;
}

/* ---- operations --------------------------------------------------------------------------------
 */

enum { SMALL_CUT = 1000 };
static const ptrdiff_t SIZES[] = {0, 1, 2, SMALL_CUT - 1, SMALL_CUT, SMALL_CUT + 1, 5000};
enum { N_SIZES = sizeof SIZES / sizeof *SIZES };

static void sums_and_maxima_of(ptrdiff_t n)
{
    double *x = some(8 * n), *y = some(8 * n), all = R * (R + 1) / 2.;
    for (ptrdiff_t i = 0; i < n; i++) {
        x[i] = (double)(rank + 1) * (double)(i + 1);
        y[i] = (double)((rank + i) % R) - (double)i - 0.5; /* every rank is the largest somewhere */
    }
    PROMISE(kn_comm_sum(ctx, x, n) == KN_OK, "%td", n);
    PROMISE(kn_comm_max(ctx, y, n) == KN_OK, "%td", n);
    ptrdiff_t bad = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        bad += x[i] != all * (double)(i + 1) || y[i] != R - 1 - (double)i - 0.5;
    PROMISE(bad == 0, "%td of %td sums or maxima", bad, n);
    free(x);
    free(y);
}

static unsigned char byte_of(int from, int to, ptrdiff_t i)
{
    return (unsigned char)(31 * from + 7 * to + i % 251 + i / 251);
}

static void shares_of(ptrdiff_t n)
{
    unsigned char *x = some(n);
    for (int root = (int)(n % R); root < R; root += 2) {
        ptrdiff_t bad = 0;
        for (ptrdiff_t i = 0; i < n; i++)
            x[i] = byte_of(rank, 0, i);
        PROMISE(kn_comm_broadcast(ctx, x, n, root) == KN_OK, "%td", n);
        for (ptrdiff_t i = 0; i < n; i++)
            bad += x[i] != byte_of(root, 0, i);
        PROMISE(bad == 0 && x[n] == 0, "%td of %td bytes of rank %d", bad, n, root);
    }
    free(x);
}

/* From nothing to several pieces, and not the same both ways. */
static ptrdiff_t parcel(int from, int to)
{
    return SIZES[(3 * from + 5 * to) % N_SIZES];
}

static void uneven_exchange(void)
{
    enum { GAP = 3 };
    ptrdiff_t *sb = some(8 * R), *rb = some(8 * R), *at = some(8 * R), sends = 0, end = GAP,
              bad = 0;
    for (int r = 0; r < R; r++) {
        sb[r] = parcel(rank, r);
        rb[R - 1 - r] = parcel(R - 1 - r, rank); /* laid out backwards, with gaps */
        at[R - 1 - r] = end;
        sends += sb[r];
        end += rb[R - 1 - r] + GAP;
    }
    unsigned char *send = some(sends), *recv = some(end), *s = send;
    for (int r = 0; r < R; r++)
        for (ptrdiff_t i = 0; i < sb[r]; i++)
            *s++ = byte_of(rank, r, i);
    PROMISE(kn_comm_send_receive(ctx, send, sb, recv, rb, at) == KN_OK, "uneven");
    for (int r = 0; r < R; r++) {
        for (ptrdiff_t i = 0; i < rb[r]; i++)
            bad += recv[at[r] + i] != byte_of(r, rank, i);
        for (int g = 1; g <= GAP; g++)
            bad += recv[at[r] - g] != 0;
    }
    PROMISE(bad == 0, "%td bytes", bad);
    free(sb), free(rb), free(at), free(send), free(recv);
}

static void uneven_collection(void)
{
    ptrdiff_t *each = some(8 * R), all = 0, n = parcel(rank, 1), bad = 0;
    for (int r = 0; r < R; r++)
        all += each[r] = parcel(r, 1);
    unsigned char *mine = some(n), *into = rank ? NULL : some(all), *at = into;
    for (ptrdiff_t i = 0; i < n; i++)
        mine[i] = byte_of(rank, 1, i);
    PROMISE(kn_comm_gather(ctx, mine, n, into, rank ? NULL : each) == KN_OK, "uneven");
    for (int r = 0; rank == 0 && r < R; r++)
        for (ptrdiff_t i = 0; i < each[r]; i++)
            bad += *at++ != byte_of(r, 1, i);
    PROMISE(bad == 0, "%td bytes", bad);
    free(each), free(mine), free(into);
}

/* ---- exact sums ---------------------------------------------------------------------------------
 */

enum { ROWS = 7, COLS = 5, BLOCKS = 40 };

static double addend(int block, int i)
{
    kn_rng rng;
    kn_rng_init(&rng, 11, (uint64_t)(block * ROWS * COLS + i));
    double x = ldexp(kn_rng_uniform(&rng) + 1, -1 - (int)(60 * kn_rng_uniform(&rng)));
    return kn_rng_uniform(&rng) < 0.5 ? -x : x;
}

/* The blocks b with (b + turn) % among == part, from the last to the first where turn is odd. */
static kn_status sum_blocks(kn_ctx *c, int turn, int part, int among, double *out)
{
    kn_sum s = {0};
    double v[ROWS * COLS];
    kn_mat m = {.rows = ROWS, .cols = COLS, .ld = ROWS, .data = v}, to = m;
    to.data = out;
    kn_status status = kn_sum_new(c, ROWS, COLS, BLOCKS, 1 + turn % 2, &s);
    for (int k = 0; status == KN_OK && k < BLOCKS; k++) {
        int b = turn % 4 > 1 ? BLOCKS - 1 - k : k;
        if ((b + turn) % among != part)
            continue;
        for (int i = 0; i < ROWS * COLS; i++)
            v[i] = addend(b, i);
        kn_sum_add(c, &s, m);
    }
    if (status == KN_OK)
        status = kn_sum_value(c, &s, to);
    kn_sum_clear(&s);
    return status;
}

static void exact_sums_have_the_bits_of_one_process(void)
{
    kn_ctx *serial = kn_ctx_new();
    for (int turn = 0; turn < 4; turn++) {
        double alone[ROWS * COLS], all[ROWS * COLS];
        PROMISE(sum_blocks(serial, turn, 0, 1, alone) == KN_OK, "%s", kn_message(serial));
        PROMISE(sum_blocks(ctx, turn, rank, R, all) == KN_OK, "turn %d", turn);
        PROMISE(memcmp(alone, all, sizeof all) == 0, "turn %d", turn);
    }
    kn_slots s;
    double by_hand[2] = {0, 0}, sum[2];
    PROMISE(kn_slots_new(ctx, BLOCKS, 2, &s) == KN_OK, "slots");
    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < 2; i++) {
            by_hand[i] += addend(b, i);
            if (b % R == rank)
                kn_slot(&s, b)[i] = addend(b, i);
        }
    PROMISE(kn_slots_sum(ctx, &s, sum) == KN_OK, "slots");
    PROMISE(memcmp(sum, by_hand, sizeof sum) == 0, "slots");
    kn_slots_clear(&s);
    kn_ctx_free(serial);
}

static void a_bound_broken_on_one_rank_is_broken_on_all(void)
{
    for (int r = 0; r < R; r++) {
        kn_sum s;
        double v = r == rank ? NAN : 1, out;
        kn_mat m = {.rows = 1, .cols = 1, .ld = 1, .data = &v}, to = m;
        to.data = &out;
        PROMISE(kn_sum_new(ctx, 1, 1, 100, 1, &s) == KN_OK, "sum");
        kn_sum_add(ctx, &s, m);
        PROMISE(kn_sum_value(ctx, &s, to) == KN_ERR_NUMERIC, "NaN on rank %d", r);
        kn_sum_clear(&s);
    }
}

/* ---- failures -----------------------------------------------------------------------------------
 */

/* Everybody is still in step. */
static void go_on(void)
{
    double one = 1;
    PROMISE(kn_comm_sum(ctx, &one, 1) == KN_OK && one == R, "out of step: %g", one);
}

static void everybody_learns(kn_status got, kn_status expected, int from, const char *words)
{
    char sentence[80];
    snprintf(sentence, sizeof sentence, "%s %d", words, from);
    PROMISE(got == expected && strcmp(kn_message(ctx), sentence) == 0, "status %d, expected %d, %s",
            got, expected, sentence);
    PROMISE(kn_comm_error_is_shared(ctx), "known to all");
    PROMISE(kn_comm_agree_status(ctx, got) == got, "not again");
    kn_comm_clear_error(ctx);
}

static kn_status fail_on(int r)
{
    return rank == r ? kn_fail(ctx, KN_ERR_DATA, "it was rank %d", r) : KN_OK;
}

static void agreement_has_the_sentence_of_the_rank_that_failed(void)
{
    PROMISE(kn_comm_agree_status(ctx, KN_OK) == KN_OK, "nobody failed");
    for (int r = 0; r < R; r++) {
        everybody_learns(kn_comm_agree_status(ctx, fail_on(r)), KN_ERR_DATA, r, "it was rank");
        kn_status mine =
            rank >= r ? kn_fail(ctx, r % 2 ? KN_ERR_IO : KN_ERR_MEMORY, "I am %d", rank) : KN_OK;
        everybody_learns(kn_comm_agree_status(ctx, mine), r % 2 ? KN_ERR_IO : KN_ERR_MEMORY, r,
                         "I am");
        go_on();
    }
}

enum { OPERATIONS = 5 };

static kn_status operate(int which)
{
    double x[4] = {0};
    ptrdiff_t *none = some(8 * R);
    kn_status status = KN_OK;
    switch (which) {
    case 0: status = kn_comm_sum(ctx, x, 4); break;
    case 1: status = kn_comm_max(ctx, x, 4); break;
    case 2: status = kn_comm_broadcast(ctx, x, sizeof x, R - 1); break;
    case 3: status = kn_comm_send_receive(ctx, x, none, x, none, none); break;
    case 4: status = kn_comm_gather(ctx, x, 0, x, none); break;
    }
    free(none);
    return status;
}

/* Rank r fails before the operation, the others are in it; and three levels up is an agreement. */
static kn_status level(int depth, int r, int which)
{
    kn_status status;
    if (depth > 0) {
        status = level(depth - 1, r, which);
        if (status != KN_OK && depth == 2) { /* the sentence is made anew on its way */
            char sentence[80];
            snprintf(sentence, sizeof sentence, "%s", kn_message(ctx));
            status = kn_fail(ctx, status, "%s", sentence);
        }
        return kn_comm_agree_status(ctx, status);
    }
    KN_TRY(operate(which));
    KN_TRY(fail_on(r));
    KN_TRY(operate(which));
out:
    return status;
}

static void a_failure_is_met_wherever_the_others_are(void)
{
    for (int which = 0; which < OPERATIONS; which++)
        for (int r = which % 2; r < R; r += 2) {
            everybody_learns(level(3, r, which), KN_ERR_DATA, r, "it was rank");
            go_on();
        }
}

/* The batches of a reader: each is agreed, and so is the whole. */
static kn_status batches(int r, int when)
{
    kn_status status = KN_OK;
    for (int b = 0; b < 4; b++) {
        if (2 * b == when) /* between agreements: rank r goes to the outer one */
            KN_TRY(fail_on(r));
        KN_TRY(kn_comm_agree_status(ctx, 2 * b + 1 == when ? fail_on(r) : KN_OK));
    }
out:
    return status;
}

static void nested_agreement_does_not_wait(void)
{
    for (int r = 0; r < R; r++)
        for (int when = r % 3; when < 8; when += 3) {
            everybody_learns(kn_comm_agree_status(ctx, batches(r, when)), KN_ERR_DATA, r,
                             "it was rank");
            go_on();
        }
}

static void losing_step_is_an_error_and_no_hang(void)
{
    double x[2] = {0};
    if (R == 1)
        return;
    kn_status status = kn_comm_sum(ctx, x, rank == 0 ? 1 : 2);
    PROMISE(status == KN_ERR_IO && strstr(kn_message(ctx), "lost synchronisation"), "sizes");
    status = rank == R - 1 ? kn_comm_max(ctx, x, 1) : kn_comm_sum(ctx, x, 1);
    PROMISE(status == KN_ERR_IO && strstr(kn_message(ctx), "lost synchronisation"), "operations");
    status = kn_comm_broadcast(ctx, x, 8, rank == 0);
    PROMISE(status == KN_ERR_IO && strstr(kn_message(ctx), "lost synchronisation"), "roots");
    go_on();
}

static void what_differs_is_said(void)
{
    PROMISE(kn_comm_check_equal(ctx, "core", "SkylakeX", "whatever") == KN_OK, "same");
    for (int r = 1; r < R; r++) {
        char begin[32];
        snprintf(begin, sizeof begin, "rank %d (node ", r);
        kn_status status = kn_comm_check_equal(ctx, "core", rank >= r ? "Haswell" : "SkylakeX",
                                               "set it to one of them");
        PROMISE(status == KN_ERR_DATA && strncmp(kn_message(ctx), begin, strlen(begin)) == 0 &&
                    strstr(kn_message(ctx),
                           ") has core Haswell, but rank 0 has SkylakeX; set it to one of them"),
                "rank %d", r);
        kn_comm_clear_error(ctx);
    }
    go_on();
}

/* Each allocation of a collective fails in turn, on one rank. */
static void memory_that_runs_out_on_one_rank_ends_all(void)
{
    for (int r = 0; r < R; r++)
        for (long k = 1;; k++) {
            if (rank == r)
                kn_fail_allocation(ctx, k);
            kn_status status = kn_comm_join(ctx, &comm);
            kn_fail_allocation(ctx, 0);
            double failed = status != KN_OK, any = failed;
            kn_comm_clear_error(ctx);
            PROMISE(kn_comm_max(ctx, &any, 1) == KN_OK && any == failed, "allocation %ld", k);
            if (any == 0)
                break;
            PROMISE(status == KN_ERR_MEMORY, "allocation %ld", k);
        }
    PROMISE(comm.threads >= 1, "%d threads", comm.threads);
}

/* ---- one alone ----------------------------------------------------------------------------------
 */

static kn_status work(void *self)
{
    double x = 1;
    ++*(int *)self;
    PROMISE(rank == 0 && kn_ctx_comm(ctx)->size == 1, "rank %d works", rank);
    PROMISE(kn_comm_sum(ctx, &x, 1) == KN_OK && x == 1, "it is alone");
    return KN_OK;
}

static kn_status failing_work(void *self)
{
    (void)self;
    return kn_fail(ctx, KN_ERR_NUMERIC, "the work of rank %d", rank);
}

static kn_status long_work(void *self)
{
    (void)self;
    nanosleep(&(struct timespec){2, 0}, NULL);
    return KN_OK;
}

static void one_works_alone(void)
{
    int times = 0;
    PROMISE(kn_comm_on_root(ctx, "this", work, &times) == KN_OK && times == (rank == 0), "%d",
            times);
    PROMISE(kn_ctx_comm(ctx) == &comm, "together again");
    everybody_learns(kn_comm_on_root(ctx, "this", failing_work, NULL), KN_ERR_NUMERIC, 0,
                     "the work of rank");
    go_on();
}

/* Who fails on the way there goes to an agreement, and the others are about to work or to wait. */
static void no_rank_works_or_waits_when_one_has_failed(void)
{
    for (int r = 0; r < R; r++) {
        int times = 0;
        kn_status status = r == rank
                               ? kn_comm_agree_status(ctx, kn_fail(ctx, KN_ERR_MEMORY,
                                                                   "no memory on rank %d", rank))
                               : kn_comm_on_root(ctx, "this", work, &times);
        PROMISE(times == 0, "rank %d has failed", r);
        everybody_learns(status, KN_ERR_MEMORY, r, "no memory on rank");
        go_on();
    }
}

static void waiting_threads_use_no_processor(void)
{
    double began = kn_clock();
    clock_t used = clock();
    PROMISE(kn_comm_on_root(ctx, "this", long_work, NULL) == KN_OK, "slow");
    double share = (double)(clock() - used) / CLOCKS_PER_SEC / (kn_clock() - began);
    PROMISE(share < 0.1, "%.2f of a processor", share);
}

/* ---- ways to start ------------------------------------------------------------------------------
 */

static void all(void)
{
    ptrdiff_t cut = comm.cut;
    comm.cut = SMALL_CUT;
    for (int i = 0; i < N_SIZES; i++) {
        sums_and_maxima_of(SIZES[i]);
        shares_of(SIZES[i]);
    }
    uneven_exchange();
    uneven_collection();
    comm.cut = cut;
    uneven_exchange();
    uneven_collection();
    exact_sums_have_the_bits_of_one_process();
    a_bound_broken_on_one_rank_is_broken_on_all();
    agreement_has_the_sentence_of_the_rank_that_failed();
    a_failure_is_met_wherever_the_others_are();
    nested_agreement_does_not_wait();
    losing_step_is_an_error_and_no_hang();
    what_differs_is_said();
    memory_that_runs_out_on_one_rank_ends_all();
    one_works_alone();
    no_rank_works_or_waits_when_one_has_failed();
}

/* One more than goes into a call. */
static void large(void)
{
    sums_and_maxima_of(((ptrdiff_t)1 << 26) + 1);
    shares_of(((ptrdiff_t)1 << 26) + 1);
}

static void resources(void)
{
    for (int r = 0; r < R; r++) {
        if (r == rank)
            printf("threads %d memory %zu\n", kn_threads(ctx), kn_memory(ctx));
        fflush(stdout);
        kn_comm_agree_status(ctx, KN_OK);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "all", *path = getenv("KRONORM_COMM");
    ctx = kn_ctx_new();
    if (!ctx || !path || kn_comm_load(ctx, path, &comm) != KN_OK ||
        kn_comm_join(ctx, &comm) != KN_OK) {
        fprintf(stderr, "%s\n", ctx && path ? kn_message(ctx) : "KRONORM_COMM is needed");
        return 1;
    }
    R = comm.size;
    rank = comm.rank;
    if (strcmp(what, "stop") == 0 && argc == 4) {
        if (rank == atoi(argv[2]))
            kn_comm_stop(ctx, atoi(argv[3]));
        kn_comm_agree_status(ctx, KN_OK); /* the others wait for it, and would for ever */
    } else if (strcmp(what, "large") == 0) {
        large();
    } else if (strcmp(what, "sleep") == 0) {
        waiting_threads_use_no_processor();
    } else if (strcmp(what, "resources") == 0) {
        resources();
    } else {
        all();
    }
    double any = wrong;
    if (kn_comm_max(ctx, &any, 1) != KN_OK)
        any = 1;
    comm.end(&comm);
    kn_ctx_free(ctx);
    return any > 0;
}
