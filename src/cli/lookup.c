/* lookup.c: addresses to functions, files and lines; names to addresses. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/archive.h"
#include "cli/verbs.h"

static const struct cli_option options[] = {
    {"name", 0, "NAME", "ask the other way round: where is NAME?", NULL},
    {"pid", 0, "PID", "run-time addresses of a process; no FILE then", NULL},
    {"maps", 0, "FILE", "run-time addresses, by a copy of /proc/PID/maps; no FILE then", NULL},
    {"load-bias", 0, "0xADDRESS", "run-time addresses of FILE, loaded at this bias", NULL},
    {"file-offset", 0, NULL, "addresses are offsets in the ELF file", NULL},
    CLI_OPTIONS_EXTRACT,
    {"check", 0, NULL, "compare the archive's checksums first", NULL},
    CLI_OPTION_JSON,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct cli_example examples[] = {
    {"sextant lookup app.lidia 0x401136 0x401140", "two addresses in an archive"},
    {"sextant lookup --json /usr/bin/bash < addresses.txt", "many, one a line, straight from a binary"},
    {"sextant lookup --name main app", "where is main?"},
    {"sextant lookup --pid 4711 7f3a5c6d1000", "an address of a running process"},
    {NULL, NULL},
};

static int run(const struct cli_arguments *arguments);

const struct cli_verb cli_lookup = {
    .name = "lookup",
    .synopsis = "[OPTION...] FILE [ADDRESS...]",
    .summary = "tell which function, file and line an address belongs to",
    .description = "FILE is an archive or an ELF file. Addresses are hexadecimal ELF virtual addresses, from the\n"
                   "command line or one a line from standard input. The answers come in the order of the\n"
                   "questions, the innermost inlined call first; ?? is an address that nothing is known of.",
    .options = options,
    .examples = examples,
    .run = run,
};

#define FRAMES_AT_FIRST 64

/* Standard input, as far as it was read. */
struct input {
    struct sxt_buffer pending; /* not answered yet */
    bool ended;
};

#define LINE_MAX_SIZE ((size_t)1 << 20)
#define READ_SIZE     ((size_t)64 << 10)

/* With more questions than this, nearly everything has to be read anyway. */
#define FEW_ADDRESSES 10000

/* Where addresses are looked up, and what is done to them before. */
struct question {
    const struct cli_arguments *arguments;
    sxt_archive *archive;        /* one file, or... */
    struct sxt_process *process; /* ...the files of a process */
    const char *file;
    uint64_t bias;
    bool file_offsets;
    struct sxt_emit emit;
    sxt_frame *frames;
    size_t capacity;
    struct input input;
    uint64_t *addresses; /* all that will be asked, when that is known before the file is read */
    size_t address_count;
};

static int open_question(struct question *question, const char *file, size_t *first_address);
static int read_input(struct input *input);
static void foresee(struct question *question, size_t first_word);
static int find_name(struct question *question, const char *name);
static int answer_words(struct question *question, size_t first);
static int answer_stdin(struct question *question);
static void answer(struct question *question, const char *text);

static int run(const struct cli_arguments *arguments)
{
    const char *pid = cli_value(arguments, "pid");
    const char *maps = cli_value(arguments, "maps");
    const char *name = cli_value(arguments, "name");
    bool process = pid != NULL || maps != NULL;
    if (pid != NULL && maps != NULL)
        return cli_usage(arguments->verb, "--pid and --maps contradict each other");
    if (process && (name != NULL || cli_given(arguments, "load-bias") || cli_given(arguments, "file-offset")))
        return cli_usage(arguments->verb, "--pid and --maps take run-time addresses only");
    if (!process && arguments->word_count == 0)
        return cli_usage(arguments->verb, "no file given");
    if (name != NULL && arguments->word_count > 1)
        return cli_usage(arguments->verb, "--name takes a file and no addresses");

    struct question question = {.arguments = arguments};
    size_t first_address = 0;
    sxt_emit_init(&question.emit, stdout, cli_given(arguments, "json"));
    sxt_buffer_init(&question.input.pending, LINE_MAX_SIZE);
    int status = open_question(&question, process ? NULL : arguments->words[0], &first_address);
    if (status == CLI_DONE && name != NULL)
        status = find_name(&question, name);
    else if (status == CLI_DONE && first_address < arguments->word_count)
        status = answer_words(&question, first_address);
    else if (status == CLI_DONE)
        status = answer_stdin(&question);
    status = cli_finish(&question.emit, status);
    sxt_buffer_free(&question.input.pending);
    free(question.addresses);
    free(question.frames);
    sxt_archive_close(&question.archive);
    sxt_process_close(&question.process);
    return status;
}

