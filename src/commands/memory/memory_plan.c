/* Implements memory_plan.h: compares the memory plan with the budget, and makes the error message
 * with suggestions. */
#include "commands/memory/memory_plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mpi/comm.h"
#include "commands/common/validate.h"
#include "cov/spectral_task.h"
#include "data/preloaded.h"
#include "io/file/path.h"

enum { EXAMPLE_RANK = 500 }; /* rank in suggestions */

/* Bytes of the plan with the responses in a scratch file. */
static double without_responses(const kn_problem_size *s)
{
    kn_need need;
    kn_need_of(s, &need);
    return kn_need_total(&need) - need.responses + kn_need_window(s);
}

/* Lists the parts of the plan, "responses 8.0 GB, basis 200.0 MB, ..."; parts below 1 % are left
 * out. */
static void list_parts(const kn_need *n, bool scoring, char *out, size_t size)
{
    const struct {
        const char *name;
        double bytes;
    } part[] = {{"responses", n->responses},
                {"matrices over samples", n->samples},
                {scoring ? "model" : "basis", n->basis},
                {"reference", n->reference},
                {"work space", n->work},
                {"program and BLAS", n->program}};
    size_t at = 0;
    *out = '\0';
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if (part[i].bytes >= 0.01 * kn_need_total(n) && at < size)
            at += (size_t)snprintf(out + at, size - at, "%s%s %s", at ? ", " : "", part[i].name,
                                   kn_size_in_words(part[i].bytes).text);
}

/* Largest number of participants that fits, by bisection. */
static ptrdiff_t most_samples(const kn_problem_size *s, double have)
{
    ptrdiff_t low = 0, high = s->N;
    while (high - low > 1) {
        kn_problem_size some = *s;
        some.N = (low + high) / 2;
        if (s->M == s->N || some.M > some.N)
            some.M = some.N;
        if (without_responses(&some) <= have)
            low = some.N;
        else
            high = some.N;
    }
    return low;
}

/* Suggests the first change that would fit, with its need. */
static void suggest(const kn_problem_size *s, const kn_need *need, double have, char *out,
                    size_t size)
{
    kn_problem_size other = *s;
    double rest = kn_need_total(need) - need->responses;
    *out = '\0';
    if (s->scoring)
        return;
    if (s->N > EXAMPLE_RANK && need->samples > rest / 2) {
        int n = snprintf(out, size, "; there is room for %td samples", most_samples(s, have));
        other.M = EXAMPLE_RANK;
        if (s->M == s->N && s->method->low_rank && !s->method->alone)
            snprintf(out + n, size - (size_t)n, ", or {rank=%d} would need %s", EXAMPLE_RANK,
                     kn_size_in_words(without_responses(&other)).text);
        return;
    }
    other.folds = 0;
    if (s->folds > 0 && !s->in_parts && without_responses(&other) <= have) {
        snprintf(out, size, "; without a reference ({folds=0}) it would need %s",
                 kn_size_in_words(without_responses(&other)).text);
        return;
    }
    other = *s;
    other.P = 25;
    if (s->method->components && (s->P == 0 || s->P > other.P) && without_responses(&other) <= have)
        snprintf(out, size, "; with {components=%td} it would need %s", other.P,
                 kn_size_in_words(without_responses(&other)).text);
}

/* True if the plan fits the budget, in memory or with the responses in a scratch file. */
static bool has_room(const kn_mem_budget *a, const kn_problem_size *s, bool *in_file)
{
    kn_need need;
    kn_need_of(s, &need);
    double total = kn_need_total(&need), rest = without_responses(s);
    *in_file = total > a->bytes && rest < total && !a->address_space;
    return total <= a->bytes || (*in_file && rest <= a->bytes);
}

/* Suggests one rank per node, if the ranks of a node together exceed its memory: shared data is
 * then held once. False if that would not help. */
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
    if (!has_room(&node, &one, &in_file))
        return false;
    snprintf(out, size, "; start one task a node: -n %d -c %d", c->nodes, one.threads);
    return true;
}

