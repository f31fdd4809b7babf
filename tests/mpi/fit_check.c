/* Fits of several processes, for tests/mpi/fit.sh and search.sh.
 *
 *     fit_check data N T KIND NAME          NAME.csv, NAME.npy: participants and responses. KIND:
 * whole; cut: some of those at the cuts of blocks are constant or no numbers; gaps: cells are
 * missing, and one participant has none; columns: whole, column by column mpirun fit_check memory
 * RANK FIRST PART [option=value ...] the k-th allocation of a fit fails on a rank, for k from FIRST
 * in steps of 1 + k/PART to its end: all ranks fail alike, and none hangs. Of arrays, or of files
 *
 *     mpirun fit_check unlike               fits of ranks whose numbers differ in the last bits:
 * all come to the first one's parameters
 *
 * Exit code 0, or 1 with a line on stderr for each promise that was broken. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mpi/load_plugin.h"
#include "base/random.h"
#include "commands/fit/fit.h"

enum { FACTORS = 4, SITES = 3 };

typedef struct participant {
    double age, factor[FACTORS];
    int site;
} participant;

static participant draw_participant(int i)
{
    participant p;
    kn_rng rng;
    kn_rng_init(&rng, 5, (uint64_t)i);
    p.age = 20 + 60 * kn_rng_uniform(&rng);
    p.site = i % SITES;
    for (int k = 0; k < FACTORS; k++)
        p.factor[k] = kn_rng_normal(&rng);
    p.factor[0] += p.age / 20;
    return p;
}

/* Responses share factors and have a site's offset; noise grows with age. */
static float draw_value(const participant *p, int i, int j)
{
    kn_rng rng;
    kn_rng_init(&rng, 6, (uint64_t)j);
    double y = 0;
    for (int k = 0; k < FACTORS; k++)
        y += kn_rng_normal(&rng) * p->factor[k] / 2;
    for (int s = 0; s <= p->site; s++)
        y += 0.3 * kn_rng_normal(&rng);
    kn_rng_init(&rng, 7 + (uint64_t)i, (uint64_t)j);
    return (float)(y + (0.5 + p->age / 100) * kn_rng_normal(&rng));
}

/* First, last and next to it in a block. */
static bool at_cut(int j)
{
    int in_block = j % 2048;
    return in_block < 2 || in_block > 2045;
}

typedef enum kind { WHOLE, CUT, GAPS, COLUMNS, KINDS } kind;
static const char *const KIND[KINDS] = {"whole", "cut", "gaps", "columns"};

static bool is_gap(int i, int j)
{
    return i == 7 || (i * 31 + j * 17) % 211 == 0;
}

static float *draw(int N, int T, kind of)
{
    float *y = malloc(sizeof *y * (size_t)N * (size_t)T);
    for (int i = 0; y && i < N; i++) {
        participant p = draw_participant(i);
        for (int j = 0; j < T; j++) {
            float value = draw_value(&p, i, j);
            if (of == CUT && at_cut(j))
                value = j % 2 ? 3 : NAN;
            if (of == GAPS && is_gap(i, j))
                value = NAN;
            y[of == COLUMNS ? (ptrdiff_t)j * N + i : (ptrdiff_t)i * T + j] = value;
        }
    }
    return y;
}

static int write_data(int N, int T, kind of, const char *name)
{
    char path[4096], header[256];
    float *y = draw(N, T, of);
    snprintf(path, sizeof path, "%s.csv", name);
    FILE *f = fopen(path, "w");
    if (!f || !y)
        return 1;
    fprintf(f, "age,site\n");
    for (int i = 0; i < N; i++) {
        participant p = draw_participant(i);
        fprintf(f, "%.17g,s%d\n", p.age, p.site);
    }
    fclose(f);
    snprintf(path, sizeof path, "%s.npy", name);
    f = fopen(path, "wb");
    if (!f)
        return 1;
    enum { HEADER = 118 };
    snprintf(header, sizeof header, "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }",
             N, T);
    fprintf(f, "\x93NUMPY%c%c%c%c%-*s\n", 1, 0, HEADER, 0, HEADER - 1, header);
    fwrite(y, sizeof *y, (size_t)N * (size_t)T, f);
    free(y);
    return fclose(f) != 0;
}

