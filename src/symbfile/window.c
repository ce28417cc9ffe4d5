/*
 * window.c: numbers strings by first use. Those that are used more than once go into the table, followed by those that
 * are used once, in a pad.
 */
#include "symbfile/window.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "symbfile/fields.h"

/* What the reference adds to the size of each string: a key, and a length of up to four bytes. */
#define ESTIMATED_EXTRA  5

#define REPLACEMENT      "\xef\xbf\xbd" /* U+FFFD */
#define REPLACEMENT_SIZE 3

static bool add_use(struct sxt_symbfile_window *window, uint32_t number);
static uint32_t add_clean(struct sxt_symbfile_window *window, sxt_string text);
static void place(struct sxt_symbfile_window *window, uint32_t number, bool repeated);

int sxt_symbfile_window_open(struct sxt_symbfile_window *window, sxt_error *error)
{
    *window = (struct sxt_symbfile_window){.empty_before = UINT32_MAX};
    sxt_buffer_init(&window->scratch, (SXT_SYMBFILE_STRING_MAX + 3) * REPLACEMENT_SIZE);
    return sxt_strings_init(&window->strings, 0, error);
}

void sxt_symbfile_window_free(struct sxt_symbfile_window *window)
{
    if (window->strings.views != NULL)
        sxt_strings_free(&window->strings);
    sxt_buffer_free(&window->scratch);
    free(window->uses);
    free(window->table);
    *window = (struct sxt_symbfile_window){.use_count = 0};
}

int sxt_symbfile_window_reset(struct sxt_symbfile_window *window, sxt_error *error)
{
    sxt_strings_free(&window->strings);
    memset(&window->recent, 0, sizeof window->recent);
    window->use_count = window->table_count = window->table_size = 0;
    window->empty_before = UINT32_MAX;
    window->estimate = 0;
    return sxt_strings_init(&window->strings, 0, error);
}

uint32_t sxt_symbfile_window_add(struct sxt_symbfile_window *window, sxt_string text, bool is_in_pad)
{
    uint32_t number = sxt_symbfile_recent_add(&window->recent, &window->strings, text);
    if (number == SXT_STRINGS_FULL)
        return SXT_SYMBFILE_WINDOW_FULL;
    while (window->use_count <= number)
        if (!add_use(window, (uint32_t)window->use_count))
            return SXT_SYMBFILE_WINDOW_FULL;
    struct sxt_symbfile_use *use = &window->uses[window->uses[number].form];
    if (number == 0 && use->count == 0) {
        window->empty_before = window->strings.count;
        window->estimate += ESTIMATED_EXTRA;
    }
    use->count++;
    use->is_in_pad |= is_in_pad;
    return window->uses[number].form;
}

/* Determines what is written for string NUMBER, which is new. */
static bool add_use(struct sxt_symbfile_window *window, uint32_t number)
{
    void *moved = sxt_array_grow(window->uses, &window->use_capacity, (size_t)number + 1, sizeof *window->uses);
    if (moved == NULL)
        return false;
    window->uses = moved;
    window->uses[number] = (struct sxt_symbfile_use){.form = number};
    window->use_count++;
    sxt_string text = sxt_strings_get(&window->strings, number);
    if (text.size > SXT_SYMBFILE_STRING_MAX || sxt_utf8_valid(text.data, text.size) != text.size) {
        uint32_t form = add_clean(window, text);
        window->uses[number].form = form;
        return form != SXT_SYMBFILE_WINDOW_FULL;
    }
    if (number != 0)
        window->estimate += ESTIMATED_EXTRA + text.size;
    return true;
}

/* The number of TEXT with U+FFFD for each bad byte, cut if it is too long. */
static uint32_t add_clean(struct sxt_symbfile_window *window, sxt_string text)
{
    struct sxt_buffer *clean = &window->scratch;
    sxt_buffer_clear(clean);
    /* The text does not get shorter, so a character that is cut here is after the end of what is kept. */
    size_t size = text.size < SXT_SYMBFILE_STRING_MAX + 3 ? text.size : SXT_SYMBFILE_STRING_MAX + 3;
    for (size_t at = 0; at < size;) {
        size_t valid = sxt_utf8_valid(text.data + at, size - at);
        sxt_buffer_append(clean, text.data + at, valid);
        at += valid;
        if (at < size)
            sxt_buffer_append(clean, REPLACEMENT, REPLACEMENT_SIZE);
        at++;
    }
    if (clean->failed)
        return SXT_SYMBFILE_WINDOW_FULL;
    size_t kept = clean->size;
    if (kept > SXT_SYMBFILE_STRING_MAX)
        for (kept = SXT_SYMBFILE_STRING_MAX; (clean->data[kept] & 0xc0) == 0x80;)
            kept--;
    uint32_t number = sxt_strings_add(&window->strings, (const char *)clean->data, kept);
    if (number == SXT_STRINGS_FULL)
        return SXT_SYMBFILE_WINDOW_FULL;
    return number < window->use_count || add_use(window, number) ? number : SXT_SYMBFILE_WINDOW_FULL;
}

bool sxt_symbfile_window_make_table(struct sxt_symbfile_window *window)
{
    void *moved = sxt_array_grow(window->table, &window->table_capacity, window->use_count, sizeof *window->table);
    if (moved == NULL && window->use_count > 0)
        return false;
    window->table = moved;
    for (unsigned pass = 0; pass < 2; pass++)
        for (uint32_t i = 1; i <= window->use_count; i++) {
            if (i == window->empty_before)
                place(window, 0, pass == 0);
            if (i < window->use_count)
                place(window, i, pass == 0);
        }
    return true;
}

/* Puts a string into the table if it is used more than once (REPEATED), or once and by a pad (not REPEATED). */
static void place(struct sxt_symbfile_window *window, uint32_t number, bool repeated)
{
    struct sxt_symbfile_use *use = &window->uses[number];
    if (repeated)
        use->reference = SXT_SYMBFILE_IN_PLACE;
    if (repeated ? use->count < 2 : use->count != 1 || !use->is_in_pad)
        return;
    size_t size = sxt_strings_get(&window->strings, number).size;
    use->reference = (uint32_t)window->table_count;
    window->table[window->table_count++] = number;
    window->table_size += 1 + sxt_protobuf_size(size) + size;
}
