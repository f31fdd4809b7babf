/* Implements deviance.h. Missing z of a participant are removed from M by subtracting their
 * rows. */
#include "norm/deviance/deviance.h"

#include <math.h>
#include <string.h>

#include "gp/block_visitor.h"
#include "la/la.h"
#include "stats/order_statistics.h"
#include "stats/p_values.h"

enum { CHUNK = 512, WORD = 64 };

/* Above this trace of M, subtracting the missing rows could leave an error of more than 1e-9 of
 * the smallest eigenvalue of M_J, which is at least 1; M_J is then summed over J instead. */
static const double SUBTRACT_LIMIT = 1e6;

/* Free the fields that kn_deviance_prepare() computes; the stored ones stay. */
static void clear_prepared(kn_deviance *d)
{
    kn_mat_clear(&d->M);
    kn_mat_clear(&d->L);
    kn_free(d->w);
    kn_free(d->sorted);
    d->w = d->sorted = NULL;
}

void kn_deviance_clear(kn_deviance *d)
{
    clear_prepared(d);
    kn_mat_clear(&d->Q);
    kn_free(d->lam);
    kn_free(d->psi);
    kn_free(d->ref);
    *d = (kn_deviance){0};
}

/* M += sign sum_j w_j w_j'/psi_j over the responses in `rows`, w_j the rows of W = Q diag(w) of the
 * deviance d; lower triangle, K x K. work: as many rows as responses, K columns. */
static void add_rows(kn_ctx *ctx, const kn_deviance *d, const ptrdiff_t *rows, double sign,
                     kn_mat work, kn_mat M)
{
    for (ptrdiff_t k = 0; k < d->K; k++)
        for (ptrdiff_t i = 0; i < work.rows; i++)
            kn_col(work, k)[i] = kn_at(d->Q, rows[i], k) * d->w[k] / sqrt(d->psi[rows[i]]);
    kn_syrk(ctx, sign, KN_T, work, 1, M);
}

/* Set M to the identity matrix. */
static void set_identity(kn_mat M)
{
    kn_mat_zero(M);
    for (ptrdiff_t k = 0; k < M.cols; k++)
        kn_col(M, k)[k] = 1;
}

/* Check the fields that come from a file: KN_ERR_SHAPE for inconsistent sizes, KN_ERR_DATA for psi
 * <= 0 or an infinite reference value. */
static kn_status check_loaded(kn_ctx *ctx, const kn_deviance *d)
{
    if (d->T < 1 || d->K < 0 || d->n_ref < 0 || d->Q.rows != d->T || d->Q.cols != d->K)
        return kn_fail(ctx, KN_ERR_SHAPE, "deviance: Q is %td x %td, expected %td x %td", d->Q.rows,
                       d->Q.cols, d->T, d->K);
    for (ptrdiff_t j = 0; j < d->T; j++)
        if (!(d->psi[j] > 0 && isfinite(d->psi[j])))
            return kn_fail(
                ctx, KN_ERR_DATA,
                "deviance: the residual variance of response %td is %g, expected above 0", j + 1,
                d->psi[j]);
    for (ptrdiff_t i = 0; i < d->n_ref; i++)
        if (isinf(d->ref[i])) /* NaN: participant with too few responses */
            return kn_fail(ctx, KN_ERR_DATA,
                           "deviance: the deviance of reference participant %td is not finite",
                           i + 1);
    return KN_OK;
}

/* Set d->sorted: the reference deviances without NaN, ascending, for p-values by rank. */
static void sort_reference(kn_deviance *d)
{
    d->n_sorted = 0;
    for (ptrdiff_t i = 0; i < d->n_ref; i++)
        if (!isnan(d->ref[i]))
            d->sorted[d->n_sorted++] = d->ref[i];
    kn_sort(d->sorted, d->n_sorted);
}

