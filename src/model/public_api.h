/* Helper of public_api.c, which implements the kn_model_ calls of kronorm.h that save, open and
 * describe a model. */
#ifndef KN_MODEL_PUBLIC_API_H
#define KN_MODEL_PUBLIC_API_H

#include <stddef.h>

/* out = "MODEL.log.json", the log that a fit writes beside its model, with the timings. */
void kn_log_path(const char *model, char *out, size_t size);

#endif
