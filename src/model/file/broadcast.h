/* A model that one rank made, on all of them. */
#ifndef KN_MODEL_FILE_BROADCAST_H
#define KN_MODEL_FILE_BROADCAST_H

#include "kronorm.h"

/* *model of rank 0 becomes that of ranks that have none (NULL), by its bytes; nothing where all
 * have one. Collective. */
kn_status kn_model_broadcast(kn_ctx *ctx, kn_model **model);

#endif