kn_status kn_deviance_prepare(kn_ctx *ctx, kn_deviance *d)
{
    kn_status status;
    kn_mat work = {0};

    clear_prepared(d);
    KN_TRY(check_loaded(ctx, d));
    KN_TRY(kn_alloc_d(ctx, d->K, &d->w));
    KN_TRY(kn_mat_new(ctx, d->K, d->K, &d->M));
    KN_TRY(kn_mat_new(ctx, d->K, d->K, &d->L));
    KN_TRY(kn_alloc_d(ctx, d->n_ref, &d->sorted));
    KN_TRY(kn_mat_new(ctx, CHUNK, d->K, &work));

    for (ptrdiff_t k = 0; k < d->K; k++) {
        double explained = d->lam[k]; /* minus what psi already gives in this direction */
        for (ptrdiff_t j = 0; j < d->T; j++)
            explained -= kn_at(d->Q, j, k) * kn_at(d->Q, j, k) * d->psi[j];
        d->w[k] = sqrt(fmax(explained, 0));
    }
    set_identity(d->M);
    for (ptrdiff_t first = 0; first < d->T; first += CHUNK) {
        ptrdiff_t rows[CHUNK], n = d->T - first < CHUNK ? d->T - first : CHUNK;
        for (ptrdiff_t i = 0; i < n; i++)
            rows[i] = first + i;
        add_rows(ctx, d, rows, 1, kn_sub(work, 0, 0, n, d->K), d->M);
    }
    kn_mat_set(d->L, d->M);
    KN_TRY(kn_chol(ctx, d->L, "deviance matrix M"));
    d->logdet = 0;
    for (ptrdiff_t k = 0; k < d->K; k++)
        d->logdet += 2 * log(kn_at(d->L, k, k));
    for (ptrdiff_t j = 0; j < d->T; j++)
        d->logdet += log(d->psi[j]);
    sort_reference(d);
out:
    kn_mat_clear(&work);
    return status;
}

kn_status kn_deviance_of_values(kn_ctx *ctx, const double *dev, ptrdiff_t n, kn_deviance *out)
{
    kn_status status;
    *out = (kn_deviance){.n_ref = n};
    KN_TRY(kn_alloc_d(ctx, n, &out->ref));
    KN_TRY(kn_alloc_d(ctx, n, &out->sorted));
    memcpy(out->ref, dev, (size_t)n * sizeof *dev);
    sort_reference(out);
out:
    if (status != KN_OK)
        kn_deviance_clear(out);
    return status;
}

double kn_deviance_p(const kn_deviance *d, double dev)
{
    return kn_rank_p(d->sorted, d->n_sorted, dev, false);
}

/* ---- scoring -------------------------------------------------------------------------------- */

typedef struct scoring {
    const kn_deviance *d;
    ptrdiff_t rows, participants, words; /* words of 64 responses */
    kn_mat A;                            /* rows x K: a before w */
    double *q;                           /* rows: sum z^2/psi */
    ptrdiff_t *missing;                  /* rows: number of missing z */
    uint64_t *mask; /* words x rows: bit set of missing z; NULL until one is missing */
    kn_mat work, L; /* for a participant with missing z */
} scoring;

/* Mark response j of participant i as missing in the bit set s->mask, which is allocated on first
 * use. */
static kn_status mark_missing(kn_ctx *ctx, scoring *s, ptrdiff_t i, ptrdiff_t j)
{
    if (!s->mask) {
        void *mask;
        kn_status status = kn_alloc(ctx, s->words * s->rows, sizeof *s->mask, &mask);
        if (status != KN_OK)
            return status;
        s->mask = mask;
    }
    s->mask[i * s->words + j / WORD] |= UINT64_C(1) << (j % WORD);
    s->missing[i]++;
    return KN_OK;
}

/* Block visitor, called for each block of responses (z: rows x count): A += z Psi^-1 Q and q += sum
 * z^2/psi, the sums from which the deviances follow; z is overwritten, and missing values are
 * marked and count as 0. */
