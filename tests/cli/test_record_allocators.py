"""Programs with other allocators than that of the C library: whatever they allocate is recorded, once, with its caller."""

import collections
import os
import pathlib
import unittest

from support import heap_programs as programs
from support import samples, sextant, tap
from support.recording import RecordTest

LIBRARIES = ("jemalloc", "tcmalloc", "tcmalloc_minimal", "mimalloc")

OPERATORS = r"""
#include <cstdlib>
#include <new>
struct alignas(64) Wide { char bytes[128]; };
static const std::align_val_t wide = std::align_val_t(64);
void *volatile sink;
int main()
{
    for (int i = 0; i < 10; i++) {
        sink = ::operator new(11); /* plain */
        ::operator delete(sink);
        sink = ::operator new[](12); /* array */
        ::operator delete[](sink);
        sink = ::operator new(13, std::nothrow); /* nothrow */
        ::operator delete(sink, std::nothrow);
        sink = ::operator new[](14, std::nothrow); /* array nothrow */
        ::operator delete[](sink, std::nothrow);
        sink = ::operator new(128, wide); /* aligned */
        ::operator delete(sink, wide);
        sink = ::operator new[](192, wide); /* array aligned */
        ::operator delete[](sink, wide);
        sink = ::operator new(256, wide, std::nothrow); /* aligned nothrow */
        ::operator delete(sink, wide, std::nothrow);
        sink = ::operator new[](320, wide, std::nothrow); /* array aligned nothrow */
        ::operator delete[](sink, wide, std::nothrow);
        sink = ::operator new(19); /* sized */
        ::operator delete(sink, (std::size_t)19);
        sink = ::operator new[](20); /* array sized */
        ::operator delete[](sink, (std::size_t)20);
        sink = ::operator new(384, wide); /* aligned sized */
        ::operator delete(sink, (std::size_t)384, wide);
        sink = ::operator new[](448, wide); /* array aligned sized */
        ::operator delete[](sink, (std::size_t)448, wide);
        sink = std::malloc(23); /* malloc */
        std::free(sink);
    }
    Wide *one = new Wide; /* expression */
    sink = one;
    delete one;
    sink = ::operator new(33); /* freed by free */
    std::free(sink);
    sink = ::operator new(44); /* leaked */
    return 0;
}
"""
SIZES = {"plain": 11, "array": 12, "nothrow": 13, "array nothrow": 14, "aligned": 128, "array aligned": 192,
         "aligned nothrow": 256, "array aligned nothrow": 320, "sized": 19, "array sized": 20, "aligned sized": 384,
         "array aligned sized": 448, "malloc": 23}

HANDLER = r"""
#include <cstdlib>
#include <new>
static void *reserve;
static int calls;
static void give_up_the_reserve()
{
    calls++;
    if (reserve == nullptr)
        throw std::bad_alloc();
    std::free(reserve);
    reserve = nullptr;
}
void *volatile sink;
static int attempt(volatile std::size_t size)
{
    try {
        sink = ::operator new(size);
    } catch (const std::bad_alloc &) {
        return 1;
    }
    return 0;
}
int main()
{
    std::set_new_handler(give_up_the_reserve);
    reserve = std::malloc(77); /* reserve */
    int caught = attempt((std::size_t)1 << 60);
    std::set_new_handler(nullptr);
    caught += attempt((std::size_t)1 << 60);
    for (int i = 0; i < 100; i++) {
        sink = ::operator new(11); /* afterwards */
        ::operator delete(sink);
    }
    return caught == 2 && calls == 2 ? 7 : 1;
}
"""

# A library whose operator new puts a header in front of every block. With it, a function that allocates.
HEADERS = r"""
#include <cstdlib>
#include <new>
void *operator new(std::size_t size) { return static_cast<char *>(std::malloc(size + 16)) + 16; }
void operator delete(void *block) noexcept { std::free(static_cast<char *>(block) - 16); }
void operator delete(void *block, std::size_t) noexcept { operator delete(block); }
void *volatile inner;
void work() { inner = std::malloc(21); std::free(inner); }
"""
WITH_HEADERS = r"""
#include <new>
void work();
void *volatile sink;
int main()
{
    for (int i = 0; i < 5; i++) {
        sink = ::operator new(31); /* with a header */
        ::operator delete(sink);
        work();
    }
    sink = ::operator new(32); /* leaked */
    return 0;
}
"""

