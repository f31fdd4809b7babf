/* Implements preloaded.h. Rows are moved in place by permutation cycles, so no second copy of the
 * values is needed. */
#include "data/preloaded.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/mpi/comm.h"
#include "base/parallel/parallel_for.h"
#include "data/mpi/exchange_responses.h"
#include "data/read_responses.h"

struct kn_preloaded {
    kn_data *data;       /* borrowed */
    kn_sample sample;    /* all participants, with the values; X is freed */
    ptrdiff_t *row;      /* n, rows of the responses, ascending */
    ptrdiff_t *at;       /* n, the row of Y that now holds the values */
    double caller_bytes; /* bytes that the caller holds */
};

void kn_preloaded_free(kn_preloaded *h)
{
    if (!h)
        return;
    kn_sample_clear(&h->sample);
    kn_free(h->row);
    kn_free(h->at);
    kn_free(h);
}

const kn_sample *kn_preloaded_sample(const kn_preloaded *h)
{
    return &h->sample;
}

double kn_caller_bytes_sum(const kn_caller_bytes *b, ptrdiff_t n, ptrdiff_t T)
{
    double N = (double)n, R = (double)T;
    return b->fixed + b->participant * N + b->response * R + fmin(b->cell * N * R, b->cells_max);
}

/* Returns the memory in bytes of the values of a view. */
static double bytes_of(kn_view Y)
{
    return (double)Y.rows * (double)Y.cols * (Y.type == KN_F32 ? sizeof(float) : sizeof(double));
}

/* Returns a view of the columns of Y that this rank holds, numbered from 0, in their storage. */
static kn_view columns_here(const kn_sample *p)
{
    kn_view Y = p->Y;
    Y.data = p->scratch.data ? p->scratch.data : p->values;
    Y.cols = p->own.last - p->own.first;
    return Y;
}

/* ---- reading all participants -----------------------------------------------------------------
 */

static int compare_indices(const void *a, const void *b)
{
    ptrdiff_t x = *(const ptrdiff_t *)a, y = *(const ptrdiff_t *)b;
    return (x > y) - (x < y);
}

/* Sets *out (d->n; owned by the caller) to the row of the responses that each row of the covariates
 * is paired with; -1: none. */
static kn_status response_rows(kn_ctx *ctx, const kn_data *d, ptrdiff_t **out)
{
    kn_status status = kn_alloc_i(ctx, d->n, out);
    const kn_match *m = &d->match;
    for (ptrdiff_t i = 0; status == KN_OK && i < d->n; i++)
        (*out)[i] = -1;
    for (ptrdiff_t i = 0; status == KN_OK && i < m->n; i++)
        (*out)[m->covariate_row[i]] = m->response_row ? m->response_row[i] : m->covariate_row[i];
    return status;
}

kn_status kn_data_preload(kn_ctx *ctx, kn_data *data, const kn_settings *s,
                          const kn_memory_policy *policy, kn_preloaded **out)
{
    kn_status status;
    kn_preloaded *h = NULL;
    ptrdiff_t *row = NULL;
    void *memory;
    *out = NULL;
    KN_TRY(kn_alloc(ctx, 1, sizeof *h, &memory));
    h = memory;
    h->data = data;
    KN_TRY(kn_sample_train_all(ctx, data, s, policy, &h->sample));
    KN_TRY(kn_responses_own_copy(ctx, policy, &h->sample));
    h->caller_bytes = kn_caller_bytes_sum(&policy->caller, h->sample.n, h->sample.Y.cols);
    kn_mat_clear(&h->sample.X);
    KN_TRY(response_rows(ctx, data, &row));
    KN_TRY(kn_alloc_i(ctx, h->sample.n, &h->row));
    KN_TRY(kn_alloc_i(ctx, h->sample.n, &h->at));
    for (ptrdiff_t i = 0; i < h->sample.n; i++) {
        h->row[i] =
            row[h->sample.covariate_row[i]]; /* participants are in the order of the responses */
        h->at[i] = i;
    }
    *out = h;
    h = NULL;
out:
    kn_free(row);
    kn_preloaded_free(h);
    return status;
}

/* ---- subsets
 * ------------------------------------------------------------------------------------ */

typedef struct named {
    const char *id;
    ptrdiff_t position;
} named;

