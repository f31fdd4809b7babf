/* Implements vertex_labels.h, and the conversion from GIFTI labels. Labels are looked up by key in
 * a sorted list. */
#include "io/formats/vertex_labels.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "io/file/path.h"
#include "io/formats/internal.h"

void kn_vertex_labels_clear(kn_vertex_labels *l)
{
    for (ptrdiff_t i = 0; l->name && i < l->count; i++)
        kn_free(l->name[i]);
    kn_free(l->name);
    kn_free(l->region);
    *l = (kn_vertex_labels){0};
}

kn_status kn_vertex_labels_new(kn_ctx *ctx, ptrdiff_t vertices, ptrdiff_t count,
                               kn_vertex_labels *out)
{
    kn_status status;
    void *names = NULL;
    *out = (kn_vertex_labels){.vertices = vertices, .count = count};
    KN_TRY(kn_alloc_i(ctx, vertices, &out->region));
    KN_TRY(kn_alloc(ctx, count, sizeof *out->name, &names));
    out->name = names;
    for (ptrdiff_t v = 0; v < vertices; v++)
        out->region[v] = -1;
out:
    if (status != KN_OK)
        kn_vertex_labels_clear(out);
    return status;
}

/* Comparison for qsort of label keys: by key; equal keys by index, so that the search finds the
 * first. */
static int by_key(const void *a, const void *b)
{
    const kn_label_key *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

void kn_label_keys_sort(kn_label_key *keys, ptrdiff_t n)
{
    if (n > 1)
        qsort(keys, (size_t)n, sizeof *keys, by_key);
}

ptrdiff_t kn_label_keys_find(const kn_label_key *keys, ptrdiff_t n, long key)
{
    ptrdiff_t low = 0, high = n; /* the first key >= `key` is in [low, high] */
    while (low < high) {
        ptrdiff_t middle = low + (high - low) / 2;
        if (keys[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && keys[low].key == key ? keys[low].place : -1;
}

/* Returns the array of labels of a GIFTI file: the first of intent NIFTI_INTENT_LABEL, else the
 * first; NULL if there is none. */
static const kn_gifti_array *find_array(const kn_gifti *gifti)
{
    for (ptrdiff_t i = 0; i < gifti->count; i++)
        if (strcmp(gifti->array[i].intent, "NIFTI_INTENT_LABEL") == 0)
            return &gifti->array[i];
    return gifti->count > 0 ? gifti->array : NULL;
}

/* Fails with KN_ERR_FORMAT unless there is a label table and array a has one int32 per vertex. */
static kn_status check_labels(kn_ctx *ctx, const char *name, const kn_gifti *gifti,
                              const kn_gifti_array *a)
{
    if (!a || gifti->labels == 0)
        return kn_fail(ctx, KN_ERR_FORMAT,
                       "%s has no %s, but labels of vertices and their names are needed", name,
                       a ? "label table" : "data arrays");
    if (a->type->code != KN_VOXEL_INT32 || a->dim[1] != 1)
        return kn_fail(ctx, KN_ERR_FORMAT,
                       "%s: its labels are %td x %td of %s; there must be one int32 per vertex",
                       name, a->dim[0], a->dim[1], a->type->name);
    return KN_OK;
}

kn_status kn_vertex_labels_of(kn_ctx *ctx, const char *name, const kn_gifti *gifti,
                              kn_vertex_labels *out)
{
    kn_status status;
    void *memory = NULL;
    const kn_gifti_array *a = find_array(gifti);
    *out = (kn_vertex_labels){0};
    KN_TRY(check_labels(ctx, name, gifti, a));
    KN_TRY(kn_alloc(ctx, gifti->labels, sizeof(kn_label_key), &memory));
    kn_label_key *keys = memory;
    KN_TRY(kn_vertex_labels_new(ctx, a->dim[0], gifti->labels, out));
    for (ptrdiff_t i = 0; i < gifti->labels; i++) {
        const char *text = gifti->label[i].name;
        keys[i] = (kn_label_key){.key = gifti->label[i].key, .place = i};
        KN_TRY(kn_text_copy(ctx, text, strlen(text), &out->name[i]));
    }
    kn_label_keys_sort(keys, gifti->labels);
    for (ptrdiff_t v = 0; v < out->vertices; v++) {
        int32_t key;
        memcpy(&key, (const char *)a->data + v * (ptrdiff_t)sizeof key, sizeof key);
        out->region[v] = kn_label_keys_find(keys, gifti->labels, key);
    }
out:
    kn_free(memory);
    if (status != KN_OK)
        kn_vertex_labels_clear(out);
    return status;
}

kn_status kn_vertex_labels_read(kn_ctx *ctx, const char *path, kn_vertex_labels *out)
{
    kn_gifti gifti = {0};
    kn_byte_source source = {.fd = -1};
    kn_status status;
    *out = (kn_vertex_labels){0};
    KN_TRY(kn_byte_source_open(ctx, path, &source));
    if (kn_path_ends(path, ".annot")) {
        KN_TRY(kn_annot_read_source(ctx, &source, out));
    } else if (kn_path_ends(path, ".gii") || kn_path_ends(path, ".gii.gz")) {
        KN_TRY(kn_gifti_read_source(ctx, &source, true, &gifti));
        KN_TRY(kn_vertex_labels_of(ctx, path, &gifti, out));
    } else {
        status = kn_fail(ctx, KN_ERR_FORMAT, "%s is not a label file (.label.gii or .annot)", path);
    }
out:
    kn_byte_source_close(&source);
    kn_gifti_clear(&gifti);
    return status;
}
