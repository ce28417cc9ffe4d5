/* server_options.c: the options of verbs that ask a symbol service. */
#include "cli/server_options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#define HASH_PREFIX "sha256$"

static int read_key_file(const char *path, char **key);

int cli_server_options(const struct cli_arguments *arguments, struct cli_server *server)
{
    const char *key_file = cli_value(arguments, "api-key-file"), *variable = getenv("SEXTANT_API_KEY");
    *server = (struct cli_server){
        .url = cli_value(arguments, "url"),
        .api_key = cli_value(arguments, "api-key"),
        .ca_file = cli_value(arguments, "ca"),
    };
    const char *needless = server->api_key != NULL   ? "--api-key"
                           : key_file != NULL        ? "--api-key-file"
                           : server->ca_file != NULL ? "--ca"
                                                     : NULL;
    if (server->url == NULL && needless != NULL)
        return cli_usage(arguments->verb, "%s is for a symbol service (--url URL)", needless);
    if (server->api_key != NULL && key_file != NULL)
        return cli_usage(arguments->verb, "--api-key and --api-key-file cannot be used together");
    if (server->ca_file != NULL) {
        int file = open(server->ca_file, O_RDONLY | O_CLOEXEC);
        if (file < 0)
            return cli_fail_text(server->ca_file, "cannot open: %s", strerror(errno));
        close(file);
    }
    if (key_file != NULL) {
        int status = read_key_file(key_file, &server->from_file);
        server->api_key = server->from_file;
        return status;
    }
    if (server->api_key == NULL && server->url != NULL && variable != NULL && *variable != 0)
        server->api_key = variable;
    return CLI_DONE;
}

void cli_server_free(struct cli_server *server)
{
    free(server->from_file);
    *server = (struct cli_server){0};
}

/* The first line that is neither empty nor a comment, without white space around it. False if there is none. */
static bool find_line(const struct sxt_file *file, sxt_string *line)
{
    const char *text = (const char *)file->data, *limit = text + file->size;
    while (text < limit) {
        const char *newline = memchr(text, '\n', (size_t)(limit - text));
        const char *end = newline != NULL ? newline : limit, *next = newline != NULL ? newline + 1 : limit;
        while (text < end && (*text == ' ' || *text == '\t'))
            text++;
        while (end > text && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
            end--;
        if (text < end && *text != '#') {
            *line = (sxt_string){text, (size_t)(end - text)};
            return true;
        }
        text = next;
    }
    return false;
}

/* A line is a key, or a line of a server's key file: id:key[:scopes[:tenant]], from which the key is taken. */
static int read_key_file(const char *path, char **key)
{
    struct sxt_file file;
    sxt_string line;
    sxt_error error;
    if (sxt_file_open(&file, path, &error) != SXT_OK)
        return cli_fail(path, &error);
    int status = CLI_DONE;
    if (!find_line(&file, &line))
        status = cli_fail_text(path, "no API key in this file (a line id:key)");
    else if (memchr(line.data, 0, line.size) != NULL)
        status = cli_fail_text(path, "not a file with an API key (a line id:key)");
    else if ((*key = strndup(line.data, line.size)) == NULL)
        status = cli_fail_text(NULL, "out of memory");
    sxt_file_close(&file);
    char *secret = status == CLI_DONE ? strchr(*key, ':') : NULL;
    char *rest = secret != NULL ? strchr(secret + 1, ':') : NULL;
    if (rest != NULL)
        *rest = 0;
    if (secret != NULL && strncmp(secret + 1, HASH_PREFIX, strlen(HASH_PREFIX)) == 0)
        status = cli_fail_text(path, "the first line has only the hash of a key, which cannot be sent");
    return status;
}