static int open_question(struct question *question, const char *file, size_t *first_address)
{
    const struct cli_arguments *arguments = question->arguments;
    const char *bias = cli_value(arguments, "load-bias");
    const char *pid = cli_value(arguments, "pid");
    const char *maps = cli_value(arguments, "maps");
    sxt_open_options open;
    sxt_error error;
    int status = cli_open_options(arguments, file, &open);
    if (status != CLI_DONE)
        return status;
    open.check_crc = cli_given(arguments, "check");
    question->file = file;
    question->file_offsets = cli_given(arguments, "file-offset");
    if (bias != NULL && !cli_parse_address(bias, &question->bias))
        return cli_usage(arguments->verb, "'%s' is no hexadecimal address", bias);
    question->capacity = FRAMES_AT_FIRST;
    question->frames = malloc(question->capacity * sizeof *question->frames);
    if (question->frames == NULL)
        return cli_fail_text(NULL, "out of memory");
    if (file != NULL) {
        uint64_t ignored;
        *first_address = 1;
        if (cli_value(arguments, "name") == NULL && !question->file_offsets) {
            if (arguments->word_count == 1 && (status = read_input(&question->input)) != CLI_DONE)
                return status;
            foresee(question, 1);
            open.extract.addresses = question->addresses;
            open.extract.address_count = question->address_count;
        }
        if (sxt_archive_open_path(file, &open, &question->archive, &error) != SXT_OK ||
            (question->file_offsets &&
             sxt_archive_address_of_offset(question->archive, 0, &ignored, &error) == SXT_ERROR_USAGE))
            return cli_fail(file, &error);
        return CLI_DONE;
    }
    if (maps != NULL)
        return sxt_process_open_maps(maps, &open, &question->process, &error) == SXT_OK ? CLI_DONE
                                                                                        : cli_fail(maps, &error);
    char *end;
    long number = strtol(pid, &end, 10);
    if (*pid == 0 || *end != 0 || number <= 0)
        return cli_usage(arguments->verb, "'%s' is no process number", pid);
    return sxt_process_open_pid(number, &open, &question->process, &error) == SXT_OK ? CLI_DONE : cli_fail(pid, &error);
}

static const char *type_name(char type)
{
    switch (type) {
    case 'F':
        return "FUNC";
    case 'I':
        return "IFUNC";
    case 'O':
        return "OBJECT";
    case 'T':
        return "TLS";
    case 'N':
        return "NOTYPE";
    case 'P':
        return "PLT";
    default:
        return NULL;
    }
}

static bool print_named(void *data, const sxt_named *named)
{
    struct sxt_emit *emit = data;
    const char *type = type_name(named->type);
    sxt_emit_record(emit);
    if (sxt_emit_is_json(emit)) {
        sxt_emit_string(emit, "name", named->name);
        sxt_emit_address(emit, "address", named->address);
        sxt_emit_number(emit, "size", named->size);
        if (type != NULL)
            sxt_emit_cstring(emit, "type", type);
        else
            sxt_emit_null(emit, "type");
    }
    sxt_emit_text(emit, "0x%llx %llu %s ", (unsigned long long)named->address, (unsigned long long)named->size,
                  type != NULL ? type : "-");
    sxt_emit_name(emit, named->name);
    sxt_emit_text(emit, "\n");
    sxt_emit_record_end(emit);
    return true;
}

