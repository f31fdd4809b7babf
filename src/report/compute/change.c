/* Section on change: the reference sample of normal change, and the number of pairs that changed
 * more [METHOD 8g]. It is empty unless the folder is one of `kronorm change`. */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "io/file/byte_source.h"
#include "report/compute/compute.h"
#include "report/input/records.h"

enum { PATH = 4096 };

/* Reads reference.json of the folder as *out (json_decref); NULL if it was removed: the page then
 * omits its content. */
static kn_status read_reference(kn_ctx *ctx, const kn_report_input *m, json_t **out)
{
    kn_status status = KN_OK;
    kn_byte_source file = {0};
    char path[PATH];
    void *text = NULL;
    *out = NULL;
    if (!m->dir || snprintf(path, sizeof path, "%s/reference.json", m->dir) >= PATH ||
        access(path, F_OK) != 0)
        return KN_OK;
    KN_TRY(kn_byte_source_open(ctx, path, &file));
    KN_TRY(kn_alloc(ctx, file.size + 1, 1, &text));
    KN_TRY(kn_byte_source_read(ctx, &file, 0, file.size, text));
    KN_TRY(kn_json_parse(ctx, path, text, out));
out:
    kn_byte_source_close(&file);
    kn_free(text);
    return status;
}

/* Copies what reference.json (j) states about the reference sample of change to the report; NaN and
 * NULL where j is NULL or lacks it. */
static kn_status store_reference(kn_ctx *ctx, kn_report *r, const json_t *j)
{
    kn_status status;
    kn_report_change *c = &r->change;
    KN_TRY(kn_arena_text(ctx, &r->arena, kn_json_text_at(j, "of"), &c->reference));
    KN_TRY(kn_arena_text(ctx, &r->arena, kn_json_text_at(j, "formula"), &c->formula));
    KN_TRY(
        kn_arena_text(ctx, &r->arena, kn_json_text_at(j, "interval.column"), &c->interval_units));
    c->gamma = kn_json_number_at(j, "gamma");
    c->interval_low = kn_json_number_at(j, "interval.least");
    c->interval_high = kn_json_number_at(j, "interval.largest");
    c->smallest_p = kn_json_number_at(j, "smallest_p");
out:
    return status;
}

kn_status kn_compute_change(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    kn_report_change *c = &job->r->change;
    json_t *summary = NULL, *reference = NULL;
    if (job->m->kind != KN_INPUT_CHANGE)
        return KN_OK;
    KN_TRY(kn_json_parse(ctx, "summary.json", job->m->summary_json, &summary));
    KN_TRY(read_reference(ctx, job->m, &reference));
    KN_TRY(store_reference(ctx, job->r, reference));
    c->known = true;
    c->pairs = job->m->n;
    c->participants = kn_json_count_at(summary, "participants");
    c->reference_participants = kn_json_count_at(summary, "reference_participants");
    c->one_visit = kn_json_count_at(summary, "one_visit");
    c->different_sites = kn_json_count_at(summary, "different_sites");
    c->far_intervals = kn_json_count_at(summary, "far_intervals");
    c->with_p = kn_json_count_at(summary, "changed.with_p");
    c->found = kn_json_count_at(summary, "changed.flagged");
    c->expected = kn_json_number_at(summary, "changed.expected");
out:
    json_decref(summary);
    json_decref(reference);
    return status;
}
