/* Implements regions.h: splits names into words and looks them up in atlas_tables.h. The names in
 * tables are spelled in many ways, such as lh_precuneus_thickness. */
#include "report/atlas/regions.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "report/atlas/atlas_tables.h"

static const double MIN_PROPORTION = 0.8; /* least share of responses that must be known regions */

/* ---- parsing ---- */

typedef struct word {
    const char *word, *means;
} word;

static const word MEASURES[] = {
    {"thickness", "thickness"},
    {"thickavg", "thickness"},
    {"thick", "thickness"},
    {"area", "area"},
    {"surfavg", "area"},
    {"surfarea", "area"},
    {"volume", "volume"},
    {"vol", "volume"},
    {"grayvol", "volume"},
    {"meancurv", "curvature"},
    {"gauscurv", "Gaussian curvature"},
    {"thicknessstd", "deviation of thickness"},
    {"thickstd", "deviation of thickness"},
    {"foldind", "folding"},
    {"curvind", "curvature index"},
    {NULL, NULL},
};
/* Words that name the source rather than the region; "and" is a common spelling of &. */
static const char *const NOISE[] = {"ctx", "and", "roi", "aparc", "a2009s", "aseg", NULL};
/* ENIGMA's abbreviations, joined directly to an L or R. */
static const char *const GLUED[] = {"thal",   "caud",    "put",       "pal",      "hippo", "amyg",
                                    "accumb", "latvent", "thickness", "surfarea", NULL};

/* Returns whether c is a letter, a digit, or a byte of a UTF-8 character. */
static bool is_name_character(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c & 0x80) != 0;
}

/* Returns c, an ASCII capital as its small letter, whatever the locale. */
static char to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Returns whether a token is one of the words in any case; the list ends with NULL. */
static bool is_among(const char *token, const char *const *words)
{
    for (; *words; words++)
        if (strcasecmp(token, *words) == 0)
            return true;
    return false;
}

/* Returns the measure that a token means ("thickavg" is "thickness"); NULL if it is none. */
static const char *measure_of(const char *token)
{
    for (const word *m = MEASURES; m->word; m++)
        if (strcasecmp(token, m->word) == 0)
            return m->means;
    return NULL;
}

/* Returns the hemisphere that a token means ("lh", "left", "l"): 0 left, 1 right, -1 none. */
static int side_of(const char *token)
{
    static const char *const LEFT[] = {"lh", "left", "l", NULL}, *const RIGHT[] = {"rh", "right",
                                                                                   "r", NULL};
    return is_among(token, LEFT) ? 0 : is_among(token, RIGHT) ? 1 : -1;
}

/* Returns the hemisphere (0 left, 1 right) of a token that is joined to a name, as in lhCortexVol
 * or Lcaud, and moves *token behind it; -1 if there is none. */
static int glued_side(const char **token)
{
    const char *t = *token;
    const int side = to_lower(t[0]) == 'l' ? 0 : to_lower(t[0]) == 'r' ? 1 : -1;
    if (side >= 0 && t[1] == 'h' && t[2] >= 'A' && t[2] <= 'Z') {
        *token = t + 2;
        return side;
    }
    if (side >= 0 && is_among(t + 1, GLUED)) {
        *token = t + 1;
        return side;
    }
    return -1;
}

/* Removes token i from a parsed name. */
static void remove_token(kn_region_name *n, int i)
{
    for (; i + 1 < n->tokens; i++)
        n->token[i] = n->token[i + 1];
    n->tokens--;
}

/* Copies a name to out->text and splits it into tokens at everything that is not a letter or digit.
 * Returns false if it is too long or empty. */
static bool split_name(const char *name, kn_region_name *out)
{
    const size_t length = strlen(name);
    if (length >= sizeof out->text)
        return false;
    memcpy(out->text, name, length + 1);
    for (char *c = out->text; *c;) {
        while (*c && !is_name_character(*c))
            *c++ = '\0';
        if (!*c)
            break;
        if (out->tokens == KN_REGION_TOKENS)
            return false;
        out->token[out->tokens++] = c;
        while (is_name_character(*c))
            c++;
    }
    const char *first = out->tokens > 0 ? out->token[0] : "";
    if ((first[0] == 'X' || first[0] == 'x') && first[1] >= '0' && first[1] <= '9')
        out->token[0]++; /* R prefixes names that begin with a digit */
    return out->tokens > 0;
}

/* Sets n->side from the tokens of a parsed name, "lh", "left", or joined as in "Lcaud", and removes
 * that token. */
