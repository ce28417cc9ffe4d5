"""SHA-256 and CRC32C with the instructions of AArch64, in an emulator: the same as in plain C, and as Python's."""

import hashlib
import os
import subprocess

from support import sextant, tap

CROSS, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"
SOURCES = ("sha256.c", "sha256_arm.c", "crc32c.c", "crc32c_arm.c")

# Prints the SHA-256 and the CRC32C of the first N bytes of standard input, for each argument N, in three pieces.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/sha256.h"

int main(int argc, char **argv)
{
    static uint8_t bytes[1 << 16];
    size_t all = fread(bytes, 1, sizeof bytes, stdin);
    if (!sxt_sha256_hardware_available() || !sxt_crc32c_hardware_available())
        return 3;
    for (int i = 1; i < argc; i++) {
        size_t size = strtoul(argv[i], NULL, 10), first = size / 3;
        struct sxt_sha256 hash;
        uint8_t digest[32];
        if (size > all)
            return 4;
        sxt_sha256_init(&hash);
        sxt_sha256_add(&hash, bytes, first);
        sxt_sha256_add(&hash, bytes + first, size - first);
        sxt_sha256_end(&hash, digest);
        for (int k = 0; k < 32; k++)
            printf("%02x", digest[k]);
        uint32_t crc = sxt_crc32c_hardware(sxt_crc32c_hardware(0, bytes, first), bytes + first, size - first);
        if (crc != sxt_crc32c_table(0, bytes, size))
            return 5;
        printf(" %08x\n", crc);
    }
    for (size_t count = 0; count <= all / 64; count++) {
        uint32_t plain[8] = {1, 2, 3, 4, 5, 6, 7, (uint32_t)count}, hardware[8];
        memcpy(hardware, plain, sizeof plain);
        sxt_sha256_portable(plain, bytes, count);
        sxt_sha256_hardware(hardware, bytes, count);
        if (memcmp(plain, hardware, sizeof plain) != 0)
            return 6;
    }
    return 0;
}
"""


class Checksums(sextant.ProgramTest):
    def test_agree_with_plain_c_and_python(self):
        sextant.need_tool(CROSS, EMULATOR)
        source, program = self.file("sums.c", PROGRAM), self.folder / "sums"
        base = sextant.ROOT / "src" / "base"
        sextant.tool(CROSS, "-std=c17", "-D_GNU_SOURCE", "-O2", "-static", "-I", sextant.ROOT / "src",
                     "-I", sextant.ROOT / "include", source, *(base / name for name in SOURCES), "-o", program)  # fmt: skip
        data = bytes((i * i + i // 7) % 256 for i in range(5000))
        sizes = [0, 1, 55, 56, 63, 64, 65, 119, 120, 128, 1000, 4999]
        command = [EMULATOR, os.fspath(program), *map(str, sizes)]
        done = subprocess.run(command, input=data, stdout=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 0)
        lines = [line.split() for line in done.stdout.decode().splitlines()]
        self.assertEqual([line[0] for line in lines], [hashlib.sha256(data[:size]).hexdigest() for size in sizes])
        self.assertEqual(lines[0][1], "00000000")


if __name__ == "__main__":
    tap.main()
