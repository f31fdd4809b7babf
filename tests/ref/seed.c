#include "ref/seed.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static uint64_t run_seed;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Small enough to be typed, and different in processes that start in the same nanosecond. */
static uint64_t draw_seed(void)
{
    struct timespec now;
    kn_rng rng;
    clock_gettime(CLOCK_REALTIME, &now);
    kn_rng_init(&rng, (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec,
                (uint64_t)getpid());
    return kn_rng_next(&rng) % 1000000000;
}

static void choose_seed(void)
{
    const char *given = getenv("KN_SEED");
    if (given && *given) {
        char *end;
        errno = 0;
        run_seed = strtoull(given, &end, 10);
        if (*end || errno || *given == '-') {
            fprintf(stderr, "KN_SEED is '%s', but must be a whole number from 0\n", given);
            exit(2);
        }
    } else {
        run_seed = draw_seed();
    }
    printf("# KN_SEED=%llu\n", (unsigned long long)run_seed);
    fflush(stdout);
}

uint64_t ref_run_seed(void)
{
    pthread_once(&once, choose_seed);
    return run_seed;
}

uint64_t ref_seed(uint64_t seed)
{
    return seed +
           ref_run_seed() * 0x9E3779B97F4A7C15u; /* odd: runs do not share data by shifting */
}

void ref_rng_init(kn_rng *rng, uint64_t seed, uint64_t stream)
{
    kn_rng_init(rng, ref_seed(seed), stream);
}
