/* Maps rows to distinct participants: rows with one id, or the noise groups of the training
 * sample [METHOD 11a]. Confidence intervals count participants, not rows. */
#include "report/compute/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool kn_report_is_normal(const kn_report_job *job, ptrdiff_t i)
{
    const kn_report_participants *p = &job->r->participants;
    if (i >= p->n)
        return false;
    if (job->m->kind == KN_INPUT_CHANGE)
        return p->participant[i].reference;
    return p->participant[i].label != 1 && !p->participant[i].training;
}

typedef struct row {
    const char *id;
    ptrdiff_t index;
} row;

/* Comparison for qsort of rows: by id, then by index. */
static int by_id(const void *a, const void *b)
{
    const row *x = a, *y = b;
    int order = strcmp(x->id, y->id);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* Comparison for qsort of rows: by index. */
static int by_row(const void *a, const void *b)
{
    const row *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

/* Sets of[row] of k rows to the first row with the same id. Sorts the rows and restores their
 * order. O(k log k). */
static void join_ids(row *rows, ptrdiff_t k, ptrdiff_t *of)
{
    if (k == 0) /* `rows` is NULL */
        return;
    qsort(rows, (size_t)k, sizeof *rows, by_id);
    for (ptrdiff_t a = 0; a < k; a++)
        of[rows[a].index] = a > 0 && strcmp(rows[a].id, rows[a - 1].id) == 0 ? of[rows[a - 1].index]
                                                                             : rows[a].index;
    qsort(rows, (size_t)k, sizeof *rows, by_row);
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

/* Sets of[row] of k rows to the first row of the same group. first: work space, one zero per group.
 */
static void join_groups(const ptrdiff_t *group, row *rows, ptrdiff_t k, ptrdiff_t *first,
                        ptrdiff_t *of)
{
    for (ptrdiff_t a = 0; a < k; a++) {
        ptrdiff_t *of_group = &first[group[rows[a].index]];
        if (*of_group == 0)
            *of_group = rows[a].index + 1;
        of[rows[a].index] = *of_group - 1;
    }
}

kn_status kn_distinct_participants_new(kn_ctx *ctx, const kn_report_job *job, bool training,
                                       kn_distinct_participants *out)
{
    kn_status status;
    const kn_report_zhist *h = training ? &job->r->zhist_training : &job->r->zhist;
    const char *const *id = ids_of(job->m, training);
    const ptrdiff_t *group = training ? job->m->training_group : NULL;
    void *memory = NULL;
    ptrdiff_t *first = NULL;
    *out = (kn_distinct_participants){0};
    KN_TRY(kn_alloc(ctx, h->n, sizeof(row), &memory));
    KN_TRY(kn_alloc_i(ctx, h->n, &first)); /* there are at most as many groups as rows */
    KN_TRY(kn_alloc_i(ctx, h->n, &out->of));
    row *rows = memory;
    for (ptrdiff_t i = 0; i < h->n; i++) {
        out->of[i] = -1;
        if (h->responses[i] > 0 && (training || kn_report_is_normal(job, i)))
            rows[out->rows++] = (row){.id = id ? id[i] : "", .index = i};
    }
    for (ptrdiff_t k = 0; k < out->rows; k++)
        out->of[rows[k].index] = rows[k].index;
    if (group)
        join_groups(group, rows, out->rows, first, out->of);
    else if (id)
        join_ids(rows, out->rows, out->of);
    /* The first row of each participant comes first and is already numbered. */
    for (ptrdiff_t k = 0; k < out->rows; k++) {
        ptrdiff_t i = rows[k].index, same = out->of[i];
        out->of[i] = same == i ? out->n++ : out->of[same];
    }
out:
    kn_free(first);
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
