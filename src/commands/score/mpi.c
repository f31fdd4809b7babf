/* Gathers the scores of all MPI ranks on root: packs per-participant results as rows of doubles,
 * and gathers in portions of bounded size. It is used inside `kronorm cv`, whose folds are scored
 * on all ranks. */
#include "commands/score/internal.h"

#include <string.h>

#include "base/mpi/comm.h"

/* ---- maps ---- */

kn_index_range kn_score_step(const kn_score_work *w, int rank, int ranks, ptrdiff_t step)
{
    kn_index_range all = kn_sample_range_of(w->participants.n, rank, ranks);
    ptrdiff_t first = kn_min_size(all.first + step * w->batch, all.last);
    return (kn_index_range){first, kn_min_size(first + w->batch, all.last)};
}

ptrdiff_t kn_score_steps(const kn_ctx *ctx, const kn_score_work *w)
{
    ptrdiff_t ranks = kn_ctx_comm(ctx)->size, limit = (w->participants.n + ranks - 1) / ranks;
    return limit > 0 ? (limit + w->batch - 1) / w->batch : 0;
}

/* Bytes of maps that root gathers at a time. */
enum { AT_ONCE = 1 << 26 };

/* State of one gather of maps. */
typedef struct bringing {
    kn_score_work *w;
    float *const *map;
    unsigned sent;            /* KN_MAP_... bits, the same on all ranks */
    ptrdiff_t step, row;      /* row: bytes of one map row */
    float *theirs[KN_N_MAPS]; /* root: maps of ranks first .. last - 1, one after the other */
    ptrdiff_t *each;
    int first, last;
} bringing;

/* Add the maps of the participants in a range to root's join. */
static kn_status join_maps(kn_ctx *ctx, kn_score_work *w, kn_index_range range, float *const *map)
{
    return kn_join_add_maps(ctx, w->join, w->scores, range.first, range.last - range.first, map);
}

/* Gather the maps of ranks first .. last - 1 on root, and add them to the join. All ranks compute
 * the sizes themselves. Collective. */
static kn_status gather_chunk(kn_ctx *ctx, bringing *b)
{
    kn_status status = KN_OK;
    const kn_comm *c = kn_ctx_comm(ctx);
    ptrdiff_t at = 0;
    for (int q = 0; q < c->size; q++) {
        kn_index_range range = kn_score_step(b->w, q, c->size, b->step);
        b->each[q] = q >= b->first && q < b->last ? (range.last - range.first) * b->row : 0;
    }
    for (int k = 0; k < KN_N_MAPS; k++)
        if (b->sent & 1u << k)
            KN_TRY(kn_comm_gather(ctx, b->map[k], b->each[c->rank], b->theirs[k], b->each));
    for (int q = b->first; c->rank == 0 && q < b->last; at += b->each[q++]) {
        kn_index_range range = kn_score_step(b->w, q, c->size, b->step);
        float *map[KN_N_MAPS] = {0};
        for (int k = 0; k < KN_N_MAPS; k++)
            map[k] = b->theirs[k] ? b->theirs[k] + at / (ptrdiff_t)sizeof(float) : NULL;
        KN_TRY(join_maps(ctx, b->w, range, map));
    }
out:
    return status;
}

/* Number of ranks whose maps (batch x T floats each) root gathers at a time, in AT_ONCE bytes. */
static int ranks_at_once(const kn_ctx *ctx, ptrdiff_t T, ptrdiff_t batch)
{
    ptrdiff_t ranks = AT_ONCE / (T * (ptrdiff_t)sizeof(float) * batch);
    return ranks > 1 ? (int)kn_min_size(ranks, kn_ctx_comm(ctx)->size - 1) : 1;
}

