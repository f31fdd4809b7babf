/* Implements canonical_order.h. Hashes of rows are sums over columns, so that the order of columns
 * does not matter either, and values are rounded to float32, so that the last bits of a double do
 * not matter, nor whether an array is float32 or float64. */
#include "data/canonical_order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mpi/comm.h"
#include "base/parallel/parallel_for.h"
#include "data/mpi/gather_responses.h"

/* Hashes of responses are summed modulo 2^40: doubles add up the parts of 8192 ranks exactly. */
static const uint64_t RESPONSES = (UINT64_C(1) << 40) - 1;

/* What a row is sorted by. */
typedef struct row_key {
    uint64_t id, covariates, responses;
    ptrdiff_t row;
} row_key;

/* Comparison for qsort of row keys: by hash of the id, of the covariates, of the responses, then by
 * row of the table. */
static int by_key(const void *a, const void *b)
{
    const row_key *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    if (x->covariates != y->covariates)
        return x->covariates < y->covariates ? -1 : 1;
    if (x->responses != y->responses)
        return x->responses < y->responses ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Returns whether id and covariates do not distinguish two rows. */
static bool is_tie(const row_key *a, const row_key *b)
{
    return a->id == b->id && a->covariates == b->covariates;
}

/* Returns a well-mixed 64-bit hash of h: the finaliser of SplitMix64 (Steele et al. 2014). */
static uint64_t mix(uint64_t h)
{
    h += UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
    return h ^ h >> 31;
}

/* Returns the hash of a number rounded to float32; all NaN have one hash, and so have both zeros.
 */
static uint64_t hash_value(double x)
{
    float f = (float)x;
    uint32_t bits = 0x7fc00000;
    if (f == 0)
        f = 0;
    if (!isnan(f))
        memcpy(&bits, &f, sizeof bits);
    return mix(bits);
}

/* ---- ties ---- */

typedef struct tie_job {
    const kn_row_source *from;
    row_key *key;
} tie_job;

/* Thread task (self: tie_job): for the sorted keys first .. last - 1 that tie with a neighbour,
 * sums the hashes of this rank's responses of the row. */
static void hash_responses(void *self, ptrdiff_t first, ptrdiff_t last)
{
    const tie_job *job = self;
    const kn_row_source *from = job->from;
    for (ptrdiff_t k = first; k < last; k++) {
        row_key *key = &job->key[k];
        bool tie = (k > 0 && is_tie(key, key - 1)) || (k + 1 < from->n && is_tie(key, key + 1));
        for (ptrdiff_t j = from->own.first; tie && j < from->own.last; j++)
            key->responses += hash_value(kn_view_at(from->Y, key->row, j));
        key->responses &= RESPONSES;
    }
}

/* Replaces key[k].responses (n) by its sum over all ranks, modulo 2^40. Collective. */
static kn_status sum_over_ranks(kn_ctx *ctx, ptrdiff_t n, row_key *key)
{
    kn_status status;
    double *sum = NULL;
    KN_TRY(kn_alloc_d(ctx, n, &sum));
    for (ptrdiff_t k = 0; k < n; k++)
        sum[k] = (double)key[k].responses;
    KN_TRY(kn_comm_sum(ctx, sum, n));
    for (ptrdiff_t k = 0; k < n; k++)
        key[k].responses = (uint64_t)sum[k] & RESPONSES;
out:
    kn_free(sum);
    return status;
}

/* Sorts the sorted keys anew with the hashes of the responses, if ids and covariates do not
 * distinguish all rows. Does nothing without responses. Collective if they are distributed. */
static kn_status break_ties(kn_ctx *ctx, const kn_row_source *from, row_key *key)
{
    tie_job job = {from, key};
    bool tie = false;
    for (ptrdiff_t k = 1; k < from->n; k++)
        tie = tie || is_tie(&key[k], &key[k - 1]);
    if (!tie || !from->Y.data)
        return KN_OK;
    kn_parallel(ctx, from->n, 16, hash_responses, &job);
    kn_status status = from->distributed ? sum_over_ranks(ctx, from->n, key) : KN_OK;
    if (status == KN_OK)
        qsort(key, (size_t)from->n, sizeof *key, by_key);
    return status;
}

/* ---- order ---- */

kn_status kn_row_order(kn_ctx *ctx, const kn_row_source *from, ptrdiff_t *order)
{
    kn_status status;
    void *memory = NULL;
    KN_TRY(kn_alloc(ctx, from->n, sizeof(row_key), &memory));
    row_key *key = memory;
    for (ptrdiff_t i = 0; i < from->n; i++) {
        key[i] = (row_key){.id = from->key ? from->key[i] : 0, .row = i};
        for (ptrdiff_t f = 0; f < from->X.cols; f++)
            key[i].covariates += hash_value(kn_at(from->X, i, f));
    }
    qsort(key, (size_t)from->n, sizeof *key, by_key);
    KN_TRY(break_ties(ctx, from, key));
    for (ptrdiff_t k = 0; k < from->n; k++)
        order[k] = key[k].row;
out:
    kn_free(memory);
    return status;
}

void kn_row_order_need(kn_mem_plan *r, ptrdiff_t n)
{
    kn_plan_alloc(r, KN_NEED_WORK, n, sizeof(ptrdiff_t));
    kn_mem_usage mark = r->now;
    kn_plan_alloc(r, KN_NEED_WORK, n, sizeof(row_key));
    kn_plan_free_to(r, mark);
}

/* ---- responses ---- */

enum { KEY_ROWS = 64 }; /* rows that tell responses apart */

kn_status kn_response_keys(kn_ctx *ctx, const kn_responses *Y, const ptrdiff_t *order,
                           uint64_t *key)
{
    kn_index_range own = kn_response_range(ctx, Y);
    ptrdiff_t rows = kn_min_size(Y->Y.rows, KEY_ROWS);
    for (ptrdiff_t k = 0; k < rows; k++)
        for (ptrdiff_t j = own.first; j < own.last; j++)
            key[j] = mix(key[j] ^ hash_value(kn_view_at(Y->Y, order[k], Y->scaling->kept[j])));
    return kn_allgather_responses(ctx, Y, (kn_of_responses){key, 1, 0, sizeof *key});
}

typedef struct drawn_response {
    uint64_t key;
    ptrdiff_t response;
} drawn_response;

/* Comparison for qsort of drawn responses: by random key, then by index. */
static int by_draw(const void *a, const void *b)
{
    const drawn_response *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->response > y->response) - (x->response < y->response);
}

