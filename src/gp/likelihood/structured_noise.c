/* Structured noise: one profile (profile_1d.h) per component and cell. This is the default
 * likelihood: each component has its own signal and noise variance. */
#include "gp/likelihood/internal.h"

#include <math.h>
#include <string.h>

#include "gp/likelihood/profile_1d.h"
#include "la/la.h"

static const double LN_2PI = 1.8378770664093455;
static const double TIE = 1e-9; /* nats by which a larger gamma must be better */

/* Maximises the likelihood of every component over its c and d in cell k (components with equal
 * group noise), whose R0 is decomposed; results (P each) in e->try_c, try_d, try_lml. */
static kn_status try_cell(kn_ctx *ctx, kn_engine *e, int k)
{
    const kn_latent_cell *cell = &e->cell[k];
    const kn_decomp *R0 = &cell->R0;
    kn_mat A2 = e->A2;
    A2.rows = R0->m;
    for (ptrdiff_t p = 0; p < e->P; p++)
        for (ptrdiff_t i = 0; i < R0->m; i++)
            kn_col(A2, p)[i] = kn_at(cell->A, i, p) * kn_at(cell->A, i, p);
    double *rest = e->spec.rank > 0 ? e->rest : NULL;
    if (rest)
        kn_lowrank_rest(&e->low, R0->gamma, cell->A, rest);
    return kn_profile(ctx, R0->m, R0->r, e->N - R0->m, A2, rest, e->try_c, e->try_d, e->try_lml);
}

kn_status kn_structured_eval(kn_ctx *ctx, kn_engine *e, double *lml)
{
    for (int k = 0; k < e->n_cells; k++) {
        double logdet = kn_groups_logdet(&e->groups, e->cell[k].R0.gamma);
        kn_status status = try_cell(ctx, e, k);
        if (status != KN_OK)
            return status;
        for (ptrdiff_t p = 0; p < e->P; p++) {
            double here = e->try_lml[p] - 0.5 * logdet;
            if (k > 0 && !(here > e->lml[p] + TIE))
                continue;
            e->lml[p] = here;
            e->c[p] = e->try_c[p];
            e->d[p] = e->try_d[p];
            e->in[p] = k;
        }
    }
    *lml =
        e->complement ? -0.5 * (double)e->N * (double)(e->T - e->P) * (LN_2PI + log(e->s2) + 1) : 0;
    for (ptrdiff_t p = 0; p < e->P; p++)
        *lml += e->lml[p];
    return KN_OK;
}

bool kn_structured_outer(kn_engine *e, int k)
{
    const kn_latent_cell *cell = &e->cell[k];
    ptrdiff_t m = cell->R0.m;
    bool any = false;
    e->M.rows = m;
    memset(e->w, 0, (size_t)m * sizeof *e->w);
    for (ptrdiff_t p = 0; p < e->P; p++) {
        bool here = e->in[p] == k && e->c[p] > 0;
        double c = e->c[p], d = e->d[p], root = sqrt(c);
        any = any || here;
        for (ptrdiff_t i = 0; i < m; i++) {
            double v = here ? 1 / (c * cell->R0.r[i] + d) : 0;
            kn_col(e->M, p)[i] = kn_at(cell->A, i, p) * root * v;
            e->w[i] += c * v;
        }
    }
    return any;
}
