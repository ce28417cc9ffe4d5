/*
 * push_inputs.c: which files push sends. Folders are searched; a file that is there twice is sent once; a debug file
 * completes the program that has its build ID.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "cli/push.h"

void cli_push_free_inputs(struct cli_push_inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++) {
        free(inputs->list[i].found);
        free((void *)inputs->list[i].symbfiles);
    }
    free(inputs->list);
    *inputs = (struct cli_push_inputs){0};
}

static struct cli_push_input *add(struct cli_push_inputs *inputs, const char *path)
{
    void *moved = sxt_array_grow(inputs->list, &inputs->capacity, inputs->count + 1, sizeof *inputs->list);
    if (moved == NULL)
        return NULL;
    inputs->list = moved;
    struct cli_push_input *input = &inputs->list[inputs->count++];
    *input = (struct cli_push_input){.path = path};
    return input;
}

static void fail(struct cli_push_input *input, const char *text)
{
    input->state = CLI_PUSH_FAILED;
    input->status = sxt_fail(&input->error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "%s", text);
}

/* --- what a file is --- */

static void identify_elf(struct cli_push_input *input)
{
    sxt_binary binary = {.struct_size = sizeof binary};
    input->status = sxt_identify_binary(input->path, &binary, &input->error);
    if (input->status != SXT_OK) {
        input->state = CLI_PUSH_FAILED;
        return;
    }
    memcpy(input->file_id, binary.file_id, sizeof input->file_id);
    memcpy(input->build_id, binary.build_id, sizeof input->build_id);
    input->has_code = binary.has_code;
    input->has_dwarf = binary.has_dwarf;
}

static void identify_symbfile(struct cli_push_input *input, const char *file_id)
{
    input->has_code = true;
    input->status = sxt_push_identify_symbfile(input->path, input->file_id, input->build_id, &input->error);
    input->symbfiles = input->status == SXT_OK ? malloc(sizeof *input->symbfiles) : NULL;
    if (input->status != SXT_OK)
        input->state = CLI_PUSH_FAILED;
    else if (input->symbfiles == NULL)
        fail(input, "out of memory");
    else if (input->file_id[0] == 0 && file_id == NULL)
        fail(input, "the symbfile does not say which binary it is of; use --file-id");
    else
        input->symbfiles[input->symbfile_count++] = input->path;
}

static void identify(struct cli_push_input *input, const char *file_id, bool has_debug)
{
    struct stat attributes;
    sxt_kind kind = SXT_KIND_UNKNOWN;
    if (strcmp(input->path, "-") == 0) {
        fail(input, "standard input cannot be pushed");
        return;
    }
    if (stat(input->path, &attributes) == 0 && S_ISDIR(attributes.st_mode)) {
        fail(input, "a directory; use --recursive DIR");
        return;
    }
    input->status = sxt_identify_path(input->path, &kind, &input->error);
    if (input->status != SXT_OK)
        input->state = CLI_PUSH_FAILED;
    else if (kind == SXT_KIND_ELF)
        identify_elf(input);
    else if (kind == SXT_KIND_SYMBFILE && has_debug)
        fail(input, "a symbfile; --debug is for an ELF file");
    else if (kind == SXT_KIND_SYMBFILE)
        identify_symbfile(input, file_id);
    else
        fail(input, "not an ELF file or a symbfile");
}

/* --- folders --- */

/* Is this a program or a shared library? Others are left alone without a word. */
static bool is_loadable(const char *path, int *problem)
{
    unsigned char head[EI_NIDENT + 2];
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    *problem = file < 0 ? errno : 0;
    if (file < 0)
        return false;
    ssize_t size = read(file, head, sizeof head);
    *problem = size < 0 ? errno : 0;
    close(file);
    if (size != (ssize_t)sizeof head || memcmp(head, ELFMAG, SELFMAG) != 0)
        return false;
    bool is_big = head[EI_DATA] == ELFDATA2MSB;
    unsigned type = is_big ? (unsigned)(head[EI_NIDENT] << 8 | head[EI_NIDENT + 1])
                           : (unsigned)(head[EI_NIDENT + 1] << 8 | head[EI_NIDENT]);
    return type == ET_EXEC || type == ET_DYN;
}

