/* Suggestions for misspelt names ("did you mean"): collects the known names that are close to a
 * given one by edit distance. Used for commands, options, choice words and column names. */
#ifndef KN_BASE_SUGGEST_H
#define KN_BASE_SUGGEST_H

#include <stdbool.h>
#include <stddef.h>

enum { KN_SUGGESTED = 3, KN_SUGGESTION_TEXT = 256 };

typedef struct kn_suggestions {
    const char *given; /* the name as the user wrote it; borrowed */
    int distance, n;   /* edits between it and each of the n names, which are the closest so far */
    char name[KN_SUGGESTED][64]; /* longer ones are cut */
} kn_suggestions;

/* Returns the edit distance of two names, ignoring case: insertions, deletions, substitutions and
 * exchanges of neighbouring letters count 1. '*' and '?' of `given` match as in a shell pattern.
 * Only the first 63 bytes are compared. */
int kn_edit_distance(const char *given, const char *name);

/* Adds the name (n bytes) to the suggestions if it is close to what was given: at most length/4
 * + 1 edits, or `given` (at least three letters) is its beginning. Only the closest names are
 * kept. A name that differs only in the hemisphere at its beginning or end (lh_a for rh_a, Left-a
 * for Right-a, a_L for a_R) is another region, and is not added. */
void kn_suggest(kn_suggestions *s, const char *name, size_t n);

/* Calls kn_suggest for each of the words "a|b=1|c". */
void kn_suggest_words(kn_suggestions *s, const char *words);

/* Returns "; did you mean --use, --unseen?" with `before` in front of each name, or "" if no name
 * is close. The text is in `out`. */
const char *kn_did_you_mean(const kn_suggestions *s, const char *before,
                            char out[KN_SUGGESTION_TEXT]);

#endif
