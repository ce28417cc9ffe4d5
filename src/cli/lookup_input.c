/* lookup_input.c: reads addresses for lookup, and gives them to it in batches. */
#include "cli/lookup_input.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_SIZE ((size_t)1 << 20)
#define READ_SIZE     ((size_t)64 << 10)

void cli_lookup_input_init(struct cli_lookup_input *input)
{
    input->ended = false;
    sxt_buffer_init(&input->pending, LINE_MAX_SIZE);
}

void cli_lookup_input_free(struct cli_lookup_input *input)
{
    sxt_buffer_free(&input->pending);
}

int cli_lookup_input_read(struct cli_lookup_input *input)
{
    struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
    do {
        uint8_t *room = sxt_buffer_reserve(&input->pending, READ_SIZE);
        if (room == NULL && memchr(input->pending.data, '\n', input->pending.size) != NULL)
            break; /* enough to continue */
        ssize_t got = room != NULL ? read(STDIN_FILENO, room, READ_SIZE) : -1;
        if (got < 0 && room != NULL && errno == EINTR)
            continue;
        if (got < 0)
            return room != NULL ? cli_fail_text("-", "cannot read: %s", strerror(errno))
                                : cli_fail_text("-", "a line is longer than 1 MiB");
        input->ended = got == 0;
        if (got > 0)
            input->pending.size += (size_t)got;
        else if (input->pending.size > 0 && input->pending.data[input->pending.size - 1] != '\n')
            sxt_buffer_u8(&input->pending, '\n');
    } while (!input->ended && poll(&ready, 1, 0) > 0);
    input->pending.failed = false;
    return CLI_DONE;
}

int cli_lookup_words(const struct cli_arguments *arguments, size_t first, const struct cli_lookup_answers *answers)
{
    struct sxt_answer *batch = malloc(answers->batch * sizeof *batch);
    int status = batch != NULL ? CLI_DONE : cli_fail_text(NULL, "out of memory");
    size_t count = 0;
    for (size_t i = first; i < arguments->word_count && status == CLI_DONE; i++) {
        const char *word = arguments->words[i];
        batch[count++] = (struct sxt_answer){.text = cli_lookup_trim(word, strlen(word))};
        if (count == answers->batch || i + 1 == arguments->word_count) {
            status = answers->answer(answers->data, batch, count);
            count = 0;
        }
    }
    free(batch);
    return status;
}

/* Answers all lines that are complete, and removes them. */
static int answer_pending(struct sxt_buffer *pending, struct sxt_answer *batch,
                          const struct cli_lookup_answers *answers)
{
    size_t start = 0, count = 0;
    int status = CLI_DONE;
    for (const uint8_t *end; start < pending->size && status == CLI_DONE &&
                             (end = memchr(pending->data + start, '\n', pending->size - start)) != NULL;) {
        size_t size = (size_t)(end - pending->data) - start;
        batch[count++] = (struct sxt_answer){.text = cli_lookup_trim((const char *)pending->data + start, size)};
        start += size + 1;
        if (count == answers->batch) {
            status = answers->answer(answers->data, batch, count);
            count = 0;
        }
    }
    if (status == CLI_DONE)
        status = answers->answer(answers->data, batch, count);
    if (start > 0)
        memmove(pending->data, pending->data + start, pending->size - start);
    pending->size -= start;
    return status;
}

int cli_lookup_stdin(struct cli_lookup_input *input, const struct cli_lookup_answers *answers)
{
    struct sxt_answer *batch = malloc(answers->batch * sizeof *batch);
    if (batch == NULL)
        return cli_fail_text(NULL, "out of memory");
    int status;
    sxt_error error;
    do
        status = answer_pending(&input->pending, batch, answers);
    while (status == CLI_DONE && sxt_emit_finish(answers->emit, &error) == SXT_OK && !input->ended &&
           (status = cli_lookup_input_read(input)) == CLI_DONE);
    free(batch);
    return status;
}

sxt_string cli_lookup_trim(const char *text, size_t size)
{
    while (size > 0 && (*text == ' ' || *text == '\t')) {
        text++;
        size--;
    }
    while (size > 0 && (text[size - 1] == ' ' || text[size - 1] == '\t' || text[size - 1] == '\r'))
        size--;
    return (sxt_string){text, size};
}

bool cli_lookup_parse(struct sxt_answer *answer, const char *file)
{
    char text[32];
    answer->is_address = answer->text.size < sizeof text;
    if (answer->is_address) {
        memcpy(text, answer->text.data, answer->text.size);
        text[answer->text.size] = 0;
        answer->is_address = cli_parse_address(text, &answer->asked);
    }
    if (!answer->is_address)
        cli_warn(file, "not a hexadecimal address: '%.*s'", (int)(answer->text.size < 200 ? answer->text.size : 200),
                 answer->text.data);
    return answer->is_address;
}
