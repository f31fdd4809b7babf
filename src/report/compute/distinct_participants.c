/* Maps rows to distinct participants: rows with one id, or the noise groups of the training
 * sample [METHOD 11a]. Confidence intervals count participants, not rows. */
#include "report/compute/internal.h"
#include "report/text/anonymize.h"

#include <math.h>

bool kn_report_is_normal(const kn_report_job *job, ptrdiff_t i)
{
    const kn_report_participants *p = &job->r->participants;
    if (i >= p->n)
        return false;
    if (job->m->kind == KN_INPUT_CHANGE)
        return p->participant[i].reference;
    return p->participant[i].label != 1 && !p->participant[i].training;
}

/* Returns the ids by which rows are joined, borrowed; for change those of the participants, not of
 * the pairs. NULL: no ids. */
static const char *const *ids_of(const kn_report_input *m, bool training)
{
    if (training)
        return m->training_id;
    const char *const *participant =
        m->kind == KN_INPUT_CHANGE ? kn_report_input_texts(m, "participant_id") : NULL;
    return participant ? participant : m->id;
}

kn_status kn_distinct_participants_new(kn_ctx *ctx, const kn_report_job *job, bool training,
                                       kn_distinct_participants *out)
{
    kn_status status;
    const kn_report_zhist *h = training ? &job->r->zhist_training : &job->r->zhist;
    const char *const *id = ids_of(job->m, training);
    const ptrdiff_t *group = training ? job->m->training_group : NULL;
    void *memory = NULL;
    ptrdiff_t *row = NULL, *number = NULL, *number_of_group = NULL;

    *out = (kn_distinct_participants){0};
    KN_TRY(kn_alloc(ctx, h->n, sizeof *id, &memory));
    KN_TRY(kn_alloc_i(ctx, h->n, &row));
    KN_TRY(kn_alloc_i(ctx, h->n, &number));
    KN_TRY(kn_alloc_i(ctx, h->n, &number_of_group)); /* at most as many groups as rows */
    KN_TRY(kn_alloc_i(ctx, h->n, &out->of));
    const char **id_of_row = memory;
    for (ptrdiff_t i = 0; i < h->n; i++) {
        out->of[i] = -1;
        if (h->responses[i] > 0 && (training || kn_report_is_normal(job, i))) {
            id_of_row[out->rows] = id ? id[i] : "";
            row[out->rows++] = i;
        }
    }
    if (id && !group)
        KN_TRY(kn_anonymize_numbers(ctx, id_of_row, out->rows, number));
    for (ptrdiff_t k = 0; k < out->rows; k++) { /* numbers from 1, in order of appearance */
        if (group) {
            ptrdiff_t *known = &number_of_group[group[row[k]]];
            number[k] = *known = *known ? *known : out->n + 1;
        } else if (!id)
            number[k] = k + 1;
        out->of[row[k]] = number[k] - 1;
        out->n = number[k] > out->n ? number[k] : out->n;
    }
out:
    kn_free(number_of_group);
    kn_free(number);
    kn_free(row);
    kn_free(memory);
    if (status != KN_OK)
        kn_distinct_participants_clear(out);
    return status;
}

void kn_distinct_participants_clear(kn_distinct_participants *u)
{
    kn_free(u->of);
    *u = (kn_distinct_participants){0};
}

double kn_distinct_participants_widening(const kn_report_job *job, bool training, ptrdiff_t n)
{
    const double N = (double)job->m->units;
    return !training && job->m->kind == KN_INPUT_SCORE && N > 0 ? sqrt(1 + (double)n / N) : 1;
}
