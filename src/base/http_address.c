/* http_address.c: which addresses are private. */
#include "base/http_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static bool is_private_v4(uint32_t address)
{
    static const struct {
        uint32_t network;
        int bits;
    } networks[] = {{0x00000000, 8},  {0x0a000000, 8},  {0x64400000, 10}, {0x7f000000, 8},  {0xa9fe0000, 16},
                    {0xac100000, 12}, {0xc0000000, 24}, {0xc0a80000, 16}, {0xc6120000, 15}, {0xe0000000, 3}};
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        if ((address ^ networks[i].network) >> (32 - networks[i].bits) == 0)
            return true;
    return false;
}

static uint32_t last_v4(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static bool is_private_v6(const uint8_t *bytes)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, nat64[12] = {0, 0x64, 0xff, 0x9b};
    if (memcmp(bytes, mapped, 12) == 0 || memcmp(bytes, nat64, 12) == 0)
        return is_private_v4(last_v4(bytes + 12));
    if (bytes[0] == 0x20 && bytes[1] == 0x02) /* 6to4 */
        return is_private_v4(last_v4(bytes + 2));
    /* Only 2000::/3 is public. */
    return bytes[0] >> 5 != 1;
}

bool sxt_http_is_private(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return is_private_v4(ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr));
    if (address->sa_family == AF_INET6)
        return is_private_v6(((const struct sockaddr_in6 *)(const void *)address)->sin6_addr.s6_addr);
    return true;
}
