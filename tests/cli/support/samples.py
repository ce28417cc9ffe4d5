"""Programs that the tests compile for themselves, and the files of the system that they look at."""

import glob
import os
import pathlib
import re
import shutil
import subprocess

from . import sextant

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int __attribute__((noinline)) hidden_helper(int value) { return value * 3 + (int)strlen("abc"); }
int __attribute__((noinline)) shared_helper(int value) { return hidden_helper(value) + 1; }
int __attribute__((weak, noinline)) weak_helper(int value) { return value ^ 0x55; }

int main(int argc, char **argv)
{
    (void)argv;
    void *memory = malloc((size_t)argc * 8);
    printf("%d %d %p\n", shared_helper(argc), weak_helper(argc), memory);
    puts("done");
    free(memory);
    return 0;
}
"""


def compile_c(folder, name, *flags, source=SOURCE, language="c"):
    """The path of a program made of SOURCE; skips the test where there is no compiler."""
    compiler = "g++" if language == "cpp" else "gcc"
    sextant.need_tool(compiler)
    path = pathlib.Path(folder) / name
    source_path = path.with_name(name + {"c": ".c", "cpp": ".cpp", "asm": ".s"}[language])
    source_path.write_text(source)
    sextant.tool(compiler, "-O1", "-o", path, source_path, *flags)
    return path


def is_elf(path):
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def system_files(largest=12 << 20):
    """ELF files of the system, a fixed mixture: the names that most systems have first, then what is in the folders.
    Each one once, however many links lead to it."""
    wanted = []
    for name in ("bash", "dash", "sh", "ls", "cat", "cp", "sort", "tar", "sed", "grep", "gzip", "python3", "perl",
                 "git", "ssh", "openssl", "gcc", "as", "ld", "readelf", "objdump", "ninja", "cmake", "gdb", "xz",
                 "zstd", "clang", "make"):
        found = shutil.which(name)
        if found:
            wanted.append(found)
    for folder in library_folders():
        for name in ("libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "libstdc++.so.6", "libcrypto.so.3", "libz.so.1",
                     "liblzma.so.5", "libgcc_s.so.1", "libelf.so.1", "libdw.so.1", "libpthread.so.0", "crt1.o",
                     "Scrt1.o", "rcrt1.o", "gcrt1.o"):
            wanted.append(os.path.join(folder, name))
    wanted += sorted(glob.glob("/usr/lib/gcc/*/*/*.o"))
    for folder in library_folders():
        wanted += sorted(glob.glob(os.path.join(folder, "*.so.*")))[::20]
    wanted += sorted(glob.glob("/usr/bin/*"))[::40]
    return distinct_files(wanted, largest)


def library_folders():
    return [folder for folder in sorted(glob.glob("/usr/lib/*-linux-gnu*")) + ["/usr/lib64"] if os.path.isdir(folder)]


def go_files(largest=24 << 20):
    """Programs that a Go toolchain is made of."""
    go = shutil.which("go") or "/usr/local/go/bin/go"
    if not os.path.exists(go):
        return []
    root = os.path.dirname(os.path.dirname(os.path.realpath(go)))
    wanted = [go] + sorted(glob.glob(root + "/bin/*")) + sorted(glob.glob(root + "/pkg/tool/*/*"))
    return distinct_files(wanted, largest)


def rust_libraries(largest=24 << 20):
    rustc = shutil.which("rustc")
    if not rustc:
        return []
    asked = subprocess.run([rustc, "--print", "sysroot"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           check=False)
    root = asked.stdout.decode().strip()
    found = glob.glob(root + "/lib/*.so") + glob.glob(root + "/lib/rustlib/*/lib/*.so") if root else []
    return distinct_files(sorted(found), largest)


def distinct_files(paths, largest):
    seen = {}
    for path in paths:
        real = os.path.realpath(path)
        if real not in seen and os.path.isfile(real) and os.path.getsize(real) <= largest and is_elf(real):
            seen[real] = path
    return list(seen)


def debug_files():
    """Debug files of installed packages, that of the C library first."""
    found = []
    for library in glob.glob("/lib/*/libc.so.6") + glob.glob("/lib/*/libm.so.6"):
        notes = subprocess.run(["readelf", "-n", library], capture_output=True, text=True).stdout
        build_id = re.search(r"Build ID: ([0-9a-f]+)", notes)
        path = build_id and f"/usr/lib/debug/.build-id/{build_id[1][:2]}/{build_id[1][2:]}.debug"
        if path and os.path.exists(path):
            found.append(path)
    return found
