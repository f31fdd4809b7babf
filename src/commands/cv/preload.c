/* Implements preload.h. */
#include "commands/cv/preload.h"

#include "commands/common/validate.h"
#include "commands/fit/basis_source.h"
#include "commands/memory/memory_plan.h"

kn_status kn_preload_for_fit(kn_ctx *ctx, kn_data *data, const kn_options *options, double beside,
                             kn_preloaded **out)
{
    return kn_plan_caller_bytes(ctx, data, options, (kn_caller_bytes){.fixed = beside}, out);
}

kn_status kn_plan_caller_bytes(kn_ctx *ctx, kn_data *data, const kn_options *options,
                               kn_caller_bytes beside, kn_preloaded **out)
{
    kn_status status;
    kn_settings s;
    kn_command_memory room;
    kn_basis_source basis = {0};
    kn_resources before = kn_resources_of(ctx);
    *out = NULL;
    KN_TRY(kn_settings_of(ctx, options, "fit", &s));
    KN_TRY(kn_check_fit(ctx, &s));
    kn_settings_resources(ctx, &s);
    KN_TRY(kn_basis_source_open(ctx, s.basis, &basis));
    s.basis_view.cols = basis.cols;
    KN_TRY(kn_memory_policy_fit(ctx, &s, &room));
    room.room.beside = beside;
    room.room.beside.response += kn_basis_source_beside(&basis);
    room.shape.in_parts = true;
    KN_TRY(kn_data_preload(ctx, data, &s, &room.room, out));
out:
    kn_basis_source_clear(&basis);
    kn_resources_put(ctx, before);
    return status;
}
