/*
 * frame_kind.c: which frames belong to the library of a language, and which of those keep memory until the end.
 *
 * A file says it (a header of C++, a source of glibc or Rust, a shared library whose code has no lines), or the name of
 * the function does (std::, runtime.). A frame that neither says anything about is the user's.
 */
#include "mlyze/frame_kind.h"

#include <string.h>

#include "base/string.h"
#include "mlyze/analysis.h"

struct rule {
    const char *text;
    unsigned kind;
};

static bool has_at_start(sxt_string text, const char *const *words)
{
    for (; *words != NULL; words++)
        if (sxt_string_begins(text, *words))
            return true;
    return false;
}

static bool contains(sxt_string text, const char *word)
{
    return text.size > 0 && memmem(text.data, text.size, word, strlen(word)) != NULL;
}

static sxt_string base_of(sxt_string path)
{
    const char *slash = path.size > 0 ? memrchr(path.data, '/', path.size) : NULL;
    if (slash == NULL)
        return path;
    size_t start = (size_t)(slash - path.data) + 1;
    return (sxt_string){path.data + start, path.size - start};
}

/* --- files --- */

/* Shared libraries, and the interpreter, by the beginning of their names. */
static const struct rule libraries[] = {
    {"libc.so", SXT_FRAME_C},
    {"libc-2.", SXT_FRAME_C},
    {"libc.musl", SXT_FRAME_C},
    {"ld-linux", SXT_FRAME_C | SXT_FRAME_LOADER},
    {"ld-musl", SXT_FRAME_C | SXT_FRAME_LOADER},
    {"ld-2.", SXT_FRAME_C | SXT_FRAME_LOADER},
    {"ld64.so", SXT_FRAME_C | SXT_FRAME_LOADER},
    {"ld.so", SXT_FRAME_C | SXT_FRAME_LOADER},
    {"libpthread", SXT_FRAME_C},
    {"libdl.so", SXT_FRAME_C},
    {"libdl-2.", SXT_FRAME_C},
    {"librt.so", SXT_FRAME_C},
    {"librt-2.", SXT_FRAME_C},
    {"libm.so", SXT_FRAME_C},
    {"libm-2.", SXT_FRAME_C},
    {"libgcc_s", SXT_FRAME_C},
    {"libnss_", SXT_FRAME_C | SXT_FRAME_KEEPS},
    {"libstdc++.so", SXT_FRAME_CXX},
    {"libc++.so", SXT_FRAME_CXX},
    {"libc++abi.so", SXT_FRAME_CXX},
    {"libstd-", SXT_FRAME_OTHER},
    {"libpython3", SXT_FRAME_OTHER},
    {"libpython2", SXT_FRAME_OTHER},
    {"python3", SXT_FRAME_OTHER},
    {"python2", SXT_FRAME_OTHER},
};

/* Parts of paths of sources. */
static const struct rule sources[] = {
    {"/include/c++/", SXT_FRAME_CXX},
    {"/c++/v1/", SXT_FRAME_CXX},
    {"/libstdc++-v3/", SXT_FRAME_CXX},
    {"/libcxxabi/src/", SXT_FRAME_CXX},
    {"/libcxx/include/", SXT_FRAME_CXX},
    {"/libcxx/src/", SXT_FRAME_CXX},
    {"/libsupc++/", SXT_FRAME_CXX},
    {"/rustlib/src/rust/library/", SXT_FRAME_OTHER},
    {"/library/alloc/src/", SXT_FRAME_OTHER},
    {"/library/core/src/", SXT_FRAME_OTHER},
    {"/library/std/src/", SXT_FRAME_OTHER},
    {"/go/src/runtime/", SXT_FRAME_OTHER},
    {"/glibc-2.", SXT_FRAME_C},
};

/* Debian's glibc has paths relative to its root; those of other programs are absolute, or have other names. */
static const char *const glibc[] = {
    "elf/",
    "malloc/",
    "libio/",
    "nptl/",
    "csu/",
    "stdio-common/",
    "sysdeps/",
    "nss/",
    "dlfcn/",
    "iconv/gconv",
    "intl/",
    "wcsmbs/",
    "resolv/res",
    "resolv/ns_",
    "inet/get",
    "string/str",
    "string/mem",
    "string/argz",
    "stdlib/canon",
    "stdlib/setenv",
    "stdlib/cxa_",
    "stdlib/exit",
    "stdlib/on_exit",
    "stdlib/atexit",
    "stdlib/putenv",
    "stdlib/msort",
    "stdlib/qsort",
    "posix/reg",
    "posix/glob",
    "posix/wordexp",
    "posix/spawn",
    "time/tz",
    "time/localtime",
    "time/mktime",
    "time/strftime",
    "dirent/scandir",
    "dirent/opendir",
    "locale/setlocale",
    "locale/newlocale",
    "locale/duplocale",
    "locale/findlocale",
    "locale/loadlocale",
    "locale/loadarchive",
    "misc/syslog",
    "misc/allocate_once",
    "misc/init-misc",
    "include/allocate_once.h",
    "include/alloc_buffer.h",
    "malloc/alloc_buffer",
    "misc/mntent",
    "misc/tsearch",
    "misc/hsearch",
    "io/fts",
    "io/ftw",
    "include/rtld-malloc.h",
    "grp/",
    "pwd/",
    "argp/argp-",
    "catgets/open_catalog",
    NULL,
};

