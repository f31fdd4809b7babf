/* One fuzz target: takes any bytes and must neither crash, leak, hang nor ask for much memory. The
 * same function is run by libFuzzer and, over the corpus, by replay.c. */
#ifndef KN_FUZZ_H
#define KN_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
