/* Folders with folders in them, for tests: taken away, and compared byte by byte. */
#ifndef KN_TEST_FOLDERS_H
#define KN_TEST_FOLDERS_H

#include <sys/stat.h>

#include "support/scratch.h"

static inline bool folder_entry(const struct dirent *e, const char *dir, char path[512],
                                bool *is_dir)
{
    struct stat info;
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
        return false;
    if (snprintf(path, 512, "%s/%s", dir, e->d_name) >= 512 || lstat(path, &info) != 0)
        fail_msg("%s/%s", dir, e->d_name);
    *is_dir = S_ISDIR(info.st_mode);
    return true;
}

static inline void folder_remove(const char *dir)
{
    char path[512];
    bool is_dir;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));)
        if (folder_entry(e, dir, path, &is_dir)) {
            if (is_dir)
                folder_remove(path);
            else
                unlink(path);
        }
    if (d)
        closedir(d);
    rmdir(dir);
}

static inline int folder_files(const char *dir) /* in it and in the folders inside */
{
    char path[512];
    bool is_dir;
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));)
        if (folder_entry(e, dir, path, &is_dir))
            n += is_dir ? folder_files(path) : 1;
    if (d)
        closedir(d);
    return n;
}

/* Every file of a is in b with the same bytes; how many there are. */
static inline int folder_compare(const char *a, const char *b)
{
    enum { ROOM = 1 << 22 };
    char path[512], other[1024];
    bool is_dir;
    int n = 0;
    unsigned char *x = malloc(ROOM), *y = malloc(ROOM);
    DIR *d = opendir(a);
    for (struct dirent *e; d && (e = readdir(d));)
        if (folder_entry(e, a, path, &is_dir)) {
            if (snprintf(other, sizeof other, "%s/%s", b, e->d_name) >= (int)sizeof other)
                fail_msg("%s/%s", b, e->d_name);
            if (is_dir) {
                n += folder_compare(path, other);
                continue;
            }
            size_t m = scratch_read(path, x, ROOM);
            assert_true(m < ROOM);
            if (scratch_read(other, y, ROOM) != m || memcmp(x, y, m) != 0)
                fail_msg("%s differs from %s", path, other);
            n++;
        }
    if (d)
        closedir(d);
    free(x);
    free(y);
    return n;
}

#endif
