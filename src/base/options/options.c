/* Implements options.h and the option functions of kronorm.h. The tables PRESETS and MEANINGLESS
 * are rows of src/options.def. */
#include "base/options/options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/hash/xxh64.h"
#include "base/memory/alloc.h"
#include "base/suggest.h"

static const struct {
    const char *name, *key, *value;
} PRESETS[] = {
#define KN_PRESET(name, key, value) {name, key, value},
#include "options.def"
};

static const struct {
    const char *method, *why, *keys;
} MEANINGLESS[] = {
#define KN_MEANINGLESS(method, why, keys) {method, why, keys},
#include "options.def"
};
enum { N_MEANINGLESS = sizeof MEANINGLESS / sizeof *MEANINGLESS };

static const struct {
    size_t at; /* field of the settings */
    const char *alias;
} ALIASES[] = {
#define KN_ALIAS(field, alias) {offsetof(kn_settings, field), #alias},
#include "options.def"
};
enum { N_ALIASES = sizeof ALIASES / sizeof *ALIASES };

struct kn_options {
    unsigned command;               /* its bit */
    char *given[KN_OPTION_ROWS];    /* texts as set; NULL: not given */
    kn_settings s;                  /* defaults and given values, without preset */
    double numbers[KN_NUMBERS_MAX]; /* of `theta` */
};

/* Returns whether the key is among keys such as "components basis noise=structured". *value
 * points to the text behind '=' and *length is its length, 0 without '='. */
static bool find_listed_key(const char *keys, const char *key, const char **value, int *length)
{
    size_t n = strlen(key);
    for (const char *k = keys; *k; k += strcspn(k, " "), k += *k == ' ')
        if (strncmp(k, key, n) == 0 && strchr(" =", k[n])) {
            *value = k + n + (k[n] == '=');
            *length = (int)strcspn(*value, " ");
            *length = k[n] == '=' ? *length : 0;
            return true;
        }
    return false;
}

/* ---- the handle --------------------------------------------------------------------------------
 */

/* Returns the bit of a command, 0 if there is none of this name. */
static unsigned find_command(const char *name)
{
    for (int k = 0; name && k < KN_N_COMMANDS; k++)
        if (strcmp(kn_option_commands[k], name) == 0)
            return 1u << k;
    return 0;
}

/* Returns the alias of the key of a row; NULL: none. */
static const char *find_alias(const kn_option_row *row)
{
    for (int k = 0; k < N_ALIASES; k++)
        if (ALIASES[k].at == row->at)
            return ALIASES[k].alias;
    return NULL;
}

/* Returns the index of the row of a key of the command (bit), or of its alias; -1 if there is
 * none. */
static int find_option_row(unsigned command, const char *key)
{
    for (int i = 0; i < KN_OPTION_ROWS; i++)
        if (kn_option_rows[i].commands & command) {
            const char *own = kn_option_rows[i].key, *alias = find_alias(&kn_option_rows[i]);
            if (strcmp(own, key) == 0 || (alias && strcmp(alias, key) == 0))
                return i;
        }
    return -1;
}

const char *kn_options_command(const kn_options *options)
{
    int k = 0;
    while (!(options->command >> k & 1))
        k++;
    return kn_option_commands[k];
}

kn_status kn_options_new(kn_ctx *ctx, const char *command, kn_options **out)
{
    void *memory;
    *out = NULL;
    unsigned bit = find_command(command);
    if (!bit)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "unknown command '%s'", command ? command : "");
    kn_status status = kn_alloc(ctx, 1, sizeof **out, &memory);
    if (status != KN_OK)
        return status;
    *out = memory;
    (*out)->command = bit;
    kn_settings_init(&(*out)->s);
    return KN_OK;
}

void kn_options_free(kn_options *options)
{
    for (int i = 0; options && i < KN_OPTION_ROWS; i++)
        kn_free(options->given[i]);
    kn_free(options);
}

/* Fails for a key that the command does not have, and suggests similar ones. */
static kn_status fail_unknown_option(kn_ctx *ctx, const kn_options *o, const char *key)
{
    kn_suggestions near = {.given = key};
    char suggestion[KN_SUGGESTION_TEXT];
    for (int i = 0; i < KN_OPTION_ROWS; i++)
        if (kn_option_rows[i].commands & o->command)
            kn_suggest(&near, kn_option_rows[i].key, strlen(kn_option_rows[i].key));
    return kn_fail(ctx, KN_ERR_ARGUMENT, "unknown option '%s' of %s%s", key, kn_options_command(o),
                   kn_did_you_mean(&near, "", suggestion));
}

