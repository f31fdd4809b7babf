#include "work/place.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/ram.h"
#include "io/path.h"

enum { EXAMPLE_RANK = 500 }; /* in suggestions */

/* Address space that is taken but hardly touched: buffers of the BLAS, stacks of 8 MB. */
static const double UNTOUCHED = 64e6, UNTOUCHED_THREAD = 80e6;

kn_allowance kn_allowance_of(const kn_ctx *ctx)
{
    bool limited = false;
    kn_allowance a = {(double)kn_memory(ctx), "--memory allows", false};
    if (!kn_memory_given(ctx)) {
        kn_ram("", &limited);
        a.from =
            limited ? "half of this container's memory is" : "half of this machine's memory is";
    }
    double left = kn_address_space() - UNTOUCHED - UNTOUCHED_THREAD * kn_threads(ctx);
    if (left < a.bytes)
        a = (kn_allowance){fmax(left, 0), "the limit of this process (ulimit -v) leaves", true};
    return a;
}

static double without_responses(const kn_need_shape *s)
{
    kn_need need;
    kn_need_of(s, &need);
    return kn_need_total(&need) - need.responses + kn_need_window(s);
}

/* "responses 8.0 GB, basis 200.0 MB, ...": what is below a hundredth of all is left out. */
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

/* The most samples that there is room for. */
static ptrdiff_t most_samples(const kn_need_shape *s, double have)
{
    ptrdiff_t low = 0, high = s->N;
    while (high - low > 1) {
        kn_need_shape some = *s;
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

/* What to change, with what it would take; the first that is enough. */
static void suggest(const kn_need_shape *s, const kn_need *need, double have, char *out,
                    size_t size)
{
    kn_need_shape other = *s;
    double rest = kn_need_total(need) - need->responses;
    *out = '\0';
    if (s->scoring)
        return;
    if (s->N > EXAMPLE_RANK && need->samples > rest / 2) {
        int n = snprintf(out, size, "; there is room for %td samples", most_samples(s, have));
        other.M = EXAMPLE_RANK;
        if (s->M == s->N && s->method->low_rank)
            snprintf(out + n, size - (size_t)n, ", or --rank %d would need %s", EXAMPLE_RANK,
                     kn_size_in_words(without_responses(&other)).text);
        return;
    }
    other.folds = 0;
    if (s->folds > 0 && without_responses(&other) <= have) {
        snprintf(out, size, "; without a reference (--folds 0) it would need %s",
                 kn_size_in_words(without_responses(&other)).text);
        return;
    }
    other = *s;
    other.P = 25;
    if (s->method->components && (s->P == 0 || s->P > other.P) && without_responses(&other) <= have)
        snprintf(out, size, "; with --components %td it would need %s", other.P,
                 kn_size_in_words(without_responses(&other)).text);
}

static bool has_room(const kn_allowance *a, const kn_need_shape *s, bool *in_file)
{
    kn_need need;
    kn_need_of(s, &need);
    double total = kn_need_total(&need), rest = without_responses(s);
    *in_file = total > a->bytes && rest < total && !a->address_space;
    return total <= a->bytes || (*in_file && rest <= a->bytes);
}

kn_status kn_place_responses(kn_ctx *ctx, const kn_allowance *a, const kn_need_shape *shape,
                             bool at_least, bool *in_file)
{
    kn_need need;
    kn_need_shape s = *shape;
    const char *job = shape->scoring ? "scoring" : "fit";
    char parts[256], help[192], scratch[96] = "";
    bool room = has_room(a, &s, in_file);
    /* Rather of low rank in memory than dense beside a file; the fit itself refuses where that rank
     * does not suffice. */
    if ((!room || *in_file) && s.low > 0) {
        s.M = s.low;
        room = has_room(a, &s, in_file);
    }
    kn_need_of(&s, &need);
    double total = kn_need_total(&need), rest = without_responses(&s);
    list_parts(&need, s.scoring, parts, sizeof parts);
    if (!at_least)
        kn_log(ctx, KN_LOG_DETAIL, "memory: this %s needs %s (%s), most of it for the %s; %s %s",
               job, kn_size_in_words(total).text, parts, need.stage, a->from,
               kn_size_in_words(a->bytes).text);
    if (room)
        return KN_OK;
    if (*in_file && !at_least)
        snprintf(scratch, sizeof scratch, ", with the responses in --scratch still %s",
                 kn_size_in_words(rest).text);
    suggest(&s, &need, a->bytes, help, sizeof help);
    return kn_fail(ctx, KN_ERR_MEMORY, "this %s needs %s%s (%s)%s, but %s %s%s", job,
                   at_least ? "at least " : "", kn_size_in_words(at_least ? rest : total).text,
                   parts, scratch, a->from, kn_size_in_words(a->bytes).text, help);
}
