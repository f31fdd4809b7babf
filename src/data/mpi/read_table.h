/* Reads a table on all MPI ranks: the root reads the file once and broadcasts its bytes, and every
 * rank parses them. A rank later converts only the cells of its own responses to numbers.
 *
 *     cost: a broadcast of the file, which every rank holds */
#ifndef KN_DATA_MPI_READ_TABLE_H
#define KN_DATA_MPI_READ_TABLE_H

#include "io/table/table.h"

/* kn_table_read on all ranks; the table is owned by the caller. Collective. */
kn_status kn_table_read_together(kn_ctx *ctx, const char *path, kn_table **out);

/* *one = two paths are the same file for the root; other ranks may not see it. Collective. */
kn_status kn_comm_check_table(kn_ctx *ctx, const char *a, const char *b, bool *one);

#endif
