/* Recognises the tables of aparcstats2table and asegstats2table (table.h), whose first cell names
 * hemisphere, parcellation and measure. The cells are parsed as those of any other table. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/table/internal.h"

static const char SEPARATORS[] = "\t,; ";

/* Measures of aparcstats2table; those of asegstats2table follow "Measure:". */
static const char *const SURFACE[] = {"area",     "volume",   "thickness", "thicknessstd",
                                      "meancurv", "gauscurv", "foldind",   "curvind"};

/* Returns the measure at the end of "lh.aparc.thickness", or NULL; *length: its length. */
static const char *surface_measure(const char *cell, size_t n, size_t *length)
{
    size_t dot = n;
    if (n < 4 || (memcmp(cell, "lh.", 3) != 0 && memcmp(cell, "rh.", 3) != 0))
        return NULL;
    while (dot > 3 && cell[dot - 1] != '.')
        dot--;
    *length = n - dot;
    for (size_t k = 0; dot > 4 && k < sizeof SURFACE / sizeof *SURFACE; k++)
        if (strlen(SURFACE[k]) == *length && memcmp(SURFACE[k], cell + dot, *length) == 0)
            return cell + dot;
    return NULL;
}

bool kn_freesurfer_header(const char *bytes, ptrdiff_t n, char *separator,
                          char measure[KN_MEASURE_SIZE])
{
    static const char ASEG[] = "Measure:";
    enum { LONGEST = 512, PREFIX = sizeof ASEG - 1 };
    size_t cell = 0, limit = n < LONGEST ? (size_t)n : LONGEST, length = 0;
    while (cell < limit && bytes[cell] && !strchr("\t,; \r\n", bytes[cell]))
        cell++;
    if (cell == limit || !bytes[cell] || !strchr(SEPARATORS, bytes[cell]))
        return false;
    const char *found = surface_measure(bytes, cell, &length);
    if (!found && cell > PREFIX && memcmp(bytes, ASEG, PREFIX) == 0) {
        found = bytes + PREFIX;
        length = cell - PREFIX;
    }
    if (!found || length >= KN_MEASURE_SIZE)
        return false;
    memset(measure, 0, KN_MEASURE_SIZE);
    memcpy(measure, found, length);
    *separator = bytes[cell];
    return true;
}

kn_status kn_freesurfer_file(kn_ctx *ctx, const char *path, bool *is)
{
    enum { BEGINNING = 4096 };
    char bytes[BEGINNING], separator, measure[KN_MEASURE_SIZE];
    kn_byte_source source = {.fd = -1};
    struct stat info;
    kn_status status;
    *is = false;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return KN_OK;
    KN_TRY(kn_byte_source_open(ctx, path, &source));
    ptrdiff_t n = source.size < BEGINNING ? source.size : BEGINNING;
    KN_TRY(kn_byte_source_read(ctx, &source, 0, n, bytes));
    *is = kn_freesurfer_header(bytes, n, &separator, measure);
out:
    kn_byte_source_close(&source);
    return status;
}

const char *kn_table_measure(const kn_table *t)
{
    return t->measure;
}

ptrdiff_t kn_table_id_col(const kn_table *t)
{
    return t->ids - 1;
}

kn_status kn_table_set_aside(kn_ctx *ctx, kn_table *t, ptrdiff_t col)
{
    void *memory;
    kn_status status = KN_OK;
    if (!t->aside) {
        status = kn_alloc(ctx, t->cols, sizeof *t->aside, &memory);
        t->aside = memory;
    }
    if (status == KN_OK)
        t->aside[col] = true;
    return status;
}

bool kn_table_is_aside(const kn_table *t, ptrdiff_t col)
{
    return t->aside && t->aside[col];
}

void kn_table_count_rows(kn_table *t)
{
    t->numbered = true;
    for (ptrdiff_t i = 0; i < t->rows; i++)
        t->line[i + t->head] = i + 1;
}

void kn_table_empty(kn_table *t, ptrdiff_t row, ptrdiff_t col)
{
    t->text[t->start[(row + t->head) * t->cols + col]] = '\0';
}
