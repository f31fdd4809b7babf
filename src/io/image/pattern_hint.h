/* What to say about a pattern that no file matches: the nearest existing name. */
#ifndef KN_IO_IMAGE_PATTERN_HINT_H
#define KN_IO_IMAGE_PATTERN_HINT_H

enum { KN_PATTERN_HINT = 768 };

/* Writes "; did you mean images?" for the first part of the pattern, between slashes, that no file
 * or folder matches, or "; FOLDER contains NAME" with the first of its names if none is close. ""
 * if the folder before that part is empty, or is the working folder and no name is close. Cost: one
 * listing of that folder. Returns out. */
const char *kn_pattern_hint(const char *pattern, char out[KN_PATTERN_HINT]);

#endif
