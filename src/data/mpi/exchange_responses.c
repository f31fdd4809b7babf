/* Implements exchange_responses.h: an all-to-all exchange between the row layout of files and the
 * column layout of ranks, 16 participants per rank and step. */
#include "data/mpi/exchange_responses.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/hash/xxh64.h"
#include "base/mpi/comm.h"

kn_range kn_responses_own(const kn_ctx *ctx, ptrdiff_t T)
{
    return kn_response_range(ctx, &(kn_responses){.T = T});
}

void kn_responses_number(kn_sample *p, kn_range own, ptrdiff_t T)
{
    size_t element = p->Y.type == KN_F32 ? sizeof(float) : sizeof(double);
    p->Y.data =
        (const void *)((uintptr_t)p->Y.data - (size_t)(own.first * p->Y.col_stride) * element);
    p->Y.cols = T;
    p->own = own;
}

kn_status kn_provenance_responses_equal(kn_ctx *ctx, const kn_data *d)
{
    char what[64];
    if (kn_ctx_comm(ctx)->size == 1 || (!d->images && !d->array.source.name))
        return KN_OK;
    if (d->images) {
        uint64_t h = kn_hash(kn_images_geometry(d->images)->dim, 3 * sizeof(ptrdiff_t), 0);
        ptrdiff_t n = kn_images_count(d->images);
        for (ptrdiff_t i = 0; i < n; i++) {
            const char *path = kn_images_path(d->images, i);
            h = kn_hash(path, strlen(path) + 1, h);
        }
        snprintf(what, sizeof what, "%td images (%08" PRIx32 ")", n, (uint32_t)h);
    } else {
        const kn_npy_header *h = &d->array.header;
        snprintf(what, sizeof what, "%td x %td numbers of %s", h->rows, h->cols,
                 d->array.type == KN_F32 ? "float32" : "float64");
    }
    return kn_comm_check_equal(ctx, "responses of", what, "give all of them the same files");
}

kn_status kn_allreduce_any(kn_ctx *ctx, bool *yes, ptrdiff_t n)
{
    kn_status status = KN_OK;
    double *any = NULL;
    if (kn_ctx_comm(ctx)->size == 1)
        return KN_OK;
    KN_TRY(kn_alloc_d(ctx, n, &any));
    for (ptrdiff_t i = 0; i < n; i++)
        any[i] = yes[i];
    KN_TRY(kn_comm_max(ctx, any, n));
    for (ptrdiff_t i = 0; i < n; i++)
        yes[i] = any[i] > 0;
out:
    kn_free(any);
    return status;
}

/* ---- between whole rows and columns of a rank -------------------------------------------------
 *
 * A step handles AT_ONCE participants of each rank. When reading, a rank cuts the rows of its
 * participants into parcels and sends each to the rank that owns the columns; the inverse sends
 * each to the rank that owns the participants. */

enum { AT_ONCE = 16 }; /* participants of a rank */

typedef struct parcels {
    ptrdiff_t n, T, element; /* participants, responses; bytes per value */
    kn_range own;            /* columns of this rank */
    int rank, ranks;
    char *whole;   /* AT_ONCE x T, rows of this rank's participants */
    char *rows;    /* AT_ONCE x T, the same as one parcel of columns per rank */
    char *columns; /* ranks x AT_ONCE x own: participants of each rank, columns of this rank */
    ptrdiff_t *sent, *got, *at; /* per rank: bytes sent, bytes received, and their offset */
} parcels;

static ptrdiff_t length(kn_range r)
{
    return r.last - r.first;
}

static void parcels_clear(parcels *p)
{
    kn_free(p->whole);
    kn_free(p->rows);
    kn_free(p->columns);
    kn_free(p->sent);
}