static bool is_glibc(sxt_string path)
{
    while (sxt_string_begins(path, "./") || sxt_string_begins(path, "../")) {
        size_t step = path.data[1] == '/' ? 2 : 3;
        path.data += step;
        path.size -= step;
    }
    return has_at_start(path, glibc) &&
           (sxt_string_ends(path, ".c") || sxt_string_ends(path, ".h") || sxt_string_ends(path, ".S"));
}

/* Sources of CPython: "Objects/listobject.c" of a build of it. */
static bool is_python(sxt_string path)
{
    static const char *const folders[] = {"/Objects/", "/Python/", "/Parser/", "/Modules/", "/Include/"};
    if (!sxt_string_ends(path, ".c") && !sxt_string_ends(path, ".h"))
        return false;
    bool is_build = contains(path, "ython-3") || contains(path, "ython3") || contains(path, "cpython");
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if ((is_build && contains(path, folders[i])) || sxt_string_begins(path, folders[i] + 1) ||
            (sxt_string_begins(path, "..") &&
             sxt_string_begins((sxt_string){path.data + 2, path.size - 2}, folders[i])))
            return true;
    return false;
}

unsigned sxt_frame_kind_of_file(sxt_string file)
{
    sxt_string base = base_of(file);
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (sxt_string_begins(base, libraries[i].text) && !sxt_string_ends(base, ".c") && !sxt_string_ends(base, ".py"))
            return libraries[i].kind;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (contains(file, sources[i].text))
            return sources[i].kind | (sxt_string_is(base, "eh_alloc.cc") ? SXT_FRAME_KEEPS : 0);
    if (sxt_string_begins(file, "/rustc/"))
        return SXT_FRAME_OTHER;
    if (is_glibc(file))
        return SXT_FRAME_C | (contains(file, "elf/dl-") || contains(file, "elf/rtld") ? SXT_FRAME_LOADER : 0);
    return is_python(file) ? SXT_FRAME_OTHER : 0;
}

/* --- functions --- */

/* By the beginnings of names. */
static const struct rule prefixes[] = {
    {"std::", SXT_FRAME_CXX},
    {"__gnu_cxx::", SXT_FRAME_CXX},
    {"__cxxabiv1::", SXT_FRAME_CXX},
    {"operator new", SXT_FRAME_CXX},
    {"__cxa_", SXT_FRAME_CXX},
    {"__rust_", SXT_FRAME_OTHER},
    {"__rustc::", SXT_FRAME_OTHER},
    {"runtime.", SXT_FRAME_OTHER},
    {"runtime/", SXT_FRAME_OTHER},
    {"__libc_start_", SXT_FRAME_C},
    {"__libc_csu_", SXT_FRAME_C},
    {"_GLOBAL__sub_I_eh_alloc.cc", SXT_FRAME_CXX | SXT_FRAME_KEEPS},
    {"_GLOBAL__sub_I__ZN9__gnu_cxx9__freeres", SXT_FRAME_CXX | SXT_FRAME_KEEPS},
};

/* Names of Rust do not have parameters; those of C++ do, and users have namespaces with these names. */
static const char *const rust[] = {"alloc::", "core::", "<alloc::", "<core::", "<std::", "hashbrown::", NULL};

static const char *const starts[] = {"_start", "start_thread", "clone", "clone3", "__clone", "__clone3"};

/*
 * Functions of libc that keep memory for themselves. What they return does not belong to the caller, so the memory is
 * no leak of the program. A "*" at the end stands for any ending.
 */