static int find_name(struct question *question, const char *name)
{
    if (sxt_archive_find_name(question->archive, name, print_named, &question->emit) > 0)
        return CLI_DONE;
    return cli_fail_text(question->file, "nothing is called '%s'", name);
}

/* A copy of TEXT without the blanks around it; NULL when memory is short. */
static char *trimmed(const char *text, size_t size)
{
    while (size > 0 && (*text == ' ' || *text == '\t')) {
        text++;
        size--;
    }
    while (size > 0 && strchr(" \t\r", text[size - 1]) != NULL)
        size--;
    return strndup(text, size);
}

static int answer_words(struct question *question, size_t first)
{
    for (size_t i = first; i < question->arguments->word_count; i++)
        answer(question, question->arguments->words[i]);
    return CLI_DONE;
}

/* Waits for something to read, and then reads all that is there. Behind the last line, *ENDED. */
static int read_input(struct input *input)
{
    struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
    do {
        uint8_t *room = sxt_buffer_reserve(&input->pending, READ_SIZE);
        if (room == NULL && memchr(input->pending.data, '\n', input->pending.size) != NULL)
            break; /* enough to go on with */
        ssize_t got = room != NULL ? read(STDIN_FILENO, room, READ_SIZE) : -1;
        if (got < 0 && room != NULL && errno == EINTR)
            continue;
        if (got < 0)
            return room != NULL ? cli_fail_text("-", "cannot read: %s", strerror(errno))
                                : cli_fail_text("-", "a line of over 1 MiB is no address");
        input->ended = got == 0;
        if (got > 0)
            input->pending.size += (size_t)got;
        else if (input->pending.size > 0 && input->pending.data[input->pending.size - 1] != '\n')
            sxt_buffer_u8(&input->pending, '\n');
    } while (!input->ended && poll(&ready, 1, 0) > 0);
    input->pending.failed = false;
    return CLI_DONE;
}

/*
 * When all questions are known (words, or an input that is at its end), only what they need has to be read of an ELF
 * file.
 */
static void foresee(struct question *question, size_t first_word)
{
    const struct cli_arguments *arguments = question->arguments;
    const struct sxt_buffer *pending = &question->input.pending;
    bool words = arguments->word_count > first_word;
    size_t most = words ? arguments->word_count - first_word : 0;
    for (size_t i = 0; i < pending->size; i++)
        most += pending->data[i] == '\n';
    if ((!words && !question->input.ended) || most > FEW_ADDRESSES)
        return;
    question->addresses = malloc((most + 1) * sizeof *question->addresses);
    if (question->addresses == NULL)
        return;
    uint64_t address;
    for (size_t i = first_word; i < arguments->word_count; i++)
        if (cli_parse_address(arguments->words[i], &address))
            question->addresses[question->address_count++] = address - question->bias;
    for (size_t start = 0; !words && start < pending->size;) {
        const uint8_t *end = memchr(pending->data + start, '\n', pending->size - start);
        size_t size = end != NULL ? (size_t)(end - pending->data) - start : pending->size - start;
        char *word = trimmed((const char *)pending->data + start, size);
        if (word != NULL && cli_parse_address(word, &address))
            question->addresses[question->address_count++] = address - question->bias;
        free(word);
        start += size + 1;
    }
}

/*
 * Answers what has been read before it waits for more, so that a program at the other end of a pipe gets its answer,
 * and a file of addresses is not answered one write at a time.
 */
static int answer_stdin(struct question *question)
{
    struct input *input = &question->input;
    for (;;) {
        struct sxt_buffer *pending = &input->pending;
        size_t start = 0;
        for (uint8_t *end; start < pending->size && (end = memchr(pending->data + start, '\n', pending->size - start));) {
            *end = 0;
            answer(question, (const char *)pending->data + start);
            start = (size_t)(end - pending->data) + 1;
        }
        if (start > 0)
            memmove(pending->data, pending->data + start, pending->size - start);
        pending->size -= start;
        sxt_error error;
        if (sxt_emit_finish(&question->emit, &error) != SXT_OK || input->ended)
            return CLI_DONE;
        int status = read_input(input);
        if (status != CLI_DONE)
            return status;
    }
}

