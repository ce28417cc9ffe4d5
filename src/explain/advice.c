/* advice.c: files that are not there, and addresses that are not of this file. */
#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cursor.h"
#include "base/hex.h"
#include "explain/private.h"
#include "source/debug_file.h"

static void add_place(struct sxt_explainer *explainer, sxt_string path)
{
    struct stat status;
    sxt_explain_tried(explainer, path);
    if (path.data != NULL && stat(path.data, &status) == 0 && S_ISREG(status.st_mode))
        sxt_explain_why(explainer, "'%.*s' is there, but is not the debug file of this binary", EXPLAIN_NAME(path));
}

/* The name in .gnu_debuglink; absent when there is none. */
static sxt_string debug_link(struct sxt_explainer *explainer)
{
    struct sxt_elf *elf = &explainer->elf;
    const struct sxt_elf_section *section = sxt_elf_section_named(elf, ".gnu_debuglink");
    struct sxt_elf_bytes bytes;
    if (section == NULL || sxt_elf_section_bytes(elf, section, &bytes, NULL) != SXT_OK)
        return (sxt_string){NULL, 0};
    struct sxt_cursor at = sxt_elf_cursor(elf, &bytes);
    sxt_string name = sxt_cursor_cstring(&at);
    bool usable = !at.failed && name.size > 0 && name.size < PATH_MAX && memchr(name.data, '/', name.size) == NULL;
    return usable ? name : (sxt_string){NULL, 0};
}

static void add_linked_places(struct sxt_explainer *explainer, const char *directory, sxt_string name)
{
    char *real = realpath(explainer->path, NULL);
    char *slash = real != NULL ? strrchr(real, '/') : NULL;
    if (slash != NULL) {
        *slash = 0;
        add_place(explainer, sxt_explain_print(explainer, "%s/%s", real, name.data));
        add_place(explainer, sxt_explain_print(explainer, "%s/.debug/%s", real, name.data));
        add_place(explainer, sxt_explain_print(explainer, "%s%s/%s", directory, real, name.data));
    }
    free(real);
}

/* Where debug_file.c has looked. */
void sxt_explain_debug_places(struct sxt_explainer *explainer)
{
    const sxt_extract_options *extract = &explainer->options.extract;
    const char *directory = extract->debug_directory != NULL ? extract->debug_directory : SXT_DEBUG_DIRECTORY;
    if (explainer->origins.debug.found) {
        sxt_explain_why(explainer, "its debug file '%.160s' has nothing here either", explainer->origins.debug.path);
        return;
    }
    if (extract->flags & SXT_EXTRACT_NO_DEBUG_SEARCH) {
        sxt_explain_why(explainer, "debug files are not looked for (--no-debug-search)");
        sxt_explain_todo(explainer, "leave --no-debug-search out, or give the debug file with --debug FILE");
        return;
    }
    uint8_t id[SXT_BUILD_ID_MAX];
    char hex[SXT_HEX_ROOM(SXT_BUILD_ID_MAX)];
    size_t size = sxt_elf_build_id(&explainer->elf, id, sizeof id);
    sxt_string link = debug_link(explainer);
    sxt_hex_encode(hex, id, size);
    if (size >= 2)
        add_place(explainer, sxt_explain_print(explainer, "%s/.build-id/%.2s/%s.debug", directory, hex, hex + 2));
    if (link.data != NULL)
        add_linked_places(explainer, directory, link);
    if (explainer->out->tried_count > 0)
        sxt_explain_why(explainer, "no debug file was found");
    else
        sxt_explain_why(explainer, "no debug file can be found: it has neither a build ID nor a .gnu_debuglink");
    sxt_explain_todo(explainer, "install the package with its debug symbols (Debian: NAME-dbgsym or NAME-dbg)");
    if (size >= 2)
        sxt_explain_todo(explainer, "or fetch the debug file by the build ID, which is %s", hex);
    sxt_explain_todo(explainer,
                     "or give the debug file, or a copy of the binary that is not stripped, with --debug FILE");
}

/* Files that DWARF itself names and that were not found. */
void sxt_explain_missing_parts(struct sxt_explainer *explainer)
{
    const struct sxt_dwarf_explanation *dwarf = &explainer->of_dwarf;
    if (dwarf->missing_split.data != NULL) {
        sxt_explain_why(explainer, "the unit at 0x%llx has this address, but its other half, '%.*s', was not found",
                        (unsigned long long)dwarf->unit, EXPLAIN_NAME(dwarf->missing_split));
        sxt_explain_todo(explainer,
                         "put the .dwo file back, or a package made with dwp beside the binary, as '%.160s.dwp'",
                         explainer->origins.dwarf_path);
    }
    if (dwarf->missing_alternate.data != NULL) {
        sxt_explain_why(explainer, "the alternate file '%.*s' was not found, and names may be in it",
                        EXPLAIN_NAME(dwarf->missing_alternate));
        sxt_explain_todo(explainer, "install the alternate file (Debian: it is in the -dbgsym package, under .dwz/)");
    }
    for (size_t i = 0; i < dwarf->tried_count; i++)
        sxt_explain_tried(explainer, dwarf->tried[i]);
}

/* Where programs, libraries and kernels are at run time, on the machines with most of the users. */
static bool looks_like_run_time(uint64_t address)
{
    static const struct {
        uint64_t start, end;
    } places[] = {
        {UINT64_C(0x550000000000), UINT64_C(0x570000000000)},         /* x86-64: programs */
        {UINT64_C(0x7f0000000000), UINT64_C(0x800000000000)},         /* libraries, vdso */
        {UINT64_C(0xaaaa00000000), UINT64_C(0xaaac00000000)},         /* AArch64: programs */
        {UINT64_C(0xffff00000000), UINT64_C(0x1000000000000)},        /* libraries */
        {UINT64_C(0xffff800000000000), UINT64_C(0xffffffffffffffff)}, /* kernels and their modules */
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (address >= places[i].start && address < places[i].end)
            return true;
    return false;
}

/* END is where the file ends. */
void sxt_explain_run_time(struct sxt_explainer *explainer, uint64_t address, uint64_t end)
{
    bool is_relative = explainer->kind == SXT_KIND_LIDIA || explainer->elf.type == ET_DYN;
    if (address < end || !(looks_like_run_time(address) || is_relative))
        return;
    sxt_explain_todo(
        explainer,
        "it %s an address of a running process: give the start of the file's mapping with --load-bias 0x..., or "
        "ask with --pid PID or --maps FILE",
        looks_like_run_time(address) ? "looks like" : "may be");
}
