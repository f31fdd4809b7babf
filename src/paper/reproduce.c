/* Implements reproduce.h: every method, variant and number of components on the same splits,
 * with results on disk after each run [METHOD 9]. An interrupted run continues where it ended. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory/alloc.h"
#include "base/options/options.h"
#include "io/file/atomic_writer.h"
#include "io/file/byte_source.h"
#include "io/table/sidecar.h"
#include "paper/internal.h"
#include "paper/reproduce.h"

typedef struct plan {
    int components[KN_NUMBERS_MAX], n_components, repeats;
    unsigned methods, variants, splits; /* bit k: the k-th is selected */
    ptrdiff_t n, capacity;
    kn_run *run;
} plan;

/* Returns the methods, variants, splits and component counts that the options ask for, without
 * runs. */
static plan plan_of(const kn_settings *s)
{
    double P[KN_NUMBERS_MAX];
    plan p = {.n_components = kn_list_numbers(s->component_counts, P),
              .repeats = s->repeats,
              .splits = (unsigned)s->split_by + 1}; /* scan 1, pattern 2, both 3 */
    for (int i = 0; i < p.n_components; i++)
        p.components[i] = (int)P[i];
    kn_list_bits(s->methods, KN_SYSTEM_WORDS, &p.methods);
    kn_list_bits(s->variants, KN_VARIANT_WORDS, &p.variants);
    return p;
}

/* ---- plan of the runs ---- */

/* Returns how many voxels are finite and vary over the random patterns: only these can be modelled.
 */
static ptrdiff_t count_varying(const kn_visual *v)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t j = 0; j < v->Y.cols; j++) {
        const double *y = kn_col(v->Y, j);
        bool finite = true, varies = false;
        for (ptrdiff_t i = 0; i < v->n_random; i++) {
            finite = finite && isfinite(y[i]);
            varies = varies || y[i] != y[0];
        }
        n += finite && varies;
    }
    return n;
}

/* Returns the largest number of components that a run supports with N training scans and T voxels:
 * min(N - 1, T); the exact iso likelihood and whitened noise need a complement unless the basis is
 * all of T [METHOD 2, 1f]. */
static ptrdiff_t max_components(ptrdiff_t N, ptrdiff_t T, const kn_run *run)
{
    if (T <= N - 1)
        return T;
    return run->variant == KN_VAR_ISO_EXACT || kn_systems[run->method].outside ? N - 2 : N - 1;
}

/* Appends a run to the plan, which grows as needed. Fails only without memory. */
static kn_status add_run(kn_ctx *ctx, plan *p, kn_run run)
{
    void *memory = p->run;
    kn_status status = kn_grow(ctx, p->n + 1, sizeof *p->run, &memory, &p->capacity);
    p->run = memory;
    if (status == KN_OK)
        p->run[p->n++] = run;
    return status;
}

/* Appends the given run once for each requested number of components; numbers above `limit` become
 * one run with `limit`, and the first repeat logs this. */
static kn_status add_variant(kn_ctx *ctx, plan *p, kn_run run, ptrdiff_t limit)
{
    kn_status status = KN_OK;
    bool had_max = false, tell = run.repeat == 1;
    for (int i = 0; i < p->n_components; i++) {
        bool again = false;
        for (int k = 0; k < i; k++)
            again = again || p->components[k] == p->components[i];
        had_max = had_max || p->components[i] == limit;
        run.components = p->components[i];
        if (!again && run.components <= limit)
            KN_TRY(add_run(ctx, p, run));
    }
    for (int i = 0; i < p->n_components; i++) {
        if (p->components[i] <= limit)
            continue;
        if (tell)
            kn_log(ctx, KN_LOG_INFO,
                   "%s %s, split by %s: %d components requested, but at most %td are possible",
                   kn_systems[run.method].name, kn_variants[run.variant].name,
                   kn_split_name[run.split], p->components[i], limit);
        run.components = limit;
        if (!had_max)
            KN_TRY(add_run(ctx, p, run));
        had_max = true;
    }
out:
    return status;
}

/* Appends the runs of method run.method in all its requested variants, on a split with N training
 * scans and T voxels. */
