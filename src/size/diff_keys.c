/*
 * diff_keys.c: the keys by which symbols of two builds are taken for the same one. A key is never built: it is hashed,
 * and compared when the hashes are equal.
 *
 *     pass 1   container, letter of the section, full name without numbers, path, size without padding
 *     pass 2   the same without the size
 *     pass 3   container, letter, short name without numbers, path
 *     pass 4   container, letter, full name; only of distinctive names, and of string literals with the size
 */
#include "size/diff.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/strings.h"
#include "size/names.h"
#include "size/private.h"

static int number_containers(struct sxt_size_side sides[2], sxt_error *error);
static sxt_string key_text(const struct sxt_size_side *side, uint32_t index, unsigned pass,
                           struct sxt_size_key_memory *memory);
static sxt_string without_numbers(sxt_string name, struct sxt_size_key_memory *memory);
static sxt_string counted_as_plural(sxt_string name, struct sxt_size_key_memory *memory);

static sxt_string path_of(const struct sxt_size_info *size, uint32_t path)
{
    const struct sxt_size_path *paths = &size->paths[path];
    return paths->source.size > 0 ? paths->source : paths->object;
}

/* Two rounds of a multiplication that folds its upper half back in; words of 8 bytes, the last two overlapping. */
static uint64_t fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_bytes(const char *data, size_t size, uint64_t seed)
{
    uint64_t hash = seed ^ size;
    size_t at = 0;
    for (; size - at > 16; at += 16)
        hash =
            fold(sxt_load_u64le(data + at) ^ UINT64_C(0x9e3779b97f4a7c15) ^ seed, sxt_load_u64le(data + at + 8) ^ hash);
    uint64_t first = 0, last = 0;
    if (size >= 16) {
        first = sxt_load_u64le(data + size - 16);
        last = sxt_load_u64le(data + size - 8);
    } else if (size >= 8) {
        first = sxt_load_u64le(data);
        last = sxt_load_u64le(data + size - 8);
    } else {
        memcpy(&first, data, size);
    }
    hash = fold(first ^ UINT64_C(0xd6e8feb86659fd93) ^ seed, last ^ hash);
    return fold(hash ^ seed, UINT64_C(0xa0761d6478bd642f));
}

static uint64_t hash_number(uint64_t hash, uint64_t number, uint64_t seed)
{
    return fold(hash ^ UINT64_C(0xe7037ed1a0b428db), number ^ seed);
}

int sxt_size_sides_open(struct sxt_size_side sides[2], const struct sxt_size_info *before,
                        const struct sxt_size_info *after, sxt_error *error)
{
    /* The seed is random, so that a hostile file cannot choose keys that collide. */
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != sizeof seed)
        seed = UINT64_C(0x2545f4914f6cdd1d);
    sides[0] = (struct sxt_size_side){.size = before, .seed = seed};
    sides[1] = (struct sxt_size_side){.size = after, .seed = seed};
    for (int i = 0; i < 2; i++) {
        const struct sxt_size_info *size = sides[i].size;
        sides[i].containers = calloc(size->container_count + 1, sizeof *sides[i].containers);
        sides[i].path_hashes = malloc((size->path_count + 1) * sizeof *sides[i].path_hashes);
        if (sides[i].containers == NULL || sides[i].path_hashes == NULL) {
            sxt_size_sides_close(sides);
            return sxt_fail_memory(error, size->path_count * sizeof *sides[i].path_hashes);
        }
        for (size_t path = 0; path < size->path_count; path++) {
            sxt_string text = path_of(size, (uint32_t)path);
            sides[i].path_hashes[path] = hash_bytes(text.size == 0 ? "" : text.data, text.size, seed);
        }
    }
    int status = number_containers(sides, error);
    if (status != SXT_OK)
        sxt_size_sides_close(sides);
    return status;
}