kn_status kn_options_set(kn_ctx *ctx, kn_options *o, const char *key, const char *value)
{
    if (!o || !key)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s is a null pointer", o ? "key" : "options");
    int i = find_option_row(o->command, key);
    if (i < 0)
        return fail_unknown_option(ctx, o, key);
    const kn_option_row *r = &kn_option_rows[i];
    if (!value && r->type != KN_ROW_FLAG)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{%s} needs a value: %s", r->key,
                       r->value ? r->value : r->words);
    value = value ? value : "yes";
    kn_settings before = o->s;
    void *memory;
    kn_status status = kn_alloc(ctx, (ptrdiff_t)strlen(value) + 1, 1, &memory);
    if (status != KN_OK)
        return status;
    strcpy(memory, value);
    if (!kn_option_parse(r, memory, &o->s)) {
        o->s = before;
        status = kn_option_refuse(ctx, r, value);
        kn_free(memory);
        return status;
    }
    if (r->type == KN_ROW_NUMBERS) {
        o->s.n_theta_start = kn_list_numbers(value, o->numbers);
        o->s.theta_start = o->numbers;
    }
    kn_free(o->given[i]);
    o->given[i] = memory;
    return KN_OK;
}

const char *kn_options_get(const kn_options *o, const char *key)
{
    int i = find_option_row(o->command, key);
    return i < 0 ? NULL : o->given[i] ? o->given[i] : kn_option_rows[i].text;
}

/* Returns whether the model file stores option k: given, marked MODEL in the table, and not the
 * default. */
static bool stores_option(const kn_options *o, int k)
{
    const kn_option_row *r = &kn_option_rows[k];
    return o->given[k] && r->kept & KN_KEPT_MODEL &&
           (!r->text || strcmp(o->given[k], r->text) != 0);
}

bool kn_options_remembered(const kn_options *o, int i, const char **key, const char **value)
{
    for (int k = 0; o && k < KN_OPTION_ROWS; k++)
        if (stores_option(o, k) && i-- == 0) {
            *key = kn_option_rows[k].key;
            *value = o->given[k];
            return true;
        }
    return false;
}

bool kn_options_given(const kn_options *o, int i, const kn_option_row **row, const char **value)
{
    for (int k = 0; o && k < KN_OPTION_ROWS; k++)
        if (o->given[k] && i-- == 0) {
            *row = &kn_option_rows[k];
            *value = o->given[k];
            return true;
        }
    return false;
}

/* ---- description of the table ------------------------------------------------------------------
 */

int kn_options_count(const char *command)
{
    unsigned bit = find_command(command);
    int n = 0;
    for (int i = 0; i < KN_OPTION_ROWS; i++)
        n += (kn_option_rows[i].commands & bit) != 0;
    return n;
}

