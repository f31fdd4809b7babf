/* Flags participants whose maps look like errors of the data; the criteria are in
 * norm/metrics/implausible_data.h. Scores of flagged participants are kept, with a warning. */
#include "commands/score/internal.h"

#include <math.h>
#include <stdio.h>

#include "base/parallel/parallel_for.h"
#include "data/table/columns.h"
#include "data/table/text_list.h"

typedef struct implausible_job {
    kn_scores *s;
    ptrdiff_t row;
    kn_view Y;
    const float *z;
    double *work; /* workers x T */
} implausible_job;

/* Worker: checks participants first .. last - 1 of the minibatch by their values, then by their z,
 * and stores the reason. */
static void list_participants(void *self, int worker, ptrdiff_t first, ptrdiff_t last)
{
    const implausible_job *d = self;
    kn_scores *s = d->s;
    for (ptrdiff_t i = first; i < last; i++) {
        kn_implausible why = kn_implausible_values(d->Y, i, &s->model->y);
        if (why == KN_PLAUSIBLE)
            why = kn_implausible_z(d->z + i * s->T, s->T, d->work + worker * s->T);
        s->implausible_reason[d->row + i] = (int)why;
    }
}

/* Remove the responses that are not 0 for every row of Y from the candidates s->zero; after a few
 * participants few are left. */
static void remove_nonzero_responses(kn_scores *s, kn_view Y)
{
    const kn_scaling *y = &s->model->y;
    ptrdiff_t left = 0;
    for (ptrdiff_t c = 0; c < s->n_zero; c++) {
        bool zero = true;
        for (ptrdiff_t i = 0; i < Y.rows && zero; i++)
            zero = kn_view_at(Y, i, y->kept[s->zero[c]]) == 0;
        if (zero)
            s->zero[left++] = s->zero[c];
    }
    s->n_zero = left;
}

/* Candidates are responses that were not near 0 in training: a lesion volume may be 0 in all
 * participants. */
kn_status kn_implausible_begin(kn_ctx *ctx, kn_scores *s)
{
    static const double FROM_ZERO = 3; /* sd */
    kn_status status;
    const kn_scaling *y = &s->model->y;
    KN_TRY(kn_alloc_int(ctx, s->n, &s->implausible_reason));
    KN_TRY(kn_alloc_i(ctx, y->n_kept, &s->zero));
    for (ptrdiff_t k = 0; k < y->n_kept; k++)
        if (fabs(y->mean0[k]) > FROM_ZERO * y->sd0[k])
            s->zero[s->n_zero++] = k;
out:
    return status;
}

kn_status kn_implausible_rows(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, kn_view Y, const float *z)
{
    kn_status status = KN_OK;
    implausible_job d = {s, row, Y, z, NULL};
    KN_TRY(kn_alloc_d(ctx, kn_workers(ctx, Y.rows, 1) * s->T, &d.work));
    kn_parallel_workers(ctx, Y.rows, 1, list_participants, &d);
    remove_nonzero_responses(s, Y);
out:
    kn_free(d.work);
    return status;
}

/* Make "blank or constant (2), ..." of all reasons that occurred; count: participants per
 * reason. */
static void list_reasons(const ptrdiff_t *count, char *out, size_t size)
{
    size_t at = 0;
    out[0] = '\0';
    for (int k = 1; k < KN_N_IMPLAUSIBLE && at < size; k++)
        if (count[k] > 0)
            at += (size_t)snprintf(out + at, size - at, "%s%s (%td)", at ? ", " : "",
                                   kn_implausible_words((kn_implausible)k), count[k]);
}

void kn_implausible_warn(kn_ctx *ctx, kn_scores *s, const char *file)
{
    kn_listing ids = {.limit = KN_NAMES_LISTED}, names = {.limit = KN_NAMES_LISTED};
    ptrdiff_t count[KN_N_IMPLAUSIBLE] = {0};
    char why[400], name[1100];
    for (ptrdiff_t i = 0; i < s->n; i++) {
        count[s->implausible_reason[i]]++;
        if (s->implausible_reason[i] != KN_PLAUSIBLE)
            kn_listing_add(&ids, s->id[i]);
    }
    s->n_implausible = s->n - count[KN_PLAUSIBLE];
    list_reasons(count, why, sizeof why);
    if (s->n_implausible > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "%s: the maps of %td of %td participants are implausible (see column implausible): "
               "%s; reasons: %s",
               file, s->n_implausible, s->n, ids.text, why);
    for (ptrdiff_t c = 0; c < s->n_zero; c++) {
        kn_response_name(&s->model->space, s->model->y.kept[s->zero[c]], name, sizeof name);
        kn_listing_add(&names, name);
    }
    /* if all maps are constant the first warning says it already */
    if (s->n > 1 && s->n_zero > 0 && count[KN_IMPLAUSIBLE_CONSTANT] < s->n)
        kn_log(ctx, KN_LOG_WARNING,
               "%s: %td %s 0 for every participant, but %s not in the training sample; check the "
               "processing: %s",
               file, s->n_zero, s->n_zero == 1 ? "response is" : "responses are",
               s->n_zero == 1 ? "it was" : "they were", names.text);
}
