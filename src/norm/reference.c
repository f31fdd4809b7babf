#include "norm/reference.h"

#include <math.h>

#include "gp/cv_deal.h"
#include "gp/loo.h"
#include "gp/method.h"
#include "gp/noise.h"
#include "gp/slope.h"
#include "norm/deviance_fit.h"
#include "norm/deviance_missing.h"
#include "norm/extrapolation.h"
#include "norm/fdr.h"
#include "norm/gev_fit.h"
#include "norm/order.h"
#include "norm/rarity.h"
#include "norm/zmaps.h"

void kn_reference_clear(kn_reference *r)
{
    kn_free(r->statistic);
    kn_free(r->mean_z);
    kn_free(r->negative);
    kn_free(r->positive);
    kn_free(r->loo_statistic);
    kn_free(r->y_sum);
    kn_free(r->sample);
    kn_free(r->extrapolation);
    kn_free(r->z);
    kn_deviance_clear(&r->deviance);
    kn_deviance_clear(&r->deviance_noise);
    *r = (kn_reference){0};
}

double kn_reference_iso_share(const kn_gp *gp, ptrdiff_t j)
{
    double sum = 0, row = 0;
    if (!(gp->latent.iso > 0))
        return 0;
    for (ptrdiff_t p = 0; p < gp->P; p++) {
        double b2 = kn_at(gp->B, j, p) * kn_at(gp->B, j, p);
        sum += b2 * gp->latent.c[p];
        row += b2;
    }
    if (gp->complement_component)
        sum += (1 - row) * gp->latent.c[gp->P];
    return sum * gp->latent.iso;
}

bool kn_reference_keeps_z(ptrdiff_t n, ptrdiff_t T)
{
    static const double MOST = 1e9; /* bytes */
    return (double)sizeof(float) * (double)n * (double)T <= MOST;
}

