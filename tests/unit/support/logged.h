/* The last line that was logged, and how loud it was. */
#ifndef KN_TEST_LOGGED_H
#define KN_TEST_LOGGED_H

#include "support/test.h"

typedef struct logged {
    kn_log_level level;
    int lines;
    char text[1024];
} logged;

static inline void logged_take(void *user, kn_log_level level, const char *message)
{
    logged *l = user;
    l->level = level;
    l->lines++;
    snprintf(l->text, sizeof l->text, "%s", message);
}

#define assert_logged(l, loud, expected)                                                           \
    do {                                                                                           \
        assert_string_equal((l).text, expected);                                                   \
        assert_int_equal((l).level, loud);                                                         \
    } while (0)

#endif
