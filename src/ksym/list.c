/* list.c: the symbols of a blob that is being made, and the readable forms of their names. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/utf8.h"
#include "demangle/demangle.h"
#include "ksym/ksym.h"

static bool put_forms(struct sxt_strings *strings, const struct sxt_strings *before,
                      const struct sxt_demangled *demangled, uint32_t *number_of);

int sxt_ksym_list_init(struct sxt_ksym_list *list, sxt_error *error)
{
    *list = (struct sxt_ksym_list){.count = 0};
    return sxt_strings_init(&list->strings, 0, error);
}

void sxt_ksym_list_free(struct sxt_ksym_list *list)
{
    sxt_strings_free(&list->strings);
    free(list->symbols);
    *list = (struct sxt_ksym_list){.strings = list->strings};
}

int sxt_ksym_list_add(struct sxt_ksym_list *list, uint64_t address, char type, sxt_string name, sxt_error *error)
{
    if (list->count >= UINT32_MAX)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "more than %u symbols", UINT32_MAX);
    struct sxt_ksym_input *symbols =
        sxt_array_grow(list->symbols, &list->capacity, list->count + 1, sizeof *list->symbols);
    if (symbols == NULL)
        return sxt_fail_memory(error, (list->count + 1) * sizeof *symbols);
    list->symbols = symbols;
    uint32_t number = sxt_strings_add(&list->strings, name.data, name.size);
    if (number == SXT_STRINGS_FULL)
        return sxt_fail_memory(error, name.size);
    symbols[list->count++] = (struct sxt_ksym_input){address, number, type};
    return SXT_OK;
}

enum sxt_ksym_fit sxt_ksym_name_fit(sxt_string name)
{
    if (name.size == 0)
        return SXT_KSYM_EMPTY;
    if (name.size > SXT_KSYM_RECORD_MOST)
        return SXT_KSYM_TOO_LONG;
    return sxt_utf8_valid(name.data, name.size) == name.size ? SXT_KSYM_FITS : SXT_KSYM_NOT_UTF8;
}

size_t sxt_ksym_bare_size(sxt_string name)
{
    if (name.size < 5 || name.data[name.size - 1] != ']')
        return name.size;
    size_t at = name.size - 1;
    while (at > 0 && name.data[at - 1] != ' ' && name.data[at - 1] != '[' && name.data[at - 1] != ']')
        at--;
    bool is_module = at >= 3 && at < name.size - 1 && name.data[at - 1] == '[' && name.data[at - 2] == ' ';
    return is_module ? at - 2 : name.size;
}

static sxt_string name_at(const void *names, size_t index)
{
    sxt_string name = sxt_strings_get(names, (uint32_t)index);
    return (sxt_string){name.data, sxt_ksym_bare_size(name)};
}

/* Two names may get the same readable form, so the table of strings is built again. */
int sxt_ksym_list_demangle(struct sxt_ksym_list *list, unsigned threads, sxt_error *error)
{
    struct sxt_demangled demangled;
    struct sxt_strings strings = {.count = 0};
    uint32_t *number_of = NULL;
    int status = sxt_demangle_all(&demangled, list->strings.count, name_at, &list->strings, NULL, threads, error);
    if (status == SXT_OK)
        status = sxt_strings_init(&strings, 0, error);
    if (status == SXT_OK) {
        number_of = malloc(list->strings.count * sizeof *number_of);
        if (number_of == NULL || !put_forms(&strings, &list->strings, &demangled, number_of))
            status = sxt_fail_memory(error, list->strings.bytes);
    }
    if (status == SXT_OK) {
        for (size_t i = 0; i < list->count; i++)
            list->symbols[i].name = number_of[list->symbols[i].name];
        struct sxt_strings before = list->strings;
        list->strings = strings;
        strings = before;
    }
    sxt_strings_free(&strings);
    free(number_of);
    sxt_demangled_free(&demangled);
    return status;
}

/* The readable form of NAME, with its " [module]"; NAME itself if it has none or if that does not fit. */
static sxt_string whole_form(sxt_string name, sxt_string readable, struct sxt_buffer *scratch)
{
    size_t bare_size = sxt_ksym_bare_size(name);
    if (readable.size == 0)
        return name;
    if (bare_size < name.size) {
        sxt_buffer_clear(scratch);
        sxt_buffer_append(scratch, readable.data, readable.size);
        sxt_buffer_append(scratch, name.data + bare_size, name.size - bare_size);
        readable = (sxt_string){(const char *)scratch->data, scratch->size};
    }
    return !scratch->failed && sxt_ksym_name_fit(readable) == SXT_KSYM_FITS ? readable : name;
}

static bool put_forms(struct sxt_strings *strings, const struct sxt_strings *before,
                      const struct sxt_demangled *demangled, uint32_t *number_of)
{
    struct sxt_buffer scratch;
    sxt_buffer_init(&scratch, SIZE_MAX);
    bool done = true;
    for (uint32_t i = 0; i < before->count && done; i++) {
        sxt_string form = whole_form(sxt_strings_get(before, i), demangled->forms[i], &scratch);
        number_of[i] = sxt_strings_add(strings, form.data, form.size);
        done = number_of[i] != SXT_STRINGS_FULL && !scratch.failed;
    }
    sxt_buffer_free(&scratch);
    return done;
}
