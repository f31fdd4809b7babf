/* Implements subjects_folder.h. Folders are listed once and sorted; each table is then filled from
 * one file per folder. */
#include "io/freesurfer/subjects_folder.h"

#include <dirent.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file/path.h"
#include "io/freesurfer/measures.h"
#include "io/freesurfer/stats_file.h"

enum { PATH = 4096, NAME = 256, LISTED = 5 };
static const char LONG[] = ".long.";

/* Returns whether path is an existing folder. */
static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Returns whether path has characters of a shell pattern and is no existing file. */
static bool is_pattern(const char *path)
{
    return strpbrk(path, "*?[") && access(path, F_OK) != 0;
}

/* Writes PATH/NAME to out; returns whether it fits. */
static bool join_path(const char *folder, const char *name, char out[PATH])
{
    return snprintf(out, PATH, "%s/%s", folder, name) < PATH;
}

/* Returns whether a folder has a subfolder stats, as that of a FreeSurfer subject. */
static bool has_stats(const char *folder)
{
    char path[PATH];
    return join_path(folder, "stats", path) && is_folder(path);
}

/* Returns the name after the last slash of a path; borrowed. */
static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- folders of subjects ---- */

typedef struct folders {
    char **path; /* n, sorted */
    ptrdiff_t n, room;
} folders;

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Appends a folder with stats unless it is an average or hidden. KN_ERR_DATA as
 * kn_path_check_cell() for its name. */
static kn_status append_folder(kn_ctx *ctx, folders *f, const char *path)
{
    const char *name = base_of(path);
    void *memory = f->path;
    if (*name == '.' || strncmp(name, "fsaverage", 9) == 0 || !has_stats(path))
        return KN_OK;
    kn_status status = kn_path_check_cell(ctx, name);
    if (status != KN_OK)
        return status;
    status = kn_grow(ctx, f->n + 1, sizeof *f->path, &memory, &f->room);
    f->path = memory;
    if (status == KN_OK)
        status = kn_text_copy(ctx, path, strlen(path), &f->path[f->n]);
    f->n += status == KN_OK;
    return status;
}

/* Lists the folders that a shell pattern matches, or the entries of a folder of subjects, as
 * append_folder() accepts them, sorted by path; nothing for a folder that cannot be read. Fails
 * as append_folder() or without memory. */
static kn_status list_folders(kn_ctx *ctx, const char *path, folders *f)
{
    kn_status status = KN_OK;
    char full[PATH];
    if (is_pattern(path)) {
        glob_t found = {0};
        if (glob(path, GLOB_NOSORT, NULL, &found) == 0)
            for (size_t k = 0; k < found.gl_pathc && status == KN_OK; k++) {
                size_t n = strlen(found.gl_pathv[k]);
                while (n > 1 && found.gl_pathv[k][n - 1] == '/')
                    found.gl_pathv[k][--n] = '\0';
                status = append_folder(ctx, f, found.gl_pathv[k]);
            }
        globfree(&found);
    } else {
        DIR *folder = opendir(path);
        for (struct dirent *e; folder && status == KN_OK && (e = readdir(folder));)
            if (join_path(path, e->d_name, full))
                status = append_folder(ctx, f, full);
        if (folder)
            closedir(folder);
    }
    if (status == KN_OK && f->n > 0)
        qsort(f->path, (size_t)f->n, sizeof *f->path, by_name);
    return status;
}

/* Frees the paths and the list. */
static void clear_folders(folders *f)
{
    for (ptrdiff_t i = 0; i < f->n; i++)
        kn_free(f->path[i]);
    kn_free(f->path);
}

bool kn_subjects_is_folder(const char *path)
{
    bool found = false;
    char full[PATH];
    if (is_pattern(path)) {
        glob_t all = {0};
        if (glob(path, GLOB_NOSORT, NULL, &all) == 0)
            for (size_t k = 0; k < all.gl_pathc && !found; k++)
                found = has_stats(all.gl_pathv[k]);
        globfree(&all);
        return found;
    }
    DIR *folder = opendir(path);
    for (struct dirent *e; folder && !found && (e = readdir(folder));)
        found = *e->d_name != '.' && join_path(path, e->d_name, full) && has_stats(full);
    if (folder)
        closedir(folder);
    return found;
}

