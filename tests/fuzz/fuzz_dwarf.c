/*
 * fuzz_dwarf.c: debug sections. They come packed, so that a fuzzer spends its changes on them alone:
 *
 *     kind (1 byte), flags of the extraction (1 byte), then any number of: which section (1 byte), size (2 bytes),
 * bytes
 *
 * The kind picks width, byte order and type of the ELF file that they are put into. Sections may come more than once;
 * then they are joined. 0x40 in a section's number puts it into a package (FILE.dwp) beside the file, 0x80 into the
 * alternate file. The properties are those of fuzz_elf.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sextant/sextant.h>

#include "property.h"
#include "support/elf_builder.h"

#define TEXT 0x401000
#define FLAGS                                                                                                          \
    (SXT_EXTRACT_NO_LINES | SXT_EXTRACT_NO_FILES | SXT_EXTRACT_NO_INLINES | SXT_EXTRACT_EXTEND_ZERO_SIZE |             \
     SXT_EXTRACT_DETAILS)
#define IN_PACKAGE   0x40
#define IN_ALTERNATE 0x80
#define PLACES       (IN_PACKAGE | IN_ALTERNATE)

enum { SECTION_COUNT = 11 };

static const char *const names[2][SECTION_COUNT] = {
    {".debug_info", ".debug_abbrev", ".debug_line", ".debug_str", ".debug_line_str", ".debug_str_offsets",
     ".debug_addr", ".debug_ranges", ".debug_rnglists", ".debug_types", ".debug_cu_index"},
    {".debug_info.dwo", ".debug_abbrev.dwo", ".debug_line.dwo", ".debug_str.dwo", ".debug_line_str.dwo",
     ".debug_str_offsets.dwo", ".debug_addr.dwo", ".debug_ranges.dwo", ".debug_rnglists.dwo", ".debug_types.dwo",
     ".debug_cu_index"},
};

static const uint8_t alternate_id[] = {1, 2, 3, 4};

/* Walks over what is packed: true and the next section, or false at the end. */
static bool next_section(const uint8_t **at, const uint8_t *end, unsigned *which, size_t *size)
{
    if (end - *at < 3)
        return false;
    *which = (*at)[0];
    *size = (*at)[1] | (size_t)(*at)[2] << 8;
    *at += 3;
    if (*size > (size_t)(end - *at))
        *size = (size_t)(end - *at);
    return true;
}

static bool has_sections(unsigned place, const uint8_t *at, const uint8_t *end)
{
    unsigned which;
    size_t size;
    for (; next_section(&at, end, &which, &size); at += size)
        if ((which & PLACES) == place)
            return true;
    return false;
}

static void put_sections(struct sxt_builder *builder, unsigned place, const uint8_t *at, const uint8_t *end)
{
    unsigned numbers[SECTION_COUNT] = {0}, which;
    size_t size;
    for (; next_section(&at, end, &which, &size); at += size) {
        unsigned kind = (which & ~(unsigned)PLACES) % SECTION_COUNT;
        if ((which & PLACES) != place)
            continue;
        if (numbers[kind] == 0)
            numbers[kind] = sxt_builder_section(builder, names[place == IN_PACKAGE][kind], SHT_PROGBITS, 0, NULL, 0);
        sxt_buffer_append(&sxt_builder_at(builder, numbers[kind])->bytes, at, size);
    }
}

static void write_file(const char *path, const struct sxt_builder *builder)
{
    FILE *out = fopen(path, "wb");
    SXT_HOLDS(out != NULL && fwrite(builder->data, 1, builder->size, out) == builder->size && fclose(out) == 0);
}

/* A second file of the same shape as the first. */
static void write_beside(const char *path, unsigned kind, unsigned place, const uint8_t *at, const uint8_t *end)
{
    struct sxt_builder builder;
    sxt_builder_init(&builder, kind & 1, kind & 2, ET_DYN, kind & 1 ? EM_X86_64 : EM_386);
    sxt_builder_build_id(&builder, alternate_id, sizeof alternate_id);
    put_sections(&builder, place, at, end);
    sxt_builder_finish(&builder);
    write_file(path, &builder);
    sxt_builder_free(&builder);
}

/* Through files, as the other parts of debug information are only looked for beside one. */
static void check_with_files(const struct sxt_builder *builder, unsigned kind, uint32_t flags, const uint8_t *at,
                             const uint8_t *end)
{
    bool packed = has_sections(IN_PACKAGE, at, end), shared = has_sections(IN_ALTERNATE, at, end);
    if (!packed && !shared)
        return;
    char folder[] = "/tmp/sextant-fuzz-XXXXXX", path[64], package[64], alternate[64];
    SXT_HOLDS(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/file", folder);
    snprintf(package, sizeof package, "%s/file.dwp", folder);
    snprintf(alternate, sizeof alternate, "%s/alternate", folder);
    write_file(path, builder);
    if (packed)
        write_beside(package, kind, IN_PACKAGE, at, end);
    if (shared)
        write_beside(alternate, kind, IN_ALTERNATE, at, end);
    sxt_open_options options;
    sxt_archive *archive;
    sxt_open_options_init(&options);
    sxt_extract_options extract;
    sxt_extract_options_init(&extract);
    options.extract = &extract;
    extract.flags = flags;
    extract.debug_directory = folder;
    extract.inflate_limit = SXT_FUZZ_INFLATE_LIMIT;
    if (sxt_archive_open_path(path, &options, &archive, NULL) == SXT_OK) {
        sxt_fuzz_exercise(archive);
        sxt_archive_close(&archive);
    }
    unlink(path);
    unlink(package);
    unlink(alternate);
    rmdir(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char code[0x4000];
    if (size < 5)
        return 0;
    unsigned kind = data[0];
    uint32_t flags = data[1] & FLAGS;
    struct sxt_builder builder;
    sxt_builder_init(&builder, kind & 1, kind & 2, kind & 4 ? ET_REL : ET_EXEC, kind & 1 ? EM_X86_64 : EM_386);
    unsigned text = sxt_builder_section(&builder, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code, sizeof code);
    sxt_builder_at(&builder, text)->address = kind & 8 ? 0 : TEXT;
    if (kind & 16) {
        sxt_builder_function(&builder, SHT_SYMTAB, "symbol", kind & 8 ? 0 : TEXT, 0x20, text);
        sxt_builder_function(&builder, SHT_SYMTAB, "label", kind & 8 ? 0x30 : TEXT + 0x30, 0, text);
    }
    put_sections(&builder, 0, data + 2, data + size);
    if (kind & 32) {
        static const char link[] = "alternate\0\1\2\3\4";
        sxt_builder_section(&builder, ".gnu_debugaltlink", SHT_PROGBITS, 0, link, sizeof link - 1);
    }
    sxt_builder_finish(&builder);
    sxt_fuzz_check_elf(builder.data, builder.size, flags);
    check_with_files(&builder, kind, flags, data + 2, data + size);
    sxt_builder_free(&builder);
    return 0;
}
