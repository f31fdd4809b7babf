/* Implements load_plugin.h by dlopen. The command calls it once at its start when it runs under
 * mpirun or srun. */
#include "base/mpi/load_plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const USUAL = "libkronorm_mpi.so", *const SYMBOL = "kronorm_comm_plugin";

/* Writes the folder of this program, without a final slash, to folder (size bytes); false:
 * unknown. From /proc/self/exe, because argv[0] may be a link or relative to the working folder. */
static bool find_program_folder(char *folder, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", folder, size - 1);
    if (n <= 0 || n == (ssize_t)size - 1)
        return false;
    folder[n] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    return slash;
}

kn_status kn_comm_find(kn_ctx *ctx, const char *name, char *path, size_t size)
{
    static const char *const PLACES[] = {"", "/../lib/kronorm"};
    enum { FOLDER = 4096 };
    char folder[FOLDER];
    name = name ? name : USUAL;
    if (name[0] == '/') {
        int n = snprintf(path, size, "%s", name);
        if (n < 0 || (size_t)n >= size || access(path, R_OK) != 0)
            return kn_fail(ctx, KN_ERR_IO, "KRONORM_COMM is %s, which cannot be read", name);
        return KN_OK;
    }
    if (!*name || strchr(name, '/'))
        return kn_fail(
            ctx, KN_ERR_ARGUMENT,
            "KRONORM_COMM is '%s', but must be none, the name of a plugin or an absolute path",
            name);
    if (find_program_folder(folder, sizeof folder))
        for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES; i++) {
            int n = snprintf(path, size, "%s%s/%s", folder, PLACES[i], name);
            if (n > 0 && (size_t)n < size && access(path, R_OK) == 0)
                return KN_OK;
        }
    return kn_fail(ctx, KN_ERR_IO,
                   "%s was found neither beside this program nor in its ../lib/kronorm", name);
}

kn_status kn_comm_load(kn_ctx *ctx, const char *path, kn_comm *out)
{
    *out = kn_comm_serial;
    /* RTLD_GLOBAL: components that Open MPI loads need its symbols */
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        return kn_fail(ctx, KN_ERR_IO, "the plugin cannot be loaded: %s", dlerror());
    const kn_comm_plugin *plugin = dlsym(library, SYMBOL);
    if (!plugin)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s is not a plugin of kronorm", path);
    if (plugin->abi != KN_COMM_ABI || plugin->comm_bytes != sizeof *out)
        return kn_fail(ctx, KN_ERR_FORMAT,
                       "%s was built for another version of kronorm (interface %d instead of %d); "
                       "rebuild it with make mpi",
                       path, plugin->abi, KN_COMM_ABI);
    const char *why = plugin->begin(out);
    return why ? kn_fail(ctx, KN_ERR_IO, "%s: %s", path, why) : KN_OK;
}
