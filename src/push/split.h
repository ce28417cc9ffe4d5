/* split.h: symbfiles into parts. Private to this room. */
#ifndef SXT_PUSH_SPLIT_H
#define SXT_PUSH_SPLIT_H

#include "push/push.h"

struct sxt_symbfile_reader;

/* Adds the records of one kind that are left in READER to the parts of BINARY. They begin another part. */
int sxt_push_split(struct sxt_push_binary *binary, enum sxt_push_kind kind, struct sxt_symbfile_reader *reader,
                   sxt_error *error);

#endif
