/* Implements vec.h; GCC vectorises the loops by "omp simd" for each vector width of KN_CLONES. exp
 * and log are those of libmvec where the C library has it. */
#include "la/vec.h"

#include <string.h>

/* glibc declares its vector exp and log to OpenMP only under -fopenmp, which would bring in a
 * thread runtime; declared here they work under -fopenmp-simd. Accuracy 4 ulp. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#pragma omp declare simd notinbranch
extern double exp(double);
#pragma omp declare simd notinbranch
extern double log(double);
#else
#include <math.h>
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

enum { VECTOR = 8 }; /* doubles of the widest vector */

KN_CLONES
static void exp_vectors(ptrdiff_t n, double *x)
{
#pragma omp simd
    for (ptrdiff_t i = 0; i < n; i++)
        x[i] = exp(x[i]);
}

KN_CLONES
static void log_vectors(ptrdiff_t n, double *x)
{
#pragma omp simd
    for (ptrdiff_t i = 0; i < n; i++)
        x[i] = log(x[i]);
}

/* Applies a vectorised function to n values x in place. The vector functions and the scalar ones
 * for the rest of a loop differ in the last bit, so the rest is padded to a whole vector. */
static void apply_to_vectors(void (*apply)(ptrdiff_t n, double *x), ptrdiff_t n, double *x)
{
    double last[VECTOR];
    ptrdiff_t left = n % VECTOR, whole = n - left;
    if (whole > 0)
        apply(whole, x);
    if (left == 0)
        return;
    for (ptrdiff_t i = 0; i < VECTOR; i++)
        last[i] = i < left ? x[whole + i] : 1;
    apply(VECTOR, last);
    memcpy(x + whole, last, (size_t)left * sizeof *x);
}

void kn_vec_exp(ptrdiff_t n, double *x)
{
    apply_to_vectors(exp_vectors, n, x);
}

void kn_vec_log(ptrdiff_t n, double *x)
{
    apply_to_vectors(log_vectors, n, x);
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

KN_CLONES
void kn_vec_add_sqdiff(ptrdiff_t n, const double *x, double c, double *y)
{
#pragma omp simd
    for (ptrdiff_t i = 0; i < n; i++)
        y[i] += (x[i] - c) * (x[i] - c);
}

KN_CLONES
/* Adds e^2 / (2 s2) with s2 = noise + v to loss, and multiplies s2 into product, whose logarithm
 * the caller takes. */
static void add_loss(ptrdiff_t n, const double *e, const double *v, double noise, double *loss,
                     double *product)
{
#pragma omp simd
    for (ptrdiff_t i = 0; i < n; i++) {
        double s2 = noise + v[i], half = 0.5 * e[i] * e[i] / s2;
        loss[i] += half < 0.5 * KN_LOSS_Z2_MAX ? half : 0.5 * KN_LOSS_Z2_MAX;
        product[i] *= s2;
    }
}

KN_CLONES
/* Adds e^2 / (2 noise) to loss, and multiplies noise into product, for n residuals with the same
 * variance. */
static void add_loss_of_noise(ptrdiff_t n, const double *e, double noise, double *loss,
                              double *product)
{
#pragma omp simd
    for (ptrdiff_t i = 0; i < n; i++) {
        double half = 0.5 * e[i] * e[i] / noise;
        loss[i] += half < 0.5 * KN_LOSS_Z2_MAX ? half : 0.5 * KN_LOSS_Z2_MAX;
        product[i] *= noise;
    }
}

void kn_vec_add_loss(ptrdiff_t n, const double *e, const double *v, double noise, double *loss,
                     double *product)
{
    if (v)
        add_loss(n, e, v, noise, loss, product);
    else
        add_loss_of_noise(n, e, noise, loss, product);
}

KN_CLONES
kn_spectrum kn_vec_spectrum(ptrdiff_t n, const double *r, const double *a2, double c, double d)
{
    double log_k = 0, quad = 0, inv = 0, r_inv = 0, sq = 0, r_sq = 0;
#pragma omp simd reduction(+ : log_k, quad, inv, r_inv, sq, r_sq)
    for (ptrdiff_t i = 0; i < n; i++) {
        double k = c * r[i] + d, v = 1.0 / k, q = a2[i] * v;
        log_k += log(k);
        quad += q;
        inv += v;
        r_inv += r[i] * v;
        sq += q * v;
        r_sq += r[i] * q * v;
    }
    return (kn_spectrum){log_k, quad, inv, r_inv, sq, r_sq};
}

KN_CLONES
kn_profile_sums kn_vec_profile(ptrdiff_t n, const double *r, const double *a2, double delta)
{
    double q0 = 0, q1 = 0, q2 = 0, su = 0, suu = 0;
#pragma omp simd reduction(+ : q0, q1, q2, su, suu)
    for (ptrdiff_t i = 0; i < n; i++) {
        double v = 1.0 / (r[i] + delta), u = delta * v, q = a2[i] * v;
        q0 += q;
        q1 += q * u;
        q2 += q * u * u;
        su += u;
        suu += u * (1 - u);
    }
    return (kn_profile_sums){q0, q1, q2, su, suu};
}