/* Comparison for qsort of ids with positions: by id, then by position. */
static int by_id(const void *a, const void *b)
{
    const named *x = a, *y = b;
    int order = strcmp(x->id, y->id);
    return order ? order : (x->position > y->position) - (x->position < y->position);
}

/* Sets m->repeat to the positions of two rows with the same id, the pair whose second row is the
 * first possible; leaves it if all ids differ. O(n log n). */
static kn_status find_repeat(kn_ctx *ctx, kn_match *m)
{
    void *memory = NULL;
    kn_status status = kn_alloc(ctx, m->n, sizeof(named), &memory);
    if (status != KN_OK)
        return status;
    named *all = memory;
    for (ptrdiff_t i = 0; i < m->n; i++)
        all[i] = (named){m->id[i], i};
    qsort(all, (size_t)m->n, sizeof *all, by_id);
    for (ptrdiff_t i = 1; i < m->n; i++)
        if (strcmp(all[i].id, all[i - 1].id) == 0 &&
            (m->repeat[1] == 0 || all[i].position < m->repeat[1])) {
            m->repeat[0] = all[i - 1].position;
            m->repeat[1] = all[i].position;
        }
    kn_free(memory);
    return KN_OK;
}

/* Sets *out to the pairs of rows in `from` whose covariates row has use[]. The arrays are owned by
 * out, ids are borrowed. */
static kn_status match_subset(kn_ctx *ctx, const kn_match *from, const bool *use, kn_match *out)
{
    kn_status status;
    void *memory;
    out->by_position = from->by_position;
    KN_TRY(kn_alloc_i(ctx, from->n, &out->covariate_row));
    if (from->response_row)
        KN_TRY(kn_alloc_i(ctx, from->n, &out->response_row));
    if (from->id) {
        KN_TRY(kn_alloc(ctx, from->n, sizeof *out->id, &memory));
        out->id = memory;
    }
    for (ptrdiff_t i = 0; i < from->n; i++) {
        ptrdiff_t k = out->n;
        if (!use[from->covariate_row[i]])
            continue;
        out->n++;
        out->covariate_row[k] = from->covariate_row[i];
        if (out->response_row)
            out->response_row[k] = from->response_row[i];
        if (out->id)
            out->id[k] = from->id[i];
    }
    if (from->id && from->repeat[1] > 0)
        KN_TRY(find_repeat(ctx, out));
out:
    return status;
}

/* Returns the number of rows of responses in a separate table or set of images; 0 if they are in
 * the table of the covariates or in an array. */
static ptrdiff_t count_responses(const kn_data *d)
{
    return d->images                                       ? kn_images_count(d->images)
           : d->responses && d->responses != d->covariates ? kn_table_rows(d->responses)
                                                           : 0;
}

/* Sets d->left and d->response_left of a subset: rows without use[] are excluded by the fold,
 * unless `from` has another reason for them already. */
static kn_status exclude_others(kn_ctx *ctx, const kn_data *from, const bool *use, kn_data *d)
{
    kn_status status;
    void *memory;
    ptrdiff_t n = count_responses(from);
    const kn_match *m = &from->match;
    KN_TRY(kn_alloc(ctx, d->n, sizeof *d->left, &memory));
    d->left = memory;
    for (ptrdiff_t i = 0; i < d->n; i++)
        d->left[i] = from->left && from->left[i] != KN_LEFT_NOT ? from->left[i]
                     : use[i]                                   ? KN_LEFT_NOT
                                                                : KN_LEFT_BY_FOLD;
    KN_TRY(kn_alloc(ctx, n, sizeof *d->response_left, &memory));
    d->response_left = memory;
    for (ptrdiff_t i = 0; from->response_left && i < n; i++)
        d->response_left[i] = from->response_left[i];
    for (ptrdiff_t i = 0; n > 0 && m->response_row && i < m->n; i++)
        if (!use[m->covariate_row[i]])
            d->response_left[m->response_row[i]] = KN_LEFT_WITH_ROW;
out:
    return status;
}

