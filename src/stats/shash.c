/* Implements shash.h. Arrays are processed in chunks that stay in the cache. */
#include "stats/shash.h"

#include <math.h>
#include <stdbool.h>

#include "la/vec.h"
#include "stats/normal.h"

enum { CHUNK = 256, HALVINGS = 64 };

/* ---- nodes ----------------------------------------------------------------------------------- */

typedef struct hermite {
    int above;          /* number of zeros of He_n above x */
    double last, value; /* orthonormal He_(n-1), He_n at x */
} hermite;

/* Evaluates the orthonormal Hermite polynomials p_(n-1) and p_n at x, n = KN_SHASH_NODES, and
 * counts the zeros above x, by the recurrence p_(k+1) = (x p_k - sqrt(k) p_(k-1))/sqrt(k+1). The
 * p_k are a Sturm sequence: the number of sign changes is the number of zeros above x. */
static hermite evaluate_hermite(double x)
{
    hermite h = {0, 0, 1};
    for (int k = 0; k < KN_SHASH_NODES; k++) {
        double next = (x * h.value - sqrt(k) * h.last) / sqrt(k + 1);
        h.last = h.value;
        h.value = next;
        h.above += (h.last < 0) != (next < 0);
    }
    return h;
}

/* Zeros by bisection, which needs no starting point, and two Newton steps with
 * p_n' = sqrt(n) p_(n-1). w = 1/(n p_(n-1)^2). */
void kn_shash_nodes_init(kn_shash_nodes *nodes)
{
    const double n = KN_SHASH_NODES;
    for (int k = 0; k < KN_SHASH_NODES / 2; k++) { /* from the largest down */
        double lo = 0, hi = 2 * sqrt(n);
        for (int step = 0; step < HALVINGS && hi - lo > 1e-8; step++) {
            double mid = (lo + hi) / 2;
            *(evaluate_hermite(mid).above > k ? &lo : &hi) = mid;
        }
        double x = (lo + hi) / 2;
        for (int step = 0; step < 2; step++) {
            hermite h = evaluate_hermite(x);
            x -= h.value / (sqrt(n) * h.last);
        }
        int other = KN_SHASH_NODES - 1 - k;
        nodes->asinh_u[other] = asinh(x);
        nodes->asinh_u[k] = -nodes->asinh_u[other];
        nodes->w[k] = nodes->w[other] = 1 / (n * pow(evaluate_hermite(x).last, 2));
    }
    nodes->asinh_u[KN_SHASH_NODES / 2] = 0;
    nodes->w[KN_SHASH_NODES / 2] = 1 / (n * pow(evaluate_hermite(0).last, 2));
}

/* ---- one distribution ------------------------------------------------------------------------ */

kn_shash kn_shash_at(const kn_shash_nodes *nodes, const double theta[2])
{
    double b = exp(theta[1]), q[KN_SHASH_NODES], mean = 0, var = 0;
    for (int k = 0; k < KN_SHASH_NODES; k++)
        q[k] = (nodes->asinh_u[k] + theta[0]) / b;
    kn_vec_exp(KN_SHASH_NODES, q);
    for (int k = 0; k < KN_SHASH_NODES; k++) {
        q[k] = 0.5 * (q[k] - 1 / q[k]);
        mean += nodes->w[k] * q[k];
    }
    for (int k = 0; k < KN_SHASH_NODES; k++)
        var += nodes->w[k] * (q[k] - mean) * (q[k] - mean);
    return (kn_shash){theta[0], b, -mean / sqrt(var), 1 / sqrt(var)};
}

double kn_shash_forward(const kn_shash *shash, double zt)
{
    return sinh(shash->b * asinh((zt - shash->loc) / shash->sc) - shash->a);
}

double kn_shash_inverse(const kn_shash *shash, double z)
{
    return shash->loc + shash->sc * sinh((asinh(z) + shash->a) / shash->b);
}

double kn_shash_nll(const kn_shash *shash, double zt)
{
    double q = (zt - shash->loc) / shash->sc, t = shash->b * asinh(q) - shash->a, z = sinh(t);
    return 0.5 * (z * z + KN_LOG_2PI) - log(shash->b * cosh(t)) + log(hypot(1, q)) + log(shash->sc);
}

/* Computes q = slope zt + offset, root = sqrt(1 + q^2) and sum = |q| + root for the n values zt of
 * one chunk; asinh q is the logarithm of sum, with the sign of q (compute_t). */
KN_CLONES
static void compute_q(ptrdiff_t n, const double *zt, double slope, double offset, double *q,
                      double *root, double *sum)
{
#pragma omp simd
    for (ptrdiff_t i = 0; i < n; i++) {
        double x = slope * zt[i] + offset, r = sqrt(1 + x * x);
        q[i] = x;
        root[i] = r;
        sum[i] = fabs(x) + r;
    }
}

