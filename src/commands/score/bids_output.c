/* Implements bids_output.h. Images are written by the map writer under the names of their sources;
 * a table is phenotype/MAP.tsv with the sidecar of the map's table. */
#include "commands/score/bids_output.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/sample.h"
#include "data/table/text_list.h"
#include "io/bids/derivatives.h"
#include "io/file/path.h"

enum { PATH = 4096 };
static const char DESCRIPTION[] = "dataset_description.json";

static const char *const MEANING[KN_N_MAPS] = {
    "Deviation from the normative model, as a z-score", "Mean predicted by the normative model",
    "Variance of the predicted mean",
    "Deviation as a z-score where it is significant after FDR correction, 0 elsewhere",
    "Total predictive variance"};

kn_status kn_bids_output_check(kn_ctx *ctx, const kn_settings *s)
{
    if (s->bids_output && (s->part || s->join > 0))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{bids_output} cannot be used with {%s}",
                       s->part ? "part" : "join");
    if (s->bids_output && !s->folder)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{bids_output} needs {output}");
    return KN_OK;
}

/* ---- names ---- */

/* Path of part k of the image of participant i; borrowed. */
static const char *source_of(const kn_bids_output *o, ptrdiff_t i, int k)
{
    const kn_images *images = o->data->images;
    return kn_images_file(images, o->image[i] * kn_images_parts(images) + k);
}

/* Writes the path of a map without extension; as kn_maplayout.place. */
static kn_status place_stem(kn_ctx *ctx, const kn_maplayout *l, const char *map, ptrdiff_t i, int k,
                            char *path)
{
    const kn_bids_output *o = l->owner;
    char name[PATH];
    if (!o->image)
        snprintf(name, sizeof name, "phenotype/%s", map);
    else if (!kn_bids_map_name(source_of(o, i, k), map, name, sizeof name))
        return kn_fail(ctx, KN_ERR_DATA,
                       "{bids_output}: %s has no BIDS name, expected a name such as "
                       "sub-01_space-MNI_probseg.nii.gz",
                       source_of(o, i, k));
    return kn_path_in_folder(ctx, l->dir, name, path, PATH);
}

/* Appends an extension to a path; KN_ERR_IO if it becomes too long. */
static kn_status add_ending(kn_ctx *ctx, char *path, size_t size, const char *ending)
{
    size_t n = strlen(path);
    if (n + strlen(ending) >= size)
        return kn_fail(ctx, KN_ERR_IO, "%s: the path is too long", path);
    strcpy(path + n, ending);
    return KN_OK;
}

/* Writes the path of a map: kn_maplayout.place. */
static kn_status place_map(kn_ctx *ctx, const kn_maplayout *l, const char *map, ptrdiff_t i, int k,
                           char *path, size_t size)
{
    const kn_bids_output *o = l->owner;
    kn_status status = place_stem(ctx, l, map, i, k, path);
    return status == KN_OK
               ? add_ending(ctx, path, size, o->image ? l->space->part[k].ending : ".tsv")
               : status;
}

/* ---- preparation ---- */

/* Sets the image of each participant from the match of the data. */
static kn_status find_images(kn_ctx *ctx, kn_bids_output *o, const kn_sample *p)
{
    kn_status status;
    const kn_match *match = &o->data->match;
    ptrdiff_t *at = NULL;
    KN_TRY(kn_alloc_i(ctx, o->data->n, &at));
    KN_TRY(kn_alloc_i(ctx, o->n, &o->image));
    for (ptrdiff_t m = 0; m < match->n; m++)
        at[match->covariate_row[m]] = match->response_row[m];
    for (ptrdiff_t i = 0; i < o->n; i++)
        o->image[i] = at[p->covariate_row[i]];
out:
    kn_free(at);
    return status;
}

/* Sets the participant_id of each row, "sub-" and a label of letters and digits. */
static kn_status make_ids(kn_ctx *ctx, kn_bids_output *o, const char *const *id)
{
    kn_status status;
    void *memory;
    char text[PATH];
    KN_TRY(kn_alloc(ctx, o->n, sizeof(char *), &memory));
    o->id = memory;
    for (ptrdiff_t i = 0; i < o->n; i++) {
        const char *label = strncmp(id[i], "sub-", 4) == 0 ? id[i] + 4 : id[i];
        size_t n = 0;
        while (isalnum((unsigned char)label[n]))
            n++;
        if (n == 0 || label[n] || n + 5 > sizeof text)
            return kn_fail(ctx, KN_ERR_DATA,
                           "{bids_output}: the ID '%s' is no BIDS label, expected letters and "
                           "digits, such as sub-01",
                           kn_clipped(id[i]).text);
        snprintf(text, sizeof text, "sub-%s", label);
        KN_TRY(kn_text_copy(ctx, text, strlen(text), &o->id[i]));
    }
out:
    return status;
}