kn_status kn_score_gather_maps(kn_ctx *ctx, kn_score_work *w, ptrdiff_t step, float *const *map)
{
    kn_status status = KN_OK;
    const kn_comm *c = kn_ctx_comm(ctx);
    kn_index_range own = kn_score_step(w, c->rank, c->size, step);
    ptrdiff_t row = w->scores->T * (ptrdiff_t)sizeof(float);
    bringing b = {.w = w, .map = map, .step = step, .row = row};
    if (c->rank == 0)
        KN_TRY(join_maps(ctx, w, own, map));
    if (c->size == 1)
        goto out;
    int ranks = ranks_at_once(ctx, w->scores->T, w->batch);
    for (int k = 0; k < KN_N_MAPS; k++) /* requested maps, and those that scoring needs */
        b.sent |= map[k] ? 1u << k : 0;
    KN_TRY(kn_alloc_i(ctx, c->size, &b.each));
    for (int k = 0; c->rank == 0 && k < KN_N_MAPS; k++)
        if (b.sent & 1u << k)
            KN_TRY(kn_alloc_f(ctx, ranks * w->batch * w->scores->T, &b.theirs[k]));
    for (b.first = 1; b.first < c->size; b.first = b.last) {
        b.last = (int)kn_min_size(b.first + ranks, c->size);
        KN_TRY(gather_chunk(ctx, &b));
    }
out:
    for (int k = 0; k < KN_N_MAPS; k++)
        kn_free(b.theirs[k]);
    kn_free(b.each);
    return status;
}

/* ---- per participant ---- */

enum { OWN = 6 }; /* fields in addition to columns and tally, in pack and unpack */

/* Number of doubles in a row of pack_participant(). */
static int count_columns(void)
{
    int n = 0;
    while (kn_scores_column(n))
        n++;
    return n + OWN + KN_CALIBRATION_TALLY;
}

/* Pack the results of participant i into a row of count_columns() doubles. */
static void pack_participant(kn_scores *s, ptrdiff_t i, double *row)
{
    int k = 0;
    for (; kn_scores_slot(s, k); k++)
        row[k] = (*kn_scores_slot(s, k))[i];
    row[k++] = s->joint[i];
    row[k++] = s->own_loss ? s->own_loss[i] : 0;
    row[k++] = s->own_gain ? s->own_gain[i] : 0;
    row[k++] = s->own_cells ? s->own_cells[i] : 0;
    row[k++] = s->implausible_reason[i];
    memcpy(&row[k++], &s->hash[i],
           sizeof s->hash[i]); /* bits of the hash, never used as a number */
    memcpy(&row[k], &s->tally[i], sizeof s->tally[i]);
}

/* Set the results of participant i from a row that pack_participant() wrote on another rank. */
static void unpack_participant(kn_scores *s, ptrdiff_t i, const double *row)
{
    int k = 0;
    for (; kn_scores_slot(s, k); k++)
        (*kn_scores_slot(s, k))[i] = row[k];
    s->joint[i] = row[k++];
    double *sums[] = {s->own_loss, s->own_gain, s->own_cells};
    for (int own = 0; own < 3; own++, k++)
        if (sums[own])
            sums[own][i] = row[k];
    s->implausible_reason[i] = (int)row[k++];
    memcpy(&s->hash[i], &row[k++], sizeof s->hash[i]);
    memcpy(&s->tally[i], &row[k], sizeof s->tally[i]);
}