/* One fit, of anything; its model. */
typedef struct whole {
    kn_ctx *ctx;
    kn_status (*fit)(struct whole *self, kn_model **out);
    kn_options *options; /* of files */
    kn_view X, Y;        /* or of arrays */
    const kn_settings *s;
} whole;

static kn_status fit_files(whole *self, kn_model **out)
{
    kn_data *data = NULL;
    kn_status status = kn_data_read(self->ctx, self->options, &data);
    if (status == KN_OK)
        status = kn_fit(self->ctx, data, self->options, out);
    kn_data_free(data);
    return status;
}

static kn_status fit_arrays(whole *self, kn_model **out)
{
    return kn_fit_arrays(self->ctx, self->X, self->Y, self->s, out);
}

/* The k-th allocation fails on rank `which`, for k from `first` in steps of 1 + k / part, to the
 * end of the fit. */
typedef struct steps {
    int which;
    long first, part;
} steps;

static int fail_everywhere(whole *w, int rank, steps at)
{
    int wrong = 0, fits = 0;
    for (long k = at.first;; k += 1 + k / at.part, fits++) {
        kn_model *m = NULL;
        if (rank == at.which)
            kn_fail_allocation(w->ctx, k);
        kn_status status = kn_comm_agree_status(w->ctx, w->fit(w, &m));
        kn_fail_allocation(w->ctx, 0);
        double same[2] = {status, -(double)status};
        kn_comm_clear_error(w->ctx);
        if (kn_comm_max(w->ctx, same, 2) != KN_OK || same[0] != -same[1] ||
            (status != KN_OK && status != KN_ERR_MEMORY) || (status == KN_OK) != (m != NULL)) {
            fprintf(stderr, "rank %d: allocation %ld: status %d (%s)\n", rank, k, status,
                    kn_message(w->ctx));
            wrong++;
        }
        kn_model_free(m);
        if (status == KN_OK)
            break;
    }
    if (fits < 12) {
        fprintf(stderr, "rank %d: only %d allocations failed\n", rank, fits);
        wrong++;
    }
    return wrong;
}

static int memory_of_arrays(kn_ctx *ctx, int rank, steps at)
{
    enum { N = 24, T = 2100 };
    float *y = draw(N, T, CUT);
    double x[N];
    kn_settings s;
    for (int i = 0; i < N; i++)
        x[i] = draw_participant(i).age;
    kn_settings_init(&s);
    s.components = 2;
    whole w = {ctx, fit_arrays, NULL, kn_view_cols(x, N, 1), {y, KN_F32, N, T, T, 1}, &s};
    int wrong = fail_everywhere(&w, rank, at);
    free(y);
    return wrong;
}

static int memory_of_files(kn_ctx *ctx, int rank, steps at, char **option)
{
    whole w = {.ctx = ctx, .fit = fit_files};
    int wrong = kn_options_new(ctx, "fit", &w.options) != KN_OK;
    for (; *option && wrong == 0; option++) {
        char *value = strchr(*option, '=');
        if (value)
            *value++ = '\0';
        wrong = !value || kn_options_set(ctx, w.options, *option, value) != KN_OK;
    }
    if (wrong)
        fprintf(stderr, "%s\n", kn_message(ctx));
    else
        wrong = fail_everywhere(&w, rank, at);
    kn_options_free(w.options);
    return wrong;
}

typedef struct outcome {
    double status, components, evaluations, stop, lml, rank, kept[KN_CALIBRATION_COMPONENTS];
    double theta[KN_MAX_THETA], c[8], d[8];
} outcome;

