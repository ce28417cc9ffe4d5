/* Tests of base/http_address.c: which addresses are private. */
#include "base/http_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

#include "support/test.h"

static bool is_private(const char *text)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        return sxt_http_is_private((const struct sockaddr *)&v4);
    assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
    return sxt_http_is_private((const struct sockaddr *)&v6);
}

TEST(private_addresses_are_recognised)
{
    const char *all[] = {"127.0.0.1",
                         "127.255.0.9",
                         "10.1.2.3",
                         "172.16.0.1",
                         "172.31.255.255",
                         "192.168.1.1",
                         "169.254.169.254",
                         "100.64.0.1",
                         "0.0.0.0",
                         "224.0.0.1",
                         "198.18.0.1",
                         "255.255.255.255",
                         "::1",
                         "::",
                         "fe80::1",
                         "fc00::1",
                         "fd12::1",
                         "::ffff:10.0.0.1",
                         "64:ff9b::a00:1",
                         "2002:7f00:1::",
                         "ff02::1",
                         "192.0.0.8",
                         "240.0.0.1",
                         "::ffff:127.0.0.1",
                         "::127.0.0.1"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!is_private(all[i]))
            fail_msg("%s is not private", all[i]);
}

TEST(public_addresses_are_not_private)
{
    const char *all[] = {"1.1.1.1",     "8.8.8.8",        "172.32.0.1",      "172.15.0.1",      "100.128.0.1",
                         "193.0.0.1",   "169.255.0.1",    "128.0.0.1",       "2606:4700::1111", "2002:808:808::",
                         "223.255.0.1", "::ffff:8.8.8.8", "64:ff9b::808:808"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (is_private(all[i]))
            fail_msg("%s is private", all[i]);
}

TEST(other_families_are_private)
{
    const struct sockaddr local = {.sa_family = AF_UNIX};
    assert_true(sxt_http_is_private(&local));
}
