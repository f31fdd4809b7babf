/* Implements category_level_names.h. Options such as {names} use this form for categories and
 * their levels. */
#include "base/options/category_level_names.h"

#include <string.h>

bool kn_level_name_next(const char **text, kn_level_name *item)
{
    const char *at = *text;
    const int length = (int)strcspn(at, ",");
    const char *equals = memchr(at, '=', (size_t)length);
    if (!equals)
        return false;
    const char *colon = memchr(at, ':', (size_t)(equals - at));
    if (colon) {
        item->column = at;
        item->column_length = (int)(colon - at);
        at = colon + 1;
    }
    item->level = at;
    item->level_length = (int)(equals - at);
    item->name = equals + 1;
    item->name_length = length - (int)(item->name - *text);
    if (item->column_length == 0 || item->level_length == 0 || item->name_length == 0)
        return false;
    *text += length + ((*text)[length] == ',');
    return true;
}

/* True if the first `length` bytes of text are the string other. */
static bool is_text(const char *text, int length, const char *other)
{
    return strlen(other) == (size_t)length && memcmp(text, other, (size_t)length) == 0;
}

bool kn_level_name_is(const kn_level_name *item, const char *column, const char *level)
{
    return is_text(item->column, item->column_length, column) &&
           is_text(item->level, item->level_length, level);
}
