/*
 * reader.c: the freestanding reader of ksym blobs. The contract and the layout are in sextant/ksym.h; nothing else is
 * included, so that the two files can be copied into a kernel.
 *
 * sxt_ksym_open checks everything that could lead outside of the blob, so the other functions need no checks. The
 * exception is the marker of a token, which is checked when its name is read.
 */
#include <sextant/ksym.h>

#define RECORD_HEADER  3
#define MARKER         0xFF
#define PAGE           4096
#define BLOCK          64
#define STEP           32
#define FIRST_MOST     128  /* bytes that are copied of every name, however short it is */
#define NAMES_MEASURED 1024 /* to choose how many */
#define BUCKET_BITS    9    /* of SXT_KSYM_BUCKETS */
#define WINDOW_LEAST   16
#define WINDOW_MOST    1024
#define TRIED          16 /* one of so many symbols is searched for, to choose the window */
#define ALIASES        8  /* how many are found without another search */
#define PROBES         64 /* of the index of names; more would need equal hashes */
#define PADDING        8  /* of the index of addresses */
#define NO_TOKEN       0xFFFF
#define ODD_NAME       0xFFFE
#define LINE           64 /* of the cache */

#if defined(__GNUC__) && defined(__OPTIMIZE__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline /* unoptimised, every inlined call would take stack of its own */
#endif

#if defined(__GNUC__)
#define SEPARATE static __attribute__((noinline)) /* keeps what is seldom needed out of the registers of its caller */
#else
#define SEPARATE static
#endif

#if defined(__GNUC__)
#define PREFETCH(place) __builtin_prefetch(place)
/* Keeps compilers from replacing a copying loop by a call of memcpy, which a kernel may not have. */
#define KEEP_LOOP(variable) HIDE(variable)
/* Keeps compilers from knowing what a variable is, from which they would make a branch. */
#define HIDE(variable)    __asm__("" : "+r"(variable))
#define SELDOM(condition) __builtin_expect((condition) != 0, 0)
#else
#define PREFETCH(place)
#define KEEP_LOOP(variable)
#define HIDE(variable)
#define SELDOM(condition) (condition)
#endif

#if defined(__SSE2__)
/* Two registers of 8 bytes would take twice as long; a kernel that is compiled without SSE does not have this. */
struct unaligned16 {
    long long words __attribute__((vector_size(16)));
} __attribute__((packed, may_alias));
#endif

/* What is searched for: a name, or everything that begins with a name and " [". */
struct query {
    const unsigned char *name;
    size_t size;
    uint64_t last; /* the last 8 bytes of the name, or all of it, as a big-endian number */
    bool bracket;
};

/* Text that is being written to a caller's buffer. SIZE also counts what does not fit. */
struct text {
    char *bytes;
    size_t capacity, size;
};

/* --- numbers, at any alignment and on any host --- */

INLINE uint32_t load16(const unsigned char *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8;
}

