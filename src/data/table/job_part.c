/* Implements job_part.h. */
#include "data/table/job_part.h"

#include <string.h>

/* Parses digits and moves *text behind them; -1: there are none, or too many. */
static ptrdiff_t number(const char **text)
{
    ptrdiff_t x = 0;
    const char *c = *text;
    for (; *c >= '0' && *c <= '9' && x <= KN_PARTS_MOST; c++)
        x = 10 * x + (*c - '0');
    ptrdiff_t digits = c - *text;
    *text = c;
    return digits > 0 ? x : -1;
}

kn_status kn_job_part_parse(kn_ctx *ctx, const char *text, kn_job_part *out)
{
    *out = (kn_job_part){0};
    if (!text)
        return KN_OK;
    const char *c = text;
    ptrdiff_t i = number(&c), n = *c == '/' ? (c++, number(&c)) : -1;
    if (*c || i < 1 || n < i || n > KN_PARTS_MOST)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{part} is '%.40s', expected I/N with I from 1 to N and N up to %d, such as "
                       "3/10",
                       text, KN_PARTS_MOST);
    *out = (kn_job_part){i, n};
    return KN_OK;
}

ptrdiff_t kn_job_part_size(kn_job_part p, ptrdiff_t n_people)
{
    if (p.n == 0)
        return n_people;
    return n_people < p.i ? 0 : (n_people - p.i) / p.n + 1;
}
