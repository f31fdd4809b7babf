/* The report as JSON: every number of the page, for machines and for tests. */
#ifndef KN_REPORT_JSON_JSON_H
#define KN_REPORT_JSON_JSON_H

#include "report/report.h"

kn_status kn_report_json_text(kn_ctx *ctx, const kn_report *r, char **out); /* kn_free */

#endif
