/* Numbers as text: what strtod reads, to the last bit. */
#include "support/test.h"

#include "base/random.h"
#include "io/table/internal.h"
#include "io/table/number.h"

static kn_rng rng;
static long by_integers;

static int below(int n)
{
    return (int)(kn_rng_uniform(&rng) * n);
}

/* As strtod reads it, in every reader. */
static void check(const char *text)
{
    double x = 0, y = 0, expected = strtod(text, NULL);
    if (kn_number_parse(text, &x) != (isfinite(expected) ? KN_CELL_NUMBER : KN_CELL_TEXT))
        fail_msg("'%s' is not taken as it should be", text);
    if (isfinite(expected) && memcmp(&x, &expected, sizeof x) != 0)
        fail_msg("'%s' is read as %a, expected %a", text, x, expected);
    if (!kn_fast_strtod(text, &y))
        return;
    by_integers++;
    if (memcmp(&y, &expected, sizeof y) != 0)
        fail_msg("'%s' is made %a, expected %a", text, y, expected);
}

static int put_digits(int n, char *to)
{
    for (int i = 0; i < n; i++)
        to[i] = (char)('0' + (below(4) == 0 ? 9 * below(2) : below(10))); /* many 0 and 9 */
    return n;
}

static void any_digits_are_read_as_strtod_reads_them(void **state)
{
    (void)state;
    static const char *const signs[] = {"", "-", "+", " ", " -"};
    int n = repeat(2000000, 200000);
    ref_rng_init(&rng, 1, 1);
    by_integers = 0;
    for (int i = 0; i < n; i++) {
        char text[96];
        int digits = 1 + below(20), whole = below(digits + 1);
        int k = sprintf(text, "%s", signs[below(5)]);
        k += put_digits(whole, text + k);
        if (whole < digits || below(2))
            text[k++] = '.';
        k += put_digits(digits - whole, text + k);
        if (below(2))
            k += sprintf(text + k, "%c%s%d", below(2) ? 'e' : 'E',
                         below(2)   ? "-"
                         : below(2) ? "+"
                                    : "",
                         below(8) ? below(40) : below(400));
        sprintf(text + k, "%s", below(8) ? "" : " ");
        check(text);
    }
    assert_true(by_integers > n / 2); /* else this tests strtod */
}

/* Every magnitude, denormals too, with as many digits as there may be. */
static void doubles_of_every_size_come_back(void **state)
{
    (void)state;
    int n = repeat(500000, 50000);
    ref_rng_init(&rng, 1, 2);
    for (int i = 0; i < n; i++) {
        uint64_t bits = ((uint64_t)below(1 << 30) << 34) ^ ((uint64_t)below(1 << 30) << 10) ^
                        (uint64_t)below(1 << 10);
        char text[KN_NUMBER_SIZE];
        double x, back;
        if (i % 2) /* those of ordinary size more often */
            bits = (bits & ~((uint64_t)0x7ff << 52)) | (uint64_t)(1023 - 80 + below(160)) << 52;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x))
            continue;
        snprintf(text, sizeof text, "%.*g", 1 + below(20), x);
        check(text);
        kn_number_text(x, text);
        check(text);
        assert_int_equal(kn_number_parse(text, &back), KN_CELL_NUMBER);
        assert_memory_equal(&back, &x, sizeof x);
    }
}

/* Halfway between two doubles, and the least above and below. */
static void ties_go_to_even(void **state)
{
    (void)state;
    static const char *const quarters[] = {".25", ".75", ".249", ".251", ".749", ".7501"};
    static const char *const halves[] = {".5", ".50", ".49", ".51", ".499", ".501"};
    int n = repeat(100000, 10000);
    ref_rng_init(&rng, 1, 3);
    for (int i = 0; i < n; i++) {
        char text[64];
        long long m = ((long long)below(1 << 30) << 21) ^ below(1 << 21); /* below 2^51 */
        sprintf(text, "%lld%s", (1LL << 52) + 2 * m, halves[below(6)]);
        check(text);
        sprintf(text, "%lld%s", (1LL << 52) + 2 * m + 1, halves[below(6)]);
        check(text);
        sprintf(text, "-%lld%s", (1LL << 51) + m, quarters[below(6)]);
        check(text);
        sprintf(text, "%llu", ((1ULL << 53) + 2 * (unsigned long long)m + 1) << below(11));
        check(text);
        sprintf(text, "%llue%d", ((1ULL << 53) + 2 * (unsigned long long)m + 1), below(4));
        check(text);
    }
    static const char *const known[] = {"9007199254740993",
                                        "9007199254740992.5",
                                        "18446744073709551615",
                                        "18446744073709551616",
                                        "1e27",
                                        "1e-27",
                                        "1e28",
                                        "1e-28",
                                        "7.2057594037927945e16",
                                        "0.1",
                                        "0.3",
                                        "123456789012345678",
                                        "0e5",
                                        "-0",
                                        "0.0e-30",
                                        "5e-324",
                                        "2.4703282292062327e-324",
                                        "2.4703282292062328e-324",
                                        "2.2250738585072011e-308",
                                        "1.7976931348623158e308",
                                        "1.7976931348623159e308",
                                        "1e99999",
                                        "000000000000000000000000000001.5",
                                        "0.00000000000000000000000000000015",
                                        "1.e3",
                                        ".5"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        check(known[i]);
}

static void what_is_no_number_stays_none(void **state)
{
    (void)state;
    static const char *const texts[] = {"",    " ",    "-",   "+",     ".",    "-.",   "e5",
                                        ".e5", "1e",   "1e+", "1 2",   "1,5",  "0x10", "1.5.2",
                                        "--1", "1e5.", "inf", "1_000", "1e 5", "1f"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        double x;
        if (kn_fast_strtod(texts[i], &x))
            fail_msg("'%s' is taken for a number", texts[i]);
        assert_int_not_equal(kn_number_parse(texts[i], &x), KN_CELL_NUMBER);
        assert_true(isnan(x));
    }
}

TEST_PROGRAM(io_number)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_digits_are_read_as_strtod_reads_them),
        cmocka_unit_test(doubles_of_every_size_come_back),
        cmocka_unit_test(ties_go_to_even),
        cmocka_unit_test(what_is_no_number_stays_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
