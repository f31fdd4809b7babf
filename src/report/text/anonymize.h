/* Replaces ids in the page by participant-1, participant-2 ... wherever they occur in a text. If a
 * participant's real id looks like participant-1, the prefix becomes participant-- (and so on),
 * which no real id has. */
#ifndef KN_REPORT_TEXT_ANONYMIZE_H
#define KN_REPORT_TEXT_ANONYMIZE_H

#include "base/memory/alloc.h"

/* Fills number[i] from 1 in order of appearance; equal names get equal numbers. */
kn_status kn_anonymize_numbers(kn_ctx *ctx, const char *const *name, ptrdiff_t n,
                               ptrdiff_t *number);

/* Returns the number of hyphens of the longest "participant-" prefix, followed by a digit, among
 * the names, or `lowest` if that is larger. A prefix with one more hyphen is unused. */
ptrdiff_t kn_anonymize_hyphens(const char *const *name, ptrdiff_t n, ptrdiff_t lowest);

typedef struct kn_anonymizer kn_anonymizer;

typedef struct kn_alias { /* borrowed */
    const char *id, *instead;
} kn_alias;

/* Prepares the replacement of n ids. Longer ids are replaced before shorter ones; for duplicate
 * ids the first alias is used. Ids of one or two digits identify no participant and are kept.
 * own: the prefix "participant-", which with a number is already an alias and is kept; borrowed. */
kn_status kn_anonymizer_new(kn_ctx *ctx, const kn_alias *alias, ptrdiff_t n, const char *own,
                            kn_anonymizer **out);
/* Frees the anonymizer; NULL is fine. */
void kn_anonymizer_free(kn_anonymizer *s);

/* Sets *out to the text with every id replaced that stands as a word, not within a longer run of
 * letters and digits; to `text` itself if there is none. sentence: the text was written by
 * kronorm, so numbers are numbers, and numeric ids are kept. */
kn_status kn_anonymize(kn_ctx *ctx, const kn_anonymizer *s, const char *text, bool sentence,
                       kn_arena *arena, const char **out);

#endif
