/* Where a gzip file may be taken apart, so that threads decompress the parts side by side.
 *
 *     BGZF (bgzip)     members of at most 64 KiB, each with its own size in the extra field 'BC'
 *     chunks           one member, in which every chunk of the contents ends on a byte with an
 * empty block, 00 00 ff ff, and none looks back beyond its start: what kn_gzip_writer makes, and
 * pigz -i. All chunks but the last hold as much.
 *
 * The first layout is told by the file; the second is guessed from those four bytes, and believed
 * when every part has the length that it should have and the checksum of the whole is right. */
#ifndef KN_IO_GZIP_PARTS_H
#define KN_IO_GZIP_PARTS_H

#include "io/source.h"

typedef struct kn_gzip_part {
    ptrdiff_t from, n;      /* bytes of the file */
    ptrdiff_t at, contents; /* and of the contents */
} kn_gzip_part;

typedef struct kn_gzip_parts {
    kn_gzip_part *part;
    ptrdiff_t count, room;
    ptrdiff_t contents; /* bytes in all */
    bool members;       /* each part is a member of its own */
} kn_gzip_parts;

/* count is 0, with KN_OK, where the file is to be read from its start. */
kn_status kn_gzip_parts_find(kn_ctx *ctx, const unsigned char *bytes, ptrdiff_t n,
                             kn_gzip_parts *out);
void kn_gzip_parts_clear(kn_gzip_parts *parts); /* {0} is fine */

/* Decompresses them into out, parts->contents bytes, on the context's threads. *done is false, with
 * KN_OK, where anything is not as it should be: whoever reads from the start will say what. */
kn_status kn_gzip_parts_inflate(kn_ctx *ctx, const kn_gzip_parts *parts, const unsigned char *bytes,
                                void *out, bool *done);

/* Size in the file of the BGZF member that begins with these bytes, 0: it is none. */
enum { KN_BGZF_HEAD = 18 };
ptrdiff_t kn_bgzf_size(const unsigned char *head, ptrdiff_t n);

#endif
