/* Implements find_participants.h: first upwards, then sideways. */
#include "io/bids/find_participants.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/file/path.h"

enum { PATH = 4096, UP = 4, SIDEWAYS = 2 };
static const char NAME[] = "participants.tsv";

/* Copies the folder of a path; of a pattern the part before its first wildcard. */
static void fixed_part(const char *folder, char out[PATH])
{
    size_t n = access(folder, F_OK) == 0 ? strlen(folder) : strcspn(folder, "*?[");
    snprintf(out, PATH, "%.*s", (int)n, folder);
    if (folder[n]) { /* a wildcard within a name: its folder */
        char *slash = strrchr(out, '/');
        if (slash)
            slash[1] = '\0';
        else
            out[0] = '\0';
    }
    if (!*out)
        strcpy(out, ".");
}

/* Replaces a path by that of the folder above; false at the root. */
static bool go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash || !slash[1])
        return false;
    slash[slash == path] = '\0';
    return true;
}

/* Copies a path, without the working folder at its start. */
static kn_status copy_short(kn_ctx *ctx, const char *path, char **out)
{
    char here[PATH];
    size_t n = getcwd(here, sizeof here) ? strlen(here) : 0;
    if (n > 0 && strncmp(path, here, n) == 0 && path[n] == '/')
        path += n + 1;
    return kn_text_copy(ctx, path, strlen(path), out);
}

/* Writes the path of participants.tsv in a folder to `file`, and returns whether it can be read. */
static bool is_in(const char *folder, char file[PATH])
{
    return snprintf(file, PATH, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, NAME) < PATH &&
           access(file, R_OK) == 0;
}

/* The only participants.tsv in a folder beside. KN_ERR_ARGUMENT if there are several. */
static kn_status find_beside(kn_ctx *ctx, const char *above, char **out)
{
    char pattern[3 * PATH], literal[2 * PATH];
    glob_t found = {0};
    kn_status status = KN_OK;
    if (!kn_path_escape(above, literal, sizeof literal))
        goto out;
    snprintf(pattern, sizeof pattern, "%s/*/%s", literal, NAME);
    if (glob(pattern, 0, NULL, &found))
        goto out;
    if (found.gl_pathc == 1)
        status = copy_short(ctx, found.gl_pathv[0], out);
    else
        status = kn_fail(ctx, KN_ERR_ARGUMENT,
                         "{covariates} is needed, because several folders have participants.tsv: "
                         "%s, %s",
                         found.gl_pathv[0], found.gl_pathv[1]);
out:
    globfree(&found);
    return status;
}

kn_status kn_participants_find(kn_ctx *ctx, const char *folder, char **out)
{
    char fixed[PATH], at[PATH], file[PATH];
    kn_status status = KN_OK;
    *out = NULL;
    fixed_part(folder, fixed);
    char *whole = realpath(fixed, NULL);
    if (!whole)
        return kn_fail(ctx, KN_ERR_IO, "%s cannot be opened: no such folder", folder);
    snprintf(at, sizeof at, "%s", whole);
    for (int k = 0; k <= UP; k++) {
        if (is_in(at, file)) {
            KN_TRY(copy_short(ctx, file, out));
            goto out;
        }
        if (!go_up(at))
            break;
    }
    snprintf(at, sizeof at, "%s", whole);
    for (int k = 0; k < SIDEWAYS && !*out && go_up(at); k++)
        KN_TRY(find_beside(ctx, at, out));
    if (!*out)
        status =
            kn_fail(ctx, KN_ERR_ARGUMENT,
                    "{covariates} is needed: there is no participants.tsv in %s, in the folders "
                    "above it or beside it",
                    folder);
out:
    free(whole);
    return status;
}