/* By name; but a file with a single container may not store its name, so two such files always match. */
static int number_containers(struct sxt_size_side sides[2], sxt_error *error)
{
    if (sides[0].size->container_count == 1 && sides[1].size->container_count == 1)
        return SXT_OK;
    struct sxt_strings names;
    int status = sxt_strings_init(&names, 0, error);
    for (int i = 0; i < 2 && status == SXT_OK; i++)
        for (size_t j = 0; j < sides[i].size->container_count && status == SXT_OK; j++) {
            sxt_string name = sides[i].size->containers[j].name;
            sides[i].containers[j] = sxt_strings_add(&names, name.size == 0 ? "" : name.data, name.size);
            if (sides[i].containers[j] == SXT_STRINGS_FULL)
                status = sxt_fail_memory(error, name.size);
        }
    sxt_strings_free(&names);
    return status;
}

void sxt_size_sides_close(struct sxt_size_side sides[2])
{
    for (int i = 0; i < 2; i++) {
        free(sides[i].containers);
        free(sides[i].path_hashes);
        sides[i] = (struct sxt_size_side){.size = NULL};
    }
}

void sxt_size_key_memory_init(struct sxt_size_key_memory *memory)
{
    *memory = (struct sxt_size_key_memory){.failed = false};
    sxt_buffer_init(&memory->names, SIZE_MAX);
    sxt_buffer_init(&memory->copy, SIZE_MAX);
}

void sxt_size_key_memory_free(struct sxt_size_key_memory *memory)
{
    sxt_buffer_free(&memory->names);
    sxt_buffer_free(&memory->copy);
}

/* Whether pass 4 uses the name, because few symbols share it. */
static bool is_distinctive(const struct sxt_size_segment *segment, sxt_string full_name)
{
    if (sxt_size_starts(full_name, 0, "\""))
        return true;
    return !(sxt_size_is_string_literal(full_name) || sxt_size_starts(full_name, 0, "Overhead: ") ||
             sxt_size_starts(full_name, 0, "*") ||
             (segment->is_native && memchr(full_name.data, '.', full_name.size) != NULL));
}

/* Is the size without padding a part of the key? */
static bool has_size(unsigned pass, sxt_string text)
{
    return pass == 1 || (pass == 4 && sxt_size_starts(text, 0, "\""));
}

uint64_t sxt_size_key_hash(const struct sxt_size_side *side, uint32_t index, unsigned pass,
                           struct sxt_size_key_memory *memory)
{
    uint64_t seed = side->seed;
    const struct sxt_size_model_symbol *symbol = &side->size->symbols[index];
    const struct sxt_size_segment *segment = &side->size->segments[symbol->segment];
    sxt_string text = key_text(side, index, pass, memory);
    if (pass == 4 && !is_distinctive(segment, text))
        return 0;
    uint64_t hash = hash_bytes(text.data, text.size, seed);
    hash = hash_number(hash, (uint64_t)side->containers[segment->container] << 8 | (uint8_t)segment->letter, seed);
    if (pass < 4)
        hash = hash_number(hash, side->path_hashes[symbol->path], seed);
    if (has_size(pass, text))
        hash = hash_number(hash, (uint64_t)sxt_size_without_padding(symbol), seed);
    return hash == 0 ? 1 : hash;
}

bool sxt_size_key_equal(const struct sxt_size_side *side_a, uint32_t a, const struct sxt_size_side *side_b, uint32_t b,
                        unsigned pass, struct sxt_size_key_memory *memory)
{
    const struct sxt_size_model_symbol *symbol_a = &side_a->size->symbols[a], *symbol_b = &side_b->size->symbols[b];
    const struct sxt_size_segment *segment_a = &side_a->size->segments[symbol_a->segment];
    const struct sxt_size_segment *segment_b = &side_b->size->segments[symbol_b->segment];
    if (side_a->containers[segment_a->container] != side_b->containers[segment_b->container] ||
        segment_a->letter != segment_b->letter)
        return false;
    if (pass < 4 && (side_a->path_hashes[symbol_a->path] != side_b->path_hashes[symbol_b->path] ||
                     !sxt_string_equal(path_of(side_a->size, symbol_a->path), path_of(side_b->size, symbol_b->path))))
        return false;
    bool sizes_match = sxt_size_without_padding(symbol_a) == sxt_size_without_padding(symbol_b);
    if (pass == 1 && !sizes_match)
        return false;
    /* Equal stored names have equal derived names. */
    sxt_string text_a = sxt_size_full_name(symbol_a), text_b = sxt_size_full_name(symbol_b);
    if (pass == 4 || !sxt_string_equal(text_a, text_b)) {
        text_a = key_text(side_a, a, pass, &memory[0]);
        text_b = key_text(side_b, b, pass, &memory[1]);
        if (!sxt_string_equal(text_a, text_b))
            return false;
    }
    return sizes_match || !has_size(pass, text_a);
}

