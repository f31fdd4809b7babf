/* Implements derivatives.h: the folder is listed once, names are split into entities, and the files
 * that fit are sorted by participant and session. */
#include "io/bids/derivatives.h"

#include <ctype.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/file/path.h"
#include "io/image/image.h"

enum { PATH = 4096, DEPTH = 8, MAX_ENTITIES = 24, LISTED = 5 };

typedef struct span { /* a part of a file name */
    const char *text;
    size_t n;
} span;

typedef struct bids_file {
    char *path; /* owned */
    span key[MAX_ENTITIES], value[MAX_ENTITIES];
    int n;
    span suffix;
    const char *ending; /* ".shape.gii" */
} bids_file;

typedef struct found_files {
    kn_ctx *ctx;
    bids_file *file;
    ptrdiff_t n, room;
    ptrdiff_t left; /* entries that may still be listed; below 0: any number */
} found_files;

/* Returns whether a span of characters equals a text. */
static bool is_text(span s, const char *text)
{
    return strlen(text) == s.n && memcmp(s.text, text, s.n) == 0;
}

/* Compares two spans of characters by bytes: negative, 0 or positive, as memcmp; a prefix comes
 * first. */
static int compare(span a, span b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n > 0 ? memcmp(a.text, b.text, n) : 0;
    return order ? order : (a.n > b.n) - (a.n < b.n);
}

/* Splits the name of a file into entities, suffix and extension. False: it is no name of BIDS. */
static bool parse_name(const char *path, bids_file *f)
{
    const char *slash = strrchr(path, '/'), *at = slash ? slash + 1 : path;
    f->n = 0;
    if (strncmp(at, "sub-", 4) != 0)
        return false;
    while (true) {
        size_t n = strcspn(at, "_."), dash = strcspn(at, "-_.");
        if (at[n] != '_') {
            f->suffix = (span){at, n};
            f->ending = at + n;
            return n > 0 && dash == n && at[n] == '.';
        }
        if (dash == 0 || dash + 1 >= n || f->n == MAX_ENTITIES)
            return false;
        f->key[f->n] = (span){at, dash};
        f->value[f->n++] = (span){at + dash + 1, n - dash - 1};
        at += n + 1;
    }
}

/* The value of an entity; n 0: the name has none. */
static span value_of(const bids_file *f, const char *key)
{
    for (int k = 0; k < f->n; k++)
        if (is_text(f->key[k], key))
            return f->value[k];
    return (span){"", 0};
}

/* ---- listing ---- */

/* Appends a copy of a path to the list if it has the name of an image; other files are ignored.
 * Fails only without memory. */
static kn_status append_file(found_files *all, const char *path)
{
    void *memory = all->file;
    kn_status status;
    if (!kn_image_is_name(path))
        return KN_OK;
    status = kn_grow(all->ctx, all->n + 1, sizeof *all->file, &memory, &all->room);
    all->file = memory;
    if (status != KN_OK)
        return status;
    bids_file *f = &all->file[all->n];
    status = kn_text_copy(all->ctx, path, strlen(path), &f->path);
    if (status == KN_OK && parse_name(f->path, f))
        all->n++;
    else
        kn_free(f->path);
    return status;
}

/* Lists a folder and those in it; hidden ones and sourcedata are left out. */
static kn_status list_folder(found_files *all, const char *folder, int depth)
{
    kn_status status = kn_check_cancel(all->ctx);
    char path[PATH];
    struct stat info;
    DIR *d = status == KN_OK ? opendir(folder) : NULL;
    for (struct dirent *e; d && status == KN_OK && all->left != 0 && (e = readdir(d));) {
        all->left--;
        if (*e->d_name == '.' || strcmp(e->d_name, "sourcedata") == 0 ||
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= PATH ||
            stat(path, &info) != 0)
            continue;
        if (S_ISREG(info.st_mode))
            status = append_file(all, path);
        else if (S_ISDIR(info.st_mode) && depth < DEPTH)
            status = list_folder(all, path, depth + 1);
    }
    if (d)
        closedir(d);
    return status;
}

