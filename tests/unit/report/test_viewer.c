#include "support/volumes.h"

#include "io/gzip/gzip.h"
#include "report/viewer/viewer.h"

typedef struct page { /* what the viewer's functions wrote */
    char *text;
} page;

static page written(const kn_report *r)
{
    kn_ctx *ctx = kn_ctx_new();
    kn_writer *file;
    void *bytes;
    ptrdiff_t n;
    assert_ok(ctx, kn_writer_new_memory(ctx, "page", &file));
    kn_html h = {.ctx = ctx, .file = file};
    kn_viewer_space(r, &h);
    for (ptrdiff_t k = 0; k < r->participants.n_cards; k++) {
        kn_viewer_card(r, k, &h);
        kn_viewer_element(r, k, &h);
    }
    assert_ok(ctx, h.status);
    assert_ok(ctx, kn_writer_take(ctx, file, &bytes, &n));
    page p = {calloc((size_t)n + 1, 1)};
    memcpy(p.text, bytes, (size_t)n);
    kn_free(bytes);
    kn_writer_free(file);
    kn_ctx_free(ctx);
    return p;
}

static int sextet(char c)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = c ? strchr(alphabet, c) : NULL;
    return found ? (int)(found - alphabet) : -1;
}

/* Contents of <script id="id">: base64 and gzip undone, one character and one byte at a time. */
static unsigned char *contents(const page *p, const char *id, ptrdiff_t *n)
{
    char mark[64];
    snprintf(mark, sizeof mark, "id=\"%s\">", id);
    const char *at = strstr(p->text, mark);
    assert_non_null(at);
    at += strlen(mark);
    const char *end = strstr(at, "</script>");
    unsigned char *packed = malloc((size_t)(end - at)), *out;
    unsigned bits = 0, n_bits = 0;
    ptrdiff_t size = 0;
    for (; at < end && *at != '='; at++) {
        assert_true(sextet(*at) >= 0);
        bits = bits << 6 | (unsigned)sextet(*at);
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            packed[size++] = (unsigned char)(bits >> n_bits);
        }
    }
    kn_ctx *ctx = kn_ctx_new();
    kn_byte_source source = kn_byte_source_of("packed", packed, size);
    kn_gunzip *g;
    assert_ok(ctx, kn_gzip_length(ctx, &source, PTRDIFF_MAX, n));
    out = malloc((size_t)*n + 1);
    assert_ok(ctx, kn_gunzip_new(ctx, &g));
    assert_ok(ctx, kn_gunzip_start(ctx, g, &source));
    assert_ok(ctx, kn_gunzip_read(ctx, g, *n, out, n));
    kn_gunzip_free(g);
    kn_ctx_free(ctx);
    free(packed);
    return out;
}

static void add_up(unsigned char *bytes, ptrdiff_t n)
{
    for (ptrdiff_t i = 1; i < n; i++)
        bytes[i] = (unsigned char)(bytes[i] + bytes[i - 1]);
}

typedef struct shown { /* as viewer.js sees it */
    long dim[3];
    double affine[12];
    unsigned char *mask, *ground, *z;
} shown;

static shown read_back(const page *p, ptrdiff_t *n_z)
{
    shown s;
    ptrdiff_t n;
    const char *at = strstr(p->text, "\"dim\":[");
    assert_int_equal(sscanf(at, "\"dim\":[%ld,%ld,%ld]", &s.dim[0], &s.dim[1], &s.dim[2]), 3);
    at = strstr(p->text, "\"affine\":[") + strlen("\"affine\":[");
    for (int i = 0; i < 12; i++) {
        char *end;
        s.affine[i] = strtod(at, &end);
        assert_int_equal(*end, i < 11 ? ',' : ']');
        at = end + 1;
    }
    s.mask = contents(p, "viewer-mask", &n);
    assert_int_equal(n, (s.dim[0] * s.dim[1] * s.dim[2] + 7) / 8);
    s.ground = contents(p, "viewer-ground", &n);
    assert_int_equal(n, s.dim[0] * s.dim[1] * s.dim[2]);
    add_up(s.ground, n);
    s.z = contents(p, "z0", n_z);
    add_up(s.z, *n_z);
    return s;
}

/* The response nearest to a place, by trying all; its distance in mm. */
static ptrdiff_t voxel_near(const volume *v, const double mm[3], double *far)
{
    ptrdiff_t best = -1;
    *far = INFINITY;
    for (ptrdiff_t i = 0; i < v->voxels; i++) {
        double here[3], sum = 0;
        volume_mm(v, i, here);
        for (int k = 0; k < 3; k++)
            sum += (here[k] - mm[k]) * (here[k] - mm[k]);
        if (sum < *far) {
            *far = sum;
            best = i;
        }
    }
    return best;
}

/* However axes were stored: the page's affine and order of voxels lead to the same z, ground and
 * mask at the same place of the head, and its axes run to the right, to the front, up. */
