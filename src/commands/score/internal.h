/* State of one call of score or predict, and its output steps. For score.c, output.c and mpi.c. */
#ifndef KN_COMMANDS_SCORE_INTERNAL_H
#define KN_COMMANDS_SCORE_INTERNAL_H

#include "commands/common/map_writer.h"
#include "commands/score/join/job_parts.h"
#include "commands/score/join/join.h"
#include "commands/score/new_participants.h"
#include "commands/score/stale_maps.h"

/* One call of score or predict. Owns everything but model, data, given and join. */
typedef struct kn_score_work {
    const kn_model *model;
    kn_data *data;
    const kn_options *given; /* options of the caller */
    kn_join *join; /* receives the results instead of files (cross-validation); NULL: none */
    kn_settings s;
    bool score;         /* score; false: predict */
    unsigned write;     /* KN_MAP_... bits of the requested maps */
    kn_job_part part;   /* job part of this process; n = 0: all participants */
    kn_job_parts parts; /* job parts to join; n = 0: participants are scored */
    kn_sample people;   /* scored participants */
    kn_exclusions exclusions;
    kn_participant_status standing; /* relation of them to the training sample */
    kn_scores *scores;
    kn_warnings warnings; /* of this call, for the summary */
    /* the following with {output} */
    kn_write_options options;
    const char **inputs;          /* input files, never overwritten */
    kn_created_files made;        /* removed if the call fails */
    kn_uncommitted_files pending; /* written, but not renamed yet */
    kn_maplayout layout;          /* final layout of the maps */
    kn_maplayout rows;            /* layout of the rows written here; for a job part an array */
    kn_stale_files stale;         /* maps of an earlier run */
    kn_mapfile *file[KN_N_MAPS];  /* NULL: not requested */
    char name[KN_N_MAPS][KN_PART_NAME]; /* file names of the maps */
    kn_hashing hash[KN_N_MAPS];         /* running hashes of the maps of a job part */
    ptrdiff_t height, batch;            /* rows of a padded minibatch; participants per minibatch */
    kn_shash *law;                      /* distribution per response in use; NULL: no SHASH shape */
    float *buffer[KN_N_MAPS], *z_noise; /* maps of a minibatch that the scores do not keep */
} kn_score_work;

/* True if this call writes the files of a job part into {output}. */
static inline bool kn_score_is_part(const kn_score_work *w)
{
    return w->part.n > 0 && w->s.folder;
}

/* Creates the folder and checks every file that will be written, before any computation. */
kn_status kn_score_prepare_outputs(kn_ctx *ctx, kn_score_work *w);
/* Opens the map files that receive rows. */
kn_status kn_score_open_maps(kn_ctx *ctx, kn_score_work *w);
/* Appends `rows` rows of each requested map to its file. */
kn_status kn_score_write_rows(kn_ctx *ctx, kn_score_work *w, float *const *map, ptrdiff_t rows);
/* Writes the tables and renames all files at once, the tables last: their presence means that the
 * output is complete. */
kn_status kn_score_write_all(kn_ctx *ctx, kn_score_work *w);

#endif