/* Fails if some folders are longitudinal and others are not: a participant would count twice. */
static kn_status check_longitudinal(kn_ctx *ctx, const char *path, const folders *f)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < f->n; i++)
        n += strstr(base_of(f->path[i]), LONG) != NULL;
    if (n == 0 || n == f->n)
        return KN_OK;
    return kn_fail(ctx, KN_ERR_DATA,
                   "%s: %td of %td folders are longitudinal (.long.), the others are "
                   "cross-sectional or templates; name one kind by a pattern such as '%s/*.long.*'",
                   path, n, f->n, is_pattern(path) ? "SUBJECTS_DIR" : path);
}

/* ---- one table ---- */

typedef struct names {
    char text[512];
    ptrdiff_t n;
} names;

/* Appends a name to the text of a message, ", ..." after LISTED names, and counts it. */
static void add_name(names *list, const char *name)
{
    size_t at = strlen(list->text);
    if (list->n++ < LISTED)
        snprintf(list->text + at, sizeof list->text - at, "%s%s", at ? ", " : "", name);
    else if (list->n == LISTED + 1)
        snprintf(list->text + at, sizeof list->text - at, ", ...");
}

typedef struct kind { /* of a table */
    const char *hemi; /* "lh", "rh"; NULL: a volume */
    const char *atlas;
    const kn_stats_measure *measure;
} kind;

/* Writes the path of a kind of .stats file within a subject's folder, "stats/lh.aparc.stats". */
static void file_name(const kind *k, char out[NAME])
{
    snprintf(out, NAME, "stats/%s%s%s.stats", k->hemi ? k->hemi : "", k->hemi ? "." : "", k->atlas);
}

/* Adds a value of the file `path` to the current row of the wide table. KN_ERR_DATA if the row has
 * a value of this column. */
static kn_status add_once(kn_ctx *ctx, const char *path, const char *column, const char *value,
                          kn_wide *w)
{
    if (kn_wide_has(w, column))
        return kn_fail(ctx, KN_ERR_DATA, "%s: %.100s occurs a second time; it must have one value",
                       path, column);
    return kn_wide_cell_add(ctx, w, column, value);
}

/* Adds a value of the file `path` to the current row of the wide table, in the column `name`, or
 * "lh_name_thickness" for a table of a hemisphere. KN_ERR_FORMAT if the name is too long;
 * KN_ERR_DATA as add_once(). */
static kn_status add_cell(kn_ctx *ctx, const kind *k, const char *path, const char *name,
                          const char *value, kn_wide *w)
{
    char column[NAME];
    if (!k->hemi)
        return add_once(ctx, path, name, value, w);
    if (snprintf(column, sizeof column, "%s_%s_%s", k->hemi, name, k->measure->name) >= NAME)
        return kn_fail(ctx, KN_ERR_FORMAT, "the region '%.60s...' has too long a name", name);
    return add_once(ctx, path, column, value, w);
}

/* Adds the "# Measure" lines that the tools of FreeSurfer add: of a hemisphere the mean or total of
 * the measure and two volumes of the brain, of a volume all of them. */
static kn_status add_measures(kn_ctx *ctx, const kind *k, const char *path, const kn_stats_file *f,
                              kn_wide *w)
{
    static const char ETIV[] = "eTIV";
    kn_status status = KN_OK;
    bool volume = !k->hemi && strcmp(k->measure->name, "volume") == 0;
    for (ptrdiff_t i = 0; k->hemi && k->measure->whole && i < f->n_measures; i++)
        if (strcmp(f->measure[i].name, k->measure->whole) == 0)
            KN_TRY(add_cell(ctx, k, path, f->measure[i].name, f->measure[i].value, w));
    for (ptrdiff_t i = 0; i < f->n_measures; i++) {
        const char *name = f->measure[i].name;
        if (volume && strcmp(name, ETIV) == 0)
            name = "EstimatedTotalIntraCranialVol";
        if (volume ||
            (k->hemi && (strcmp(name, "BrainSegVolNotVent") == 0 || strcmp(name, ETIV) == 0)))
            KN_TRY(add_once(ctx, path, name, f->measure[i].value, w));
    }
out:
    return status;
}