ptrdiff_t kn_reference_row(const kn_reference *r, ptrdiff_t t)
{
    if (!r->sample)
        return t >= 0 && t < r->n ? t : -1;
    ptrdiff_t low = 0, high = r->n; /* sample[low - 1] < t <= sample[high] */
    while (low < high) {
        ptrdiff_t middle = low + (high - low) / 2;
        if (r->sample[middle] < t)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->n && r->sample[low] == t ? low : -1;
}

/* ---- walks over maps --------------------------------------------------------------------------
 *
 * Two walks over the cross-validated maps: the first for everything that is a sum over responses,
 * zz' of both deviances included, the second for the deviances. Where z is kept, the z of these are
 * kept for as long, and the second walk need not make mean and variance again. A third, over the
 * leave-one-out maps, has the statistic only. */

typedef struct maps_walk {
    kn_reference *r;
    kn_z_maker z;
    kn_z_keeper keeper;
    kn_deviance_fitter *deviance[2]; /* of z and of z by noise alone; NULL: not to be had */
    bool noiseless;                  /* some z by noise alone are undefined */
    kn_apart apart;
    kn_learner *learner;
    kn_layer layer; /* where nobody asks for one: none */
} maps_walk;

static void walk_clear(maps_walk *w)
{
    for (int k = 0; k < 2; k++)
        kn_deviance_fitter_free(w->deviance[k]);
    kn_z_maker_clear(&w->z);
    kn_z_keeper_clear(&w->keeper);
    kn_free(w->keeper.joint[0]);
    kn_free(w->keeper.joint[1]);
    kn_apart_clear(&w->apart);
    kn_learner_free(w->learner);
    kn_layer_clear(&w->layer);
}

static void drop_deviance(maps_walk *w)
{
    for (int k = 0; k < 2; k++) {
        kn_deviance_fitter_free(w->deviance[k]);
        w->deviance[k] = NULL;
    }
    kn_deviance_clear(&w->r->deviance);
    kn_deviance_clear(&w->r->deviance_noise);
    w->r->neighbours = (kn_resemblance){0};
}

/* What these data cannot give is left out with a warning. */
static kn_status no_deviance(kn_ctx *ctx, kn_status status, maps_walk *w)
{
    if (status != KN_ERR_DATA && status != KN_ERR_NUMERIC && status != KN_ERR_ARGUMENT)
        return status;
    kn_log(ctx, KN_LOG_WARNING, "no joint deviance: %s", kn_message(ctx));
    drop_deviance(w);
    return KN_OK;
}

static kn_status first_deviance(kn_ctx *ctx, void *self, kn_block *b)
{
    kn_status status = KN_OK;
    maps_walk *w = self;
    for (int k = 0; k < 2 && w->deviance[k] && status == KN_OK; k++)
        status = kn_deviance_first(ctx, w->deviance[k], b->first, k == 0 ? b->z_joint : b->z_noise);
    if (status == KN_ERR_DATA) { /* no noise, no z: said once the walk is over */
        w->noiseless = true;
        drop_deviance(w);
        status = KN_OK;
    }
    return status;
}

static kn_status second_deviance(kn_ctx *ctx, void *self, kn_block *b)
{
    maps_walk *w = self;
    kn_deviance_second(ctx, w->deviance[0], b->first, b->z_joint);
    kn_deviance_second(ctx, w->deviance[1], b->first, b->z_noise);
    return KN_OK;
}

/* zz' of one of them once more */
static kn_status again_z(kn_ctx *ctx, void *self, kn_block *b)
{
    return kn_deviance_first(ctx, ((maps_walk *)self)->deviance[0], b->first, b->z_joint);
}

static kn_status again_noise(kn_ctx *ctx, void *self, kn_block *b)
{
    return kn_deviance_first(ctx, ((maps_walk *)self)->deviance[1], b->first, b->z_noise);
}

/* Sums of z become means over the finite ones. */
static kn_status take_burden(kn_ctx *ctx, maps_walk *w)
{
    kn_status status;
    double *sums = NULL;
    kn_reference *r = w->r;
    KN_TRY(kn_alloc_d(ctx, 3 * r->n, &sums));
    KN_TRY(kn_slots_sum(ctx, &w->z.burden, sums));
    for (ptrdiff_t i = 0; i < r->n; i++) {
        r->mean_z[i] = sums[i] / (double)w->z.top.finite[i];
        r->negative[i] = sums[r->n + i];
        r->positive[i] = sums[2 * r->n + i];
    }
out:
    kn_free(sums);
    return status;
}

static kn_status first_walk(kn_ctx *ctx, const kn_reference_job *job, maps_walk *w, bool *finite)
{
    kn_status status;
    kn_reference *r = w->r;
    kn_z_maker *z = &w->z;
    kn_walk walk = kn_z_maker_walk(z, "reference");
    kn_visitor visitor[4];
    double noise;
    int n = 0;
    if (job->noise)
        visitor[n++] = kn_noise_visitor(job->noise);
    visitor[n++] = kn_z_maker_visitor(z);
    visitor[n++] = kn_z_keep(&w->keeper);
    visitor[n++] = (kn_visitor){w, 0, NULL, first_deviance, NULL};
    KN_TRY(kn_walk_run(ctx, &walk, visitor, n));
    KN_TRY(kn_slots_sum(ctx, &z->noise_sum, &noise));
    KN_TRY(take_burden(ctx, w));
    KN_TRY(kn_slots_sum(ctx, &z->y, r->y_sum));
    KN_TRY(kn_slots_sum(ctx, &z->model, r->extrapolation));
    *finite = true;
    for (ptrdiff_t i = 0; !job->cv->Y.holes && i < r->n; i++)
        *finite = *finite && z->top.finite[i] == z->gp->T;
    for (ptrdiff_t j = 0; job->cv->Y.holes && j < z->gp->T;
         j++) /* missing cells have none either */
        *finite = *finite && !(z->gp->noise[j] <= 0);
    kn_top_stream_result(&z->top, r->statistic);
    kn_extrapolation_ratio(r->extrapolation, r->n, noise);
    for (ptrdiff_t i = 0; job->cv->far && i < r->n; i++)
        r->extrapolation[i] = job->cv->far[i];
    kn_sort(r->extrapolation, r->n);
out:
    return status;
}

static kn_status second_walk(kn_ctx *ctx, const kn_reference_job *job, maps_walk *w)
{
    kn_status status;
    kn_walk walk = kn_z_maker_walk(&w->z, "deviance");
    kn_visitor visitor[3];
    int n = 0;
    if (job->noise && !w->keeper.z) /* z are made anew, for which others are asked again */
        visitor[n++] = kn_noise_visitor(job->noise);
    visitor[n++] = w->keeper.z ? kn_z_recall(&w->keeper) : kn_z_maker_again(&w->z);
    for (int k = 0; k < 2; k++) {
        kn_mat zz;
        bool again;
        KN_TRY(kn_deviance_gram(ctx, w->deviance[k], &again, &zz));
        while (again) { /* z beyond all bounds: only this one's zz' is made anew */
            visitor[n] = (kn_visitor){w, 0, NULL, k == 0 ? again_z : again_noise, NULL};
            KN_TRY(kn_walk_run(ctx, &walk, visitor, n + 1));
            kn_z_keeper_clear(&w->keeper);
            KN_TRY(kn_deviance_gram(ctx, w->deviance[k], &again, &zz));
        }
        if (k == 0 && !job->cv->sample)
            KN_TRY(kn_neighbours(ctx, zz, job->order, job->group, job->seed, &w->r->neighbours));
        KN_TRY(kn_deviance_turn(ctx, w->deviance[k]));
    }
    visitor[n] = (kn_visitor){w, 0, NULL, second_deviance, NULL};
    KN_TRY(kn_walk_run(ctx, &walk, visitor, n + 1));
    kn_z_keeper_clear(&w->keeper);
    KN_TRY(kn_deviance_finish(ctx, w->deviance[0], &w->r->deviance));
    kn_deviance_fitter_free(w->deviance[0]);
    w->deviance[0] = NULL;
    KN_TRY(kn_deviance_finish(ctx, w->deviance[1], &w->r->deviance_noise));
    w->r->has_deviance = true;
out:
    return status;
}

/* Where cells are missing, from the z that are kept. */
static kn_status deviances_with_holes(kn_ctx *ctx, const kn_reference_job *job, maps_walk *w)
{
    kn_status status = KN_OK;
    kn_reference *r = w->r;
    kn_mat zz = {0};
    kn_deviance *to[2] = {&r->deviance, &r->deviance_noise};
    if (!w->keeper.z) {
        kn_log(ctx, KN_LOG_WARNING,
               "no joint deviance: responses are missing, and z of all samples have no room");
        return KN_OK;
    }
    for (int k = 0; k < 2; k++) {
        kn_deviance_holes from = {r->n, job->gp->T, w->keeper.joint[k], job->fold, job->folds};
        KN_TRY(kn_deviance_fit_missing(ctx, &from, k == 0 ? &zz : NULL, to[k]));
        if (k == 0 && !job->cv->sample)
            KN_TRY(kn_neighbours(ctx, zz, job->order, job->group, job->seed, &r->neighbours));
    }
    r->has_deviance = true;
out:
    kn_mat_clear(&zz);
    return status;
}

/* The extreme value law, where people are enough for one; what can be said of somebody new. */
static kn_status fit_gev(kn_ctx *ctx, kn_reference *r, ptrdiff_t T)
{
    kn_gev_estimate e;
    const char *what = r->units < r->n ? "groups of samples" : "samples";
    if (r->units < KN_GEV_FROM || T == 1) {
        kn_log(ctx, KN_LOG_WARNING,
               "%td reference %s%s: probabilities are ranks among them, and no p can be below %.2g",
               r->units, what, T == 1 ? " and one response" : ", fewer than 30",
               kn_rarity_smallest(&(kn_rarity_law){.n = r->n, .units = r->units}));
        return KN_OK;
    }
    kn_status status = kn_gev_fit(ctx, r->statistic, r->n, &e);
    if (status == KN_ERR_DATA || status == KN_ERR_NUMERIC) {
        kn_log(ctx, KN_LOG_WARNING, "probabilities are ranks among the reference: %s",
               kn_message(ctx));
        return KN_OK;
    }
    if (status != KN_OK)
        return status;
    r->has_gev = true;
    r->gev = e.gev;
    r->gev_se = e.se;
    r->gev_at_bound = e.at_bound;
    if (e.at_bound)
        kn_log(ctx, KN_LOG_WARNING,
               "the extreme value fit ended at the bound of its shape (%.2f): read abnormality "
               "probabilities near 0 and 1 with care",
               e.gev.xi);
    if (r->units < KN_SAY_BELOW)
        kn_log(ctx, KN_LOG_INFO, "%td reference %s: no p_upper is said to be below %.2g", r->units,
               what, kn_rarity_least(r->units));
    return KN_OK;
}

/* How many of them have a finding after FDR: as many of healthy people will. */
static kn_status share_of_findings(kn_ctx *ctx, kn_reference *r, ptrdiff_t T)
{
    double *work = NULL, found = 0;
    r->fdr_share = NAN;
    if (!r->z)
        return KN_OK;
    kn_status status = kn_alloc_d(ctx, T, &work);
    for (ptrdiff_t i = 0; status == KN_OK && i < r->n; i++) {
        kn_fdr f = kn_fdr_row(r->z + i * T, T, KN_FDR_Q, work);
        found += f.negative + f.positive > 0;
    }
    if (status == KN_OK)
        r->fdr_share = found / (double)r->n;
    kn_free(work);
    return status;
}

/* As %.2f writes it, without the sign of a zero. */
static double hundredths(double x)
{
    return fabs(x) < 0.005 ? 0 : x;
}

static void warn_of_neighbours(kn_ctx *ctx, const kn_resemblance *n)
{
    if (n->resemble)
        kn_log(ctx, KN_LOG_WARNING,
               "people next to each other in the table resemble each other (their residual maps "
               "correlate by %.2f, %.2f by chance): is there a site, scanner or session that a "
               "covariate should name?",
               hundredths(n->correlation), hundredths(n->chance));
}

static kn_status new_deviances(kn_ctx *ctx, const kn_reference_job *job, maps_walk *w)
{
    kn_status status = KN_OK;
    kn_walk walk = kn_z_maker_walk(&w->z, NULL);
    kn_deviance_shape shape = {.N = w->r->n,
                               .T = w->z.gp->T,
                               .plan = kn_walk_plan_of(&walk),
                               .fold = job->fold,
                               .folds = job->folds,
                               .K = KN_DEVIANCE_AUTO};
    for (int k = 0; k < 2 && status == KN_OK; k++)
        status = kn_deviance_fitter_new(ctx, &shape, &w->deviance[k]);
    return status == KN_OK ? KN_OK : no_deviance(ctx, status, w);
}

static kn_status reference_new(kn_ctx *ctx, const kn_reference_job *job, kn_reference *r)
{
    kn_status status;
    const kn_gp_maps *cv = job->cv;
    *r = (kn_reference){.n = cv->n, .top = job->top};
    KN_TRY(kn_alloc_d(ctx, r->n, &r->statistic));
    KN_TRY(kn_alloc_d(ctx, r->n, &r->mean_z));
    KN_TRY(kn_alloc_d(ctx, r->n, &r->negative));
    KN_TRY(kn_alloc_d(ctx, r->n, &r->positive));
    KN_TRY(kn_alloc_d(ctx, r->n, &r->extrapolation));
    KN_TRY(kn_alloc_d(ctx, r->n, &r->y_sum));
    if (cv->sample) {
        KN_TRY(kn_alloc_i(ctx, r->n, &r->sample));
        for (ptrdiff_t i = 0; i < r->n; i++)
            r->sample[i] = cv->sample[i];
    }
    if (job->keep_z)
        KN_TRY(kn_alloc_f(ctx, r->n * job->gp->T, &r->z));
out:
    return status;
}

/* Who leaves with whom, and how many are independent of each other. */
static kn_status part_groups(kn_ctx *ctx, const kn_reference_job *job, maps_walk *w)
{
    kn_status status = KN_OK;
    void *memory = NULL;
    const kn_gp_maps *cv = job->cv;
    int *of = NULL;
    if (job->group) {
        KN_TRY(kn_alloc(ctx, cv->n, sizeof(int), &memory));
        of = memory;
        for (ptrdiff_t i = 0; i < cv->n; i++)
            of[i] = job->group[cv->sample ? cv->sample[i] : i];
    }
    KN_TRY(kn_apart_new(ctx, cv->n, of, &w->apart));
    w->r->units = w->apart.n_groups;
out:
    kn_free(memory);
    return status;
}

static void say_layer(kn_ctx *ctx, const kn_layer *l)
{
    for (int k = 0; k < KN_LAYER_PARTS; k++)
        if (l->part[k].tried)
            kn_log(ctx, KN_LOG_INFO, "calibration: %s %s (held-out gain %.4f, standard error %.4f)",
                   kn_layer_part_words[k], l->part[k].kept ? "kept" : "not kept", l->part[k].gain,
                   l->part[k].se);
}

/* The calibration layer: what is common to responses, and which parts it has. */
static kn_status learn(kn_ctx *ctx, const kn_reference_job *job, maps_walk *w)
{
    kn_status status;
    kn_visitor visitor[2];
    int n = 0;
    ptrdiff_t every = 1;
    kn_learner_job of = {.how = job->layer ? job->calibrate : KN_CALIBRATE_NONE,
                         .x = job->x,
                         .n = job->cv->n,
                         .T = job->gp->T,
                         .fold = job->fold,
                         .folds = job->folds,
                         .noise = job->noise,
                         .apart = &w->apart,
                         .noise_of_all = job->gp->noise};
    KN_TRY(kn_learner_new(ctx, &of, job->layer ? job->layer : &w->layer, &w->learner));
    w->z.learner = w->learner;
    if (kn_learner_sample(w->learner, &every) == 0)
        goto out;
    kn_walk walk = kn_z_maker_walk(&w->z, NULL);
    walk.cut = every > 1 ? KN_LEARNER_CUT : 0;
    walk.every = every;
    if (job->noise)
        visitor[n++] = kn_noise_visitor(job->noise);
    visitor[n++] = kn_learner_visitor(w->learner);
    KN_TRY(kn_walk_run(ctx, &walk, visitor, n));
    KN_TRY(kn_learner_choose(ctx, w->learner));
    say_layer(ctx, w->learner->layer);
out:
    return status;
}

kn_status kn_reference_make(kn_ctx *ctx, const kn_reference_job *job, kn_reference *out,
                            kn_cv_summary *summary)
{
    kn_status status;
    bool finite;
    double losses[KN_N_LOSSES];
    maps_walk w = {.r = out,
                   .z = {.gp = job->gp, .maps = job->cv, .share = job->top, .whole = true}};
    KN_TRY(reference_new(ctx, job, out));
    KN_TRY(part_groups(ctx, job, &w));
    KN_TRY(learn(ctx, job, &w));
    w.keeper = (kn_z_keeper){.n = out->n, .T = job->gp->T, .z = out->z};
    for (int k = 0; k < 2 && job->keep_z; k++)
        KN_TRY(kn_alloc_f(ctx, out->n * job->gp->T, &w.keeper.joint[k]));
    if (!job->cv->Y.holes)
        KN_TRY(new_deviances(ctx, job, &w));
    KN_TRY(first_walk(ctx, job, &w, &finite));
    KN_TRY(kn_slots_sum(ctx, &w.z.losses, losses));
    *summary = kn_losses_summary(losses, job->cv->folds);
    if (!finite) { /* a response without any noise has no z */
        kn_log(ctx, KN_LOG_WARNING,
               "some responses have no noise at all, so their z are undefined: "
               "no abnormality statistics");
        goto out;
    }
    kn_top_stream_clear(&w.z.top);
    KN_TRY(fit_gev(ctx, out, job->gp->T));
    KN_TRY(share_of_findings(ctx, out, job->gp->T));
    if (w.noiseless)
        kn_log(ctx, KN_LOG_WARNING, "no joint deviance: some responses have no noise at all");
    if (job->cv->Y.holes && (status = deviances_with_holes(ctx, job, &w)) != KN_OK)
        KN_TRY(no_deviance(ctx, status, &w));
    if (w.deviance[0] && (status = second_walk(ctx, job, &w)) != KN_OK)
        KN_TRY(no_deviance(ctx, status, &w));
    warn_of_neighbours(ctx, &out->neighbours);
out:
    walk_clear(&w);
    if (status != KN_OK) {
        kn_reference_clear(out);
        if (job->layer) /* half a layer is none */
            kn_layer_clear(job->layer);
    }
    return status;
}

kn_status kn_reference_loo(kn_ctx *ctx, const kn_loo_job *job, kn_reference *r,
                           kn_cv_summary *summary)
{
    kn_status status;
    const kn_gp *gp = job->gp;
    kn_gp_maps loo = {0};
    kn_mat D = {0};
    kn_z_maker z = {.gp = gp, .maps = &loo, .share = r->top, .layer = job->layer, .D = job->D};
    kn_visitor visitor = kn_z_maker_visitor(&z);
    kn_gev_estimate e;
    double losses[KN_N_LOSSES];
    if (r->sample && job->D.data) {
        KN_TRY(kn_mat_new(ctx, r->n, job->D.cols, &D));
        for (ptrdiff_t f = 0; f < D.cols; f++)
            for (ptrdiff_t i = 0; i < r->n; i++)
                kn_col(D, f)[i] = kn_at(job->D, r->sample[i], f);
        z.D = D;
    }
    KN_TRY(kn_gp_loo(ctx, gp, job->Y, &loo));
    loo.Y = kn_responses_as_given(job->Y); /* judged by what is observed [METHOD 0b] */
    if (r->sample)
        KN_TRY(kn_gp_maps_select(ctx, &loo, r->sample, r->n));
    KN_TRY(kn_alloc_d(ctx, r->n, &r->loo_statistic));
    kn_walk walk = kn_z_maker_walk(&z, "leave-one-out");
    KN_TRY(kn_walk_run(ctx, &walk, &visitor, 1));
    kn_top_stream_result(&z.top, r->loo_statistic);
    KN_TRY(kn_slots_sum(ctx, &z.losses, losses));
    *summary = kn_losses_summary(losses, (int)gp->N);
    if (r->has_gev) { /* what the folds allow, leave-one-out allows */
        status = kn_gev_fit(ctx, r->loo_statistic, r->n, &e);
        r->has_loo_gev = status == KN_OK;
        if (r->has_loo_gev)
            r->loo_gev = e.gev;
        if (status == KN_ERR_DATA || status == KN_ERR_NUMERIC)
            status = KN_OK;
    }
out:
    if (status != KN_OK) {
        kn_free(r->loo_statistic);
        r->loo_statistic = NULL;
    }
    kn_mat_clear(&D);
    kn_z_maker_clear(&z);
    kn_gp_maps_clear(&loo);
    return status;
}

/* A walk over maps that makes z; leaves what the maps keep of it. */
static void walk_need(kn_rehearsal *r, const kn_need_shape *s, kn_maps_kind kind, ptrdiff_t n)
{
    kn_held mark = r->now, room;
    kn_walk_need(r, n, kn_walk_width(0, s->T), KN_WALK_Y | KN_WALK_MAPS);
    kn_top_stream_need(r, n, s->T, s->top);
    room = r->now;
    s->method->need.block(r, s, kind, n);
    kn_let_go_of(r, mark, room);
}

/* The second walk, with z at hand or by maps made once more, a panel of which (`panel`: taken
 * between these marks) is made anew. */
static void deviance_need(kn_rehearsal *r, const kn_need_shape *s, const kn_deviance_sizes *d,
                          const kn_held panel[2])
{
    kn_held mark;
    kn_rehearse_stage(r, "deviance");
    kn_neighbours_need(r, d->N);
    kn_deviance_turn_need(r, d);
    kn_deviance_turn_need(r, d);
    mark = r->now;
    if (kn_reference_keeps_z(d->N, s->T)) {
        kn_z_recall_need(r, d->N, s->T);
    } else {
        kn_let_go_of(r, panel[0], panel[1]);
        kn_walk_need(r, d->N, kn_walk_width(0, s->T), KN_WALK_Y | KN_WALK_MAPS);
        s->method->need.block(r, s, KN_MAPS_CV, d->N);
    }
    kn_let_go(r, mark);
    kn_deviance_finish_need(r, d);
}

void kn_reference_need(kn_rehearsal *r, const kn_need_shape *s)
{
    bool once = s->folds == KN_HELD_OUT_ONCE, keep;
    ptrdiff_t n = once ? kn_held_out(s->N) : s->N;
    kn_deviance_sizes d = {n, s->T, once ? KN_REFERENCE_FOLDS : s->folds, s->threads};
    kn_held begin, panel[2]; /* panel: before and after what the maps keep of a walk */
    kn_rehearse_stage(r, "reference");
    if (!s->iso && !s->method->alone)
        kn_slope_need(r, s, n);
    keep = kn_reference_keeps_z(n, s->T);
    kn_hold_d(r, KN_NEED_REFERENCE, n, 8);
    if (keep)
        kn_hold_f(r, KN_NEED_REFERENCE, n, s->T);
    kn_layer_need(r, s, n);
    begin = r->now;
    kn_learner_need(r, s, n);
    kn_noise_need(r, s, n);
    if (keep)
        kn_hold_f(r, KN_NEED_REFERENCE, n, 2 * s->T);
    kn_deviance_fitter_need(r, &d);
    kn_deviance_fitter_need(r, &d);
    kn_z_maker_need(r, s, n, true);
    panel[0] = r->now;
    walk_need(r, s, KN_MAPS_CV, n);
    panel[1] = r->now;
    deviance_need(r, s, &d, panel);
    kn_let_go(r, begin);
    kn_let_go_of(r, panel[1], panel[0]); /* that is still there */
    kn_deviance_kept_need(r, &d);
    kn_deviance_kept_need(r, &d);
    if (once)
        return;
    kn_rehearse_stage(r, "leave-one-out");
    s->method->need.maps(r, s, KN_MAPS_LOO, n);
    kn_z_maker_need(r, s, n, false);
    walk_need(r, s, KN_MAPS_LOO, n);
}
