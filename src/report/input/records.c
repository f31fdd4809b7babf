/* Implements records.h: JSON values on jansson, and the words of a recorded command line. Missing
 * or malformed values give NaN or NULL, never an error. */
#include "report/input/records.h"

#include <math.h>
#include <string.h>

kn_status kn_json_parse(kn_ctx *ctx, const char *name, const char *text, json_t **out)
{
    json_error_t error;
    *out = NULL;
    if (!text)
        return KN_OK;
    *out = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    return *out ? KN_OK
                : kn_fail(ctx, KN_ERR_FORMAT, "%s line %d is not JSON; run the command again", name,
                          error.line);
}

const json_t *kn_json_at(const json_t *root, const char *path)
{
    char key[64];
    while (root && *path) {
        size_t n = strcspn(path, ".");
        if (n >= sizeof key)
            return NULL;
        memcpy(key, path, n);
        key[n] = '\0';
        root = json_object_get(root, key);
        path += n + (path[n] == '.');
    }
    return root;
}

double kn_json_number_at(const json_t *root, const char *path)
{
    const json_t *v = kn_json_at(root, path);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

ptrdiff_t kn_json_count_at(const json_t *root, const char *path)
{
    double x = kn_json_number_at(root, path);
    return x >= 0 && x < 9e15 ? (ptrdiff_t)x : 0;
}

const char *kn_json_text_at(const json_t *root, const char *path)
{
    return json_string_value(kn_json_at(root, path));
}

bool kn_json_true_at(const json_t *root, const char *path)
{
    const json_t *v = kn_json_at(root, path);
    return json_is_true(v) || (json_is_number(v) && json_number_value(v) != 0);
}

/* ---- options of a command line ---- */

/* Copies the next word of a shell command line to out, without its quotes: plain, or in single
 * quotes with '\'' for a quote. *fits: false if it was cut to size - 1 bytes. Returns the position
 * after the word. */
static const char *next_word(const char *cursor, char *out, size_t size, bool *fits)
{
    size_t n = 0;
    bool quoted = false;
    *fits = true;
    while (*cursor == ' ')
        cursor++;
    for (; *cursor && (quoted || *cursor != ' '); cursor++) {
        if (*cursor == '\'') {
            quoted = !quoted;
            continue;
        }
        if (!quoted && *cursor == '\\' && cursor[1])
            cursor++;
        if (n + 1 < size)
            out[n++] = *cursor;
        else
            *fits = false;
    }
    out[n] = '\0';
    return cursor;
}

bool kn_command_option(const char *command, const char *option, char *out, size_t size)
{
    char word[64];
    bool fits;
    while (command && *command) {
        command = next_word(command, word, sizeof word, &fits);
        if (!fits || strcmp(word, option) != 0)
            continue;
        next_word(command, out, size, &fits);
        return fits;
    }
    return false;
}
