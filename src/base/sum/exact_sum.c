/* Implements exact_sum.h; kn_exact_sum_reduce, the sum over MPI ranks, is in block_sums.c. Each
 * sum is kept in one or two doubles (limbs) in which every addition is exact. */
#include "base/sum/exact_sum.h"

#include <assert.h>
#include <float.h>
#include <math.h>

#if FLT_EVAL_METHOD != 0
#error "exact sums need doubles that are rounded to double after each operation"
#endif

enum { DIGITS = 51 };     /* binary digits between the bound and d1 */
enum { REMAINDERS = 31 }; /* binary digits between d1 and d2: space for 2^20 remainders and more */

/* Returns C such that (x + C) - C rounds x to a multiple of d. */
static double rounding_constant(double d)
{
    return ldexp(1.5, 52) * d;
}

/* Returns the bound below which sums of multiples of d are exact. */
static double largest_exact(double d)
{
    return ldexp(d, 53);
}

/* Adds n values x, each rounded to a multiple of the unit, to hi. Returns whether all values and
 * sums were within the bound; comparisons are false for NaN. */
static bool add_one_limb(const kn_exact_sum *s, ptrdiff_t n, const double *x, double *hi)
{
    double c = rounding_constant(s->d[0]), limit = largest_exact(s->d[0]), bound = s->bound;
    unsigned exact = 1;
#pragma omp simd reduction(& : exact)
    for (ptrdiff_t i = 0; i < n; i++) {
        double h = hi[i] + ((x[i] + c) - c);
        hi[i] = h;
        exact &= (unsigned)((fabs(x[i]) <= bound) & (fabs(h) < limit));
    }
    return exact;
}

/* Splits each x[i] into two multiples of the limbs' units and adds them to hi and lo. Returns false
 * if a value or a sum is beyond what the limbs represent exactly; hi and lo are then not usable. */
static bool add_two_limbs(const kn_exact_sum *s, ptrdiff_t n, const double *x, double *hi,
                          double *lo)
{
    double c1 = rounding_constant(s->d[0]), c2 = rounding_constant(s->d[1]), bound = s->bound;
    double most1 = largest_exact(s->d[0]), most2 = largest_exact(s->d[1]);
    unsigned exact = 1;
#pragma omp simd reduction(& : exact)
    for (ptrdiff_t i = 0; i < n; i++) {
        double q = (x[i] + c1) - c1, h = hi[i] + q, l = lo[i] + (((x[i] - q) + c2) - c2);
        hi[i] = h;
        lo[i] = l;
        exact &= (unsigned)((fabs(x[i]) <= bound) & (fabs(h) < most1) & (fabs(l) < most2));
    }
    return exact;
}

void kn_exact_sum_add(kn_exact_sum *s, ptrdiff_t first, ptrdiff_t n, const double *x)
{
    double *hi = s->limb[0] + first;
    if (!(s->limbs == 1 ? add_one_limb(s, n, x, hi)
                        : add_two_limbs(s, n, x, hi, s->limb[1] + first)))
        atomic_store(&s->broken, 1);
}

void kn_exact_sum_add_f32(kn_exact_sum *s, ptrdiff_t first, ptrdiff_t n, const float *x)
{
    enum { TILE = 512 };
    double v[TILE];
    for (ptrdiff_t i = 0; i < n; i += TILE) {
        ptrdiff_t m = n - i < TILE ? n - i : TILE;
        for (ptrdiff_t k = 0; k < m; k++)
            v[k] = (double)x[i + k];
        kn_exact_sum_add(s, first + i, m, v);
    }
}

/* True if this build rounds additions as IEEE 754 requires (not under -ffast-math): of the sum
 * d0 + d0/4 + d1 of the units d of s, the high limb must keep d0 and the low limb the rest,
 * exactly. */
static bool is_rounding_sound(kn_exact_sum *s)
{
    double hi = 0, lo = 0, x = s->d[0] + s->d[0] / 4 + s->d[1];
    kn_exact_sum one = {.n = 1, .limbs = 2, .bound = s->bound, .limb = {&hi, &lo}};
    one.d[0] = s->d[0];
    one.d[1] = s->d[1];
    kn_exact_sum_add(&one, 0, 1, &x);
    return hi == s->d[0] && lo == s->d[0] / 4 + s->d[1];
}

kn_status kn_exact_sum_new(kn_ctx *ctx, ptrdiff_t n, double bound, int limbs, kn_exact_sum *out)
{
    static const double MIN = 1e-270; /* below it the units would be subnormal */
    kn_status status = KN_OK;
    *out = (kn_exact_sum){.n = n, .limbs = limbs};
    assert(limbs == 1 || limbs == 2);
    if (!(bound >= 0 && bound <= 1e300))
        return kn_fail(ctx, KN_ERR_NUMERIC, "the bound of a sum is %g, expected 0 to 1e300", bound);
    out->bound = fmax(bound, MIN);
    out->d[0] = ldexp(1, (int)ceil(log2(out->bound)) - DIGITS);
    out->d[1] = ldexp(out->d[0], -REMAINDERS);
    if (!is_rounding_sound(out))
        return kn_fail(
            ctx, KN_ERR_NUMERIC,
            "this build does not round as IEEE 754 requires; build it without -ffast-math");
    for (int l = 0; l < limbs; l++)
        KN_TRY(kn_alloc_d(ctx, n, &out->limb[l]));
out:
    if (status != KN_OK)
        kn_exact_sum_clear(out);
    return status;
}

void kn_exact_sum_clear(kn_exact_sum *s)
{
    kn_free(s->limb[0]);
    kn_free(s->limb[1]);
    *s = (kn_exact_sum){0};
}

kn_status kn_exact_sum_check(kn_ctx *ctx, kn_exact_sum *s)
{
    for (int l = 0; l < s->limbs; l++) /* again, as other ranks may have been added */
        for (ptrdiff_t i = 0; i < s->n; i++)
            if (!(fabs(s->limb[l][i]) < largest_exact(s->d[l])))
                atomic_store(&s->broken, 1);
    if (atomic_load(&s->broken))
        return kn_fail(ctx, KN_ERR_NUMERIC,
                       "a sum exceeded its bound %g, or had a term that is not finite", s->bound);
    return KN_OK;
}

void kn_exact_sum_value(const kn_exact_sum *s, ptrdiff_t first, ptrdiff_t n, double *out)
{
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] = s->limb[0][first + i] + (s->limbs == 2 ? s->limb[1][first + i] : 0);
}
