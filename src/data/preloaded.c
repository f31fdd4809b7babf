/* Implements preloaded.h. Rows are moved in place by permutation cycles, so no second copy of the
 * values is needed. */
#include "data/preloaded.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/mmap_hint.h"
#include "base/mpi/comm.h"
#include "base/parallel/parallel_for.h"
#include "data/mpi/exchange_responses.h"

struct kn_preloaded {
    kn_data *data;    /* borrowed */
    kn_sample people; /* all participants, with the values; X is freed */
    ptrdiff_t *row;   /* n, rows of the responses, ascending */
    ptrdiff_t *at;    /* n, the row of Y that now holds the values */
    double beside;    /* bytes that the caller holds */
};

void kn_preloaded_free(kn_preloaded *h)
{
    if (!h)
        return;
    kn_sample_clear(&h->people);
    kn_free(h->row);
    kn_free(h->at);
    kn_free(h);
}

const kn_sample *kn_preloaded_sample(const kn_preloaded *h)
{
    return &h->people;
}

double kn_caller_bytes_sum(const kn_caller_bytes *b, ptrdiff_t n, ptrdiff_t T)
{
    double N = (double)n, R = (double)T;
    return b->fixed + b->person * N + b->response * R + fmin(b->cell * N * R, b->cells_most);
}

static double bytes_of(kn_view Y)
{
    return (double)Y.rows * (double)Y.cols * (Y.type == KN_F32 ? sizeof(float) : sizeof(double));
}

/* Returns the columns that this rank holds, numbered from 0, with the strides of their storage. */
static kn_view columns_here(const kn_sample *p)
{
    kn_view Y = p->Y;
    Y.data = p->scratch.data ? p->scratch.data : p->values;
    Y.cols = p->own.last - p->own.first;
    return Y;
}

/* ---- reading all participants -----------------------------------------------------------------
 */

/* Copies values that are borrowed from the caller, since those must not be moved. */
static kn_status copy_view(kn_ctx *ctx, const kn_memory_policy *room, kn_sample *p)
{
    kn_view Y = p->Y;
    kn_response_shape s = {.n = Y.rows,
                           .T = Y.cols,
                           .F = p->X.cols,
                           .value = Y.type == KN_F32 ? 4 : 8};
    if (p->values || p->scratch.data)
        return KN_OK;
    kn_status status = kn_response_room(ctx, room, &s, true, p);
    if (status != KN_OK)
        return status;
    void *to = p->scratch.data ? p->scratch.data : p->values;
    for (ptrdiff_t j = 0; j < Y.cols; j++) {
        for (ptrdiff_t i = 0; i < Y.rows; i++)
            if (Y.type == KN_F32)
                ((float *)to)[j * Y.rows + i] =
                    ((const float *)Y.data)[i * Y.row_stride + j * Y.col_stride];
            else
                ((double *)to)[j * Y.rows + i] =
                    ((const double *)Y.data)[i * Y.row_stride + j * Y.col_stride];
        kn_view_done(ctx, p->Y, j, 1);
    }
    return KN_OK;
}

static int ascending(const void *a, const void *b)
{
    ptrdiff_t x = *(const ptrdiff_t *)a, y = *(const ptrdiff_t *)b;
    return (x > y) - (x < y);
}

