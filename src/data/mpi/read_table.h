/* A table that ranks have together: the first reads the file, which is opened and read once, and
 * all take its text apart. A table is one text with an index of its cells, of which each rank turns
 * those of its own responses into numbers.
 *
 *     cost: a broadcast of the file, which every rank holds */
#ifndef KN_DATA_MPI_READ_TABLE_H
#define KN_DATA_MPI_READ_TABLE_H

#include "io/table/table.h"

/* kn_table_read, on all ranks. Collective. */
kn_status kn_table_read_together(kn_ctx *ctx, const char *path, kn_table **out);

/* Whether two paths are one file to the first rank: others may not see it. Collective. */
kn_status kn_comm_check_table(kn_ctx *ctx, const char *a, const char *b, bool *one);

#endif
