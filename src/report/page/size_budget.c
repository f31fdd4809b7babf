/* Implements size_budget.h from the sizes that the sections recorded in p->sizes. */
#include "report/page/size_budget.h"

#include "report/viewer/viewer.h"

/* Room for the note about omissions, and for numbers with more digits. */
enum { SLACK = 2048 };

static ptrdiff_t least(ptrdiff_t a, ptrdiff_t b)
{
    return a < b ? a : b;
}

kn_status kn_page_plan_all(kn_page *p)
{
    kn_status status;
    const kn_report_people *people = &p->r->people;
    p->plan = (kn_page_plan){.cards = people->n_cards,
                             .thumbs = people->n_thumbs,
                             .rows = least(people->n, KN_REPORT_TABLE),
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

static ptrdiff_t sum(const ptrdiff_t *size, ptrdiff_t n)
{
    ptrdiff_t total = 0;
    for (ptrdiff_t k = 0; k < n; k++)
        total += size[k];
    return total;
}

/* Returns how many of the first n elements fit into *room, and subtracts their size. */
static ptrdiff_t fitting(const ptrdiff_t *size, ptrdiff_t n, double *room)
{
    ptrdiff_t k = 0;
    for (; k < n && (double)size[k] <= *room; k++)
        *room -= (double)size[k];
    return k;
}

/* Plans cards with viewer data if one fits; else as many as fit without it. */
static void plan_cards(kn_page *p, double *room)
{
    const kn_page_sizes *s = &p->sizes;
    const ptrdiff_t n = p->plan.cards;
    if (p->plan.viewer) {
        double left = *room - (double)s->viewer_space;
        ptrdiff_t k = 0;
        for (; k < n && (double)(s->card[k] + s->viewer[k]) <= left; k++)
            left -= (double)(s->card[k] + s->viewer[k]);
        if (k > 0) {
            p->plan.cards = k;
            *room = left;
            return;
        }
        p->plan.viewer = false;
    }
    p->plan.cards = fitting(s->card, n, room);
}

kn_status kn_page_plan_less(kn_page *p, const char *path, ptrdiff_t bytes)
{
    const kn_page_sizes *s = &p->sizes;
    const kn_page_plan before = p->plan;
    const ptrdiff_t thumbs = sum(s->thumb, before.thumbs), rows = sum(s->row, before.rows);
    ptrdiff_t movable = sum(s->card, before.cards) + thumbs + rows;
    if (before.viewer)
        movable += s->viewer_space + sum(s->viewer, before.cards);
    const ptrdiff_t fixed = bytes - movable + (before.less ? 0 : SLACK);
    /* Room for all elements that can be omitted. The page was too large, so this is less than
     * their present size: every plan is smaller than the last. */
    double room = p->options->max_size - (double)fixed;
    p->plan.less = true;
    if (room >= (double)(rows + thumbs)) {
        room -= (double)(rows + thumbs);
        plan_cards(p, &room);
        return KN_OK;
    }
    p->plan.cards = 0;
    p->plan.viewer = false;
    if (room >= (double)rows) {
        room -= (double)rows;
        p->plan.thumbs = fitting(s->thumb, before.thumbs, &room);
        return KN_OK;
    }
    p->plan.thumbs = 0;
    p->plan.rows = fitting(s->row, before.rows, &room);
    if (room < 0)
        return kn_fail(
            p->ctx, KN_ERR_ARGUMENT,
            "%s: the page takes %.0f kB without cards, thumbnails and the table of people, "
            "{max_size} is %.0f kB",
            path, (double)fixed / 1e3, p->options->max_size / 1e3);
    return KN_OK;
}