/* Fails if two participants have the same name: the same path of an image, or participant_id. */
static kn_status check_distinct(kn_ctx *ctx, const kn_bids_output *o)
{
    kn_status status;
    void *memory = NULL;
    int parts = o->image ? kn_images_parts(o->data->images) : 1;
    char path[PATH];
    ptrdiff_t all = o->n * parts, done = 0;
    KN_TRY(kn_alloc(ctx, all, sizeof(char *), &memory));
    char **name = memory;
    for (; done < all; done++) {
        if (o->image)
            KN_TRY(place_stem(ctx, &o->layout, "z", done / parts, (int)(done % parts), path));
        const char *text = o->image ? path : o->id[done];
        KN_TRY(kn_text_copy(ctx, text, strlen(text), &name[done]));
    }
    qsort(name, (size_t)all, sizeof *name, kn_by_text);
    for (ptrdiff_t i = 1; i < all; i++)
        if (strcmp(name[i - 1], name[i]) == 0) {
            status =
                kn_fail(ctx, KN_ERR_DATA,
                        "{bids_output}: two %s %s; give each participant and session its own name",
                        o->image ? "maps would be" : "rows have the ID", name[i]);
            goto out;
        }
out:
    kn_names_free(memory, done);
    return status;
}

/* Makes the folders of a path below the dataset. */
static kn_status make_folders(kn_ctx *ctx, const kn_bids_output *o, char *path)
{
    kn_status status = KN_OK;
    for (char *c = path + strlen(o->layout.dir); status == KN_OK && (c = strchr(c, '/')); c++) {
        *c = '\0';
        status = kn_created_files_folder(ctx, o->layout.options->made, path);
        *c = '/';
    }
    return status;
}

/* Writes the path of the sidecar of a map of an image. */
static kn_status sidecar_path(kn_ctx *ctx, const kn_bids_output *o, int map, ptrdiff_t i, int k,
                              char path[PATH])
{
    kn_status status = place_stem(ctx, &o->layout, kn_map_name[map], i, k, path);
    return status == KN_OK ? add_ending(ctx, path, PATH, ".json") : status;
}

/* Makes the folders and checks that every file can be written. */
static kn_status check_files(kn_ctx *ctx, const kn_bids_output *o)
{
    kn_status status = KN_OK;
    char path[PATH];
    for (int map = 0; map < KN_N_MAPS; map++) {
        if (!(o->write & 1u << map))
            continue;
        for (ptrdiff_t i = 0; i < (o->image ? o->n : 1); i++)
            for (int k = 0; k < kn_mapfile_count(&o->layout); k++) {
                KN_TRY(sidecar_path(ctx, o, map, i, k, path));
                KN_TRY(make_folders(ctx, o, path));
                KN_TRY(kn_writer_check(ctx, path, o->layout.options));
            }
        KN_TRY(kn_mapfile_check(ctx, &o->layout, kn_map_name[map], o->n, false));
    }
out:
    return status;
}

/* Checks that dataset_description.json can be written, and that an old one is of kronorm. */
static kn_status check_description(kn_ctx *ctx, const kn_bids_output *o)
{
    char path[PATH];
    kn_status status = kn_path_in_folder(ctx, o->layout.dir, DESCRIPTION, path, PATH);
    if (status != KN_OK || access(path, F_OK) != 0)
        return status;
    json_t *old = json_load_file(path, 0, NULL);
    const json_t *by = json_array_get(json_object_get(old, "GeneratedBy"), 0);
    const char *name = json_string_value(json_object_get(by, "Name"));
    if (!name || strcmp(name, "kronorm") != 0)
        status = kn_fail(ctx, KN_ERR_ARGUMENT,
                         "{bids_output}: %s is not of kronorm; name a new folder", path);
    json_decref(old);
    return status == KN_OK ? kn_writer_check(ctx, path, o->layout.options) : status;
}

/* Length of the folder of the dataset of an image: the part of its path before the first folder or
 * file sub-LABEL. */
static size_t root_length(const char *path)
{
    const char *at = strncmp(path, "sub-", 4) == 0 ? path : strstr(path, "/sub-");
    return at ? (size_t)(at - path) + (at > path || *at == '/') : 0;
}

/* Sets the folder of the source dataset if all images are in one. */
static kn_status find_root(kn_ctx *ctx, kn_bids_output *o)
{
    const char *first = o->image && o->n > 0 ? source_of(o, 0, 0) : NULL;
    size_t n = first ? root_length(first) : 0;
    for (ptrdiff_t i = 0; first && i < o->n; i++)
        for (int k = 0; k < kn_images_parts(o->data->images); k++) {
            const char *path = source_of(o, i, k);
            if (root_length(path) != n || strncmp(path, first, n) != 0)
                return KN_OK;
        }
    return first ? kn_text_copy(ctx, first, n, &o->root) : KN_OK;
}