OWN_NEW = r"""
#include <cstdlib>
#include <new>
static int calls;
void *operator new(std::size_t size) { calls++; return std::malloc(size); } /* own */
void operator delete(void *block) noexcept { calls++; std::free(block); }
void operator delete(void *block, std::size_t) noexcept { operator delete(block); }
void *volatile sink;
int main()
{
    sink = ::operator new(51);
    ::operator delete(sink);
    return calls == 2 ? 0 : 1;
}
"""

# An allocator that uses nothing of the C library, with the names that PREFIX gives it. Its malloc calls its calloc.
PREFIXED = r"""
#include <stddef.h>
#include <stdint.h>
#define JOIN(a, b) a##b
#define NAMED(a, b) JOIN(a, b)
#define NAME(b) NAMED(PREFIX, b)
static char arena[1 << 20];
static size_t used;
static int alive;
void *NAME(calloc)(size_t count, size_t size)
{
    size_t start = used;
    used += (count * size + 63) / 64 * 64;
    alive++;
    return used <= sizeof arena ? arena + start : NULL;
}
void *NAME(malloc)(size_t size) { return NAME(calloc)(1, size); }
void NAME(free)(void *block) { alive -= block != NULL; }
void *NAME(realloc)(void *old, size_t size) { NAME(free)(old); return NAME(malloc)(size); }
int NAME(posix_memalign)(void **block, size_t alignment, size_t size)
{
    (void)alignment;
    *block = NAME(malloc)(size);
    return *block == NULL ? 12 : 0;
}
void *NAME(mallocx)(size_t size, int flags) { (void)flags; return NAME(malloc)(size); }
void *NAME(rallocx)(void *old, size_t size, int flags) { (void)flags; return NAME(realloc)(old, size); }
void NAME(sdallocx)(void *block, size_t size, int flags) { (void)size, (void)flags; NAME(free)(block); }
int NAME(alive)(void) { return alive; }
"""
USES_PREFIXED = r"""
#include <stddef.h>
#define JOIN(a, b) a##b
#define NAMED(a, b) JOIN(a, b)
#define NAME(b) NAMED(PREFIX, b)
void *NAME(malloc)(size_t); void *NAME(calloc)(size_t, size_t); void *NAME(realloc)(void *, size_t); void NAME(free)(void *);
int NAME(posix_memalign)(void **, size_t, size_t); int NAME(alive)(void);
void *NAME(mallocx)(size_t, int); void *NAME(rallocx)(void *, size_t, int); void NAME(sdallocx)(void *, size_t, int);
int USE(void)
{
    void *block = NAME(malloc)(101); /* malloc */
    block = NAME(realloc)(block, 102); /* realloc */
    NAME(free)(block);
    block = NAME(calloc)(3, 35); /* calloc */
    NAME(free)(block);
    if (NAME(posix_memalign)(&block, 64, 103) != 0) /* posix_memalign */
        return 1;
    NAME(free)(block);
    block = NAME(mallocx)(104, 0); /* mallocx */
    block = NAME(rallocx)(block, 106, 0); /* rallocx */
    NAME(sdallocx)(block, 106, 0);
    block = NAME(malloc)(107); /* leaked */
    return NAME(alive)() != 1;
}
"""
PREFIXED_SIZES = {"malloc": [101], "realloc": [102], "calloc": [105], "posix_memalign": [103], "mallocx": [104],
                  "rallocx": [106], "leaked": [107]}

PLUGINS = r"""
#include <dlfcn.h>
#include <stddef.h>
int main(int count, char **words)
{
    for (int i = 1; i < count; i++) {
        void *plugin = dlopen(words[i], RTLD_NOW | RTLD_LOCAL);
        if (plugin == NULL)
            return 3;
        int (*use)(void) = (int (*)(void))dlsym(plugin, "use");
        if (use() != 0)
            return 4;
        dlclose(plugin);
    }
    return 0;
}
"""