static bool add_found(struct cli_push_inputs *inputs, const char *path)
{
    int problem = 0;
    if (!is_loadable(path, &problem) && problem == 0) {
        inputs->other_files++;
        return true;
    }
    struct cli_push_input *input = add(inputs, path);
    if (input != NULL)
        input->path = input->found = strdup(path);
    if (input == NULL || input->found == NULL)
        return false;
    if (problem != 0) {
        input->state = CLI_PUSH_FAILED;
        input->status = sxt_fail_errno(&input->error, problem, "cannot open");
        return true;
    }
    identify_elf(input);
    /* It begins like one, but is damaged. */
    return true;
}

/* Symbolic links are not followed, so there are no loops; what they lead to is found under its own name. */
static int search_folder(struct cli_push_inputs *inputs, const char *folder)
{
    char *const folders[] = {(char *)(uintptr_t)folder, NULL};
    FTS *walk = fts_open(folders, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
    FTSENT *entry;
    bool is_good = true;
    if (walk == NULL)
        return cli_fail_text(folder, "%s", strerror(errno));
    while (is_good && (entry = fts_read(walk)) != NULL) {
        switch (entry->fts_info) {
        case FTS_F:
            /* Devices and pipes would block. */
            if (S_ISREG(entry->fts_statp->st_mode))
                is_good = add_found(inputs, entry->fts_path);
            break;
        case FTS_DNR:
        case FTS_ERR:
        case FTS_NS:
            inputs->failed++;
            cli_fail_text(entry->fts_path, "%s", strerror(entry->fts_errno));
            break;
        default:
            break;
        }
    }
    fts_close(walk);
    return is_good ? CLI_DONE : cli_fail_text(NULL, "out of memory");
}

/* --- which are the same --- */

static int by_file_id(const void *a, const void *b)
{
    const struct cli_push_input *left = *(struct cli_push_input *const *)a, *right = *(struct cli_push_input *const *)b;
    int order = strcmp(left->file_id, right->file_id);
    return order != 0 ? order : left < right ? -1 : left > right;
}

/* With the most first. */
static int by_build_id(const void *a, const void *b)
{
    const struct cli_push_input *left = *(struct cli_push_input *const *)a, *right = *(struct cli_push_input *const *)b;
    int order = strcmp(left->build_id, right->build_id);
    if (order == 0)
        order = right->has_dwarf - left->has_dwarf;
    return order != 0 ? order : left < right ? -1 : left > right;
}

/* Symbfiles of one binary are sent together. */
static bool join_symbfile(struct cli_push_input *first, struct cli_push_input *other)
{
    void *moved = realloc((void *)first->symbfiles, (first->symbfile_count + 1) * sizeof *first->symbfiles);
    if (moved == NULL)
        return false;
    first->symbfiles = moved;
    first->symbfiles[first->symbfile_count++] = other->path;
    if (first->build_id[0] == 0)
        memcpy(first->build_id, other->build_id, sizeof first->build_id);
    other->state = CLI_PUSH_JOINED;
    return true;
}

static bool drop_same(struct cli_push_input **list, size_t count)
{
    struct cli_push_input *first = list[0];
    for (size_t i = 1; i < count; i++) {
        struct cli_push_input *other = list[i];
        if (strcmp(first->file_id, other->file_id) != 0) {
            first = other;
        } else if (first->symbfiles != NULL && other->symbfiles != NULL) {
            if (!join_symbfile(first, other))
                return false;
        } else {
            other->state = CLI_PUSH_SAME;
        }
    }
    return true;
}

/*
 * The files of one build ID, with the most first. A program without debug information gets that of another file: its
 * debug file, or itself before it was stripped. A debug file alone has no FileID that anybody would ask for.
 */
static void pair_debug_files(struct cli_push_input **list, size_t count, bool is_forced)
{
    bool has_program = false;
    for (size_t i = 0; i < count; i++)
        has_program |= list[i]->has_code;
    for (size_t i = 0; i < count; i++) {
        struct cli_push_input *input = list[i];
        if (input->symbfiles != NULL)
            continue;
        if (input->has_code && !input->has_dwarf && list[0]->has_dwarf && list[0]->symbfiles == NULL)
            input->debug = list[0]->path;
        else if (!input->has_code && has_program)
            input->state = CLI_PUSH_JOINED;
        else if (!input->has_code && input->found != NULL)
            input->state = CLI_PUSH_IGNORED;
        else if (!input->has_code && !is_forced)
            fail(input, "a debug file, without the code of its program; push the program with --debug FILE, "
                        "or give the FileID of the program with --file-id");
    }
}

static int compare_inputs(struct cli_push_inputs *inputs, bool is_forced)
{
    struct cli_push_input **list = malloc((inputs->count + 1) * sizeof(*list));
    size_t count = 0;
    bool is_good = list != NULL;
    for (size_t i = 0; is_good && i < inputs->count; i++)
        if (inputs->list[i].state == CLI_PUSH_READY)
            list[count++] = &inputs->list[i];
    if (is_good && count > 0) {
        qsort(list, count, sizeof *list, by_file_id);
        is_good = drop_same(list, count);
    }
    if (is_good && count > 0)
        qsort(list, count, sizeof *list, by_build_id);
    for (size_t begin = 0, end; is_good && begin < count; begin = end) {
        for (end = begin + 1;
             end < count && list[begin]->build_id[0] != 0 && strcmp(list[begin]->build_id, list[end]->build_id) == 0;)
            end++;
        pair_debug_files(list + begin, end - begin, is_forced);
    }
    free(list);
    return is_good ? CLI_DONE : cli_fail_text(NULL, "out of memory");
}

/* --- the command line --- */

/* --file-id and --build-id name one binary: one ELF file, or symbfiles. */
static int take_ids(const struct cli_arguments *arguments, struct cli_push_inputs *inputs)
{
    const char *file_id = cli_value(arguments, "file-id"), *build_id = cli_value(arguments, "build-id");
    char hex[33];
    size_t files = 0;
    if (file_id == NULL && build_id == NULL)
        return CLI_DONE;
    if (cli_given(arguments, "recursive"))
        return cli_usage(arguments->verb, "--file-id and --build-id are for one binary, not for --recursive");
    if (file_id != NULL && !sxt_push_parse_file_id(file_id, hex))
        return cli_usage(arguments->verb, "not a FileID (32 hexadecimal digits, or base64url): '%s'", file_id);
    size_t digits = build_id != NULL ? strspn(build_id, "0123456789abcdefABCDEF") : 0;
    if (build_id != NULL && (digits == 0 || digits % 2 != 0 || digits > 128 || build_id[digits] != 0))
        return cli_usage(arguments->verb, "not a build ID in hexadecimal: '%s'", build_id);
    for (size_t i = 0; i < inputs->count; i++) {
        struct cli_push_input *input = &inputs->list[i];
        files += input->symbfiles == NULL;
        if (file_id != NULL)
            memcpy(input->file_id, hex, sizeof hex);
        for (size_t k = 0; build_id != NULL && k <= digits; k++)
            input->build_id[k] = (char)(build_id[k] >= 'A' && build_id[k] <= 'F' ? build_id[k] + 32 : build_id[k]);
    }
    if (files > 0 && inputs->count > 1)
        return cli_usage(arguments->verb, "--file-id and --build-id are for one binary, or for its symbfiles");
    return CLI_DONE;
}

int cli_push_find_inputs(const struct cli_arguments *arguments, struct cli_push_inputs *out)
{
    const char *file_id = cli_value(arguments, "file-id"), *folder;
    int status = CLI_DONE;
    *out = (struct cli_push_inputs){0};
    for (size_t i = 0; i < arguments->word_count && status == CLI_DONE; i++) {
        struct cli_push_input *input = add(out, arguments->words[i]);
        if (input == NULL)
            return cli_fail_text(NULL, "out of memory");
        identify(input, file_id, cli_given(arguments, "debug"));
    }
    if (status == CLI_DONE)
        status = take_ids(arguments, out);
    for (size_t i = 0; status == CLI_DONE && (folder = cli_value_at(arguments, "recursive", i)) != NULL; i++)
        status = search_folder(out, folder);
    return status == CLI_DONE ? compare_inputs(out, file_id != NULL) : status;
}