static kn_status add_block(kn_ctx *ctx, void *self, kn_block *b)
{
    scoring *s = self;
    const kn_deviance *d = s->d;
    kn_mat z = b->z; /* becomes z/psi with 0 for missing */
    ptrdiff_t first = b->first;
    for (ptrdiff_t j = 0; j < z.cols; j++) {
        double *zj = kn_col(z, j), psi = d->psi[first + j];
        for (ptrdiff_t i = 0; i < s->participants; i++) {
            if (!isfinite(zj[i])) {
                kn_status status = mark_missing(ctx, s, i, first + j);
                if (status != KN_OK)
                    return status;
                zj[i] = 0;
            }
            s->q[i] += zj[i] * zj[i] / psi;
            zj[i] /= psi;
        }
    }
    if (d->K > 0) /* A += z Psi^-1 Q   rows x K */
        kn_gemm(ctx, 1, KN_N, z, KN_N, kn_sub(d->Q, first, 0, b->count, d->K), 1, s->A);
    return KN_OK;
}

/* Cholesky factor of the K x K matrix M = I + W'Psi^-1 W over the responses that participant i has,
 * into s->L. The missing responses are subtracted from M, or the others summed if rounding would
 * matter. */
static kn_status restricted_factor(kn_ctx *ctx, scoring *s, ptrdiff_t i)
{
    const kn_deviance *d = s->d;
    double trace = 0;
    for (ptrdiff_t k = 0; k < d->K; k++)
        trace += kn_at(d->M, k, k);
    bool subtract = trace <= SUBTRACT_LIMIT;
    if (subtract)
        kn_mat_set(s->L, d->M);
    else
        set_identity(s->L);
    ptrdiff_t rows[CHUNK], n = 0;
    for (ptrdiff_t j = 0; j < d->T; j++) {
        bool gone = s->mask[i * s->words + j / WORD] >> (j % WORD) & 1;
        if (gone == subtract)
            rows[n++] = j;
        if (n == CHUNK || j == d->T - 1) {
            add_rows(ctx, d, rows, subtract ? -1 : 1, kn_sub(s->work, 0, 0, n, d->K), s->L);
            n = 0;
        }
    }
    return kn_chol(ctx, s->L, "deviance matrix M of a participant with missing values");
}

/* *dev = whole-map deviance of participant i, (q - |L^-1 a|^2) T/|J| over the responses J it has;
 * NaN if |J| < T/2. *factored: participant whose factor s->L holds, -1: none; those who lack the
 * same responses share it. */
static kn_status finish_row(kn_ctx *ctx, scoring *s, ptrdiff_t i, ptrdiff_t *factored, double *dev)
{
    const kn_deviance *d = s->d;
    ptrdiff_t J = d->T - s->missing[i];
    kn_mat L = d->L;
    *dev = NAN;
    if (2 * J < d->T || J == 0)
        return KN_OK;
    if (s->missing[i] > 0 && d->K > 0) {
        /* Participants that lack the same responses, such as those of one site, share the
         * factor. */
        ptrdiff_t f = *factored;
        size_t bytes = (size_t)s->words * sizeof *s->mask;
        if (f < 0 || memcmp(s->mask + f * s->words, s->mask + i * s->words, bytes) != 0) {
            kn_status status = restricted_factor(ctx, s, i);
            if (status != KN_OK)
                return status;
            *factored = i;
        }
        L = s->L;
    }
    kn_mat a = kn_sub(s->work, 0, 0, 1, d->K); /* a as a row: a L^-T */
    for (ptrdiff_t k = 0; k < d->K; k++)
        kn_col(a, k)[0] = kn_at(s->A, i, k) * d->w[k];
    if (d->K > 0)
        kn_trsm_right(ctx, KN_T, L, a);
    *dev = (s->q[i] - kn_sumsq(a)) * ((double)d->T / (double)J);
    return KN_OK;
}

