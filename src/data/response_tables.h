/* Opens responses that are tables: one table, or several that are joined by ID. Tables of
 * FreeSurfer are recognised by their first cell, a SUBJECTS_DIR by its folders stats.
 * dataset_read.c opens all other kinds. */
#ifndef KN_DATA_RESPONSE_TABLES_H
#define KN_DATA_RESPONSE_TABLES_H

#include "data/dataset.h"

/* Opens d->responses_path if it names tables: sets d->responses (the covariates' table if it is the
 * same file) and d->response_file. *is = it does; otherwise nothing is set. KN_ERR_ARGUMENT for a
 * list of tables and other files; KN_ERR_DATA if IDs or repeated columns do not fit. Collective. */
kn_status kn_response_tables_open(kn_ctx *ctx, const kn_settings *s, kn_data *d, bool *is);

/* Sends a text of the root, or NULL, to all ranks, where *text is NULL before. Owned. Collective.
 */
kn_status kn_text_send(kn_ctx *ctx, char **text);

/* Reads a table on all MPI ranks: the root reads the file once and broadcasts its bytes, and every
 * rank parses them. A rank later converts only the cells of its own responses to numbers. The table
 * is owned by the caller. Cost: a broadcast of the file, which every rank holds. Collective. */
kn_status kn_table_read_together(kn_ctx *ctx, const char *path, kn_table **out);

#endif