WEAK = r"""
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#define WEAK __attribute__((weak))
WEAK void *mi_malloc(size_t); WEAK void *mi_zalloc_aligned(size_t, size_t); WEAK void mi_free(void *);
WEAK char *mi_strndup(const char *, size_t); WEAK void *mallocx(size_t, int);
WEAK size_t xallocx(void *, size_t, size_t, int);
WEAK void *tc_new_nothrow(size_t, const void *); WEAK void tc_delete(void *); WEAK void dallocx(void *, int);
WEAK void *_Znwm(size_t); WEAK void _ZdlPv(void *); WEAK void *reallocf(void *, size_t);
int main(void)
{
    if (mi_malloc == NULL || mallocx == NULL || tc_new_nothrow == NULL || _Znwm == NULL)
        return 0;
    char *block = mi_malloc(61); /* mi_malloc */
    mi_free(block);
    block = mi_zalloc_aligned(256, 128); /* mi_zalloc_aligned */
    if ((uintptr_t)block % 128 != 0 || block[0] != 0 || block[255] != 0)
        return 1;
    mi_free(block);
    block = mi_strndup("abcdef", 3); /* mi_strndup */
    if (strcmp(block, "abc") != 0)
        return 2;
    mi_free(block);
    block = mallocx(512, 8 | 0x40); /* mallocx */
    if ((uintptr_t)block % 256 != 0 || block[511] != 0 || xallocx(block, 99999, 0, 0) >= 99999)
        return 3;
    dallocx(block, 0);
    block = tc_new_nothrow(64, ""); /* tc_new_nothrow */
    tc_delete(block);
    block = _Znwm(65); /* new */
    _ZdlPv(block);
    block = reallocf(NULL, 66); /* reallocf */
    block = reallocf(block, 67); /* reallocf again */
    if (reallocf(block, SIZE_MAX - 9) != NULL)
        return 4;
    return 0;
}
"""
WEAK_SIZES = {"mi_malloc": 61, "mi_zalloc_aligned": 256, "mi_strndup": 4, "mallocx": 512, "tc_new_nothrow": 64, "new": 65,
              "reallocf": 66, "reallocf again": 67}

JEMALLOC = r"""
#include <jemalloc/jemalloc.h>
void *volatile sink;
int main(void)
{
    void *block = mallocx(1000, MALLOCX_ALIGN(64)); /* mallocx */
    block = rallocx(block, 50000, 0); /* rallocx */
    size_t now = xallocx(block, 50001, 0, 0); /* xallocx */
    dallocx(block, 0);
    block = mallocx(2000, MALLOCX_ZERO); /* zeroed */
    sdallocx(block, 2000, 0);
    sink = mallocx(30, 0); /* leaked */
    return now == 0;
}
"""
TCMALLOC = r"""
#include <gperftools/tcmalloc.h>
void *volatile sink;
int main(void)
{
    void *block = tc_malloc(11); /* malloc */
    tc_free(block);
    block = tc_calloc(3, 4); /* calloc */
    block = tc_realloc(block, 13); /* realloc */
    tc_cfree(block);
    block = tc_memalign(64, 14); /* memalign */
    tc_free(block);
    if (tc_posix_memalign(&block, 64, 15) != 0) /* posix_memalign */
        return 1;
    tc_free(block);
    sink = tc_valloc(16); /* valloc */
    tc_free(sink);
    sink = tc_pvalloc(17); /* pvalloc */
    tc_free(sink);
    sink = tc_malloc_skip_new_handler(18); /* skip_new_handler */
    tc_free_sized(sink, 18);
    sink = tc_malloc(19); /* leaked */
    return 0;
}
"""
MIMALLOC = r"""
#include <mimalloc.h>
#include <string.h>
void *volatile sink;
int main(void)
{
    void *block = mi_malloc(11); /* malloc */
    block = mi_realloc(block, 12); /* realloc */
    mi_free(block);
    block = mi_calloc(2, 7); /* calloc */
    block = mi_recalloc(block, 3, 7); /* recalloc */
    mi_free_size(block, 21);
    block = mi_zalloc(15); /* zalloc */
    block = mi_reallocn(block, 4, 4); /* reallocn */
    mi_free(block);
    block = mi_malloc_aligned(100, 64); /* malloc_aligned */
    mi_free_size_aligned(block, 100, 64);
    block = mi_new(17); /* new */
    mi_free(block);
    block = mi_strdup("twelve chars"); /* strdup */
    mi_free(block);
    if (mi_posix_memalign(&block, 64, 18) != 0) /* posix_memalign */
        return 1;
    mi_free_aligned(block, 64);
    mi_heap_t *heap = mi_heap_new(); /* heap */
    for (int i = 0; i < 50; i++)
        sink = mi_heap_malloc(heap, 19); /* heap_malloc */
    mi_heap_destroy(heap);
    sink = mi_malloc_small(20); /* leaked */
    return 0;
}
"""


def library_path(name):
    """The shared library that `-lNAME` links; None if it is not installed."""
    path = sextant.tool("gcc", f"-print-file-name=lib{name}.so").decode().strip()
    return pathlib.Path(path).resolve() if os.path.isabs(path) else None


