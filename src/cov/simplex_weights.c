/* Implements simplex_weights.h. The search works in these coordinates; theta is computed from
 * them. */
#include "cov/simplex_weights.h"

#include <math.h>

static const double ETA_BOUND = 7;
static const double MIN = 1e-12; /* smallest weight that has a coordinate */
/* Bounds of lengths in units of distances [METHOD 3b, 9.12]. */
static const double MIN_MEDIAN = 0.1 /* unless cov->lowest is set */, MIN_NEAREST = 0.5,
                    MAX_MEDIAN = 20;

int kn_cov_n_outer(const kn_cov *cov)
{
    return cov->n - 1 + cov->n_shapes;
}

/* Sets the first of the weights w (cov->n) to 1 minus the others, at least 0. */
static void close_weights(const kn_cov *cov, double *w)
{
    w[0] = 1;
    for (int k = 1; k < cov->n; k++)
        w[0] -= w[k];
    w[0] = fmax(w[0], 0);
}

/* Computes the distances *out between rows of X over the columns of term t, from `pairs` if they
 * have them. KN_ERR_DATA if more than half of them are 0, as then no length can be chosen. */
static kn_status find_distances(kn_ctx *ctx, const kn_term *t, const kn_pairs *pairs, kn_mat X,
                                kn_distances *out)
{
    bool at_hand = t->kernel->stat == KN_STAT_D2 && pairs->n > t->stat &&
                   (!X.data || X.rows <= KN_DISTANCES_ROWS);
    kn_status status = at_hand ? kn_pairs_distances(ctx, pairs->stat[t->stat], out)
                               : kn_row_distances(ctx, kn_columns(X, t->first, t->count), out);
    if (status == KN_OK && !(out->median > 0))
        status = kn_fail(ctx, KN_ERR_DATA, "the covariates do not differ between participants");
    return status;
}

/* Sets the bounds and the middle of the shapes (length-scales) of term t in *box: fixed, or
 * multiples of the distances between rows. */
static kn_status set_shape_box(kn_ctx *ctx, const kn_cov *cov, const kn_term *t,
                               const kn_pairs *pairs, kn_mat X, kn_box *box)
{
    for (int i = 0; i < t->kernel->n_shape; i++) {
        const kn_shape *s = &t->kernel->shape[i];
        int x = cov->n - 1 + t->shape + i;
        kn_distances d;
        if (s->range == KN_RANGE_FIXED) {
            box->lower[x] = log(s->low);
            box->upper[x] = log(s->high);
            box->middle.shape[t->shape + i] = sqrt(s->low * s->high);
            continue;
        }
        kn_status status = find_distances(ctx, t, pairs, X, &d);
        if (status != KN_OK)
            return status;
        double lowest = cov->lowest > 0 ? cov->lowest : MIN_MEDIAN;
        box->lower[x] = log(fmax(lowest * d.median, MIN_NEAREST * d.nearest));
        box->upper[x] = log(MAX_MEDIAN * d.median);
        box->middle.shape[t->shape + i] = exp(box->upper[x]) / MAX_MEDIAN;
    }
    return KN_OK;
}

kn_status kn_box_new(kn_ctx *ctx, const kn_cov *cov, const kn_pairs *pairs, kn_mat X, kn_box *out)
{
    kn_status status = KN_OK;
    *out = (kn_box){0};
    for (int k = 0; k < cov->n && status == KN_OK; k++) {
        out->middle.w[k] = 1 / (double)cov->n;
        if (k > 0) {
            out->lower[k - 1] = -ETA_BOUND;
            out->upper[k - 1] = ETA_BOUND;
        }
        status = set_shape_box(ctx, cov, &cov->term[k], pairs, X, out);
    }
    return status;
}

kn_cov_point kn_cov_point_at(const kn_cov *cov, const double *x)
{
    kn_cov_point p = {0};
    for (int k = 1; k < cov->n; k++) {
        double sum = exp(-x[k - 1]); /* w_k = 1/sum_m exp(eta_m - eta_k), eta_1 = 0 */
        for (int m = 1; m < cov->n; m++)
            sum += exp(x[m - 1] - x[k - 1]);
        p.w[k] = 1 / sum;
    }
    close_weights(cov, p.w);
    for (int i = 0; i < cov->n_shapes; i++)
        p.shape[i] = exp(x[cov->n - 1 + i]);
    return p;
}

void kn_cov_coordinates(const kn_cov *cov, const kn_cov_point *point, double *x)
{
    for (int k = 1; k < cov->n; k++)
        x[k - 1] = log(fmax(point->w[k], MIN) / fmax(point->w[0], MIN));
    for (int i = 0; i < cov->n_shapes; i++)
        x[cov->n - 1 + i] = log(point->shape[i]);
}

void kn_cov_theta(const kn_cov *cov, const kn_cov_point *point, double *theta)
{
    for (int k = 0; k < cov->n; k++) {
        const kn_term *t = &cov->term[k];
        theta[t->at] = 0.5 * log(point->w[k] / t->scale);
        for (int i = 0; i < t->kernel->n_shape; i++)
            theta[t->at + 1 + i] = log(point->shape[t->shape + i]);
    }
}

