/* sections.c: the sections that SuperSize knows, and what follows from their names. */
#include "size/private.h"

#define ELEMENTS(array) (sizeof(array) / sizeof(array)[0])

enum kind { NATIVE, BSS, DEX, PAK, PLAIN };

/* By letter in the order in which the reference prints them; a letter means the first section that has it. */
static const struct known {
    const char *name;
    char letter;
    uint8_t kind;
    uint8_t order; /* in a full archive */
} sections[] = {
    {".arsc", 'a', PLAIN, 6},
    {".text", 't', NATIVE, 0},
    {".rodata", 'r', NATIVE, 0},
    {".data.rel.ro", 'R', NATIVE, 0},
    {".data.rel.ro.local", 'R', NATIVE, 0},
    {".tdata.rel.ro", 'R', NATIVE, 0},
    {".data", 'd', NATIVE, 0},
    {".tdata", 'd', NATIVE, 0},
    {".bss", 'b', BSS, 1},
    {".bss.rel.ro", 'b', BSS, 1},
    {".part.end", 'b', BSS, 1},
    {".relro_padding", 'b', BSS, 1},
    {".tbss", 'b', BSS, 1},
    {"google_malloc_bss", 'b', BSS, 1},
    {".dex", 'x', DEX, 2},
    {".dex.method", 'm', DEX, 3},
    {".pak.translations", 'p', PAK, 5},
    {".pak.nontranslated", 'P', PAK, 4},
    {".other", 'o', PLAIN, 7},
};

#define ORDER_OF_OTHERS 7

_Static_assert(ELEMENTS(sections) == SXT_SIZE_SECTIONS, "the number of sections is stated in private.h");

static const struct known *find(sxt_string name)
{
    for (size_t i = 0; i < ELEMENTS(sections); i++)
        if (sxt_string_is(name, sections[i].name))
            return &sections[i];
    return NULL;
}

int sxt_size_section_number(sxt_string section)
{
    const struct known *known = find(section);
    return known == NULL ? -1 : (int)(known - sections);
}

sxt_string sxt_size_section_name(int number)
{
    return sxt_string_of(sections[number].name);
}

void sxt_size_classify(struct sxt_size_segment *segment)
{
    const struct known *section = find(segment->section);
    segment->letter = section == NULL ? 'o' : section->letter;
    segment->is_native = section != NULL && (section->kind == NATIVE || section->kind == BSS);
    segment->is_bss = section != NULL && section->kind == BSS;
    segment->is_pak = section != NULL && section->kind == PAK;
    segment->is_dex = section != NULL && section->kind == DEX;
}

const char *sxt_size_section_of_letter(char letter)
{
    for (size_t i = 0; i < ELEMENTS(sections); i++)
        if (sections[i].letter == letter)
            return sections[i].name;
    return NULL;
}

bool sxt_size_is_bss(sxt_string section)
{
    const struct known *known = find(section);
    return known != NULL && known->kind == BSS;
}

bool sxt_size_is_known(sxt_string section)
{
    return find(section) != NULL;
}

unsigned sxt_size_section_order(sxt_string section)
{
    const struct known *known = find(section);
    return known == NULL ? ORDER_OF_OTHERS : known->order;
}
