/* test_sha256.c: the published examples, every length and split around the block size, and that the variants agree. */
#include <stdio.h>
#include <string.h>

#include "base/sha256.h"
#include "support/test.h"

static void assert_digest(const uint8_t digest[SXT_SHA256_SIZE], const char *expected)
{
    char text[2 * SXT_SHA256_SIZE + 1];
    for (size_t i = 0; i < SXT_SHA256_SIZE; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(text, expected);
}

TEST(agrees_with_the_published_examples)
{
    static const struct {
        const char *message, *digest;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sxt_sha256 hash;
        uint8_t digest[SXT_SHA256_SIZE];
        sxt_sha256_init(&hash);
        sxt_sha256_add(&hash, cases[i].message, strlen(cases[i].message));
        sxt_sha256_end(&hash, digest);
        assert_digest(digest, cases[i].digest);
    }
}

TEST(takes_a_million_bytes_in_odd_pieces)
{
    char piece[977];
    memset(piece, 'a', sizeof piece);
    struct sxt_sha256 hash;
    uint8_t digest[SXT_SHA256_SIZE];
    sxt_sha256_init(&hash);
    for (size_t left = 1000000; left > 0;) {
        size_t size = left < sizeof piece ? left : sizeof piece;
        sxt_sha256_add(&hash, piece, size);
        left -= size;
    }
    sxt_sha256_end(&hash, digest);
    assert_digest(digest, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* The digest of the digests of 300 messages, the one of n bytes being (7 * i + n) mod 256; computed with Python. */
TEST(pads_every_length_correctly)
{
    struct sxt_sha256 all;
    uint8_t digest[SXT_SHA256_SIZE];
    sxt_sha256_init(&all);
    for (size_t size = 0; size < 300; size++) {
        uint8_t message[300];
        for (size_t i = 0; i < size; i++)
            message[i] = (uint8_t)(7 * i + size);
        struct sxt_sha256 hash;
        sxt_sha256_init(&hash);
        sxt_sha256_add(&hash, message, size);
        sxt_sha256_end(&hash, digest);
        sxt_sha256_add(&all, digest, sizeof digest);
    }
    sxt_sha256_end(&all, digest);
    assert_digest(digest, "d5238871a46ac4a1a75ac3fb19d645b0b3b9e5f35f5f720e2b240d605c6b694e");
}

TEST(does_not_depend_on_the_pieces)
{
    uint8_t message[200];
    for (size_t i = 0; i < sizeof message; i++)
        message[i] = (uint8_t)(i * i);
    struct sxt_sha256 hash;
    uint8_t whole[SXT_SHA256_SIZE], pieces[SXT_SHA256_SIZE];
    sxt_sha256_init(&hash);
    sxt_sha256_add(&hash, message, sizeof message);
    sxt_sha256_end(&hash, whole);
    for (size_t first = 0; first <= sizeof message; first++) {
        sxt_sha256_init(&hash);
        sxt_sha256_add(&hash, message, first);
        sxt_sha256_add(&hash, NULL, 0);
        sxt_sha256_add(&hash, message + first, sizeof message - first);
        sxt_sha256_end(&hash, pieces);
        assert_memory_equal(pieces, whole, sizeof whole);
    }
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

TEST(both_variants_give_the_same)
{
    if (!sxt_sha256_hardware_available()) {
        print_message("this processor has no instructions for SHA-256\n");
        skip();
    }
    static uint8_t bytes[64 * 40 + 16];
    uint32_t seed = 1;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)next_random(&seed);
    for (size_t round = 0; round < 2000; round++) {
        uint32_t portable[8], hardware[8];
        size_t start = next_random(&seed) % 16, count = next_random(&seed) % 41;
        for (size_t i = 0; i < 8; i++)
            portable[i] = hardware[i] = next_random(&seed) << 8 | next_random(&seed) % 256;
        sxt_sha256_portable(portable, bytes + start, count);
        sxt_sha256_hardware(hardware, bytes + start, count);
        assert_memory_equal(hardware, portable, sizeof portable);
    }
}

/* The digest of one message with blocks in plain C, to compare with what was chosen for this processor. */
static void digest_portably(const uint8_t *message, size_t size, uint8_t digest[SXT_SHA256_SIZE])
{
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint8_t last[128] = {0};
    size_t whole = size / 64, rest = size % 64, last_size = rest < 56 ? 64 : 128;
    memcpy(last, message + whole * 64, rest);
    last[rest] = 0x80;
    for (size_t i = 0; i < 8; i++)
        last[last_size - 1 - i] = (uint8_t)((uint64_t)size * 8 >> 8 * i);
    sxt_sha256_portable(state, message, whole);
    sxt_sha256_portable(state, last, last_size / 64);
    for (size_t i = 0; i < SXT_SHA256_SIZE; i++)
        digest[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
}

TEST(random_lengths_and_splits)
{
    static uint8_t message[10000];
    uint32_t seed = 7;
    for (size_t i = 0; i < sizeof message; i++)
        message[i] = (uint8_t)next_random(&seed);
    for (size_t round = 0; round < 300; round++) {
        struct sxt_sha256 hash;
        uint8_t wanted[SXT_SHA256_SIZE], digest[SXT_SHA256_SIZE];
        size_t size = next_random(&seed) % sizeof message;
        digest_portably(message, size, wanted);
        sxt_sha256_init(&hash);
        for (size_t done = 0; done < size;) {
            size_t piece = 1 + next_random(&seed) % (round % 2 != 0 ? 100 : 3000);
            piece = piece < size - done ? piece : size - done;
            sxt_sha256_add(&hash, message + done, piece);
            done += piece;
        }
        sxt_sha256_end(&hash, digest);
        assert_memory_equal(digest, wanted, sizeof wanted);
    }
}
