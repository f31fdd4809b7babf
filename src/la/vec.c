#include "la/vec.h"

#include <stdlib.h> /* defines __GLIBC__ */

/* glibc declares its vector exp and log to OpenMP only under -fopenmp, which would bring in a
 * thread runtime; declared here they work under -fopenmp-simd. Accuracy 4 ulp. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#pragma omp declare simd notinbranch
extern double exp(double);
#pragma omp declare simd notinbranch
extern double log(double);
#define KN_CLONES __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#else
#include <math.h>
#define KN_CLONES
#endif

#if defined(__SANITIZE_ADDRESS__) /* resolvers run before the sanitizer is ready */
#undef KN_CLONES
#define KN_CLONES
#endif

static const double SMALLEST = -700.0;

KN_CLONES
void kn_vec_add_exp(ptrdiff_t n, const double *x, double two_l2, double scale, double *y)
{
    double f = -1.0 / two_l2;
#pragma omp simd
    for (ptrdiff_t i = 0; i < n; i++) {
        double a = x[i] * f;
        a = a < SMALLEST ? SMALLEST : a;
        y[i] += scale * exp(a);
    }
}

KN_CLONES
void kn_vec_dot_exp(ptrdiff_t n, const double *g, const double *x, double two_l2, double *sum,
                    double *sum_x)
{
    double f = -1.0 / two_l2, s = 0, sx = 0;
#pragma omp simd reduction(+ : s, sx)
    for (ptrdiff_t i = 0; i < n; i++) {
        double a = x[i] * f;
        a = a < SMALLEST ? SMALLEST : a;
        double e = g[i] * exp(a);
        s += e;
        sx += e * x[i];
    }
    *sum = s;
    *sum_x = sx;
}

KN_CLONES
double kn_vec_sum_log(ptrdiff_t n, const double *x)
{
    double s = 0;
#pragma omp simd reduction(+ : s)
    for (ptrdiff_t i = 0; i < n; i++)
        s += log(x[i]);
    return s;
}

KN_CLONES
double kn_vec_sum_log_shift(ptrdiff_t n, const double *x, double shift)
{
    double s = 0;
#pragma omp simd reduction(+ : s)
    for (ptrdiff_t i = 0; i < n; i++)
        s += log(x[i] + shift);
    return s;
}

KN_CLONES
double kn_vec_dot(ptrdiff_t n, const double *x, const double *y)
{
    double s = 0;
#pragma omp simd reduction(+ : s)
    for (ptrdiff_t i = 0; i < n; i++)
        s += x[i] * y[i];
    return s;
}