static kn_status add_system(kn_ctx *ctx, plan *p, kn_run run, ptrdiff_t N, ptrdiff_t T)
{
    kn_status status = KN_OK;
    const kn_system *system = &kn_systems[run.method];
    unsigned variants = system->variants ? p->variants : 1u << KN_VAR_DEFAULT;
    for (int k = 0; k < KN_N_VARIANTS; k++) {
        if (!(variants & (1u << k)) || (k == KN_VAR_KNOWN && run.split == KN_BY_PATTERN))
            continue; /* split by pattern, no test scan has a training pattern */
        run.variant = k;
        KN_TRY(system->components ? add_variant(ctx, p, run, max_components(N, T, &run))
                                  : add_run(ctx, p, run));
    }
out:
    return status;
}

/* Lists all runs in p->run, in the order repeat, split, method, so that runs of one split are
 * adjacent. */
static kn_status make_plan(kn_ctx *ctx, const kn_visual *v, uint64_t seed, plan *p)
{
    kn_status status = KN_OK;
    kn_split split = {0};
    ptrdiff_t T = count_varying(v);
    for (int repeat = 1; repeat <= p->repeats; repeat++)
        for (int s = 0; s < KN_N_SPLITS; s++) {
            if (!(p->splits & (1u << s)))
                continue;
            KN_TRY(kn_split_new(ctx, v, (kn_split_by)s, seed, repeat, &split));
            ptrdiff_t N = split.n_train;
            kn_split_clear(&split);
            for (int m = 0; m < KN_N_METHODS; m++)
                if (p->methods & (1u << m))
                    KN_TRY(add_system(ctx, p, (kn_run){.method = m, .split = s, .repeat = repeat},
                                      N, T));
        }
out:
    return status;
}

/* ---- running ---- */

/* Writes the name of a run for progress and messages: method, variant, components, split, repeat.
 */
static void name_run(const kn_run *u, char *out, size_t size)
{
    char components[48] = "";
    if (u->components > 0)
        snprintf(components, sizeof components, ", %td components", u->components);
    snprintf(out, size, "%s %s%s, split by %s, repeat %d", kn_systems[u->method].name,
             kn_variants[u->variant].name, components, kn_split_name[u->split], u->repeat);
}

/* Returns whether another run of the same method was refused for the same reason, so that the
 * warning is logged once. */
static bool is_reported(const kn_results *results, const kn_result *r)
{
    for (ptrdiff_t i = 0; i < results->n; i++)
        if (results->row[i].run.method == r->run.method &&
            strcmp(results->row[i].refused, r->refused) == 0)
            return true;
    return false;
}

/* Executes the run r->run with its log suppressed, and logs its main results, or a warning if it
 * was refused. The message of an error names the run. */
static kn_status run_one(kn_ctx *ctx, const kn_halves *h, const kn_results *results, kn_result *r)
{
    char name[128], why[512];
    name_run(&r->run, name, sizeof name);
    bool was = kn_ctx_set_quiet(ctx, true);
    kn_status status = kn_reproduce_run(ctx, h, results->seed, r);
    kn_ctx_set_quiet(ctx, was);
    if (status == KN_OK && !r->refused[0])
        kn_log(ctx, KN_LOG_INFO, "%s: R2 %.4f, AUC %.3f top, %.3f deviance, fit in %.2f s", name,
               r->value[KN_Q_R2], r->value[KN_Q_AUC_EXTREME_Z], r->value[KN_Q_AUC_DEVIANCE],
               r->value[KN_Q_SECONDS_FIT]);
    else if (status == KN_OK && !is_reported(results, r))
        kn_log(ctx, KN_LOG_WARNING, "%s is left out: %s", name, r->refused);
    else if (status != KN_OK && status != KN_ERR_CANCELLED) {
        snprintf(why, sizeof why, "%s", kn_message(ctx));
        kn_fail(ctx, status, "%s: %s", name, why);
    }
    return status;
}

/* Executes the runs of the plan that are not in the results yet, and writes the results to dir
 * after each. Counts resumed and refused runs in `result`. Can be cancelled. */
