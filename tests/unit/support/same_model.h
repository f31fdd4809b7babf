/* Compares models whose files have other names: everything but the record of the run that made them
 * (command, inputs, hashes, warnings) must be the same. tests/python/same_model.py does the same
 * for files. */
#ifndef TESTS_SUPPORT_SAME_MODEL_H
#define TESTS_SUPPORT_SAME_MODEL_H

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

/* The header of a model file (n bytes) without checksum and record of the run; sets *data to the
 * offset of the arrays. The caller frees the text. */
static inline char *model_header(const void *bytes, size_t n, size_t *data)
{
    uint64_t length;
    assert_true(n > sizeof length);
    memcpy(&length, bytes, sizeof length);
    assert_true(length < n - sizeof length);
    json_t *header = json_loadb((const char *)bytes + sizeof length, (size_t)length, 0, NULL);
    json_t *metadata = json_object_get(header, "__metadata__");
    json_t *record = json_loads(json_string_value(json_object_get(metadata, "record")), 0, NULL);
    assert_non_null(record);
    json_object_del(record, "fit");
    json_object_del(metadata, "checksum");
    json_object_set_new(metadata, "record", record);
    char *text = json_dumps(header, JSON_SORT_KEYS);
    json_decref(header);
    *data = sizeof length + (size_t)length;
    return text;
}

/* a (n bytes), b (m bytes): model files. */
static inline void assert_same_model(const void *a, size_t n, const void *b, size_t m)
{
    size_t at, of;
    char *x = model_header(a, n, &at), *y = model_header(b, m, &of);
    assert_string_equal(x, y);
    assert_int_equal(n - at, m - of);
    assert_memory_equal((const char *)a + at, (const char *)b + of, n - at);
    free(x);
    free(y);
}

#endif