/* Allocates the buffers; n, T, element and own are set. */
static kn_status parcels_new(kn_ctx *ctx, parcels *p)
{
    kn_status status;
    const kn_comm *c = kn_ctx_comm(ctx);
    char **each[] = {&p->whole, &p->rows, &p->columns};
    const ptrdiff_t values[] = {AT_ONCE * p->T, AT_ONCE * p->T,
                                c->size * AT_ONCE * length(p->own) + 1};
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

double kn_read_together_need(const kn_ctx *ctx, ptrdiff_t T)
{
    const kn_comm *c = kn_ctx_comm(ctx);
    double values = 2 * (double)T + c->size * (double)length(kn_responses_own(ctx, T)) + 1;
    return values * AT_ONCE * sizeof(float) + 3.0 * c->size * sizeof(ptrdiff_t);
}

static ptrdiff_t steps_of(const parcels *p)
{
    ptrdiff_t most = (p->n + p->ranks - 1) / p->ranks; /* participants of a rank */
    return (most + AT_ONCE - 1) / AT_ONCE;
}

/* Returns the participants of a rank in a step. */
static kn_range people_of(const parcels *p, int rank, ptrdiff_t step)
{
    kn_range all = kn_sample_range_of(p->n, rank, p->ranks);
    kn_range some = {all.first + step * AT_ONCE, all.first + (step + 1) * AT_ONCE};
    some.first = some.first < all.last ? some.first : all.last;
    some.last = some.last < all.last ? some.last : all.last;
    return some;
}

static kn_range columns_of(const parcels *p, int rank)
{
    return kn_response_range_of(&(kn_responses){.T = p->T}, rank, p->ranks);
}

/* Exchanges one step, from rows to columns or back. Collective. */
static kn_status pass(kn_ctx *ctx, const parcels *p, ptrdiff_t step, bool to_columns)
{
    ptrdiff_t mine = length(people_of(p, p->rank, step)), at = 0;
    for (int q = 0; q < p->ranks; q++) {
        ptrdiff_t in_rows = mine * length(columns_of(p, q)) * p->element;
        ptrdiff_t in_columns = length(people_of(p, q, step)) * length(p->own) * p->element;
        p->sent[q] = to_columns ? in_rows : in_columns;
        p->got[q] = to_columns ? in_columns : in_rows;
        p->at[q] = at;
        at += p->got[q];
    }
    return kn_comm_send_receive(ctx, to_columns ? p->rows : p->columns, p->sent,
                                to_columns ? p->columns : p->rows, p->got, p->at);
}

/* Cuts n rows of `whole` into the parcels `rows`. */
static void cut(const parcels *p, ptrdiff_t n)
{
    char *to = p->rows;
    for (int q = 0; q < p->ranks; q++) {
        kn_range of = columns_of(p, q);
        ptrdiff_t width = length(of) * p->element;
        for (ptrdiff_t i = 0; i < n; i++, to += width)
            memcpy(to, p->whole + (i * p->T + of.first) * p->element, (size_t)width);
    }
}

/* The inverse of cut(): joins the parcels to rows in `into`, which may be `whole`. */
static void stitch(const parcels *p, ptrdiff_t n, char *into)
{
    const char *from = p->rows;
    for (int q = 0; q < p->ranks; q++) {
        kn_range of = columns_of(p, q);
        ptrdiff_t width = length(of) * p->element;
        for (ptrdiff_t i = 0; i < n; i++, from += width)
            memcpy(into + (i * p->T + of.first) * p->element, from, (size_t)width);
    }
}

/* ---- images: from rows to columns ---------------------------------------------------------------
 */

typedef struct together {
    const kn_data *d;
    const kn_response_rows *r;
    kn_sample *p;
    float *first; /* n x own, borrowed; NULL: the scratch file */
    parcels parcels;
} together;

static kn_status read_some(kn_ctx *ctx, const together *t, kn_range people)
{
    kn_status status = KN_OK;
    const ptrdiff_t *row = t->r->row, T = t->parcels.T;
    void *whole = t->parcels.whole;
    for (ptrdiff_t i = people.first, run; i < people.last && status == KN_OK; i += run) {
        for (run = 1; i + run < people.last && row[i + run] == row[i] + run;)
            run++;
        status = kn_images_read_rows(ctx, t->d->images, row[i], run, t->p->space.voxel, T,
                                     (float *)whole + (i - people.first) * T);
    }
    return status;
}

/* Stores the received columns of all ranks' participants of the step. */
static void put(kn_ctx *ctx, const together *t, ptrdiff_t step)
{
    const parcels *p = &t->parcels;
    ptrdiff_t own = length(p->own);
    for (int q = 0; q < p->ranks; q++) {
        kn_range theirs = people_of(p, q, step);
        const char *from = p->columns + p->at[q];
        if (p->got[q] == 0)
            continue;
        if (t->first)
            memcpy(t->first + theirs.first * own, from, (size_t)p->got[q]);
        else
            kn_scratch_put_rows(ctx, &t->p->scratch, theirs.first, length(theirs), from);
        kn_view_done(ctx, kn_view_some(t->p->Y, theirs.first, length(theirs)), 0, own);
    }
}

/* Checks that all ranks have read the same mask. Collective. */
static kn_status same_voxels(kn_ctx *ctx, const kn_data *d, const kn_sample *p, ptrdiff_t T)
{
    char what[64];
    uint64_t h = kn_hash(p->space.voxel, (size_t)T * sizeof *p->space.voxel, 0);
    if (!d->mask)
        return KN_OK;
    snprintf(what, sizeof what, "%td voxels (%08" PRIx32 ")", T, (uint32_t)h);
    return kn_comm_check_equal(ctx, "a mask of", what, "give all of them the same file");
}

kn_status kn_read_images_together(kn_ctx *ctx, const kn_data *d, const kn_response_rows *r,
                                  ptrdiff_t T, float *first, kn_sample *p)
{
    kn_status status;
    together t = {d, r, p, first, {.n = r->n, .T = T, .element = sizeof(float)}};
    t.parcels.own = kn_responses_own(ctx, T);
    KN_TRY(same_voxels(ctx, d, p, T));
    KN_TRY(parcels_new(ctx, &t.parcels));
    for (ptrdiff_t step = 0; step < steps_of(&t.parcels); step++) {
        kn_range mine = people_of(&t.parcels, t.parcels.rank, step);
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(read_some(ctx, &t, mine));
        cut(&t.parcels, length(mine));
        KN_TRY(pass(ctx, &t.parcels, step, true));
        put(ctx, &t, step);
        ptrdiff_t done = (step + 1) * AT_ONCE * t.parcels.ranks;
        kn_report_progress(ctx, "reading", done < r->n ? done : r->n, r->n, NAN);
    }
    kn_images_rest(d->images);
out:
    parcels_clear(&t.parcels);
    return status;
}

/* ---- participants: from columns to rows
 * --------------------------------------------------------- */

/* Packs this rank's columns of all ranks' participants of the step. */
static void take(const parcels *p, kn_view Y, ptrdiff_t step)
{
    const char *data = Y.data;
    char *to = p->columns;
    ptrdiff_t e = p->element;
    for (int q = 0; q < p->ranks; q++) {
        kn_range theirs = people_of(p, q, step);
        for (ptrdiff_t i = theirs.first; i < theirs.last; i++)
            for (ptrdiff_t j = p->own.first; j < p->own.last; j++, to += e)
                memcpy(to, data + (i * Y.row_stride + j * Y.col_stride) * e, (size_t)e);
    }
}

/* Stores the rows of this rank's n participants of the step, from its participant `first` on. */
static void put_whole(kn_ctx *ctx, const parcels *p, ptrdiff_t first, ptrdiff_t n, kn_sample *to)
{
    bool by_rows = to->Y.col_stride == 1;
    char *place = to->scratch.data ? to->scratch.data : to->values;
    char *into = by_rows ? place + first * p->T * p->element : p->whole;
    stitch(p, n, into);
    if (!by_rows && n > 0)
        kn_scratch_put_rows(ctx, &to->scratch, first, n, into);
    if (n > 0)
        kn_view_done(ctx, kn_view_some(to->Y, first, n), 0, p->T);
}

kn_status kn_redistribute_by_participant(kn_ctx *ctx, const kn_sample *p, kn_view Y, kn_sample *to)
{
    kn_status status;
    const kn_comm *c = kn_ctx_comm(ctx);
    kn_range rows = kn_sample_range_of(Y.rows, c->rank, c->size);
    ptrdiff_t element = Y.type == KN_F32 ? sizeof(float) : sizeof(double);
    parcels t = {.n = Y.rows, .T = Y.cols, .element = element, .own = p->own};
    KN_TRY(parcels_new(ctx, &t));
    for (ptrdiff_t step = 0; step < steps_of(&t); step++) {
        kn_range mine = people_of(&t, t.rank, step);
        KN_TRY(kn_check_cancel(ctx));
        take(&t, Y, step);
        KN_TRY(pass(ctx, &t, step, false));
        put_whole(ctx, &t, mine.first - rows.first, length(mine), to);
    }
    to->Y.data =
        (const void *)((uintptr_t)to->Y.data - (size_t)(rows.first * to->Y.row_stride * element));
    to->Y.rows = Y.rows;
    to->own = (kn_range){0, Y.cols};
out:
    parcels_clear(&t);
    return status;
}
