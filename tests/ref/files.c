#include "ref/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ref/ref.h"

static void golden_path(const char *dir, const char *name, char *path, size_t size)
{
    const char *root = getenv("KN_TESTS");
    snprintf(path, size, "%s/golden/%s/%s", root ? root : "tests", dir, name);
}

static void stop(const char *what, const char *path)
{
    fprintf(stderr, "%s: %s\n", path, what);
    abort();
}

kn_mat ref_csv(const char *dir, const char *name)
{
    char path[1024];
    golden_path(dir, name, path, sizeof path);
    FILE *f = fopen(path, "r");
    if (!f)
        stop("cannot be read", path);
    ptrdiff_t rows = 0, cols = 0, n = 0, room = 1024;
    double *v = malloc((size_t)room * sizeof *v);
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, f) > 0) {
        char *p = line, *end;
        cols = 0;
        for (;; p = end + 1) {
            double x = strtod(p, &end);
            if (end == p)
                break;
            if (n == room)
                v = realloc(v, (size_t)(room *= 2) * sizeof *v);
            v[n++] = x;
            cols++;
            if (*end != ',')
                break;
        }
        rows += cols > 0;
    }
    free(line);
    fclose(f);
    if (rows > 0)
        cols = n / rows;
    kn_mat m = ref_new(rows, cols);
    for (ptrdiff_t i = 0; i < rows; i++)
        for (ptrdiff_t j = 0; j < cols; j++)
            kn_col(m, j)[i] = v[i * cols + j];
    free(v);
    return m;
}

json_t *ref_json(const char *dir, const char *name)
{
    char path[1024];
    golden_path(dir, name, path, sizeof path);
    json_error_t error;
    json_t *j = json_load_file(path, 0, &error);
    if (!j)
        stop(error.text, path);
    return j;
}

static json_t *walk(json_t *object, const char *path)
{
    char key[256];
    while (*path) {
        size_t n = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        object = json_object_get(object, key);
        if (!object)
            stop("no such key", key);
        path += n + (path[n] == '.');
    }
    return object;
}

double ref_number(json_t *object, const char *path)
{
    return json_number_value(walk(object, path));
}

kn_mat ref_numbers(json_t *object, const char *path)
{
    json_t *a = walk(object, path);
    kn_mat m = ref_new((ptrdiff_t)json_array_size(a), 1);
    for (size_t i = 0; i < json_array_size(a); i++)
        m.data[i] = json_number_value(json_array_get(a, i));
    return m;
}

kn_mat ref_matrix(json_t *object, const char *path)
{
    json_t *a = walk(object, path);
    size_t rows = json_array_size(a), cols = json_array_size(json_array_get(a, 0));
    kn_mat m = ref_new((ptrdiff_t)rows, (ptrdiff_t)cols);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            m.data[i + j * rows] = json_number_value(json_array_get(json_array_get(a, i), j));
    return m;
}
