/* Broadcast of a model over MPI ranks. */
#ifndef KN_MODEL_FILE_BROADCAST_H
#define KN_MODEL_FILE_BROADCAST_H

#include "kronorm.h"

/* Give *model of root to the ranks that have none (NULL), as the bytes of its file; no transfer
 * if all have one. Collective. */
kn_status kn_model_broadcast(kn_ctx *ctx, kn_model **model);

#endif