kn_status kn_place_responses(kn_ctx *ctx, const kn_mem_budget *a, const kn_problem_size *shape,
                             bool at_least, bool *in_file)
{
    kn_need need;
    kn_problem_size s = *shape;
    const char *job = shape->scoring ? "scoring" : "fit";
    char parts[256], help[192], scratch[96] = "", each[64] = "";
    int ranks = kn_ctx_comm(ctx)->local_size;
    bool room = has_room(a, &s, in_file);
    /* A low rank in memory is preferred to a full rank with a scratch file; the fit itself fails if
     * that rank does not suffice. */
    if ((!room || *in_file) && s.low > 0) {
        s.M = s.low;
        room = has_room(a, &s, in_file);
    }
    kn_need_of(&s, &need);
    double total = kn_need_total(&need), rest = without_responses(&s);
    list_parts(&need, s.scoring, parts, sizeof parts);
    if (ranks > 1)
        snprintf(each, sizeof each, " in each of %d processes of this node", ranks);
    if (!at_least)
        kn_log(ctx, KN_LOG_DETAIL, "memory: this %s needs %s%s (%s), most of it for the %s; %s %s",
               job, kn_size_in_words(total).text, each, parts, need.stage, a->from,
               kn_size_in_words(a->bytes).text);
    if (room)
        return KN_OK;
    if (*in_file && !at_least)
        snprintf(scratch, sizeof scratch, ", with the responses in {scratch} still %s",
                 kn_size_in_words(rest).text);
    if (!suggest_fewer(ctx, a, &s, help, sizeof help))
        suggest(&s, &need, a->bytes, help, sizeof help);
    return kn_fail(ctx, KN_ERR_MEMORY, "this %s needs %s%s%s (%s)%s, but %s %s%s", job,
                   at_least ? "at least " : "", kn_size_in_words(at_least ? rest : total).text,
                   each, parts, scratch, a->from, kn_size_in_words(a->bytes).text, help);
}

/* ---- for data/ ---- */

/* Callback of kn_memory_policy: completes the shape with the sizes of the responses, then
 * decides. */
static kn_status place(const kn_memory_policy *self, kn_ctx *ctx, const kn_response_shape *r,
                       bool at_least, bool *in_file)
{
    const kn_command_memory *w = (const kn_command_memory *)self;
    kn_problem_size s = w->shape;
    s.N = r->n;
    if (!s.scoring)
        s.M = w->rank > 0 && w->rank < r->n ? w->rank : r->n;
    if (w->rank == KN_RANK_AUTO && !s.scoring && s.method->low_rank &&
        (w->additive || r->n >= KN_RANK_FROM)) /* maximum of the automatic rank */
        s.low = r->n / (w->additive ? KN_RANK_SHARE_ADDITIVE : KN_RANK_SHARE);
    if (w->additive && !s.scoring) {
        s.stats = r->terms;
        s.groups = r->groups;
        s.sites = r->sites;
    }
    s.T = r->T;
    s.F = r->F;
    s.elsewhere = r->elsewhere;
    s.value = r->value;
    s.held = r->held + kn_caller_bytes_sum(&self->beside, r->n, r->T);
    s.reading = r->reading;
    s.threads = kn_threads(ctx);
    s.memory = (double)kn_memory(ctx);
    kn_mem_budget a = w->budget;
    if (a.address_space) /* add what the responses already take */
        a.bytes += r->there;
    kn_status status = kn_place_responses(ctx, &a, &s, at_least, in_file);
    if (status == KN_ERR_MEMORY && !s.scoring && s.method->admits) { /* a more precise error */
        kn_status refused = s.method->admits(ctx, s.N, s.T);
        status = refused == KN_OK ? status : refused;
    }
    return status;
}

/* Policy with budget and scratch folder; the shape is set by the caller. */
static kn_command_memory room_of(kn_ctx *ctx, const kn_settings *s)
{
    kn_command_memory w = {.budget = kn_mem_budget_of(ctx)};
    w.room = (kn_memory_policy){.place = place,
                                .bytes = w.budget.bytes,
                                .scratch = s->scratch ? s->scratch : kn_scratch_folder()};
    return w;
}

kn_status kn_memory_policy_fit(kn_ctx *ctx, const kn_settings *s, kn_command_memory *out)
{
    kn_cov sample, task;
    ptrdiff_t basis = s->basis_view.cols;
    bool columns = basis > 0 && s->basis_axes == KN_AXES_GIVEN;
    *out = room_of(ctx, s);
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

/* Columns that a prediction needs: features of a low-rank R0, or all training participants. */
static ptrdiff_t features(const kn_gp *gp)
{
    const kn_decomp *R0 = &gp->latent.cell[0].R0;
    return kn_decomp_is_low(R0) ? R0->map.rows : R0->m;
}

kn_command_memory kn_memory_policy_score(kn_ctx *ctx, const kn_settings *s, const kn_model *model,
                                         int maps, int kept)
{
    kn_command_memory w = room_of(ctx, s);
    w.room.by_rows = true;
    w.shape = (kn_problem_size){.scoring = true,
                                .model = kn_model_bytes(model),
                                .train = model->gp.N,
                                .maps = maps,
                                .kept = kept,
                                .method = model->gp.method,
                                .P = model->gp.P,
                                .M = features(&model->gp),
                                .groups = model->gp.latent.groups.n,
                                .stats = model->gp.spec.sample.stats.n};
    if (model->gp.method->shape)
        model->gp.method->shape(&model->gp, &w.shape);
    return w;
}