void kn_cov_point_of(const kn_cov *cov, const double *theta, kn_cov_point *point, double *total)
{
    *point = (kn_cov_point){0};
    *total = 0;
    for (int k = 0; k < cov->n; k++) {
        const kn_term *t = &cov->term[k];
        point->w[k] = t->scale * exp(2 * theta[t->at]);
        *total += point->w[k];
        for (int i = 0; i < t->kernel->n_shape; i++)
            point->shape[t->shape + i] = exp(theta[t->at + 1 + i]);
    }
    for (int k = 1; k < cov->n; k++)
        point->w[k] /= *total;
    close_weights(cov, point->w);
}

void kn_cov_outer_gradient(const kn_cov *cov, const kn_cov_point *point, const double *g_theta,
                           double *g)
{
    for (int k = 0; k < cov->n; k++) {
        const kn_term *t = &cov->term[k];
        double sum = 0;
        for (int m = 0; m < cov->n; m++) /* in pairs: no cancellation near a vertex */
            if (m != k)
                sum += point->w[m] * g_theta[t->at] - point->w[k] * g_theta[cov->term[m].at];
        if (k > 0)
            g[k - 1] = 0.5 * sum;
        for (int i = 0; i < t->kernel->n_shape; i++)
            g[cov->n - 1 + t->shape + i] = g_theta[t->at + 1 + i];
    }
}

bool kn_cov_is_rho_length(const kn_cov *cov)
{
    return cov->n_shapes <= 1 &&
           (cov->n == 1 || (cov->n == 2 && cov->term[1].kernel->n_shape == 1));
}

bool kn_family_exists(const kn_cov *cov)
{
    return cov->n_shapes <= 1;
}

/* Returns the number of terms of this kind: straight, curved or of levels. */
static int count_course(const kn_cov *cov, kn_effect_kind course)
{
    int n = 0;
    for (int k = 0; k < cov->n; k++)
        n += cov->term[k].kernel->course == course;
    return n;
}

bool kn_family_takes(const kn_cov *cov)
{
    return cov->n > 1 && (count_course(cov, KN_OF_LEVELS) > 0 ||
                          count_course(cov, KN_STRAIGHT) > 1 || count_course(cov, KN_CURVED) > 1);
}

kn_cov_family kn_family_of(const kn_cov *cov, const kn_cov_point *point)
{
    kn_cov_family f = {.cov = cov, .left = 1, .has_length = cov->n_shapes > 0};
    double sum[KN_OF_LEVELS + 1] = {0};
    int straight = count_course(cov, KN_STRAIGHT), curved = count_course(cov, KN_CURVED);
    f.has_rho = straight > 0 && curved > 0;
    for (int k = 0; k < cov->n; k++)
        sum[cov->term[k].kernel->course] += point->w[k];
    f.left = straight + curved > 0 ? fmax(1 - sum[KN_OF_LEVELS], 0) : 0;
    for (int k = 0; k < cov->n; k++) {
        kn_effect_kind course = cov->term[k].kernel->course;
        if (course == KN_OF_LEVELS)
            f.part[k] = point->w[k];
        else if (sum[course] > MIN)
            f.part[k] = point->w[k] / sum[course];
        else
            f.part[k] = 1 / (double)(course == KN_CURVED ? curved : straight);
    }
    return f;
}

kn_cov_point kn_family_at(const kn_cov_family *f, double rho, double length)
{
    kn_cov_point p = {.shape = {length}};
    for (int k = 0; k < f->cov->n; k++) {
        kn_effect_kind course = f->cov->term[k].kernel->course;
        double of_kind = !f->has_rho ? 1 : course == KN_CURVED ? rho : 1 - rho;
        p.w[k] = course == KN_OF_LEVELS ? f->part[k] : f->left * of_kind * f->part[k];
    }
    return p;
}

void kn_family_rho_length(const kn_cov_family *f, const kn_cov_point *point, double *rho,
                          double *length)
{
    double curved = 0;
    for (int k = 0; k < f->cov->n; k++)
        curved += f->cov->term[k].kernel->course == KN_CURVED ? point->w[k] : 0;
    *rho = f->has_rho && f->left > 0 ? curved / f->left : curved > 0;
    *length = f->has_length ? point->shape[0] : 1;
}

void kn_family_box(const kn_cov_family *f, const kn_box *box, double lower[2], double upper[2])
{
    int length = f->cov->n - 1;
    lower[0] = -ETA_BOUND;
    upper[0] = ETA_BOUND;
    lower[1] = f->has_length ? box->lower[length] : 0;
    upper[1] = f->has_length ? box->upper[length] : 0;
}

/* Returns the family around equal weights, for covariances that (rho, length) describes
 * completely. */
static kn_cov_family family_at_equal_weights(const kn_cov *cov)
{
    kn_cov_point equal = {0};
    for (int k = 0; k < cov->n; k++)
        equal.w[k] = 1 / (double)cov->n;
    return kn_family_of(cov, &equal);
}

kn_cov_point kn_cov_at_rho(const kn_cov *cov, double rho, double length)
{
    kn_cov_family f = family_at_equal_weights(cov);
    return kn_family_at(&f, rho, length);
}

void kn_cov_rho_length(const kn_cov *cov, const kn_cov_point *point, double *rho, double *length)
{
    kn_cov_family f = family_at_equal_weights(cov);
    kn_family_rho_length(&f, point, rho, length);
}