/* Frees the paths and the list. */
static void clear_files(found_files *all)
{
    for (ptrdiff_t i = 0; i < all->n; i++)
        kn_free(all->file[i].path);
    kn_free(all->file);
}

/* ---- the query ---- */

/* Returns whether the file has the value of every "key=value" of a list. *valid: the list is one.
 */
static bool has_entities(const bids_file *f, const char *list, bool *valid)
{
    bool all = true;
    for (const char *at = list; at && *at; at += *at == ',') {
        size_t n = strcspn(at, ","), key = strcspn(at, "=,-");
        char name[64];
        *valid = *valid && key > 0 && key + 1 < n && key < sizeof name;
        if (!*valid)
            return false;
        snprintf(name, sizeof name, "%.*s", (int)key, at);
        all = all && compare(value_of(f, name), (span){at + key + 1, n - key - 1}) == 0;
        at += n;
    }
    return all;
}

/* Returns whether the entities, suffix, space and desc of a file name are those of the query; parts
 * that the query does not name fit always. *valid: as has_entities() sets it. */
static bool fits(const bids_file *f, const kn_bids_query *q, bool *valid)
{
    bool all = has_entities(f, q->entities, valid);
    return all && (!q->suffix || is_text(f->suffix, q->suffix)) &&
           (!q->space || is_text(value_of(f, "space"), q->space)) &&
           (!q->desc || is_text(value_of(f, "desc"), q->desc));
}

/* Comparison for qsort of files: by sub, ses and hemi, then by path. */
static int by_participant(const void *a, const void *b)
{
    const bids_file *x = a, *y = b;
    static const char *const KEYS[] = {"sub", "ses", "hemi"};
    for (int k = 0; k < 3; k++) {
        int order = compare(value_of(x, KEYS[k]), value_of(y, KEYS[k]));
        if (order)
            return order;
    }
    return strcmp(x->path, y->path);
}

typedef struct names {
    char text[KN_BIDS_SUFFIXES];
    ptrdiff_t n;
} names;

/* Adds a value that is not yet listed. */
static void add_value(names *list, span value)
{
    size_t at = strlen(list->text);
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)value.n, value.text);
    if (value.n == 0)
        snprintf(word, sizeof word, "none");
    for (const char *t = list->text; *t; t += strcspn(t, ","), t += *t ? 2 : 0)
        if (strcspn(t, ",") == strlen(word) && strncmp(t, word, strlen(word)) == 0)
            return;
    if (list->n++ < LISTED)
        snprintf(list->text + at, sizeof list->text - at, "%s%s", at ? ", " : "", word);
}

/* Fails because files of one participant differ; names the first entity in which they do. */
static kn_status refuse_choice(kn_ctx *ctx, const char *folder, const bids_file *f, ptrdiff_t n)
{
    for (int k = 0; k < f->n; k++) {
        char key[64];
        names list = {0};
        snprintf(key, sizeof key, "%.*s", (int)f->key[k].n, f->key[k].text);
        for (ptrdiff_t i = 0; i < n; i++)
            add_value(&list, value_of(&f[i], key));
        bool own = strcmp(key, "space") == 0 || strcmp(key, "desc") == 0;
        if (list.n > 1 && strcmp(key, "hemi") != 0)
            return kn_fail(ctx, KN_ERR_DATA,
                           "%s: %td files fit for sub-%.*s, which differ in %s (%s); choose one by "
                           "{%s=%s%sVALUE}",
                           folder, n, (int)value_of(f, "sub").n, value_of(f, "sub").text, key,
                           list.text, own ? key : "entities", own ? "" : key, own ? "" : "=");
    }
    return kn_fail(ctx, KN_ERR_DATA,
                   "%s: %td files fit for sub-%.*s, such as %s and %s; choose one by {suffix}, "
                   "{space}, {desc} or {entities}",
                   folder, n, (int)value_of(f, "sub").n, value_of(f, "sub").text, f[0].path,
                   f[1].path);
}