static outcome outcome_of(kn_status status, const kn_model *m)
{
    outcome o = {.status = status};
    if (!m)
        return o;
    o.components = (double)m->info.n_components;
    o.evaluations = m->info.evaluations;
    o.stop = m->info.stop;
    o.lml = m->info.lml;
    o.rank = (double)m->info.rank;
    for (int k = 0; k < KN_CALIBRATION_COMPONENTS; k++)
        o.kept[k] = m->calibration.component[k].kept;
    memcpy(o.theta, m->info.theta, sizeof o.theta);
    for (int p = 0; p < 8 && p < m->gp.P && m->info.n_theta == 0; p++) {
        o.c[p] = m->gp.latent.c[p];
        o.d[p] = m->gp.latent.d[p];
    }
    return o;
}

/* The status of rank 0, broadcast. */
static int compare(kn_ctx *ctx, int rank, const char *what, outcome mine)
{
    outcome first = mine;
    kn_comm_clear_error(ctx);
    if (kn_comm_broadcast(ctx, &first, sizeof first, 0) == KN_OK && first.status == KN_OK &&
        memcmp(&first, &mine, sizeof mine) == 0)
        return 0;
    fprintf(stderr, "rank %d, %s: status %g, %g components, %g evaluations, lml %.17g (%s)\n", rank,
            what, mine.status, mine.components, mine.evaluations, mine.lml, kn_message(ctx));
    return 1;
}

static int unlike(kn_ctx *ctx, int rank)
{
    enum { N = 160, T = 2100, WAYS = 4 };
    static const char *const WAY[WAYS] = {"components chosen", "iso noise", "low rank", "joint"};
    float *y = draw(N, T, WHOLE);
    double x[N];
    int wrong = 0;
    for (int i = 0; i < N; i++)
        x[i] = draw_participant(i).age;
    kn_set_threads(ctx, 1);
    for (int way = 0; way < WAYS; way++) {
        kn_settings s;
        kn_model *m = NULL;
        kn_view X = kn_view_cols(x, N, 1), Y = {y, KN_F32, N, T, T, 1};
        kn_settings_init(&s);
        s.folds = 3;
        s.components = way == 0 ? 0 : 3;
        s.rank = way == 2 ? 40 : s.rank;
        if (way == 1 || way == 3)
            s.noise = KN_NOISE_ISO;
        if (way == 3)
            s.optimiser = KN_LBFGS;
        kn_status status = kn_comm_agree_status(ctx, kn_fit_arrays(ctx, X, Y, &s, &m));
        wrong += compare(ctx, rank, WAY[way], outcome_of(status, m));
        kn_model_free(m);
    }
    free(y);
    return wrong;
}

int main(int argc, char **argv)
{
    static kn_comm comm;
    const char *path = getenv("KRONORM_COMM");
    for (int k = 0; k < KINDS && argc == 6 && strcmp(argv[1], "data") == 0; k++)
        if (strcmp(argv[4], KIND[k]) == 0)
            return write_data(atoi(argv[2]), atoi(argv[3]), (kind)k, argv[5]);
    kn_ctx *ctx = kn_ctx_new();
    if (!ctx || !path || kn_comm_load(ctx, path, &comm) != KN_OK ||
        kn_comm_join(ctx, &comm) != KN_OK) {
        fprintf(stderr, "%s\n", ctx && path ? kn_message(ctx) : "KRONORM_COMM is needed");
        return 1;
    }
    double wrong = argc == 2 && strcmp(argv[1], "unlike") == 0 ? unlike(ctx, comm.rank) : 1;
    kn_set_threads(ctx, 1);
    if (argc >= 5 && strcmp(argv[1], "memory") == 0) {
        steps at = {atoi(argv[2]), atol(argv[3]), atol(argv[4])};
        wrong = argc == 5 ? memory_of_arrays(ctx, comm.rank, at)
                          : memory_of_files(ctx, comm.rank, at, argv + 5);
    }
    if (kn_comm_max(ctx, &wrong, 1) != KN_OK)
        wrong = 1;
    comm.end(&comm);
    kn_ctx_free(ctx);
    return wrong > 0;
}
