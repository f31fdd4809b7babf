#include <stdio.h>

#include "common.h"
#include "study/systems.h"
#include "work/room.h"

enum { PROBLEMS = 3, SAID = 512 };

typedef struct problem { /* from the paper's on, as far as a system needs: the first it takes */
    const char *name;
    bench_data d;
} problem;

/* MB that the fit declares, responses and program apart. */
static double need_mb(bench *b, const bench_data *d, const kn_settings *o)
{
    kn_work_room w;
    kn_need need;
    BENCH_TRY(b, kn_room_to_fit(b->ctx, o, &w));
    w.shape.N = w.shape.M = d->Y.rows;
    w.shape.T = d->Y.cols;
    w.shape.F = 2 * d->X.cols; /* with squares */
    w.shape.value = d->Y.type == KN_F64 ? 8 : 4;
    w.shape.threads = kn_threads(b->ctx);
    kn_need_of(&w.shape, &need);
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

/* The row of the first problem that the system takes. said: why it did not take the paper's, "": it
 * did. */
static void row(bench *b, int system, const problem *problems, double unit, char said[SAID])
{
    said[0] = '\0';
    for (int k = 0; k < PROBLEMS; k++) {
        const bench_data *d = &problems[k].d;
        kn_options *lent = NULL;
        kn_settings o;
        bench_job j;
        char P[16] = "-";
        kn_status status = settings_of(b, system, d, &lent, &o);
        if (status == KN_OK)
            status = bench_attempt(b, d, &o, &j);
        if (status == KN_OK && o.components > 0)
            snprintf(P, sizeof P, "%d", o.components);
        if (status == KN_OK)
            bench_row(b, "%s|%s|%td|%s|%.2f|%.0f|%d|%.2f|%.0f|%.0f|%.0f", kn_systems[system].title,
                      problems[k].name, d->Y.cols, P, j.fit, j.fit / unit, j.info.evaluations,
                      j.latent + j.maps + j.z, j.held, need_mb(b, d, &o), j.peak);
        else if (status != KN_ERR_ARGUMENT && status != KN_ERR_SHAPE && status != KN_ERR_DATA)
            bench_check(b, status, kn_systems[system].name);
        else if (k == 0)
            snprintf(said, SAID, "%s", kn_message(b->ctx));
        kn_options_free(lent);
        if (status == KN_OK)
            return;
    }
    bench_row(b, "%s|none|n/a|n/a|n/a|n/a|n/a|n/a|n/a|n/a|n/a", kn_systems[system].title);
}

int main(int argc, char **argv)
{
    bench b;
    char said[KN_N_METHODS][SAID];
    bench_begin(
        &b, argc, argv, "systems",
        "What does each system cost on the same data? Default settings, P = 25 where it has "
        "components, no reference, one thread, at the paper's size (N = 600, T = 5438, F = 100; "
        "z of 1440 new samples) or, where a system does not take that, at the first it takes of "
        "500 responses, and of a cohort with age and sex. In units of one dsyevd(600); held: most "
        "memory that the fit took at a time, need: what it declares beforehand.");
    ptrdiff_t N = bench_size(&b, 600, 30), F = bench_size(&b, 100, 5), T = bench_size(&b, 5438, 60),
              few = bench_size(&b, 500, 12), Ns = bench_size(&b, 1440, 20);
    problem problems[PROBLEMS] = {{.name = "paper"}, {.name = "500"}, {.name = "cohort"}};
    bench_paper(&b, N, T, F, Ns, &problems[0].d);
    bench_paper(&b, N, few, F, Ns, &problems[1].d);
    bench_cohort(&b, N, T, 0, Ns, &problems[2].d);
    bench_threads(&b, 1);
    double unit = bench_unit(&b, N);
    printf("\nOne dsyevd(%td) took %.1f ms.\n", N, 1e3 * unit);
    bench_table(&b,
                "system           |data  |    T|   P|  fit s|units|eval|maps, z s|held MB|need MB|"
                "peak MB");
    for (int k = 0; k < KN_N_METHODS; k++)
        row(&b, k, problems, unit, said[k]);
    printf("\n");
    for (int k = 0; k < KN_N_METHODS; k++)
        if (said[k][0])
            printf("- %s, of the paper's data: %s\n", kn_systems[k].title, said[k]);
    for (int k = 0; k < PROBLEMS; k++)
        bench_free(&problems[k].d);
    return bench_end(&b);
}
