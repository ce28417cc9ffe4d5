/*
 * addr2line.c: the command line of GNU addr2line, and its output to the byte.
 *
 * Options follow getopt's conventions and not those of the other verbs, so they are parsed here; the table is for help,
 * man pages and completion. Messages and exit status are those of GNU addr2line too.
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sextant/addr2line.h>

#include "base/array.h"
#include "cli/verbs.h"

static const struct cli_option options[] = {
    {"addresses", 'a', NULL, "print the address before each answer", NULL},
    {"target", 'b', "NAME", "accepted; the format is detected from the content", NULL},
    {"exe", 'e', "FILE", "the ELF file or archive to read; default: a.out", NULL},
    {"inlines", 'i', NULL, "also print the frames that a call is inlined into", NULL},
    {"section", 'j', "NAME", "addresses are offsets in this section", NULL},
    {"pretty-print", 'p', NULL, "print each frame on one line", NULL},
    {"basenames", 's', NULL, "print file names without directories", NULL},
    {"functions", 'f', NULL, "print the function before the file", NULL},
    {"demangle", 'C', NULL,
     "print readable names; --demangle=STYLE picks one of auto,\ngnu-v3, java, gnat, dlang, rust, none", NULL},
    {"recurse-limit", 'R', NULL, "limit the nesting of names (default)", NULL},
    {"no-recurse-limit", 'r', NULL, "do not limit the nesting of names", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct cli_example examples[] = {
    {"sextant addr2line -e app -fip 0x401136 main+0x20", "function, file and line, with inlined calls"},
    {"sextant addr2line -e app -afC < addresses.txt", "many, one per line"},
    {"sextant addr2line -e module.ko -j .text -f 4c0", "an offset in a section of a kernel module"},
    {"ln -s /usr/bin/sextant ~/bin/addr2line", "perf and other programs find it by this name"},
    {NULL, NULL},
};

static int run_words(int argc, char **argv);

const struct cli_verb cli_addr2line = {
    .name = "addr2line",
    .synopsis = "[OPTION...] [ADDRESS...]",
    .summary = "a faster replacement for GNU addr2line",
    .description = "A drop-in replacement for GNU addr2line: the same options, input and output. sextant does the\n"
                   "same when it is started under the name addr2line. An address is a hexadecimal number or a\n"
                   "symbol, with or without +OFFSET. Without addresses, they are read from standard input, one per\n"
                   "line, and each is answered immediately. @FILE is replaced by the words in FILE. FILE may be an\n"
                   "archive.",
    .options = options,
    .examples = examples,
    .run_words = run_words,
};

struct request {
    const char *program; /* the name in messages */
    const char *file;
    const char *target;
    sxt_addr2line_options open;
    bool with_addresses, with_functions, with_inlines, readable, pretty, basenames;
    sxt_addr2line *addr2line; /* NULL if the file is read as plain bytes */
};

/* Addresses that are answered together, so that what they need is read on several threads. */
struct batch {
    uint64_t *addresses;
    size_t count, capacity;
};

enum { LINE_MAX_SIZE = 99, READ_SIZE = 64 << 10 };

/* From libiberty: replaces "@FILE" by the words in FILE, in a new list with new words. */
extern void expandargv(int *argc, char ***argv);
extern void freeargv(char **argv);

static int parse(struct request *request, int argc, char **argv, bool *done);
static int open_file(struct request *request);
static bool add_word(struct request *request, struct batch *batch, const char *word);
static int answer_batch(struct request *request, struct batch *batch);
static int answer_stdin(struct request *request, struct batch *batch);

static int run_expanded(int argc, char **argv)
{
    struct request request = {.program = argv[0], .file = "a.out"};
    sxt_addr2line_options_init(&request.open);
    struct batch batch = {.count = 0};
    bool done = false;
    int status = parse(&request, argc, argv, &done);
    if (done || status != CLI_DONE)
        return status;
    status = open_file(&request);
    if (status == CLI_DONE && optind < argc) {
        bool added = true;
        for (int i = optind; i < argc && added; i++)
            added = add_word(&request, &batch, argv[i]);
        status = added ? answer_batch(&request, &batch) : CLI_NO;
    } else if (status == CLI_DONE) {
        status = answer_stdin(&request, &batch);
    }
    free(batch.addresses);
    sxt_addr2line_close(&request.addr2line);
    return status;
}

static int run_words(int argc, char **argv)
{
    char **given = argv;
    expandargv(&argc, &argv);
    int status = run_expanded(argc, argv);
    if (argv != given)
        freeargv(argv);
    return status;
}

/* --- options --- */

__attribute__((format(printf, 2, 3))) static int fail(const struct request *request, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fflush(stdout);
    fprintf(stderr, "%s: ", request->program);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    va_end(values);
    return CLI_NO;
}

