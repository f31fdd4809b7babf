/* Implements image_names.h: ids are looked up in a sorted copy of those of the covariates. An
 * error lists the images whose names fit no id or several. */
#include "data/image_names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "data/response_space.h"
#include "data/table/text_list.h"
#include "io/file/path.h"

enum { MAX_PARTS = 32 }; /* parts of a path between separators */

/* Sorted ids. */
typedef struct known_ids {
    const char **sorted;
    ptrdiff_t n;
} known_ids;

/* Returns the known id that equals text[0 .. length-1], by binary search; NULL if there is none. */
static const char *find_id(const known_ids *k, const char *text, size_t length)
{
    ptrdiff_t low = 0, high = k->n;
    while (low < high) {
        ptrdiff_t middle = low + (high - low) / 2;
        const char *id = k->sorted[middle];
        int order = strncmp(id, text, length);
        if (order == 0 && !id[length])
            return id;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Returns the file name in a path, behind the last slash. */
static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Returns the id that equals the file name of a path without its last extensions, as few of them as
 * possible (s1.2.nii.gz: s1.2.nii, s1.2, s1); NULL if there is none. */
static const char *id_as_name(const known_ids *k, const char *path)
{
    const char *base = base_of(path), *id = NULL;
    for (size_t length = strlen(base); length > 0 && !id; length--)
        if (base[length] == '.')
            id = find_id(k, base, length);
    return id;
}

/* Returns the longest id that occurs in the text between characters which are neither letters nor
 * digits; NULL if there is none. Looks at the first MAX_PARTS words. */
static const char *id_within(const known_ids *k, const char *text)
{
    const char *start[MAX_PARTS], *end[MAX_PARTS], *best = NULL;
    int parts = 0;
    for (const char *c = text; *c && parts < MAX_PARTS;) {
        while (*c && !isalnum((unsigned char)*c))
            c++;
        start[parts] = c;
        while (*c && isalnum((unsigned char)*c))
            c++;
        end[parts] = c;
        parts += c > start[parts];
    }
    for (int a = 0; a < parts; a++)
        for (int b = a; b < parts; b++) {
            const char *id = find_id(k, start[a], (size_t)(end[b] - start[a]));
            if (id && (!best || strlen(id) > strlen(best)))
                best = id;
        }
    return best;
}

/* Returns the length of the folder that all n paths have in common, with its slash; 0 if there is
 * none. */
static size_t common_folder(const char *const *path, ptrdiff_t n)
{
    size_t length = (size_t)(base_of(path[0]) - path[0]);
    for (ptrdiff_t i = 1; i < n; i++)
        while (length > 0 && strncmp(path[0], path[i], length) != 0)
            do
                length--;
            while (length > 0 && path[0][length - 1] != '/');
    return length;
}

/* Returns whether each of n images has an id (found[i] not NULL) and no two have the same. work: n
 * pointers of work space. */
static bool are_distinct(const char **found, const char **work, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        if (!found[i])
            return false;
        work[i] = found[i];
    }
    qsort(work, (size_t)n, sizeof *work, kn_compare_texts);
    for (ptrdiff_t i = 1; i < n; i++)
        if (work[i] == work[i - 1])
            return false;
    return true;
}

/* Copies the ids of n images to *out (kn_names_free). An image whose found[i] is NULL gets its file
 * name up to the first dot. */
static kn_status copy_ids(kn_ctx *ctx, const char *const *path, const char **found, ptrdiff_t n,
                          char ***out)
{
    kn_status status;
    void *memory;
    KN_TRY(kn_alloc(ctx, n, sizeof **out, &memory));
    *out = memory;
    for (ptrdiff_t i = 0; i < n; i++) {
        const char *text = found[i] ? found[i] : base_of(path[i]);
        KN_TRY(kn_text_copy(ctx, text, found[i] ? strlen(text) : strcspn(text, "."), &(*out)[i]));
    }
out:
    if (status != KN_OK) {
        kn_names_free(*out, n);
        *out = NULL;
    }
    return status;
}

kn_status kn_image_names_find(kn_ctx *ctx, const char *const *path, ptrdiff_t n,
                              const char *const *id, ptrdiff_t n_ids, char ***out)
{
    kn_status status;
    void *memory = NULL;
    const char **found = NULL, **work = NULL;
    known_ids k = {.n = n_ids};
    bool named = false;
    *out = NULL;
    KN_TRY(kn_alloc(ctx, n_ids + 2 * n, sizeof *found, &memory));
    k.sorted = memory;
    found = k.sorted + n_ids;
    work = found + n;
    for (ptrdiff_t i = 0; i < n_ids; i++)
        k.sorted[i] = id[i];
    qsort(k.sorted, (size_t)n_ids, sizeof *k.sorted, kn_compare_texts);
    for (ptrdiff_t i = 0; i < n; i++) {
        found[i] = id_as_name(&k, path[i]);
        named = named || found[i];
    }
    size_t folder = common_folder(path, n);
    for (ptrdiff_t i = 0; !named && i < n; i++)
        found[i] = id_within(&k, path[i] + folder);
    if (named || are_distinct(found, work, n))
        KN_TRY(copy_ids(ctx, path, found, n, out));
out:
    kn_free(memory);
    return status;
}
