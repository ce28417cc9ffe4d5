/* section_changes.h: what changed by section, for section_changes.c and budget.c. */
#ifndef SXT_SIZE_SECTION_CHANGES_H
#define SXT_SIZE_SECTION_CHANGES_H

#include "base/strings.h"
#include "size/size.h"

struct sxt_size_changed_section {
    sxt_size_section_change view;
    double stated_before, stated_after; /* sizes of the section as the two files state them */
};

struct sxt_size_section_changes {
    struct sxt_size_changed_section *items;
    size_t count, capacity;
    sxt_size_section_change total; /* without what is in memory only */
    struct sxt_strings names;
};

/* NULL when neither side has a section of that name. */
const struct sxt_size_changed_section *sxt_size_find_changed_section(const struct sxt_size_section_changes *changes,
                                                                     sxt_string name);

#endif
