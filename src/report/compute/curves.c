/* Centile curves of the shown responses, with the participants as points [METHOD 8f]. Curves and
 * points come from report/input/curves.c. */
#include <stdlib.h>
#include <string.h>

#include "report/compute/internal.h"

const double kn_report_centile[KN_REPORT_CENTILES] = {5, 25, 50, 75, 95};
_Static_assert((int)KN_REPORT_CENTILES == (int)KN_INPUT_CENTILES, "the same centiles");
_Static_assert((int)KN_REPORT_GRID == (int)KN_INPUT_GRID, "the same grid");

/* Copies one curve with its bands into the arena of the report; levels in its label get the names
 * of {names}. */
static kn_status copy_curve(kn_ctx *ctx, kn_report *r, const kn_report_input_curve *from,
                            kn_report_curve *to)
{
    kn_status status;
    KN_TRY(kn_names_of_label(ctx, r, from->label ? from->label : "", &to->label));
    KN_TRY(kn_arena_text(ctx, &r->arena, from->level ? from->level : "", &to->level));
    KN_TRY(kn_report_copy_numbers(ctx, r, from->x, KN_REPORT_GRID, &to->x));
    for (int p = 0; p < KN_REPORT_CENTILES; p++) {
        KN_TRY(kn_report_copy_numbers(ctx, r, from->value[p], KN_REPORT_GRID, &to->value[p]));
        KN_TRY(kn_report_copy_numbers(ctx, r, from->low[p], KN_REPORT_GRID, &to->low[p]));
        KN_TRY(kn_report_copy_numbers(ctx, r, from->high[p], KN_REPORT_GRID, &to->high[p]));
    }
out:
    return status;
}

/* Copies the points of participants into the arena of the report. */
static kn_status copy_points(kn_ctx *ctx, kn_report *r, const kn_report_input_points *from,
                             kn_report_points *to)
{
    kn_status status;
    void *memory;
    KN_TRY(kn_report_copy_numbers(ctx, r, from->x, from->n, &to->x));
    KN_TRY(kn_report_copy_numbers(ctx, r, from->value, from->n, &to->value));
    KN_TRY(kn_report_copy_numbers(ctx, r, from->z, from->n, &to->z));
    KN_TRY(kn_arena_alloc(ctx, &r->arena, from->n, sizeof(int), &memory));
    to->curve = memory;
    if (from->n > 0)
        memcpy(to->curve, from->curve, (size_t)from->n * sizeof(int));
    to->n = from->n;
out:
    return status;
}

/* Copies the curves and points of one response from the input to the report. */
static kn_status copy_response(kn_ctx *ctx, kn_report *r, const kn_report_input_response *from,
                               kn_report_shown *to)
{
    kn_status status;
    void *memory;
    KN_TRY(kn_arena_alloc(ctx, &r->arena, from->curves, sizeof *to->curve, &memory));
    to->curve = memory;
    to->curves = from->curves;
    for (ptrdiff_t k = 0; k < from->curves; k++)
        KN_TRY(copy_curve(ctx, r, &from->curve[k], &to->curve[k]));
    KN_TRY(copy_points(ctx, r, &from->training, &to->training));
    KN_TRY(copy_points(ctx, r, &from->scored, &to->scored));
out:
    return status;
}

/* Comparison for qsort of indices, ascending. */
static int by_index(const void *a, const void *b)
{
    const ptrdiff_t x = *(const ptrdiff_t *)a, y = *(const ptrdiff_t *)b;
    return (x > y) - (x < y);
}

/* Curves are requested in ascending order of responses and stored in the order of display. */
kn_status kn_compute_curves(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status = KN_OK;
    kn_report_curves *c = &job->r->curves;
    const ptrdiff_t S = c->n;
    const char *over = NULL;
    ptrdiff_t *asked = NULL;
    void *memory = NULL;
    if (job->m->model && S > 0)
        KN_TRY(kn_report_input_choose_over(ctx, job->m, job->s->over, &over));
    if (!over) {
        c->n = 0;
        goto out;
    }
    KN_TRY(kn_arena_text(ctx, &job->r->arena, over, &c->over));
    KN_TRY(kn_alloc_i(ctx, S, &asked));
    KN_TRY(kn_alloc(ctx, S, sizeof(kn_report_input_response), &memory));
    kn_report_input_response *made = memory;
    for (ptrdiff_t k = 0; k < S; k++)
        asked[k] = c->shown[k].response;
    qsort(asked, (size_t)S, sizeof *asked, by_index);
    KN_TRY(kn_report_input_curves(ctx, job->m, over, asked, S, made));
    for (ptrdiff_t k = 0; k < S; k++)
        for (ptrdiff_t i = 0; i < S; i++)
            if (made[i].response == c->shown[k].response)
                KN_TRY(copy_response(ctx, job->r, &made[i], &c->shown[k]));
out:
    kn_free(memory);
    kn_free(asked);
    return status;
}
