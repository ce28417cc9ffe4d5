/*
 * arsc.h: what the parts of a table of Android resources (resources.arsc) take.
 *
 *     every chunk: type 2, size of its header 2, size 4 (with the header and all below it)
 *
 *     table
 *       string pool                        values of resources
 *       package "org.a.app"
 *         string pools                     names of types, names of resources
 *         type specification "layout"      how many resources of the type there are
 *         type "layout" for "land-v21"     the resources for one configuration
 *         ...
 */
#ifndef SXT_SOURCE_ARSC_H
#define SXT_SOURCE_ARSC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>
#include <sextant/string.h>

#include "base/buffer.h"

struct sxt_arsc_reader {
    /*
     * Called for each chunk that has no others in it. PATH is "", the name of the package, or with a type
     * "org.a.app/layout"; NAME is what SuperSize calls it. PLACEHOLDERS is how many bytes of SIZE are entries for
     * resources that the configuration does not have. Strings are valid until the callback returns.
     */
    void (*chunk)(void *data, sxt_string path, sxt_string name, uint64_t size, uint64_t placeholders);
    /* Called for each type of resource: how many there are. */
    void (*type)(void *data, sxt_string name, uint64_t count);
    void *data;
};

bool sxt_arsc_is(const uint8_t *data, size_t size);

/* Fails before any callback if the table cannot be read whole. */
int sxt_arsc_read(const uint8_t *data, size_t size, const struct sxt_arsc_reader *reader, sxt_error *error);

/* Appends the name of a configuration: "fr-rCA-land-v21"; nothing for the default. SIZE is that of its bytes. */
void sxt_arsc_put_configuration(const uint8_t *bytes, size_t size, struct sxt_buffer *out);

#endif
