/* text_kernel.c: places what oopses say, and warns about text that another kernel wrote. */
#include "profile/text_kernel.h"

#include <string.h>

#include "base/error.h"
#include "base/hex.h"
#include "base/string.h"

#define FRAMES_MAX 64

static void warn(const struct sxt_modules *modules, const struct sxt_module *module, const sxt_error *problem)
{
    const sxt_modules_options *options = &modules->options;
    if (options->warning != NULL)
        options->warning(options->warning_data, sxt_module_path(module), problem);
}

/* At most 160 bytes of a name, for %.*s. */
static int shown(sxt_string name)
{
    return name.size < 160 ? (int)name.size : 160;
}

static void warn_of_size(const struct sxt_modules *modules, const struct sxt_module *module,
                         struct sxt_text_kernel_module *known, const struct sxt_text_match *match, uint64_t size)
{
    sxt_error problem;
    if (known->is_other_build)
        return;
    known->is_other_build = true;
    sxt_fail(&problem, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET,
             "%.*s has 0x%llx bytes in the text but 0x%llx here: lines that another build wrote get no names",
             shown(match->symbol), match->symbol.data, (unsigned long long)match->size, (unsigned long long)size);
    warn(modules, module, &problem);
}

static bool is_same_answer(const sxt_archive *archive, uint64_t one, uint64_t other)
{
    sxt_frame a[FRAMES_MAX], b[FRAMES_MAX];
    size_t count = sxt_archive_lookup(archive, one, a, FRAMES_MAX);
    if (count > FRAMES_MAX || count != sxt_archive_lookup(archive, other, b, FRAMES_MAX))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!sxt_string_equal(a[i].function, b[i].function) || !sxt_string_equal(a[i].file, b[i].file) ||
            a[i].line != b[i].line)
            return false;
    return true;
}

/* Several functions of one name and size: the answer is only given if it does not depend on which one is meant. */
static bool are_same(const struct sxt_modules *modules, const struct sxt_module *module,
                     struct sxt_text_kernel_module *known, const sxt_archive *archive,
                     const struct sxt_text_match *match, const struct sxt_kernel_place *places, size_t count)
{
    bool same = true;
    for (size_t i = 1; i < count && same; i++)
        same = is_same_answer(archive, places[0].address - match->is_return, places[i].address - match->is_return);
    if (same || known->has_twins)
        return same;
    sxt_error problem;
    known->has_twins = true;
    sxt_fail(&problem, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET,
             "several functions are named %.*s and have the same size: lines with such names are not answered",
             shown(match->symbol), match->symbol.data);
    warn(modules, module, &problem);
    return false;
}

bool sxt_text_kernel_place(struct sxt_text_kernel *kernel, const struct sxt_modules *modules,
                           const struct sxt_module *module, struct sxt_text_kernel_module *known,
                           const sxt_archive *archive, const struct sxt_text_match *match, sxt_string in_module,
                           uint64_t *out)
{
    struct sxt_kernel_place places[SXT_KERNEL_PLACES_MAX];
    size_t count = 0;
    if (known->symbols == NULL)
        known->symbols = sxt_kernel_symbols_read(archive);
    if (known->symbols == NULL)
        return false;
    enum sxt_kernel_fit fit = sxt_kernel_symbols_place(known->symbols, match, in_module, places, &count);
    if (fit == SXT_KERNEL_OTHER_SIZE)
        warn_of_size(modules, module, known, match, places[0].size);
    if (fit != SXT_KERNEL_FITS || !are_same(modules, module, known, archive, match, places, count))
        return false;
    *out = places[0].address;
    if (match->has_address && match->module.size == 0 && count == 1) {
        kernel->has_bias = true;
        kernel->bias = match->address - *out;
    }
    return true;
}

static uint64_t far_from(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* A file made from the running kernel's /proc/kallsyms has the addresses of that run already. */
static uint64_t kernel_bias(const struct sxt_text_kernel *kernel, const struct sxt_layout *layout, uint64_t address)
{
    if (kernel->has_bias)
        return kernel->bias;
    if (!kernel->has_offset)
        return 0;
    if (kernel->from == 0)
        return address >= layout->first && address < layout->end ? 0 : kernel->offset;
    uint64_t moved = kernel->from + kernel->offset;
    return far_from(layout->first, moved) < far_from(layout->first, kernel->from) ? 0 : kernel->offset;
}

bool sxt_text_kernel_place_address(const struct sxt_text_kernel *kernel, const struct sxt_layout *layout,
                                   uint64_t address, uint64_t *out)
{
    *out = address - kernel_bias(kernel, layout, address);
    return *out >= layout->first && *out < layout->end;
}

static const char *find_text(const char *line, size_t size, const char *text, size_t *left)
{
    const char *at = size > 0 ? memmem(line, size, text, strlen(text)) : NULL;
    if (at == NULL)
        return NULL;
    at += strlen(text);
    *left = size - (size_t)(at - line);
    return at;
}

static bool read_hexadecimal(const char *text, size_t size, uint64_t *value)
{
    size_t digits = 2;
    while (digits < size && sxt_hex_digit(text[digits]) >= 0)
        digits++;
    return digits > 2 && text[0] == '0' && text[1] == 'x' && sxt_hex_parse((sxt_string){text + 2, digits - 2}, value);
}

void sxt_text_kernel_note(struct sxt_text_kernel *kernel, const char *line, size_t size)
{
    size_t left = 0;
    if (find_text(line, size, "Linux version ", &left) != NULL)
        *kernel = (struct sxt_text_kernel){0};
    const char *text = find_text(line, size, "Kernel Offset: ", &left);
    if (text == NULL)
        return;
    struct sxt_text_kernel found = {.has_offset = true};
    if (!read_hexadecimal(text, left, &found.offset) && (left < 8 || memcmp(text, "disabled", 8) != 0))
        return;
    text = find_text(text, left, " from ", &left);
    if (text != NULL)
        read_hexadecimal(text, left, &found.from);
    *kernel = found;
}
