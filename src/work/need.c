/* Memory of a fit by the sizes of its matrices. Every number below is a count of matrices that are
 * alive at once; whoever adds or frees one there changes it here. Peaks measured against it are in
 * docs/numerics.md.
 *
 *   D = 8 bytes   W = min(T, 2048), a block of responses   f folds   H = N/f held-out rows of one
 *                 S-MTGPR beyond 5000 samples: f = 1, H = 2000, and S = 2000 samples in the
 *                 reference; else S = N
 *   R = D N M     a matrix over samples: N x N when dense (M = N), its factor L or U otherwise
 *   E             one decomposition: dense 4 R for pairs (dot, d2), U and H and 2 R inside dsyevd;
 *                 of rank M 2 R and 6 D M^2, and 6 D n^2 of the subsample, n = 400 at most
 *   U             what a model keeps of it: R, or D M^2
 *   G = D N g     the Gram matrix and its eigenvectors, g = N; a range finder, g = its columns
 *   K = 1, 2, ... 128 < 0.8 S, N - H, T: components of the joint deviance
 *   P             as given; auto: the largest step of its ladder, 400 at most (a range finder: 100)
 * and below N/2
 *
 *   all stages    responses  value N T (or a window of the scratch file)
 *                 work       X three times, 12 vectors of T
 *   gram          samples    5 G          G, U, a copy, dsyevd's two; float32: 0.5 G before that
 *                 work       D N W
 *   components    samples    2 G + 2 E    pilot and ladder engines
 *                 work       10 D N P of five folds, 5 D N max(P, 128)
 *   basis         basis      2 D T P      B, and its rotation                 work  D N W
 *   search        samples    2 G + E
 *                 work       D N (4 P + max(P, 128)); iso: 2 D N P + 8 D P^2
 *   folds         samples    2 G + U + (1 - H/N)^2 max(3 G, E)
 *                 work       parts = D P (f (N - H) + 2 S), the engine's, 2 D N min(1024, H)
 *   noise         samples    2 G + U      work  parts, D W (6 N + 2 H + 2 P)
 *   reference     samples    U            reference  2 z + top, by all variance and by noise alone
 *                 z = 4 S T if at most 1 GB, else 0; top = 2 D S (share T)
 *   deviance      samples    U + 4 D S^2  reference  2 z + 2.5 D T K
 *                 work       parts, D S K (f + 3), blocks of 2^21 values
 *   leave-one-out samples    U + R        reference  z + 2 D T K + top
 *
 *   STGPR         basis      D N T, alpha; the lattice takes 1300 bytes a response while searching;
 *                 mean and variance of many responses at once: panel = 2 D N T, at most 1 GB, in
 *                 cross-validation and once more in leave-one-out
 *   MT-Kronprod   as S-MTGPR with P = min(N, T); with se in the task kernel P = T and
 *                 basis 8 D T^2, work 10 D N T
 *   scoring       the model as it is in memory; batches of samples of 64 MB or 32 rows, four maps
 *                 each; 2 D N_train min(1024, N) for R*; 12 more vectors of T
 *
 *   work          is taken 1.1 times: malloc keeps some of it between two uses
 *   program       32 MB, and 8 MB a thread (OpenBLAS) */
#include "work/need.h"

#include <math.h>

#include "gp/cv_deal.h"
#include "gp/cv_heldout.h"
#include "gp/gp.h"

static const double D = sizeof(double), PROGRAM = 32e6, EACH_THREAD = 8e6;
static const double MOST_KEPT = 1e9; /* of z; of a panel of STGPR */
static const double RETAINED = 1.1;
static const double LONG_WORK = 1e11; /* from which the Gram matrix reads whole blocks at once */
static const double BATCH_BYTES = 1 << 26;
enum { BATCH_ROWS = 32, MAPS = 4 };
enum { HELD_OUT = 2000, SUBSAMPLE_MOST = 400 };
enum { DEVIANCE_TOP = 128, Z_BLOCK = 1 << 21, LEAST_Z_BLOCK = 64 };

/* The shape with what the stages share worked out. */
typedef struct sizes {
    const kn_need_shape *s;
    double N, T, P, f, W, H, S, share; /* share: (1 - H/N)^2 */
    double R, E, U, G, K;
    double z, top, parts, engine;
    kn_need all; /* what every stage has */
} sizes;

