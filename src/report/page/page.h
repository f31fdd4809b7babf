/* Writes the HTML page: one self-contained file, drawn from a kn_report alone. */
#ifndef KN_REPORT_PAGE_PAGE_H
#define KN_REPORT_PAGE_PAGE_H

#include "io/file/atomic_writer.h"
#include "report/pictures/picture.h"
#include "report/report.h"

typedef struct kn_page_options {
    double max_size; /* bytes */
    kn_write_options write;
} kn_page_options;

/* Fewer cards, and then fewer thumbnails, where the page would be above max_size; *cards and
 * *bytes: how many, and how large it became. */
kn_status kn_page_write(kn_ctx *ctx, const kn_report *r, const char *path,
                        const kn_page_options *options, ptrdiff_t *cards, ptrdiff_t *bytes);

#endif