class AllocatorsTest(RecordTest):
    def allocations(self, source, output="out.mlyze", ending=(".c", ".cpp")):
        """The trace, and what was allocated at the marked lines: name -> sizes."""
        trace = self.trace(source, output)
        found = collections.defaultdict(list)
        for event in trace.raw:
            if event[0] == "alloc":
                frames = trace.stacks[event[4]]
                if frames and frames[0][1].startswith(os.fspath(self.folder)) and frames[0][1].endswith(ending):
                    found[trace.names.get(frames[0][2])].append(event[3])
        return trace, dict(found)

    def left(self, trace):
        """Sizes of the blocks at marked lines that were not freed. Fails if a block is given out or freed twice."""
        trace.live()
        blocks = {}
        for event in trace.raw:
            if event[0] == "alloc":
                blocks[event[2]] = event
            elif event[0] == "free":
                del blocks[event[2]]
        return sorted(event[3] for event in blocks.values()
                      if trace.stacks[event[4]] and trace.stacks[event[4]][0][2] in trace.names)

    def needed(self, name):
        path = library_path(name)
        if path is None or not path.exists():
            self.skipTest(f"lib{name} is not installed")
        return path


class Operators(AllocatorsTest):
    def assert_all_recorded(self, program, **keywords):
        self.record(program, **keywords)
        trace, found = self.allocations(OPERATORS)
        self.assertEqual({site: sizes for site, sizes in found.items() if site in SIZES},
                         {site: [size] * 10 for site, size in SIZES.items()})
        self.assertEqual((found["expression"], found["freed by free"], found["leaked"]), ([128], [33], [44]))
        self.assertEqual(self.left(trace), [44])
        stacks = [trace.functions(event[4]) for event in trace.raw if event[0] == "alloc" and event[3] in (11, 44)]
        self.assertEqual({stack[0] for stack in stacks}, {"main"}, "the first frame is the caller of operator new")

    def test_of_the_cpp_library(self):
        self.assert_all_recorded(samples.compile_c(self.folder, "program", "-g", "-std=c++17", source=OPERATORS,
                                                   language="cpp"))

    def test_exceptions_and_new_handlers_of_the_cpp_library(self):
        self.check_handler()

    def check_handler(self, *flags, **keywords):
        program = samples.compile_c(self.folder, "program", "-g", "-std=c++17", source=HANDLER, language="cpp", *flags)
        self.record(program, status=7, **keywords)
        trace, found = self.allocations(HANDLER)
        self.assertEqual((found["reserve"], found["afterwards"]), ([77], [11] * 100))
        self.assertEqual(self.left(trace), [], "what the new_handler freed")

    def test_a_library_whose_operator_new_calls_malloc(self):
        library = samples.compile_c(self.folder, "libheaders.so", "-g", "-shared", "-fPIC", source=HEADERS, language="cpp")
        program = samples.compile_c(self.folder, "program", "-g", library, f"-Wl,-rpath,{self.folder}", source=WITH_HEADERS,
                                    language="cpp")
        self.record(program)
        trace, found = self.allocations(WITH_HEADERS, ending="program.cpp")
        self.assertEqual((found["with a header"], found["leaked"]), ([31] * 5, [32]))
        self.assertEqual(self.left(trace), [32])
        sizes = collections.Counter(event[3] for event in trace.raw if event[0] == "alloc")
        self.assertEqual((sizes[31 + 16], sizes[32 + 16], sizes[21]), (0, 0, 5), "each block once")

    def test_a_program_with_its_own_operators_keeps_them(self):
        for flags in ((), ("-rdynamic",)):
            program = samples.compile_c(self.folder, "program", "-g", *flags, source=OWN_NEW, language="cpp")
            self.record(program)
            trace, found = self.allocations(OWN_NEW)
            sizes = collections.Counter(event[3] for event in trace.raw if event[0] == "alloc")
            self.assertEqual(sizes[51], 1, found)
            self.assertEqual(self.left(trace), [])

    def test_a_cpp_plugin_of_a_c_program(self):
        plugin = samples.compile_c(self.folder, "plugin.so", "-g", "-shared", "-fPIC", language="cpp", source=r"""
            #include <new>
            void *volatile sink;
            extern "C" int use()
            {
                sink = ::operator new(71); /* new */
                ::operator delete(sink);
                try {
                    volatile std::size_t size = (std::size_t)1 << 60;
                    sink = ::operator new(size);
                } catch (const std::bad_alloc &) {
                    return 0;
                }
                return 1;
            }
        """)
        program = programs.build(self.folder, "program", PLUGINS)
        self.record(program, plugin, plugin)
        sizes = collections.Counter(event[3] for event in self.trace().raw if event[0] == "alloc")
        self.assertEqual(sizes[71], 2)

    def check_linked(self, name):
        self.needed(name)
        flags = ("-g", "-std=c++17", "-Wl,--no-as-needed", f"-l{name}", "-Wl,--as-needed")
        self.assert_all_recorded(samples.compile_c(self.folder, "program", *flags, source=OPERATORS, language="cpp"))
        if name != "mimalloc":  # its operator new aborts
            self.check_handler(*flags[2:])

    def check_preloaded(self, name):
        if sextant.SANITIZED:
            self.skipTest("the library would be loaded into sextant too, before the sanitizer")
        environment = {"LD_PRELOAD": os.fspath(self.needed(name))}
        self.assert_all_recorded(samples.compile_c(self.folder, "program", "-g", "-std=c++17", source=OPERATORS,
                                                   language="cpp"), env=environment)
        if name != "mimalloc":
            self.check_handler(env=environment)


