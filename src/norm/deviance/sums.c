/* Sums of pass 2 (internal.h): with exact sums (base/sum), which need a bound for their terms.
 * They are the same for any number of ranks. */
#include "norm/deviance/internal.h"

#include <math.h>

#include "data/mpi/gather_responses.h"

typedef kn_deviance_fitter fitter;
typedef kn_deviance_fold fold_fit;

ptrdiff_t kn_gathered_at(const kn_deviance_fitter *f, kn_gathered what, int p, int l)
{
    ptrdiff_t before = 0,
              all = 0; /* columns, or elements of H, of the stages before l and of all stages */
    const kn_deviance_fold *pt = &f->fold_fits[p];
    for (int k = 0; k < f->n_stages; k++) {
        ptrdiff_t K = f->ladder[k], n = what == KN_GATHER_H ? K * K : what == KN_GATHER_A ? K : 1;
        before += k < l ? n : 0;
        all += n;
    }
    switch (what) {
    case KN_GATHER_A:
    case KN_GATHER_Q: return pt->first * all + pt->count * before;
    case KN_GATHER_OWN: return (p * all + before) * f->Kmax;
    default: return p * all + before;
    }
}

/* Number of doubles of one kind of sum of pass 2 of a deviance fit, over all folds and candidates
 * for K. */
static ptrdiff_t gathered_size(const fitter *f, kn_gathered what)
{
    ptrdiff_t K = 0, K2 = 0, L = f->n_stages;
    for (int l = 0; l < f->n_stages; l++) {
        K += f->ladder[l];
        K2 += f->ladder[l] * f->ladder[l];
    }
    switch (what) {
    case KN_GATHER_H: return f->folds * K2;
    case KN_GATHER_A: return f->N * K;
    case KN_GATHER_OWN: return f->folds * f->Kmax * L;
    case KN_GATHER_Q: return f->N * L;
    default: return f->folds * L;
    }
}

void kn_gathered_clear(fitter *f)
{
    for (int k = 0; k < KN_GATHERED; k++)
        kn_exact_sum_clear(&f->gathered[k]);
}

void kn_gathered_need(kn_mem_plan *r, const fitter *f)
{
    for (int k = 0; k < KN_GATHERED; k++)
        kn_plan_alloc_d(r, KN_NEED_WORK, gathered_size(f, (kn_gathered)k), 2);
}

/* Bounds of the sums: V has orthonormal columns, so that sum_k C_jk^2 <= ss_j; and psi_j lies
 * between the floor and ss_j/dof. Hence, by Cauchy and Schwarz, none of C' Psi^-1 C, z Psi^-1 C,
 * z^2/psi is above sum_j ss_j/floor, and no sum C^2 psi above sum_j ss_j max psi. */
kn_status kn_gathered_new(kn_ctx *ctx, fitter *f)
{
    static const double GENEROUS = 2, MAX_BOUND = 1e300,
                        LOG = 1000; /* > |ln x| of any double x > 0 */
    kn_status status = KN_OK;
    double total = 0, limit = 0, floor = INFINITY, psi = 0;
    for (ptrdiff_t j = 0; j < f->T; j++) {
        total += f->ss[j];
        limit = fmax(limit, f->ss[j]);
    }
    for (int p = 0; p < f->folds; p++) {
        const fold_fit *pt = &f->fold_fits[p];
        floor = fmin(floor, pt->floor);
        psi = fmax(psi, fmax(pt->floor, limit / (double)(pt->n - f->Kmax)));
    }
    for (int k = 0; k < KN_GATHERED; k++) {
        double bound = k == KN_GATHER_LOG   ? LOG * (double)f->T
                       : k == KN_GATHER_OWN ? GENEROUS * total * psi
                                            : GENEROUS * total / floor;
        KN_TRY(kn_exact_sum_new(ctx, gathered_size(f, (kn_gathered)k), fmin(bound, MAX_BOUND), 2,
                                &f->gathered[k]));
    }
out:
    return status;
}

/* Write the values of the exact sums from index `at` on into `out`, column by column. */
static void read_sums(const kn_exact_sum *from, ptrdiff_t at, kn_mat out)
{
    for (ptrdiff_t j = 0; j < out.cols; j++)
        kn_exact_sum_value(from, at + j * out.rows, out.rows, kn_col(out, j));
}

kn_status kn_gathered_reduce(kn_ctx *ctx, fitter *f)
{
    kn_status status = KN_OK;
    kn_exact_sum *from = f->gathered;
    for (int k = 0; k < KN_GATHERED; k++)
        KN_TRY(kn_exact_sum_reduce(ctx, &from[k]));
    KN_TRY(kn_allgather_response_rows(ctx, &f->Y, f->Q));
    for (int p = 0; p < f->folds; p++) {
        fold_fit *pt = &f->fold_fits[p];
        for (int l = 0; l < f->n_stages; l++) {
            read_sums(&from[KN_GATHER_H], kn_gathered_at(f, KN_GATHER_H, p, l), pt->H[l]);
            read_sums(&from[KN_GATHER_A], kn_gathered_at(f, KN_GATHER_A, p, l), pt->A[l]);
            kn_exact_sum_value(&from[KN_GATHER_LOG], kn_gathered_at(f, KN_GATHER_LOG, p, l), 1,
                               &pt->log_psi[l]);
        }
        read_sums(&from[KN_GATHER_OWN], kn_gathered_at(f, KN_GATHER_OWN, p, 0),
                  kn_sub(pt->own, 0, 0, f->Kmax, f->n_stages));
        read_sums(&from[KN_GATHER_Q], kn_gathered_at(f, KN_GATHER_Q, p, 0),
                  kn_cols(pt->q, 0, f->n_stages));
    }
    kn_gathered_clear(f);
out:
    return status;
}