static void find_side(kn_region_name *n)
{
    for (int i = 0; i < n->tokens && n->tokens > 1 && n->side < 0; i++) {
        n->side = side_of(n->token[i]);
        if (n->side >= 0)
            remove_token(n, i);
    }
    if (n->side < 0)
        n->side = glued_side(&n->token[0]);
}

bool kn_region_parse(const char *name, kn_region_name *out)
{
    *out = (kn_region_name){.side = -1};
    if (!split_name(name, out))
        return false;
    for (int i = out->tokens - 1; i >= 0; i--)
        if (out->tokens > 1 && is_among(out->token[i], NOISE))
            remove_token(out, i);
    find_side(out);
    for (int end = 0; end < 2 && out->tokens > 1 && !out->measure; end++) {
        const int i = end == 0 ? out->tokens - 1 : 0;
        out->measure = measure_of(out->token[i]);
        if (out->measure)
            remove_token(out, i);
    }
    size_t n = 0;
    for (int i = 0; i < out->tokens; i++)
        for (const char *c = out->token[i]; *c; c++)
            out->key[n++] = to_lower(*c);
    out->key[n] = '\0';
    return n > 0;
}

const char *kn_regions_measure(const char *const *name, ptrdiff_t T)
{
    ptrdiff_t count[sizeof MEASURES / sizeof *MEASURES] = {0};
    const char *best = NULL;
    ptrdiff_t limit = 0;
    for (ptrdiff_t t = 0; t < T; t++) {
        kn_region_name n;
        if (!kn_region_parse(name[t], &n) || !n.measure)
            continue;
        int k = 0; /* of synonyms the first */
        while (strcmp(MEASURES[k].means, n.measure) != 0)
            k++;
        if (++count[k] > limit) {
            limit = count[k];
            best = MEASURES[k].means;
        }
    }
    return best;
}

/* ---- known regions ---- */

typedef struct entry {
    char key[64];
    const kn_atlas_region *region;
} entry;

enum { ENTRIES = 256 };

typedef struct catalogue {
    entry entry[ENTRIES];
    size_t n;
} catalogue;

/* Comparison for qsort of catalogue entries: by key. */
static int by_key(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->key, ((const entry *)b)->key);
}

/* Adds one spelling of a region to the catalogue; nothing for NULL, a spelling that is too long, or
 * beyond ENTRIES. */
static void add_to_catalogue(catalogue *x, const kn_atlas_region *region, const char *spelling)
{
    kn_region_name n;
    if (!spelling || !kn_region_parse(spelling, &n) || x->n == ENTRIES ||
        strlen(n.key) >= sizeof x->entry->key)
        return;
    memcpy(x->entry[x->n].key, n.key, strlen(n.key) + 1);
    x->entry[x->n++].region = region;
}

/* Fills the catalogue with both spellings of every region of the atlases, sorted by key. */
static void fill_catalogue(catalogue *x)
{
    x->n = 0;
    for (const kn_atlas_region *r = kn_atlas_regions; r->name; r++) {
        add_to_catalogue(x, r, r->name);
        add_to_catalogue(x, r, r->other);
    }
    qsort(x->entry, x->n, sizeof *x->entry, by_key);
}

/* Returns the region of the catalogue (sorted by key) with this key, by binary search; NULL:
 * unknown. */