static double ladder_top(double N, double T)
{
    static const int LADDER[] = {1, 2, 3, 5, 8, 12, 18, 25, 35, 50, 70, 100, 140, 200, 280, 400};
    double P = 1, most = N > KN_MANY ? KN_RANGE_LADDER : LADDER[sizeof LADDER / sizeof *LADDER - 1];
    for (size_t i = 0; i < sizeof LADDER / sizeof *LADDER; i++)
        if (LADDER[i] <= (N - 1) / 2 && LADDER[i] <= T && LADDER[i] <= most)
            P = LADDER[i];
    return P;
}

double kn_need_total(const kn_need *n)
{
    return n->responses + n->samples + n->basis + n->reference + n->work + n->program;
}

static void consider(const sizes *z, const char *stage, kn_need here, kn_need *peak)
{
    here.responses += z->all.responses;
    here.work = RETAINED * (here.work + z->all.work);
    here.program += z->all.program;
    here.stage = stage;
    if (!peak->stage || kn_need_total(&here) > kn_need_total(peak))
        *peak = here;
}

static sizes sizes_of(const kn_need_shape *s)
{
    sizes z = {.s = s, .N = (double)s->N, .T = (double)s->T};
    double M = (double)s->M, sub = fmin(fmax(z.N / 3, 150), SUBSAMPLE_MOST);
    bool once = s->method && s->method->held_out_once && s->N > KN_MANY && s->folds > 0;
    bool dense_tasks = s->method && s->method->identity && s->rotated;
    z.f = once ? 1 : fmin(s->folds, z.N);
    z.H = once ? HELD_OUT : z.f > 1 ? ceil(z.N / z.f) : 0;
    z.S = once ? HELD_OUT : z.N;
    z.share = (1 - z.H / z.N) * (1 - z.H / z.N);
    z.W = fmin(z.T, KN_BLOCK);
    bool alone = s->method && s->method->alone, identity = s->method && s->method->identity;
    z.P = alone         ? 0
          : dense_tasks ? z.T
          : identity    ? fmin(z.N, z.T)
          : s->P > 0    ? (double)s->P
                        : ladder_top(z.N, z.T);
    z.R = D * z.N * M;
    z.E = s->M == s->N ? 6 * z.R : 2 * z.R + 6 * D * (M * M + sub * sub);
    z.U = s->M == s->N ? z.R : D * M * M;
    z.G = s->given_basis || alone || dense_tasks ? 0
          : s->range > 0                         ? D * z.N * (double)s->range
                                                 : D * z.N * z.N;
    double least = once ? z.S : z.N - z.H; /* training rows of a fold */
    for (z.K = DEVIANCE_TOP; z.K > 1 && (z.K >= 0.8 * z.S || z.K >= least || z.K > z.T);)
        z.K /= 2;
    z.z = 4 * z.S * z.T <= MOST_KEPT ? 4 * z.S * z.T : 0;
    z.top = 2 * D * z.S * fmax(1, s->top * z.T);
    z.parts = D * z.P * (z.f * (z.N - z.H) + 2 * z.S);
    z.engine = D * z.N * (4 * z.P + fmax(z.P, 128));
    if (s->iso)
        z.engine += 2 * D * z.N * z.P + 8 * D * z.P * z.P;
    z.all = (kn_need){.responses = s->value * z.N * z.T,
                      .work = s->held + D * (3 * z.N * (double)s->F + 12 * z.T),
                      .program = PROGRAM + EACH_THREAD * s->threads};
    return z;
}

/* Statistics of the cross-validated maps; `panel` is what STGPR holds of them, `pairs` with it. */
static void reference_stages(const sizes *z, double basis, double pairs, double panel,
                             kn_need *peak)
{
    double Q = D * z->T * z->K, b = fmin(z->T, fmax(LEAST_Z_BLOCK, Z_BLOCK / z->S));
    double maps = D * z->W * (2 * z->N + 2 * z->H + 2 * z->P);
    double U = z->P > 0 ? z->U : 0, S = z->S; /* STGPR keeps no eigenvectors */
    consider(z, "reference",
             (kn_need){.samples = U + pairs,
                       .basis = basis,
                       .reference = 2 * z->z + z->top,
                       .work = z->parts + panel + 3 * D * z->W * z->N + maps},
             peak);
    consider(z, "deviance",
             (kn_need){.samples = U + pairs + 4 * D * S * S,
                       .basis = basis,
                       .reference = 2 * z->z + 2.5 * Q,
                       .work = z->parts + panel + D * S * z->K * (z->f + 3) +
                               2 * D * z->f * z->K * z->K +
                               D * b * (3 * S + 4 * z->N + 2 * z->K + 2 * z->P)},
             peak);
    consider(z, "leave-one-out",
             (kn_need){.samples = pairs + (panel > 0 ? 2 * z->R + z->E : U + z->R),
                       .basis = basis,
                       .reference = z->z + 2 * Q + z->top,
                       .work = z->parts + 2 * panel + 5 * D * z->N * z->P +
                               D * z->W * (3 * z->N + 2 * z->P + (panel > 0 ? 3 * z->N : 0))},
             peak);
}

