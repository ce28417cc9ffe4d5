/* push.h: the files that push was given, and what became of each. */
#ifndef SXT_CLI_PUSH_H
#define SXT_CLI_PUSH_H

#include "cli/cli.h"
#include "push/push.h"

/* What is to be done with a file, or was done. */
enum cli_push_state {
    CLI_PUSH_READY,
    CLI_PUSH_FAILED,
    CLI_PUSH_SAME,   /* another one has the same FileID */
    CLI_PUSH_JOINED, /* it is sent with another one: its debug file, or another symbfile of the same binary */
    CLI_PUSH_IGNORED /* found by --recursive, and nothing to push */
};

/* A binary, or symbfiles that were made from one. */
struct cli_push_input {
    const char *path;       /* for messages; the first one */
    char *found;            /* the same if it was found by --recursive; to be freed */
    const char **symbfiles; /* of the same binary; NULL for an ELF file */
    size_t symbfile_count;
    const char *debug; /* a debug file among the inputs that completes it, or NULL */
    char file_id[33], build_id[130];
    bool has_code, has_dwarf;
    enum cli_push_state state;
    int status; /* of: */
    sxt_error error;
};

struct cli_push_inputs {
    struct cli_push_input *list;
    size_t count, capacity;
    uint64_t other_files; /* found by --recursive: neither programs nor libraries */
    uint64_t failed;      /* folders that could not be read */
};

/*
 * Finds all files of the command line: what they are, and which are the same. Prints what is wrong with folders and
 * with the command line, and returns the exit status; what is wrong with a file is in its input.
 */
int cli_push_find_inputs(const struct cli_arguments *arguments, struct cli_push_inputs *out);
void cli_push_free_inputs(struct cli_push_inputs *inputs);

/* What became of an input. */
struct cli_push_result {
    const struct cli_push_input *input;
    const struct sxt_push_binary *binary; /* NULL if it was not read */
    const struct sxt_push_outcome *outcome;
    const char *state; /* "pushed", "skipped", "failed", "dry run" */
    const char *reason;
    const sxt_error *error; /* NULL unless it failed */
};

/* Prints a line on standard output. */
void cli_push_print(struct sxt_emit *emit, const struct cli_push_result *result);

#endif