/* The name in the key. */
static sxt_string key_text(const struct sxt_size_side *side, uint32_t index, unsigned pass,
                           struct sxt_size_key_memory *memory)
{
    const struct sxt_size_model_symbol *symbol = &side->size->symbols[index];
    const struct sxt_size_segment *segment = &side->size->segments[symbol->segment];
    sxt_string text;
    if (pass == 3) {
        struct sxt_size_derived_names names;
        sxt_size_derive_names(segment, sxt_size_full_name(symbol), &memory->names, &names);
        text = names.name;
    } else {
        text = sxt_size_derive_full_name(segment, sxt_size_full_name(symbol), &memory->names);
    }
    memory->failed |= memory->names.failed;
    if (text.data == NULL)
        text.data = "";
    if (pass == 4)
        return text;
    text = without_numbers(text, memory);
    if (pass < 3)
        return text;
    size_t clone = sxt_size_find(text, 0, " [clone ");
    if (clone != SIZE_MAX)
        text.size = clone;
    return sxt_size_starts(text, 0, "*") ? counted_as_plural(text, memory) : text;
}

/* Without the numbers and dots at the end, and without every "$" that a number follows, and that number. */
static sxt_string without_numbers(sxt_string name, struct sxt_size_key_memory *memory)
{
    size_t end = name.size;
    while (end > 0 && (sxt_size_is_digit(name.data[end - 1]) || name.data[end - 1] == '.'))
        end--;
    sxt_string kept = {name.data, end};
    const char *dollar = memchr(name.data, '$', end);
    if (dollar == NULL)
        return kept;
    sxt_buffer_clear(&memory->copy);
    char *copy = (char *)sxt_buffer_reserve(&memory->copy, end + 1);
    if (copy == NULL) {
        memory->failed = true;
        return kept;
    }
    size_t from = (size_t)(dollar - name.data), to = from;
    memcpy(copy, name.data, from);
    while (from < end) {
        if (name.data[from] == '$' && from + 1 < name.size && sxt_size_is_digit(name.data[from + 1]))
            do
                from++;
            while (from < end && sxt_size_is_digit(name.data[from]));
        else
            copy[to++] = name.data[from++];
    }
    return (sxt_string){copy, to};
}

static bool is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* "** symbol gap 3 (end of section)" is one of the "** symbol gaps". */
static sxt_string counted_as_plural(sxt_string name, struct sxt_size_key_memory *memory)
{
    for (size_t at = 0; at < name.size; at++) {
        if (!is_space(name.data[at]))
            continue;
        size_t begin = at;
        while (at < name.size && is_space(name.data[at]))
            at++;
        size_t number = at;
        while (at < name.size && sxt_size_is_digit(name.data[at]))
            at++;
        bool is_end = at == name.size ||
                      (sxt_size_starts(name, at, " (") && at + 2 < name.size && name.data[name.size - 1] == ')');
        if (at > number && is_end) {
            /* The name may be in `copy` already, at its start. */
            uint8_t *copy = name.data == (const char *)memory->copy.data
                                ? memory->copy.data
                                : (sxt_buffer_clear(&memory->copy), sxt_buffer_reserve(&memory->copy, begin + 1));
            if (copy == NULL) {
                memory->failed = true;
                return name;
            }
            memmove(copy, name.data, begin);
            copy[begin] = 's';
            return (sxt_string){(const char *)copy, begin + 1};
        }
        at--;
    }
    return name;
}