/* Computes, for the n values q of one chunk, out = asinh(q) (in: ln(|q| + sqrt(1 + q^2)); gets the
 * sign of q; absolute error about 1e-16) and t = b asinh(q) - a; out and t may be the same. */
KN_CLONES
static void compute_t(ptrdiff_t n, const double *q, double a, double b, double *out, double *t)
{
#pragma omp simd
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = copysign(out[i], q[i]);
        t[i] = b * out[i] - a;
    }
}

/* Computes out_i = sinh t_i from e_i = exp(t_i), for the n values of one chunk. */
KN_CLONES
static void compute_sinh(ptrdiff_t n, const double *e, double *out)
{
#pragma omp simd
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] = 0.5 * (e[i] - 1 / e[i]);
}

void kn_shash_apply(const kn_shash *shash, ptrdiff_t n, double *zt)
{
    double q[CHUNK], e[CHUNK], root[CHUNK], slope = 1 / shash->sc, offset = -shash->loc * slope;
    for (ptrdiff_t first = 0; first < n; first += CHUNK) {
        ptrdiff_t m = n - first < CHUNK ? n - first : CHUNK;
        compute_q(m, zt + first, slope, offset, q, root, e);
        kn_vec_log(m, e);
        compute_t(m, q, shash->a, shash->b, e, e);
        kn_vec_exp(m, e);
        compute_sinh(m, e, zt + first);
    }
}

/* ---- derivatives ----------------------------------------------------------------------------- */

/* Computes sinh p at the quadrature nodes (d[0]) and its derivatives by a, ln b; aa, a ln b, ln
 * b ln b (d[1] .. d[5]) at theta = (a, ln b). */
static void compute_node_derivatives(const kn_shash_nodes *nodes, const double theta[2],
                                     double d[6][KN_SHASH_NODES])
{
    double b = exp(theta[1]), exps[KN_SHASH_NODES];
    for (int k = 0; k < KN_SHASH_NODES; k++)
        exps[k] = (nodes->asinh_u[k] + theta[0]) / b;
    kn_vec_exp(KN_SHASH_NODES, exps);
    for (int k = 0; k < KN_SHASH_NODES; k++) {
        double p = (nodes->asinh_u[k] + theta[0]) / b, e = exps[k];
        double sh = 0.5 * (e - 1 / e), ch = 0.5 * (e + 1 / e);
        d[0][k] = sh;
        d[1][k] = ch / b;
        d[2][k] = -p * ch;
        d[3][k] = sh / (b * b);
        d[4][k] = -(ch + p * sh) / b;
        d[5][k] = p * ch + p * p * sh;
    }
}

/* Returns the covariance of x and y over the quadrature nodes with weights w; x0, y0: their
 * means. */
static double compute_covariance(const double *w, const double *x, double x0, const double *y,
                                 double y0)
{
    double sum = 0;
    for (int k = 0; k < KN_SHASH_NODES; k++)
        sum += w[k] * (x[k] - x0) * (y[k] - y0);
    return sum;
}

/* V_k = 2 cov(q, q_k);  V_kl = 2 cov(q_k, q_l) + 2 cov(q, q_kl);  sigma = sqrt(V). */
kn_shash_point kn_shash_point_at(const kn_shash_nodes *nodes, const double theta[2])
{
    static const int PAIR[6][2] = {{0, 0}, {0, 0}, {0, 0}, {1, 1}, {1, 2}, {2, 2}};
    kn_shash_point at = {.a = theta[0], .b = exp(theta[1])};
    double d[6][KN_SHASH_NODES], M[6] = {0}, V[6];
    const double *w = nodes->w;
    compute_node_derivatives(nodes, theta, d);
    for (int f = 0; f < 6; f++)
        for (int k = 0; k < KN_SHASH_NODES; k++)
            M[f] += w[k] * d[f][k];
    V[0] = compute_covariance(w, d[0], M[0], d[0], M[0]);
    for (int f = 1; f < 6; f++)
        V[f] = 2 * compute_covariance(w, d[0], M[0], d[f], M[f]);
    for (int f = 3; f < 6; f++)
        V[f] +=
            2 * compute_covariance(w, d[PAIR[f][0]], M[PAIR[f][0]], d[PAIR[f][1]], M[PAIR[f][1]]);
    double sigma = sqrt(V[0]);
    at.q[0][0] = sigma;
    at.log_sc[0] = -log(sigma);
    for (int f = 1; f < 6; f++) {
        double k = at.q[PAIR[f][0]][0], l = at.q[PAIR[f][1]][0]; /* sigma_k, sigma_l */
        double both = f < 3 ? 0 : k * l;
        at.q[f][0] = (V[f] / 2 - both) / sigma;
        at.log_sc[f] = -at.q[f][0] / sigma + both / V[0];
    }
    for (int f = 0; f < 6; f++)
        at.q[f][1] = M[f];
    return at;
}

typedef struct chunk {
    double q[CHUNK], root[CHUNK], asinh_q[CHUNK], e[CHUNK], ratio[CHUNK];
} chunk;

