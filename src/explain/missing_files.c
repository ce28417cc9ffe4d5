/* missing_files.c: debug files that were not found, and files that DWARF refers to. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cursor.h"
#include "base/hex.h"
#include "explain/private.h"
#include "source/debug_file.h"

static void add_place(struct sxt_explainer *explainer, sxt_string path)
{
    struct stat status;
    sxt_explain_add_tried(explainer, path);
    if (path.data != NULL && stat(path.data, &status) == 0 && S_ISREG(status.st_mode))
        sxt_explain_add_reason(explainer, (sxt_explained_reason){.reason = SXT_WHY_OTHER_DEBUG_FILE, .path = path});
}

/* The name in .gnu_debuglink; absent if there is none. */
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

/* The places are those of source/debug_file.c. */
void sxt_explain_debug_file(struct sxt_explainer *explainer)
{
    const sxt_extract_options *extract = &explainer->options.extract;
    const char *directory = extract->debug_directory != NULL ? extract->debug_directory : SXT_DEBUG_DIRECTORY;
    if (explainer->origins.debug.found) {
        sxt_string path = sxt_explain_string(explainer->origins.debug.path);
        sxt_explain_add_reason(explainer, (sxt_explained_reason){.reason = SXT_WHY_NOT_IN_DEBUG_FILE, .path = path});
        return;
    }
    if (extract->flags & SXT_EXTRACT_NO_DEBUG_SEARCH) {
        sxt_explain_because(explainer, SXT_WHY_NO_DEBUG_SEARCH);
        sxt_explain_advise(explainer, SXT_ADVICE_SEARCH_DEBUG_FILE);
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
    sxt_explain_because(explainer, explainer->out.tried_count > 0 ? SXT_WHY_NO_DEBUG_FILE : SXT_WHY_NO_DEBUG_LINK);
    sxt_explain_advise(explainer, SXT_ADVICE_INSTALL_SYMBOLS);
    if (size >= 2)
        sxt_explain_add_advice(explainer, (sxt_explained_advice){.advice = SXT_ADVICE_FETCH_DEBUG_FILE,
                                                                 .name = sxt_explain_print(explainer, "%s", hex)});
    sxt_explain_advise(explainer, SXT_ADVICE_GIVE_DEBUG_FILE);
}

void sxt_explain_dwarf_files(struct sxt_explainer *explainer)
{
    const struct sxt_dwarf_explanation *dwarf = &explainer->of_dwarf;
    if (dwarf->missing_split.data != NULL) {
        sxt_explain_add_reason(explainer, (sxt_explained_reason){.reason = SXT_WHY_NO_SPLIT_FILE,
                                                                 .path = dwarf->missing_split,
                                                                 .address = dwarf->unit});
        sxt_string package = sxt_explain_print(explainer, "%s.dwp", explainer->origins.dwarf_path);
        sxt_explain_add_advice(explainer,
                               (sxt_explained_advice){.advice = SXT_ADVICE_RESTORE_SPLIT_FILE, .path = package});
    }
    if (dwarf->missing_alternate.data != NULL) {
        sxt_explain_add_reason(
            explainer, (sxt_explained_reason){.reason = SXT_WHY_NO_ALTERNATE_FILE, .path = dwarf->missing_alternate});
        sxt_explain_advise(explainer, SXT_ADVICE_INSTALL_ALTERNATE);
    }
    for (size_t i = 0; i < dwarf->tried_count; i++)
        sxt_explain_add_tried(explainer, dwarf->tried[i]);
}