kn_status kn_data_subset_new(kn_ctx *ctx, kn_preloaded *h, const bool *use, kn_data **out)
{
    kn_status status;
    kn_data *d = NULL;
    void *memory = NULL, *part;
    *out = NULL;
    KN_TRY(kn_alloc(ctx, h->data->n, sizeof(bool), &memory));
    bool *some = memory; /* restricted to participants that were read */
    for (ptrdiff_t i = 0; i < h->sample.n; i++)
        some[h->sample.covariate_row[i]] = use[h->sample.covariate_row[i]];
    KN_TRY(kn_alloc(ctx, 1, sizeof *d, &part));
    d = part;
    *d = *h->data;
    d->preloaded = h;
    d->match = (kn_match){0};
    d->left = d->response_left = NULL;
    d->warnings = (kn_warnings){0};
    KN_TRY(match_subset(ctx, &h->data->match, some, &d->match));
    KN_TRY(exclude_others(ctx, h->data, some, d));
    if (d->match.n == 0) {
        status = kn_fail(ctx, KN_ERR_DATA, "%s: none of %td participants is left",
                         kn_table_path(d->covariates), h->sample.n);
        goto out;
    }
    *out = d;
    d = NULL;
out:
    kn_free(memory);
    kn_data_free(d);
    return status;
}

kn_status kn_preloaded_select(kn_ctx *ctx, const kn_data *d, kn_selection *out)
{
    const kn_space *space = &d->preloaded->sample.space;
    return kn_select_named(ctx, d->responses, (const char *const *)space->name, space->T, out);
}

/* ---- values of a subset
 * ------------------------------------------------------------------------- */

/* Permutation y[p] <- y[source[p]] of all rows, cycle by cycle: each row moves once, with a buffer
 * for one piece of a row. */
typedef struct moves {
    const kn_ctx *ctx;
    kn_view Y;
    char *data;              /* storage of Y */
    const ptrdiff_t *source; /* rows of Y */
    const ptrdiff_t *leader; /* n_leaders, one row of each cycle of length above 1 */
    ptrdiff_t n_leaders;
} moves;

enum { PIECE = 512 }; /* values of a row that are moved together */

/* Permutes the rows of columns col .. col + cols - 1 in place, y[p] = y[source[p]], cycle by cycle
 * from the leaders; cols is at most PIECE. */
static void move_piece(const moves *m, ptrdiff_t col, ptrdiff_t cols)
{
    size_t value = m->Y.type == KN_F32 ? sizeof(float) : sizeof(double);
    size_t bytes = (size_t)cols * value;
    ptrdiff_t row = m->Y.row_stride * (ptrdiff_t)value;
    char *first = m->data + col * m->Y.col_stride * (ptrdiff_t)value;
    double kept[PIECE];
    for (ptrdiff_t l = 0; l < m->n_leaders; l++) {
        ptrdiff_t p = m->leader[l];
        memcpy(kept, first + p * row, bytes);
        for (ptrdiff_t from; (from = m->source[p]) != m->leader[l]; p = from)
            memcpy(first + p * row, first + from * row, bytes);
        memcpy(first + p * row, kept, bytes);
    }
}

/* Thread task (self: moves): permutes the rows of columns first .. last - 1 in place and lets the
 * system drop their pages. */
static void move_columns(void *self, ptrdiff_t first, ptrdiff_t last)
{
    const moves *m = self;
    ptrdiff_t step = m->Y.col_stride == 1 ? PIECE : 1;
    for (ptrdiff_t j = first; j < last; j += step)
        move_piece(m, j, last - j < step ? last - j : step);
    kn_view_done(m->ctx, m->Y, first, last - first);
}

/* Lists in leader[0 .. *n_leaders - 1] (capacity n) one row of each cycle of length above 1 of the
 * permutation source (n). */
static kn_status find_leaders(kn_ctx *ctx, ptrdiff_t n, const ptrdiff_t *source, ptrdiff_t *leader,
                              ptrdiff_t *n_leaders)
{
    void *memory;
    kn_status status = kn_alloc(ctx, n, sizeof(bool), &memory);
    if (status != KN_OK)
        return status;
    bool *seen = memory;
    *n_leaders = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        if (!seen[i] && source[i] != i)
            leader[(*n_leaders)++] = i;
        for (ptrdiff_t p = i; !seen[p]; p = source[p])
            seen[p] = true;
    }
    kn_free(memory);
    return KN_OK;
}

/* Permutes the stored rows in place: those of the n participants with first[i] come first, then the
 * others, both in the order of the file. Updates h->at. Moves at most n T values. */
