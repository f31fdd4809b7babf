/* Implements separator.h. */
#include "io/table/separator.h"

#include <stdbool.h>
#include <string.h>

static const char SEPARATORS[] = ",\t;";

char kn_separator_of(const char *text, ptrdiff_t n, char usual)
{
    bool there[sizeof SEPARATORS] = {false}, quoted = false;
    int kinds = 0;
    char other = usual;
    for (ptrdiff_t i = 0; i < n && (quoted || (text[i] != '\n' && text[i] != '\r')); i++) {
        const char *s = text[i] ? strchr(SEPARATORS, text[i]) : NULL;
        quoted = quoted != (text[i] == '"');
        if (s && !quoted)
            there[s - SEPARATORS] = true;
    }
    for (size_t k = 0; SEPARATORS[k]; k++) {
        if (there[k] && SEPARATORS[k] == usual)
            return usual;
        other = there[k] ? SEPARATORS[k] : other;
        kinds += there[k];
    }
    return kinds == 1 ? other : usual;
}

const char *kn_separator_name(char separator)
{
    return separator == ',' ? "commas" : separator == '\t' ? "tabs" : "semicolons";
}
