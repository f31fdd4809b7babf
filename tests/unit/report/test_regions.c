#include "report/atlas/regions.h"

#include "report/atlas/atlas_tables.h"
#include "support/test.h"

enum { ROOM = 512 };

static char texts[ROOM][KN_REGION_TEXT];
static const char *names[ROOM];
static ptrdiff_t T;

static void begin(void)
{
    T = 0;
}

static void add(const char *text)
{
    assert_true(T < ROOM);
    snprintf(texts[T], sizeof texts[T], "%s", text);
    names[T] = texts[T];
    T++;
}

static kn_report_space identify(kn_ctx *ctx, kn_arena *arena)
{
    kn_report_space space = {0};
    assert_ok(ctx, kn_regions_identify(ctx, arena, names, T, &space));
    return space;
}

/* ---- spellings of FreeSurfer's tables, ENIGMA's, and what R makes of them
 * ------------------------ */

typedef struct spelling {
    const char *left, *right, *behind, *measure;
    const char *and_, *hyphen; /* what they write for _and_ and - */
} spelling;

static const spelling SPELLINGS[] = {
    {"lh_", "rh_", "_thickness", "thickness", "&", "-"},
    {"lh_", "rh_", "_volume", "volume", "_and_", "-"},
    {"lh.", "rh.", ".area", "area", ".", "."}, /* R's names */
    {"L_", "R_", "_thickavg", "thickness", "_and_", "_"},
    {"Left-", "Right-", "_meancurv", "curvature", "&", "-"},
    {"ctx-lh-", "ctx-rh-", "", NULL, "_and_", "-"},
};
static const spelling BEHIND[] = {{"", "", "_lh_thickness", "thickness", "&", "-"},
                                  {"", "", "_L", NULL, "_and_", "."}};

static void spell(const spelling *s, const char *side, const char *region, char out[KN_REGION_TEXT])
{
    size_t n = (size_t)snprintf(out, KN_REGION_TEXT, "%s", side);
    for (const char *c = region; *c; c++) {
        const bool and_ = strncmp(c, "_and_", 5) == 0;
        n += (size_t)snprintf(out + n, KN_REGION_TEXT - n, "%s",
                              and_        ? s->and_
                              : *c == '-' ? s->hyphen
                                          : (const char[]){*c, '\0'});
        c += and_ ? 4 : 0;
    }
    snprintf(out + n, KN_REGION_TEXT - n, "%s", s->behind);
}

static void check_atlas(kn_atlas_kind kind, const spelling *s, ptrdiff_t expected)
{
    kn_ctx *ctx = kn_ctx_new();
    kn_arena arena = {0};
    char text[KN_REGION_TEXT];
    const bool sides = *s->left != '\0';
    begin();
    for (int side = 0; side < (sides ? 2 : 1); side++)
        for (const kn_atlas_region *r = kn_atlas_regions; r->name; r++)
            if (r->atlas == kind) {
                spell(s, side == 0 ? s->left : s->right, r->name, text);
                add(text);
            }
    assert_int_equal(T, expected * (sides ? 2 : 1));
    const kn_report_space space = identify(ctx, &arena);
    assert_non_null(space.region);
    assert_string_equal(space.atlas, kn_atlas_name[kind]);
    ptrdiff_t t = 0;
    for (int side = 0; side < (sides ? 2 : 1); side++)
        for (const kn_atlas_region *r = kn_atlas_regions; r->name; r++) {
            if (r->atlas != kind)
                continue;
            const kn_report_region *found = &space.region[t++];
            if (!found->name || strcmp(found->name, r->name) != 0)
                fail_msg("%s is %s, expected %s", names[t - 1],
                         found->name ? found->name : "nothing", r->name);
            assert_int_equal(found->side, side);
            assert_string_equal(found->full, r->full);
            assert_string_equal(found->lobe, r->lobe);
            assert_true(s->measure ? strcmp(found->measure, s->measure) == 0 : !found->measure);
        }
    kn_arena_clear(&arena);
    kn_ctx_free(ctx);
}

static void every_region_in_every_spelling(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof SPELLINGS / sizeof *SPELLINGS; i++) {
        check_atlas(KN_ATLAS_DESIKAN, &SPELLINGS[i], 34);
        check_atlas(KN_ATLAS_DESTRIEUX, &SPELLINGS[i], 74);
    }
    for (size_t i = 0; i < sizeof BEHIND / sizeof *BEHIND; i++) {
        check_atlas(KN_ATLAS_DESIKAN, &BEHIND[i], 34);
        check_atlas(KN_ATLAS_DESTRIEUX, &BEHIND[i], 74);
    }
}

/* Names as real tables have them: side, region, words. */
typedef struct known {
    const char *text;
    int side;
    const char *name, *full;
} known;

