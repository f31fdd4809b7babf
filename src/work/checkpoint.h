/* The journal of a fit as a file beside the model, so that a fit that was killed goes on from its
 * last step. The first line of the file says what the steps depend on: data, options, program and
 * machine. Layout in docs/formats.md. */
#ifndef KN_WORK_CHECKPOINT_H
#define KN_WORK_CHECKPOINT_H

#include "base/options.h"
#include "gp/journal.h"

typedef struct kn_checkpoint kn_checkpoint;

/* "MODEL.resume" */
void kn_checkpoint_path(const char *model, char *out, size_t size);

/* Opens the one that is there, or begins one, and says which. One of other data, options, program
 * or machine is refused. Among ranks the first has it, of the responses of all of them, and the
 * others have NULL; how many they are is not in it. Collective. */
kn_status kn_checkpoint_open(kn_ctx *ctx, const char *path, kn_view X, kn_view Y,
                             const kn_settings *settings, kn_checkpoint **out);
kn_journal *kn_checkpoint_journal(kn_checkpoint *c);            /* NULL of NULL */
void kn_checkpoint_remove(kn_ctx *ctx, const kn_checkpoint *c); /* the file; NULL is fine */
void kn_checkpoint_free(kn_checkpoint *c);

#endif