static const kn_atlas_region *find_in_catalogue(const catalogue *x, const char *key)
{
    size_t low = 0, high = x->n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const int order = strcmp(x->entry[middle].key, key);
        if (order == 0)
            return x->entry[middle].region;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Returns the network of a name of Schaefer's parcellation, [7Networks] LH Default PFC 3, already
 * parsed; NULL if it is no such name. *first: index of the network's token. */
static const kn_atlas_network *network_of(const kn_region_name *n, int *first)
{
    const char *last = n->token[n->tokens - 1];
    *first = n->tokens > 2 && (strcasecmp(n->token[0], "7Networks") == 0 ||
                               strcasecmp(n->token[0], "17Networks") == 0);
    if (n->side < 0 || n->tokens - *first < 2 || last[strspn(last, "0123456789")] != '\0')
        return NULL;
    for (const kn_atlas_network *w = kn_atlas_networks; w->name; w++)
        if (strcasecmp(w->name, n->token[*first]) == 0)
            return w;
    return NULL;
}

/* Sets name, full name and lobe of *out (texts in the arena) from a name of Schaefer's
 * parcellation; leaves out->name NULL if the name is not one. */
static kn_status parse_schaefer(kn_ctx *ctx, kn_arena *arena, const kn_region_name *n,
                                kn_report_region *out)
{
    kn_status status;
    int first;
    const kn_atlas_network *w = network_of(n, &first);
    if (!w)
        return KN_OK;
    char position[KN_REGION_TEXT] = "";
    size_t length = 0;
    for (int i = first + 1; i < n->tokens - 1; i++) {
        const size_t add = strlen(n->token[i]);
        memcpy(position + length, n->token[i], add);
        position[length + add] = ' ';
        length += add + 1;
    }
    position[length] = '\0';
    const char *number = n->token[n->tokens - 1];
    KN_TRY(kn_arena_print(ctx, arena, &out->name, "%s %s%s", w->name, position, number));
    KN_TRY(kn_arena_print(ctx, arena, &out->full, "%s%s %s%s", w->full, length > 0 ? "," : "",
                          position, number));
    out->lobe = w->full;
out:
    return status;
}

/* Looks a name up in the catalogue, then among Schaefer's names. Sets *out, and *kind to its atlas,
 * KN_ATLAS_KINDS if it is unknown. */
static kn_status identify_region(kn_ctx *ctx, kn_arena *arena, const catalogue *x, const char *name,
                                 kn_report_region *out, kn_atlas_kind *kind)
{
    kn_region_name n;
    *out = (kn_report_region){.side = -1};
    *kind = KN_ATLAS_KINDS;
    if (!kn_region_parse(name, &n))
        return KN_OK;
    out->side = n.side;
    const kn_atlas_region *r = find_in_catalogue(x, n.key);
    if (r) {
        *kind = r->atlas;
        out->name = r->name;
        out->full = r->full;
        out->lobe = r->lobe;
        out->measure = r->atlas == KN_ATLAS_SUBCORTICAL ? NULL : n.measure;
        return KN_OK;
    }
    out->measure = n.measure;
    kn_status status = parse_schaefer(ctx, arena, &n, out);
    if (out->name)
        *kind = KN_ATLAS_SCHAEFER;
    return status;
}

kn_status kn_regions_identify(kn_ctx *ctx, kn_arena *arena, const char *const *name, ptrdiff_t T,
                              kn_report_space *space)
{
    kn_status status;
    ptrdiff_t count[KN_ATLAS_KINDS + 1] = {0}, known = 0;
    void *memory = NULL, *regions = NULL;
    space->region = NULL;
    space->atlas = NULL;
    KN_TRY(kn_alloc(ctx, 1, sizeof(catalogue), &memory));
    catalogue *x = memory;
    fill_catalogue(x);
    KN_TRY(kn_arena_alloc(ctx, arena, T, sizeof(kn_report_region), &regions));
    kn_report_region *region = regions;
    for (ptrdiff_t t = 0; t < T; t++) {
        kn_atlas_kind kind;
        KN_TRY(identify_region(ctx, arena, x, name[t], &region[t], &kind));
        count[kind]++;
        known += kind != KN_ATLAS_KINDS;
    }
    if (known == 0 || (double)known < MIN_PROPORTION * (double)T)
        goto out;
    /* Cortical tables also contain volumes: these name the atlas only if nothing else does. */
    int best = KN_ATLAS_SUBCORTICAL;
    for (int k = 0; k < KN_ATLAS_KINDS; k++)
        if (k != KN_ATLAS_SUBCORTICAL &&
            count[k] > (best == KN_ATLAS_SUBCORTICAL ? 0 : count[best]))
            best = k;
    space->region = region;
    space->atlas = kn_atlas_name[best];
out:
    kn_free(memory);
    return status;
}

kn_status kn_region_describe(kn_ctx *ctx, kn_arena *arena, const char *label, int side,
                             const char **out)
{
    kn_status status;
    kn_report_region region;
    kn_atlas_kind kind;
    void *memory = NULL;
    *out = NULL;
    KN_TRY(kn_alloc(ctx, 1, sizeof(catalogue), &memory));
    fill_catalogue(memory);
    KN_TRY(identify_region(ctx, arena, memory, label, &region, &kind));
    const char *side_name = side == 0 ? "left " : side == 1 ? "right " : "";
    if (region.full)
        KN_TRY(kn_arena_print(ctx, arena, out, "%s%s", side_name, region.full));
    else
        KN_TRY(kn_arena_text(ctx, arena, label, out));
out:
    kn_free(memory);
    return status;
}
