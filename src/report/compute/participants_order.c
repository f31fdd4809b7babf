/* Order, ranks and selection of the participants. Unknown ids in {participants} get suggestions by
 * edit distance   [METHOD 8, 11c] */
#include "base/suggest.h"
#include "report/compute/internal.h"
#include "stats/distributions.h"
#include "stats/order_statistics.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- order ---- */

typedef struct ranked_row {
    double p, statistic;
    ptrdiff_t i;
} ranked_row;

/* Compares two numbers for sorting, ascending; NaN comes last. */
static int smaller_first(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return (a > b) - (a < b);
}

/* Comparison for qsort: smaller p first, then larger statistic, then order of the table; NaN last.
 */
static int abnormal_first(const void *x, const void *y)
{
    const ranked_row *a = x, *b = y;
    int c = smaller_first(a->p, b->p);
    if (c == 0)
        c = smaller_first(-a->statistic, -b->statistic);
    return c ? c : (a->i > b->i) - (a->i < b->i);
}

kn_status kn_participants_sort(kn_ctx *ctx, kn_report *r)
{
    kn_status status;
    kn_report_participants *participants = &r->participants;
    void *memory = NULL;
    KN_TRY(kn_arena_i(ctx, &r->arena, participants->n, &participants->order));
    KN_TRY(kn_alloc(ctx, participants->n, sizeof(ranked_row), &memory));
    ranked_row *all = memory;
    for (ptrdiff_t i = 0; i < participants->n; i++)
        all[i] = (ranked_row){participants->participant[i].extreme_z_p,
                              participants->participant[i].extreme_z, i};
    if (participants->n > 0)
        qsort(all, (size_t)participants->n, sizeof *all, abnormal_first);
    for (ptrdiff_t i = 0; i < participants->n; i++) {
        participants->order[i] = all[i].i;
        participants->participant[all[i].i].rank = i;
    }
out:
    kn_free(memory);
    return status;
}

/* ---- ranks and counts ---- */

kn_status kn_participants_rank(kn_ctx *ctx, const double *value, ptrdiff_t n, bool sizes, double *p)
{
    double *sorted;
    ptrdiff_t m = 0;
    kn_status status = kn_alloc_d(ctx, n, &sorted);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t i = 0; i < n; i++)
        if (!isnan(value[i]))
            sorted[m++] = sizes ? fabs(value[i]) : value[i];
    kn_sort(sorted, m);
    for (ptrdiff_t i = 0; i < n; i++) {
        double x = sizes ? fabs(value[i]) : value[i];
        p[i] =
            isnan(x) || m < 2 ? NAN : (double)(m - kn_count_below(sorted, m, x, false)) / (double)m;
    }
    kn_free(sorted);
    return KN_OK;
}

void kn_participants_count(kn_report *r, double rate)
{
    kn_report_participants *participants = &r->participants;
    kn_flag_counts counts[2] = {{0, 0}, {0, 0}}, extreme[2] = {{0, 0}, {0, 0}};
    for (ptrdiff_t i = 0; i < participants->n; i++) {
        const kn_report_participant *from = &participants->participant[i];
        kn_flag_row row = {.p = from->flag_p,
                           .is_case = from->label == 1,
                           .in_training = from->training || from->reference,
                           .site_unknown =
                               from->site_unknown && !participants->reference_in_folder};
        kn_flag_count(&row, counts);
        row.p = from->extreme_z_p;
        kn_flag_count(&row, extreme);
    }
    participants->flag = counts[0];
    participants->cases_flagged = counts[1];
    participants->extreme[0] = extreme[0];
    participants->extreme[1] = extreme[1];
    kn_binomial_range(participants->flag.n, rate > 0 ? rate : NAN,
                      &participants->flagged_expected_low, &participants->flagged_expected_high);
    kn_binomial_range(participants->cases_flagged.n, rate > 0 ? rate : NAN,
                      &participants->cases_expected_low, &participants->cases_expected_high);
}

/* ---- cards ---- */