for library in LIBRARIES:
    for kind in ("linked", "preloaded"):
        def check(self, kind=kind, library=library):
            getattr(self, f"check_{kind}")(library)
        setattr(Operators, f"test_of_{library}_{kind}", check)


class Names(AllocatorsTest):
    def test_prefixes_of_jemalloc(self):
        for prefix in ("je_", "_rjem_"):
            with self.subTest(prefix=prefix):
                library = samples.compile_c(self.folder, "liballocator.so", f"-DPREFIX={prefix}", "-g", "-shared", "-fPIC",
                                            "-fno-builtin", source=PREFIXED)
                flags = (f"-DPREFIX={prefix}", library, f"-Wl,-rpath,{self.folder}", "-fno-builtin", "-DUSE=main")
                program = programs.build(self.folder, "program", USES_PREFIXED, *flags)
                self.record(program)
                trace, found = self.allocations(USES_PREFIXED)
                self.assertEqual(found, PREFIXED_SIZES)
                self.assertEqual(self.left(trace), [107])

    def test_an_allocator_that_is_loaded_and_unloaded(self):
        library = samples.compile_c(self.folder, "liballocator.so", "-DPREFIX=mi_", "-g", "-shared", "-fPIC", "-fno-builtin",
                                    source=PREFIXED)
        prefix = ("-DPREFIX=mi_", "-DUSE=use", library, f"-Wl,-rpath,{self.folder}", "-fno-builtin", "-shared", "-fPIC")
        plugin = programs.build(self.folder, "plugin.so", USES_PREFIXED, *prefix)
        self.record(programs.build(self.folder, "program", PLUGINS), plugin, plugin, plugin)
        trace = programs.Recorded(self.folder / "out.mlyze", USES_PREFIXED)
        sizes = collections.Counter(event[3] for event in trace.raw if event[0] == "alloc")
        self.assertEqual([sizes[size] for size in (101, 102, 103, 107)], [3] * 4)

    def test_weak_references_in_a_program_without_such_an_allocator(self):
        program = programs.build(self.folder, "program", WEAK, "-fno-builtin")
        self.record(program)
        trace, found = self.allocations(WEAK)
        self.assertEqual(found, {site: [size] for site, size in WEAK_SIZES.items()})
        self.assertEqual(self.left(trace), [])

    def check(self, name, header, source, expected, left):
        self.needed(name)
        if not any(pathlib.Path(folder, header).exists() for folder in ("/usr/include", "/usr/local/include")):
            self.skipTest(f"{header} is not installed")
        program = programs.build(self.folder, "program", source, "-fno-builtin", f"-l{name}")
        self.record(program)
        trace, found = self.allocations(source)
        found.pop("heap", None)  # the library's own
        self.assertEqual(found, expected)
        self.assertEqual(self.left(trace), left)

    def test_of_jemalloc(self):
        expected = {"mallocx": [1000], "rallocx": [50000], "xallocx": [50001], "zeroed": [2000], "leaked": [30]}
        self.check("jemalloc", "jemalloc/jemalloc.h", JEMALLOC, expected, [30])

    def test_of_tcmalloc(self):
        expected = {"malloc": [11], "calloc": [12], "realloc": [13], "memalign": [14], "posix_memalign": [15],
                    "valloc": [16], "pvalloc": [17], "skip_new_handler": [18], "leaked": [19]}
        for name in ("tcmalloc", "tcmalloc_minimal"):
            with self.subTest(name=name):
                self.check(name, "gperftools/tcmalloc.h", TCMALLOC, expected, [19])

    def test_of_mimalloc(self):
        header = next((folder for folder in pathlib.Path("/usr/include").glob("mimalloc*") if folder.is_dir()), None)
        expected = {"malloc": [11], "realloc": [12], "calloc": [14], "recalloc": [21], "zalloc": [15], "reallocn": [16],
                    "malloc_aligned": [100], "new": [17], "strdup": [13], "posix_memalign": [18], "heap_malloc": [19] * 50,
                    "leaked": [20]}
        name = "mimalloc.h" if header is None else f"{header.name}/mimalloc.h"
        self.check("mimalloc", name, MIMALLOC, expected, [20])


