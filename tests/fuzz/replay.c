/* Runs a fuzz target over the files of its corpus, as an ordinary test. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

int main(int argc, char **argv)
{
    enum { PATH = 4096, ROOM = 1 << 20 };
    int count = 0;
    DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
    uint8_t *bytes = malloc(ROOM);
    if (!dir || !bytes) {
        fprintf(stderr, "usage: replay CORPUS\n");
        return 2;
    }
    for (struct dirent *e; (e = readdir(dir));) {
        char path[PATH];
        snprintf(path, sizeof path, "%s/%s", argv[1], e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (!f)
            continue;
        size_t n = fread(bytes, 1, ROOM, f);
        fclose(f);
        uint8_t *exact = malloc(n ? n : 1); /* so that a read beyond the end is one of the heap's */
        for (size_t i = 0; i < n; i++)
            exact[i] = bytes[i];
        LLVMFuzzerTestOneInput(exact, n);
        free(exact);
        count++;
    }
    closedir(dir);
    free(bytes);
    printf("%d inputs\n", count);
    return count > 0 ? 0 : 1;
}
