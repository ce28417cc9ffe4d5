/*
 * pak.h: the resources of a Chromium resource pack.
 *
 *     version 4: version 4, count 4, encoding 1
 *     version 5: version 4, encoding 1, 0 3, count 2, aliases 2
 *     an entry for each resource, and one that marks the end: id 2, offset 4
 *     version 5: an entry for each alias: id 2, number of the entry 2
 *     the resources, one after the other
 */
#ifndef SXT_SOURCE_PAK_H
#define SXT_SOURCE_PAK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>

struct sxt_pak_reader {
    /* Called for each resource. SIZE bytes at CONTENT, and ENTRY bytes for its entry. An alias has no content. */
    void (*resource)(void *data, uint16_t id, const uint8_t *content, uint64_t size, uint64_t entry);
    void *data;
};

bool sxt_pak_is(const uint8_t *data, size_t size);

/* Fails before any callback if the pack is damaged. */
int sxt_pak_read(const uint8_t *data, size_t size, const struct sxt_pak_reader *reader, sxt_error *error);

#endif