static kn_status move_to_front(kn_ctx *ctx, kn_preloaded *h, const bool *first)
{
    kn_status status;
    ptrdiff_t n = h->sample.n, k = 0, *source = NULL, *leader = NULL;
    kn_view Y = columns_here(&h->sample);
    KN_TRY(kn_alloc_i(ctx, n, &source));
    KN_TRY(kn_alloc_i(ctx, n, &leader));
    for (int pass = 0; pass < 2; pass++)
        for (ptrdiff_t i = 0; i < n; i++)
            if (first[i] == (pass == 0))
                source[k++] = h->at[i];
    moves m = {.ctx = ctx, .Y = Y, .data = (char *)Y.data, .source = source, .leader = leader};
    KN_TRY(find_leaders(ctx, n, source, leader, &m.n_leaders));
    kn_parallel(ctx, Y.cols, PIECE, move_columns, &m);
    k = 0;
    for (int pass = 0; pass < 2; pass++)
        for (ptrdiff_t i = 0; i < n; i++)
            if (first[i] == (pass == 0))
                h->at[i] = k++;
out:
    kn_free(source);
    kn_free(leader);
    return status;
}

/* Makes the stored rows of the responses r->row contiguous, in their order, moving rows if needed.
 * *start: the first of them in Y. */
static kn_status gather_rows(kn_ctx *ctx, kn_preloaded *h, const kn_response_rows *r,
                             ptrdiff_t *start)
{
    kn_status status;
    void *memory = NULL;
    KN_TRY(kn_alloc(ctx, h->sample.n, sizeof(bool), &memory));
    bool *used = memory, together = true;
    ptrdiff_t first = 0;
    for (ptrdiff_t i = 0; i < r->n; i++) {
        ptrdiff_t *found =
            bsearch(&r->row[i], h->row, (size_t)h->sample.n, sizeof *h->row, compare_indices);
        ptrdiff_t k =
            found - h->row; /* always found: the match contains only participants that were read */
        used[k] = true;
        first = i == 0 ? h->at[k] : first;
        together = together && h->at[k] == first + i;
    }
    *start = together ? first : 0;
    if (!together)
        KN_TRY(move_to_front(ctx, h, used));
out:
    kn_free(memory);
    return status;
}

/* Checks the memory plan of a call with n participants and F columns of X, given that all values
 * are allocated already. KN_ERR_MEMORY if it exceeds the budget. */
static kn_status check_memory(kn_ctx *ctx, const kn_memory_policy *policy, const kn_preloaded *h,
                              ptrdiff_t n, ptrdiff_t F)
{
    kn_view Y = columns_here(&h->sample);
    bool in_file, in_memory = !h->sample.scratch.data;
    kn_response_shape s = {.n = n,
                           .T = h->sample.Y.cols,
                           .F = F,
                           .elsewhere = h->sample.Y.cols - Y.cols,
                           .value = Y.type == KN_F32 ? 4 : 8,
                           .resident = h->caller_bytes,
                           .allocated = h->caller_bytes};
    if (in_memory) {
        s.resident += bytes_of(kn_view_row_range(Y, 0, Y.rows - n));
        s.allocated += bytes_of(Y);
    }
    kn_status status = policy->choose_storage(policy, ctx, &s, false, &in_file);
    if (status == KN_OK && in_file && in_memory)
        status = kn_fail(ctx, KN_ERR_MEMORY,
                         "the responses of all %td participants are in memory, which leaves too "
                         "little for a copy of %td of them ({memory})",
                         Y.rows, n);
    return status;
}

/* Copies this rank's columns of Y, for the participants of all ranks in a step, to p->columns as
 * parcels for the exchange. */
static void pack_columns(const kn_row_exchange *p, kn_view Y, ptrdiff_t step)
{
    const char *data = Y.data;
    char *to = p->columns;
    ptrdiff_t e = p->element;
    for (int q = 0; q < p->ranks; q++) {
        kn_index_range theirs = kn_row_exchange_rows(p, q, step);
        for (ptrdiff_t i = theirs.first; i < theirs.last; i++)
            for (ptrdiff_t j = p->own.first; j < p->own.last; j++, to += e)
                memcpy(to, data + (i * Y.row_stride + j * Y.col_stride) * e, (size_t)e);
    }
}

/* Exchanges Y (n x T, the columns of p->own on this rank) for all columns of the participants of
 * this rank. They go to the storage that kn_response_storage_new made in `to`; rows of to->Y keep
 * their global numbers. Collective. */
