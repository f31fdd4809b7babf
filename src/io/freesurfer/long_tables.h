/* Reads long tables *surfacestats.tsv, which have one row per region: columns hemisphere,
 * StructName and those of .stats files, and usually atlas, subject_id and session_id. */
#ifndef KN_IO_FREESURFER_LONG_TABLES_H
#define KN_IO_FREESURFER_LONG_TABLES_H

#include "io/freesurfer/subjects_folder.h"

/* True if the name ends in surfacestats.tsv. */
bool kn_long_is_name(const char *path);

/* Reads the measures of the atlases from a file, or from the files of a pattern, as wide tables
 * like those of kn_subjects_read. Without a column subject_id or participant_id the ID is the
 * beginning of the file name, before _surfacestats or _regionsurfacestats. With session_id an ID is
 * sub-01_ses-1. KN_ERR_IO if no file matches; KN_ERR_FORMAT or KN_ERR_DATA for a missing column, a
 * region that occurs twice and text instead of a number; KN_ERR_ARGUMENT for an unknown measure or
 * atlas. */
kn_status kn_long_read(kn_ctx *ctx, const char *path, const char *measures, const char *atlases,
                       kn_stats_tables *out);

#endif
