/* Preloaded into a command (LD_PRELOAD), counts the flops of its calls of BLAS and LAPACK, and
 * writes them to the file $BENCH_COUNTS when the process ends, with the peak of its memory:
 *
 *     flops in double, flops in float32, peak in kB
 *
 * Counts every routine that src/la calls, by the leading terms of its operations. What tridiagonal
 * eigenproblems and band matrices take is left out: the first depends on the matrix, the second is
 * small. */
#include <cblas.h>
#include <dlfcn.h>
#include <lapacke.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic uint64_t in_f64, in_f32;

static void count(_Atomic uint64_t *sum, double flops)
{
    atomic_fetch_add_explicit(sum, (uint64_t)flops, memory_order_relaxed);
}

/* Peak of this process in kB. getrusage would include what its parent held when it started it. */
static long read_peak(void)
{
    char line[256];
    long kB = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kB = strtol(line + 6, NULL, 10);
    if (f)
        fclose(f);
    return kB;
}

__attribute__((destructor)) static void write_counts(void)
{
    const char *path = getenv("BENCH_COUNTS");
    FILE *f = path ? fopen(path, "w") : NULL;
    if (!f)
        return;
    fprintf(f, "%.17g %.17g %ld\n", (double)in_f64, (double)in_f32, read_peak());
    fclose(f);
}

/* The next definition of a function, which is the real one. */
#define REAL(name)                                                                                 \
    static __typeof__(name) *real;                                                                 \
    if (!real)                                                                                     \
    real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define EXPORT __attribute__((visibility("default")))

/* ---- BLAS ---------------------------------------------------------------------------------------
 */

typedef enum CBLAS_ORDER order;
typedef enum CBLAS_TRANSPOSE trans;

