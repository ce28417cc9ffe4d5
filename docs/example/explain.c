/*
 * explain.c: prints the name of an address, or why it has none.
 *
 *     cc explain.c $(pkg-config --cflags --libs sextant) -o explain
 *     ./explain /usr/bin/bash 0x30000
 */
#include <stdio.h>
#include <stdlib.h>

#include <sextant/sextant.h>

int main(int argc, char **argv)
{
    sxt_archive *archive = NULL;
    sxt_explainer *explainer = NULL;
    const sxt_explanation *found;
    sxt_frame frames[64];
    sxt_error error;
    char text[1024];

    if (argc != 3) {
        fprintf(stderr, "usage: explain FILE ADDRESS\n");
        return 2;
    }
    uint64_t address = strtoull(argv[2], NULL, 16);
    if (sxt_archive_open_path(argv[1], NULL, &archive, &error) != SXT_OK ||
        sxt_explainer_open(argv[1], NULL, &explainer, &error) != SXT_OK)
        goto fail;
    size_t count = sxt_archive_lookup(archive, address, frames, 64);
    if (sxt_explain_address(explainer, address, frames, count < 64 ? count : 64, &found, &error) != SXT_OK)
        goto fail;

    for (size_t i = 0; i < found->frame_count; i++)
        printf("%.*s, from %.*s\n", (int)found->frames[i].function.size, found->frames[i].function.data,
               (int)found->frames[i].section.size, found->frames[i].section.data);
    for (size_t i = 0; i < found->reason_count && sxt_explain_reason_text(found, i, text, sizeof text) > 0; i++)
        printf("%s: %s\n", found->lacks == SXT_LACKS_NAME ? "no name" : "no line", text);
    for (size_t i = 0; i < found->advice_count && sxt_explain_advice_text(found, i, text, sizeof text) > 0; i++)
        printf("to do: %s\n", text);
    sxt_explainer_close(&explainer);
    sxt_archive_close(&archive);
    return 0;
fail:
    fprintf(stderr, "%s: %s\n", argv[1], error.text);
    sxt_explainer_close(&explainer);
    sxt_archive_close(&archive);
    return 1;
}