/* Lists the row of the responses of each row of the covariates; -1: none. */
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
                          const kn_memory_policy *room, kn_preloaded **out)
{
    kn_status status;
    kn_preloaded *h = NULL;
    ptrdiff_t *row = NULL;
    void *memory;
    *out = NULL;
    KN_TRY(kn_alloc(ctx, 1, sizeof *h, &memory));
    h = memory;
    h->data = data;
    KN_TRY(kn_sample_train(ctx, data, s, room, &h->people));
    KN_TRY(copy_view(ctx, room, &h->people));
    h->beside = kn_caller_bytes_sum(&room->beside, h->people.n, h->people.Y.cols);
    kn_mat_clear(&h->people.X);
    KN_TRY(response_rows(ctx, data, &row));
    KN_TRY(kn_alloc_i(ctx, h->people.n, &h->row));
    KN_TRY(kn_alloc_i(ctx, h->people.n, &h->at));
    for (ptrdiff_t i = 0; i < h->people.n; i++) {
        h->row[i] =
            row[h->people.covariate_row[i]]; /* participants are in the order of the responses */
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
    ptrdiff_t place;
} named;

static int by_id(const void *a, const void *b)
{
    const named *x = a, *y = b;
    int order = strcmp(x->id, y->id);
    return order ? order : (x->place > y->place) - (x->place < y->place);
}

/* Finds the first two rows with the same id. */
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
            (m->repeat[1] == 0 || all[i].place < m->repeat[1])) {
            m->repeat[0] = all[i - 1].place;
            m->repeat[1] = all[i].place;
        }
    kn_free(memory);
    return KN_OK;
}

/* Makes the match of the participants with use[]. */
static kn_status match_some(kn_ctx *ctx, const kn_match *from, const bool *use, kn_match *out)
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

/* Returns the number of rows of responses in a separate file; 0: the same table, or an array. */
static ptrdiff_t count_responses(const kn_data *d)
{
    return d->images                                       ? kn_images_count(d->images)
           : d->responses && d->responses != d->covariates ? kn_table_rows(d->responses)
                                                           : 0;
}

/* Marks participants that are not used as excluded by the fold, unless they had a reason before. */
static kn_status leave(kn_ctx *ctx, const kn_data *from, const bool *use, kn_data *d)
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