static kn_status add_subject(kn_ctx *ctx, const kind *k, const char *folder, const char *path,
                             kn_wide *w)
{
    kn_stats_file f;
    char id[NAME];
    const char *name = base_of(folder), *end = strstr(name, LONG);
    kn_status status = kn_stats_read(ctx, path, k->measure->column, &f);
    if (status != KN_OK)
        return status;
    snprintf(id, sizeof id, "%.*s", end ? (int)(end - name) : (int)strlen(name), name);
    KN_TRY(kn_wide_row(ctx, w, id));
    for (ptrdiff_t i = 0; i < f.n_regions; i++)
        KN_TRY(add_cell(ctx, k, path, f.region[i].name, f.region[i].value, w));
    KN_TRY(add_measures(ctx, k, path, &f, w));
out:
    kn_stats_clear(&f);
    return status;
}

/* Appends a copy of a path to out->file, which out owns. Fails only without memory. */
static kn_status keep_file(kn_ctx *ctx, const char *path, kn_stats_tables *out)
{
    void *memory = out->file;
    kn_status status = kn_grow(ctx, out->n_files + 1, sizeof *out->file, &memory, &out->file_room);
    out->file = memory;
    if (status == KN_OK)
        status = kn_text_copy(ctx, path, strlen(path), &out->file[out->n_files]);
    out->n_files += status == KN_OK;
    return status;
}

/* Name of the first cell, by which the table is recognised. */
static void corner_of(const kind *k, char out[NAME])
{
    if (k->hemi)
        snprintf(out, NAME, "%s.%s.%s", k->hemi, k->atlas, k->measure->name);
    else
        snprintf(out, NAME, "Measure:%s", k->measure->name);
}

static kn_status read_table(kn_ctx *ctx, const char *path, const folders *f, const kind *k,
                            kn_stats_tables *out)
{
    kn_status status = KN_OK;
    kn_wide w = {0};
    names without = {0};
    char file[NAME], full[PATH], corner[NAME], name[PATH];
    file_name(k, file);
    for (ptrdiff_t i = 0; i < f->n; i++) {
        KN_TRY(kn_check_cancel(ctx));
        if (!join_path(f->path[i], file, full) || access(full, F_OK) != 0) {
            add_name(&without, base_of(f->path[i]));
            continue;
        }
        KN_TRY(add_subject(ctx, k, f->path[i], full, &w));
        KN_TRY(keep_file(ctx, full, out));
    }
    if (w.rows == 0) {
        status = kn_fail(ctx, KN_ERR_DATA, "%s: no folder has %s", path, file);
        goto out;
    }
    if (without.n > 0)
        kn_log(ctx, KN_LOG_WARNING, "%s: %td of %td folders have no %s: %s", path, without.n, f->n,
               file, without.text);
    corner_of(k, corner);
    if (!join_path(path, file, name)) {
        status = kn_fail(ctx, KN_ERR_IO, "%s: the path is too long", path);
        goto out;
    }
    KN_TRY(kn_text_copy(ctx, name, strlen(name), &out->name[out->n]));
    out->n++;
    KN_TRY(kn_wide_text(ctx, &w, corner, &out->text[out->n - 1]));
out:
    kn_wide_clear(&w);
    return status;
}

/* ---- atlases and measures ---- */

/* Returns whether a folder has the file of a table. */
static bool any_has(const folders *f, const kind *k)
{
    char file[NAME], full[PATH];
    file_name(k, file);
    for (ptrdiff_t i = 0; i < f->n; i++)
        if (join_path(f->path[i], file, full) && access(full, F_OK) == 0)
            return true;
    return false;
}

/* Fails with the atlases of the first folder. */
static kn_status refuse_atlas(kn_ctx *ctx, const char *path, const folders *f, const char *atlas)
{
    names list = {0};
    struct dirent **entry = NULL;
    char stats[PATH];
    int n = join_path(f->path[0], "stats", stats) ? scandir(stats, &entry, NULL, alphasort) : 0;
    for (int k = 0; k < n; k++) {
        char *name = entry[k]->d_name;
        size_t length = strlen(name);
        if (length > 6 && strcmp(name + length - 6, ".stats") == 0 &&
            strncmp(name, "rh.", 3) != 0) {
            name[length - 6] = '\0';
            add_name(&list, strncmp(name, "lh.", 3) == 0 ? name + 3 : name);
        }
        free(entry[k]);
    }
    free(entry);
    return kn_fail(ctx, KN_ERR_ARGUMENT,
                   "%s: no folder has stats/lh.%.60s.stats or stats/%.60s.stats (named in "
                   "{atlas}); %s has %s",
                   path, atlas, atlas, base_of(f->path[0]), list.n > 0 ? list.text : "no .stats");
}

