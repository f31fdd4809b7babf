/* Implements fit_record.h. The record is JSON text, made once at the end of a fit. */
#include "commands/fit/fit_record.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "base/options/command_line.h"
#include "commands/common/input_hashes.h"
#include "io/file/path.h"
#include "model/fit_info_json.h"

/* Options that name input files, in the order of the record. */
enum { COVARIATES, RESPONSES, MASK, INPUTS };
static const char *const INPUT[INPUTS] = {"covariates", "responses", "mask"};

/* Paths of the three input files; NULL for what did not come from a file. Borrowed. */
static void list_input_paths(const kn_data *d, const char *path[INPUTS])
{
    path[COVARIATES] = d->in_memory ? NULL : d->covariates_path;
    path[RESPONSES] = d->responses_path;
    path[MASK] = d->mask;
}

/* Remove the folders of every path in a list with commas, in place. */
static void remove_folders(char *text)
{
    char *out = text;
    for (const char *from = text; *from; from++) {
        *out++ = *from;
        if (*from == '/')
            while (out > text && out[-1] != ',')
                out--;
    }
    *out = '\0';
}

/* Copy of a path, or of a list of paths with commas, without folders; owned by the caller. */
static kn_status copy_without_folders(kn_ctx *ctx, const char *path, char **out)
{
    kn_status status = kn_text_copy(ctx, path, strlen(path), out);
    if (status == KN_OK)
        remove_folders(*out);
    return status;
}

/* Set the options of the command line: those that the model remembers, and the names of the
 * inputs. */
static kn_status set_options(kn_ctx *ctx, const kn_options *given, char *const name[INPUTS],
                             kn_options *command)
{
    kn_status status = KN_OK;
    const char *key, *value;
    for (int i = 0; kn_options_remembered(given, i, &key, &value); i++)
        KN_TRY(kn_options_set(ctx, command, key, value));
    for (int k = 0; k < INPUTS; k++)
        if (name[k])
            KN_TRY(kn_options_set(ctx, command, INPUT[k], name[k]));
out:
    return status;
}

/* The command line of the fit as a new JSON string; null if the covariates did not come from a
 * file. */
static kn_status command_json(kn_ctx *ctx, const kn_options *given, char *const name[INPUTS],
                              json_t **out)
{
    kn_status status;
    kn_options *o = NULL;
    char *line = NULL;
    *out = NULL;
    if (!name[COVARIATES]) {
        *out = json_null();
        return KN_OK;
    }
    KN_TRY(kn_options_new(ctx, "fit", &o));
    KN_TRY(set_options(ctx, given, name, o));
    KN_TRY(kn_command_line(ctx, o, &line));
    *out = kn_json_text(line);
out:
    kn_free(line);
    kn_options_free(o);
    return status;
}

/* The hashes of the input files as a new JSON object, null for each that is not a file. */
static kn_status hashes_json(kn_ctx *ctx, const kn_data *d, const char *const path[INPUTS],
                             json_t **out)
{
    uint64_t responses = 0;
    kn_status status = kn_responses_stamp(ctx, d, &responses);
    bool sampled = !d->responses && !(d->images && kn_images_is_list(d->images));
    *out = NULL;
    if (status != KN_OK)
        return status;
    *out = json_pack("{s:o s:o s:o}", INPUT[COVARIATES], kn_file_hash_json(ctx, path[COVARIATES]),
                     INPUT[RESPONSES],
                     path[RESPONSES] ? kn_hash_json(sampled ? "xxh64-sampled" : "xxh64", responses)
                                     : json_null(),
                     INPUT[MASK], kn_file_hash_json(ctx, path[MASK]));
    return KN_OK;
}

/* Replace each occurrence of `path` in a text by its file name, in place. */
static void shorten_paths(char *text, const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    size_t folder = slash ? (size_t)(slash + 1 - path) : 0;
    for (char *at = text; folder > 0 && (at = strstr(at, path)) != NULL;)
        memmove(at, at + folder, strlen(at + folder) + 1);
}

/* Append the warnings to a JSON array, with input paths shortened to their file names. */
static kn_status add_warnings(kn_ctx *ctx, const kn_warnings *w, const char *const path[INPUTS],
                              json_t *list)
{
    for (ptrdiff_t i = 0; i < w->n; i++) {
        char *text = NULL;
        kn_status status = kn_text_copy(ctx, w->text[i], strlen(w->text[i]), &text);
        if (status != KN_OK)
            return status;
        for (int k = 0; k < INPUTS; k++)
            shorten_paths(text, path[k]);
        json_array_append_new(list, kn_json_text(text));
        kn_free(text);
    }
    return KN_OK;
}

kn_status kn_fit_record_make(kn_ctx *ctx, const kn_options *options, const kn_data *data,
                             const kn_warnings *warnings, bool without_ids, const char *understood,
                             char **json)
{
    kn_status status = KN_OK;
    const char *path[INPUTS];
    char *name[INPUTS] = {NULL};
    json_t *command = NULL, *hashes = NULL, *list = json_array(), *all = NULL;
    list_input_paths(data, path);
    for (int k = 0; k < INPUTS; k++)
        if (path[k])
            KN_TRY(copy_without_folders(ctx, path[k], &name[k]));
    if (!without_ids) {
        KN_TRY(command_json(ctx, options, name, &command));
        KN_TRY(add_warnings(ctx, &data->warnings, path, list));
        KN_TRY(add_warnings(ctx, warnings, path, list));
    }
    KN_TRY(hashes_json(ctx, data, path, &hashes));
    all = json_pack("{s:o* s:{s:o s:o s:o} s:O s:O}", "command", command, "inputs", INPUT[0],
                    kn_json_text(name[0]), INPUT[1], kn_json_text(name[1]), INPUT[2],
                    kn_json_text(name[2]), "hashes", hashes, "warnings", list);
    command = NULL; /* owned by `all` */
    if (all && understood && !without_ids)
        json_object_set_new(all, "understood", kn_json_text(understood));
    *json = all ? json_dumps(all, JSON_COMPACT) : NULL;
    if (!*json)
        status = kn_fail(ctx, KN_ERR_MEMORY, "out of memory for the record of the fit");
out:
    json_decref(all);
    json_decref(command);
    json_decref(hashes);
    json_decref(list);
    for (int k = 0; k < INPUTS; k++)
        kn_free(name[k]);
    return status;
}
