/* crc32c_arm.c: CRC32C with the crc32c instructions of ARMv8, which are optional in its first version. */
#include "base/crc32c.h"

#if defined(__aarch64__)

#include <sys/auxv.h>

#include "base/bytes.h"

/* In the kernel's interface, but not in every C library's headers. */
#if !defined(HWCAP_CRC32)
#define HWCAP_CRC32 (1UL << 7)
#endif

#if defined(__clang__)
#define WITH_CRC           __attribute__((target("crc")))
#define ADD_U8(crc, byte)  __builtin_arm_crc32cb(crc, byte)
#define ADD_U64(crc, word) __builtin_arm_crc32cd(crc, word)
#else
#define WITH_CRC           __attribute__((target("+crc")))
#define ADD_U8(crc, byte)  __builtin_aarch64_crc32cb(crc, byte)
#define ADD_U64(crc, word) __builtin_aarch64_crc32cx(crc, word)
#endif

bool sxt_crc32c_hardware_available(void)
{
    return getauxval(AT_HWCAP) & HWCAP_CRC32;
}

WITH_CRC uint32_t sxt_crc32c_hardware(uint32_t crc, const void *data, size_t size)
{
    const uint8_t *at = data;
    uint32_t state = ~crc;
    for (; size >= 8; size -= 8, at += 8)
        state = ADD_U64(state, sxt_load_u64le(at));
    for (; size > 0; size--)
        state = ADD_U8(state, *at++);
    return ~state;
}

#endif
