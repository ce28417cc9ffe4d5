/* lookup_input.h: what lookup is asked: words of the command line, or lines of standard input. */
#ifndef SXT_CLI_LOOKUP_INPUT_H
#define SXT_CLI_LOOKUP_INPUT_H

#include "answer/answer.h"
#include "base/buffer.h"
#include "cli/cli.h"

/* Standard input read so far. */
struct cli_lookup_input {
    struct sxt_buffer pending; /* not answered yet */
    bool ended;
};

void cli_lookup_input_init(struct cli_lookup_input *input);
void cli_lookup_input_free(struct cli_lookup_input *input);

/* Waits for input, and reads all that is there. Sets `ended` at the end. Returns the exit status. */
int cli_lookup_input_read(struct cli_lookup_input *input);

/* Answers COUNT questions, of which only the texts are set. Returns the exit status; not CLI_DONE ends the run. */
typedef int cli_lookup_batch(void *data, struct sxt_answer *answers, size_t count);

/* Where the answers come from, how many questions they take at once, and where they are printed. */
struct cli_lookup_answers {
    cli_lookup_batch *answer;
    void *data;
    size_t batch;
    struct sxt_emit *emit;
};

/* The words from number FIRST on. */
int cli_lookup_words(const struct cli_arguments *arguments, size_t first, const struct cli_lookup_answers *answers);

/* Standard input, to its end. All that has arrived is answered before more is waited for. */
int cli_lookup_stdin(struct cli_lookup_input *input, const struct cli_lookup_answers *answers);

/* TEXT without the blanks at both ends. */
sxt_string cli_lookup_trim(const char *text, size_t size);

/* Sets is_address and asked of ANSWER from its text; warns about FILE and returns false if it is not an address. */
bool cli_lookup_parse(struct sxt_answer *answer, const char *file);

#endif
