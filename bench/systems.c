#include <stdio.h>

#include "commands/memory/memory_plan.h"
#include "common.h"
#include "paper/systems.h"

enum { PAPER, TABLE, COHORT, PROBLEMS, SAID = 512 };

typedef struct problem {
    const char *name;
    bench_data d;
} problem;

/* MB that the fit declares, responses and program apart. */
static double need_mb(bench *b, const bench_data *d, const kn_settings *o)
{
    kn_command_memory w;
    kn_need need;
    BENCH_TRY(b, kn_memory_policy_fit(b->ctx, o, &w));
    w.shape.N = w.shape.M = d->Y.rows;
    w.shape.T = d->Y.cols;
    w.shape.F = 2 * d->X.cols; /* with squares */
    w.shape.value = d->Y.type == KN_F64 ? 8 : 4;
    w.shape.threads = kn_threads(b->ctx);
    kn_need_predict(&w.shape, &need);
    return 1e-6 * (kn_need_total(&need) - need.program - need.responses);
}

/* Settings of the system on these data, the covariates as they are. */
static kn_status settings_of(bench *b, int system, const bench_data *d, kn_options **lent,
                             kn_settings *o)
{
    kn_status status;
    kn_settings of_data;
    KN_TRY(kn_system_options(b->ctx, system, KN_VAR_DEFAULT, lent));
    KN_TRY(kn_settings_of(b->ctx, *lent, "fit", o));
    bench_settings(d, &of_data);
    o->design = of_data.design;
    o->components = kn_systems[system].components ? (b->quick ? 3 : 25) : 0;
    o->folds = 0;
out:
    return status;
}

/* The row of a system on a problem. False where the system refuses the data: said is why. */
static bool run(bench *b, int system, const problem *p, double unit, char said[SAID])
{
    kn_options *lent = NULL;
    kn_settings o;
    bench_job j;
    char P[16] = "-";
    kn_status status = settings_of(b, system, &p->d, &lent, &o);
    if (status == KN_OK)
        status = bench_attempt(b, &p->d, &o, &j);
    if (status == KN_OK && o.components > 0)
        snprintf(P, sizeof P, "%d", o.components);
    if (status == KN_OK)
        bench_row(b, "%s|%s|%td|%s|%.2f|%.0f|%d|%.2f|%.0f|%.0f|%.0f", kn_systems[system].title,
                  p->name, p->d.Y.cols, P, j.fit, j.fit / unit, j.info.evaluations,
                  j.latent + j.maps + j.z, j.held, need_mb(b, &p->d, &o), j.peak);
    else if (status == KN_ERR_ARGUMENT || status == KN_ERR_SHAPE || status == KN_ERR_DATA)
        snprintf(said, SAID, "%s", kn_message(b->ctx));
    else
        bench_check(b, status, kn_systems[system].name);
    kn_options_free(lent);
    return status == KN_OK;
}

/* Every system on the problem; those that refuse it on `instead`, which they must take, where there
 * is one. */
static void compare(bench *b, const problem *p, const problem *instead, double unit)
{
    char said[KN_N_METHODS][SAID] = {{0}}, unused[SAID];
    bench_table(b, "system           |data  |    T|   P|  fit s|units|eval|maps, z s|held MB|"
                   "need MB|peak MB");
    for (int k = 0; k < KN_N_METHODS; k++)
        if (!run(b, k, p, unit, said[k]) && instead && !run(b, k, instead, unit, unused))
            bench_check(b, KN_ERR_ARGUMENT, kn_systems[k].title);
    printf("\n");
    for (int k = 0; k < KN_N_METHODS; k++)
        if (said[k][0])
            printf("- %s refuses the data '%s': %s\n", kn_systems[k].title, p->name, said[k]);
}

int main(int argc, char **argv)
{
    bench b;
    bench_begin(
        &b, argc, argv, "systems",
        "What does each system cost on the same data? Default settings, P = 25 where it has "
        "components, no reference, one thread; z of 1440 new samples. First at the paper's size "
        "(N = 600, T = 5438, F = 100), then with 150 responses, as many as a table of regions has: "
        "MT-Kronsum needs fewer responses than samples, and at 500 it takes minutes. Convolved "
        "takes four covariates at most, and has a cohort with age and sex instead. In units of one "
        "dsyevd(600); held: most memory that the fit took at a time, need: what it declares "
        "beforehand.");
    ptrdiff_t N = bench_size(&b, 600, 30), F = bench_size(&b, 100, 5), T = bench_size(&b, 5438, 60),
              few = bench_size(&b, 150, 12), Ns = bench_size(&b, 1440, 20);
    problem problems[PROBLEMS] = {
        [PAPER] = {.name = "paper"}, [TABLE] = {.name = "table"}, [COHORT] = {.name = "cohort"}};
    bench_paper(&b, N, T, F, Ns, &problems[PAPER].d);
    bench_paper(&b, N, few, F, Ns, &problems[TABLE].d);
    bench_cohort(&b, N, few, 0, Ns, &problems[COHORT].d);
    bench_threads(&b, 1);
    double unit = bench_unit(&b, N);
    printf("\nOne dsyevd(%td) took %.1f ms.\n", N, 1e3 * unit);
    compare(&b, &problems[PAPER], NULL, unit);
    compare(&b, &problems[TABLE], &problems[COHORT], unit);
    for (int k = 0; k < PROBLEMS; k++)
        bench_free(&problems[k].d);
    return bench_end(&b);
}
