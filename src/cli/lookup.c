/* lookup.c: addresses to functions, files and lines; names to addresses. */
#include <stdlib.h>
#include <string.h>

#include <sextant/process.h>

#include "answer/answer.h"
#include "catalog/catalog.h"
#include "cli/lookup_input.h"
#include "cli/lookup_store.h"
#include "cli/lookup_url.h"
#include "cli/server_options.h"
#include "cli/verbs.h"

static const struct cli_option options[] = {
    {"name", 0, "NAME", "print the addresses of NAME instead", NULL},
    {"pid", 0, "PID", "look up run-time addresses of a process, without FILE", NULL},
    {"maps", 0, "FILE", "the same, with a saved copy of /proc/PID/maps", NULL},
    {"search", 0, "DIR", "with --pid or --maps: search DIR and below for archives and\ndebug files; may be repeated",
     NULL},
    {"load-bias", 0, "0xADDRESS", "addresses are run-time addresses of FILE, loaded at this bias", NULL},
    {"text", 0, "START-END", "in a ksym blob, look up only addresses in this range", NULL},
    {"file-offset", 0, NULL, "addresses are offsets in the ELF file, or in that of an archive", NULL},
    {"assume-linear", 0, NULL, "in an archive without the segments of its binary, take file\noffsets for addresses",
     NULL},
    {"return-addresses", 0, NULL, "addresses are return addresses: look up the call before them", NULL},
    {"url", 0, "URL", "ask the symbol service at URL, without FILE", NULL},
    {"file-id", 0, "ID", "with --url, or with a store as FILE: the FileID of the binary, in\nhexadecimal or base64url",
     NULL},
    {"build-id", 0, "ID", "the same: its build ID", NULL},
    {"tenant", 0, "NAME", "with a store as FILE: a binary of this tenant", NULL},
    CLI_OPTIONS_SERVER,
    {"explain", 0, NULL, "print where each answer comes from, or why there is none", NULL},
    CLI_OPTIONS_EXTRACT,
    {"check", 0, NULL, "check the checksums of the archive first", NULL},
    CLI_OPTION_JSON,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct cli_example examples[] = {
    {"sextant lookup app.lidia 0x401136 0x401140", "two addresses in an archive"},
    {"sextant lookup --json /usr/bin/bash < addresses.txt", "many, one per line, from a binary"},
    {"sextant lookup --name main app", "the address of main"},
    {"sextant lookup --url https://symbols.example --build-id 2f0e0b1a55d1c3c8 401136", "ask a symbol service"},
    {"sextant lookup s3://bucket/app.lidia 401136", "an archive in a bucket, of which only a little is fetched"},
    {"sextant lookup s3://bucket/symbols --file-id 77efa716a912a49217445787329fd29a 401136", "the store of a service"},
    {"sextant lookup --pid 4711 7f3a5c6d1000", "an address of a running process"},
    {NULL, NULL},
};

static int run(const struct cli_arguments *arguments);

const struct cli_verb cli_lookup = {
    .name = "lookup",
    .synopsis = "[OPTION...] FILE [ADDRESS...]",
    .summary = "print the function, file and line of an address",
    .description = "FILE is an archive or an ELF file, or s3://BUCKET/KEY, one in a bucket. With --file-id or\n"
                   "--build-id it is the store of a symbol service: a directory, or s3://BUCKET/PREFIX. Addresses\n"
                   "are hexadecimal ELF virtual addresses, from the command line or, one per line, from standard\n"
                   "input. Answers are in the order of the addresses, each with the innermost inlined call first;\n"
                   "?? means that nothing is known about the address.",
    .options = options,
    .examples = examples,
    .run = run,
};

/* Addresses that are looked up together, and the room for their frames. */
#define BATCH           256
#define FRAMES_AT_FIRST 4096

/* With more addresses than this, nearly all of a file has to be read. */
#define FEW_ADDRESSES 10000

/* Where and how addresses are looked up. */
struct question {
    const struct cli_arguments *arguments;
    sxt_extract_options extract;
    sxt_archive *archive;            /* one file, or... */
    struct sxt_catalog_place *place; /* (where it is, if that is a bucket) */
    sxt_process *process;            /* ...the files of a process */
    sxt_modules_options where;       /* of the process: where to search files */
    sxt_open_options open;           /* for `where` */
    const char *file;
    uint64_t bias;
    bool file_offsets;
    bool are_returns; /* return addresses, which are looked up one byte before */
    struct sxt_emit emit;
    sxt_frame *frames;
    size_t capacity;
    struct cli_lookup_input input;
    uint64_t *addresses; /* all that will be looked up, if known before the file is read */
    size_t address_count;
    struct sxt_answer_explain *explain; /* NULL without --explain */
};

static int open_question(struct question *question, const char *file, size_t *first_address);
static int load(struct question *question, const uint64_t *addresses, size_t count);
static int open_process(struct question *question, const sxt_open_options *open);
static void collect_addresses(struct question *question, size_t first_word);
static int find_name(struct question *question, const char *name);
static int answer_batch(void *data, struct sxt_answer *answers, size_t count);

static const char *const for_url[] = {"api-key", "api-key-file", "ca"};

static int run(const struct cli_arguments *arguments)
{
    if (cli_given(arguments, "url"))
        return cli_lookup_url(arguments);
    if (cli_given(arguments, "file-id") || cli_given(arguments, "build-id") || cli_given(arguments, "tenant"))
        return cli_lookup_store(arguments);
    const char *pid = cli_value(arguments, "pid");
    const char *maps = cli_value(arguments, "maps");
    const char *name = cli_value(arguments, "name");
    bool process = pid != NULL || maps != NULL;
    if (pid != NULL && maps != NULL)
        return cli_usage(arguments->verb, "--pid and --maps cannot be used together");
    if (process && (name != NULL || cli_given(arguments, "load-bias") || cli_given(arguments, "file-offset") ||
                    cli_given(arguments, "text")))
        return cli_usage(arguments->verb, "--pid and --maps take run-time addresses only");
    if (!process && cli_given(arguments, "search"))
        return cli_usage(arguments->verb, "--search is for --pid and --maps");
    if (!process && arguments->word_count == 0)
        return cli_usage(arguments->verb, "no file given");
    if (name != NULL && arguments->word_count > 1)
        return cli_usage(arguments->verb, "--name cannot be used with addresses");
    if (name != NULL && cli_given(arguments, "explain"))
        return cli_usage(arguments->verb, "--explain is for addresses, not for --name");
    if (name != NULL && cli_given(arguments, "return-addresses"))
        return cli_usage(arguments->verb, "--return-addresses is for addresses, not for --name");
    for (size_t i = 0; i < sizeof for_url / sizeof *for_url; i++)
        if (cli_given(arguments, for_url[i]))
            return cli_usage(arguments->verb, "--%s is for a symbol service (--url URL)", for_url[i]);

    struct question question = {.arguments = arguments};
    const struct cli_lookup_answers answers = {answer_batch, &question, BATCH, &question.emit};
    size_t first_address = 0;
    sxt_emit_init(&question.emit, stdout, cli_given(arguments, "json"));
    cli_lookup_input_init(&question.input);
    int status = open_question(&question, process ? NULL : arguments->words[0], &first_address);
    if (status == CLI_DONE && name != NULL)
        status = find_name(&question, name);
    else if (status == CLI_DONE && first_address < arguments->word_count)
        status = cli_lookup_words(arguments, first_address, &answers);
    else if (status == CLI_DONE)
        status = cli_lookup_stdin(&question.input, &answers);
    status = cli_finish(&question.emit, status);
    cli_lookup_input_free(&question.input);
    free(question.addresses);
    free(question.frames);
    sxt_answer_explain_free(question.explain);
    if (question.place == NULL)
        sxt_archive_close(&question.archive);
    sxt_catalog_close_place(&question.place);
    sxt_process_close(&question.process);
    free((void *)(uintptr_t)question.where.directories);
    return status;
}

static bool parse_text(const char *text, sxt_open_options *open)
{
    char start[32] = "";
    const char *dash = strchr(text, '-');
    if (dash == NULL || (size_t)(dash - text) >= sizeof start)
        return false;
    memcpy(start, text, (size_t)(dash - text));
    return cli_parse_address(start, &open->text_start) && cli_parse_address(dash + 1, &open->text_end) &&
           open->text_start < open->text_end;
}

/* Fetches what is printed for ADDRESSES, if the archive is in a bucket. */
static int load(struct question *question, const uint64_t *addresses, size_t count)
{
    sxt_error error;
    if (question->place == NULL || count == 0 ||
        sxt_catalog_place_load(question->place, addresses, count, sxt_emit_is_json(&question->emit), &error) == SXT_OK)
        return CLI_DONE;
    return cli_fail(question->file, &error);
}

static int open_file(struct question *question, const sxt_open_options *open)
{
    /* These read all of a file. */
    static const char *const whole[] = {"name", "check"};
    const char *file = question->file;
    bool is_whole = false;
    sxt_error error;
    if (!sxt_store_is_remote(file))
        return sxt_archive_open_path(file, open, &question->archive, &error) == SXT_OK ? CLI_DONE
                                                                                       : cli_fail(file, &error);
    if (question->explain != NULL)
        return cli_usage(question->arguments->verb, "--explain is for local files, not for '%s'", file);
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        is_whole |= cli_given(question->arguments, whole[i]);
    if (sxt_catalog_open_place(file, is_whole, open, &question->place, &error) != SXT_OK)
        return error.code == SXT_ERROR_USAGE ? cli_usage(question->arguments->verb, "%s", error.text)
                                             : cli_fail(file, &error);
    question->archive = sxt_catalog_place_archive(question->place);
    /* All at once: a request for each of them would take longer. */
    return is_whole ? CLI_DONE : load(question, question->addresses, question->address_count);
}

static int open_question(struct question *question, const char *file, size_t *first_address)
{
    const struct cli_arguments *arguments = question->arguments;
    const char *bias = cli_value(arguments, "load-bias");
    const char *pid = cli_value(arguments, "pid");
    sxt_open_options open;
    sxt_error error;
    int status = cli_open_options(arguments, file, &open, &question->extract);
    if (status != CLI_DONE)
        return status;
    open.check_crc = cli_given(arguments, "check");
    question->file = file;
    question->file_offsets = cli_given(arguments, "file-offset");
    question->are_returns = cli_given(arguments, "return-addresses");
    if (bias != NULL && !cli_parse_address(bias, &question->bias))
        return cli_usage(arguments->verb, "not a hexadecimal address: '%s'", bias);
    const char *text = cli_value(arguments, "text");
    if (text != NULL && !parse_text(text, &open))
        return cli_usage(arguments->verb, "--text takes two hexadecimal addresses, START-END, not '%s'", text);
    question->capacity = FRAMES_AT_FIRST;
    question->frames = malloc(question->capacity * sizeof *question->frames);
    if (cli_given(arguments, "explain"))
        question->explain = sxt_answer_explain_new(&open, pid);
    if (question->frames == NULL || (question->explain == NULL && cli_given(arguments, "explain")))
        return cli_fail_text(NULL, "out of memory");
    if (file != NULL) {
        uint64_t ignored;
        *first_address = 1;
        if (cli_value(arguments, "name") == NULL && !question->file_offsets) {
            if (arguments->word_count == 1 && (status = cli_lookup_input_read(&question->input)) != CLI_DONE)
                return status;
            collect_addresses(question, 1);
            question->extract.addresses = question->addresses;
            question->extract.address_count = question->address_count;
        }
        status = open_file(question, &open);
        if (status != CLI_DONE)
            return status;
        bool has_segments = !question->file_offsets ||
                            sxt_archive_address_of_offset(question->archive, 0, &ignored, &error) != SXT_ERROR_USAGE;
        if (!has_segments && !cli_given(arguments, "assume-linear"))
            cli_warn(file, "%s; %s", error.text, cli_hint(SXT_REASON_NO_SEGMENTS));
        else
            question->file_offsets &= has_segments;
        if (text != NULL && sxt_archive_kind(question->archive) != SXT_KIND_KSYM)
            return cli_usage(arguments->verb, "--text is for ksym blobs; not a ksym blob: '%s'", file);
        return CLI_DONE;
    }
    return open_process(question, &open);
}

/* The files of a process, by --pid or --maps. */
static int open_process(struct question *question, const sxt_open_options *open)
{
    const struct cli_arguments *arguments = question->arguments;
    const char *pid = cli_value(arguments, "pid");
    sxt_process_options how;
    sxt_process_options_init(&how);
    how.maps = cli_value(arguments, "maps");
    how.modules = &question->where;
    char *end, path[40];
    if (pid != NULL)
        how.pid = strtol(pid, &end, 10);
    if (pid != NULL && (*pid == 0 || *end != 0 || how.pid <= 0))
        return cli_usage(arguments->verb, "not a process ID: '%s'", pid);
    snprintf(path, sizeof path, "/proc/%ld/maps", how.pid);
    sxt_modules_options_init(&question->where);
    question->open = *open;
    question->where.open = &question->open;
    question->where.warning = cli_show_warning;
    question->where.assume_linear = cli_given(arguments, "assume-linear");
    int status = cli_search_directories(arguments, &question->where.directories, &question->where.directory_count);
    sxt_error error;
    if (status == CLI_DONE && sxt_process_open(&how, &question->process, &error) != SXT_OK)
        status = cli_fail(how.maps != NULL ? how.maps : path, &error);
    return status;
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
    const char letter[] = {named->letter, 0};
    const char *type = named->type != 0 ? type_name(named->type) : named->letter != 0 ? letter : NULL;
    sxt_emit_record(emit);
    if (sxt_emit_is_json(emit)) {
        sxt_emit_string(emit, "name", named->name);
        sxt_emit_address(emit, "address", named->address);
        sxt_emit_number(emit, "size", named->size);
        if (type != NULL)
            sxt_emit_cstring(emit, "type", type);
        else
            sxt_emit_null(emit, "type");
        if (named->letter != 0 && named->type == 0)
            sxt_emit_string(emit, "module", named->module);
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
    size_t count;
    sxt_error error;
    if (sxt_archive_find_name(question->archive, name, print_named, &question->emit, &count, &error) != SXT_OK)
        return cli_fail(question->file, &error);
    return count > 0 ? CLI_DONE : cli_fail_text(question->file, "no symbol named '%s'", name);
}

/* If all addresses are known (words, or an input that has ended), only what they need is read of an ELF file. */
static void collect_addresses(struct question *question, size_t first_word)
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
            question->addresses[question->address_count++] = address - question->bias - question->are_returns;
    for (size_t start = 0; !words && start < pending->size;) {
        const uint8_t *end = memchr(pending->data + start, '\n', pending->size - start);
        size_t size = end != NULL ? (size_t)(end - pending->data) - start : pending->size - start;
        sxt_string word = cli_lookup_trim((const char *)pending->data + start, size);
        char text[32] = "";
        if (word.size < sizeof text)
            memcpy(text, word.data, word.size);
        if (cli_parse_address(text, &address))
            question->addresses[question->address_count++] = address - question->bias - question->are_returns;
        start += size + 1;
    }
}

/* The virtual address of a question; false if it has none. */
static bool parse_question(struct question *question, struct sxt_answer *answer, uint64_t *address)
{
    if (!cli_lookup_parse(answer, question->file))
        return false;
    *address = answer->asked - question->bias - question->are_returns;
    answer->is_placed =
        !question->file_offsets || sxt_archive_address_of_offset(question->archive, *address, address, NULL) == SXT_OK;
    answer->address = *address;
    return answer->is_placed;
}

static void print(struct question *question, struct sxt_answer *answer)
{
    for (size_t i = 0; i < answer->count && question->archive != NULL && sxt_emit_is_json(&question->emit); i++)
        sxt_archive_whole_range(question->archive, &answer->frames[i]);
    answer->archive = question->archive;
    if (question->archive != NULL && sxt_archive_kind(question->archive) == SXT_KIND_KSYM)
        answer->blob = question->archive;
    if (question->explain != NULL) {
        answer->explanation = sxt_answer_explain(question->explain, question->file, answer);
        if (answer->explanation->failed_file != NULL)
            cli_warn(answer->explanation->failed_file, "%s", answer->explanation->failure);
    }
    sxt_answer_print(&question->emit, answer);
}

/* Looks up one address, with all its frames. */
static void answer_one(struct question *question, struct sxt_answer *answer, uint64_t address)
{
    sxt_process_place place = SXT_PROCESS_PLACE_INIT;
    for (;;) {
        answer->count =
            question->process != NULL
                ? sxt_process_lookup(question->process, address, question->frames, question->capacity, &place)
                : sxt_archive_lookup(question->archive, address, question->frames, question->capacity);
        if (answer->count <= question->capacity)
            break;
        sxt_frame *moved = realloc(question->frames, answer->count * sizeof *moved);
        if (moved == NULL) {
            answer->count = question->capacity;
            break;
        }
        question->frames = moved;
        question->capacity = answer->count;
    }
    if (place.problem != NULL)
        cli_warn(place.module, "%s", place.problem);
    answer->frames = question->frames;
    answer->module = place.module;
    answer->module_address = place.address;
    answer->problem = place.problem;
    print(question, answer);
}

/* Looks up several addresses at once, which is faster: while memory is fetched for one, others continue. */
static int answer_batch(void *data, struct sxt_answer *answers, size_t count)
{
    struct question *question = data;
    uint64_t addresses[BATCH];
    size_t first[BATCH + 1], known[BATCH], known_count = 0;
    for (size_t i = 0; i < count; i++) {
        answers[i].count = 0;
        if (parse_question(question, &answers[i], &addresses[known_count]))
            known[known_count++] = i;
        else
            known[known_count] = count;
    }
    int status = load(question, addresses, known_count);
    if (status != CLI_DONE)
        return status;
    size_t done = 0, next = 0;
    while (next < count) {
        size_t answered = question->archive != NULL
                              ? sxt_archive_lookup_batch(question->archive, addresses + done, known_count - done,
                                                         question->frames, question->capacity, first)
                              : 0;
        for (size_t i = 0; i < answered; i++) {
            for (; next < known[done + i]; next++)
                print(question, &answers[next]);
            answers[next].frames = question->frames + first[i];
            answers[next].count = first[i + 1] - first[i];
            print(question, &answers[next++]);
        }
        done += answered;
        for (; next < (done < known_count ? known[done] : count); next++)
            print(question, &answers[next]);
        /* A chain with more frames than there is room for, or an address of a process. */
        if (done < known_count && next < count) {
            answer_one(question, &answers[next++], addresses[done]);
            done++;
        }
    }
    return CLI_DONE;
}
