/* Predicts the peak memory of a fit or of scoring, compares it with the budget, and makes the
 * error message with suggestions. The prediction repeats the steps of a fit as plans
 * (base/memory/plan.h). */
#include "commands/memory/memory_plan.h"

#include "data/scaling.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mpi/comm.h"
#include "commands/common/check_arguments.h"
#include "commands/score/score.h"
#include "cov/spectral_task.h"
#include "data/canonical_order.h"
#include "data/preloaded.h"
#include "gp/basis/gram.h"
#include "gp/predict/noise.h"
#include "io/file/path.h"
#include "norm/reference/memory.h"

/* ---- the need: plans the allocations of kn_fit or kn_score in their order ---- */

/* Memory outside our allocations: the program, and per thread its stack and BLAS buffers. */
static const double PROGRAM = 32e6, EACH_THREAD = 8e6;

/* Small allocations: structs, names, headers, file buffers. */
static const double SMALL = 64e3;

double kn_need_program(int threads)
{
    return PROGRAM + EACH_THREAD * threads;
}

double kn_need_total(const kn_need *n)
{
    return n->responses + n->samples + n->basis + n->reference + n->work + n->program;
}

/* The sizes with defaults for those that are 0, as the commands complete them. */
static kn_problem_size complete_shape(const kn_problem_size *shape)
{
    kn_problem_size s = *shape;
    s.stats = s.stats > 0 ? s.stats : 2;
    s.task_stats = s.task_stats > 0 ? s.task_stats : s.rotated ? 2 : 1;
    s.threads = s.threads > 0 ? s.threads : 1;
    if (s.scoring)
        return s;
    s.folds = s.N < 2 ? 0 : (int)kn_min_size(s.folds, s.N);
    s.M = kn_min_size(s.M, s.N);
    s.method->need.settle(&s);
    return s;
}

/* Add to the memory plan r all that a fit allocates, in the order of kn_fit(). */
static void fit_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, s->F); /* covariates as read, and standardised */
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, s->sites > 0 ? 2 * s->F : s->F);
    kn_row_order_need(r, s->N);
    kn_scaling_need(r, s->T);
    if (s->T > KN_RESPONSES_DRAWN_MIN)
        kn_plan_alloc(r, KN_NEED_WORK, s->T, sizeof(uint64_t)); /* keys of the responses */
    s->method->need.fit(r, s);
    if (s->folds > 0) {
        kn_reference_need(r, s);
        return;
    }
    kn_plan_stage(r, "noise");
    kn_noise_need(r, s, s->N);
    if (!s->iso && !s->method->independent_responses && s->range == 0)
        kn_block_loop_need(r, s->N, kn_block_loop_width(0, s->T), KN_BLOCK_Y);
}

void kn_need_predict(const kn_problem_size *shape, kn_need *out)
{
    kn_mem_plan r = {0};
    kn_problem_size s = complete_shape(shape);
    kn_plan_stage(&r, "reading");
    kn_plan_alloc_bytes(&r, KN_NEED_RESPONSES, s.value * (double)s.N * (double)(s.T - s.elsewhere));
    kn_plan_alloc_bytes(&r, KN_NEED_WORK, SMALL + s.kept_bytes);
    kn_mem_usage mark = r.now;
    kn_plan_alloc_bytes(&r, KN_NEED_WORK, s.reading);
    kn_plan_free_to(&r, mark);
    (s.scoring ? kn_score_need : fit_need)(&r, &s);
    *out = (kn_need){.responses = r.peak.bytes[KN_NEED_RESPONSES],
                     .samples = r.peak.bytes[KN_NEED_SAMPLES],
                     .basis = r.peak.bytes[KN_NEED_BASIS],
                     .reference = r.peak.bytes[KN_NEED_REFERENCE],
                     .work = r.peak.bytes[KN_NEED_WORK],
                     .program = kn_need_program(s.threads),
                     .stage = r.peak_stage};
}

