/* Implements command_line.h: the line is written twice, first to measure its length. Words are
 * quoted for a POSIX shell if they need it. */
#include "base/options/command_line.h"

#include <string.h>

#include "base/hash/xxh64.h"
#include "base/memory/alloc.h"
#include "base/mpi/comm.h"
#include "base/options/options.h"

typedef struct line {
    char *text; /* NULL: only measure */
    size_t at;  /* length so far */
} line;

/* Appends n bytes to the line, or only counts them if it is measured. */
static void append_bytes(line *l, const char *bytes, size_t n)
{
    if (l->text)
        memcpy(l->text + l->at, bytes, n);
    l->at += n;
}

/* Appends a text to the line as it is. */
static void put_text(line *l, const char *text)
{
    append_bytes(l, text, strlen(text));
}

/* Writes a word, in single quotes if it has characters that a shell may interpret. */
static void put_word(line *l, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=:,./@%";
    append_bytes(l, " ", 1);
    if (*word && word[strspn(word, plain)] == '\0') {
        put_text(l, word);
        return;
    }
    append_bytes(l, "'", 1);
    for (const char *c = word; *c; c++)
        *c == '\'' ? put_text(l, "'\\''") : append_bytes(l, c, 1);
    append_bytes(l, "'", 1);
}

/* Appends an option and its value to the line. A flag becomes --key or --no-key, and nothing if it
 * has its default value. */
static void put_option(line *l, const kn_option_row *r, const char *value)
{
    bool flag = r->type == KN_ROW_FLAG, off = flag && strcmp(r->text, "yes") == 0;
    kn_settings before, after;
    if (flag) { /* not written if it has its default value */
        kn_settings_init(&before);
        after = before;
        kn_option_parse(r, value, &after);
        if (*(bool *)((char *)&before + r->at) == *(bool *)((char *)&after + r->at))
            return;
    }
    put_text(l, off ? " --no-" : " --");
    for (const char *k = r->key; *k; k++)
        append_bytes(l, *k == '_' ? "-" : k, 1);
    if (!flag)
        put_word(l, value);
}

/* Returns whether the key is the positional argument: the model, or the folder of a command
 * without a model. */
static bool is_positional(const kn_options *o, const char *key)
{
    return strcmp(key, "model") == 0 ||
           (strcmp(key, "scored") == 0 && strcmp(kn_options_command(o), "report") != 0);
}

/* Returns whether key and value are the positional folder again: the command sets it as `model`
 * and as `scored`. */
static bool is_twice(const kn_options *o, const char *key, const char *value)
{
    const char *first = strcmp(key, "scored") == 0 ? kn_options_get(o, "model") : NULL;
    return first && strcmp(first, value) == 0;
}

/* True if the key is in the list, which ends with NULL. */
static bool is_among(const char *const *keys, const char *key)
{
    for (; *keys; keys++)
        if (strcmp(*keys, key) == 0)
            return true;
    return false;
}

/* Writes the command, first the positional values, then the other options in the order in which
 * they were given, once each and without those in `without` (NULL-terminated), and a NUL. */
static void write_line(const kn_options *o, const char *const *without, line *l)
{
    const kn_option_row *r;
    const char *value;
    put_text(l, "kronorm ");
    put_text(l, kn_options_command(o));
    for (int i = 0; kn_options_given(o, i, &r, &value); i++)
        if (is_positional(o, r->key))
            put_word(l, value);
    for (int i = 0; kn_options_given(o, i, &r, &value); i++)
        if (!is_positional(o, r->key) && !is_twice(o, r->key, value) && !is_among(without, r->key))
            put_option(l, r, value);
    append_bytes(l, "", 1);
}

kn_status kn_command_line(kn_ctx *ctx, const kn_options *options, char **out)
{
    static const char *const none[] = {NULL};
    return kn_command_line_without(ctx, options, none, out);
}

kn_status kn_command_line_without(kn_ctx *ctx, const kn_options *options,
                                  const char *const *without, char **out)
{
    line l = {0};
    void *memory;
    write_line(options, without, &l);
    kn_status status = kn_alloc(ctx, (ptrdiff_t)l.at, 1, &memory);
    if (status != KN_OK)
        return status;
    l = (line){memory, 0};
    write_line(options, without, &l);
    *out = memory;
    return KN_OK;
}

kn_status kn_same_command_line(kn_ctx *ctx, const kn_options *options)
{
    static const char *const OF_A_NODE[] = {"threads", "memory", "scratch", NULL};
    char *text = NULL;
    kn_status status;
    KN_TRY(kn_command_line_without(ctx, options, OF_A_NODE, &text));
    uint64_t mine = kn_hash(text, strlen(text), 0), first = mine;
    KN_TRY(kn_comm_broadcast(ctx, &first, sizeof first, 0));
    if (mine != first)
        status = kn_fail(ctx, KN_ERR_ARGUMENT,
                         "rank %d has a different command line from rank 0 (%.300s); start the "
                         "same one everywhere, or set KRONORM_COMM=none",
                         kn_ctx_comm(ctx)->rank, text);
out:
    kn_free(text);
    return kn_comm_agree_status(ctx, status);
}