static const known KNOWN[] = {
    {"lh_G&S_frontomargin_thickness", 0, "G_and_S_frontomargin", "frontomarginal gyrus and sulcus"},
    {"rh_G_temp_sup-G_T_transv_thickness", 1, "G_temp_sup-G_T_transv",
     "anterior transverse temporal gyrus"},
    {"lh_S_orbital-H_Shaped_thickness", 0, "S_orbital-H_Shaped", "H-shaped orbital sulci"},
    {"lh_S_intrapariet&P_trans_thickness", 0, "S_intrapariet_and_P_trans",
     "intraparietal and transverse parietal sulci"},
    {"rh_Lat_Fis-ant-Horizont_thickness", 1, "Lat_Fis-ant-Horizont",
     "lateral fissure, anterior horizontal ramus"},
    {"lh_G.S_cingul.Mid.Ant_thickness", 0, "G_and_S_cingul-Mid-Ant",
     "middle-anterior cingulate gyrus and sulcus"},
    {"lh_MeanThickness_thickness", 0, "MeanThickness", "mean thickness"},
    {"rh_WhiteSurfArea_area", 1, "WhiteSurfArea", "surface area"},
    {"L_superiorfrontal_thickavg", 0, "superiorfrontal", "superior frontal gyrus"},
    {"R_bankssts_surfavg", 1, "bankssts", "banks of the superior temporal sulcus"},
    {"Left-Thalamus-Proper", 0, "Thalamus-Proper", "thalamus"},
    {"Left.Accumbens.area", 0, "Accumbens-area", "nucleus accumbens"},
    {"Right-Cerebellum-White-Matter", 1, "Cerebellum-White-Matter", "cerebellar white matter"},
    {"Right-non-WM-hypointensities", 1, "non-WM-hypointensities",
     "hypointensities outside white matter"},
    {"X3rd.Ventricle", -1, "3rd-Ventricle", "third ventricle"},
    {"Brain-Stem", -1, "Brain-Stem", "brain stem"},
    {"CC_Mid_Posterior", -1, "CC_Mid_Posterior", "corpus callosum, middle posterior"},
    {"lhCortexVol", 0, "CortexVol", "cortex"},
    {"rhCerebralWhiteMatterVol", 1, "CerebralWhiteMatterVol", "cerebral white matter"},
    {"Lcaud", 0, "Caudate", "caudate nucleus"},
    {"Raccumb", 1, "Accumbens-area", "nucleus accumbens"},
    {"LLatVent", 0, "Lateral-Ventricle", "lateral ventricle"},
    {"RThickness", 1, "MeanThickness", "mean thickness"},
    {"LSurfArea", 0, "WhiteSurfArea", "surface area"},
    {"ICV", -1, "ICV", "intracranial volume"},
    {"7Networks_LH_Vis_1", 0, "Vis 1", "visual network 1"},
    {"X17Networks_RH_SalVentAttnA_FrMed_12", 1, "SalVentAttnA FrMed 12",
     "salience and ventral attention network A, FrMed 12"},
    {"LH_Default_PFC_3", 0, "Default PFC 3", "default mode network, PFC 3"},
    {"RH_Cont_Par_1_thickness", 1, "Cont Par 1", "control network, Par 1"},
};
enum { N_KNOWN = sizeof KNOWN / sizeof *KNOWN };

static void real_names_are_known(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_arena arena = {0};
    begin();
    for (int i = 0; i < N_KNOWN; i++)
        add(KNOWN[i].text);
    const kn_report_space space = identify(ctx, &arena);
    assert_non_null(space.region);
    for (int i = 0; i < N_KNOWN; i++) {
        const kn_report_region *r = &space.region[i];
        if (!r->name || strcmp(r->name, KNOWN[i].name) != 0 || r->side != KNOWN[i].side ||
            strcmp(r->full, KNOWN[i].full) != 0)
            fail_msg("%s: side %d, %s, '%s'", KNOWN[i].text, r->side, r->name ? r->name : "nothing",
                     r->full ? r->full : "");
    }
    kn_arena_clear(&arena);
    kn_ctx_free(ctx);
}

