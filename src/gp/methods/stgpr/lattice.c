/* The lattice of (rho, length) on which STGPR searches: its positions, the cells created there, and
 * which positions each response requests [METHOD 7]. No likelihood is computed here. Cells are
 * numbered by the lowest response that requests them, on whichever MPI rank it is. */
#include "gp/methods/stgpr/internal.h"

#include <float.h>
#include <stdlib.h>

#include "base/mpi/comm.h"
#include "gp/search/search.h"

enum {
    CELLS = KN_LATTICE_CELLS,
    FINE = KN_LATTICE_FINE,
    SIDE = KN_LATTICE_SIDE,
    N_POSITIONS = KN_LATTICE_POSITIONS,
    AROUND = KN_LATTICE_AROUND,
    N_FINE = KN_LATTICE_FINE_CELLS,
    RHO_ZERO = -1, /* outside the lattice coordinates */
    RHO_ONE = SIDE + 1,
};
static const double WORTH = 0.02; /* nats: a response with less to gain stops refining */
static const double NEAR = 0.5;   /* nats below the best within which a second position is refined
                                   * too */

void kn_lattice_clear(kn_lattice *l)
{
    kn_mat_clear(&l->where);
    kn_mat_clear(&l->lml);
    kn_free(l->at);
    kn_free(l->id);
    kn_free(l->fine);
    kn_free(l->best);
    kn_free(l->refines);
    *l = (kn_lattice){0};
}

/* Returns the index 0 .. N_POSITIONS - 1 of a lattice position. */
static int slot_of_position(kn_lattice_position p)
{
    return (p.i + 1) * (SIDE + 1) + p.k;
}

/* Returns the lattice position with this index, the inverse of slot_of_position. */
static kn_lattice_position position_of_slot(int slot)
{
    return (kn_lattice_position){slot / (SIDE + 1) - 1, slot % (SIDE + 1)};
}

/* Appends a cell (responses that share hyperparameters) at lattice position p with these values
 * of rho and length; returns its number. Does not enter it in l->id. */
static int add_cell(kn_lattice *l, kn_lattice_position p, double rho, double length)
{
    int c = l->n_cells++;
    l->at[c] = p;
    kn_col(l->where, 0)[c] = rho;
    kn_col(l->where, 1)[c] = length;
    return c;
}

/* Converts lattice units u (0 .. SIDE) of axis x to the coordinate: logit rho (x = 0) or ln
 * length (x = 1). */
static double convert_to_coordinate(const kn_lattice *l, int x, int u)
{
    return l->lower[x] + (l->upper[x] - l->lower[x]) * u / SIDE;
}

/* Creates a cell (responses that share hyperparameters) at lattice position p, with the rho and
 * length of the position, and enters it in l->id. */
static void create_cell(kn_lattice *l, kn_lattice_position p)
{
    double rho = p.i == RHO_ZERO  ? 0
                 : p.i == RHO_ONE ? 1
                                  : 1 / (1 + exp(-convert_to_coordinate(l, 0, p.i)));
    double length = l->family.has_length ? exp(convert_to_coordinate(l, 1, p.k)) : 1;
    l->id[slot_of_position(p)] = add_cell(l, p, rho, length);
}

kn_cov_point kn_lattice_point(const kn_lattice *l, int cell)
{
    return kn_family_at(&l->family, kn_at(l->where, cell, 0), kn_at(l->where, cell, 1));
}

/* Returns the position that stands for p: all with rho = 0 are one, because length does not
 * matter there; i above SIDE is rho = 1. */
static kn_lattice_position canonicalise_position(kn_lattice_position p)
{
    if (p.i < 0)
        return (kn_lattice_position){RHO_ZERO, 0};
    if (p.i > SIDE)
        p.i = RHO_ONE;
    return p;
}

/* Creates the first cells: the one that the user gives, if any, and, with o->optimise, the
 * coarse lattice with rho = 0 and rho = 1. */
static void create_coarse_cells(kn_lattice *l, const kn_cell_search *o)
{
    kn_lattice_position isolated = {RHO_ZERO, -FINE}; /* not a neighbour of any position */
    bool given = isfinite(o->rho) || isfinite(o->length) || !o->optimise;
    if (given) {
        double rho, length;
        kn_family_rho_length(&l->family, &l->box.middle, &rho, &length);
        if (l->family.has_rho && isfinite(o->rho))
            rho = o->rho;
        add_cell(l, isolated, rho, isfinite(o->length) ? o->length : length);
    }
    if (o->optimise) {
        bool has_rho = l->family.has_rho, has_length = l->family.has_length;
        if (has_rho || !has_length)
            create_cell(l, (kn_lattice_position){RHO_ZERO, 0});
        for (int k = FINE / 2; has_length && k < SIDE; k += FINE) {
            create_cell(l, (kn_lattice_position){RHO_ONE, k});
            for (int i = FINE / 2; has_rho && i < SIDE; i += FINE)
                create_cell(l, (kn_lattice_position){i, k});
        }
    }
    l->n_coarse = l->n_cells;
}