kn_status kn_option_at(kn_ctx *ctx, const char *command, int i, kn_option_info *info)
{
    static const kn_option_type types[] = {
        [KN_ROW_FLAG] = KN_OPTION_FLAG,   [KN_ROW_TEXT] = KN_OPTION_TEXT,
        [KN_ROW_WORD] = KN_OPTION_CHOICE, [KN_ROW_CHOICE] = KN_OPTION_CHOICE,
        [KN_ROW_INT] = KN_OPTION_INT,     [KN_ROW_COUNT] = KN_OPTION_INT,
        [KN_ROW_UINT64] = KN_OPTION_INT,  [KN_ROW_NUMBER] = KN_OPTION_NUMBER,
        [KN_ROW_SIZE] = KN_OPTION_SIZE,   [KN_ROW_LIST] = KN_OPTION_LIST,
        [KN_ROW_SUM] = KN_OPTION_LIST,    [KN_ROW_NUMBERS] = KN_OPTION_LIST,
        [KN_ROW_COUNTS] = KN_OPTION_LIST};
    unsigned bit = find_command(command);
    const kn_option_row *r = kn_option_rows, *end = kn_option_rows + KN_OPTION_ROWS;
    if (!info || info->size < sizeof info->size)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "info has no size: set it to sizeof(kn_option_info)");
    for (int k = i; r < end && (k > 0 || !(r->commands & bit)); r++)
        k -= (r->commands & bit) != 0;
    if (i < 0 || r == end)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "option %d asked for, '%s' has %d", i,
                       command ? command : "", kn_options_count(command));
    kn_option_help h = kn_option_help_of(r, bit);
    kn_option_info all = {.key = r->key,
                          .type = types[r->type],
                          .letter = r->letter,
                          .value = h.value,
                          .words = h.words,
                          .preferred = r->text,
                          .heading = r->heading,
                          .help = h.help,
                          .alias = find_alias(r)};
    size_t at = 0;
    for (int k = 0; k < N_MEANINGLESS && r->commands & 1u; k++) {
        const char *value;
        int length;
        if (find_listed_key(MEANINGLESS[k].keys, r->key, &value, &length) && length == 0)
            at += (size_t)snprintf(all.without + at, sizeof all.without - at, "%s%s", at ? " " : "",
                                   MEANINGLESS[k].method);
    }
    kn_info_copy_out(info, &all, sizeof all);
    return KN_OK;
}

/* ---- settings ----------------------------------------------------------------------------------
 */

void kn_settings_init(kn_settings *s)
{
    *s = (kn_settings){0};
    for (int i = 0; i < KN_OPTION_ROWS; i++) {
        const kn_option_row *r = &kn_option_rows[i];
        if (r->text)
            kn_option_parse(r, r->text, s);
        else if (r->type == KN_ROW_NUMBER)
            *(double *)((char *)s + r->at) = NAN;
    }
}

void kn_settings_apply_defaults(kn_settings *s)
{
#define KN_IMPLIED(name, field, value)                                                             \
    if (strcmp(s->method, name) == 0)                                                              \
        s->field = value;
#define KN_OTHERWISE(field, condition, value)                                                      \
    if (!s->field && (condition))                                                                  \
        s->field = value;
#include "options.def"
}

bool kn_settings_additive(const kn_settings *s)
{
    return s->sample_kernel && (strcmp(s->sample_kernel, "additive") == 0 ||
                                strcmp(s->sample_kernel, "additive+iso") == 0);
}

kn_resources kn_settings_resources(kn_ctx *ctx, const kn_settings *s)
{
    kn_resources before = kn_resources_of(ctx), now = before;
    now.threads = s->threads > 0 ? s->threads : before.threads;
    now.memory = s->memory > 0 ? (size_t)s->memory : before.memory;
    kn_resources_restore(ctx, now);
    return before;
}

/* KN_ERR_ARGUMENT if the value of a CHOICE, WORD or SUM row is not among its words. */
static kn_status check_words(kn_ctx *ctx, const kn_option_row *r, const void *at)
{
    kn_settings unused;
    if (r->type == KN_ROW_CHOICE) {
        int n = 1, k = *(const int *)at;
        for (const char *w = r->words; *w; w++)
            n += *w == '|';
        return k >= 0 && k < n
                   ? KN_OK
                   : kn_fail(ctx, KN_ERR_ARGUMENT, "{%s} is %d; it must be 0 to %d (%s)", r->key, k,
                             n - 1, r->words);
    }
    bool text = r->type == KN_ROW_WORD || r->type == KN_ROW_SUM;
    if (!text || !*(const char *const *)at || kn_option_parse(r, *(const char *const *)at, &unused))
        return KN_OK;
    return kn_fail(ctx, KN_ERR_ARGUMENT, "{%s} is '%s', but must be %s", r->key,
                   *(const char *const *)at, r->expected ? r->expected : r->words);
}

kn_status kn_settings_check_ranges(kn_ctx *ctx, const kn_settings *s)
{
    for (int i = 0; i < KN_OPTION_ROWS; i++) {
        const kn_option_row *r = &kn_option_rows[i];
        const void *at = (const char *)s + r->at;
        kn_status status = check_words(ctx, r, at);
        if (status != KN_OK)
            return status;
        if (r->in_range(s))
            continue;
        if (r->type == KN_ROW_NUMBER || r->type == KN_ROW_SIZE)
            return kn_fail(ctx, KN_ERR_ARGUMENT, "{%s} is %g; it must be %s", r->key,
                           *(const double *)at, r->expected);
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{%s} is %d; it must be %s", r->key, *(const int *)at,
                       r->expected);
    }
    return KN_OK;
}

