/* Implements the report functions of kronorm.h: compute all sections, print as JSON, write page
 * and figures [METHOD 11]. Computing reads, writing only draws. */
#include "report/report.h"

#include "base/context.h"
#include "report/compute/compute.h"
#include "report/figures/figures.h"
#include "report/internal.h"
#include "report/json/report_json.h"
#include "report/page/page.h"

typedef kn_status (*step)(kn_ctx *ctx, const kn_report_job *job);

/* In this order: a step may use the sections before it. */
static const step STEPS[] = {
    kn_compute_names,        kn_compute_space,   kn_compute_cohort,    kn_compute_model,
    kn_compute_participants, kn_compute_maps,    kn_compute_responses, kn_compute_curves,
    kn_compute_calibration,  kn_compute_group,   kn_compute_change,    kn_compute_cards,
    kn_compute_methods,      kn_compute_summary, kn_compute_anonymize,
};

kn_status kn_report_compute(kn_ctx *ctx, const kn_model *model, const kn_options *options,
                            kn_report **report)
{
    kn_status status;
    kn_settings s;
    kn_report_input m = {0};
    void *memory = NULL;
    kn_report *r = NULL;
    *report = NULL;
    status = kn_settings_of(ctx, options, "report", &s);
    if (status != KN_OK)
        return status;
    const kn_resources before = kn_settings_resources(ctx, &s);
    KN_TRY(kn_report_check_memory(ctx, &s, model));
    KN_TRY(kn_alloc(ctx, 1, sizeof *r, &memory));
    r = memory;
    KN_TRY(kn_report_input_open(ctx, model, s.page_scored, &m));
    const kn_report_job job = {.m = &m, .s = &s, .options = options, .r = r};
    for (size_t k = 0; k < sizeof STEPS / sizeof *STEPS; k++) {
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(STEPS[k](ctx, &job));
    }
    *report = r;
    r = NULL;
out:
    kn_report_free(r);
    kn_report_input_clear(&m);
    kn_resources_restore(ctx, before);
    return status;
}

kn_status kn_report_json(kn_ctx *ctx, kn_report *report, const char **json)
{
    kn_status status = KN_OK;
    *json = NULL;
    if (!report->json)
        status = kn_report_json_text(ctx, report, &report->json);
    if (status == KN_OK)
        *json = report->json;
    return status;
}

/* Figures and page are renamed into place together at the end: either all appear, or none. */
kn_status kn_report_write(kn_ctx *ctx, const kn_report *report, const kn_options *options,
                          kn_report_info *info)
{
    kn_status status;
    kn_settings s;
    kn_created_files made = {0};
    kn_uncommitted_files pending = {0};
    kn_arena arena = {0};
    kn_protected inputs;
    kn_report_info own = {.size = sizeof own,
                          .participants = report->participants.n,
                          .responses = report->responses.T,
                          .warnings = report->warnings.n,
                          .cards_asked = report->participants.n_cards,
                          .change = report->kind == KN_REPORT_CHANGE};
    status = kn_settings_of(ctx, options, "report", &s);
    if (status != KN_OK)
        return status;
    const kn_resources before = kn_settings_resources(ctx, &s);
    KN_TRY(kn_protected_find(ctx, &s, &arena, &inputs));
    kn_page_options page = {.max_size = s.max_size,
                            .write = {.force = s.force,
                                      .inputs = inputs.path,
                                      .n_inputs = inputs.n,
                                      .made = &made,
                                      .pending = &pending}};
    if (s.figures) /* the page may be in this folder */
        KN_TRY(kn_created_files_folder(ctx, &made, s.figures));
    if (s.page)
        KN_TRY(kn_writer_check(ctx, s.page, &page.write));
    if (s.figures)
        KN_TRY(kn_figures_write(ctx, report, s.figures, &page.write, &own.figures));
    if (s.page)
        KN_TRY(kn_page_write(ctx, report, s.page, &page, &own.cards, &own.bytes));
    KN_TRY(kn_uncommitted_files_commit(ctx, &pending, &made));
    kn_info_copy_out(info, &own, sizeof own);
out:
    kn_uncommitted_files_clear(&pending); /* before the folder created for them is removed */
    if (status != KN_OK)
        kn_created_files_remove(&made);
    kn_created_files_clear(&made);
    kn_arena_clear(&arena);
    kn_resources_restore(ctx, before);
    return status;
}

const char *kn_report_nouns(const kn_report *r, ptrdiff_t n)
{
    static const char *const NOUNS[][2] = {{"voxel", "voxels"},
                                           {"vertex", "vertices"},
                                           {"region", "regions"},
                                           {"response", "responses"}};
    const kn_report_space *s = &r->space;
    const int k = s->region                      ? 2
                  : s->kind == KN_REPORT_VOLUME  ? 0
                  : s->kind == KN_REPORT_SURFACE ? 1
                                                 : 3;
    return NOUNS[k][n != 1];
}

const char *kn_report_flag_title(const kn_report *r)
{
    return r->kind == KN_REPORT_CHANGE ? KN_FLAG_CHANGE_TITLE : KN_FLAG_TITLE;
}

const char *kn_report_cases(const kn_report *r)
{
    return r->group.label ? r->group.label : "cases";
}

void kn_report_free(kn_report *report)
{
    if (!report)
        return;
    for (int k = 0; k < report->space.meshes; k++)
        kn_surface_clear(&report->space.mesh[k].surface);
    kn_arena_clear(&report->arena);
    kn_free(report->json);
    kn_free(report);
}
