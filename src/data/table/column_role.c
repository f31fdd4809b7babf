/* Implements column_role.h. */
#include "data/table/column_role.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "data/table/columns.h"
#include "data/table/sessions.h"

/* Bytes of UTF-8 letters count as small letters. */
static bool is_letter(char c)
{
    return isalpha((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* Returns whether a word of a column's name starts or ends at position `at`: next to a character
 * that is not a letter, or before a capital as in MRIScanner and scanAge. */
static bool is_boundary(const char *name, size_t at)
{
    if (at == 0 || !is_letter(name[at - 1]) || !is_letter(name[at]))
        return true;
    bool upper = isupper((unsigned char)name[at]), after = isupper((unsigned char)name[at - 1]);
    return upper && (!after || islower((unsigned char)name[at + 1])); /* MRIScanner */
}

/* Returns whether `word`, in small letters, is one of the words of a column's name as the head of
 * this file defines them. Ignores case. */
static bool has_word(const char *name, const char *word)
{
    size_t n = strlen(name), m = strlen(word);
    for (size_t at = 0; at + m <= n; at++)
        if (strncasecmp(name + at, word, m) == 0 && is_boundary(name, at) &&
            is_boundary(name, at + m))
            return true;
    return false;
}

/* Returns whether the name contains one of the words (in small letters, the list ends with NULL).
 */
static bool has_word_of(const char *name, const char *const *words)
{
    while (*words && !has_word(name, *words))
        words++;
    return *words != NULL;
}

/* Returns whether a name starts or ends with the word age: age, age_years, Age (y), scan_age,
 * AgeAtScan; not dosage. False for the age of an event (onset, diagnosis, death), which healthy
 * participants do not have. */
static bool is_age(const char *name)
{
    static const char *const events[] = {"onset", "diagnosis", "death", "dx", NULL};
    name += strspn(name, " \t");
    size_t n = strlen(name);
    while (n > 0 && strchr(" \t", name[n - 1]))
        n--;
    bool first = strncasecmp(name, "age", 3) == 0 && is_boundary(name, 3);
    bool last = n > 3 && strncasecmp(name + n - 3, "age", 3) == 0 && is_boundary(name, n - 3);
    return (first || last) && !has_word_of(name, events);
}

/* Returns the role of a column of diagnoses (group, dx, ...) or runs by its whole name, in any
 * case; KN_COLUMN_ANY for every other name. */
static kn_column_role role_of_whole_name(const char *name)
{
    static const struct {
        const char *name;
        kn_column_role role;
    } names[] = {{"group", KN_COLUMN_GROUP},    {"diagnosis", KN_COLUMN_GROUP},
                 {"dx", KN_COLUMN_GROUP},       {"dx_group", KN_COLUMN_GROUP},
                 {"patient", KN_COLUMN_GROUP},  {"run", KN_COLUMN_SESSION},
                 {"run_id", KN_COLUMN_SESSION}, {NULL, KN_COLUMN_ANY}};
    size_t k = 0;
    while (names[k].name && !kn_names_equal_any_case(name, names[k].name))
        k++;
    return names[k].role;
}

kn_column_role kn_column_role_of(const char *name)
{
    static const char *const site[] = {"site", "scanner", "center", "centre", "batch", NULL};
    static const char *const sex[] = {"sex", "gender", NULL};
    static const char *const measure[] = {"icv", "etiv",  "tiv", "bmi",        "education",
                                          "iq",  "euler", "fd",  "handedness", NULL};
    kn_column_role whole = role_of_whole_name(name);
    return whole != KN_COLUMN_ANY       ? whole
           : kn_session_is_name(name)   ? KN_COLUMN_SESSION
           : has_word_of(name, site)    ? KN_COLUMN_SITE
           : is_age(name)               ? KN_COLUMN_AGE
           : has_word_of(name, sex)     ? KN_COLUMN_SEX
           : has_word_of(name, measure) ? KN_COLUMN_MEASURE
                                        : KN_COLUMN_ANY;
}

bool kn_column_is_usual(const char *name)
{
    kn_column_role role = kn_column_role_of(name);
    return role == KN_COLUMN_SITE || role == KN_COLUMN_AGE || role == KN_COLUMN_SEX ||
           role == KN_COLUMN_MEASURE;
}