kn_status kn_deviance_score(kn_ctx *ctx, const kn_deviance *d, const kn_z_source *z, double *dev)
{
    scoring s = {.d = d,
                 .rows = z->rows,
                 .participants = z->participants > 0 ? z->participants : z->rows,
                 .words = (d->T + WORD - 1) / WORD};
    kn_visitor visitor = {&s, 0, NULL, add_block, NULL};
    ptrdiff_t factored = -1;
    kn_status status;

    if (z->cols != d->T)
        return kn_fail(ctx, KN_ERR_SHAPE, "deviance: z maps have %td responses, the reference %td",
                       z->cols, d->T);
    KN_TRY(kn_mat_new(ctx, z->rows, d->K, &s.A));
    KN_TRY(kn_mat_new(ctx, CHUNK, d->K, &s.work));
    KN_TRY(kn_mat_new(ctx, d->K, d->K, &s.L));
    KN_TRY(kn_alloc_d(ctx, z->rows, &s.q));
    KN_TRY(kn_alloc_i(ctx, z->rows, &s.missing));
    KN_TRY(kn_z_visit(ctx, z, (kn_block_loop){0}, &visitor));
    for (ptrdiff_t i = 0; i < s.participants; i++)
        KN_TRY(finish_row(ctx, &s, i, &factored, &dev[i]));
out:
    kn_mat_clear(&s.A);
    kn_mat_clear(&s.work);
    kn_mat_clear(&s.L);
    kn_free(s.q);
    kn_free(s.missing);
    kn_free(s.mask);
    return status;
}

void kn_deviance_prepare_need(kn_mem_plan *r, ptrdiff_t K)
{
    kn_plan_alloc_d(r, KN_NEED_REFERENCE, 2 * K, K);
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_REFERENCE, CHUNK, K);
    kn_plan_free_to(r, mark);
}

void kn_deviance_score_need(kn_mem_plan *r, ptrdiff_t rows, ptrdiff_t T)
{
    kn_mem_usage mark = r->now;
    ptrdiff_t K = kn_min_size(KN_DEVIANCE_MAX, T);
    kn_plan_alloc_d(r, KN_NEED_WORK, rows + CHUNK + K, K);
    kn_plan_alloc_d(r, KN_NEED_WORK, rows, 2);
    kn_plan_alloc(r, KN_NEED_WORK, (T / WORD + 1) * rows, sizeof(uint64_t));
    kn_plan_alloc_d(r, KN_NEED_WORK, rows, kn_block_loop_width(0, T)); /* z */
    kn_plan_free_to(r, mark);
}

/* ---- source of z maps ------------------------------------------------------------------------ */

/* Block function of a source in memory: copies `count` columns of the matrix `self` from `first`
 * on. */
static kn_status copy_block(void *self, kn_ctx *ctx, ptrdiff_t first, ptrdiff_t count, kn_mat z)
{
    (void)ctx;
    kn_mat *matrix = self;
    kn_mat_set(z, kn_cols(*matrix, first, count));
    return KN_OK;
}

kn_z_source kn_z_from_mat(kn_mat *z)
{
    return (kn_z_source){.self = z, .rows = z->rows, .cols = z->cols, .block = copy_block};
}

typedef struct maker {
    const kn_z_source *source;
    kn_mat z; /* rows x width */
} maker;

/* Block visitor, called before the first block: allocates z (rows x width) of one block. */
static kn_status begin_blocks(kn_ctx *ctx, void *self, const kn_block_loop_plan *plan)
{
    maker *m = self;
    return kn_mat_new(ctx, plan->n, plan->width, &m->z);
}

/* Block visitor, called for each block: fills its z from the source of z maps. */
static kn_status make_block(kn_ctx *ctx, void *self, kn_block *b)
{
    maker *m = self;
    b->z = kn_cols(m->z, 0, b->count);
    return m->source->block(m->source->self, ctx, b->first, b->count, b->z);
}

/* Sizes (participants x responses) and block numbering of a source of z maps. */
static kn_responses numbering_of(const kn_z_source *z)
{
    return (kn_responses){.scaling = z->scaling, .N = z->rows, .T = z->cols};
}

kn_block_loop_plan kn_z_plan(const kn_z_source *z)
{
    return kn_block_loop_plan_of(&(kn_block_loop){.Y = numbering_of(z)});
}

kn_status kn_z_visit(kn_ctx *ctx, const kn_z_source *z, kn_block_loop loop,
                     const kn_visitor *visitor)
{
    maker m = {.source = z};
    kn_visitor both[] = {{&m, 0, begin_blocks, make_block, NULL}, *visitor};
    loop.Y = numbering_of(z);
    kn_status status = kn_block_loop_run(ctx, &loop, both, 2);
    kn_mat_clear(&m.z);
    return status;
}
