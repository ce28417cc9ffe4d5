/* find.h: the search for the files of a module, in the order that modules.h tells. */
#ifndef SXT_PROFILE_FIND_H
#define SXT_PROFILE_FIND_H

#include "profile/modules.h"

/* Fills archive, binary and debug of MODULE, whose name and build ID are known; leaves them NULL if nothing is found.
 */
void sxt_find_files(struct sxt_modules *modules, struct sxt_module *module);

#endif