kn_status kn_lattice_new(kn_ctx *ctx, const kn_cell_samples *samples, const kn_cell_class *which,
                         const kn_cell_search *o, kn_lattice *l)
{
    kn_status status;
    void *p;
    ptrdiff_t T = which->n;
    *l = (kn_lattice){.cov = samples->cov, .family = o->family, .J = which->J, .T = T};
    KN_TRY(kn_box_new(ctx, l->cov, samples->pairs, kn_mat_none(), &l->box));
    kn_family_box(&l->family, &l->box, l->lower, l->upper);
    KN_TRY(kn_alloc(ctx, N_POSITIONS, sizeof(kn_lattice_position), &p));
    l->at = p;
    KN_TRY(kn_alloc(ctx, N_POSITIONS, sizeof(int), &p));
    l->id = p;
    for (int k = 0; k < N_POSITIONS; k++)
        l->id[k] = -1;
    KN_TRY(kn_mat_new(ctx, N_POSITIONS, 2, &l->where));
    create_coarse_cells(l, o);
    KN_TRY(kn_alloc(ctx, T * N_FINE, sizeof(int), &p));
    l->fine = p;
    KN_TRY(kn_alloc(ctx, T, sizeof(bool), &p));
    l->refines = p;
    KN_TRY(kn_alloc_d(ctx, T, &l->best));
    KN_TRY(kn_mat_new(ctx, l->n_coarse + N_FINE, T, &l->lml));
    for (ptrdiff_t j = 0; j < T; j++) {
        l->best[j] = -INFINITY;
        l->refines[j] = true;
        for (int k = 0; k < N_FINE; k++)
            l->fine[j * N_FINE + k] = -1;
        for (int k = 0; k < l->n_coarse + N_FINE; k++)
            kn_col(l->lml, j)[k] = -INFINITY;
    }
out:
    if (status != KN_OK)
        kn_lattice_clear(l);
    return status;
}

/* ---- requests of the responses ------------------------------------------------------- */

/* Returns the log likelihood of response j at lattice position p, NaN if it was not evaluated
 * there. */
static double find_known_lml(const kn_lattice *l, ptrdiff_t j, kn_lattice_position p)
{
    p = canonicalise_position(p);
    if (p.k < 0 || p.k > SIDE)
        return NAN;
    int c = l->id[slot_of_position(p)];
    if (c < 0)
        return NAN;
    if (c < l->n_coarse)
        return kn_at(l->lml, c, j);
    for (int f = 0; f < N_FINE; f++)
        if (l->fine[j * N_FINE + f] == c)
            return kn_at(l->lml, l->n_coarse + f, j);
    return NAN;
}

/* Returns an upper estimate of how much the log likelihood rises above f0 between its neighbours
 * on one axis (left, right; NaN: not evaluated). A parabola through three points with the
 * highest in the middle rises above it by at most an eighth of its second difference; if one
 * neighbour is missing, half the drop to the other is used; infinity if both are. */
static double estimate_rise(double f0, double left, double right)
{
    if (isnan(left) && isnan(right))
        return INFINITY;
    if (isnan(left) || isnan(right))
        return 0.5 * (f0 - (isnan(left) ? right : left));
    return 0.125 * (2 * f0 - left - right);
}

/* Returns true if response j may gain more than WORTH nats over its best likelihood from a finer
 * step around position p, whose neighbours are `step` away. */
static bool may_gain_from(const kn_lattice *l, ptrdiff_t j, kn_lattice_position p, int step)
{
    double f0 = find_known_lml(l, j, p), r = 0;
    if (p.i != RHO_ONE)
        r += estimate_rise(f0, find_known_lml(l, j, (kn_lattice_position){p.i - step, p.k}),
                           find_known_lml(l, j, (kn_lattice_position){p.i + step, p.k}));
    r += estimate_rise(f0, find_known_lml(l, j, (kn_lattice_position){p.i, p.k - step}),
                       find_known_lml(l, j, (kn_lattice_position){p.i, p.k + step}));
    return r > WORTH - (l->best[j] - f0);
}

/* Finds the best position *out of response j on the lattice or, with at_rho_one, at rho = 1,
 * where a ridge often ends: which of the two is better may show only after both are refined.
 * Returns false if it is more than NEAR nats below the best of all. */
static bool find_best_position(const kn_lattice *l, ptrdiff_t j, bool at_rho_one,
                               kn_lattice_position *out)
{
    double top = l->best[j] - NEAR;
    bool found = false;
    for (int k = 0; k < l->n_coarse + N_FINE; k++) {
        int c = k < l->n_coarse ? k : l->fine[j * N_FINE + k - l->n_coarse];
        if (c < 0 || l->at[c].i == RHO_ZERO || (l->at[c].i == RHO_ONE) != at_rho_one ||
            !(kn_at(l->lml, k, j) >= top))
            continue;
        top = kn_at(l->lml, k, j);
        *out = l->at[c];
        found = true;
    }
    return found;
}

