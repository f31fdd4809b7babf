/* With {force}: removes files of an earlier kn_cv that this run does not write. Old scores of
 * adapted models would be taken for results of this run. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands/cv/cv.h"
#include "commands/score/stale_maps.h"

enum { PATH = 4096 };

/* True for NAME.EXT, or NAME_SIDE.EXT with two hemispheres. */
static bool is_map(const char *file, const char *name)
{
    size_t n = strlen(name), side;
    if (strncmp(file, name, n) != 0)
        return false;
    file += n;
    side = *file == '_' ? 1 + strcspn(file + 1, "_.") : 0;
    return file[side] == '.';
}

/* True for file names of kn_join_write. */
static bool is_ours(const char *file)
{
    static const char *const TABLES[] = {"abnormality.tsv", "metrics.tsv", "people.tsv",
                                         "summary.json"};
    for (size_t k = 0; k < sizeof TABLES / sizeof *TABLES; k++)
        if (strcmp(file, TABLES[k]) == 0)
            return true;
    for (int k = 0; k < KN_N_MAPS; k++)
        if (is_map(file, kn_map_name[k]))
            return true;
    for (int k = 0; k < KN_N_METRIC_MAPS; k++)
        if (is_map(file, kn_metric_maps[k].file))
            return true;
    return is_map(file, "ys2_noise");
}

static void remove_file(const kn_crossval *c, const char *dir, const char *name, ptrdiff_t *stayed)
{
    char path[PATH];
    if (snprintf(path, PATH, "%s/%s", dir, name) < PATH && kn_may_delete(c->options, path))
        *stayed += unlink(path) != 0;
}

void kn_crossval_sweep(kn_ctx *ctx, const kn_crossval *c)
{
    char dir[PATH];
    ptrdiff_t stayed = 0;
    if (!c->options->force || c->s->lists)
        return;
    if (c->site->n == 0)
        remove_file(c, c->dir, "metrics_by_site.tsv", &stayed);
    DIR *d = !c->adapted && snprintf(dir, PATH, "%s/adapted", c->dir) < PATH ? opendir(dir) : NULL;
    for (struct dirent *e; d && (e = readdir(d));)
        if (is_ours(e->d_name))
            remove_file(c, dir, e->d_name, &stayed);
    if (d) {
        closedir(d);
        rmdir(dir); /* fails if other files are left, which is fine */
    }
    if (stayed > 0)
        kn_log(ctx, KN_LOG_WARNING, "%s: %td files of an earlier run could not be removed", c->dir,
               stayed);
}