static kn_status redistribute_by_participant(kn_ctx *ctx, const kn_sample *p, kn_view Y,
                                             kn_sample *to)
{
    kn_status status;
    const kn_comm *c = kn_ctx_comm(ctx);
    kn_index_range rows = kn_sample_range_of(Y.rows, c->rank, c->size);
    ptrdiff_t element = Y.type == KN_F32 ? sizeof(float) : sizeof(double);
    bool by_rows = to->Y.col_stride == 1;
    char *storage = to->scratch.data ? to->scratch.data : to->values;
    kn_row_exchange e;
    KN_TRY(kn_row_exchange_new(ctx, Y.rows, Y.cols, element, p->own, &e));
    for (ptrdiff_t step = 0; step < kn_row_exchange_steps(&e); step++) {
        kn_index_range own_rows = kn_row_exchange_rows(&e, e.rank, step);
        ptrdiff_t first = own_rows.first - rows.first, n = own_rows.last - own_rows.first;
        char *into = by_rows ? storage + first * Y.cols * element : e.whole;
        KN_TRY(kn_check_cancel(ctx));
        pack_columns(&e, Y, step);
        KN_TRY(kn_columns_to_rows(ctx, &e, step, into));
        if (!by_rows && n > 0)
            kn_scratch_write_rows(ctx, &to->scratch, first, n, into);
        if (n > 0)
            kn_view_done(ctx, kn_view_row_range(to->Y, first, n), 0, Y.cols);
    }
    to->Y.data =
        (const void *)((uintptr_t)to->Y.data - (size_t)(rows.first * to->Y.row_stride * element));
    to->Y.rows = Y.rows;
    to->own = (kn_index_range){0, Y.cols};
out:
    kn_row_exchange_clear(&e);
    return status;
}

/* Sets p->Y to whole rows (all T responses) of the participants of this rank, by an exchange with
 * the other ranks; h keeps its columns. KN_ERR_MEMORY if they do not fit. Collective. */
static kn_status read_by_participants(kn_ctx *ctx, const kn_memory_policy *policy,
                                      const kn_preloaded *h, kn_view Y, kn_sample *p)
{
    const kn_comm *c = kn_ctx_comm(ctx);
    kn_index_range rows = kn_sample_range_of(Y.rows, c->rank, c->size);
    double all = bytes_of(columns_here(&h->sample));
    kn_response_shape s = {.n = rows.last > rows.first ? rows.last - rows.first : 1,
                           .T = Y.cols,
                           .F = p->X.cols,
                           .value = Y.type == KN_F32 ? 4 : 8,
                           .resident = h->caller_bytes,
                           .allocated = h->caller_bytes};
    if (!h->sample.scratch.data) {
        s.resident += all;
        s.allocated += all;
    }
    kn_status status = kn_response_storage_new(ctx, policy, &s, false, p);
    return status == KN_OK ? redistribute_by_participant(ctx, &h->sample, Y, p) : status;
}

kn_status kn_preloaded_read(kn_ctx *ctx, const kn_memory_policy *policy, const kn_data *d,
                            const kn_space *space, const kn_response_rows *r, kn_sample *p)
{
    kn_status status;
    kn_preloaded *h = d->preloaded;
    const kn_space *own = &h->sample.space;
    ptrdiff_t start;
    if (space) {
        KN_TRY(kn_space_compare(ctx, kn_data_responses_name(d), own, space));
        if (space->T != own->T) /* images with other voxels */
            return kn_fail(ctx, KN_ERR_SHAPE, "%s has %td responses, but the model has %td",
                           kn_data_responses_name(d), own->T, space->T);
    }
    KN_TRY(kn_space_copy(ctx, own, &p->space));
    if (!(r->by_participants && h->sample.distributed))
        KN_TRY(check_memory(ctx, policy, h, r->n, p->X.cols));
    KN_TRY(gather_rows(ctx, h, r, &start));
    p->Y = kn_view_row_range(h->sample.Y, start, r->n);
    p->own = h->sample.own;
    p->distributed = h->sample.distributed && !r->by_participants;
    if (r->by_participants && h->sample.distributed)
        KN_TRY(read_by_participants(ctx, policy, h, p->Y, p));
out:
    return status;
}
