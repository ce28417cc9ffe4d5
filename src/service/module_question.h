/* module_question.h: a module as Mozilla's API names it, and what /source/v1 and /asm/v1 are asked of one. Private. */
#ifndef SXT_SERVICE_MODULE_QUESTION_H
#define SXT_SERVICE_MODULE_QUESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "catalog/catalog.h"
#include "service/codes.h"
#include "service/request.h"

#define SXT_MODULE_IDS 3

/*
 * The ids of the binary that a debug id and a code id name; either may be empty. The code id of an ELF file is its
 * build ID; a build ID in place of the debug id is accepted too. Returns how many there are: 0 if neither is one.
 */
size_t sxt_module_ids(sxt_string debug_id, sxt_string code_id, struct sxt_catalog_id out[SXT_MODULE_IDS]);

/* {"debugName":…,"debugId":…,"name":…,"codeId":…,"moduleOffset":"0x…","file":…,"startAddress":"0x…","size":"0x…",
 *  "continueUntilFunctionEnd":…}. Strings that are not there have no data. */
struct sxt_module_question {
    sxt_string debug_id, code_id, file;
    uint64_t offset, start, size;
    bool has_offset, has_start, has_size, continues;
    struct sxt_arena arena;
};

/* Reads a request. *CODE says what is wrong with it. The caller frees OUT even after a failure. */
int sxt_module_question_read(struct sxt_module_question *out, const char *text, size_t size, enum sxt_code *code,
                             sxt_error *error);
void sxt_module_question_free(struct sxt_module_question *question);

/* How a handler answers a question of a module. ANSWER replies; BINARY is open. */
struct sxt_module_handler {
    bool (*is_complete)(const struct sxt_module_question *question); /* besides the ids */
    const char *lacks;                                               /* the message if it is not */
    void (*answer)(struct sxt_request *request, const struct sxt_module_question *question,
                   const struct sxt_catalog_id *ids, size_t id_count, struct sxt_catalog_binary *binary);
};

/* Reads the question of a request, finds the module, and lets HANDLER answer; replies if one of these fails. */
enum sxt_handled sxt_module_question_handle(struct sxt_request *request, const struct sxt_module_handler *handler);

#endif
