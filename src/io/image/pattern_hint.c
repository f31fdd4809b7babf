/* Implements pattern_hint.h. Parts of the pattern are matched from the left until one has no match;
 * the folder before it is listed, and its names are compared by edit distance. */
#include "io/image/pattern_hint.h"

#include <dirent.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"

enum { PATH = 4096 };

/* Sets folder to the first file or folder that matches the first n bytes of the pattern. Returns
 * false if there is none. */
static bool match_beginning(const char *pattern, size_t n, char folder[PATH])
{
    char beginning[PATH];
    glob_t found = {0};
    snprintf(beginning, sizeof beginning, "%.*s", (int)n, pattern);
    const bool any = glob(beginning, 0, NULL, &found) == 0;
    if (any)
        snprintf(folder, PATH, "%s", found.gl_pathv[0]);
    globfree(&found);
    return any;
}

/* Adds the names in a folder, except hidden ones, to the suggestions. first: the first name in byte
 * order, "" without any. */
static void list_folder(const char *folder, kn_suggestions *near, char first[256])
{
    struct dirent **entry = NULL;
    int n = scandir(folder, &entry, NULL, alphasort);
    first[0] = '\0';
    for (int k = 0; k < n; k++) {
        const char *name = entry[k]->d_name;
        if (*name != '.') {
            kn_suggest(near, name, strlen(name));
            if (!*first)
                snprintf(first, 256, "%s", name);
        }
        free(entry[k]);
    }
    free(entry);
}

const char *kn_pattern_hint(const char *pattern, char out[KN_PATTERN_HINT])
{
    char folder[PATH] = ".", part[256], first[256], text[KN_SUGGESTION_TEXT];
    const char *at = pattern;
    out[0] = '\0';
    if (strlen(pattern) >= PATH)
        return out;
    for (const char *slash; (slash = strchr(at, '/')); at = slash + 1)
        if (!match_beginning(pattern, (size_t)(slash - pattern) + (slash == pattern), folder))
            break;
    snprintf(part, sizeof part, "%.*s", (int)strcspn(at, "/"), at);
    kn_suggestions near = {.given = part};
    list_folder(folder, &near, first);
    if (near.n > 0)
        snprintf(out, KN_PATTERN_HINT, "%s", kn_did_you_mean(&near, "", text));
    else if (*first && at > pattern)
        snprintf(out, KN_PATTERN_HINT, "; %.400s contains %s", folder, first);
    return out;
}