#define GEMM(name, real_t, sum)                                                                    \
    EXPORT void name(order o, trans ta, trans tb, blasint m, blasint n, blasint k, real_t alpha,   \
                     const real_t *a, blasint lda, const real_t *b, blasint ldb, real_t beta,      \
                     real_t *c, blasint ldc)                                                       \
    {                                                                                              \
        REAL(name);                                                                                \
        count(&sum, 2.0 * m * n * k);                                                              \
        real(o, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                             \
    }
GEMM(cblas_dgemm, double, in_f64)
GEMM(cblas_sgemm, float, in_f32)

#define SYRK(name, real_t, sum)                                                                    \
    EXPORT void name(order o, enum CBLAS_UPLO uplo, trans t, blasint n, blasint k, real_t alpha,   \
                     const real_t *a, blasint lda, real_t beta, real_t *c, blasint ldc)            \
    {                                                                                              \
        REAL(name);                                                                                \
        count(&sum, (double)n *(n + 1.0) * k);                                                     \
        real(o, uplo, t, n, k, alpha, a, lda, beta, c, ldc);                                       \
    }
SYRK(cblas_dsyrk, double, in_f64)
SYRK(cblas_ssyrk, float, in_f32)

EXPORT void cblas_dgemv(order o, trans t, blasint m, blasint n, double alpha, const double *a,
                        blasint lda, const double *x, blasint incx, double beta, double *y,
                        blasint incy)
{
    REAL(cblas_dgemv);
    count(&in_f64, 2.0 * m * n);
    real(o, t, m, n, alpha, a, lda, x, incx, beta, y, incy);
}

EXPORT void cblas_dtrsm(order o, enum CBLAS_SIDE side, enum CBLAS_UPLO uplo, trans t,
                        enum CBLAS_DIAG diag, blasint m, blasint n, double alpha, const double *a,
                        blasint lda, double *b, blasint ldb)
{
    REAL(cblas_dtrsm);
    count(&in_f64, (double)m * n * (side == CblasLeft ? m : n));
    real(o, side, uplo, t, diag, m, n, alpha, a, lda, b, ldb);
}

/* ---- LAPACK -------------------------------------------------------------------------------------
 */

static double cube(double n)
{
    return n * n * n;
}

EXPORT lapack_int LAPACKE_dgeqrf_work(int o, lapack_int m, lapack_int n, double *a, lapack_int lda,
                                      double *tau, double *work, lapack_int lwork)
{
    REAL(LAPACKE_dgeqrf_work);
    if (lwork >= 0)
        count(&in_f64, 2.0 * n * n * (m - n / 3.0));
    return real(o, m, n, a, lda, tau, work, lwork);
}

EXPORT lapack_int LAPACKE_dorgqr_work(int o, lapack_int m, lapack_int n, lapack_int k, double *a,
                                      lapack_int lda, const double *tau, double *work,
                                      lapack_int lwork)
{
    REAL(LAPACKE_dorgqr_work);
    if (lwork >= 0)
        count(&in_f64, 4.0 * m * n * k - 2.0 * (m + n) * k * k + 4.0 / 3 * cube(k));
    return real(o, m, n, k, a, lda, tau, work, lwork);
}

EXPORT lapack_int LAPACKE_dpotrf_work(int o, char uplo, lapack_int n, double *a, lapack_int lda)
{
    REAL(LAPACKE_dpotrf_work);
    count(&in_f64, cube(n) / 3);
    return real(o, uplo, n, a, lda);
}

EXPORT lapack_int LAPACKE_dsyevd_work(int o, char job, char uplo, lapack_int n, double *a,
                                      lapack_int lda, double *w, double *work, lapack_int lwork,
                                      lapack_int *iwork, lapack_int liwork)
{
    REAL(LAPACKE_dsyevd_work);
    if (lwork >= 0)
        count(&in_f64, (job == 'V' ? 10.0 : 4.0) / 3 * cube(n));
    return real(o, job, uplo, n, a, lda, w, work, lwork, iwork, liwork);
}

EXPORT lapack_int LAPACKE_dsyevr_work(int o, char job, char range, char uplo, lapack_int n,
                                      double *a, lapack_int lda, double vl, double vu,
                                      lapack_int il, lapack_int iu, double abstol, lapack_int *m,
                                      double *w, double *z, lapack_int ldz, lapack_int *isuppz,
                                      double *work, lapack_int lwork, lapack_int *iwork,
                                      lapack_int liwork)
{
    REAL(LAPACKE_dsyevr_work);
    lapack_int info = real(o, job, range, uplo, n, a, lda, vl, vu, il, iu, abstol, m, w, z, ldz,
                           isuppz, work, lwork, iwork, liwork);
    if (lwork >= 0)
        count(&in_f64, 4.0 / 3 * cube(n) + (job == 'V' ? 2.0 * n * n * *m : 0));
    return info;
}

#define SYTRD(name, real_t, sum)                                                                   \
    EXPORT lapack_int name(int o, char uplo, lapack_int n, real_t *a, lapack_int lda, real_t *d,   \
                           real_t *e, real_t *tau, real_t *work, lapack_int lwork)                 \
    {                                                                                              \
        REAL(name);                                                                                \
        if (lwork >= 0)                                                                            \
            count(&sum, 4.0 / 3 * cube(n));                                                        \
        return real(o, uplo, n, a, lda, d, e, tau, work, lwork);                                   \
    }
SYTRD(LAPACKE_dsytrd_work, double, in_f64)
SYTRD(LAPACKE_ssytrd_work, float, in_f32)

#define ORMTR(name, real_t, sum)                                                                   \
    EXPORT lapack_int name(int o, char side, char uplo, char t, lapack_int m, lapack_int n,        \
                           const real_t *a, lapack_int lda, const real_t *tau, real_t *c,          \
                           lapack_int ldc, real_t *work, lapack_int lwork)                         \
    {                                                                                              \
        REAL(name);                                                                                \
        if (lwork >= 0)                                                                            \
            count(&sum, 2.0 * m * n * (side == 'L' ? m : n));                                      \
        return real(o, side, uplo, t, m, n, a, lda, tau, c, ldc, work, lwork);                     \
    }
ORMTR(LAPACKE_dormtr_work, double, in_f64)
ORMTR(LAPACKE_sormtr_work, float, in_f32)