INLINE uint32_t load32(const unsigned char *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

INLINE uint64_t load64(const unsigned char *from)
{
    return (uint64_t)from[0] | (uint64_t)from[1] << 8 | (uint64_t)from[2] << 16 | (uint64_t)from[3] << 24 |
           (uint64_t)from[4] << 32 | (uint64_t)from[5] << 40 | (uint64_t)from[6] << 48 | (uint64_t)from[7] << 56;
}

INLINE uint64_t load64_big(const unsigned char *from)
{
    return (uint64_t)from[0] << 56 | (uint64_t)from[1] << 48 | (uint64_t)from[2] << 40 | (uint64_t)from[3] << 32 |
           (uint64_t)from[4] << 24 | (uint64_t)from[5] << 16 | (uint64_t)from[6] << 8 | (uint64_t)from[7];
}

INLINE uint64_t address_at(const sxt_ksym *ksym, size_t index)
{
    return load64(ksym->addresses + 8 * index);
}

INLINE size_t ordered(const sxt_ksym *ksym, size_t position)
{
    return load32(ksym->order + 4 * position);
}

/* --- open --- */

static void clear(sxt_ksym *ksym)
{
    ksym->data = ksym->addresses = ksym->offsets = ksym->order = NULL;
    ksym->names = ksym->tokens = ksym->token_starts = NULL;
    ksym->size = ksym->count = ksym->names_size = ksym->tokens_size = ksym->token_count = ksym->sample_count = 0;
    ksym->text_first = 1;
    ksym->text_last = 0;
    ksym->layout = SXT_KSYM_SEED;
    ksym->slots = NULL;
    ksym->starts = NULL;
}

/* A part begins at the next multiple of 8 from *AT on, with the number of units that follow. Moves *AT after them. */
static bool read_part(const sxt_ksym *ksym, size_t *at, size_t unit, const unsigned char **part, size_t *count)
{
    size_t padding = (8 - *at % 8) % 8;
    if (ksym->size - *at < padding + 8)
        return false;
    *at += padding;
    uint64_t number = load64(ksym->data + *at);
    if (number > (ksym->size - *at - 8) / unit)
        return false;
    *at += 8;
    *part = ksym->data + *at;
    *count = (size_t)number;
    *at += *count * unit;
    return true;
}

static const char *read_parts(sxt_ksym *ksym, size_t at, size_t *offset)
{
    *offset = at;
    if (!read_part(ksym, &at, 16, &ksym->addresses, &ksym->count))
        return "there are fewer bytes than the symbols need";
    ksym->offsets = ksym->addresses + 8 * ksym->count;
    ksym->order = ksym->offsets + 4 * ksym->count;
    *offset = at;
    if (!read_part(ksym, &at, 1, &ksym->names, &ksym->names_size))
        return "there are fewer bytes than the names need";
    *offset = at;
    if (!read_part(ksym, &at, 1, &ksym->tokens, &ksym->tokens_size))
        return "there are fewer bytes than the tokens need";
    *offset = at;
    if (!read_part(ksym, &at, 4, &ksym->token_starts, &ksym->token_count))
        return "there are fewer bytes than the token index needs";
    ksym->size = at;
    return NULL;
}

static const char *check_symbols(const sxt_ksym *ksym, size_t *offset)
{
    uint64_t previous = 0;
    for (size_t i = 0; i < ksym->count; i++) {
        uint64_t address = address_at(ksym, i);
        size_t name = load32(ksym->offsets + 4 * i);
        *offset = (size_t)(ksym->addresses - ksym->data) + 8 * i;
        if (address < previous)
            return "addresses are not in ascending order";
        previous = address;
        *offset = (size_t)(ksym->offsets - ksym->data) + 4 * i;
        if (ksym->names_size < RECORD_HEADER || name > ksym->names_size - RECORD_HEADER)
            return "the offset of a name is beyond the names";
        *offset = (size_t)(ksym->names - ksym->data) + name;
        if (load16(ksym->names + name + 1) > ksym->names_size - RECORD_HEADER - name)
            return "a name goes beyond the end of the names";
        *offset = (size_t)(ksym->order - ksym->data) + 4 * i;
        if (ordered(ksym, i) >= ksym->count)
            return "the order of names has a symbol that does not exist";
    }
    return NULL;
}

static const char *check_tokens(const sxt_ksym *ksym, size_t *offset)
{
    for (size_t i = 0; i < ksym->token_count; i++) {
        const unsigned char *place = ksym->token_starts + 4 * i;
        size_t start = load32(place);
        size_t end = i + 1 < ksym->token_count ? load32(place + 4) : ksym->tokens_size;
        *offset = (size_t)(place - ksym->data);
        if (start > ksym->tokens_size || end < start)
            return "the token index is not in ascending order, or beyond the tokens";
        if (end - start > SXT_KSYM_TOKEN_SIZE_MOST)
            return "a token is longer than 65535 bytes";
    }
    return NULL;
}

static const char *read_layout(sxt_ksym *ksym, const unsigned char *data, size_t size, sxt_ksym_layout layout,
                               size_t *offset)
{
    clear(ksym);
    ksym->data = data;
    ksym->size = size;
    ksym->layout = layout;
    size_t at = 0;
    *offset = 0;
    if (layout == SXT_KSYM_0_6) {
        uint64_t whole = size < 16 ? 0 : load64(data);
        if (whole < 16 || whole >> 40 != 0 || load64(data + 8) > (whole - 16) / 16)
            return "the first two numbers are not those of a ksym blob";
        if (whole > size) {
            *offset = size;
            return "the end of the blob is missing";
        }
        ksym->size = (size_t)whole;
        at = 8;
    }
    const char *wrong = read_parts(ksym, at, offset);
    wrong = wrong != NULL ? wrong : check_symbols(ksym, offset);
    return wrong != NULL ? wrong : check_tokens(ksym, offset);
}

static void fill_buckets(sxt_ksym *ksym);
static void sample_names(sxt_ksym *ksym);
static void measure_names(sxt_ksym *ksym);

const char *sxt_ksym_open(sxt_ksym *ksym, const void *data, size_t size, uint64_t text_start, uint64_t text_end,
                          size_t *offset)
{
    /*
     * The seed layout is tried first: a few zeros make a valid seed blob look like an empty 0.6 blob. A 0.6 blob that
     * looks like a seed blob would need 16 bytes for each byte of its size.
     */
    size_t wrong_at = 0, newer_wrong_at = 0;
    const char *wrong = read_layout(ksym, data, size, SXT_KSYM_SEED, &wrong_at);
    if (wrong != NULL) {
        const char *newer_wrong = read_layout(ksym, data, size, SXT_KSYM_0_6, &newer_wrong_at);
        /* The layout that could be read further is probably the right one. */
        if (newer_wrong == NULL || newer_wrong_at > wrong_at) {
            wrong = newer_wrong;
            wrong_at = newer_wrong_at;
        }
    }
    if (wrong != NULL)
        clear(ksym);
    if (wrong != NULL && offset != NULL)
        *offset = wrong_at;
    sxt_ksym_set_text(ksym, text_start, text_end);
    fill_buckets(ksym);
    measure_names(ksym);
    sample_names(ksym);
    return wrong;
}

void sxt_ksym_set_text(sxt_ksym *ksym, uint64_t text_start, uint64_t text_end)
{
    ksym->text_first = 1;
    ksym->text_last = 0;
    if (text_start == 0 && text_end == 0 && ksym->count > 0) {
        ksym->text_first = address_at(ksym, 0);
        ksym->text_last = address_at(ksym, ksym->count - 1) | (PAGE - 1);
    } else if (text_start < text_end) {
        ksym->text_first = text_start;
        ksym->text_last = text_end - 1;
    }
}

/* --- names where they are stored --- */

INLINE const unsigned char *record_at(const sxt_ksym *ksym, size_t index)
{
    return ksym->names + load32(ksym->offsets + 4 * index);
}

/* The size of the marker of a token, as all writers choose it. */
INLINE size_t marker_size_of(size_t token)
{
    return 3 + (size_t)(token > 255);
}

/* The size of the marker that PAYLOAD begins with, and the id in it; 0 if the payload is a plain name. */
static size_t read_marker(const sxt_ksym *ksym, const unsigned char *payload, size_t size, size_t *token)
{
    if (size < 3 || payload[0] != MARKER)
        return 0;
    bool four_bytes = size > 3 && payload[3] == MARKER;
    size_t id = (size_t)payload[1] << 8 | payload[2];
    /* An id that ends in FF looks like an id of one byte before a name that begins with FF; no name does. */
    if (payload[2] == MARKER && !(four_bytes && payload[1] != 0 && id < ksym->token_count)) {
        *token = payload[1];
        return 3;
    }
    *token = id;
    return four_bytes ? 4 : 0;
}

/* Finds the parts of any name. */
static void find_odd_name(const sxt_ksym *ksym, const unsigned char *record, sxt_ksym_stored *stored)
{
    size_t size = load16(record + 1);
    stored->token = 0;
    stored->marker_size = read_marker(ksym, record + RECORD_HEADER, size, &stored->token);
    stored->head = stored->tail = record + RECORD_HEADER + stored->marker_size;
    stored->head_size = 0;
    stored->tail_size = size - stored->marker_size;
    /* A token that does not exist counts as empty. */
    if (stored->marker_size > 0 && stored->token < ksym->token_count) {
        const unsigned char *place = ksym->token_starts + 4 * stored->token;
        size_t start = load32(place);
        stored->head = ksym->tokens + start;
        stored->head_size = (stored->token + 1 < ksym->token_count ? load32(place + 4) : ksym->tokens_size) - start;
    }
}

/* Sets all parts but the size of the tail. The token, of which MASK is 0 if there is none, is not the last one. */
INLINE void set_stored(const sxt_ksym *ksym, const unsigned char *record, size_t token, size_t marker_size, size_t mask,
                       sxt_ksym_stored *stored)
{
    uint64_t bounds = load64(ksym->token_starts + 4 * token);
    stored->token = token;
    stored->marker_size = marker_size;
    stored->head = ksym->tokens + (bounds & UINT32_MAX);
    stored->head_size = ((bounds >> 32) - (bounds & UINT32_MAX)) & mask;
    stored->tail = record + RECORD_HEADER + marker_size;
}

/* Copies the members, not the whole: a compiler could call memcpy for that. */
INLINE void copy_stored(sxt_ksym_stored *to, const sxt_ksym_stored *from)
{
    to->head = from->head;
    to->tail = from->tail;
    to->head_size = from->head_size;
    to->tail_size = from->tail_size;
    to->token = from->token;
    to->marker_size = from->marker_size;
}

/*
 * Finds the parts of a name; false, with nothing found, for the few that find_odd_name must be asked for. Whether a
 * name has a token, and with a marker of which size, a processor cannot predict, so these are not branches. Eight bytes
 * can be loaded from any record, because numbers follow the names.
 */
INLINE bool find_usual_name(const sxt_ksym *ksym, const unsigned char *record, sxt_ksym_stored *stored)
{
    size_t size = load16(record + 1), high = record[4];
    size_t three = record[5] == MARKER, four = record[6] == MARKER;
    size_t mask = 0 - (size_t)(record[3] == MARKER); /* all bits if there is a marker */
    HIDE(mask);
    size_t token = (three != 0 ? high : high << 8 | record[5]) & mask;
    size_t marker_size = (4 - three) & mask;
    if (SELDOM((three == four) & mask) || SELDOM(size < marker_size) || SELDOM(token + 1 >= ksym->token_count))
        return false;
    set_stored(ksym, record, token, marker_size, mask, stored);
    stored->tail_size = size - marker_size;
    return true;
}

INLINE void find_name(const sxt_ksym *ksym, const unsigned char *record, sxt_ksym_stored *stored)
{
    if (!find_usual_name(ksym, record, stored)) {
        sxt_ksym_stored odd; /* so that the other one stays in registers */
        find_odd_name(ksym, record, &odd);
        copy_stored(stored, &odd);
    }
}

INLINE size_t stored_size(const sxt_ksym_stored *stored)
{
    return stored->head_size + stored->tail_size;
}

static unsigned char stored_byte(const sxt_ksym_stored *stored, size_t at)
{
    return at < stored->head_size ? stored->head[at] : stored->tail[at - stored->head_size];
}

INLINE bool ends_in_bracket(const sxt_ksym_stored *stored)
{
    if (stored->tail_size > 0)
        return stored->tail[stored->tail_size - 1] == ']';
    return stored->head_size > 0 && stored->head[stored->head_size - 1] == ']';
}

/* The size of the module at the end of a name, 0 for none. */
static size_t find_module(const sxt_ksym_stored *stored)
{
    size_t size = stored_size(stored);
    if (size < 4 || !ends_in_bracket(stored))
        return 0;
    size_t at = size - 1;
    unsigned char byte = 0;
    while (at > 0 && (byte = stored_byte(stored, at - 1)) != ' ' && byte != '[' && byte != ']')
        at--;
    bool opened = at > 1 && byte == '[' && stored_byte(stored, at - 2) == ' ';
    return opened ? size - 1 - at : 0;
}

static size_t bare_size(const sxt_ksym_stored *stored, size_t module_size)
{
    return stored_size(stored) - (module_size > 0 ? module_size + 3 : 0);
}

/* The least multiple of STEP, up to FIRST_MOST, that is enough for 3 of 4 of COUNT sizes. */
static size_t enough_for_most(const size_t *sizes, size_t count)
{
    size_t step = 0, fit = sizes[0];
    while (step + 1 < FIRST_MOST / STEP && fit < count - count / 4)
        fit += sizes[++step];
    return (step + 1) * STEP;
}

/* Chooses how many bytes are copied of every name, from the sizes of some names. */
static void measure_names(sxt_ksym *ksym)
{
    size_t heads[FIRST_MOST / STEP], tails[FIRST_MOST / STEP], count = 0;
    for (size_t i = 0; i < FIRST_MOST / STEP; i++) {
        heads[i] = tails[i] = 0;
        KEEP_LOOP(i);
    }
    for (size_t i = 0; i < ksym->count; i += ksym->count / NAMES_MEASURED + 1) {
        sxt_ksym_stored stored;
        find_name(ksym, record_at(ksym, i), &stored);
        size_t head = (stored.head_size + STEP - 1) / STEP, tail = (stored.tail_size + STEP - 1) / STEP;
        count++;
        if (head <= FIRST_MOST / STEP)
            heads[head - (head > 0)]++;
        if (tail <= FIRST_MOST / STEP)
            tails[tail - (tail > 0)]++;
    }
    ksym->first_of_head = enough_for_most(heads, count);
    ksym->first_of_tail = enough_for_most(tails, count);
    size_t most = ksym->first_of_head > ksym->first_of_tail ? ksym->first_of_head : ksym->first_of_tail;
    ksym->copy_room = most > BLOCK ? most : BLOCK;
}

/* --- text into a caller's buffer --- */

/* One load and one store: compilers join the bytes, but not those of a loop. */
INLINE void copy8(char *to, const unsigned char *from)
{
    uint64_t word = load64(from);
    to[0] = (char)(unsigned char)word;
    to[1] = (char)(unsigned char)(word >> 8);
    to[2] = (char)(unsigned char)(word >> 16);
    to[3] = (char)(unsigned char)(word >> 24);
    to[4] = (char)(unsigned char)(word >> 32);
    to[5] = (char)(unsigned char)(word >> 40);
    to[6] = (char)(unsigned char)(word >> 48);
    to[7] = (char)(unsigned char)(word >> 56);
}

/*
 * The last step may copy some bytes twice. That avoids a loop over the rest, whose length a processor cannot predict.
 */
static void copy(char *to, const unsigned char *from, size_t size)
{
    if (size >= 8) {
        for (size_t i = 0; i + 8 < size; i += 8) {
            copy8(to + i, from + i);
            KEEP_LOOP(i);
        }
        copy8(to + size - 8, from + size - 8);
    } else if (size >= 4) {
        for (unsigned i = 0; i < 4; i++) {
            to[i] = (char)from[i];
            to[size - 4 + i] = (char)from[size - 4 + i];
        }
    } else if (size > 0) {
        to[0] = (char)from[0];
        to[size / 2] = (char)from[size / 2];
        to[size - 1] = (char)from[size - 1];
    }
}

INLINE void copy16(char *to, const unsigned char *from)
{
#if defined(__SSE2__)
    *(struct unaligned16 *)(void *)to = *(const struct unaligned16 *)(const void *)from;
#else
    copy8(to, from);
    copy8(to + 8, from + 8);
#endif
}

INLINE void copy_block(char *to, const unsigned char *from)
{
    copy16(to, from);
    copy16(to + 16, from + 16);
    copy16(to + 32, from + 32);
    copy16(to + 48, from + 48);
}

/*
 * Copies FIRST bytes, whatever SIZE is, and then blocks up to the end. FIRST is enough for most names of the blob: the
 * processor predicts that, and begins the next search while this name is still being loaded.
 */
INLINE void copy_blocks(char *to, const unsigned char *from, size_t size, size_t first)
{
    size_t i = 0;
    do {
        copy16(to + i, from + i);
        copy16(to + i + 16, from + i + 16);
        i += STEP;
        KEEP_LOOP(i);
    } while (i < first);
    for (; i < size; i += BLOCK) {
        copy_block(to + i, from + i);
        KEEP_LOOP(i);
    }
}

/* Writes a stored name in blocks; false if there is not enough room around them. */
INLINE bool put_blocks(const sxt_ksym *ksym, const sxt_ksym_stored *stored, char *to, size_t capacity)
{
    const unsigned char *end = ksym->data + ksym->size;
    if (capacity < stored_size(stored) + ksym->copy_room ||
        (size_t)(end - stored->tail) < stored->tail_size + ksym->copy_room ||
        (size_t)(end - stored->head) < stored->head_size + ksym->copy_room)
        return false;
    copy_blocks(to, stored->head, stored->head_size, ksym->first_of_head);
    copy_blocks(to + stored->head_size, stored->tail, stored->tail_size, ksym->first_of_tail);
    to[stored_size(stored)] = '\0';
    return true;
}

static void put(struct text *text, const unsigned char *bytes, size_t size)
{
    size_t room = text->capacity > text->size ? text->capacity - text->size : 0;
    if (room > 0)
        copy(text->bytes + text->size, bytes, size < room ? size : room);
    text->size += size;
}

/* The bytes from BEGIN to END of a stored name. */
static void put_stored(struct text *text, const sxt_ksym_stored *stored, size_t begin, size_t end)
{
    size_t middle = stored->head_size < begin ? begin : stored->head_size < end ? stored->head_size : end;
    if (begin < middle)
        put(text, stored->head + begin, middle - begin);
    if (middle < end)
        put(text, stored->tail + (middle - stored->head_size), end - middle);
}

/* Where to cut BYTES that continue after SIZE: not within a UTF-8 character. */
static size_t cut_at(const char *bytes, size_t size)
{
    size_t back = 1;
    while (back < 3 && back < size && ((unsigned char)bytes[size - back] & 0xC0) == 0x80)
        back++;
    unsigned char byte = size > 0 ? (unsigned char)bytes[size - back] : 0;
    size_t need = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return need > back ? size - back : size;
}

/* Ends the text with a NUL, for which the last byte of the capacity is reserved. Returns the size of the whole text. */
static size_t finish(struct text *text)
{
    if (text->capacity > 0) {
        bool fits = text->size < text->capacity;
        text->bytes[fits ? text->size : cut_at(text->bytes, text->capacity - 1)] = '\0';
    }
    return text->size;
}

/* --- by address --- */

/*
 * The distance of an address from the first one, without the largest gap between two symbols: modules are far from the
 * kernel, and most buckets would be in between.
 */
INLINE uint64_t distance_to(const sxt_ksym *ksym, uint64_t address)
{
    uint64_t in_gap = address > ksym->gap_start ? address - ksym->gap_start : 0;
    return address - address_at(ksym, 0) - (in_gap < ksym->gap_size ? in_gap : ksym->gap_size);
}

static void find_gap(sxt_ksym *ksym)
{
    ksym->gap_start = ksym->gap_size = 0;
    for (size_t i = 1; i < ksym->count; i++) {
        uint64_t size = address_at(ksym, i) - address_at(ksym, i - 1);
        if (size <= ksym->gap_size)
            continue;
        ksym->gap_start = address_at(ksym, i - 1);
        ksym->gap_size = size;
    }
    ksym->gap_size -= ksym->gap_size > 0; /* so that different addresses have different distances */
}

/*
 * How many addresses are at or before ADDRESS: all those before FIRST, and some of the COUNT from FIRST on. Each step
 * loads three addresses at once, which takes little longer than one when memory is slow, and has no branch that depends
 * on them, because a processor could not predict it.
 */
static size_t count_among(const sxt_ksym *ksym, size_t first, size_t count, uint64_t address)
{
    while (count > 3) {
        size_t quarter = count / 4;
        size_t right = (size_t)(address_at(ksym, first + quarter) <= address) +
                       (size_t)(address_at(ksym, first + 2 * quarter) <= address) +
                       (size_t)(address_at(ksym, first + 3 * quarter) <= address);
        first += right * quarter;
        count -= 3 * quarter;
    }
    size_t until = first;
    for (size_t i = 0; i < count; i++)
        until += address_at(ksym, first + i) <= address;
    return until;
}

/*
 * Distances are shifted so that the largest one has its first bit set. The first bits are the number of the bucket, and
 * the next 32 say where in the bucket an address is: multiplied by the number of parts, they give the part in the upper
 * half, and where in the part it is in the lower half.
 */
INLINE const sxt_ksym_bucket *bucket_of(const sxt_ksym *ksym, uint64_t distance)
{
    return &ksym->buckets[(distance << ksym->shift) >> (64 - BUCKET_BITS)];
}

INLINE uint64_t place_in_parts(const sxt_ksym *ksym, const sxt_ksym_bucket *bucket, uint64_t distance)
{
    return ((distance << ksym->shift) << BUCKET_BITS >> 32) * bucket->part_count;
}

/* Where an address would be if the addresses of its part of a bucket were spread evenly. */
INLINE size_t guess_place(const sxt_ksym *ksym, const sxt_ksym_bucket *bucket, uint64_t distance)
{
    uint64_t place = place_in_parts(ksym, bucket, distance);
    const uint16_t *part = ksym->parts + bucket->first_part + (place >> 32);
    size_t low = part[0], count = (size_t)part[1] - low;
    return bucket->first + low + (size_t)((place & UINT32_MAX) * count >> 32);
}

/* The first of the symbols that are searched, so that the guess is in the middle. */
INLINE size_t window_start(const sxt_ksym *ksym, size_t guess)
{
    size_t half = ksym->window / 2, last = ksym->count - ksym->window;
    size_t start = guess - (guess < half ? guess : half);
    return start < last ? start : last;
}

static bool has_buckets(const sxt_ksym *ksym)
{
    return ksym->window > 0;
}

/* Gives each bucket as many parts as it has symbols, or a share of that if there is not enough ROOM for so many. */
static void choose_parts(sxt_ksym *ksym)
{
    size_t used = 0, room = SXT_KSYM_PARTS - 2 * SXT_KSYM_BUCKETS;
    for (size_t i = 0; i < SXT_KSYM_BUCKETS; i++) {
        sxt_ksym_bucket *bucket = &ksym->buckets[i];
        uint64_t count = bucket[1].first - bucket->first;
        bucket->part_count = (uint32_t)(1 + (ksym->count > room ? count * room / ksym->count : count));
        bucket->first_part = (uint32_t)used;
        used += bucket->part_count + 1u;
    }
}

/* Chooses the smallest window in which nearly all symbols are found. */
static void choose_window(sxt_ksym *ksym)
{
    for (size_t window = WINDOW_LEAST; window <= WINDOW_MOST && window <= ksym->count; window *= 4) {
        size_t tried = 0, found = 0;
        ksym->window = window;
        for (size_t i = 0; i < ksym->count; i += TRIED, tried++) {
            uint64_t distance = distance_to(ksym, address_at(ksym, i));
            size_t start = window_start(ksym, guess_place(ksym, bucket_of(ksym, distance), distance));
            found += start <= i + 1 && i + 1 <= start + window;
        }
        if (found >= tried - tried / 8)
            break;
    }
}

/* Stores how many symbols of a bucket are before each of its parts. */
static void fill_parts(sxt_ksym *ksym)
{
    choose_parts(ksym);
    for (size_t i = 0; i < SXT_KSYM_BUCKETS; i++) {
        const sxt_ksym_bucket *bucket = &ksym->buckets[i];
        uint16_t *parts = ksym->parts + bucket->first_part;
        size_t part = 0, count = bucket[1].first - bucket->first;
        for (size_t k = 0; k < count; k++) {
            uint64_t distance = distance_to(ksym, address_at(ksym, bucket->first + k));
            for (; part <= place_in_parts(ksym, bucket, distance) >> 32; part++)
                parts[part] = (uint16_t)(k < UINT16_MAX ? k : UINT16_MAX);
        }
        for (; part <= bucket->part_count; part++)
            parts[part] = (uint16_t)(count < UINT16_MAX ? count : UINT16_MAX);
    }
    choose_window(ksym);
}

static void fill_buckets(sxt_ksym *ksym)
{
    sxt_ksym_bucket *bucket = ksym->buckets, *end = bucket + SXT_KSYM_BUCKETS;
    ksym->shift = 64 - BUCKET_BITS;
    ksym->window = 0;
    find_gap(ksym);
    if (ksym->count < WINDOW_LEAST || ksym->count > UINT32_MAX)
        return;
    while (ksym->shift > 0 && distance_to(ksym, address_at(ksym, ksym->count - 1)) >> (64 - ksym->shift) != 0)
        ksym->shift--;
    for (size_t i = 0; i < ksym->count; i++)
        while (bucket <= bucket_of(ksym, distance_to(ksym, address_at(ksym, i))))
            bucket++->first = (uint32_t)i;
    while (bucket <= end)
        bucket++->first = (uint32_t)ksym->count;
    ksym->window = WINDOW_LEAST;
    fill_parts(ksym);
}

/* Loads what is often needed next: the record, and the lines next to those of its address and its offset. */
INLINE void prefetch_around(const sxt_ksym *ksym, size_t index)
{
    PREFETCH(record_at(ksym, index));
    PREFETCH(ksym->addresses + 8 * index - LINE);
    PREFETCH(ksym->addresses + 8 * index + LINE);
    PREFETCH(ksym->offsets + 4 * index - LINE / 2);
    PREFETCH(ksym->offsets + 4 * index + LINE / 2);
}

/* How many addresses are at or before ADDRESS: all those before START, and some of the window. */
INLINE size_t count_in_window(const sxt_ksym *ksym, size_t start, uint64_t address)
{
    for (size_t quarter = ksym->window / 4; quarter > 0; quarter /= 4) {
        const unsigned char *from = ksym->addresses + 8 * start;
        start += quarter * ((size_t)(load64(from + 8 * quarter - 8) <= address) +
                            (size_t)(load64(from + 16 * quarter - 8) <= address) +
                            (size_t)(load64(from + 24 * quarter - 8) <= address));
    }
    return start + (size_t)(address_at(ksym, start) <= address);
}

/*
 * How many addresses are at or before ADDRESS. The bucket gives the range of indices. Addresses inside a bucket are
 * spread about evenly, so the place is guessed, and a window around it is searched in a number of steps that depends on
 * the blob only: a processor predicts everything here, and begins the next search before this one is done. The few
 * addresses that are not in the window are searched for in the whole bucket.
 */
INLINE size_t count_until(const sxt_ksym *ksym, uint64_t address)
{
    if (!has_buckets(ksym))
        return count_among(ksym, 0, ksym->count, address);
    if (address < address_at(ksym, 0))
        return 0;
    if (address >= address_at(ksym, ksym->count - 1))
        return ksym->count;
    uint64_t distance = distance_to(ksym, address);
    const sxt_ksym_bucket *bucket = bucket_of(ksym, distance);
    size_t guess = guess_place(ksym, bucket, distance);
    size_t start = window_start(ksym, guess);
    prefetch_around(ksym, start + ksym->window / 2);
    size_t until = count_in_window(ksym, start, address);
    if (!SELDOM(address_at(ksym, until - 1) > address) && !SELDOM(address_at(ksym, until) <= address))
        return until;
    return count_among(ksym, bucket->first, bucket[1].first - bucket->first, address);
}

/* The first of the symbols that have the address of the one at INDEX, of which there are several. */
static size_t first_alias(const sxt_ksym *ksym, size_t index, uint64_t start)
{
    for (size_t steps = 0; steps < ALIASES; steps++, index--)
        if (index == 0 || address_at(ksym, index - 1) != start)
            return index;
    return start > 0 ? count_until(ksym, start - 1) : 0;
}

/* --- by address, with an index in the caller's memory --- */

/*
 * The index has one start for each different address, with everything that a lookup needs to know before it loads the
 * name: the first symbol there, and the parts of its name. Starts are found by their distances (distance_to) in cells,
 * all of the same width: for each, it is known how many starts are before it. PADDING starts before and after the
 * others save checks of the bounds.
 */
struct start {
    uint32_t distance;
    uint32_t index;
    uint32_t record; /* where it is in the names */
    uint16_t token;  /* or NO_TOKEN or ODD_NAME */
    uint16_t tail_size;
};

struct sxt_ksym_starts {
    const struct start *starts; /* the first one after the padding */
    const uint32_t *cells;      /* one more than there are */
    size_t count;
    unsigned shift; /* of a distance, to the number of its cell */
};

INLINE uint64_t start_address(const sxt_ksym *ksym, const struct start *start)
{
    uint64_t first = address_at(ksym, 0);
    return first + start->distance + (start->distance > ksym->gap_start - first ? ksym->gap_size : 0);
}

/* How many starts are at or before DISTANCE: all those before LOW, and some of those before HIGH. */
static size_t count_starts_among(const struct start *starts, size_t low, size_t high, uint64_t distance)
{
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (starts[middle].distance <= distance)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* How many starts are at or before DISTANCE, which is before the last one. The place is guessed as in count_until. */
INLINE size_t count_starts(const struct sxt_ksym_starts *index, uint64_t distance)
{
    size_t cell = (size_t)(distance >> index->shift);
    size_t low = index->cells[cell], high = index->cells[cell + 1];
    uint64_t in_cell = distance - ((uint64_t)cell << index->shift);
    const struct start *start = index->starts + low + (size_t)(in_cell * (high - low) >> index->shift) - PADDING;
    start += 4 * ((size_t)(start[3].distance <= distance) + (size_t)(start[7].distance <= distance) +
                  (size_t)(start[11].distance <= distance));
    start += (size_t)(start[0].distance <= distance) + (size_t)(start[1].distance <= distance) +
             (size_t)(start[2].distance <= distance);
    start += (size_t)(start[0].distance <= distance);
    if (!SELDOM(start[-1].distance > distance) && !SELDOM(start[0].distance <= distance))
        return (size_t)(start - index->starts);
    return count_starts_among(index->starts, low, high, distance);
}

/* Finds the parts of the name of a start; false, with nothing found, if it is odd. */
INLINE bool find_start_name(const sxt_ksym *ksym, const struct start *start, sxt_ksym_stored *stored)
{
    size_t mask = 0 - (size_t)(start->token != NO_TOKEN);
    HIDE(mask);
    size_t token = start->token & mask;
    if (SELDOM(token == ODD_NAME))
        return false;
    set_stored(ksym, ksym->names + start->record, token, marker_size_of(token) & mask, mask, stored);
    stored->tail_size = start->tail_size;
    return true;
}

/* --- the symbol of an address --- */

/* What an address belongs to. Of symbols with equal addresses it is the first one. */
struct found {
    uint64_t address, last; /* its first and its last address */
    size_t index;
    const unsigned char *record;
};

INLINE bool has_symbol(const sxt_ksym *ksym, uint64_t address)
{
    return address >= ksym->text_first && address <= ksym->text_last && ksym->count > 0 &&
           address >= address_at(ksym, 0);
}

/* Finds the symbol of an address that has one. */
INLINE void find_in_blob(const sxt_ksym *ksym, uint64_t address, struct found *found)
{
    size_t next = count_until(ksym, address), index = next - 1;
    found->address = address_at(ksym, index);
    found->last = ksym->text_last;
    if (next < ksym->count && address_at(ksym, next) <= found->last)
        found->last = address_at(ksym, next) - 1;
    if (index > 0 && address_at(ksym, index - 1) == found->address)
        index = first_alias(ksym, index, found->address);
    found->index = index;
    found->record = record_at(ksym, index);
}

/* The same with the index of addresses. */
INLINE const struct start *find_in_index(const sxt_ksym *ksym, uint64_t address, struct found *found)
{
    const struct sxt_ksym_starts *index = ksym->starts;
    size_t next = index->count;
    found->last = ksym->text_last;
    if (!SELDOM(address >= address_at(ksym, ksym->count - 1))) {
        next = count_starts(index, distance_to(ksym, address));
        uint64_t end = start_address(ksym, &index->starts[next]);
        found->last = end <= found->last ? end - 1 : found->last;
    }
    const struct start *start = &index->starts[next - 1];
    found->address = start_address(ksym, start);
    found->index = start->index;
    found->record = ksym->names + start->record;
    return start;
}

/* Describes a symbol without a module. */
INLINE void describe(const struct found *found, size_t name_size, sxt_ksym_symbol *symbol)
{
    uint64_t distance = found->last - found->address;
    symbol->address = found->address;
    symbol->size = distance + (distance != UINT64_MAX);
    symbol->offset = 0;
    symbol->index = found->index;
    symbol->type = (char)found->record[0];
    symbol->module_size = 0;
    symbol->name_size = name_size;
}

/* Describes any symbol, and finds the parts of its name. LAST is its last address. */
static void describe_any(const sxt_ksym *ksym, size_t index, uint64_t last, sxt_ksym_stored *stored,
                         sxt_ksym_symbol *symbol)
{
    struct found found = {address_at(ksym, index), last, index, record_at(ksym, index)};
    find_name(ksym, found.record, stored);
    describe(&found, stored_size(stored), symbol);
    symbol->module_size = find_module(stored);
    symbol->name_size = bare_size(stored, symbol->module_size);
}

static bool find_address(const sxt_ksym *ksym, uint64_t address, sxt_ksym_stored *stored, sxt_ksym_symbol *symbol)
{
    struct found found;
    if (!has_symbol(ksym, address))
        return false;
    find_in_blob(ksym, address, &found);
    describe_any(ksym, found.index, found.last, stored, symbol);
    symbol->offset = address - found.address;
    return true;
}

/* Describes any symbol, and writes its name into a buffer of any size. */
SEPARATE void answer_any(const sxt_ksym *ksym, size_t index, uint64_t last, char *name, size_t capacity,
                         sxt_ksym_symbol *symbol)
{
    struct text text = {name, capacity, 0};
    sxt_ksym_stored stored;
    describe_any(ksym, index, last, &stored, symbol);
    put_stored(&text, &stored, 0, symbol->name_size);
    finish(&text);
}

/* Takes the module from the end of a whole name that was written. */
SEPARATE void cut_module(char *name, sxt_ksym_symbol *symbol)
{
    const unsigned char *bytes = (const unsigned char *)name;
    sxt_ksym_stored written = {bytes, bytes, symbol->name_size, 0, 0, 0};
    symbol->module_size = find_module(&written);
    symbol->name_size = bare_size(&written, symbol->module_size);
    name[symbol->name_size] = '\0';
}

/* Describes a symbol, and writes its name if there is a buffer. The parts of the name are STORED if it is USUAL. */
INLINE void answer(const sxt_ksym *ksym, const struct found *found, bool usual, const sxt_ksym_stored *stored,
                   char *name, size_t capacity, sxt_ksym_symbol *symbol)
{
    if (!usual || (capacity == 0 ? ends_in_bracket(stored) : !put_blocks(ksym, stored, name, capacity))) {
        answer_any(ksym, found->index, found->last, name, capacity, symbol);
        return;
    }
    describe(found, stored_size(stored), symbol);
    if (SELDOM(ends_in_bracket(stored)))
        cut_module(name, symbol);
}

bool sxt_ksym_lookup(const sxt_ksym *ksym, uint64_t address, char *name, size_t capacity, sxt_ksym_symbol *symbol)
{
    struct found found;
    sxt_ksym_stored stored;
    if (!has_symbol(ksym, address)) {
        if (capacity > 0)
            name[0] = '\0';
        return false;
    }
    if (ksym->starts != NULL) {
        const struct start *start = find_in_index(ksym, address, &found);
        bool usual = find_start_name(ksym, start, &stored);
        answer(ksym, &found, usual, &stored, name, capacity, symbol);
    } else {
        find_in_blob(ksym, address, &found);
        bool usual = find_usual_name(ksym, found.record, &stored);
        answer(ksym, &found, usual, &stored, name, capacity, symbol);
    }
    symbol->offset = address - found.address;
    return true;
}

/* --- a line of a backtrace --- */

static size_t format_number(char *digits, uint64_t number)
{
    size_t size = 1;
    while (size < 16 && number >> 4 * size != 0)
        size++;
    for (size_t i = 0; i < size; i++) {
        unsigned digit = (unsigned)(number >> 4 * (size - 1 - i) & 15);
        digits[i] = (char)(digit < 10 ? '0' + digit : 'a' + digit - 10);
    }
    return size;
}

static void put_number(struct text *text, const char *before, size_t before_size, uint64_t number)
{
    char digits[16];
    put(text, (const unsigned char *)before, before_size);
    put(text, (const unsigned char *)digits, format_number(digits, number));
}

/* The part after the name. */
static void put_place(struct text *text, const sxt_ksym_stored *stored, const sxt_ksym_symbol *symbol, uint64_t address)
{
    put_number(text, "+0x", 3, address - symbol->address);
    put_number(text, "/0x", 3, symbol->size);
    put_stored(text, stored, symbol->name_size, stored_size(stored));
}

/* LOOKED_UP is the address whose symbol is printed, at most ADDRESS. */
static size_t format_symbol(const sxt_ksym *ksym, uint64_t address, uint64_t looked_up, char *buffer, size_t capacity)
{
    struct text text = {buffer, capacity, 0}, suffix = {buffer, 0, 0};
    sxt_ksym_stored stored;
    sxt_ksym_symbol symbol;
    if (!find_address(ksym, looked_up, &stored, &symbol)) {
        put_number(&text, "0x", 2, address);
        return finish(&text);
    }
    put_place(&suffix, &stored, &symbol, address);
    size_t whole = symbol.name_size + suffix.size;
    size_t room = capacity > suffix.size ? capacity - 1 - suffix.size : 0;
    put_stored(&text, &stored, 0, symbol.name_size);
    if (room > 0 && room < symbol.name_size)
        text.size = cut_at(buffer, room);
    put_place(&text, &stored, &symbol, address);
    finish(&text);
    return whole;
}

size_t sxt_ksym_format(const sxt_ksym *ksym, uint64_t address, char *buffer, size_t capacity)
{
    return format_symbol(ksym, address, address, buffer, capacity);
}

size_t sxt_ksym_format_return(const sxt_ksym *ksym, uint64_t address, char *buffer, size_t capacity)
{
    return format_symbol(ksym, address, address > 0 ? address - 1 : 0, buffer, capacity);
}

/* --- by name --- */

/*
 * Names are compared 8 bytes at a time, as big-endian numbers with zeros after the end. In the blob, names and tokens
 * are each followed by a number of 8 bytes, so 8 bytes can be loaded from any place in them. Nothing may be read after
 * the end of the name that a caller searches for, so its last bytes are loaded beforehand.
 */
INLINE uint64_t keep_bytes(uint64_t key, size_t count)
{
    size_t half = 4 * (count < 8 ? count : 8);
    return key & ~(UINT64_MAX >> half >> half);
}

INLINE uint64_t stored_key(const sxt_ksym_stored *stored, size_t at)
{
    size_t in_head = at < stored->head_size ? at : stored->head_size;
    size_t in_tail = at - in_head < stored->tail_size ? at - in_head : stored->tail_size;
    size_t head_left = stored->head_size - in_head;
    size_t half = 4 * (head_left < 8 ? head_left : 8);
    uint64_t tail = keep_bytes(load64_big(stored->tail + in_tail), stored->tail_size - in_tail);
    return keep_bytes(load64_big(stored->head + in_head), head_left) | tail >> half >> half;
}

static void set_query(struct query *query, const char *name, size_t size, bool bracket)
{
    query->name = (const unsigned char *)name;
    query->size = size;
    query->last = 0;
    if (size >= 8)
        query->last = load64_big(query->name + size - 8);
    else
        for (size_t i = 0; i < size; i++)
            query->last = query->last << 8 | query->name[i];
    query->bracket = bracket;
}

INLINE size_t query_size(const struct query *query)
{
    return query->size + (query->bracket ? 2 : 0);
}

INLINE uint64_t query_key(const struct query *query, size_t at)
{
    size_t left = at < query->size ? query->size - at : 0;
    if (query->bracket || query->size < 8) {
        if (left >= 8)
            return load64_big(query->name + at);
        uint64_t key = left > 0 ? query->last << (64 - 8 * left) : 0;
        uint64_t bracket = query->bracket ? (uint64_t)0x205B << 48 : 0; /* " [" */
        size_t done = at > query->size ? at - query->size : 0;
        return key | (done < 2 ? bracket << 8 * done : 0) >> 8 * left;
    }
    size_t half = 4 * (left < 8 ? 8 - left : 0);
    return load64_big(query->name + (left < 8 ? query->size - 8 : at)) << half << half;
}

/* How many bytes are equal before the first one that differs. At least one must differ. */
INLINE size_t equal_bytes(uint64_t difference)
{
#if defined(__x86_64__) || defined(__aarch64__) /* others may call a function */
    return (size_t)__builtin_clzll(difference) / 8;
#else
    size_t four = (size_t)(difference >> 32 == 0) * 4;
    difference <<= 8 * four;
    size_t two = (size_t)(difference >> 48 == 0) * 2;
    difference <<= 8 * two;
    return four + two + (difference >> 56 == 0);
#endif
}

/* The first of equal bytes from AT to LIMIT, in steps of 8, after which a step differs or does not fit. */
INLINE size_t skip_equal(const unsigned char *a, const unsigned char *b, size_t at, size_t limit)
{
    while (limit - at >= 8 && load64(a + at) == load64(b + at))
        at += 8;
    return at;
}

/* The same for a name and a query, of which AT bytes are equal. Only the 8 bytes across the head's end are left. */
INLINE size_t skip_common(const sxt_ksym_stored *stored, const struct query *query, size_t at)
{
    size_t head = stored->head_size;
    if (at < head && at < query->size)
        return skip_equal(stored->head, query->name, at, head < query->size ? head : query->size);
    if (at < head || at >= query->size || at - head >= stored->tail_size)
        return at;
    size_t left = query->size - head;
    return head +
           skip_equal(stored->tail, query->name + head, at - head, stored->tail_size < left ? stored->tail_size : left);
}

/* Does a name sort before the query? *COMMON is the number of bytes known to be equal, and is updated. */
INLINE bool is_before(const sxt_ksym_stored *stored, const struct query *query, size_t *common)
{
    size_t size = stored_size(stored), wanted_size = query_size(query);
    size_t end = size < wanted_size ? size : wanted_size;
    size_t at = *common;
    uint64_t key = stored_key(stored, at), wanted = query_key(query, at);
    while (key == wanted && at + 8 <= end) {
        at = skip_common(stored, query, at + 8);
        key = stored_key(stored, at);
        wanted = query_key(query, at);
    }
    bool before = key != wanted ? key < wanted : size < wanted_size;
    size_t equal = key != wanted ? at + equal_bytes(key ^ wanted) : end;
    *common = equal < end ? equal : end;
    return before;
}

/* Is a name the query, if so many bytes are in common? */
INLINE bool is_equal(const sxt_ksym_stored *stored, const struct query *query, size_t common)
{
    return !query->bracket && common == query->size && common == stored_size(stored);
}

/*
 * Some names at equal distances in the order of names, the samples, are in a tree, so that a search starts between two
 * of them. All samples of a node begin with the same `depth` bytes, and its keys are the different next 8 bytes. A key
 * that several samples have leads to another node. A search compares only the keys, and looks at one of the samples in
 * the end: if that does not begin like the query, it says for which node the bytes that were skipped differ.
 */

INLINE void ordered_name(const sxt_ksym *ksym, size_t position, sxt_ksym_stored *stored)
{
    find_name(ksym, record_at(ksym, ordered(ksym, position)), stored);
}

INLINE void sample_at(const sxt_ksym *ksym, size_t sample, sxt_ksym_stored *stored)
{
    ordered_name(ksym, sample * ksym->sample_distance, stored);
}

/* How many bytes two names have in common. */
static size_t common_size(const sxt_ksym_stored *a, const sxt_ksym_stored *b)
{
    size_t a_size = stored_size(a), b_size = stored_size(b), end = a_size < b_size ? a_size : b_size;
    for (size_t at = 0; at < end; at += 8) {
        uint64_t difference = stored_key(a, at) ^ stored_key(b, at);
        if (difference != 0) {
            at += equal_bytes(difference);
            return at < end ? at : end;
        }
    }
    return end;
}

/*
 * Adds a node for the samples from FIRST to END, which are known to begin with the same KNOWN bytes. Returns its
 * number, 0 if there is no room, or if they are all equal.
 */
static size_t add_node(sxt_ksym *ksym, size_t first, size_t end, size_t known)
{
    sxt_ksym_stored a, b;
    sample_at(ksym, first, &a);
    sample_at(ksym, end - 1, &b);
    size_t common = common_size(&a, &b);
    if (ksym->node_count == SXT_KSYM_NODES || (stored_size(&a) == common && stored_size(&b) == common))
        return 0;
    sxt_ksym_node *node = &ksym->nodes[ksym->node_count];
    node->known = (uint32_t)known;
    node->depth = (uint32_t)(common > known ? common : known);
    node->skipped = keep_bytes(stored_key(&a, known), node->depth - known);
    node->first_key = node->key_count = 0;
    node->first_sample = (uint16_t)first;
    node->sample_end = (uint16_t)end;
    return ksym->node_count++;
}

/* Adds the keys of a node, and nodes for those that several samples have. */
static void add_keys(sxt_ksym *ksym, sxt_ksym_node *node)
{
    size_t end = node->sample_end;
    if (end - node->first_sample > SXT_KSYM_KEYS - ksym->key_count)
        return;
    node->first_key = (uint16_t)ksym->key_count;
    for (size_t at = node->first_sample, next; at < end; at = next) {
        size_t key = ksym->key_count++;
        sxt_ksym_stored stored;
        sample_at(ksym, at, &stored);
        ksym->keys[key] = stored_key(&stored, node->depth);
        ksym->key_samples[key] = (uint16_t)at;
        ksym->key_nodes[key] = 0;
        for (next = at + 1; next < end; next++) {
            sample_at(ksym, next, &stored);
            if (stored_key(&stored, node->depth) != ksym->keys[key])
                break;
        }
        /* A node without a smaller part of the samples would go on forever: names may differ in zeros at their end. */
        if (next - at > 1 && next - at < end - node->first_sample)
            ksym->key_nodes[key] = (uint16_t)add_node(ksym, at, next, node->depth + 8);
    }
    node->key_count = (uint16_t)(ksym->key_count - node->first_key);
}

static void sample_names(sxt_ksym *ksym)
{
    ksym->node_count = ksym->key_count = 0;
    ksym->sample_distance = ksym->count / SXT_KSYM_SAMPLES + 1;
    ksym->sample_count = (ksym->count + ksym->sample_distance - 1) / ksym->sample_distance;
    if (ksym->sample_count > 0)
        add_node(ksym, 0, ksym->sample_count, 0);
    for (size_t i = 0; i < ksym->node_count; i++)
        add_keys(ksym, &ksym->nodes[i]);
}

static size_t keys_before(const uint64_t *keys, size_t count, uint64_t key)
{
    size_t first = 0;
    while (count > 0) {
        size_t half = count / 2;
        first += (count - half) & (0 - (size_t)(keys[first + half] < key));
        count = half;
    }
    return first;
}

/*
 * What a search in the tree found: the samples before FIRST are before the query, and those from END on are not. The
 * others are unknown. The names next to them have as many bytes in common with the query as said.
 */
struct place {
    const sxt_ksym_node *node; /* where the search ended */
    size_t first, end;
    size_t common_low, common_high;
    bool unsure; /* bytes were skipped, or the key of FIRST is that of the query */
};

/* Finds the key of the query among those of a node. Returns the child to go on in, or NULL. */
INLINE const sxt_ksym_node *search_node(const sxt_ksym *ksym, const sxt_ksym_node *node, uint64_t wanted,
                                        struct place *place)
{
    size_t first = node->first_key, end = first + node->key_count;
    size_t key = first + keys_before(ksym->keys + first, end - first, wanted);
    bool equal = key < end && ksym->keys[key] == wanted;
    size_t next = key + equal;
    if (key > first)
        place->common_low = node->depth + equal_bytes(ksym->keys[key - 1] ^ wanted);
    if (next < end)
        place->common_high = node->depth + equal_bytes(ksym->keys[next] ^ wanted);
    place->node = node;
    place->first = key < end ? ksym->key_samples[key] : node->sample_end;
    place->end = next < end ? ksym->key_samples[next] : node->sample_end;
    if (first == end)
        place->first = node->first_sample; /* there was no room for its keys */
    place->unsure = place->unsure || equal || first == end;
    return equal && ksym->key_nodes[key] != 0 ? &ksym->nodes[ksym->key_nodes[key]] : NULL;
}

/* Does not go into nodes of which more than LIMIT bytes are equal: the query is before or AFTER all their samples. */
INLINE void descend(const sxt_ksym *ksym, const struct query *query, size_t limit, bool after, struct place *place)
{
    place->node = NULL;
    place->first = place->common_low = place->common_high = 0;
    place->end = ksym->sample_count;
    place->unsure = false;
    const sxt_ksym_node *node = ksym->nodes;
    bool skipped = false;
    while (node != NULL) {
        uint64_t key = keep_bytes(query_key(query, node->known), node->depth - node->known);
        if (node->depth > limit || key != node->skipped) {
            bool is_after = node->depth > limit ? after : key > node->skipped;
            place->first = place->end = is_after ? node->sample_end : node->first_sample;
            place->unsure = skipped;
            return;
        }
        skipped = skipped || node->depth - node->known > 8;
        place->unsure = skipped;
        node = search_node(ksym, node, query_key(query, node->depth), place);
    }
}

/* The part of the order of names in which the first one that is not before the query is. */
struct range {
    size_t low, high;
    size_t common_low, common_high; /* how many bytes the names before and after it have in common with the query */
};

INLINE void find_range(const sxt_ksym *ksym, const struct query *query, struct range *range)
{
    struct place place;
    range->low = range->common_low = range->common_high = 0;
    range->high = ksym->count;
    if (ksym->node_count == 0)
        return;
    descend(ksym, query, SIZE_MAX, false, &place);
    if (place.unsure) {
        size_t sample = place.first < place.node->sample_end ? place.first : place.node->sample_end - 1u, common = 0;
        sxt_ksym_stored stored;
        sample_at(ksym, sample, &stored);
        bool before = is_before(&stored, query, &common);
        if (common < place.node->depth) {
            descend(ksym, query, common, before, &place);
        } else if (!before) {
            place.end = sample;
            place.common_high = common;
        } else if (sample == place.first && place.first < place.end) {
            place.first++;
            place.common_low = common;
        }
    }
    if (place.first > 0)
        range->low = (place.first - 1) * ksym->sample_distance + 1;
    if (place.end < ksym->sample_count)
        range->high = place.end * ksym->sample_distance;
    range->common_low = place.common_low;
    range->common_high = place.common_high;
}

INLINE void prefetch_name(const sxt_ksym *ksym, size_t position)
{
    PREFETCH(record_at(ksym, ordered(ksym, position)));
}

/*
 * The first position in the order of names that is not before the query. *EQUAL becomes true if the name there is the
 * query; otherwise it may still be. Names between two others have at least the bytes in common that both of those have,
 * and these are not compared again. The names of both possible next steps are prefetched before this step is decided.
 */
static size_t first_not_before(const sxt_ksym *ksym, const struct query *query, bool *equal)
{
    struct range range;
    find_range(ksym, query, &range);
    *equal = false;
    while (range.low < range.high) {
        size_t middle = range.low + (range.high - range.low) / 2;
        prefetch_name(ksym, range.low + (middle - range.low) / 2);
        prefetch_name(ksym, middle + (range.high - middle) / 2);
        size_t common = range.common_low < range.common_high ? range.common_low : range.common_high;
        sxt_ksym_stored stored;
        ordered_name(ksym, middle, &stored);
        if (is_before(&stored, query, &common)) {
            range.low = middle + 1;
            range.common_low = common;
        } else {
            range.high = middle;
            range.common_high = common;
            *equal = is_equal(&stored, query, common);
        }
    }
    return range.low;
}

/* --- an index of names in the caller's memory --- */

/*
 * A table of numbers: 0, or a position in the order of names plus 1 in the lower bits, and bits of the hash of the name
 * above them. A name that is not at the place of its hash is in one of the places after it.
 */

INLINE uint64_t mix(uint64_t hash, uint64_t key)
{
    hash = (hash ^ key) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint64_t hash_stored(const sxt_ksym_stored *stored)
{
    size_t size = stored_size(stored);
    uint64_t hash = size;
    for (size_t at = 0; at < size; at += 8)
        hash = mix(hash, stored_key(stored, at));
    return mix(hash, 0);
}

static uint64_t hash_query(const struct query *query)
{
    uint64_t hash = query->size;
    for (size_t at = 0; at < query->size; at += 8)
        hash = mix(hash, query_key(query, at));
    return mix(hash, 0);
}

INLINE unsigned bits_of(size_t number)
{
    unsigned bits = 0;
    while (bits < 32 && number >> bits != 0)
        bits++;
    return bits;
}

/* A table for COUNT names has 2^slot_bits slots, of which at most four fifths are used. */
static unsigned slot_bits(size_t count)
{
    return bits_of(count + count / 4);
}

static size_t slots_size(size_t count)
{
    return (size_t)4 << slot_bits(count);
}

/* With room to begin at a multiple of LINE. */
static size_t starts_size(size_t count)
{
    return 2 * LINE + (count + 2 * PADDING) * sizeof(struct start) + (count / 2 + 2) * sizeof(uint32_t);
}

size_t sxt_ksym_index_size(const sxt_ksym *ksym)
{
    if (ksym->count == 0 || ksym->count > UINT32_MAX / 64)
        return 0;
    return slots_size(ksym->count) + starts_size(ksym->count);
}

static void add_slot(const sxt_ksym *ksym, uint32_t *slots, size_t position, uint64_t hash)
{
    size_t mask = ((size_t)1 << ksym->slot_bits) - 1, at = (size_t)hash & mask;
    for (size_t i = 0; i < PROBES; i++, at = (at + 1) & mask) {
        if (slots[at] == 0) {
            slots[at] = (uint32_t)(hash >> 32 << ksym->position_bits | (position + 1));
            return;
        }
    }
}

static void fill_slots(const sxt_ksym *ksym, uint32_t *slots)
{
    sxt_ksym_stored previous;
    for (size_t i = 0; i < (size_t)1 << ksym->slot_bits; i++)
        slots[i] = 0;
    for (size_t i = 0; i < ksym->count; i++) {
        sxt_ksym_stored stored;
        ordered_name(ksym, i, &stored);
        size_t size = stored_size(&stored);
        /* Only the first of equal names is in the table. */
        if (i == 0 || size != stored_size(&previous) || common_size(&stored, &previous) != size)
            add_slot(ksym, slots, i, hash_stored(&stored));
        copy_stored(&previous, &stored);
    }
}

static void set_start(const sxt_ksym *ksym, size_t index, struct start *start)
{
    sxt_ksym_stored stored;
    bool usual = find_usual_name(ksym, record_at(ksym, index), &stored);
    start->distance = (uint32_t)distance_to(ksym, address_at(ksym, index));
    start->index = (uint32_t)index;
    start->record = load32(ksym->offsets + 4 * index);
    start->token = ODD_NAME;
    start->tail_size = 0;
    if (usual && stored.marker_size == 0)
        start->token = NO_TOKEN;
    else if (usual && stored.token < ODD_NAME && stored.marker_size == marker_size_of(stored.token))
        start->token = (uint16_t)stored.token;
    if (start->token != ODD_NAME)
        start->tail_size = (uint16_t)stored.tail_size;
}

/* Fills the starts, with the padding around them, and returns how many there are. */
static size_t fill_starts(const sxt_ksym *ksym, struct start *starts)
{
    size_t count = 0;
    for (size_t i = 0; i < PADDING; i++) {
        set_start(ksym, 0, &starts[i]);
        KEEP_LOOP(i);
    }
    starts += PADDING;
    for (size_t i = 0; i < ksym->count; i++)
        if (i == 0 || address_at(ksym, i) != address_at(ksym, i - 1))
            set_start(ksym, i, &starts[count++]);
    for (size_t i = 0; i < PADDING; i++) {
        set_start(ksym, 0, &starts[count + i]);
        starts[count + i].distance = UINT32_MAX;
        KEEP_LOOP(i);
    }
    return count;
}

static void fill_cells(const struct sxt_ksym_starts *index, uint32_t *cells)
{
    size_t cell = 0;
    for (size_t i = 0; i < index->count; i++)
        for (; cell <= index->starts[i].distance >> index->shift; cell++)
            cells[cell] = (uint32_t)i;
    cells[cell] = (uint32_t)index->count;
}

/* Builds the index of addresses in MEMORY. There is none if the addresses are too far from each other. */
static void index_addresses(sxt_ksym *ksym, unsigned char *memory)
{
    uint64_t most = distance_to(ksym, address_at(ksym, ksym->count - 1));
    if (most >= UINT32_MAX)
        return;
    memory += (LINE - (uintptr_t)memory % LINE) % LINE;
    struct sxt_ksym_starts *index = (struct sxt_ksym_starts *)(void *)memory;
    struct start *starts = (struct start *)(void *)(memory + LINE);
    uint32_t *cells = (uint32_t *)(void *)(starts + ksym->count + 2 * PADDING);
    index->starts = starts + PADDING;
    index->cells = cells;
    index->count = fill_starts(ksym, starts);
    index->shift = 0;
    while (most >> index->shift > ksym->count / 2)
        index->shift++;
    fill_cells(index, cells);
    ksym->starts = index;
}

bool sxt_ksym_use_index(sxt_ksym *ksym, void *memory, size_t size)
{
    size_t needed = sxt_ksym_index_size(ksym);
    if (needed == 0 || size < needed || (uintptr_t)memory % sizeof(uint32_t) != 0)
        return false;
    uint32_t *slots = memory;
    ksym->slot_bits = slot_bits(ksym->count);
    ksym->position_bits = bits_of(ksym->count);
    fill_slots(ksym, slots);
    ksym->slots = slots;
    index_addresses(ksym, (unsigned char *)memory + slots_size(ksym->count));
    return true;
}

/* Finds the first name that is the query in the index. */
static bool find_slot(const sxt_ksym *ksym, const struct query *query, size_t *position)
{
    uint64_t hash = hash_query(query);
    size_t mask = ((size_t)1 << ksym->slot_bits) - 1, at = (size_t)hash & mask;
    size_t position_mask = ((size_t)1 << ksym->position_bits) - 1;
    for (size_t i = 0; i < PROBES; i++, at = (at + 1) & mask) {
        uint32_t slot = ksym->slots[at];
        if (slot == 0)
            return false;
        if (((slot ^ (uint32_t)(hash >> 32 << ksym->position_bits)) & ~position_mask) != 0)
            continue;
        *position = (slot & position_mask) - 1;
        PREFETCH(ksym->addresses + 8 * ordered(ksym, *position)); /* it will be needed next */
        sxt_ksym_stored stored;
        ordered_name(ksym, *position, &stored);
        size_t common = 0;
        is_before(&stored, query, &common);
        if (is_equal(&stored, query, common))
            return true;
    }
    return false;
}

void sxt_ksym_find(const sxt_ksym *ksym, const char *name, size_t size, sxt_ksym_matches *matches)
{
    struct query query;
    set_query(&query, name, size, false);
    matches->ksym = ksym;
    matches->name = name;
    matches->name_size = size;
    matches->with_modules = false;
    matches->equal = ksym->slots != NULL && find_slot(ksym, &query, &matches->next);
    if (!matches->equal)
        matches->next = first_not_before(ksym, &query, &matches->equal);
}

bool sxt_ksym_next(sxt_ksym_matches *matches, size_t *index)
{
    const sxt_ksym *ksym = matches->ksym;
    struct query query;
    if (matches->equal) {
        matches->equal = false;
        *index = ordered(ksym, matches->next++);
        return true;
    }
    set_query(&query, matches->name, matches->name_size, matches->with_modules);
    while (matches->next < ksym->count) {
        sxt_ksym_stored stored;
        size_t common = 0;
        *index = ordered(ksym, matches->next);
        find_name(ksym, record_at(ksym, *index), &stored);
        is_before(&stored, &query, &common);
        bool begins = common == query_size(&query);
        if (begins && bare_size(&stored, query.bracket ? find_module(&stored) : 0) == query.size) {
            matches->next++;
            return true;
        }
        if (begins && query.bracket) {
            matches->next++;
        } else if (!query.bracket) {
            /* Names with a module nearly always follow the equal ones directly; if not, they are searched for. */
            matches->with_modules = query.bracket = true;
            common = 0;
            if (is_before(&stored, &query, &common))
                matches->next = first_not_before(ksym, &query, &matches->equal);
        } else {
            break;
        }
    }
    matches->next = ksym->count;
    return false;
}

/* --- one by one --- */

uint64_t sxt_ksym_address(const sxt_ksym *ksym, size_t index)
{
    return index < ksym->count ? address_at(ksym, index) : 0;
}

size_t sxt_ksym_by_name(const sxt_ksym *ksym, size_t position)
{
    return position < ksym->count ? ordered(ksym, position) : ksym->count;
}

bool sxt_ksym_symbol_at(const sxt_ksym *ksym, size_t index, sxt_ksym_symbol *symbol)
{
    if (index >= ksym->count)
        return false;
    uint64_t address = address_at(ksym, index);
    bool in_text = address <= ksym->text_last && ksym->text_first <= ksym->text_last;
    uint64_t last = in_text ? ksym->text_last : address | (PAGE - 1);
    size_t next = count_until(ksym, address);
    if (next < ksym->count) {
        uint64_t before_next = address_at(ksym, next) - 1;
        last = in_text && last < before_next ? last : before_next;
    }
    sxt_ksym_stored stored;
    describe_any(ksym, index, last, &stored, symbol);
    return true;
}

bool sxt_ksym_stored_at(const sxt_ksym *ksym, size_t index, sxt_ksym_stored *stored)
{
    if (index < ksym->count)
        find_name(ksym, record_at(ksym, index), stored);
    return index < ksym->count;
}

/* Writes any whole name into a buffer of any size. */
SEPARATE void put_any(const sxt_ksym *ksym, size_t index, char *buffer, size_t capacity)
{
    struct text text = {buffer, capacity, 0};
    sxt_ksym_stored stored;
    find_name(ksym, record_at(ksym, index), &stored);
    put_stored(&text, &stored, 0, stored_size(&stored));
    finish(&text);
}

size_t sxt_ksym_name(const sxt_ksym *ksym, size_t index, char *buffer, size_t capacity)
{
    if (index >= ksym->count) {
        if (capacity > 0)
            buffer[0] = '\0';
        return 0;
    }
    sxt_ksym_stored stored;
    find_name(ksym, record_at(ksym, index), &stored);
    if (!put_blocks(ksym, &stored, buffer, capacity))
        put_any(ksym, index, buffer, capacity);
    return stored_size(&stored);
}

size_t sxt_ksym_module(const sxt_ksym *ksym, size_t index, char *buffer, size_t capacity)
{
    struct text text = {buffer, capacity, 0};
    sxt_ksym_stored stored;
    if (sxt_ksym_stored_at(ksym, index, &stored) && find_module(&stored) > 0) {
        size_t end = stored_size(&stored) - 1;
        put_stored(&text, &stored, end - find_module(&stored), end);
    }
    return finish(&text);
}

/* --- everything --- */

void sxt_ksym_dump(const sxt_ksym *ksym, void (*put_bytes)(void *data, const char *bytes, size_t size), void *data)
{
    for (size_t i = 0; i < ksym->count; i++) {
        sxt_ksym_stored stored;
        char line[16 + 3];
        for (size_t k = 0; k < 16; k++)
            format_number(line + k, address_at(ksym, i) >> 4 * (15 - k) & 15);
        line[16] = line[18] = ' ';
        line[17] = (char)record_at(ksym, i)[0];
        put_bytes(data, line, sizeof line);
        find_name(ksym, record_at(ksym, i), &stored);
        put_bytes(data, (const char *)stored.head, stored.head_size);
        put_bytes(data, (const char *)stored.tail, stored.tail_size);
        put_bytes(data, "\n", 1);
    }
}