/* Allocates n cards in the arena and marks every participant as without a card. */
static kn_status new_cards(kn_ctx *ctx, kn_report *r, ptrdiff_t n)
{
    void *memory;
    kn_status status = kn_arena_alloc(ctx, &r->arena, n, sizeof *r->participants.card, &memory);
    r->participants.card = memory;
    r->participants.n_cards = 0;
    for (ptrdiff_t i = 0; i < r->participants.n; i++)
        r->participants.participant[i].card = false;
    return status;
}

/* Adds a card for a participant unless there is one. */
static void add_card(kn_report *r, ptrdiff_t participant)
{
    if (r->participants.participant[participant].card)
        return;
    r->participants.participant[participant].card = true;
    r->participants.card[r->participants.n_cards++].participant = participant;
}

/* Adds cards for the `wanted` most abnormal participants that have a statistic. */
static kn_status choose_first(kn_ctx *ctx, kn_report *r, double wanted)
{
    kn_report_participants *participants = &r->participants;
    ptrdiff_t n = wanted < (double)participants->n ? (ptrdiff_t)wanted : participants->n;
    kn_status status = new_cards(ctx, r, n);
    for (ptrdiff_t k = 0; status == KN_OK && k < participants->n && participants->n_cards < n; k++)
        if (isfinite(participants->participant[participants->order[k]].extreme_z))
            add_card(r, participants->order[k]);
    return status;
}

/* Fails with KN_ERR_DATA for an id of {participants} that does not exist; the message suggests
 * similar ids. */
static kn_status fail_unknown_id(kn_ctx *ctx, const kn_report *r, const kn_participant_names *named,
                                 const char *id)
{
    kn_suggestions near = {.given = id};
    char suggestion[KN_SUGGESTION_TEXT];
    for (ptrdiff_t i = 0; i < r->participants.n; i++) {
        const char *other = named->participant ? named->participant[i] : named->id[i];
        kn_suggest(&near, other, strlen(other));
    }
    return kn_fail(ctx, KN_ERR_DATA, "{participants}: %s has no ID '%s'%s", named->where, id,
                   kn_did_you_mean(&near, "", suggestion));
}

/* Adds a card for each row with this id; KN_ERR_DATA if there is none. */
static kn_status choose_id(kn_ctx *ctx, kn_report *r, const kn_participant_names *named,
                           const char *id)
{
    bool found = false;
    for (ptrdiff_t i = 0; i < r->participants.n; i++)
        if (strcmp(named->id[i], id) == 0 ||
            (named->participant && strcmp(named->participant[i], id) == 0)) {
            add_card(r, i);
            found = true;
        }
    return found ? KN_OK : fail_unknown_id(ctx, r, named, id);
}

/* Adds a card for each id of a list with commas, which is modified. KN_ERR_DATA for an unknown id.
 */
static kn_status choose_named(kn_ctx *ctx, kn_report *r, const kn_participant_names *named,
                              char *list)
{
    kn_status status = new_cards(ctx, r, r->participants.n);
    char *next = list;
    while (status == KN_OK && next) {
        char *id = next, *comma = strchr(next, ',');
        next = comma ? comma + 1 : NULL;
        if (comma)
            *comma = '\0';
        while (isspace((unsigned char)*id))
            id++;
        for (char *end = id + strlen(id); end > id && isspace((unsigned char)end[-1]);)
            *--end = '\0';
        if (*id)
            status = choose_id(ctx, r, named, id);
    }
    return status;
}

kn_status kn_participants_choose_cards(kn_ctx *ctx, kn_report *r, const char *selection,
                                       const kn_participant_names *named)
{
    if (selection[0] != '\0' && strspn(selection, "0123456789") == strlen(selection))
        return choose_first(ctx, r, strtod(selection, NULL));
    void *copy;
    ptrdiff_t n = (ptrdiff_t)strlen(selection) + 1;
    kn_status status = kn_alloc(ctx, n, 1, &copy);
    if (status != KN_OK)
        return status;
    memcpy(copy, selection, (size_t)n);
    status = choose_named(ctx, r, named, copy);
    kn_free(copy);
    return status;
}
