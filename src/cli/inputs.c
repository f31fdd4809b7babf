#include "cli/inputs.h"

kn_status cli_open(cli_run *run, kn_model **model, kn_data **data)
{
    kn_status status = kn_model_open(run->ctx, kn_options_get(run->options, "model"), model);
    *data = NULL;
    return status == KN_OK ? kn_data_read(run->ctx, run->options, data) : status;
}
