/* An empty folder that the test program works in, and files there made from bytes. */
#ifndef KN_TEST_SCRATCH_H
#define KN_TEST_SCRATCH_H

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "support/test.h"

/* The call fails with this status and exactly this sentence. */
#define assert_sentence(ctx, call, expected, text)                                                 \
    do {                                                                                           \
        kn_status s_ = (call);                                                                     \
        if (s_ != (expected) || strcmp(kn_message(ctx), (text)) != 0)                              \
            fail_msg("%s: status %s, message '%s'; expected %s and '%s'", #call,                   \
                     kn_status_name(s_), kn_message(ctx), kn_status_name(expected), (text));       \
    } while (0)

static char scratch_dir[32];

static inline int scratch_enter(void **state)
{
    (void)state;
    strcpy(scratch_dir, "/tmp/kn-test-XXXXXX");
    return mkdtemp(scratch_dir) && chdir(scratch_dir) == 0 ? 0 : -1;
}

static inline int scratch_count(void) /* files in the folder, hidden ones too */
{
    int n = 0;
    DIR *dir = opendir(".");
    for (struct dirent *e; dir && (e = readdir(dir));)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(dir);
    return n;
}

/* Removes everything in the folder: files, and folders of files. */
static inline void scratch_empty(void)
{
    char path[600];
    DIR *dir = opendir(".");
    for (struct dirent *e; dir && (e = readdir(dir));) {
        DIR *inner = e->d_name[0] != '.' && remove(e->d_name) != 0 ? opendir(e->d_name) : NULL;
        for (struct dirent *f; inner && (f = readdir(inner));) {
            snprintf(path, sizeof path, "%s/%s", e->d_name, f->d_name);
            remove(path); /* of . and .. it refuses */
        }
        if (inner) {
            closedir(inner);
            remove(e->d_name);
        } else {
            remove(e->d_name);
        }
    }
    closedir(dir);
}

static inline int scratch_leave(void **state)
{
    (void)state;
    scratch_empty();
    return chdir("/") == 0 && rmdir(scratch_dir) == 0 ? 0 : -1;
}

static inline void scratch_file(const char *name, const void *bytes, size_t n)
{
    FILE *f = fopen(name, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
        fail_msg("cannot write %s", name);
}

static inline void scratch_text(const char *name, const char *text)
{
    scratch_file(name, text, strlen(text));
}

static inline size_t scratch_read(const char *name, void *bytes, size_t room)
{
    FILE *f = fopen(name, "rb");
    if (!f)
        fail_msg("cannot read %s", name);
    size_t n = fread(bytes, 1, room, f);
    fclose(f);
    return n;
}

#endif
