/* verbs.c: all verbs, in the order in which help lists them. */
#include "cli/verbs.h"

const struct cli_verb *const cli_verbs[] = {
    &cli_archive, &cli_lookup,    &cli_addr2line, &cli_dump,   &cli_info,  &cli_verify,   &cli_convert,
    &cli_size,    &cli_diff,      &cli_query,     &cli_record, &cli_heap,  &cli_report,   &cli_view,
    &cli_fileid,  &cli_symbolize, &cli_push,      &cli_serve,  &cli_store, &cli_generate, NULL,
};

void cli_print_verbs(FILE *stream)
{
    for (size_t i = 0; cli_verbs[i] != NULL; i++)
        if (!cli_verbs[i]->hidden)
            fprintf(stream, "  %-10s %s\n", cli_verbs[i]->name, cli_verbs[i]->summary);
}