static kn_status run_all(kn_ctx *ctx, const kn_visual *v, const plan *p, const char *dir,
                         kn_results *results, kn_reproduced *result)
{
    kn_status status = KN_OK;
    kn_split split = {0};
    kn_halves halves = {0};
    const kn_run *before = NULL; /* run whose split is loaded */
    result->n_runs = p->n;
    for (ptrdiff_t i = 0; i < p->n; i++)
        result->n_resumed += kn_results_find(results, &p->run[i]) != NULL;
    ptrdiff_t done = 0, total = p->n - result->n_resumed;
    if (result->n_resumed > 0)
        kn_log(ctx, KN_LOG_INFO, "%td of %td runs are in %s/results.tsv already", result->n_resumed,
               p->n, dir);
    for (ptrdiff_t i = 0; i < p->n; i++) {
        const kn_run *u = &p->run[i];
        kn_result row = {.run = *u};
        if (kn_results_find(results, u))
            continue;
        if (!before || before->repeat != u->repeat || before->split != u->split) {
            kn_halves_clear(&halves);
            kn_split_clear(&split);
            KN_TRY(kn_split_new(ctx, v, (kn_split_by)u->split, results->seed, u->repeat, &split));
            KN_TRY(kn_halves_new(ctx, v, &split, &halves));
            before = u;
        }
        KN_TRY(kn_check_cancel(ctx));
        kn_report_progress(ctx, "runs", done, total, NAN);
        KN_TRY(run_one(ctx, &halves, results, &row));
        KN_TRY(kn_results_add(ctx, results, &row));
        KN_TRY(kn_results_write(ctx, results, dir));
        kn_report_progress(ctx, "runs", ++done, total, NAN);
    }
    for (ptrdiff_t i = 0; i < p->n; i++)
        result->n_refused += kn_results_find(results, &p->run[i])->refused[0] != '\0';
out:
    kn_halves_clear(&halves);
    kn_split_clear(&split);
    return status;
}

/* Creates the folder of results and sets `figure` (KN_RESULTS_PATH bytes) to the path of the
 * figure. Without a results.tsv to resume, other files of the same names are refused unless {force}
 * is given. */
static kn_status check_output(kn_ctx *ctx, const kn_settings *s, char *figure)
{
    const kn_write_options options = {.force = s->force};
    char table[KN_RESULTS_PATH], summary[KN_RESULTS_PATH];
    kn_status status;
    KN_TRY(kn_results_path(ctx, s->results, "results.tsv", table));
    KN_TRY(kn_results_path(ctx, s->results, "summary.json", summary));
    KN_TRY(kn_results_path(ctx, s->results, "figure.svg", figure));
    if (mkdir(s->results, 0777) != 0 && errno != EEXIST)
        return kn_fail_errno(ctx, s->results, "cannot be created", errno);
    if (access(table, F_OK) != 0) {
        KN_TRY(kn_writer_check(ctx, summary, &options));
        KN_TRY(kn_writer_check(ctx, figure, &options));
        KN_TRY(kn_sidecar_check(ctx, table, &options));
    }
out:
    return status;
}

kn_status kn_reproduce(kn_ctx *ctx, const kn_options *options, kn_reproduced *result)
{
    kn_status status;
    kn_settings s;
    plan p = {0};
    kn_visual v = {0};
    kn_results results = {0};
    char figure[KN_RESULTS_PATH];
    *result = (kn_reproduced){0};
    KN_TRY(kn_settings_of(ctx, options, "reproduce", &s));
    p = plan_of(&s);
    KN_TRY(kn_visual_read(ctx, s.data, &v));
    kn_log(ctx, KN_LOG_INFO,
           "%td + %td runs: %td scans of random patterns, %td of figures; %td pixels, %td voxels",
           v.runs[0], v.runs[1], v.n_random, v.n - v.n_random, v.X.cols, v.Y.cols);
    KN_TRY(make_plan(ctx, &v, s.seed, &p));
    KN_TRY(check_output(ctx, &s, figure));
    results = (kn_results){.seed = s.seed,
                           .fingerprint = v.fingerprint,
                           .random_scans = v.n_random,
                           .figure_scans = v.n - v.n_random,
                           .pixels = v.X.cols,
                           .voxels = v.Y.cols};
    if (!s.force)
        KN_TRY(kn_results_resume(ctx, s.results, &results));
    KN_TRY(run_all(ctx, &v, &p, s.results, &results, result));
    KN_TRY(kn_results_write(ctx, &results, s.results));
    KN_TRY(kn_paper_figure_write(ctx, &results, figure));
out:
    kn_free(p.run);
    kn_results_clear(&results);
    kn_visual_clear(&v);
    return status;
}