ARENA = r"""
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
void *volatile block;
static void use(size_t size)
{
    memset(block, 1, size);
}
int main(int count, char **words)
{
    size_t mapped = (size_t)atoi(words[1]) << 20, allocated = (size_t)atoi(words[2]) << 20;
    block = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    use(mapped);
    block = malloc(allocated);
    use(allocated);
    usleep((useconds_t)atoi(words[3]) * 1000);
    return count != 4;
}
"""


class Invisible(AllocatorsTest):
    def lines(self, *command, options=()):
        result = sextant.run("record", "-o", self.folder / "out.mlyze", *options, "--", *command, cwd=self.folder)
        self.assertEqual(result.status, 0, f"\n{result}")
        return [line for line in result.err.splitlines() if "not in the trace" in line]

    def test_the_share_of_an_arena(self):
        program = programs.build(self.folder, "program", ARENA)
        long, short = "1500", "300"  # milliseconds: on a busy machine record looks at the memory seldom
        lines = self.lines(program, "60", "20", long)
        self.assertEqual(len(lines), 1)
        share = r"^sextant: (at least )?7[0-9] % of the program's memory \([0-9.]+ MB of [0-9.]+ MB\) is not in the "
        self.assertRegex(lines[0], share)
        self.assertEqual(self.lines(program, "60", "20", short, options=["--mmap"]), [])
        self.assertEqual(self.lines(program, "1", "70", short), [])
        self.assertEqual(self.lines(program, "1", "70", short, options=["--sample", "64k"]), [])
        (line,) = self.lines(program, "60", "20", long, options=["--sample", "64k"])
        self.assertRegex(line, r"^sextant: (at least )?7[0-9] % of the program's memory")

    @sextant.only_with_everything
    def test_ordinary_programs(self):
        for command in (["ls", "-l", "/usr/bin"], ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"],
                        ["sort", "-n", "/proc/kallsyms"], ["find", "/usr/share", "-name", "x"], ["python3", "-c", "pass"]):
            with self.subTest(command=command):
                self.assertEqual(self.lines(*command, options=["--no-symbols"]), [])

    def test_an_allocator_in_the_program_that_starts_first(self):
        archive = next(pathlib.Path("/usr/lib").glob("*/libjemalloc.a"), None)
        if archive is None:
            self.skipTest("libjemalloc.a is not installed")
        source = "void *volatile block;\nint main() { block = new char[10]; return block == nullptr; }\n"
        flags = ("-Wl,--whole-archive", archive, "-Wl,--no-whole-archive", "-pthread", "-ldl", "-lm")
        program = samples.compile_c(self.folder, "program", *flags, source=source, language="cpp")
        result = self.record(program, quiet=False, timeout=60)
        self.assertIn("nothing was recorded: it has its own allocator", result.err)


class Modes(RecordTest):
    def test_spools_are_private_whatever_the_umask(self):
        for mask, mode in ((0, 0o666), (0o22, 0o644), (0o777, 0)):
            with self.subTest(mask=oct(mask)):
                for path in self.folder.glob("out*"):
                    path.unlink()
                before = os.umask(mask)
                try:
                    result = self.record("sh", "-c", "(stat -c %a out.*.part; :); stat -c %a out.mlyze", status=0,
                                         options=["--follow-fork"])
                finally:
                    os.umask(before)
                modes = result.out.decode().split()
                self.assertEqual(set(modes), {"600"})
                self.assertGreaterEqual(len(modes), 3, "the program's, its child's, and the second name")
                self.assertEqual((self.folder / "out.mlyze").stat().st_mode & 0o777, mode)


if __name__ == "__main__":
    tap.main()
