/* Reading the expected numbers of tests/golden. A number that JSON cannot express, such as -inf, is
 * stored as a string. */
#include "support/golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ref/ref.h"

static void abort_with(const char *message, const char *subject)
{
    fprintf(stderr, "%s: %s\n", subject, message);
    abort();
}

static json_t *find_key(json_t *object, const char *path)
{
    char key[256];
    while (*path) {
        size_t n = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        object = json_object_get(object, key);
        if (!object)
            abort_with("no such key", key);
        path += n + (path[n] == '.');
    }
    return object;
}

static double value_of(const json_t *number)
{
    return json_is_string(number) ? strtod(json_string_value(number), NULL)
                                  : json_number_value(number);
}

json_t *golden_json(const char *name, const char *path)
{
    char file[1024];
    const char *root = getenv("KN_TESTS");
    snprintf(file, sizeof file, "%s/golden/%s.json", root ? root : "tests", name);
    json_error_t error;
    json_t *whole = json_load_file(file, 0, &error);
    if (!whole)
        abort_with(error.text, file);
    json_t *found = json_incref(find_key(whole, path));
    json_decref(whole);
    return found;
}

kn_mat golden_matrix(const char *name, const char *path)
{
    json_t *rows = golden_json(name, path);
    kn_mat m = golden_rows(rows, "");
    json_decref(rows);
    return m;
}

double golden_number(json_t *object, const char *path)
{
    return value_of(find_key(object, path));
}

kn_mat golden_column(json_t *object, const char *path)
{
    json_t *a = find_key(object, path);
    kn_mat m = ref_new((ptrdiff_t)json_array_size(a), 1);
    for (size_t i = 0; i < json_array_size(a); i++)
        m.data[i] = value_of(json_array_get(a, i));
    return m;
}

kn_mat golden_rows(json_t *object, const char *path)
{
    json_t *a = find_key(object, path);
    size_t rows = json_array_size(a), cols = json_array_size(json_array_get(a, 0));
    kn_mat m = ref_new((ptrdiff_t)rows, (ptrdiff_t)cols);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            m.data[i + j * rows] = value_of(json_array_get(json_array_get(a, i), j));
    return m;
}
