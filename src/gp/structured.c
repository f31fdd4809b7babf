#include "gp/structured.h"

#include <math.h>
#include <string.h>

#include "gp/profile.h"
#include "la/la.h"

static const double LN_2PI = 1.8378770664093455;

kn_status kn_structured_eval(kn_ctx *ctx, kn_engine *e, double *lml)
{
    for (ptrdiff_t p = 0; p < e->P; p++) {
        e->rest[p] = kn_sumsq(kn_cols(e->Z, p, 1));
        for (ptrdiff_t i = 0; i < e->R0.m; i++) {
            kn_col(e->A2, p)[i] = kn_at(e->A0, i, p) * kn_at(e->A0, i, p);
            e->rest[p] -= kn_at(e->A2, i, p);
        }
        e->rest[p] = fmax(e->rest[p], 0);
    }
    kn_status status =
        kn_profile(ctx, e->R0.m, e->R0.r, e->N - e->R0.m, e->A2, e->rest, e->c, e->d, e->lml);
    if (status != KN_OK)
        return status;
    *lml =
        e->complement ? -0.5 * (double)e->N * (double)(e->T - e->P) * (LN_2PI + log(e->s2) + 1) : 0;
    for (ptrdiff_t p = 0; p < e->P; p++)
        *lml += e->lml[p];
    return KN_OK;
}

void kn_structured_outer(kn_engine *e)
{
    memset(e->w, 0, (size_t)e->R0.m * sizeof *e->w);
    for (ptrdiff_t p = 0; p < e->P; p++) {
        double c = e->c[p], d = e->d[p], root = sqrt(c);
        for (ptrdiff_t i = 0; i < e->R0.m; i++) {
            double v = 1 / (c * e->R0.r[i] + d);
            kn_col(e->M, p)[i] = kn_at(e->A0, i, p) * root * v;
            e->w[i] += c * v;
        }
    }
}
