/* Implements report_json.h: value helpers, the summary, and the whole document. Texts that are not
 * UTF-8 are repaired. */
#include "report/json/report_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/json/internal.h"
#include "report/markup/html.h"

/* ---- values ---- */

void kn_page_json_set(kn_page_json *w, json_t *object, const char *key, json_t *value)
{
    w->failed |= json_object_set_new(object, key, value) != 0;
}

void kn_page_json_append(kn_page_json *w, json_t *array, json_t *value)
{
    w->failed |= json_array_append_new(array, value) != 0;
}

json_t *kn_page_json_number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

json_t *kn_page_json_count(ptrdiff_t n)
{
    return json_integer((json_int_t)n);
}

/* Returns a JSON string of `text` with each invalid UTF-8 sequence replaced by U+FFFD; NULL without
 * memory. */
static json_t *repair_text(const char *text)
{
    static const char UNKNOWN[] = "\xEF\xBF\xBD";
    size_t n = strlen(text), used = 0;
    char *clean = malloc(3 * n + 1);
    json_t *out = NULL;
    for (size_t i = 0, length; clean && i < n; i += length) {
        unsigned char lead = (unsigned char)text[i];
        length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
        json_t *one = length <= n - i ? json_stringn(text + i, length) : NULL;
        const char *piece = one ? text + i : UNKNOWN;
        size_t bytes = one ? length : sizeof UNKNOWN - 1;
        length = one ? length : 1;
        memcpy(clean + used, piece, bytes);
        used += bytes;
        json_decref(one);
    }
    if (clean)
        out = json_stringn(clean, used);
    free(clean);
    return out;
}

json_t *kn_page_json_text(const char *text)
{
    if (!text)
        return json_null();
    json_t *out = json_string(text);
    return out ? out : repair_text(text);
}

json_t *kn_page_json_numbers(const double *x, ptrdiff_t n)
{
    json_t *a = x || n == 0 ? json_array() : json_null();
    for (ptrdiff_t i = 0; x && i < n; i++)
        json_array_append_new(a, kn_page_json_number(x[i]));
    return a;
}

json_t *kn_page_json_counts(const ptrdiff_t *x, ptrdiff_t n)
{
    json_t *a = x || n == 0 ? json_array() : json_null();
    for (ptrdiff_t i = 0; x && i < n; i++)
        json_array_append_new(a, kn_page_json_count(x[i]));
    return a;
}

json_t *kn_page_json_texts(const char *const *text, ptrdiff_t n)
{
    json_t *a = text || n == 0 ? json_array() : json_null();
    for (ptrdiff_t i = 0; text && i < n; i++)
        json_array_append_new(a, kn_page_json_text(text[i]));
    return a;
}

json_t *kn_page_json_bytes(kn_page_json *w, const void *bytes, ptrdiff_t n)
{
    kn_writer *writer = NULL;
    void *text = NULL;
    ptrdiff_t length = 0;
    json_t *out = NULL;
    if (!bytes)
        return json_null();
    kn_status status = kn_writer_new_memory(w->ctx, "JSON", &writer);
    if (status == KN_OK) {
        kn_html h = {.ctx = w->ctx, .file = writer};
        kn_html_base64(&h, bytes, n);
        status = h.status;
    }
    if (status == KN_OK)
        status = kn_writer_take(w->ctx, writer, &text, &length);
    if (status == KN_OK)
        out = json_stringn(text, (size_t)length);
    kn_writer_free(writer);
    kn_free(text);
    return out;
}

/* ---- document ---- */

/* Returns a JSON array of notes, each with code, title and text. */
static json_t *make_notes(kn_page_json *w, const kn_report_notes *from)
{
    json_t *a = json_array();
    for (ptrdiff_t i = 0; i < from->n; i++) {
        json_t *note = json_object();
        kn_page_json_set(w, note, "code", kn_page_json_text(from->note[i].code));
        kn_page_json_set(w, note, "title", kn_page_json_text(from->note[i].title));
        kn_page_json_set(w, note, "words", kn_page_json_text(from->note[i].words));
        kn_page_json_append(w, a, note);
    }
    return a;
}

