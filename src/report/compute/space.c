/* Locations of the responses: voxels of a volume, vertices or regions on given surfaces, or
 * names of a table, which may be regions of an atlas. */
#include "report/compute/space.h"
#include "report/atlas/regions.h"

/* Surface formats are read as n x 1 x 1 images. */
static bool is_volume(const kn_space *s)
{
    return s->kind == KN_SPACE_IMAGE && s->parts == 1 && !s->part[0].brain.xml &&
           (s->geometry.dim[1] > 1 || s->geometry.dim[2] > 1);
}

static kn_status check_options(kn_ctx *ctx, const kn_report_job *job, bool volume)
{
    const kn_settings *s = job->s;
    const char *alone = s->labels ? "labels" : s->sulc ? "sulc" : NULL;
    if (volume && s->surface)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{surface}: the responses are voxels of a volume, expected vertices "
                       "or a table of regions");
    if (!volume && s->background)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{background}: the responses are not voxels of a volume");
    if (alone && !s->surface)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{%s} needs {surface}: what it is of", alone);
    return KN_OK;
}

kn_status kn_compute_space(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    const kn_report_input *m = job->m;
    kn_report *r = job->r;
    const bool volume = is_volume(&m->space);
    KN_TRY(check_options(ctx, job, volume));
    if (m->space.kind == KN_SPACE_TABLE)
        KN_TRY(kn_regions_identify(ctx, &r->arena, m->name, m->T, &r->space));
    if (volume)
        KN_TRY(kn_space_volume(ctx, job));
    else if (job->s->surface)
        KN_TRY(kn_space_surface(ctx, job));
    else if (m->space.kind == KN_SPACE_IMAGE)
        r->space.surface_note = "No maps are drawn: the responses are vertices, and the model does "
                                "not know where these lie. 'kronorm report --surface "
                                "LEFT.gii,RIGHT.gii' draws them.";
out:
    return status;
}
