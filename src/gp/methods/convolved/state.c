/* State of a convolved model other than X and B, and its arrays in the model file [METHOD 1i].
 * Reading checks every index and shape. */
#include "gp/methods/convolved/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

kn_status kn_convolved_allocate(kn_ctx *ctx, kn_gp *gp)
{
    return kn_alloc(ctx, 1, sizeof(kn_convolved), &gp->own);
}

void kn_convolved_clear(kn_gp *gp)
{
    kn_convolved *own = gp->own;
    kn_conv_spec_clear(&own->spec);
    kn_conv_model_clear(&own->model);
    kn_free(own);
    gp->own = NULL;
}

kn_status kn_convolved_latent(kn_ctx *ctx, kn_gp *gp)
{
    kn_status status;
    const kn_conv_model *m = &((const kn_convolved *)gp->own)->model;
    kn_latent *l = &gp->latent;
    l->P = gp->P;
    KN_TRY(kn_alloc_d(ctx, gp->P, &l->c));
    KN_TRY(kn_alloc_d(ctx, gp->P, &l->d));
    for (ptrdiff_t p = 0; p < gp->P; p++) {
        l->c[p] = kn_conv_variance(&m->c, p);
        l->d[p] = m->d[p];
    }
out:
    return status;
}

/* Array "plan": form, widths, Q, M, evaluations, restarts, jitter. */
enum { PLAN = KN_CONV_NUMBERS };

/* Writes the options of the fit as the array "plan" of the model file, or reads and checks them
 * (a->bad). */
static kn_status visit_plan(kn_convolved *own, kn_arrays *a)
{
    kn_status status;
    kn_conv_plan *plan = &own->spec.plan;
    double *jitter = &own->model.c.jitter, *data = NULL;
    const double numbers[PLAN] = {plan->how,   plan->widths,   (double)plan->Q, (double)plan->M,
                                  plan->evals, plan->restarts, *jitter};
    if (!a->reading) {
        memcpy(own->numbers, numbers, sizeof numbers);
        data = own->numbers;
    }
    KN_TRY(a->doubles(a, "plan", PLAN, KN_ANY, &data));
    if (!a->reading)
        return KN_OK;
    for (int i = 0; i < PLAN - 1; i++)
        if (!(data[i] >= -1 && data[i] <= 1e9) || data[i] != floor(data[i]))
            status = a->bad(a, "plan");
    if (status == KN_OK &&
        (data[0] < 0 || data[0] > KN_INDUCING_NONE || data[1] < 0 || data[1] > KN_WIDTHS_SHARED ||
         data[2] < 1 || data[3] < 1 || data[5] < 0 || !(data[6] >= 0 && data[6] < 1)))
        status = a->bad(a, "plan");
    if (status == KN_OK) {
        *plan = (kn_conv_plan){(kn_inducing)data[0], (kn_widths)data[1], (ptrdiff_t)data[2],
                               (ptrdiff_t)data[3],   (int)data[4],       (int)data[5]};
        *jitter = data[6];
    }
    kn_free(data);
out:
    return status;
}

/* Returns true if all n indices are at least `lowest` and less than `below`. */
static bool are_indices_within(const ptrdiff_t *index, ptrdiff_t n, ptrdiff_t lowest,
                               ptrdiff_t below)
{
    for (ptrdiff_t i = 0; i < n; i++)
        if (index[i] < lowest || index[i] >= below)
            return false;
    return true;
}

/* Writes to the model file, or reads and checks, which columns of the design have fixed effects
 * and which are smoothed over. */
static kn_status visit_columns(kn_gp *gp, kn_conv_spec *s, kn_arrays *a)
{
    kn_status status;
    ptrdiff_t blocks = s->columns.n;
    KN_TRY(a->indices(a, "smooth", &s->n_smooth, &s->smooth));
    KN_TRY(a->indices(a, "fixed", &s->columns.n, &s->columns.column));
    KN_TRY(a->indices(a, "fixed_block", &blocks, &s->columns.block));
    if (s->n_smooth < 1 || !are_indices_within(s->smooth, s->n_smooth, 0, gp->F))
        return a->bad(a, "smooth");
    if (!are_indices_within(s->columns.column, s->columns.n, 0, gp->F))
        return a->bad(a, "fixed");
    if (blocks != s->columns.n || !are_indices_within(s->columns.block, blocks, -1, gp->F))
        return a->bad(a, "fixed_block");
out:
    return status;
}

/* Visits the arrays of the fixed effects *f in the model file: writes them, or reads them with
 * the sizes of s. */
static kn_status visit_fixed_effects(kn_gp *gp, const kn_conv_spec *s, kn_fixed *f, kn_arrays *a)
{
    kn_status status;
    ptrdiff_t n = s->columns.n;
    f->N = gp->N;
    KN_TRY(a->mat(a, "fixed_mean", n, 1, &f->mean));
    KN_TRY(a->mat(a, "fixed_weights", n, n, &f->W));
    KN_TRY(a->mat(a, "fixed_effects", n, gp->P, &f->beta));
    KN_TRY(a->mat(a, "fixed_spread", n, gp->P, &f->spread));
    KN_TRY(a->mat(a, "fixed_level", 1, gp->P, &f->level));
out:
    return status;
}

