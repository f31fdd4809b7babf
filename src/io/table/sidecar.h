/* JSON sidecars of tables, in BIDS form: for each column its Description, and Units and Levels
 * where it has them. The descriptions are the rows of src/columns.def. A table writer makes them
 * (kn_table_writer_describe). */
#ifndef KN_IO_TABLE_SIDECAR_H
#define KN_IO_TABLE_SIDECAR_H

#include <stddef.h>

#include "io/file/atomic_writer.h"

/* True if src/columns.def has the table. file: "abnormality.tsv"; "z.csv" for maps. */
bool kn_sidecar_known(const char *file);

/* Writes the path of the JSON sidecar of a table to out: .json in the place of the last four
 * characters of table_path, which ends in .tsv or .csv. KN_ERR_IO if `size` is too small. */
kn_status kn_sidecar_path(kn_ctx *ctx, const char *table_path, char *out, size_t size);

/* Tests before a long computation whether the sidecar can be written (kn_writer_check). */
kn_status kn_sidecar_check(kn_ctx *ctx, const char *table_path, const kn_write_options *options);

/* Writes the sidecar of a table.
 *   file   the table in src/columns.def; if it ends in .csv, names are not needed: its entries are
 *          those of columns.def, "*" for the responses
 *   names  n column names of the table, in order; a name without a row has the description of "*"
 * KN_ERR_ARGUMENT if the table or a column has no description. */
kn_status kn_sidecar_write(kn_ctx *ctx, const char *table_path, const char *file,
                           const char *const *names, ptrdiff_t n, const kn_write_options *options);

#endif
