/* Implements participants_order.h; unknown ids in {people} get suggestions by edit distance. */
#include "report/compute/participants_order.h"
#include "stats/distributions.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- order ---- */

typedef struct place {
    double p, statistic;
    ptrdiff_t i;
} place;

/* NaN sorts last. */
static int smaller_first(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return (a > b) - (a < b);
}

static int abnormal_first(const void *x, const void *y)
{
    const place *a = x, *b = y;
    int c = smaller_first(a->p, b->p);
    if (c == 0)
        c = smaller_first(-a->statistic, -b->statistic);
    return c ? c : (a->i > b->i) - (a->i < b->i);
}

kn_status kn_participants_sort(kn_ctx *ctx, kn_report *r)
{
    kn_status status;
    kn_report_people *people = &r->people;
    void *memory = NULL;
    KN_TRY(kn_arena_i(ctx, &r->arena, people->n, &people->order));
    KN_TRY(kn_alloc(ctx, people->n, sizeof(place), &memory));
    place *all = memory;
    for (ptrdiff_t i = 0; i < people->n; i++)
        all[i] = (place){people->person[i].p, people->person[i].statistic, i};
    if (people->n > 0)
        qsort(all, (size_t)people->n, sizeof *all, abnormal_first);
    for (ptrdiff_t i = 0; i < people->n; i++) {
        people->order[i] = all[i].i;
        people->person[all[i].i].rank = i;
    }
out:
    kn_free(memory);
    return status;
}

/* ---- ranks and counts ---- */

static int ascending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static ptrdiff_t count_below(const double *sorted, ptrdiff_t n, double value)
{
    ptrdiff_t low = 0, high = n;
    while (low < high) {
        ptrdiff_t middle = low + (high - low) / 2;
        if (sorted[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

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
    if (m > 0)
        qsort(sorted, (size_t)m, sizeof *sorted, ascending);
    for (ptrdiff_t i = 0; i < n; i++) {
        double x = sizes ? fabs(value[i]) : value[i];
        p[i] = isnan(x) || m < 2 ? NAN : (double)(m - count_below(sorted, m, x)) / (double)m;
    }
    kn_free(sorted);
    return KN_OK;
}

void kn_participants_count(kn_report *r, double rate)
{
    static const double ALPHA = 0.05;
    kn_report_people *people = &r->people;
    people->deviance_found = people->deviance_of = 0;
    for (ptrdiff_t i = 0; i < people->n; i++) {
        const kn_report_person *one = &people->person[i];
        if (isnan(one->deviance_p) || one->label == 1 || one->training || one->reference)
            continue;
        if (one->site_unknown && !people->compared_among_them) /* p >= 1/(S + 1)   [METHOD 8] */
            continue;
        people->deviance_of++;
        people->deviance_found += one->deviance_p <= ALPHA;
    }
    kn_binomial_range(people->deviance_of, rate > 0 ? rate : NAN, &people->deviance_expected_low,
                      &people->deviance_expected_high);
}

/* ---- cards ---- */

static kn_status new_cards(kn_ctx *ctx, kn_report *r, ptrdiff_t n)
{
    void *memory;
    kn_status status = kn_arena_alloc(ctx, &r->arena, n, sizeof *r->people.card, &memory);
    r->people.card = memory;
    r->people.n_cards = 0;
    for (ptrdiff_t i = 0; i < r->people.n; i++)
        r->people.person[i].card = false;
    return status;
}

static void add_card(kn_report *r, ptrdiff_t person)
{
    if (r->people.person[person].card)
        return;
    r->people.person[person].card = true;
    r->people.card[r->people.n_cards++].person = person;
}

static kn_status choose_first(kn_ctx *ctx, kn_report *r, double wanted)
{
    kn_report_people *people = &r->people;
    ptrdiff_t n = wanted < (double)people->n ? (ptrdiff_t)wanted : people->n;
    kn_status status = new_cards(ctx, r, n);
    for (ptrdiff_t k = 0; status == KN_OK && k < people->n && people->n_cards < n; k++)
        if (isfinite(people->person[people->order[k]].statistic))
            add_card(r, people->order[k]);
    return status;
}

/* Levenshtein distance of two texts, cut to 63 bytes. */
static int edits(const char *a, const char *b)
{
    enum { LONGEST = 63 };
    int row[LONGEST + 1], n = (int)strnlen(a, LONGEST), m = (int)strnlen(b, LONGEST);
    for (int j = 0; j <= m; j++)
        row[j] = j;
    for (int i = 1; i <= n; i++) {
        int corner = row[0];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int least = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            least = row[j] + 1 < least ? row[j] + 1 : least;
            row[j] = row[j - 1] + 1 < least ? row[j - 1] + 1 : least;
        }
    }
    return row[m];
}

/* Fails for an unknown id, with the nearest known one as a suggestion. */
static kn_status nobody(kn_ctx *ctx, const kn_report *r, const kn_participants_named *named,
                        const char *id)
{
    int least = (int)strlen(id) / 3 + 2; /* larger distances are not typing errors */
    const char *near = NULL;
    for (ptrdiff_t i = 0; i < r->people.n; i++) {
        const char *other = named->person ? named->person[i] : named->id[i];
        int d = edits(id, other);
        if (d < least) {
            least = d;
            near = other;
        }
    }
    return near ? kn_fail(ctx, KN_ERR_DATA, "{people}: %s has no '%s'; is it '%s'?", named->where,
                          id, near)
                : kn_fail(ctx, KN_ERR_DATA, "{people}: %s has no '%s'", named->where, id);
}

static kn_status choose_id(kn_ctx *ctx, kn_report *r, const kn_participants_named *named,
                           const char *id)
{
    bool found = false;
    for (ptrdiff_t i = 0; i < r->people.n; i++)
        if (strcmp(named->id[i], id) == 0 || (named->person && strcmp(named->person[i], id) == 0)) {
            add_card(r, i);
            found = true;
        }
    return found ? KN_OK : nobody(ctx, r, named, id);
}

/* Adds a card for each id of a comma-separated list, which is modified. */
static kn_status choose_named(kn_ctx *ctx, kn_report *r, const kn_participants_named *named,
                              char *list)
{
    kn_status status = new_cards(ctx, r, r->people.n);
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

kn_status kn_participants_choose(kn_ctx *ctx, kn_report *r, const char *who,
                                 const kn_participants_named *named)
{
    if (who[0] != '\0' && strspn(who, "0123456789") == strlen(who))
        return choose_first(ctx, r, strtod(who, NULL));
    void *copy;
    ptrdiff_t n = (ptrdiff_t)strlen(who) + 1;
    kn_status status = kn_alloc(ctx, n, 1, &copy);
    if (status != KN_OK)
        return status;
    memcpy(copy, who, (size_t)n);
    status = choose_named(ctx, r, named, copy);
    kn_free(copy);
    return status;
}
