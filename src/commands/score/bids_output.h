/* The BIDS derivatives dataset of {bids_output}: maps with BIDS names beside the folder that the
 * other commands read. Its files are renamed together with those of {output}. */
#ifndef KN_COMMANDS_SCORE_BIDS_OUTPUT_H
#define KN_COMMANDS_SCORE_BIDS_OUTPUT_H

#include "commands/common/map_writer.h"
#include "commands/score/scores.h"
#include "data/dataset.h"

/* State of the dataset; {0}: {bids_output} is not given. Owns its arrays, and borrows the rest. */
typedef struct kn_bids_output {
    const kn_data *data;
    unsigned write;              /* KN_MAP_... bits of the maps */
    ptrdiff_t n;                 /* participants */
    kn_maplayout layout;         /* images: one file per participant; tables: one table */
    ptrdiff_t *image;            /* n: image of each participant; NULL: the responses are a table */
    char **id;                   /* n: participant_id of each row of the table; NULL: images */
    char *root;                  /* folder of the source dataset; NULL: several or unknown */
    kn_mapfile *file[KN_N_MAPS]; /* NULL: not requested */
} kn_bids_output;

/* KN_ERR_ARGUMENT if {bids_output} is given without {output}, or with {part} or {join}. */
kn_status kn_bids_output_check(kn_ctx *ctx, const kn_settings *s);

/* Makes the folders, and checks all names before the computation; *out = {0} without {bids_output}.
 * main: layout of the maps in {output}, whose write options are used. KN_ERR_DATA if an image has
 * no BIDS name, an ID is no BIDS label or two maps have one name; KN_ERR_ARGUMENT if the responses
 * are neither images of participants nor a table, or the folder has another dataset. Free with
 * kn_bids_output_clear. *out must stay where it is. */
kn_status kn_bids_output_new(kn_ctx *ctx, const kn_settings *s, const kn_data *data,
                             const kn_maplayout *main, const kn_sample *participants,
                             unsigned write, kn_bids_output *out);
/* Opens the maps, which receive rows by kn_mapfile_rows. */
kn_status kn_bids_output_open(kn_ctx *ctx, kn_bids_output *out);
/* Finishes the maps; writes the sidecars and dataset_description.json; adds to *n_files. */
kn_status kn_bids_output_write(kn_ctx *ctx, kn_bids_output *out, ptrdiff_t *n_files);
/* Frees the contents; files that were not committed are removed. Accepts {0}. */
void kn_bids_output_clear(kn_bids_output *out);

#endif
