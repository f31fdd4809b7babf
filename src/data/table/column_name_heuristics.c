/* Implements column_name_heuristics.h: lists of names. */
#include "data/table/column_name_heuristics.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "data/table/columns.h"
#include "data/table/sessions.h"

/* Matches age, age_years, Age (y), scan_age; not dosage. */
static bool is_age(const char *name)
{
    name += strspn(name, " \t");
    size_t n = strlen(name);
    while (n > 0 && strchr(" \t", name[n - 1]))
        n--;
    return (strncasecmp(name, "age", 3) == 0 && (n == 3 || strchr("_ .-(", name[3]))) ||
           (n > 4 && strncasecmp(name + n - 4, "_age", 4) == 0);
}

kn_column_role kn_column_role_of(const char *name)
{
    static const struct {
        const char *name;
        kn_column_role usual;
    } names[] = {
        {"group", KN_COLUMN_GROUP},     {"diagnosis", KN_COLUMN_GROUP},
        {"dx", KN_COLUMN_GROUP},        {"dx_group", KN_COLUMN_GROUP},
        {"patient", KN_COLUMN_GROUP},   {"run", KN_COLUMN_SESSION},
        {"run_id", KN_COLUMN_SESSION},  {"site", KN_COLUMN_SITE},
        {"site_id", KN_COLUMN_SITE},    {"scanner", KN_COLUMN_SITE},
        {"scanner_id", KN_COLUMN_SITE}, {"batch", KN_COLUMN_SITE},
        {"batch_id", KN_COLUMN_SITE},   {"centre", KN_COLUMN_SITE},
        {"centre_id", KN_COLUMN_SITE},  {"center", KN_COLUMN_SITE},
        {"center_id", KN_COLUMN_SITE},
    };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (kn_names_equal_any_case(name, names[k].name))
            return names[k].usual;
    return kn_session_is_name(name) ? KN_COLUMN_SESSION
           : is_age(name)           ? KN_COLUMN_AGE
                                    : KN_COLUMN_ANY;
}