static size_t look_up(struct question *question, uint64_t address, struct sxt_process_place *place)
{
    for (;;) {
        size_t count = question->process != NULL
                           ? sxt_process_lookup(question->process, address, question->frames, question->capacity, place)
                           : sxt_archive_lookup(question->archive, address, question->frames, question->capacity);
        if (count <= question->capacity)
            return count;
        sxt_frame *moved = realloc(question->frames, count * sizeof *moved);
        if (moved == NULL)
            return question->capacity;
        question->frames = moved;
        question->capacity = count;
    }
}

/* The virtual address that TEXT means; false when it means none. */
static bool understand(struct question *question, const char *text, uint64_t *address)
{
    if (!cli_parse_address(text, address)) {
        cli_warn(question->file, "'%s' is no address", text);
        return false;
    }
    *address -= question->bias;
    return !question->file_offsets ||
           sxt_archive_address_of_offset(question->archive, *address, address, NULL) == SXT_OK;
}

static void print_json(struct sxt_emit *emit, const char *text, bool known, uint64_t asked, const sxt_frame *frames,
                       size_t count, const struct sxt_process_place *place)
{
    if (known)
        sxt_emit_address(emit, "address", asked);
    else
        sxt_emit_cstring(emit, "address", text);
    sxt_emit_array(emit, "frames");
    for (size_t i = 0; i < count; i++) {
        sxt_emit_object(emit, NULL);
        sxt_emit_string(emit, "function", frames[i].function);
        sxt_emit_string(emit, "file", frames[i].file);
        if (frames[i].line != 0)
            sxt_emit_number(emit, "line", frames[i].line);
        else
            sxt_emit_null(emit, "line");
        sxt_emit_address(emit, "start", frames[i].start);
        sxt_emit_bool(emit, "inlined", frames[i].depth > 0);
        sxt_emit_object_end(emit);
    }
    sxt_emit_array_end(emit);
    if (place->module != NULL) {
        sxt_emit_cstring(emit, "module", place->module);
        sxt_emit_address(emit, "module_address", place->address);
    }
}

static void print_text(struct sxt_emit *emit, const char *text, const sxt_frame *frames, size_t count,
                       const struct sxt_process_place *place)
{
    int width = (int)strlen(text);
    sxt_emit_name(emit, (sxt_string){text, strlen(text)});
    if (count == 0)
        sxt_emit_text(emit, "  ??");
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            sxt_emit_text(emit, "\n%*s", width, "");
        sxt_emit_text(emit, "  ");
        sxt_emit_name(emit, frames[i].function);
        if (frames[i].file.data != NULL) {
            sxt_emit_text(emit, "  ");
            sxt_emit_name(emit, frames[i].file);
            if (frames[i].line != 0)
                sxt_emit_text(emit, ":%u", frames[i].line);
        }
        if (frames[i].depth > 0)
            sxt_emit_text(emit, "  [inlined]");
    }
    if (place->module != NULL) {
        sxt_emit_text(emit, "  in ");
        sxt_emit_name(emit, (sxt_string){place->module, strlen(place->module)});
    }
    sxt_emit_text(emit, "\n");
}

static void answer(struct question *question, const char *text)
{
    char *word = trimmed(text, strlen(text));
    if (word == NULL)
        return;
    uint64_t address = 0, asked = 0;
    struct sxt_process_place place = {0};
    bool known = understand(question, word, &address);
    size_t count = known ? look_up(question, address, &place) : 0;
    for (size_t i = 0; i < count && question->archive != NULL; i++)
        sxt_archive_whole_range(question->archive, &question->frames[i]);
    if (place.problem != NULL)
        cli_warn(place.module, "%s", place.problem);
    bool is_address = cli_parse_address(word, &asked);
    struct sxt_emit *emit = &question->emit;
    sxt_emit_record(emit);
    if (sxt_emit_is_json(emit))
        print_json(emit, word, is_address, asked, question->frames, count, &place);
    else
        print_text(emit, word, question->frames, count, &place);
    sxt_emit_record_end(emit);
    free(word);
}