/* Gather the results of all participants on root. Collective. */
static kn_status gather_participants(kn_ctx *ctx, kn_score_work *w)
{
    kn_status status;
    const kn_comm *c = kn_ctx_comm(ctx);
    kn_scores *s = w->scores;
    kn_index_range own = kn_sample_range_of(s->n, c->rank, c->size);
    ptrdiff_t width = count_columns(), *each = NULL;
    double *mine = NULL, *all = NULL;
    KN_TRY(kn_alloc_i(ctx, c->size, &each));
    for (int q = 0; q < c->size; q++) {
        kn_index_range range = kn_sample_range_of(s->n, q, c->size);
        each[q] = (range.last - range.first) * width * (ptrdiff_t)sizeof(double);
    }
    KN_TRY(kn_alloc_d(ctx, (own.last - own.first) * width, &mine));
    KN_TRY(kn_alloc_d(ctx, c->rank == 0 ? s->n * width : 0, &all));
    for (ptrdiff_t i = own.first; i < own.last; i++)
        pack_participant(s, i, mine + (i - own.first) * width);
    KN_TRY(kn_comm_gather(ctx, mine, each[c->rank], all, each));
    for (ptrdiff_t i = 0; c->rank == 0 && i < s->n; i++) /* ranges of the ranks are consecutive */
        unpack_participant(s, i, all + i * width);
out:
    kn_free(each);
    kn_free(mine);
    kn_free(all);
    return status;
}

/* ---- per response, and totals ---- */

enum { SOME = 1 << 14 }; /* responses per gather */

/* Add the sums of each response over all ranks on root, a range of responses at a time. The order
 * does not matter. Collective. */
static kn_status gather_tallies(kn_ctx *ctx, kn_scores *s)
{
    kn_status status;
    const kn_comm *c = kn_ctx_comm(ctx);
    ptrdiff_t T = s->model->y.n_kept, *each = NULL;
    void *memory = NULL;
    KN_TRY(kn_alloc_i(ctx, c->size, &each));
    if (c->rank == 0)
        KN_TRY(kn_alloc(ctx, (c->size - 1) * kn_min_size(SOME, T), sizeof *s->sums, &memory));
    const kn_metric_tally *theirs = memory;
    for (ptrdiff_t j = 0; j < T; j += SOME) {
        ptrdiff_t count = kn_min_size(SOME, T - j);
        for (int q = 1; q < c->size; q++)
            each[q] = count * (ptrdiff_t)sizeof *s->sums;
        KN_TRY(kn_comm_gather(ctx, s->sums + j, each[c->rank], memory, each));
        for (int q = 1; c->rank == 0 && q < c->size; q++)
            kn_tallies_join(s->sums + j, theirs + (q - 1) * count, count);
    }
out:
    kn_free(each);
    kn_free(memory);
    return status;
}

/* Sum the histogram of z over ranks, and keep the responses that are 0 on all ranks. Collective. */
static kn_status sum_histograms(kn_ctx *ctx, kn_scores *s)
{
    kn_status status;
    ptrdiff_t T = s->model->y.n_kept, left = 0;
    double *bins = NULL, *other = NULL;
    KN_TRY(kn_alloc_d(ctx, KN_CALIBRATION_BINS, &bins));
    for (ptrdiff_t k = 0; k < KN_CALIBRATION_BINS; k++)
        bins[k] = (double)s->calibrator.bins[k];
    KN_TRY(kn_comm_sum(ctx, bins, KN_CALIBRATION_BINS)); /* integers, exact as doubles */
    for (ptrdiff_t k = 0; k < KN_CALIBRATION_BINS; k++)
        s->calibrator.bins[k] = (uint64_t)bins[k];
    KN_TRY(kn_alloc_d(ctx, T, &other));
    for (ptrdiff_t k = 0; k < T; k++)
        other[k] = 1;
    for (ptrdiff_t c = 0; c < s->n_zero; c++)
        other[s->zero[c]] = 0;
    KN_TRY(kn_comm_max(ctx, other, T));
    for (ptrdiff_t c = 0; c < s->n_zero; c++)
        if (other[s->zero[c]] == 0)
            s->zero[left++] = s->zero[c];
    s->n_zero = left;
out:
    kn_free(bins);
    kn_free(other);
    return status;
}

kn_status kn_score_gather_sums(kn_ctx *ctx, kn_score_work *w)
{
    kn_status status;
    KN_TRY(gather_participants(ctx, w));
    KN_TRY(gather_tallies(ctx, w->scores));
    KN_TRY(sum_histograms(ctx, w->scores));
out:
    return status;
}
