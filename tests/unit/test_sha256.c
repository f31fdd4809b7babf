#include "base/sha256.h"
#include "test.h"

static void sum(const void *bytes, size_t n, char out[KN_SHA256_HEX])
{
    unsigned char hash[KN_SHA256_BYTES];
    kn_sha256 h = kn_sha256_begin();
    kn_sha256_add(&h, bytes, n);
    kn_sha256_end(h, hash);
    kn_sha256_hex(hash, out);
}

/* FIPS 180-2, appendix B, and the hash of nothing. */
static void the_hashes_are_those_of_the_standard(void **state)
{
    (void)state;
    static const struct {
        const char *text, *hash;
    } VECTOR[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
         "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };
    char found[KN_SHA256_HEX];
    for (size_t k = 0; k < sizeof VECTOR / sizeof *VECTOR; k++) {
        sum(VECTOR[k].text, strlen(VECTOR[k].text), found);
        assert_string_equal(found, VECTOR[k].hash);
    }
}

static void a_million_letters_in_pieces_of_every_kind(void **state)
{
    (void)state;
    enum { N = 1000000 };
    char *a = malloc(N), found[KN_SHA256_HEX];
    unsigned char hash[KN_SHA256_BYTES];
    memset(a, 'a', N);
    for (size_t step = 1; step < 1000; step += 149) {
        kn_sha256 h = kn_sha256_begin();
        for (size_t at = 0; at < N; at += step)
            kn_sha256_add(&h, a + at, N - at < step ? N - at : step);
        kn_sha256_end(h, hash);
        kn_sha256_hex(hash, found);
        assert_string_equal(found,
                            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    }
    free(a);
}

/* Around the length where the padding takes another block. */
static void every_length_to_two_blocks_is_the_same_cut_or_whole(void **state)
{
    (void)state;
    unsigned char bytes[2 * KN_SHA256_BLOCK], hash[KN_SHA256_BYTES];
    char whole[KN_SHA256_HEX], cut[KN_SHA256_HEX], before[KN_SHA256_HEX] = "";
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 37 + i / 7);
    for (size_t n = 0; n <= sizeof bytes; n++) {
        sum(bytes, n, whole);
        kn_sha256 h = kn_sha256_begin();
        for (size_t i = 0; i < n; i++)
            kn_sha256_add(&h, bytes + i, 1);
        kn_sha256_end(h, hash);
        kn_sha256_hex(hash, cut);
        assert_string_equal(cut, whole);
        assert_string_not_equal(whole, before);
        memcpy(before, whole, sizeof before);
    }
}

/* printf abc | openssl dgst -sha256 -binary | base64 */
static void a_policy_has_it_in_base64(void **state)
{
    (void)state;
    unsigned char hash[KN_SHA256_BYTES];
    char source[KN_SHA256_SOURCE];
    kn_sha256 h = kn_sha256_begin();
    kn_sha256_add(&h, "abc", 3);
    kn_sha256_end(h, hash);
    kn_sha256_source(hash, source);
    assert_string_equal(source, "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
}

TEST_PROGRAM(sha256)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hashes_are_those_of_the_standard),
        cmocka_unit_test(a_million_letters_in_pieces_of_every_kind),
        cmocka_unit_test(every_length_to_two_blocks_is_the_same_cut_or_whole),
        cmocka_unit_test(a_policy_has_it_in_base64),
    };
    return cmocka_run_group_tests_name("sha256", tests, NULL, NULL);
}