double kn_need_window(const kn_problem_size *shape)
{
    kn_problem_size s = complete_shape(shape);
    double N = (double)s.N, T = (double)s.T, columns = s.threads * KN_MOMENTS_COLUMNS;
    if (kn_gram_long(&s))
        columns = fmax(columns, KN_BLOCK);
    return s.value * fmin(s.scoring ? (double)kn_score_rows(&s) * T : columns * N,
                          N * (T - (double)s.elsewhere));
}

enum { EXAMPLE_RANK = 500 }; /* rank in suggestions */

/* Predicted bytes with the responses in a scratch file. */
static double without_responses(const kn_problem_size *s)
{
    kn_need need;
    kn_need_predict(s, &need);
    return kn_need_total(&need) - need.responses + kn_need_window(s);
}

/* List the parts of the prediction, "responses 8.0 GB, basis 200.0 MB, ..."; those below 1 % are
 * left out. */
static void list_needs(const kn_need *n, bool scoring, char *out, size_t size)
{
    const struct {
        const char *name;
        double bytes;
    } part[] = {{"responses", n->responses},
                {"matrices over participants", n->samples},
                {scoring ? "model" : "basis", n->basis},
                {"reference", n->reference},
                {"work space", n->work},
                {"program and BLAS", n->program}};
    size_t at = 0;
    *out = '\0';
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if (part[i].bytes >= 0.01 * kn_need_total(n) && at < size)
            at += (size_t)snprintf(out + at, size - at, "%s%s %s", at ? ", " : "", part[i].name,
                                   kn_format_size(part[i].bytes).text);
}

/* Largest number of participants, below s->N, that fits `have` bytes; by bisection. */
static ptrdiff_t max_samples(const kn_problem_size *s, double have)
{
    ptrdiff_t low = 0, high = s->N;
    while (high - low > 1) {
        kn_problem_size fewer = *s;
        fewer.N = (low + high) / 2;
        if (s->M == s->N || fewer.M > fewer.N)
            fewer.M = fewer.N;
        if (without_responses(&fewer) <= have)
            low = fewer.N;
        else
            high = fewer.N;
    }
    return low;
}

/* Write to out the first change of the options that would fit `have` bytes, with its bytes; "" if
 * there is none. */
static void suggest_change(const kn_problem_size *s, const kn_need *need, double have, char *out,
                           size_t size)
{
    kn_problem_size other = *s;
    double rest = kn_need_total(need) - need->responses;
    *out = '\0';
    if (s->scoring)
        return;
    if (s->N > EXAMPLE_RANK && need->samples > rest / 2) {
        int n = snprintf(out, size, "; there is memory for %td participants", max_samples(s, have));
        other.M = EXAMPLE_RANK;
        if (s->M == s->N && s->method->low_rank && !s->method->independent_responses)
            snprintf(out + n, size - (size_t)n, ", or {rank=%d} would need %s", EXAMPLE_RANK,
                     kn_format_size(without_responses(&other)).text);
        return;
    }
    other.folds = 0;
    if (s->folds > 0 && !s->in_parts && without_responses(&other) <= have) {
        snprintf(out, size, "; without a reference ({folds=0}) it would need %s",
                 kn_format_size(without_responses(&other)).text);
        return;
    }
    other = *s;
    other.P = 25;
    if (s->method->components && (s->P == 0 || s->P > other.P) && without_responses(&other) <= have)
        snprintf(out, size, "; with {components=%td} it would need %s", other.P,
                 kn_format_size(without_responses(&other)).text);
}

/* True if the prediction fits the budget, in memory or with the responses in a scratch file
 * (*in_file). */
static bool fits_budget(const kn_mem_budget *a, const kn_problem_size *s, bool *in_file)
{
    kn_need need;
    kn_need_predict(s, &need);
    double total = kn_need_total(&need), rest = without_responses(s);
    *in_file = total > a->bytes && rest < total && !a->address_space;
    return total <= a->bytes || (*in_file && rest <= a->bytes);
}

