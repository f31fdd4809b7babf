/* Reads a SUBJECTS_DIR of FreeSurfer: the files stats/lh.ATLAS.stats, stats/rh.ATLAS.stats or
 * stats/ATLAS.stats of each folder. The result has the layout of aparcstats2table and
 * asegstats2table, one table per hemisphere, atlas and measure. */
#ifndef KN_IO_FREESURFER_SUBJECTS_FOLDER_H
#define KN_IO_FREESURFER_SUBJECTS_FOLDER_H

#include "base/memory/alloc.h"

enum { KN_STATS_TABLES = 64 };

typedef struct kn_stats_tables {
    int n;
    char *name[KN_STATS_TABLES]; /* SUBJECTS_DIR/.../stats/lh.aparc.stats, for messages */
    char *text[KN_STATS_TABLES]; /* tab-separated, NUL-terminated */
    char **file;                 /* n_files: every file that was read */
    ptrdiff_t n_files, file_room;
} kn_stats_tables;

/* True if the path is a folder, or a pattern of folders, in which at least one folder has a folder
 * stats. */
bool kn_subjects_is_folder(const char *path);

/* Reads the measures (thickness,area; names of aparcstats2table) of the atlases (aparc,aseg) of
 * every folder in `path`, or of the folders that match the pattern `path`. IDs are the names of the
 * folders, up to ".long."; fsaverage* is left out. A folder without one of the files has no row in
 * that table, and a warning counts them. Rows are ordered by name. KN_ERR_ARGUMENT for an unknown
 * measure or atlas; KN_ERR_DATA for longitudinal folders beside others, a table that no folder
 * has a file of, a region or measure that occurs twice, and a name that kn_path_check_cell()
 * refuses; KN_ERR_FORMAT for a file that cannot be read. Cost: one read of each file per measure.
 */
kn_status kn_subjects_read(kn_ctx *ctx, const char *path, const char *measures, const char *atlases,
                           kn_stats_tables *out);
void kn_stats_tables_clear(kn_stats_tables *tables); /* accepts {0} */

#endif