kn_status kn_bids_output_new(kn_ctx *ctx, const kn_settings *s, const kn_data *data,
                             const kn_maplayout *main, const kn_sample *p, unsigned write,
                             kn_bids_output *o)
{
    kn_status status = KN_OK;
    bool images = data->images && kn_images_is_list(data->images);
    *o = (kn_bids_output){0};
    if (!s->bids_output)
        return KN_OK;
    if (images ? main->space->kind != KN_SPACE_IMAGE : main->space->kind != KN_SPACE_TABLE)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{bids_output} needs one image per participant, or a table");
    *o = (kn_bids_output){.data = data, .write = write, .n = p->n, .layout = *main};
    o->layout.dir = s->bids_output;
    o->layout.split = images;
    o->layout.format = images ? KN_FORMAT_TRAINED : KN_FORMAT_CSV;
    o->layout.place = place_map;
    o->layout.owner = o;
    KN_TRY(kn_created_files_folder(ctx, main->options->made, s->bids_output));
    KN_TRY(check_description(ctx, o));
    KN_TRY(images ? find_images(ctx, o, p) : make_ids(ctx, o, main->id));
    if (!images)
        o->layout.id = (const char *const *)o->id;
    KN_TRY(check_distinct(ctx, o));
    KN_TRY(check_files(ctx, o));
    KN_TRY(find_root(ctx, o));
out:
    return status;
}

kn_status kn_bids_output_open(kn_ctx *ctx, kn_bids_output *o)
{
    kn_status status = KN_OK;
    for (int k = 0; k < KN_N_MAPS; k++)
        if (o->write & 1u << k)
            KN_TRY(kn_mapfile_new(ctx, &o->layout, kn_map_name[k], o->n, false, &o->file[k]));
out:
    return status;
}

/* ---- JSON ---- */

/* Writes a JSON object (moved) to a file. */
static kn_status write_json(kn_ctx *ctx, const kn_bids_output *o, const char *path, json_t *object)
{
    char *text = object ? json_dumps(object, JSON_INDENT(2)) : NULL;
    kn_status status = text ? kn_write_text(ctx, path, text, o->layout.options)
                            : kn_fail(ctx, KN_ERR_MEMORY, "out of memory for %s", path);
    free(text);
    json_decref(object);
    return status;
}

/* Writes START and a path to out, as a URI: other bytes than those of plain names become %XX. */
static void write_uri(const char *start, const char *path, char out[3 * PATH])
{
    size_t at = (size_t)snprintf(out, PATH, "%s", start);
    for (const char *c = path; *c && at + 4 < 3 * PATH; c++)
        at += (size_t)sprintf(out + at,
                              isalnum((unsigned char)*c) || strchr("/-._~+", *c) ? "%c" : "%%%02X",
                              (unsigned char)*c);
}

/* Writes the sidecar of every map of an image. */
static kn_status write_sidecars(kn_ctx *ctx, const kn_bids_output *o, ptrdiff_t *n_files)
{
    kn_status status = KN_OK;
    char path[PATH], uri[3 * PATH];
    for (int map = 0; map < KN_N_MAPS; map++)
        for (ptrdiff_t i = 0; o->write & 1u << map && i < o->n; i++)
            for (int k = 0; k < kn_mapfile_count(&o->layout); k++) {
                json_t *object = json_pack("{s:s}", "Description", MEANING[map]);
                if (o->root) {
                    write_uri("bids:source:", source_of(o, i, k) + strlen(o->root), uri);
                    json_object_set_new(object, "Sources", json_pack("[s]", uri));
                }
                KN_TRY(sidecar_path(ctx, o, map, i, k, path));
                KN_TRY(write_json(ctx, o, path, object));
                ++*n_files;
            }
out:
    return status;
}

/* Writes dataset_description.json. */
static kn_status write_description(kn_ctx *ctx, const kn_bids_output *o)
{
    char path[PATH], uri[3 * PATH];
    kn_status status = kn_path_in_folder(ctx, o->layout.dir, DESCRIPTION, path, PATH);
    if (status != KN_OK)
        return status;
    json_t *object =
        json_pack("{s:s s:s s:s s:[{s:s s:s s:s}]}", "Name", "Deviations from a normative model",
                  "BIDSVersion", "1.9.0", "DatasetType", "derivative", "GeneratedBy", "Name",
                  "kronorm", "Version", kn_version(), "Description", "kronorm score");
    char *root = o->root ? realpath(*o->root ? o->root : ".", NULL) : NULL;
    if (root) {
        write_uri("file://", root, uri);
        json_object_set_new(object, "SourceDatasets", json_pack("[{s:s}]", "URL", uri));
        json_object_set_new(object, "DatasetLinks", json_pack("{s:s}", "source", uri));
    }
    free(root);
    return write_json(ctx, o, path, object);
}

kn_status kn_bids_output_write(kn_ctx *ctx, kn_bids_output *o, ptrdiff_t *n_files)
{
    kn_status status = KN_OK;
    if (!o->data)
        return KN_OK;
    for (int k = 0; k < KN_N_MAPS; k++)
        if (o->file[k])
            KN_TRY(kn_mapfile_commit(ctx, o->file[k], n_files));
    if (o->image)
        KN_TRY(write_sidecars(ctx, o, n_files));
    KN_TRY(write_description(ctx, o));
    ++*n_files;
out:
    return status;
}

void kn_bids_output_clear(kn_bids_output *o)
{
    for (int k = 0; k < KN_N_MAPS; k++)
        kn_mapfile_free(o->file[k]);
    kn_names_free(o->id, o->n);
    kn_free(o->image);
    kn_free(o->root);
    *o = (kn_bids_output){0};
}