/* Visits parameters and posterior of the processes in the model file: writes them, or reads and
 * checks them (a->bad). */
static kn_status visit_processes(kn_gp *gp, const kn_conv_plan *plan, kn_conv_model *m,
                                 kn_arrays *a)
{
    kn_status status;
    kn_conv *c = &m->c;
    kn_conv_posterior *p = &m->posterior;
    ptrdiff_t P = gp->P, Q = plan->Q, F = ((kn_convolved *)gp->own)->spec.n_smooth;
    KN_TRY(a->mat(a, "inducing", a->reading ? -1 : m->Z.rows, F, &m->Z));
    if (m->Z.rows < 1)
        return a->bad(a, "inducing");
    *c = (kn_conv){P, Q, m->Z.rows, F, c->S, c->tau, c->nu, c->s2, c->jitter};
    KN_TRY(a->mat(a, "S", P, Q, &c->S));
    KN_TRY(a->mat(a, "tau", P, Q, &c->tau));
    KN_TRY(a->doubles(a, "nu", Q, KN_POSITIVE, &c->nu));
    KN_TRY(a->doubles(a, "s2", P, KN_POSITIVE, &c->s2));
    KN_TRY(a->doubles(a, "d", P, KN_POSITIVE, &m->d));
    for (ptrdiff_t i = 0; i < P * Q; i++)
        if (!(c->tau.data[i] > 0))
            return a->bad(a, "tau");
    ptrdiff_t all = kn_conv_m(c);
    if (plan->how != KN_INDUCING_NONE) {
        KN_TRY(a->mat(a, "weights", all, 1, &p->a));
        KN_TRY(a->mat(a, "E", all, all, &p->E));
    }
    if (plan->how != KN_INDUCING_VARIATIONAL)
        KN_TRY(a->mat(a, "alpha", gp->N, P, &p->alpha));
out:
    return status;
}

/* Returns true if the tasks are the responses themselves: gp->B is the identity, as with
 * {on=responses}. */
static bool is_on_responses(const kn_gp *gp)
{
    for (ptrdiff_t j = 0; j < gp->P; j++)
        if (gp->P != gp->T || kn_at(gp->B, j, j) != 1)
            return false;
    return true;
}

void kn_convolved_describe(const kn_gp *gp, char *line, size_t size)
{
    static const char *const how[] = {"the variational bound", "PITC"}; /* by kn_inducing */
    static const char *const value[] = {"the bound", "that of PITC", "exact"};
    const kn_convolved *own = gp->own;
    const kn_conv_plan *plan = &own->spec.plan;
    const char *tasks = is_on_responses(gp) ? "response" : "component";
    char inducing[64] = "dense";
    if (plan->how != KN_INDUCING_NONE)
        snprintf(inducing, sizeof inducing, "%td inducing inputs of each, by %s", own->model.Z.rows,
                 how[plan->how]);
    snprintf(line, size,
             "processes: %td latent, %s; widths %s%s, noise of each %s\n"
             "log-likelihood: %s, %sgiven the linear effects",
             plan->Q, inducing, plan->widths == KN_WIDTHS_SHARED ? "shared" : "of each ",
             plan->widths == KN_WIDTHS_SHARED ? "" : tasks, tasks, value[plan->how],
             is_on_responses(gp) ? "" : "of the components alone, ");
}

kn_status kn_convolved_arrays(kn_gp *gp, kn_arrays *a)
{
    kn_status status = KN_OK;
    if (a->reading)
        KN_TRY(kn_convolved_allocate(a->ctx, gp));
    kn_convolved *own = gp->own;
    KN_TRY(visit_plan(own, a));
    KN_TRY(visit_columns(gp, &own->spec, a));
    KN_TRY(visit_fixed_effects(gp, &own->spec, &own->model.fixed, a));
    KN_TRY(visit_processes(gp, &own->spec.plan, &own->model, a));
    KN_TRY(a->mat(a, "B", gp->T, gp->P, &gp->B));
    if (a->reading ? a->has(a, "slope") : gp->slope != NULL)
        KN_TRY(a->doubles(a, "slope", gp->T, KN_NOT_NEGATIVE, &gp->slope));
    if (a->reading)
        KN_TRY(kn_convolved_latent(a->ctx, gp));
out:
    return status;
}

double kn_convolved_bytes(const kn_gp *gp)
{
    const kn_convolved *own = gp->own;
    double m = (double)kn_conv_m(&own->model.c), k = (double)own->spec.columns.n;
    double P = (double)gp->P, alpha = own->model.posterior.alpha.data ? (double)gp->N * P : 0;
    return 8 * ((double)gp->T * P + m * m + k * (k + 2 * P) + alpha);
}
