/* The rows of src/options.def as a table, and the parser from text to value. */
#ifndef KN_BASE_OPTIONS_OPTION_TABLE_H
#define KN_BASE_OPTIONS_OPTION_TABLE_H

#include "base/options/options.h"

enum { KN_KEPT_MODEL = 1 }; /* bit of kn_option_row.kept: the model file stores the option */

/* The types are explained in options.def. */
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

typedef struct kn_option_row { /* the columns of options.def, in their order */
    const char *key;
    kn_row_type type;
    const char *text; /* default; NULL: none */
    bool (*in_range)(const kn_settings *s);
    const char *expected, *words; /* range in words; accepted words "a|b|c"; NULL: none */
    char letter;                  /* short option; 0: none */
    const char *value;            /* name of the value in the help; NULL: words */
    unsigned commands;            /* bits 1 << index in kn_option_commands */
    const char *heading;
    unsigned kept; /* KN_KEPT_MODEL or 0 */
    const char *help;
    size_t at; /* offset of the field in kn_settings */
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

/* Parses `text` into the field of the row. False if the row does not accept it; the field may have
 * changed then. Text fields borrow `text`. */
bool kn_option_parse(const kn_option_row *r, const char *text, kn_settings *s);
/* Returns KN_ERR_ARGUMENT with a message that says what the row accepts. */
kn_status kn_option_refuse(kn_ctx *ctx, const kn_option_row *r, const char *text);

#endif
