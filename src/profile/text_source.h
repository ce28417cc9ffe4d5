/*
 * text_source.h: text whose symbols come from archives that the caller has, and whose answers the caller gets as
 * frames. A symbol service names the addresses in text with it.
 */
#ifndef SXT_PROFILE_TEXT_SOURCE_H
#define SXT_PROFILE_TEXT_SOURCE_H

#include <sextant/profile.h>

struct sxt_text_match;

struct sxt_text_source {
    /*
     * The archive of the file that was loaded under NAME ("[kernel.kallsyms]" for the kernel, and for addresses without
     * a module) and has BUILD_ID, which may be absent. NULL if there is none. It lives until the modules are closed, is
     * not closed by them, and is asked for once.
     */
    const sxt_archive *(*find)(void *data, sxt_string name, sxt_string build_id);

    /* Something costs a part of the answers. May be NULL. */
    void (*warn)(void *data, const char *text);

    /* A line begins: what was answered for it before does not count. Then its answers, and its end. */
    void (*begin)(void *data);
    void (*answer)(void *data, sxt_string module, uint64_t address, const sxt_frame *frames, size_t count);
    void (*end)(void *data, const char *line, size_t size);
    void *data;
};

/* SOURCE must live as long as *OUT. */
int sxt_modules_open_source(const struct sxt_text_source *source, sxt_modules **out, sxt_error *error);

/* The module and build ID of each address that LINE mentions, without its newline. */
void sxt_text_visit_modules(const char *line, size_t size,
                            void (*visit)(void *data, sxt_string module, sxt_string build_id), void *data);

#endif
