/* Fits the page into max_size. The sections record the size of each element that a plan can omit
 * in p->sizes; a smaller plan omits cards first, then the viewer, thumbnails and table rows. */
#include "report/page/internal.h"

#include "base/memory/plan.h"
#include "report/viewer/viewer.h"

/* Room for the note about omissions, and for numbers with more digits. */
enum { SLACK = 2048 };

kn_status kn_page_plan_all(kn_page *p)
{
    kn_status status;
    const kn_report_participants *participants = &p->r->participants;
    p->plan = (kn_page_plan){.cards = participants->n_cards,
                             .thumbs = participants->n_thumbs,
                             .rows = kn_min_size(participants->n, KN_REPORT_TABLE),
                             .viewer = kn_viewer_has(p->r)};
    KN_TRY(kn_alloc_i(p->ctx, p->plan.cards, &p->sizes.card));
    KN_TRY(kn_alloc_i(p->ctx, p->plan.cards, &p->sizes.viewer));
    KN_TRY(kn_alloc_i(p->ctx, p->plan.thumbs, &p->sizes.thumb));
    KN_TRY(kn_alloc_i(p->ctx, p->plan.rows, &p->sizes.row));
out:
    return status;
}

void kn_page_plan_clear(kn_page *p)
{
    kn_free(p->sizes.card);
    kn_free(p->sizes.viewer);
    kn_free(p->sizes.thumb);
    kn_free(p->sizes.row);
    p->sizes = (kn_page_sizes){0};
}

/* Returns the sum of n sizes in bytes. */
static ptrdiff_t sum_sizes(const ptrdiff_t *size, ptrdiff_t n)
{
    ptrdiff_t total = 0;
    for (ptrdiff_t k = 0; k < n; k++)
        total += size[k];
    return total;
}

/* Returns how many of the first n elements fit into *budget (bytes), and subtracts their sizes from
 * it. */
static ptrdiff_t count_fitting(const ptrdiff_t *size, ptrdiff_t n, double *budget)
{
    ptrdiff_t k = 0;
    for (; k < n && (double)size[k] <= *budget; k++)
        *budget -= (double)size[k];
    return k;
}

/* Sets p->plan.cards to as many cards as fit into *budget (bytes), with viewer data if at least one
 * such card fits, else without, and subtracts their sizes. */
static void plan_cards(kn_page *p, double *budget)
{
    const kn_page_sizes *s = &p->sizes;
    const ptrdiff_t n = p->plan.cards;
    if (p->plan.viewer) {
        double left = *budget - (double)s->viewer_space;
        ptrdiff_t k = 0;
        for (; k < n && (double)(s->card[k] + s->viewer[k]) <= left; k++)
            left -= (double)(s->card[k] + s->viewer[k]);
        if (k > 0) {
            p->plan.cards = k;
            *budget = left;
            return;
        }
        p->plan.viewer = false;
    }
    p->plan.cards = count_fitting(s->card, n, budget);
}

/* The elements that can be omitted get what max_size leaves after the fixed part of the page. */
kn_status kn_page_plan_reduce(kn_page *p, const char *path, ptrdiff_t bytes)
{
    const kn_page_sizes *s = &p->sizes;
    const kn_page_plan before = p->plan;
    const ptrdiff_t thumbs = sum_sizes(s->thumb, before.thumbs),
                    rows = sum_sizes(s->row, before.rows);
    ptrdiff_t movable = sum_sizes(s->card, before.cards) + thumbs + rows;
    if (before.viewer)
        movable += s->viewer_space + sum_sizes(s->viewer, before.cards);
    const ptrdiff_t fixed = bytes - movable + (before.less ? 0 : SLACK);
    /* Room for all elements that can be omitted. The page was too large, so this is less than
     * their present size: every plan is smaller than the last. */
    double budget = p->options->max_size - (double)fixed;
    p->plan.less = true;
    if (budget >= (double)(rows + thumbs)) {
        budget -= (double)(rows + thumbs);
        plan_cards(p, &budget);
        return KN_OK;
    }
    p->plan.cards = 0;
    p->plan.viewer = false;
    if (budget >= (double)rows) {
        budget -= (double)rows;
        p->plan.thumbs = count_fitting(s->thumb, before.thumbs, &budget);
        return KN_OK;
    }
    p->plan.thumbs = 0;
    p->plan.rows = count_fitting(s->row, before.rows, &budget);
    if (budget < 0)
        return kn_fail(p->ctx, KN_ERR_ARGUMENT,
                       "%s: the report takes %.0f kB without cards, thumbnails and the table of "
                       "participants, but {max_size} is %.0f kB; increase {max_size}",
                       path, (double)fixed / 1e3, p->options->max_size / 1e3);
    return KN_OK;
}