static void the_atlas_is_that_of_most_and_of_four_in_five(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_arena arena = {0};
    begin(); /* volumes beside a table of the cortex do not rename it */
    add("lh_insula_thickness");
    add("rh_insula_thickness");
    add("Left-Caudate");
    add("Right-Caudate");
    add("Brain-Stem");
    assert_string_equal(identify(ctx, &arena).atlas, "Desikan-Killiany");
    begin(); /* alone they do */
    add("Lcaud");
    add("Rcaud");
    assert_string_equal(identify(ctx, &arena).atlas, "FreeSurfer's segmentation");
    begin();
    add("7Networks_LH_Limbic_OFC_1");
    assert_string_equal(identify(ctx, &arena).atlas, "Schaefer");
    begin(); /* 4 of 5 */
    for (int i = 0; i < 4; i++)
        add("lh_cuneus_area");
    add("income");
    const kn_report_space enough = identify(ctx, &arena);
    assert_non_null(enough.atlas);
    assert_null(enough.region[4].name);
    add("height"); /* 4 of 6 */
    const kn_report_space few = identify(ctx, &arena);
    assert_true(!few.atlas && !few.region);
    begin();
    assert_null(identify(ctx, &arena).region);
    kn_arena_clear(&arena);
    kn_ctx_free(ctx);
}

static void other_texts_are_no_regions(void **state)
{
    (void)state;
    static const char *const OTHERS[] = {"",
                                         "___",
                                         "&",
                                         "left",
                                         "lh",
                                         "thickness",
                                         "v17",
                                         "12,34,56",
                                         "<script>alert(1)</script>",
                                         "LH_Nonsense_3",
                                         "7Networks_Vis_1",
                                         "LH_Vis",
                                         "lhx",
                                         "\xff\xfe",
                                         "superiorfrontalx"};
    char longest[300];
    kn_ctx *ctx = kn_ctx_new();
    kn_arena arena = {0};
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS + 3; i++) {
        const char *other = i < sizeof OTHERS / sizeof *OTHERS ? OTHERS[i] : longest;
        kn_report_space space = {0};
        if (other == longest && i % 2 == 0)
            for (int k = 0; k < 299; k += 2)
                longest[k] = '_'; /* more parts than any name has */
        assert_ok(ctx, kn_regions_identify(ctx, &arena, &other, 1, &space));
        if (space.region && i != 5)
            fail_msg("'%s' is %s", other, space.region[0].name);
    }
    kn_arena_clear(&arena);
    kn_ctx_free(ctx);
}

/* ---- on a surface
 * -------------------------------------------------------------------------------- */

static void labels_and_responses_meet_by_side_and_name(void **state)
{
    (void)state;
    static char *label[] = {"???", "ctx_lh_G_and_S_frontomargin", "insula", "R_cuneus", "Unknown"};
    ptrdiff_t region[6] = {0, 1, 2, 3, -1, 4}, response[6];
    const kn_vertex_labels labels = {.vertices = 6, .region = region, .count = 5, .name = label};
    kn_report_mesh mesh = {.side = 0, .surface = {.vertices = 6}, .response = response};
    bool matched[8] = {false};
    kn_ctx *ctx = kn_ctx_new();
    kn_arena arena = {0};
    begin();
    add("rh_G&S_frontomargin_thickness");
    add("lh_G&S_frontomargin_area");
    add("lh_G&S_frontomargin_thickness");
    add("insula_thickness"); /* of both sides */
    add("lh_cuneus_thickness");
    add("age");
    assert_string_equal(kn_regions_measure(names, T), "thickness");
    const kn_region_table table = {.name = names,
                                   .T = T,
                                   .measure = "thickness",
                                   .matched = matched};
    assert_ok(ctx, kn_regions_match(ctx, &table, &labels, &mesh));
    static const ptrdiff_t left[6] = {-1, 2, 3, -1, -1, -1};
    assert_memory_equal(response, left, sizeof left);
    static const bool found[8] = {false, true, true, true};
    assert_memory_equal(matched, found, sizeof found);
    mesh.side = 1; /* the name of the second label says left, that of the fourth right */
    assert_ok(ctx, kn_regions_match(ctx, &table, &labels, &mesh));
    static const ptrdiff_t right[6] = {-1, -1, 3, -1, -1, -1};
    assert_memory_equal(response, right, sizeof right);
    const kn_region_table areas = {.name = names, .T = T, .measure = "area", .matched = matched};
    mesh.side = 0;
    assert_ok(ctx, kn_regions_match(ctx, &areas, &labels, &mesh));
    assert_int_equal(response[1], 1);
    assert_ok(ctx, kn_regions_label(ctx, &arena, &labels, &mesh));
    assert_null(mesh.region[0]);
    assert_string_equal(mesh.region[1], "left frontomarginal gyrus and sulcus");
    assert_string_equal(mesh.region[2], "left insula");
    assert_null(mesh.region[4]);
    assert_null(mesh.region[5]);
    kn_arena_clear(&arena);
    kn_ctx_free(ctx);
}

TEST_PROGRAM(report_regions)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_region_in_every_spelling),
        cmocka_unit_test(real_names_are_known),
        cmocka_unit_test(the_atlas_is_that_of_most_and_of_four_in_five),
        cmocka_unit_test(other_texts_are_no_regions),
        cmocka_unit_test(labels_and_responses_meet_by_side_and_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