/* Write to out to start one rank per node, if the ranks of a node together exceed its memory:
 * shared data is then held once. False if that would not help. */
static bool suggest_fewer(const kn_ctx *ctx, const kn_mem_budget *a, const kn_problem_size *s,
                          char *out, size_t size)
{
    const kn_comm *c = kn_ctx_comm(ctx);
    kn_mem_budget node = *a;
    kn_problem_size one = *s;
    bool in_file;
    if (c->local_size == 1 || kn_memory_given(ctx) || a->address_space)
        return false;
    node.bytes *= c->local_size;
    one.threads *= c->local_size;
    if (s->elsewhere > 0) /* approximate: responses are distributed in blocks */
        one.elsewhere = s->T - (s->T + c->nodes - 1) / c->nodes;
    if (!fits_budget(&node, &one, &in_file))
        return false;
    snprintf(out, size, "; start one task per node: -n %d -c %d", c->nodes, one.threads);
    return true;
}

kn_status kn_choose_response_storage(kn_ctx *ctx, const kn_mem_budget *a,
                                     const kn_problem_size *shape, bool at_least, bool *in_file)
{
    kn_need need;
    kn_problem_size s = *shape;
    const char *job = shape->scoring ? "scoring" : "fit";
    char parts[256], help[192], scratch[96] = "", each[64] = "";
    int ranks = kn_ctx_comm(ctx)->local_size;
    bool memory = fits_budget(a, &s, in_file);
    /* A low rank in memory is preferred to a full rank with a scratch file; the fit itself fails if
     * that rank does not suffice. */
    if ((!memory || *in_file) && s.low > 0) {
        s.M = s.low;
        memory = fits_budget(a, &s, in_file);
    }
    kn_need_predict(&s, &need);
    double total = kn_need_total(&need), rest = without_responses(&s);
    list_needs(&need, s.scoring, parts, sizeof parts);
    if (ranks > 1)
        snprintf(each, sizeof each, " in each of %d processes of this node", ranks);
    if (!at_least)
        kn_log(ctx, KN_LOG_DETAIL, "memory: this %s needs %s%s (%s), most of it for the %s; %s %s",
               job, kn_format_size(total).text, each, parts, need.stage, a->from,
               kn_format_size(a->bytes).text);
    if (memory)
        return KN_OK;
    if (*in_file && !at_least)
        snprintf(scratch, sizeof scratch, ", or %s with the responses in {scratch}",
                 kn_format_size(rest).text);
    if (!suggest_fewer(ctx, a, &s, help, sizeof help))
        suggest_change(&s, &need, a->bytes, help, sizeof help);
    return kn_fail(ctx, KN_ERR_MEMORY, "this %s needs %s%s%s (%s)%s, but %s %s%s", job,
                   at_least ? "at least " : "", kn_format_size(at_least ? rest : total).text, each,
                   parts, scratch, a->from, kn_format_size(a->bytes).text, help);
}

/* ---- for data/ ---- */

/* Callback of kn_memory_policy: completes the sizes with those of the responses, then decides
 * whether responses go to a scratch file (*in_file). KN_ERR_MEMORY if the command does not fit at
 * all. */
