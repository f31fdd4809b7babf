/* Writes the HTML page: one self-contained file, drawn from a kn_report alone. The page loads
 * nothing from the network. */
#ifndef KN_REPORT_PAGE_PAGE_H
#define KN_REPORT_PAGE_PAGE_H

#include "io/file/atomic_writer.h"
#include "report/pictures/picture.h"
#include "report/report.h"

typedef struct kn_page_options {
    double max_size; /* largest size of the page in bytes */
    kn_write_options write;
} kn_page_options;

/* Writes the page to `path`. If it would exceed max_size, the page gets fewer cards, then no
 * viewer data, fewer thumbnails and fewer table rows; it is refused if it is still too large.
 * *cards and *bytes receive the number of cards and the size written. Called by report.c after
 * the figures. */
kn_status kn_page_write(kn_ctx *ctx, const kn_report *r, const char *path,
                        const kn_page_options *options, ptrdiff_t *cards, ptrdiff_t *bytes);

#endif
