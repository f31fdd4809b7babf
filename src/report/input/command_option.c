/* Implements command_option.h: splits the recorded command line into words. */
#include "report/input/command_option.h"

#include <string.h>

/* Reads the next word as base/options/command_line.c writes it: plain, or in single quotes with
 * '\'' for a quote. Returns the position after it. */
static const char *next_word(const char *at, char *out, size_t size, bool *fits)
{
    size_t n = 0;
    bool quoted = false;
    *fits = true;
    while (*at == ' ')
        at++;
    for (; *at && (quoted || *at != ' '); at++) {
        if (*at == '\'') {
            quoted = !quoted;
            continue;
        }
        if (!quoted && *at == '\\' && at[1])
            at++;
        if (n + 1 < size)
            out[n++] = *at;
        else
            *fits = false;
    }
    out[n] = '\0';
    return at;
}

bool kn_command_option(const char *command, const char *option, char *out, size_t size)
{
    char word[64];
    bool fits;
    while (command && *command) {
        command = next_word(command, word, sizeof word, &fits);
        if (!fits || strcmp(word, option) != 0)
            continue;
        next_word(command, out, size, &fits);
        return fits;
    }
    return false;
}