/* False if nothing is left to do after the option. */
static bool take(struct request *request, int letter, bool *done, int *status)
{
    switch (letter) {
    case 'a':
        return request->with_addresses = true;
    case 'b':
        request->target = optarg;
        return true;
    case 'C':
        request->readable = true;
        if (optarg != NULL && !sxt_addr2line_knows_style(optarg)) {
            *status = fail(request, "unknown demangling style `%s'", optarg);
            return false;
        }
        request->open.style = optarg != NULL ? optarg : request->open.style;
        return true;
    case 'e':
        request->file = optarg;
        return true;
    case 'f':
        return request->with_functions = true;
    case 'i':
        return request->with_inlines = true;
    case 'j':
        request->open.section = optarg;
        return true;
    case 'p':
        return request->pretty = true;
    case 'r':
        return request->open.no_nesting_limit = true;
    case 'R':
        request->open.no_nesting_limit = false;
        return true;
    case 's':
        return request->basenames = true;
    case 'h':
    case 'H':
        cli_print_help(&cli_addr2line, stdout);
        *done = true;
        return false;
    case 'v':
    case 'V':
        printf("sextant %s\n", sxt_version());
        *done = true;
        return false;
    default:
        cli_print_help(&cli_addr2line, stderr);
        *status = CLI_NO;
        return false;
    }
}

static int parse(struct request *request, int argc, char **argv, bool *done)
{
    static const struct option long_options[] = {
        {"addresses", no_argument, NULL, 'a'},
        {"basenames", no_argument, NULL, 's'},
        {"demangle", optional_argument, NULL, 'C'},
        {"exe", required_argument, NULL, 'e'},
        {"functions", no_argument, NULL, 'f'},
        {"inlines", no_argument, NULL, 'i'},
        {"pretty-print", no_argument, NULL, 'p'},
        {"recurse-limit", no_argument, NULL, 'R'},
        {"recursion-limit", no_argument, NULL, 'R'},
        {"no-recurse-limit", no_argument, NULL, 'r'},
        {"no-recursion-limit", no_argument, NULL, 'r'},
        {"section", required_argument, NULL, 'j'},
        {"target", required_argument, NULL, 'b'},
        {"help", no_argument, NULL, 'H'},
        {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0},
    };
    int status = CLI_DONE, letter;
    do
        letter = getopt_long(argc, argv, "ab:Ce:rRsfHhij:pVv", long_options, NULL);
    while (letter != -1 && take(request, letter, done, &status));
    return status;
}

/* --- the file --- */

/* GNU's messages for a file that cannot be read. An empty file is refused without one. */
static int check_file(const struct request *request)
{
    struct stat about;
    if (stat(request->file, &about) != 0) {
        if (errno == ENOENT)
            return fail(request, "'%s': No such file", request->file);
        return fail(request, "Warning: could not locate '%s'.  reason: %s", request->file, strerror(errno));
    }
    if (S_ISDIR(about.st_mode))
        return fail(request, "Warning: '%s' is a directory", request->file);
    if (!S_ISREG(about.st_mode))
        return fail(request, "Warning: '%s' is not an ordinary file", request->file);
    return about.st_size > 0 ? CLI_DONE : CLI_NO;
}

static bool is_target(const char *name)
{
    static const char *const others[] = {"default", "binary",     "ihex",     "pdb",        "pe-bigobj-x86-64",
                                         "pe-i386", "pe-x86-64",  "pei-i386", "pei-x86-64", "plugin",
                                         "srec",    "symbolsrec", "tekhex",   "verilog"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i]) == 0)
            return true;
    return strncmp(name, "elf32-", 6) == 0 || strncmp(name, "elf64-", 6) == 0;
}

static bool is_static_library(const char *path)
{
    char magic[8] = {0};
    FILE *file = fopen(path, "rb");
    bool read = file != NULL && fread(magic, 1, sizeof magic, file) == sizeof magic;
    if (file != NULL)
        fclose(file);
    return read && memcmp(magic, "!<arch>\n", sizeof magic) == 0;
}

static int open_file(struct request *request)
{
    int status = check_file(request);
    if (status != CLI_DONE)
        return status;
    if (request->target != NULL && !is_target(request->target))
        return fail(request, "%s: invalid bfd target", request->file);
    /* Plain bytes have no functions and lines. */
    if (request->target != NULL && strcmp(request->target, "binary") == 0)
        return CLI_DONE;
    if (is_static_library(request->file))
        return fail(request, "%s: cannot get addresses from archive", request->file);
    sxt_error error;
    switch (sxt_addr2line_open(request->file, &request->open, &request->addr2line, &error)) {
    case SXT_OK:
        return CLI_DONE;
    case SXT_ERROR_NOT_FOUND:
        return fail(request, "%s: cannot find section %s", request->file, request->open.section);
    case SXT_ERROR_FORMAT:
    case SXT_ERROR_UNSUPPORTED:
        return fail(request, "%s: file format not recognized", request->file);
    default:
        return fail(request, "%s: %s", request->file, error.text);
    }
}

/* --- questions --- */

