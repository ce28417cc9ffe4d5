/*
 * package.h: Android packages and other zip files, as SuperSize accounts for them.
 *
 *     container X.apk                        container "X.apk/libfoo.so (arm64-v8a)", for each native library
 *       .dex, .dex.method  classes, methods,   .text, .rodata, ... as of any ELF file; all of it counts, also
 *                          strings of code     debug information
 *       .arsc              resources.arsc
 *       .pak.*             resource packs
 *       .other             any other entry, and "Overhead: APK file": headers and directory of the zip file
 *
 * What is read counts by its expanded content, other entries by their stored bytes. The extra fields that align entries
 * and the signing block vary from build to build, and are in the metadata only. The metrics of the package have both
 * sizes of each entry that is read, so
 *
 *     file = symbols - (expanded - stored) + zipalign_padding + apk_signature_block_size
 */
#ifndef SXT_MEASURE_PACKAGE_H
#define SXT_MEASURE_PACKAGE_H

#include "measure/private.h"
#include "source/dex/dex.h"
#include "source/zip.h"

/* A resource of all packs of a kind. */
struct package_resource {
    uint16_t id;
    bool is_uncompressed;
    uint64_t size;
};

struct package {
    struct measure_maker *maker;
    const char *path;
    sxt_string name; /* of the container */
    struct sxt_zip zip;
    uint32_t container;
    uint32_t other;                /* the segment .other */
    uint64_t expanded;             /* bytes that were expanded so far */
    size_t binaries, tables, paks; /* entries that were read; dex files are tables too */
    size_t warnings;
    struct sxt_dex_tree dex;
    uint64_t dex_strings[SXT_DEX_STRING_KINDS];
    uint64_t dex_bytes, dex_literal_bytes;
    struct package_resource *resources[2]; /* not translated, and translated */
    size_t resource_count[2], resource_capacity[2];
    struct sxt_buffer text; /* for names */
    struct sxt_buffer path_text;
};

/* Adds the zip file of INPUT, with a container for it and for each library in it. */
int sxt_measure_add_package(struct measure_maker *maker, const struct measure_input *input, sxt_error *error);

/* A problem with an entry that costs only its details. After many of them, they are only counted. */
void sxt_measure_package_warn(struct package *package, const struct sxt_zip_entry *entry, const sxt_error *problem);

/* The name of an entry in a form that can be stored. It is valid until the next call. */
sxt_string sxt_measure_entry_name(struct package *package, const struct sxt_zip_entry *entry);

/* --- package_dex.c --- */

/* Reads a dex file into the tree. An entry that cannot be read is an ordinary one: UNSUPPORTED or FORMAT. */
int sxt_measure_add_dex(struct package *package, const struct sxt_zip_entry *entry, const struct sxt_file *file,
                        sxt_error *error);

/* Adds the symbols of all dex files. */
void sxt_measure_finish_dex(struct package *package);

/* --- package_resources.c --- */

int sxt_measure_add_arsc(struct package *package, const struct sxt_zip_entry *entry, const struct sxt_file *file,
                         sxt_error *error);

int sxt_measure_add_pak(struct package *package, const struct sxt_zip_entry *entry, const struct sxt_file *file,
                        sxt_error *error);

/* Adds the symbols of all resource packs. */
void sxt_measure_finish_paks(struct package *package);

#endif
