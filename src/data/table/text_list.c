/* Implements text_list.h. Long texts are cut, so that a message stays one line. */
#include "data/table/text_list.h"

#include <stdio.h>
#include <string.h>

static const char MORE[] = "...";

int kn_compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

kn_clip kn_clipped(const char *text)
{
    kn_clip clip;
    size_t n = strlen(text), capacity = sizeof clip.text - sizeof MORE;
    if (n > capacity) {
        n = capacity;
        while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) /* inside a UTF-8 character */
            n--;
    }
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        clip.text[i] = c < 0x20 || c == 0x7f ? '?' : text[i];
    }
    strcpy(clip.text + n, text[n] ? MORE : "");
    return clip;
}

int kn_by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void kn_listing_add(kn_listing *list, const char *item)
{
    if (list->closed)
        return;
    kn_clip clip = kn_clipped(item);
    size_t used = strlen(list->text), size = sizeof list->text;
    const char *comma = list->n > 0 ? ", " : "";
    size_t reserve = sizeof ", ..."; /* space kept for the dots */
    if ((list->limit > 0 && list->n == list->limit) ||
        used + strlen(comma) + strlen(clip.text) + reserve > size) {
        snprintf(list->text + used, size - used, "%s%s", comma, MORE);
        list->closed = true;
        return;
    }
    snprintf(list->text + used, size - used, "%s%s", comma, clip.text);
    list->n++;
}