static void components_stages(const sizes *z, kn_need *peak)
{
    const kn_need_shape *s = z->s;
    double B = D * z->T * z->P, block = D * z->N * z->W;
    double basis = (s->given_basis || (s->iso && s->rotated) ? 2 : 1) * B;
    bool dense_tasks = s->method && s->method->identity && s->rotated;
    if (dense_tasks)
        basis = 8 * D * z->T * z->T;
    consider(z, "gram", (kn_need){.samples = 5 * z->G, .work = block}, peak);
    if (s->method->components && s->P == 0)
        consider(z, "components",
                 (kn_need){.samples = 2 * z->G + 2 * z->E,
                           .work = D * z->N * (10 * z->P + 5 * fmax(z->P, 128) + 100)},
                 peak);
    consider(z, "basis",
             (kn_need){.samples = 2 * z->G,
                       .basis = dense_tasks ? basis : 2 * B,
                       .work = block + D * (2 * z->N * z->P + 2 * z->P * z->P)},
             peak);
    consider(z, "search", (kn_need){.samples = 2 * z->G + z->E, .basis = basis, .work = z->engine},
             peak);
    if (z->H == 0)
        return;
    consider(z, "folds",
             (kn_need){.samples = 2 * z->G + z->U + z->share * fmax(3 * z->G, z->E),
                       .basis = basis,
                       .work = z->parts + z->engine + 2 * D * z->N * fmin(1024, z->H)},
             peak);
    consider(z, "noise",
             (kn_need){.samples = 2 * z->G + z->U,
                       .basis = basis,
                       .work = z->parts + D * z->W * (6 * z->N + 2 * z->H + 2 * z->P)},
             peak);
    reference_stages(z, B, 0, 0, peak);
}

static void cells_stages(const sizes *z, kn_need *peak)
{
    double alpha = D * z->N * z->T;
    double panel = fmin(2 * alpha, fmax(MOST_KEPT, 2 * D * z->N * z->W));
    consider(z, "search",
             (kn_need){.samples = 2 * z->R + z->E, /* plain has its pairs twice */
                       .basis = alpha,
                       .work = 1300 * z->T + 3 * D * z->N * z->W},
             peak);
    if (z->H == 0)
        return;
    consider(z, "folds",
             (kn_need){.samples = 2 * z->R + z->share * z->E + 4 * D * z->N * z->H,
                       .basis = alpha,
                       .reference = z->z + z->top,
                       .work = panel + D * z->W * (9 * z->N + 2 * z->H)},
             peak);
    reference_stages(z, alpha, 2 * z->R, panel, peak);
}

static void scoring_stage(const sizes *z, kn_need *peak)
{
    double rows = fmin(z->N, BATCH_ROWS), K = 2 * DEVIANCE_TOP; /* two deviances */
    double batch = fmax(BATCH_BYTES, rows * (4 * MAPS * z->T + MAPS * D * z->W));
    consider(z, "scoring",
             (kn_need){.basis = z->s->model,
                       .work = batch + 2 * D * fmin(z->N, 1024) * (double)z->s->train +
                               D * z->N * K + 12 * D * z->T},
             peak);
}

void kn_need_of(const kn_need_shape *shape, kn_need *out)
{
    sizes z = sizes_of(shape);
    *out = (kn_need){0};
    consider(&z, "reading", (kn_need){.work = shape->reading}, out);
    if (shape->scoring)
        scoring_stage(&z, out);
    else if (shape->method->alone)
        cells_stages(&z, out);
    else
        components_stages(&z, out);
}

double kn_need_window(const kn_need_shape *shape)
{
    enum { COLUMNS = 512 }; /* of the moments, the widest piece that one thread passes over */
    double N = (double)shape->N, T = (double)shape->T;
    double rows = fmax(BATCH_BYTES / (4 * MAPS * T), BATCH_ROWS);
    double columns =
        N * N * T > LONG_WORK ? fmax(shape->threads * COLUMNS, KN_BLOCK) : shape->threads * COLUMNS;
    double values = shape->scoring ? rows * T : columns * N;
    return shape->value * fmin(values, N * T);
}