/* Sums loss, gradient and Hessian of the sinh-arcsinh negative log likelihood over the n values zt
 * of one chunk; l = ln b. With f(t) = sinh^2 t/2 - ln cosh t and g(q) = ln(1 + q^2)/2, each by the
 * chain rule:
 *     nll_k  = f' t_k + g' q_k,   nll_kl = f'' t_k t_l + f' t_kl + g'' q_k q_l + g' q_kl
 *     t_a = b A' q_a - 1,  t_l = b A + b A' q_l
 *     A = asinh q,  A' = 1/sqrt(1 + q^2),  A'' = -q A'^3
 * out: the sum of sinh^2 t/2, then d/da, d/dl, d2/da2, d2/da dl, d2/dl2, all without the terms of
 * ln b and ln sc. The logarithms of cosh t / sqrt(1 + q^2), set in c->ratio, are left to the
 * caller. */
KN_CLONES
static void sum_chunk(const kn_shash_point *at, ptrdiff_t n, const double *zt, chunk *c,
                      double out[6])
{
    const double b = at->b, (*d)[2] = at->q;
    double v = 0, ga = 0, gl = 0, haa = 0, hal = 0, hll = 0;
#pragma omp simd reduction(+ : v, ga, gl, haa, hal, hll)
    for (ptrdiff_t i = 0; i < n; i++) {
        double z = zt[i], q = c->q[i], e = c->e[i], bA = b * c->asinh_q[i];
        double qa = d[1][0] * z + d[1][1], ql = d[2][0] * z + d[2][1];
        double qaa = d[3][0] * z + d[3][1], qal = d[4][0] * z + d[4][1];
        double qll = d[5][0] * z + d[5][1];
        double ir = 1 / c->root[i], b1 = b * ir, b2 = -b1 * q * ir * ir; /* b A', b A'' */
        double ie = 1 / e, sh = 0.5 * (e - ie), ch = 0.5 * (e + ie), ich = 1 / ch;
        double f1 = sh * ch - sh * ich, f2 = ch * ch + sh * sh - ich * ich;
        double g1 = q * ir * ir, g2 = (1 - q * q) * ir * ir * ir * ir;
        double ta = b1 * qa - 1, tl = bA + b1 * ql;
        c->ratio[i] = ch * ir;
        v += 0.5 * sh * sh;
        ga += f1 * ta + g1 * qa;
        gl += f1 * tl + g1 * ql;
        haa += f2 * ta * ta + f1 * (b2 * qa * qa + b1 * qaa) + g2 * qa * qa + g1 * qaa;
        hal += f2 * ta * tl + f1 * (b1 * qa + b2 * qa * ql + b1 * qal) + g2 * qa * ql + g1 * qal;
        hll += f2 * tl * tl + f1 * (bA + 2 * b1 * ql + b2 * ql * ql + b1 * qll) + g2 * ql * ql +
               g1 * qll;
    }
    out[0] = v, out[1] = ga, out[2] = gl, out[3] = haa, out[4] = hal, out[5] = hll;
}

/* Adds negative log likelihood (only if `value`), gradient and Hessian of the n values zt at the
 * point `at` to the sums. */
static void add_values(const kn_shash_point *at, ptrdiff_t n, const double *zt, bool value,
                       kn_shash_sums *sums)
{
    chunk c;
    for (ptrdiff_t first = 0; first < n; first += CHUNK) {
        ptrdiff_t m = n - first < CHUNK ? n - first : CHUNK;
        const double *z = zt + first;
        double s[6];
        compute_q(m, z, at->q[0][0], at->q[0][1], c.q, c.root, c.asinh_q);
        kn_vec_log(m, c.asinh_q);
        compute_t(m, c.q, at->a, at->b, c.asinh_q, c.e);
        kn_vec_exp(m, c.e);
        sum_chunk(at, m, z, &c, s);
        if (value)
            sums->value += s[0] - kn_vec_sum_log(m, c.ratio);
        for (int k = 0; k < 2; k++)
            sums->gradient[k] += s[1 + k];
        for (int k = 0; k < 3; k++)
            sums->hessian[k] += s[3 + k];
    }
    double count = (double)n;
    sums->n += count;
    if (value)
        sums->value += count * (0.5 * KN_LOG_2PI - log(at->b) + at->log_sc[0]);
    sums->gradient[0] += count * at->log_sc[1];
    sums->gradient[1] += count * (at->log_sc[2] - 1);
    for (int k = 0; k < 3; k++)
        sums->hessian[k] += count * at->log_sc[3 + k];
}

void kn_shash_add(const kn_shash_point *at, ptrdiff_t n, const double *zt, kn_shash_sums *sums)
{
    add_values(at, n, zt, true, sums);
}

void kn_shash_add_derivatives(const kn_shash_point *at, ptrdiff_t n, const double *zt,
                              kn_shash_sums *sums)
{
    add_values(at, n, zt, false, sums);
}