typedef struct words {
    char text[512];
    const char *word[16];
    int n;
} words;

/* Splits a list at commas. */
static kn_status split_words(kn_ctx *ctx, const char *option, const char *list, words *out)
{
    *out = (words){0};
    if (strlen(list) >= sizeof out->text)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s is too long", option);
    strcpy(out->text, list);
    for (char *at = out->text; at;) {
        char *comma = strchr(at, ',');
        if (comma)
            *comma++ = '\0';
        at += strspn(at, " ");
        if (!*at || strchr(at, '/') || out->n == 16)
            return kn_fail(ctx, KN_ERR_ARGUMENT, "%s is '%s', expected names with commas", option,
                           list);
        out->word[out->n++] = at;
        at = comma;
    }
    return KN_OK;
}

/* Reads the tables of one atlas: both hemispheres of every measure, or the volume. *used: set for
 * the measures that the atlas has. */
static kn_status read_atlas(kn_ctx *ctx, const char *path, const folders *f, const char *atlas,
                            const words *measures, bool *used, kn_stats_tables *out)
{
    static const char *const HEMI[] = {"lh", "rh"};
    kn_status status = KN_OK;
    kind k = {.hemi = HEMI[0], .atlas = atlas};
    bool surface = any_has(f, &k), any = false;
    k.hemi = NULL;
    if (!surface && !any_has(f, &k))
        return refuse_atlas(ctx, path, f, atlas);
    for (int m = 0; m < measures->n; m++) {
        k.measure = kn_stats_measure_find(measures->word[m], surface);
        if (!k.measure)
            continue;
        used[m] = any = true;
        for (int h = 0; h < 1 + surface; h++) {
            k.hemi = surface ? HEMI[h] : NULL;
            if (out->n == KN_STATS_TABLES)
                return kn_fail(ctx, KN_ERR_ARGUMENT, "{measure} and {atlas} name too many tables");
            KN_TRY(read_table(ctx, path, f, &k, out));
        }
    }
    if (!any)
        status = kn_fail(ctx, KN_ERR_ARGUMENT, "{measure} names nothing that %s has; expected %s",
                         atlas, KN_STATS_MEASURES);
out:
    return status;
}

kn_status kn_subjects_read(kn_ctx *ctx, const char *path, const char *measures, const char *atlases,
                           kn_stats_tables *out)
{
    kn_status status;
    folders f = {0};
    words of_measures, of_atlases;
    bool used[16] = {false};
    *out = (kn_stats_tables){0};
    KN_TRY(split_words(ctx, "{measure}", measures, &of_measures));
    KN_TRY(split_words(ctx, "{atlas}", atlases, &of_atlases));
    KN_TRY(list_folders(ctx, path, &f));
    if (f.n == 0) {
        status = kn_fail(ctx, KN_ERR_DATA, "%s: no folder has a folder stats", path);
        goto out;
    }
    KN_TRY(check_longitudinal(ctx, path, &f));
    for (int a = 0; a < of_atlases.n; a++)
        KN_TRY(read_atlas(ctx, path, &f, of_atlases.word[a], &of_measures, used, out));
    for (int m = 0; m < of_measures.n; m++)
        if (!used[m]) {
            status =
                kn_fail(ctx, KN_ERR_ARGUMENT, "{measure}: '%.60s' is no measure of %s; expected %s",
                        of_measures.word[m], atlases, KN_STATS_MEASURES);
            goto out;
        }
out:
    clear_folders(&f);
    if (status != KN_OK)
        kn_stats_tables_clear(out);
    return status;
}

void kn_stats_tables_clear(kn_stats_tables *t)
{
    for (int k = 0; k < KN_STATS_TABLES; k++) {
        kn_free(t->name[k]);
        kn_free(t->text[k]);
    }
    for (ptrdiff_t i = 0; i < t->n_files; i++)
        kn_free(t->file[i]);
    kn_free(t->file);
    *t = (kn_stats_tables){0};
}