kn_status kn_settings_check_method(kn_ctx *ctx, const kn_settings *s)
{
#define KN_MISFIT(name, title, condition, what, why)                                               \
    if (strcmp(s->method, name) == 0 && (condition))                                               \
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s does not use %s: %s", title, what, why);
#include "options.def"
    return KN_OK;
}

/* Returns hash h continued with the key and the value of a row. */
static uint64_t hash_row(const kn_option_row *r, const kn_settings *s, uint64_t h)
{
    static const size_t sizes[] = {
        [KN_ROW_FLAG] = sizeof(bool),       [KN_ROW_CHOICE] = sizeof(int),
        [KN_ROW_INT] = sizeof(int),         [KN_ROW_COUNT] = sizeof(int),
        [KN_ROW_UINT64] = sizeof(uint64_t), [KN_ROW_SIZE] = sizeof(double),
        [KN_ROW_NUMBER] = sizeof(double),   [KN_ROW_COUNTS] = 0};
    const void *at = (const char *)s + r->at;
    const char *text = sizes[r->type] ? NULL : *(const char *const *)at;
    h = kn_hash(r->key, strlen(r->key), h);
    if (r->type == KN_ROW_NUMBER && isnan(*(const double *)at))
        return h; /* not given; the bits of NaN are not defined */
    return sizes[r->type] ? kn_hash(at, sizes[r->type], h)
           : text         ? kn_hash(text, strlen(text), h)
                          : h;
}

uint64_t kn_settings_hash_results(const kn_settings *s, const char *command)
{
    static const char *const WITHOUT[] = {"model",   "covariates", "responses", "output",
                                          "part",    "join",       "memory",    "scratch",
                                          "threads", "seed",       "force"};
    uint64_t h = 0;
    for (int i = 0; i < KN_OPTION_ROWS; i++) {
        const kn_option_row *r = &kn_option_rows[i];
        bool counts = r->commands & find_command(command);
        for (size_t k = 0; k < sizeof WITHOUT / sizeof *WITHOUT; k++)
            counts = counts && strcmp(r->key, WITHOUT[k]) != 0;
        if (counts)
            h = hash_row(r, s, h);
    }
    return h;
}

/* KN_ERR_ARGUMENT if a given key has no meaning with the method. */
static kn_status check_meaning(kn_ctx *ctx, const kn_options *o)
{
    for (int k = 0; k < N_MEANINGLESS; k++)
        for (int i = 0; i < KN_OPTION_ROWS && strcmp(o->s.method, MEANINGLESS[k].method) == 0;
             i++) {
            const char *value, *key = kn_option_rows[i].key;
            int length;
            if (!o->given[i] || !find_listed_key(MEANINGLESS[k].keys, key, &value, &length))
                continue;
            if (length > 0 && strncmp(o->given[i], value, (size_t)length) != 0)
                continue;
            return kn_fail(ctx, KN_ERR_ARGUMENT, "{method=%s} %s, so {%s%s%.*s} does not apply",
                           MEANINGLESS[k].method, MEANINGLESS[k].why, key, length ? "=" : "",
                           length, value);
        }
    return KN_OK;
}

kn_status kn_settings_of(kn_ctx *ctx, const kn_options *o, const char *command, kn_settings *out)
{
    kn_settings_init(out);
    if (!o) {
        kn_settings_apply_defaults(out);
        return KN_OK;
    }
    if (command && !(o->command & find_command(command)))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "options of %s were given, expected those of %s",
                       kn_options_command(o), command);
    kn_status status = check_meaning(ctx, o);
    if (status != KN_OK)
        return status;
    *out = o->s;
    for (size_t k = 0; o->s.preset && k < sizeof PRESETS / sizeof *PRESETS; k++) {
        int i = find_option_row(o->command, PRESETS[k].key);
        if (strcmp(PRESETS[k].name, o->s.preset) == 0 && !o->given[i])
            kn_option_parse(&kn_option_rows[i], PRESETS[k].value, out);
    }
    kn_settings_apply_defaults(out);
    return KN_OK;
}
