#include "report/parsed.h"

#include <math.h>
#include <string.h>

kn_status kn_report_parse(kn_ctx *ctx, const char *name, const char *text, json_t **out)
{
    json_error_t error;
    *out = NULL;
    if (!text)
        return KN_OK;
    *out = json_loads(text, 0, &error);
    return *out ? KN_OK
                : kn_fail(ctx, KN_ERR_FORMAT, "%s line %d: %s, expected JSON", name, error.line,
                          error.text);
}

json_t *kn_parsed_at(json_t *j, const char *path)
{
    char key[64];
    while (j && *path) {
        size_t n = strcspn(path, ".");
        if (n >= sizeof key)
            return NULL;
        memcpy(key, path, n);
        key[n] = '\0';
        j = json_object_get(j, key);
        path += path[n] == '.' ? n + 1 : n;
    }
    return j;
}

double kn_parsed_number(json_t *j, const char *path)
{
    json_t *at = kn_parsed_at(j, path);
    return json_is_number(at) ? json_number_value(at) : NAN;
}

const char *kn_parsed_text(json_t *j, const char *path)
{
    return json_string_value(kn_parsed_at(j, path));
}
