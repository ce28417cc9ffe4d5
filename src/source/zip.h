/*
 * zip.h: the entries of a zip file, and where each byte of the file belongs.
 *
 * minizip walks the central directory and inflates. What it does not report is read here, from places that it gives:
 * where the local header of an entry is, and how long it is. A file whose entries overlap is refused, so the sizes of
 * its parts add up to that of the file, and what it expands to is bounded.
 *
 *     local header, name, extra field │ stored bytes │ [data descriptor]     for each entry
 *     [APK signing block]
 *     central directory: a header, a name, an extra field and a comment for each entry
 *     end of the central directory
 */
#ifndef SXT_SOURCE_ZIP_H
#define SXT_SOURCE_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>
#include <sextant/string.h>

#include "base/arena.h"
#include "base/file.h"

enum sxt_zip_method { SXT_ZIP_STORED = 0, SXT_ZIP_DEFLATED = 8 };

struct sxt_zip_entry {
    sxt_string name;   /* any bytes, as they are in the file */
    uint64_t stored;   /* bytes in the file */
    uint64_t expanded; /* as the central directory says */
    uint64_t header;   /* offset of the local header */
    uint64_t data;     /* offset of the stored bytes */
    uint64_t end;      /* of the stored bytes and of the data descriptor */
    uint64_t central;  /* offset of its header in the central directory */
    uint32_t extra;    /* bytes of both extra fields */
    uint32_t crc;
    uint16_t method; /* one of sxt_zip_method, or another one */
    bool is_encrypted;
};

struct sxt_zip {
    const uint8_t *data; /* borrowed */
    size_t size;
    struct sxt_zip_entry *entries; /* in the order of the central directory */
    size_t count, capacity;
    uint64_t central;       /* where the central directory begins */
    uint64_t signing_block; /* bytes before it that are an APK signing block, with its padding */
    uint64_t extra;         /* bytes of all extra fields: those that align entries, for the most part */
    uint64_t stored;        /* bytes of all entries */
    struct sxt_arena arena;
    const struct sxt_minizip *minizip;
    void *reader; /* minizip's */
    uint64_t position;
};

/* Does it begin as a zip file does? */
bool sxt_zip_is(const uint8_t *data, size_t size);

/* Reads the directory of a file. *ZIP must not move while it is open; it is closed on failure. */
int sxt_zip_open(struct sxt_zip *zip, const uint8_t *data, size_t size, sxt_error *error);
void sxt_zip_close(struct sxt_zip *zip);

/* The first bytes of an entry, up to SIZE of them; 0 if they cannot be read. */
size_t sxt_zip_peek(struct sxt_zip *zip, const struct sxt_zip_entry *entry, uint8_t *out, size_t size);

/* The content of an entry, checked with its checksum: at most LIMIT bytes. The caller closes *OUT. */
int sxt_zip_expand(struct sxt_zip *zip, const struct sxt_zip_entry *entry, uint64_t limit, struct sxt_file *out,
                   sxt_error *error);

#endif
