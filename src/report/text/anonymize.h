/* Ids out of the page: person-1, person-2 ... in their place, wherever they stand. Somebody may be
 * called person-1 in truth: then it is person--1 ..., which nobody is called. */
#ifndef KN_REPORT_TEXT_ANONYMIZE_H
#define KN_REPORT_TEXT_ANONYMIZE_H

#include "base/memory/arena.h"

/* number[i], from 1 in the order of appearance: the same of equal names. */
kn_status kn_anonymize_numbers(kn_ctx *ctx, const char *const *name, ptrdiff_t n,
                               ptrdiff_t *number);

/* Hyphens of the longest "person-" that one of the names begins with and a digit follows; or
 * `least`, if that is more. One more than that is what nobody is called. */
ptrdiff_t kn_anonymize_hyphens(const char *const *name, ptrdiff_t n, ptrdiff_t least);

typedef struct kn_stripper kn_stripper;

typedef struct kn_alias { /* lent */
    const char *id, *instead;
} kn_alias;

/* Longer ids go before shorter ones; of the same id the first alias counts. Ids of one or two
 * digits say nothing of anybody and stay. own: "person-", which with a number behind it is an alias
 * already and stays; lent. */
kn_status kn_stripper_new(kn_ctx *ctx, const kn_alias *alias, ptrdiff_t n, const char *own,
                          kn_stripper **out);
void kn_stripper_free(kn_stripper *s);

/* *out: the text with every id replaced that stands as a word, not within a longer run of letters
 * and digits; the text itself where there is none. sentence: of our own, where a number is a
 * number; ids that are numbers stay. */
kn_status kn_anonymize(kn_ctx *ctx, const kn_stripper *s, const char *text, bool sentence,
                       kn_arena *arena, const char **out);

#endif