static void everything_is_where_it_was(void **state)
{
    (void)state;
    unsigned seed = (unsigned)ref_seed(13);
    bool cut = false;
    for (int trial = 0; trial < 6; trial++) {
        volume v = volume_by_chance(&seed, 60, trial % 2);
        int8_t *z = malloc((size_t)v.T);
        ptrdiff_t *response = malloc((size_t)v.voxels * sizeof *response), n_z, k = 0;
        for (ptrdiff_t i = 0; i < v.voxels; i++)
            response[i] = -1;
        for (ptrdiff_t t = 0; t < v.T; t++) {
            response[v.space.voxel[t]] = t;
            z[t] = (int8_t)((int)chance(&seed, 256) - 128);
        }
        kn_report_card card = {.z = z};
        kn_report r = {.space = v.space,
                       .responses.T = v.T,
                       .participants = {.n_cards = 1, .card = &card}};
        page p = written(&r);
        shown s = read_back(&p, &n_z);
        assert_int_equal(n_z, v.T);
        for (int i = 0; i < 3; i++)
            assert_true(s.affine[4 * i + i] > 0);
        cut = cut || s.dim[0] * s.dim[1] * s.dim[2] < v.voxels / 2;
        for (long i = 0; i < s.dim[0] * s.dim[1] * s.dim[2]; i++) {
            const long at[3] = {i % s.dim[0], i / s.dim[0] % s.dim[1], i / s.dim[0] / s.dim[1]};
            bool in = s.mask[i / 8] >> i % 8 & 1;
            double mm[3], far;
            for (int a = 0; a < 3; a++)
                mm[a] = s.affine[4 * a] * (double)at[0] + s.affine[4 * a + 1] * (double)at[1] +
                        s.affine[4 * a + 2] * (double)at[2] + s.affine[4 * a + 3];
            if (i % 97 == 0 || trial == 0) { /* the search is slow */
                ptrdiff_t voxel = voxel_near(&v, mm, &far);
                assert_true(far < 1e-12);
                assert_int_equal(in, response[voxel] >= 0);
                assert_true(abs(s.ground[i] - v.ground[voxel]) < 4);
                if (in)
                    assert_int_equal((int8_t)s.z[k], z[response[voxel]]);
            }
            k += in;
        }
        assert_int_equal(k, n_z); /* none was cut off */
        free(s.mask);
        free(s.ground);
        free(s.z);
        free(p.text);
        free(z);
        free(response);
        volume_clear(&v);
    }
    assert_true(cut); /* or the origin of the box was not tried */
}

static void above_the_limit_every_second_voxel_is_kept(void **state)
{
    (void)state;
    static const ptrdiff_t dim[3] = {81, 80, 79};
    static const int order[3] = {0, 1, 2};
    static const bool turned[3] = {true, false, false};
    static const double size[3] = {1, 1, 1};
    volume v = volume_of(dim, order, turned, size);
    ptrdiff_t n_z;
    int8_t *z = malloc((size_t)v.voxels);
    for (v.T = 0; v.T < v.voxels; v.T++) {
        v.space.voxel[v.T] = v.T;
        z[v.T] = (int8_t)(v.T % 81); /* along x of the file, which runs to the left */
    }
    memset(v.ground, 9, (size_t)v.voxels);
    v.space.background = v.ground;
    assert_true(v.T > KN_VIEWER_MAX);
    kn_report_card card = {.z = z};
    kn_report r = {.space = v.space,
                   .responses.T = v.T,
                   .participants = {.n_cards = 1, .card = &card}};
    page p = written(&r);
    shown s = read_back(&p, &n_z);
    assert_true(s.dim[0] == 41 && s.dim[1] == 40 && s.dim[2] == 40);
    assert_int_equal(n_z, 41 * 40 * 40);
    assert_close(s.affine[0], 2, 1e-12);
    for (int i = 0; i < 41; i++)
        assert_int_equal(s.z[i], 80 - 2 * i);
    assert_non_null(strstr(p.text, "\"thinned\":true"));
    free(s.mask);
    free(s.ground);
    free(s.z);
    free(p.text);
    free(z);
    volume_clear(&v);
}

static void only_cards_with_a_map_of_a_volume_have_a_viewer(void **state)
{
    (void)state;
    unsigned seed = (unsigned)ref_seed(14);
    volume v = volume_by_chance(&seed, 60, false);
    int8_t *z = calloc((size_t)v.T, 1);
    kn_report_card card[2] = {{.z = NULL}, {.z = z}};
    kn_report r = {.space = v.space,
                   .responses.T = v.T,
                   .participants = {.n_cards = 2, .card = card}};
    assert_true(kn_viewer_has(&r));
    page p = written(&r);
    assert_null(strstr(p.text, "id=\"z0\""));
    assert_null(strstr(p.text, "data-card=\"0\""));
    assert_non_null(strstr(p.text, "id=\"z1\""));
    assert_non_null(strstr(p.text, "data-card=\"1\" hidden"));
    assert_null(strstr(p.text, "style="));
    free(p.text);
    r.participants.n_cards = 1;
    assert_false(kn_viewer_has(&r));
    r.participants.n_cards = 2;
    r.space.kind = KN_REPORT_SURFACE;
    assert_false(kn_viewer_has(&r));
    free(z);
    volume_clear(&v);
}

TEST_PROGRAM(report_viewer)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_where_it_was),
        cmocka_unit_test(above_the_limit_every_second_voxel_is_kept),
        cmocka_unit_test(only_cards_with_a_map_of_a_volume_have_a_viewer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