/* Comparison for qsort of indices (ptrdiff_t), ascending. */
static int by_index(const void *a, const void *b)
{
    ptrdiff_t x = *(const ptrdiff_t *)a, y = *(const ptrdiff_t *)b;
    return (x > y) - (x < y);
}

kn_status kn_responses_draw(kn_ctx *ctx, const uint64_t *key, ptrdiff_t T, uint64_t seed,
                            ptrdiff_t t, ptrdiff_t *index)
{
    void *memory;
    kn_status status = kn_alloc(ctx, T, sizeof(drawn_response), &memory);
    drawn_response *all = memory;
    if (status != KN_OK)
        return status;
    for (ptrdiff_t j = 0; j < T; j++)
        all[j] = (drawn_response){mix(key[j] ^ mix(seed)), j};
    qsort(all, (size_t)T, sizeof *all, by_draw);
    for (ptrdiff_t k = 0; k < t; k++)
        index[k] = all[k].response;
    qsort(index, (size_t)t, sizeof *index, by_index);
    kn_free(memory);
    return KN_OK;
}

void kn_responses_draw_need(kn_mem_plan *r, ptrdiff_t T)
{
    kn_mem_usage mark = r->now;
    kn_plan_alloc(r, KN_NEED_WORK, T, sizeof(drawn_response));
    kn_plan_free_to(r, mark);
}