kn_status kn_data_some(kn_ctx *ctx, kn_preloaded *h, const bool *use, kn_data **out)
{
    kn_status status;
    kn_data *d = NULL;
    void *memory = NULL, *part;
    *out = NULL;
    KN_TRY(kn_alloc(ctx, h->data->n, sizeof(bool), &memory));
    bool *some = memory; /* restricted to participants that were read */
    for (ptrdiff_t i = 0; i < h->people.n; i++)
        some[h->people.covariate_row[i]] = use[h->people.covariate_row[i]];
    KN_TRY(kn_alloc(ctx, 1, sizeof *d, &part));
    d = part;
    *d = *h->data;
    d->held = h;
    d->match = (kn_match){0};
    d->left = d->response_left = NULL;
    d->warnings = (kn_warnings){0};
    KN_TRY(match_some(ctx, &h->data->match, some, &d->match));
    KN_TRY(leave(ctx, h->data, some, d));
    if (d->match.n == 0) {
        status = kn_fail(ctx, KN_ERR_DATA, "%s: nobody is left of %td samples",
                         kn_table_path(d->covariates), h->people.n);
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
    const kn_space *space = &d->held->people.space;
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

static void move_columns(void *self, ptrdiff_t first, ptrdiff_t last)
{
    const moves *m = self;
    ptrdiff_t step = m->Y.col_stride == 1 ? PIECE : 1;
    for (ptrdiff_t j = first; j < last; j += step)
        move_piece(m, j, last - j < step ? last - j : step);
    kn_view_done(m->ctx, m->Y, first, last - first);
}

/* Finds one row of each cycle of length above 1. */
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

/* Moves the rows of `first` to the front, then the others; both in the order of the file. */
static kn_status rearrange(kn_ctx *ctx, kn_preloaded *h, const bool *first)
{
    kn_status status;
    ptrdiff_t n = h->people.n, k = 0, *source = NULL, *leader = NULL;
    kn_view Y = columns_here(&h->people);
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

/* Makes the rows r contiguous, moving them if needed; *start is the first. */
static kn_status gather(kn_ctx *ctx, kn_preloaded *h, const kn_response_rows *r, ptrdiff_t *start)
{
    kn_status status;
    void *memory = NULL;
    KN_TRY(kn_alloc(ctx, h->people.n, sizeof(bool), &memory));
    bool *used = memory, together = true;
    ptrdiff_t first = 0;
    for (ptrdiff_t i = 0; i < r->n; i++) {
        ptrdiff_t *found =
            bsearch(&r->row[i], h->row, (size_t)h->people.n, sizeof *h->row, ascending);
        ptrdiff_t k =
            found - h->row; /* always found: the match contains only participants that were read */
        used[k] = true;
        first = i == 0 ? h->at[k] : first;
        together = together && h->at[k] == first + i;
    }
    *start = together ? first : 0;
    if (!together)
        KN_TRY(rearrange(ctx, h, used));
out:
    kn_free(memory);
    return status;
}

/* Checks the memory plan of the call that follows, with all values allocated. */
static kn_status ask(kn_ctx *ctx, const kn_memory_policy *room, const kn_preloaded *h, ptrdiff_t n,
                     ptrdiff_t F)
{
    kn_view Y = columns_here(&h->people);
    bool in_file, held = !h->people.scratch.data;
    kn_response_shape s = {.n = n,
                           .T = h->people.Y.cols,
                           .F = F,
                           .elsewhere = h->people.Y.cols - Y.cols,
                           .value = Y.type == KN_F32 ? 4 : 8,
                           .held = h->beside,
                           .there = h->beside};
    if (held) {
        s.held += bytes_of(kn_view_some(Y, 0, Y.rows - n));
        s.there += bytes_of(Y);
    }
    kn_status status = room->place(room, ctx, &s, false, &in_file);
    if (status == KN_OK && in_file && held)
        status = kn_fail(ctx, KN_ERR_MEMORY,
                         "the responses of all %td samples are in memory, which leaves too little "
                         "for %td of them ({memory})",
                         Y.rows, n);
    return status;
}

/* Reads whole rows of the participants assigned to this rank; the columns that it holds stay.
 * Collective. */
static kn_status read_by_people(kn_ctx *ctx, const kn_memory_policy *room, const kn_preloaded *h,
                                kn_view Y, kn_sample *p)
{
    const kn_comm *c = kn_ctx_comm(ctx);
    kn_range rows = kn_sample_range_of(Y.rows, c->rank, c->size);
    double all = bytes_of(columns_here(&h->people));
    kn_response_shape s = {.n = rows.last > rows.first ? rows.last - rows.first : 1,
                           .T = Y.cols,
                           .F = p->X.cols,
                           .value = Y.type == KN_F32 ? 4 : 8,
                           .held = h->beside,
                           .there = h->beside};
    if (!h->people.scratch.data) {
        s.held += all;
        s.there += all;
    }
    kn_status status = kn_response_room(ctx, room, &s, false, p);
    return status == KN_OK ? kn_redistribute_by_participant(ctx, &h->people, Y, p) : status;
}

kn_status kn_preloaded_read(kn_ctx *ctx, const kn_memory_policy *room, const kn_data *d,
                            const kn_space *space, const kn_response_rows *r, kn_sample *p)
{
    kn_status status;
    kn_preloaded *h = d->held;
    const kn_space *own = &h->people.space;
    ptrdiff_t start;
    if (space) {
        KN_TRY(kn_space_compare(ctx, kn_data_responses_name(d), own, space));
        if (space->T != own->T) /* images with other voxels */
            return kn_fail(ctx, KN_ERR_SHAPE, "%s has %td responses, but the model has %td",
                           kn_data_responses_name(d), own->T, space->T);
    }
    KN_TRY(kn_space_copy(ctx, own, &p->space));
    if (!(r->by_people && h->people.dealt))
        KN_TRY(ask(ctx, room, h, r->n, p->X.cols));
    KN_TRY(gather(ctx, h, r, &start));
    p->Y = kn_view_some(h->people.Y, start, r->n);
    p->own = h->people.own;
    p->dealt = h->people.dealt && !r->by_people;
    if (r->by_people && h->people.dealt)
        KN_TRY(read_by_people(ctx, room, h, p->Y, p));
out:
    return status;
}
