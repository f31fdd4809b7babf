/* The report as JSON: every number of the page, for programs and for tests. `kronorm report
 * --json` prints it. */
#ifndef KN_REPORT_JSON_REPORT_JSON_H
#define KN_REPORT_JSON_REPORT_JSON_H

#include "report/report.h"

/* Prints the report as JSON. *out is owned by the caller; free it with kn_free. */
kn_status kn_report_json_text(kn_ctx *ctx, const kn_report *r, char **out);

#endif
