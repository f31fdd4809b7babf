/* What the steps of scoring share. For score.c and score_output.c. */
#ifndef KN_COMMANDS_SCORE_INTERNAL_H
#define KN_COMMANDS_SCORE_INTERNAL_H

#include "commands/common/map_writer.h"
#include "commands/score/join/job_parts.h"
#include "commands/score/join/join.h"
#include "commands/score/new_participants.h"
#include "commands/score/stale_maps.h"

typedef struct kn_score_work {
    const kn_model *model;
    kn_data *data;
    const kn_options *given;
    kn_join *join; /* takes what is scored, in the place of files; NULL: none */
    kn_settings s;
    bool score;
    unsigned write;     /* KN_MAP_...: those asked for */
    kn_job_part part;   /* whom of the people; n 0: all */
    kn_job_parts parts; /* that are put together; n 0: people are scored */
    kn_sample people;
    kn_exclusions exclusions;
    kn_participant_status standing;
    kn_scores *scores;
    kn_warnings warnings;
    /* with {output} */
    kn_write_options options;
    const char **inputs;
    kn_created_files made;
    kn_uncommitted_files pending;
    kn_maplayout layout;
    kn_maplayout rows; /* the same; of a part that is to be joined an array */
    kn_stale_files stale;
    kn_mapfile *file[KN_N_MAPS]; /* NULL: not asked for */
    char name[KN_N_MAPS][KN_PART_NAME];
    kn_hashing hash[KN_N_MAPS]; /* of a part's maps so far */
    ptrdiff_t height, batch;    /* of a batch that is filled up; people at a time */
    kn_shash *law;              /* of each response in use, made once; NULL: z have no shape */
    float *buffer[KN_N_MAPS], *z_noise; /* for the maps of a batch that the scores do not keep */
} kn_score_work;

/* Writes what only the join does not: a part of the people, into a folder. */
static inline bool kn_score_is_part(const kn_score_work *w)
{
    return w->part.n > 0 && w->s.folder;
}

/* The folder, and every file that will be in it, before anything is computed. */
kn_status kn_score_prepare_outputs(kn_ctx *ctx, kn_score_work *w);
/* Map files are open: those that rows go to. */
kn_status kn_score_open_maps(kn_ctx *ctx, kn_score_work *w);
/* People of the batch, map by map. */
kn_status kn_score_write_rows(kn_ctx *ctx, kn_score_work *w, float *const *map, ptrdiff_t rows);
/* Files get their names all at once, the tables last: their presence says that everything is there.
 */
kn_status kn_score_write_all(kn_ctx *ctx, kn_score_work *w);

#endif
