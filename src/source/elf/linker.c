/* linker.c: which linker made a file. */
#include <string.h>

#include "source/elf/elf.h"

/* Is WORD in the bytes? */
static bool contains(const struct sxt_elf_bytes *bytes, const char *word)
{
    return bytes->size > 0 && memmem(bytes->data, bytes->size, word, strlen(word)) != NULL;
}

bool sxt_elf_may_be_folded(struct sxt_elf *elf)
{
    struct sxt_elf_bytes comment;
    const struct sxt_elf_section *section = sxt_elf_section_named(elf, ".comment");
    if (sxt_elf_section_named(elf, ".note.gnu.gold-version") != NULL)
        return true;
    if (section == NULL || sxt_elf_section_bytes(elf, section, &comment, NULL) != SXT_OK)
        return false;
    return contains(&comment, "LLD ") || contains(&comment, "mold ");
}

bool sxt_elf_cannot_be_folded(struct sxt_elf *elf)
{
    struct sxt_elf_bytes comment;
    const struct sxt_elf_section *section = sxt_elf_section_named(elf, ".comment");
    return section != NULL && sxt_elf_section_bytes(elf, section, &comment, NULL) == SXT_OK && comment.size > 1 &&
           !sxt_elf_may_be_folded(elf);
}
