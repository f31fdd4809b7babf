/* Implements maybe_gzip_file.h. */
#include "io/gzip/maybe_gzip_file.h"

#include "io/file/path.h"

kn_status kn_maybe_gzip_open(kn_ctx *ctx, const char *path, const kn_write_options *options,
                             kn_maybe_gzip_file *out)
{
    kn_status status;
    *out = (kn_maybe_gzip_file){0};
    KN_TRY(kn_writer_new(ctx, path, options, &out->file));
    if (kn_path_ends(path, ".gz") || kn_path_ends(path, ".mgz"))
        KN_TRY(kn_gzip_writer_new(ctx, out->file, &out->gzip));
out:
    if (status != KN_OK)
        kn_maybe_gzip_clear(out);
    return status;
}

kn_status kn_maybe_gzip_put(kn_ctx *ctx, kn_maybe_gzip_file *f, const void *bytes, ptrdiff_t n)
{
    return f->gzip ? kn_gzip_writer_write(ctx, f->gzip, bytes, n)
                   : kn_writer_write(ctx, f->file, bytes, n);
}

kn_status kn_maybe_gzip_commit(kn_ctx *ctx, kn_maybe_gzip_file *f)
{
    kn_status status = f->gzip ? kn_gzip_writer_finish(ctx, f->gzip) : KN_OK;
    return status == KN_OK ? kn_writer_commit(ctx, f->file) : status;
}

void kn_maybe_gzip_clear(kn_maybe_gzip_file *f)
{
    kn_gzip_writer_free(f->gzip);
    kn_writer_free(f->file);
    *f = (kn_maybe_gzip_file){0};
}