/* Writes to out the requests of response j to evaluate the neighbours of position p at the new
 * step, at most 8 on the lattice or 2 at rho = 1; returns their number. level: which halving,
 * for the row of lml. */
static int request_around(const kn_lattice *l, ptrdiff_t j, kn_lattice_position p, int level,
                          int step, kn_eval_request *out)
{
    int n = 0, slots = p.i == RHO_ONE ? 8 : 0;
    for (int a = -step; a <= step; a += step)
        for (int b = -step; b <= step; b += step) {
            kn_lattice_position q = {p.i + a, p.k + b};
            bool off_rho = p.i == RHO_ONE ? a != 0 : q.i < 0 || q.i > SIDE;
            if ((a == 0 && b == 0) || off_rho || q.k < 0 || q.k > SIDE)
                continue;
            out[n] = (kn_eval_request){j, slot_of_position(q), -1,
                                       l->n_coarse + level * AROUND + slots + n};
            n++;
        }
    return n;
}

/* Writes to out the requests of response j around its best positions, as far as refining may
 * gain enough; returns their number, 0 to AROUND. */
static int request_cells(const kn_lattice *l, ptrdiff_t j, int level, int step,
                         kn_eval_request *out)
{
    int n = 0;
    for (int one = 0; one < 2; one++) {
        kn_lattice_position p;
        if (find_best_position(l, j, one, &p) && may_gain_from(l, j, p, 2 * step))
            n += request_around(l, j, p, level, step, out + n);
    }
    return n;
}

/* ---- cells of the requests ----------------------------------------------------------- */

typedef struct numbered_position {
    double order; /* of the first request: response times AROUND plus its number within the
                   * response */
    int position;
} numbered_position;

/* Comparison for qsort: numbered positions in the order of their first request. */
static int compare_order(const void *a, const void *b)
{
    double x = ((const numbered_position *)a)->order, y = ((const numbered_position *)b)->order;
    return (x > y) - (x < y);
}

/* Creates cells at the positions of n requests that have none, in the order of the first request
 * over all MPI ranks, so that ranks number them equally. Collective. */
static kn_status number_cells(kn_ctx *ctx, kn_lattice *l, const kn_eval_request *w, ptrdiff_t n)
{
    kn_status status;
    double *first = NULL; /* -order of the first request of each position: the maximum over ranks
                           * is the first */
    void *memory = NULL;
    ptrdiff_t which = 0;
    int claims = 0;
    KN_TRY(kn_alloc_d(ctx, N_POSITIONS, &first));
    KN_TRY(kn_alloc(ctx, N_POSITIONS, sizeof(numbered_position), &memory));
    numbered_position *c = memory;
    for (int k = 0; k < N_POSITIONS; k++)
        first[k] = -DBL_MAX;
    for (ptrdiff_t k = 0; k < n; k++) {
        which = k > 0 && w[k].response == w[k - 1].response ? which + 1 : 0;
        double order = (double)l->J[w[k].response] * AROUND + (double)which;
        first[w[k].position] = fmax(first[w[k].position], -order);
    }
    KN_TRY(kn_comm_max(ctx, first, N_POSITIONS));
    for (int k = 0; k < N_POSITIONS; k++)
        if (first[k] > -DBL_MAX)
            c[claims++] = (numbered_position){-first[k], k};
    qsort(c, (size_t)claims, sizeof *c, compare_order);
    for (int k = 0; k < claims; k++)
        create_cell(l, position_of_slot(c[k].position));
out:
    kn_free(memory);
    kn_free(first);
    return status;
}

kn_status kn_lattice_refine(kn_ctx *ctx, kn_lattice *l, int level, kn_eval_request *out,
                            ptrdiff_t *n)
{
    kn_status status;
    int step = FINE >> (level + 1);
    *n = 0;
    for (ptrdiff_t j = 0; j < l->T; j++) {
        int more = l->refines[j] ? request_cells(l, j, level, step, out + *n) : 0;
        l->refines[j] = more > 0;
        *n += more;
    }
    KN_TRY(number_cells(ctx, l, out, *n));
    for (ptrdiff_t k = 0; k < *n; k++) {
        out[k].cell = l->id[out[k].position];
        l->fine[out[k].response * N_FINE + out[k].row - l->n_coarse] = out[k].cell;
    }
out:
    return status;
}

void kn_lattice_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_distances_need(r, s->N);
    kn_plan_alloc(r, KN_NEED_WORK, N_POSITIONS,
                  sizeof(kn_lattice_position) + sizeof(int) + 2 * sizeof(double));
    kn_plan_alloc(r, KN_NEED_WORK, s->T * N_FINE, sizeof(int));
    kn_plan_alloc(r, KN_NEED_WORK, s->T, sizeof(bool) + sizeof(double));
    kn_plan_alloc_d(r, KN_NEED_WORK, KN_LATTICE_COARSE + N_FINE, s->T);
    kn_plan_alloc(r, KN_NEED_WORK, N_POSITIONS,
                  sizeof(numbered_position) + sizeof(double)); /* during numbering */
}
