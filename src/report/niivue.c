/* NiiVue from its file: known by the SHA-256 of the script, however it was packed. */
#include "report/niivue.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/sha256.h"
#include "io/gzip.h"
#include "io/source.h"
#include "report/niivue_place.h" /* made by meson: KN_NIIVUE_PLACE, within the data folder */

/* Of what tools/fetch-niivue unpacks to, which looks here for it. */
#define SCRIPT "f340ec6945a135a3f067554d88f20399e7b29dc7805f78ed96db4f76ac29e0d6"

/* The script is 2.3 MB; nothing that is much larger is it. */
enum { MOST = 16 << 20, PIECE = 1 << 16 };

const char *kn_niivue_place(void)
{
    const char *told = getenv("KRONORM_NIIVUE");
    return told && *told ? told : KN_NIIVUE_PLACE;
}

static kn_status hash(kn_ctx *ctx, const kn_source *packed, unsigned char out[KN_SHA256_BYTES])
{
    kn_status status;
    kn_gunzip *g = NULL;
    unsigned char piece[PIECE];
    ptrdiff_t got = PIECE;
    kn_sha256 h = kn_sha256_begin();
    KN_TRY(kn_gunzip_new(ctx, &g));
    KN_TRY(kn_gunzip_start(ctx, g, packed));
    while (got == PIECE && h.total < MOST) {
        KN_TRY(kn_gunzip_read(ctx, g, PIECE, piece, &got));
        kn_sha256_add(&h, piece, (size_t)got);
    }
    kn_sha256_end(h, out);
out:
    kn_gunzip_free(g);
    return status;
}

static kn_status take(kn_ctx *ctx, const char *path, const kn_source *file, kn_niivue *out)
{
    kn_status status;
    unsigned char first[2] = {0}, found[KN_SHA256_BYTES];
    char hex[KN_SHA256_HEX];
    if (file->size >= KN_GZIP_MIN_SIZE)
        KN_TRY(kn_source_read(ctx, file, 0, 2, first));
    if (!kn_is_gzip(first, 2) || file->size > MOST) {
        status = kn_fail(ctx, KN_ERR_FORMAT,
                         "%s: not the NiiVue that this kronorm knows, expected "
                         "the file that tools/fetch-niivue makes",
                         path);
        goto out;
    }
    KN_TRY(kn_alloc(ctx, file->size, 1, &out->bytes));
    out->n = file->size;
    KN_TRY(kn_source_read(ctx, file, 0, out->n, out->bytes));
    const kn_source packed = kn_source_of(path, out->bytes, out->n);
    KN_TRY(hash(ctx, &packed, found));
    kn_sha256_hex(found, hex);
    if (strcmp(hex, SCRIPT) != 0) {
        status = kn_fail(ctx, KN_ERR_FORMAT,
                         "%s: the script in it has the SHA-256 %s, expected %s "
                         "(tools/fetch-niivue gets it)",
                         path, hex, SCRIPT);
        goto out;
    }
    kn_sha256_source(found, out->csp);
out:
    return status;
}

kn_status kn_niivue_read(kn_ctx *ctx, kn_niivue *out)
{
    kn_status status;
    struct stat there;
    kn_source file = {0};
    const char *path = kn_niivue_place();
    *out = (kn_niivue){0};
    if (stat(path, &there) != 0)
        return kn_fail(ctx, KN_ERR_IO,
                       "NiiVue is not at %s, expected tools/fetch-niivue to have put "
                       "it there",
                       path);
    KN_TRY(kn_source_open(ctx, path, &file));
    KN_TRY(take(ctx, path, &file, out));
out:
    kn_source_close(&file);
    if (status != KN_OK)
        kn_niivue_clear(out);
    return status;
}

void kn_niivue_clear(kn_niivue *n)
{
    kn_free(n->bytes);
    *n = (kn_niivue){0};
}