/* Returns JSON of the summary: counts, the first sentence, warnings and notes. */
static json_t *make_summary(kn_page_json *w)
{
    const kn_report *r = w->r;
    json_t *j = json_object();
    kn_page_json_set(w, j, "participants", kn_page_json_count(r->participants.n));
    kn_page_json_set(w, j, "responses", kn_page_json_count(r->responses.T));
    kn_page_json_set(w, j, "training", kn_page_json_count(r->participants.N));
    kn_page_json_set(w, j, "sentence", kn_page_json_text(r->sentence));
    kn_page_json_set(w, j, "warnings", make_notes(w, &r->warnings));
    kn_page_json_set(w, j, "good", make_notes(w, &r->good));
    kn_page_json_set(w, j, "notes", make_notes(w, &r->notes));
    return j;
}

/* Returns JSON of the methods section: paragraphs, references and facts. */
static json_t *make_words(kn_page_json *w)
{
    const kn_report_methods *from = &w->r->words;
    json_t *j = json_object(), *facts = json_array();
    kn_page_json_set(w, j, "paragraphs", kn_page_json_texts(from->paragraph, from->paragraphs));
    kn_page_json_set(w, j, "results", kn_page_json_text(from->results));
    kn_page_json_set(w, j, "references", kn_page_json_texts(from->reference, from->references));
    for (ptrdiff_t i = 0; i < from->facts; i++) {
        json_t *fact = json_object();
        kn_page_json_set(w, fact, "name", kn_page_json_text(from->fact[i].name));
        kn_page_json_set(w, fact, "value", kn_page_json_text(from->fact[i].value));
        kn_page_json_append(w, facts, fact);
    }
    kn_page_json_set(w, j, "facts", facts);
    return j;
}

/* Returns {first: a, second: b}; a and b are moved. */
static json_t *make_pair(kn_page_json *w, const char *first, json_t *a, const char *second,
                         json_t *b)
{
    json_t *j = json_object();
    kn_page_json_set(w, j, first, a);
    kn_page_json_set(w, j, second, b);
    return j;
}

/* Adds every section of the report to the object j. w->failed is set without memory. */
static void put_sections(kn_page_json *w, json_t *j)
{
    const kn_report *r = w->r;
    kn_page_json_set(w, j, "summary", make_summary(w));
    kn_page_json_set(w, j, "cohort", kn_page_json_cohort(w));
    kn_page_json_set(w, j, "model", kn_page_json_model(w));
    kn_page_json_set(w, j, "zhist",
                     make_pair(w, "training", kn_page_json_zhist(w, &r->zhist_training), "scored",
                               kn_page_json_zhist(w, &r->zhist)));
    kn_page_json_set(w, j, "calibration",
                     make_pair(w, "training", kn_page_json_calibration(w, &r->calibration[0]),
                               "scored", kn_page_json_calibration(w, &r->calibration[1])));
    kn_page_json_set(w, j, "response", kn_page_json_responses(w));
    kn_page_json_set(w, j, "curves", kn_page_json_curves(w));
    kn_page_json_set(w, j, "people", kn_page_json_participants(w));
    kn_page_json_set(w, j, "abnormality", kn_page_json_abnormality(w));
    kn_page_json_set(w, j, "cards", kn_page_json_cards(w));
    kn_page_json_set(w, j, "group", kn_page_json_group(w));
    kn_page_json_set(w, j, "change", kn_page_json_change(w));
    kn_page_json_set(w, j, "space", kn_page_json_space(w));
    kn_page_json_set(w, j, "words", make_words(w));
}

kn_status kn_report_json_text(kn_ctx *ctx, const kn_report *r, char **out)
{
    static const char *const KINDS[] = {"model", "score", "cv", "change"};
    kn_page_json w = {.ctx = ctx, .r = r};
    json_t *j = json_object();
    *out = NULL;
    kn_page_json_set(&w, j, "kind", kn_page_json_text(KINDS[r->kind]));
    kn_page_json_set(&w, j, "title", kn_page_json_text(r->title));
    kn_page_json_set(&w, j, "unit", kn_page_json_text(r->unit));
    kn_page_json_set(&w, j, "stripped", json_boolean(r->anonymized));
    put_sections(&w, j);
    char *text = w.failed ? NULL : json_dumps(j, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(j);
    void *copy = NULL;
    kn_status status =
        text ? kn_alloc(ctx, (ptrdiff_t)strlen(text) + 1, 1, &copy)
             : kn_fail(ctx, KN_ERR_MEMORY, "out of memory for the numbers of the page");
    if (status == KN_OK)
        memcpy(copy, text, strlen(text) + 1);
    free(text);
    *out = copy;
    return status;
}