static bool add_word(struct request *request, struct batch *batch, const char *word)
{
    uint64_t *addresses =
        sxt_array_grow(batch->addresses, &batch->capacity, batch->count + 1, sizeof *batch->addresses);
    if (addresses == NULL) {
        fail(request, "out of memory");
        return false;
    }
    batch->addresses = addresses;
    addresses[batch->count++] = request->addr2line != NULL ? sxt_addr2line_address(request->addr2line, word)
                                                           : (uint32_t)strtoull(word, NULL, 16);
    return true;
}

/* Takes the complete lines of TEXT (all of it at the END of the input); returns how many bytes they have. */
static size_t take_lines(struct request *request, struct batch *batch, const char *text, size_t size, bool end,
                         bool *failed)
{
    size_t at = 0;
    while (at < size && !*failed) {
        size_t left = size - at;
        /* GNU reads a line, or as much of it as fits into its buffer. */
        size_t most = left < LINE_MAX_SIZE ? left : LINE_MAX_SIZE;
        const char *newline = memchr(text + at, '\n', most);
        if (newline == NULL && most < LINE_MAX_SIZE && !end)
            break;
        size_t length = newline != NULL ? (size_t)(newline - (text + at)) + 1 : most;
        char word[LINE_MAX_SIZE + 1];
        memcpy(word, text + at, length);
        word[length] = 0;
        *failed = !add_word(request, batch, word);
        at += length;
    }
    return at;
}

/* All input that has arrived is one batch, which is answered before it waits for more. */
static int answer_stdin(struct request *request, struct batch *batch)
{
    char *text = malloc(READ_SIZE + LINE_MAX_SIZE);
    if (text == NULL)
        return fail(request, "out of memory");
    size_t size = 0;
    int status = CLI_DONE;
    bool end = false, failed = false;
    while (!end && status == CLI_DONE) {
        ssize_t got = read(STDIN_FILENO, text + size, READ_SIZE);
        if (got < 0 && errno == EINTR)
            continue;
        end = got <= 0;
        size += got > 0 ? (size_t)got : 0;
        size_t taken = take_lines(request, batch, text, size, end, &failed);
        size -= taken;
        memmove(text, text + taken, size);
        status = failed ? CLI_NO : answer_batch(request, batch);
        batch->count = 0;
    }
    free(text);
    return status;
}

/* --- answers --- */

static void print_text(sxt_string text)
{
    fwrite(text.data, 1, text.size, stdout);
}

static void print_unknown(const struct request *request)
{
    if (request->with_functions)
        fputs(request->pretty ? "?? " : "??\n", stdout);
    fputs("??:0\n", stdout);
}

static void print_function(const struct request *request, sxt_string name)
{
    if (name.size == 0)
        name = (sxt_string){"??", 2};
    else if (request->readable)
        name = sxt_addr2line_demangle(request->addr2line, name);
    print_text(name);
    fputs(request->pretty ? " at " : "\n", stdout);
}

static void print_file(const struct request *request, const sxt_addr2line_frame *frame)
{
    sxt_string file = frame->file.data != NULL ? frame->file : (sxt_string){"??", 2};
    const char *slash = request->basenames ? memrchr(file.data, '/', file.size) : NULL;
    if (slash != NULL)
        file = (sxt_string){slash + 1, file.size - (size_t)(slash + 1 - file.data)};
    print_text(file);
    if (frame->line == 0)
        fputs(":?\n", stdout);
    else if (frame->discriminator != 0)
        printf(":%u (discriminator %u)\n", frame->line, frame->discriminator);
    else
        printf(":%u\n", frame->line);
}

static void answer(const struct request *request, uint64_t address)
{
    sxt_addr2line *addr2line = request->addr2line;
    sxt_addr2line_frame frame = SXT_ADDR2LINE_FRAME_INIT;
    if (request->with_addresses)
        printf("0x%0*llx%s", addr2line != NULL ? (int)sxt_addr2line_digits(addr2line) : 8, (unsigned long long)address,
               request->pretty ? ": " : "\n");
    if (addr2line == NULL || !sxt_addr2line_find(addr2line, address, &frame)) {
        print_unknown(request);
        return;
    }
    for (;;) {
        if (request->with_functions)
            print_function(request, frame.function);
        print_file(request, &frame);
        if (!request->with_inlines || !sxt_addr2line_caller(addr2line, &frame))
            return;
        if (request->pretty)
            fputs(" (inlined by) ", stdout);
    }
}

static int answer_batch(struct request *request, struct batch *batch)
{
    sxt_error error;
    if (request->addr2line != NULL &&
        sxt_addr2line_load(request->addr2line, batch->addresses, batch->count, &error) != SXT_OK)
        return fail(request, "%s: %s", request->file, error.text);
    for (size_t i = 0; i < batch->count; i++)
        answer(request, batch->addresses[i]);
    /* A program at the other end of a pipe may wait for the answer. */
    return fflush(stdout) == 0 ? CLI_DONE : CLI_NO;
}