/* Returns whether two files are the hemispheres of one map, left first. */
static bool are_hemispheres(const bids_file *f)
{
    int differ = 0;
    for (int k = 0; k < f[0].n && f[0].n == f[1].n; k++)
        differ +=
            compare(f[0].key[k], f[1].key[k]) != 0 || compare(f[0].value[k], f[1].value[k]) != 0;
    return f[0].n == f[1].n && differ == 1 && is_text(value_of(&f[0], "hemi"), "L") &&
           is_text(value_of(&f[1], "hemi"), "R") && strcmp(f[0].ending, f[1].ending) == 0;
}

/* Returns the end of the files of the participant and session of file i. */
static ptrdiff_t end_of_visit(const found_files *all, ptrdiff_t i)
{
    ptrdiff_t end = i + 1;
    while (end < all->n &&
           compare(value_of(&all->file[end], "sub"), value_of(&all->file[i], "sub")) == 0 &&
           compare(value_of(&all->file[end], "ses"), value_of(&all->file[i], "ses")) == 0)
        end++;
    return end;
}

/* Fails if files of one visit are neither one image nor two hemispheres. *parts: 1 or 2, the same
 * for all. */
static kn_status check_visits(const found_files *all, const char *folder, int *parts)
{
    *parts = 0;
    for (ptrdiff_t i = 0, end; i < all->n; i = end) {
        const bids_file *f = &all->file[i];
        end = end_of_visit(all, i);
        ptrdiff_t n = end - i;
        if (n > 2 || (n == 2 && !are_hemispheres(f)))
            return refuse_choice(all->ctx, folder, f, n);
        if (*parts > 0 && n != *parts) {
            ptrdiff_t odd = n == 1 ? i : 0;
            return kn_fail(all->ctx, KN_ERR_DATA,
                           "%s: %s has no other hemisphere, but other participants have both; "
                           "remove the file, or name one hemisphere by {entities=hemi=L}",
                           folder, all->file[odd].path);
        }
        *parts = (int)n;
    }
    return KN_OK;
}

/* Sets *out to a list of the files as text, one row per participant and session with `parts` paths;
 * freed with kn_free. KN_ERR_DATA as kn_path_check_cell() for a path. */
static kn_status write_list(const found_files *all, int parts, char **out)
{
    void *memory;
    size_t bytes = 1, at = 0;
    kn_status status = KN_OK;
    for (ptrdiff_t i = 0; i < all->n && status == KN_OK; i++) {
        bytes += strlen(all->file[i].path) + value_of(&all->file[i], "sub").n + 8;
        status = kn_path_check_cell(all->ctx, all->file[i].path);
    }
    if (status == KN_OK)
        status = kn_alloc(all->ctx, (ptrdiff_t)bytes, 1, &memory);
    if (status != KN_OK)
        return status;
    *out = memory;
    for (ptrdiff_t i = 0; i < all->n; i++) {
        span sub = value_of(&all->file[i], "sub");
        if (i % parts == 0)
            at += (size_t)snprintf(*out + at, bytes - at, "sub-%.*s", (int)sub.n, sub.text);
        at += (size_t)snprintf(*out + at, bytes - at, "\t%s%s", all->file[i].path,
                               i % parts == parts - 1 ? "\n" : "");
    }
    return KN_OK;
}

void kn_bids_suffixes(kn_ctx *ctx, const char *folder, char out[KN_BIDS_SUFFIXES])
{
    enum { ENTRIES = 20000 }; /* for a message a part of a large folder is enough */
    found_files all = {.ctx = ctx, .left = ENTRIES};
    names list = {0};
    if (list_folder(&all, folder, 0) == KN_OK)
        for (ptrdiff_t i = 0; i < all.n; i++)
            add_value(&list, all.file[i].suffix);
    snprintf(out, KN_BIDS_SUFFIXES, "%s", list.text);
    clear_files(&all);
}