static const char *const keepers[] = {
    /* buffers of stdio */
    "_IO_file_doallocate",
    "_IO_wfile_doallocate",
    /* locales, messages, conversions */
    "setlocale",
    "_nl_*",
    "new_composite_name",
    "bindtextdomain",
    "textdomain",
    "set_binding_values",
    "dcigettext",
    "dcgettext",
    "dgettext",
    "gettext",
    "ngettext",
    "gconv_load*",
    "gconv_read*",
    "gconv_parse*",
    "gconv_get*",
    "gconv_find_shlib",
    "gconv_lookup*",
    "wcsmbs_*",
    "strerror",
    "strerror_l",
    "strsignal",
    /* time zones */
    "tzset",
    "tzset_internal",
    "tzfile_*",
    "tzstring*",
    "tz_convert",
    "localtime",
    "localtime_r",
    "mktime",
    "strftime",
    "strftime_l",
    /* the environment, functions to call at the end, data of threads */
    "setenv",
    "putenv",
    "add_to_environ",
    "clearenv",
    "new_exitfn",
    "cxa_atexit",
    "internal_atexit",
    "atexit",
    "on_exit",
    "cxa_thread_atexit*",
    "pthread_setspecific",
    "pthread_create*",
    "allocate_dtv",
    "allocate_stack",
    "tls_get_addr*",
    "tls_get_addr_slow",
    /* the loader */
    "_dl_*",
    "dl_open_worker*",
    "dl_main",
    "_dlfo_*",
    "dlopen*",
    "dlmopen*",
    "dlsym*",
    "dlvsym*",
    "dlerror*",
    "dlclose*",
    "_dlerror_run",
    "rtld_malloc",
    "dl_iterate_phdr",
    "libc_dlopen*",
    "libc_dlsym*",
    "add_to_global*",
    "libc_unwind_link_get",
    "backtrace",
    /* users, groups, hosts: answers in memory of libc */
    "nss_*",
    "getpwuid*",
    "getpwnam*",
    "getpwent*",
    "getgrgid*",
    "getgrnam*",
    "getgrent*",
    "gethostbyname*",
    "gethostbyaddr*",
    "getservby*",
    "getprotoby*",
    "getnetby*",
    "res_*",
    "resolv_*",
    "getlogin",
    "openlog",
    "syslog",
    "vsyslog*",
};

/* glibc's names for the same function: "__GI_" and other underscores before it. */
static sxt_string without_underscores(sxt_string name)
{
    if (sxt_string_begins(name, "__GI_")) {
        name.data += 5;
        name.size -= 5;
    }
    while (sxt_string_begins(name, "__")) {
        name.data += 2;
        name.size -= 2;
    }
    return name;
}

static bool is_keeper(sxt_string name)
{
    sxt_string plain = without_underscores(name);
    for (size_t i = 0; i < sizeof keepers / sizeof *keepers; i++) {
        size_t size = strlen(keepers[i]);
        if (keepers[i][size - 1] == '*' ? sxt_string_has_prefix(plain, (sxt_string){keepers[i], size - 1})
                                        : sxt_string_is(plain, keepers[i]))
            return true;
    }
    return false;
}

/* The return type of a function is before its name: "void std::f<int>()". */
static sxt_string without_return_type(sxt_string name)
{
    size_t depth = 0;
    sxt_string found = name;
    for (size_t i = 0; i < name.size && name.data[i] != '('; i++) {
        depth += name.data[i] == '<';
        if (name.data[i] == '>' && depth > 0)
            depth--;
        if (name.data[i] == ' ' && depth == 0 && !sxt_string_ends((sxt_string){name.data, i}, "operator"))
            found = (sxt_string){name.data + i + 1, name.size - i - 1};
    }
    return found;
}

unsigned sxt_frame_kind_of_function(sxt_string function)
{
    sxt_string name = without_return_type(function);
    if (sxt_string_is(function, SXT_TRUNCATED))
        return SXT_FRAME_CUT;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (sxt_string_begins(name, prefixes[i].text))
            return prefixes[i].kind | (is_keeper(name) ? SXT_FRAME_KEEPS : 0);
    if (has_at_start(function, rust) && !sxt_string_ends(function, ")") && !sxt_string_ends(function, ") const"))
        return SXT_FRAME_OTHER;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (sxt_string_is(function, starts[i]))
            return SXT_FRAME_C;
    return is_keeper(function) ? SXT_FRAME_KEEPS : 0;
}

unsigned sxt_frame_kind(unsigned of_function, unsigned of_file)
{
    unsigned library = (of_function | of_file) & SXT_FRAME_LIBRARY;
    if (of_function == SXT_FRAME_CUT)
        return SXT_FRAME_CUT;
    return library == 0 ? 0 : of_function | of_file;
}

unsigned sxt_heap_frame_kind(sxt_string function, sxt_string file)
{
    return sxt_frame_kind(sxt_frame_kind_of_function(function), sxt_frame_kind_of_file(file));
}

bool sxt_trace_is_library_frame(const sxt_trace_frame *frame)
{
    return (sxt_heap_frame_kind(frame->function, frame->file) & SXT_FRAME_LIBRARY) != 0;
}
