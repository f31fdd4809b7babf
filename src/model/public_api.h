/* A model as a file, as bytes and in words: what the public calls of the header do. */
#ifndef KN_MODEL_PUBLIC_API_H
#define KN_MODEL_PUBLIC_API_H

#include <stddef.h>

/* out = "MODEL.log.json", the log that a fit writes beside its model. */
void kn_log_path(const char *model, char *out, size_t size);

#endif