kn_status kn_bids_find(kn_ctx *ctx, const char *folder, const kn_bids_query *query, char **list)
{
    kn_status status;
    found_files all = {.ctx = ctx, .left = -1};
    ptrdiff_t n = 0;
    int parts;
    bool valid = true;
    names suffixes = {0};
    *list = NULL;
    KN_TRY(list_folder(&all, folder, 0));
    for (ptrdiff_t i = 0; i < all.n; i++) {
        add_value(&suffixes, all.file[i].suffix);
        if (!fits(&all.file[i], query, &valid)) {
            kn_free(all.file[i].path);
            all.file[i].path = NULL;
        } else {
            all.file[n] = all.file[i];
            if (n++ < i)
                all.file[i].path = NULL;
        }
    }
    ptrdiff_t any = all.n;
    all.n = n;
    if (!valid) {
        status =
            kn_fail(ctx, KN_ERR_ARGUMENT,
                    "{entities} is '%s', but must be KEY=VALUE,KEY=VALUE, such as den=32k,label=GM",
                    query->entities);
        goto out;
    }
    if (n == 0) {
        status = kn_fail(ctx, KN_ERR_DATA,
                         "%s: none of %td images has the entities asked for; %s%s", folder, any,
                         any > 0 ? "the suffixes are "
                                 : "expected names such as "
                                   "sub-01_space-fsLR_thickness.",
                         any > 0 ? suffixes.text : "shape.gii");
        goto out;
    }
    qsort(all.file, (size_t)n, sizeof *all.file, by_participant);
    KN_TRY(check_visits(&all, folder, &parts));
    KN_TRY(write_list(&all, parts, list));
out:
    clear_files(&all);
    return status;
}

/* ---- names of maps --------------------------------------------------------------------------- */

/* Appends a formatted text at *at; text beyond `size` is cut, but counted. */
static void append_text(char *out, size_t size, size_t *at, const char *format, ...)
    KN_PRINTF(4, 5);

static void append_text(char *out, size_t size, size_t *at, const char *format, ...)
{
    va_list args;
    size_t end = *at < size ? *at : size - 1;
    va_start(args, format);
    *at += (size_t)vsnprintf(out + end, size - end, format, args);
    va_end(args);
}

/* Returns the name of the folder of a path if it is a data type of BIDS, else "anat". */
static span datatype_of(const char *path)
{
    static const char *const TYPES[] = {"anat", "func", "dwi", "fmap", "perf", "pet", "meg", "eeg"};
    const char *end = strrchr(path, '/'), *start = end;
    while (start && start > path && start[-1] != '/')
        start--;
    for (size_t k = 0; start && k < sizeof TYPES / sizeof *TYPES; k++)
        if (is_text((span){start, (size_t)(end - start)}, TYPES[k]))
            return (span){TYPES[k], strlen(TYPES[k])};
    return (span){TYPES[0], strlen(TYPES[0])};
}

bool kn_bids_map_name(const char *image, const char *map, char *out, size_t size)
{
    bids_file f;
    size_t at = 0;
    if (!parse_name(image, &f))
        return false;
    span type = datatype_of(image), ses = value_of(&f, "ses"), desc = value_of(&f, "desc");
    append_text(out, size, &at, "sub-%.*s/", (int)f.value[0].n, f.value[0].text);
    if (ses.n > 0)
        append_text(out, size, &at, "ses-%.*s/", (int)ses.n, ses.text);
    append_text(out, size, &at, "%.*s/", (int)type.n, type.text);
    for (int k = 0; k < f.n; k++)
        if (!is_text(f.key[k], "desc"))
            append_text(out, size, &at, "%.*s-%.*s_", (int)f.key[k].n, f.key[k].text,
                        (int)f.value[k].n, f.value[k].text);
    append_text(out, size, &at, "desc-%.*s", (int)desc.n, desc.text);
    for (const char *c = map; *c; c++)
        if (isalnum((unsigned char)*c))
            append_text(out, size, &at, "%c",
                        c == map && desc.n > 0 ? toupper((unsigned char)*c) : *c);
    append_text(out, size, &at, "_%.*s", (int)f.suffix.n, f.suffix.text);
    return at < size;
}
