/* The rows of src/options.def, and how the text of one becomes its value. */
#ifndef KN_BASE_OPTIONS_OPTION_TABLE_H
#define KN_BASE_OPTIONS_OPTION_TABLE_H

#include "base/options/options.h"

enum { KN_KEPT_MODEL = 1 };

typedef enum kn_row_type {
    KN_ROW_FLAG,
    KN_ROW_TEXT,
    KN_ROW_WORD,
    KN_ROW_CHOICE,
    KN_ROW_INT,
    KN_ROW_COUNT,
    KN_ROW_UINT64,
    KN_ROW_NUMBER,
    KN_ROW_SIZE,
    KN_ROW_LIST,
    KN_ROW_SUM,
    KN_ROW_NUMBERS,
    KN_ROW_COUNTS
} kn_row_type;

typedef struct kn_option_row {
    const char *key;
    kn_row_type type;
    const char *text; /* the default */
    bool (*in_range)(const kn_settings *s);
    const char *expected, *words;
    char letter;
    const char *value;
    unsigned commands; /* 1 << place in kn_option_commands */
    const char *heading;
    unsigned kept;
    const char *help;
    size_t at; /* of the field in kn_settings */
} kn_option_row;

enum {
    KN_OPTION_ROWS = 0
#define KN_ROW(...) +1
#include "options.def"
};

extern const kn_option_row kn_option_rows[KN_OPTION_ROWS];

enum {
    KN_N_COMMANDS = 0
#define KN_COMMAND(...) +1
#include "options.def"
};
extern const char *const kn_option_commands[KN_N_COMMANDS];

/* False: the text is not what the row takes. The struct may keep the text. */
bool kn_option_parse(const kn_option_row *r, const char *text, kn_settings *s);
kn_status kn_option_refuse(kn_ctx *ctx, const kn_option_row *r, const char *text);

#endif