static kn_status place_in_memory(const kn_memory_policy *self, kn_ctx *ctx,
                                 const kn_response_shape *r, bool at_least, bool *in_file)
{
    const kn_command_memory *w = (const kn_command_memory *)self;
    kn_problem_size s = w->shape;
    s.N = r->n;
    if (!s.scoring)
        s.M = w->rank > 0 && w->rank < r->n ? w->rank : r->n;
    if (w->rank == KN_RANK_AUTO && !s.scoring && s.method->low_rank &&
        (w->additive || r->n >= KN_RANK_FROM)) /* maximum of the automatic rank */
        s.low = kn_auto_rank(r->n, w->additive, r->block);
    if (w->additive && !s.scoring) {
        s.stats = r->terms;
        s.groups = r->groups;
        s.sites = r->sites;
    }
    s.T = r->T;
    s.F = r->F;
    s.elsewhere = r->elsewhere;
    s.value = r->value;
    s.kept_bytes = r->resident + kn_caller_bytes_sum(&self->caller, r->n, r->T);
    s.reading = r->reading;
    s.threads = kn_threads(ctx);
    s.memory = (double)kn_memory(ctx);
    kn_mem_budget a = w->budget;
    if (a.address_space) /* add what the responses already take */
        a.bytes += r->allocated;
    kn_status status = kn_choose_response_storage(ctx, &a, &s, at_least, in_file);
    if (status == KN_ERR_MEMORY && !s.scoring && s.method->admits) { /* a more precise error */
        kn_status refused = s.method->admits(ctx, s.N, s.T);
        status = refused == KN_OK ? status : refused;
    }
    return status;
}

/* A policy with budget and scratch folder; the caller sets the sizes. */
static kn_command_memory memory_policy_of(kn_ctx *ctx, const kn_settings *s)
{
    kn_command_memory w = {.budget = kn_mem_budget_of(ctx)};
    w.policy = (kn_memory_policy){.choose_storage = place_in_memory,
                                  .bytes = w.budget.bytes,
                                  .scratch = s->scratch ? s->scratch : kn_scratch_folder()};
    return w;
}

kn_status kn_memory_policy_fit(kn_ctx *ctx, const kn_settings *s, kn_command_memory *out)
{
    kn_cov sample, task;
    ptrdiff_t basis = s->basis_view.cols;
    bool columns = basis > 0 && s->basis_axes == KN_AXES_GIVEN;
    *out = memory_policy_of(ctx, s);
    out->rank = s->rank;
    out->additive = kn_settings_additive(s);
    kn_status status = kn_check_covariances(ctx, s, KN_ALL_COLUMNS, &sample, &task);
    bool iso = s->noise == KN_NOISE_ISO;
    out->shape = (kn_problem_size){.method = kn_method_of(s->method, (kn_noise)s->noise),
                                   .iso = iso,
                                   .rotated = iso && (columns || !kn_cov_is_spectral(&task)),
                                   .given_basis = basis > 0,
                                   .span = columns ? 0 : basis,
                                   .plain = s->plain,
                                   .factors = s->noise_rank,
                                   .complement = s->ppca,
                                   .stats = sample.stats.n,
                                   .task_stats = iso ? task.stats.n : 0,
                                   .P = columns ? basis : s->components,
                                   .inducing = s->inducing,
                                   .widths = s->widths,
                                   .processes = s->latent,
                                   .points = s->inducing_points,
                                   .on_responses = s->on == KN_ON_RESPONSES,
                                   .folds = s->folds,
                                   .calibrate = s->calibrate,
                                   .top = s->top};
    return status;
}

/* Number of columns that a prediction needs: features of a low-rank R0, or all training
 * participants. */
static ptrdiff_t prediction_columns(const kn_gp *gp)
{
    const kn_decomp *R0 = &gp->latent.cell[0].R0;
    return kn_decomp_is_low(R0) ? R0->map.rows : R0->m;
}

kn_command_memory kn_memory_policy_score(kn_ctx *ctx, const kn_settings *s, const kn_model *model,
                                         int maps, int kept)
{
    kn_command_memory w = memory_policy_of(ctx, s);
    w.policy.by_rows = true;
    w.shape = (kn_problem_size){.scoring = true,
                                .model = kn_model_bytes(model),
                                .train = model->gp.N,
                                .maps = maps,
                                .kept = kept,
                                .method = model->gp.method,
                                .P = model->gp.P,
                                .M = prediction_columns(&model->gp),
                                .groups = model->gp.latent.groups.n,
                                .stats = model->gp.spec.sample.stats.n};
    if (model->gp.method->shape)
        model->gp.method->shape(&model->gp, &w.shape);
    return w;
}
