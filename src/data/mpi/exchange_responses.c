/* Implements exchange_responses.h: an all-to-all exchange between the row layout of files and the
 * column layout of ranks. A rank cuts the rows of its participants into one parcel per rank and
 * sends each to the rank that owns the columns; the inverse sends each to the rank that owns the
 * participants. */
#include "data/mpi/exchange_responses.h"

#include <string.h>

#include "base/mpi/comm.h"

/* Returns the number of indices in a half-open range. */
static ptrdiff_t range_length(kn_index_range r)
{
    return r.last - r.first;
}

void kn_row_exchange_clear(kn_row_exchange *p)
{
    kn_free(p->whole);
    kn_free(p->rows);
    kn_free(p->columns);
    kn_free(p->sent);
}

kn_status kn_row_exchange_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t T, ptrdiff_t element,
                              kn_index_range own, kn_row_exchange *out)
{
    kn_status status;
    const kn_comm *c = kn_ctx_comm(ctx);
    kn_row_exchange *p = out;
    *p = (kn_row_exchange){.n = n, .T = T, .element = element, .own = own};
    char **each[] = {&p->whole, &p->rows, &p->columns};
    const ptrdiff_t values[] = {KN_EXCHANGE_ROWS * p->T, KN_EXCHANGE_ROWS * p->T,
                                c->size * KN_EXCHANGE_ROWS * range_length(p->own) + 1};
    p->rank = c->rank;
    p->ranks = c->size;
    for (size_t k = 0; k < sizeof each / sizeof *each; k++) {
        void *memory;
        KN_TRY(kn_alloc(ctx, values[k], (size_t)p->element, &memory));
        *each[k] = memory;
    }
    KN_TRY(kn_alloc_i(ctx, 3 * p->ranks, &p->sent));
    p->got = p->sent + p->ranks;
    p->at = p->got + p->ranks;
out:
    return status;
}

double kn_row_exchange_need(const kn_ctx *ctx, ptrdiff_t T)
{
    const kn_comm *c = kn_ctx_comm(ctx);
    double values = 2 * (double)T + c->size * (double)range_length(kn_responses_own(ctx, T)) + 1;
    return values * KN_EXCHANGE_ROWS * sizeof(float) + 3.0 * c->size * sizeof(ptrdiff_t);
}

ptrdiff_t kn_row_exchange_steps(const kn_row_exchange *p)
{
    ptrdiff_t limit = (p->n + p->ranks - 1) / p->ranks; /* participants of a rank */
    return (limit + KN_EXCHANGE_ROWS - 1) / KN_EXCHANGE_ROWS;
}

kn_index_range kn_row_exchange_rows(const kn_row_exchange *p, int rank, ptrdiff_t step)
{
    kn_index_range all = kn_sample_range_of(p->n, rank, p->ranks);
    kn_index_range some = {all.first + step * KN_EXCHANGE_ROWS,
                           all.first + (step + 1) * KN_EXCHANGE_ROWS};
    some.first = some.first < all.last ? some.first : all.last;
    some.last = some.last < all.last ? some.last : all.last;
    return some;
}

/* Returns the columns (responses) that a rank holds. */
static kn_index_range columns_of(const kn_row_exchange *p, int rank)
{
    return kn_response_range_of(&(kn_responses){.T = p->T}, rank, p->ranks);
}

/* Runs the all-to-all of one step: sends p->rows and receives p->columns, or the reverse if not
 * to_columns. Sets the byte counts of p. Collective. */
static kn_status exchange_step(kn_ctx *ctx, const kn_row_exchange *p, ptrdiff_t step,
                               bool to_columns)
{
    ptrdiff_t mine = range_length(kn_row_exchange_rows(p, p->rank, step)), at = 0;
    for (int q = 0; q < p->ranks; q++) {
        ptrdiff_t in_rows = mine * range_length(columns_of(p, q)) * p->element;
        ptrdiff_t in_columns =
            range_length(kn_row_exchange_rows(p, q, step)) * range_length(p->own) * p->element;
        p->sent[q] = to_columns ? in_rows : in_columns;
        p->got[q] = to_columns ? in_columns : in_rows;
        p->at[q] = at;
        at += p->got[q];
    }
    return kn_comm_send_receive(ctx, to_columns ? p->rows : p->columns, p->sent,
                                to_columns ? p->columns : p->rows, p->got, p->at);
}

/* Cuts n rows of p->whole (n x T) into one parcel of columns per rank, one after the other in
 * p->rows. */
static void pack_rows(const kn_row_exchange *p, ptrdiff_t n)
{
    char *to = p->rows;
    for (int q = 0; q < p->ranks; q++) {
        kn_index_range of = columns_of(p, q);
        ptrdiff_t width = range_length(of) * p->element;
        for (ptrdiff_t i = 0; i < n; i++, to += width)
            memcpy(to, p->whole + (i * p->T + of.first) * p->element, (size_t)width);
    }
}

/* The inverse of pack_rows(): joins the parcels of columns in p->rows to n rows in `into` (n x T
 * values), which may be p->whole. */
static void unpack_rows(const kn_row_exchange *p, ptrdiff_t n, char *into)
{
    const char *from = p->rows;
    for (int q = 0; q < p->ranks; q++) {
        kn_index_range of = columns_of(p, q);
        ptrdiff_t width = range_length(of) * p->element;
        for (ptrdiff_t i = 0; i < n; i++, from += width)
            memcpy(into + (i * p->T + of.first) * p->element, from, (size_t)width);
    }
}

kn_status kn_rows_to_columns(kn_ctx *ctx, const kn_row_exchange *p, ptrdiff_t step)
{
    pack_rows(p, range_length(kn_row_exchange_rows(p, p->rank, step)));
    return exchange_step(ctx, p, step, true);
}

kn_status kn_columns_to_rows(kn_ctx *ctx, const kn_row_exchange *p, ptrdiff_t step, char *into)
{
    kn_status status = exchange_step(ctx, p, step, false);
    if (status == KN_OK)
        unpack_rows(p, range_length(kn_row_exchange_rows(p, p->rank, step)), into);
    return status;
}
