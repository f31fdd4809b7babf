/* Implements json_path.h on jansson. */
#include "report/input/json_path.h"

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
                : kn_fail(ctx, KN_ERR_FORMAT,
                          "%s line %d: is not JSON, expected the file as it was written", name,
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
