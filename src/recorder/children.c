/*
 * children.c: the processes that a program starts.
 *
 * The spool of the first process lists their numbers, whether they are recorded or not. A process may be added by the
 * one that starts it, by itself, or by both at the same time; it counts once.
 *
 * A program that is executed with another environment would not be recorded. So the variables that `sextant record`
 * has set are put into the environment of every program that is to be recorded.
 */
#include <string.h>
#include <unistd.h>

#include "recorder/hooks.h"
#include "recorder/recorder.h"

/* --- the list --- */

static bool is_listed(const struct sxt_spool_control *first, uint32_t pid)
{
    for (size_t i = 0; i < SXT_SPOOL_CHILDREN_MOST; i++)
        if ((__atomic_load_n(&first->children[i], __ATOMIC_RELAXED) & ~SXT_SPOOL_CHILD_FAILED) == pid)
            return true;
    return false;
}

static bool add(struct sxt_spool_control *first, uint32_t pid)
{
    if (is_listed(first, pid))
        return false;
    uint32_t index = __atomic_fetch_add(&first->child_count, 1, __ATOMIC_SEQ_CST) % SXT_SPOOL_CHILDREN_MOST;
    __atomic_store_n(&first->children[index], pid, __ATOMIC_SEQ_CST);
    /* If another process added the same number at the same time, the first of the two counts. */
    for (uint32_t i = 0; i < index; i++)
        if ((__atomic_load_n(&first->children[i], __ATOMIC_SEQ_CST) & ~SXT_SPOOL_CHILD_FAILED) == pid) {
            __atomic_store_n(&first->children[index], 0, __ATOMIC_SEQ_CST);
            __atomic_fetch_add(&first->double_children, 1, __ATOMIC_SEQ_CST);
            return false;
        }
    return true;
}

bool sxt_child_add(long pid)
{
    return sxt_recording.first != NULL && add(sxt_recording.first, (uint32_t)pid);
}

void sxt_child_count(void)
{
    if (sxt_recording.first == NULL)
        return;
    __atomic_fetch_add(&sxt_recording.first->child_count, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&sxt_recording.first->unknown_children, 1, __ATOMIC_SEQ_CST);
}

/* The slot of a process; NULL: it is not in the list. */
static uint32_t *slot_of(struct sxt_spool_control *first, uint32_t pid)
{
    for (size_t i = 0; i < SXT_SPOOL_CHILDREN_MOST; i++)
        if (__atomic_load_n(&first->children[i], __ATOMIC_RELAXED) == pid)
            return &first->children[i];
    return NULL;
}

void sxt_child_add_failed(long pid)
{
    sxt_child_add(pid);
    uint32_t *slot = sxt_recording.first != NULL ? slot_of(sxt_recording.first, (uint32_t)pid) : NULL;
    if (slot != NULL)
        __atomic_store_n(slot, (uint32_t)pid | SXT_SPOOL_CHILD_FAILED, __ATOMIC_SEQ_CST);
}

void sxt_child_remove(long pid)
{
    uint32_t *slot = sxt_recording.first != NULL ? slot_of(sxt_recording.first, (uint32_t)pid) : NULL;
    if (slot == NULL)
        return;
    __atomic_store_n(slot, 0, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&sxt_recording.first->double_children, 1, __ATOMIC_SEQ_CST);
}

/* --- the environment --- */

#define ENTRY_MOST 4200

enum { PRELOAD, SPOOL, PROCESS, CHILDREN, SANITIZER, ENTRIES };

static const char *const names[ENTRIES] = {
    "LD_PRELOAD=", "SEXTANT_RECORD=", "SEXTANT_RECORD_PID=", "SEXTANT_RECORD_CHILDREN=", "ASAN_OPTIONS="};
static char entries[ENTRIES][ENTRY_MOST]; /* "" if it is not needed */

/* The entry for a name that ends in '='; NULL: there is none. */
static const char *entry_of(char *const *environment, const char *name)
{
    size_t size = strlen(name);
    for (char *const *at = environment; at != NULL && *at != NULL; at++)
        if (strlen(*at) >= size && memcmp(*at, name, size) == 0)
            return *at;
    return NULL;
}

static bool keep(char *entry, const char *first, const char *second)
{
    size_t size = strlen(first), more = strlen(second);
    if (size + more >= ENTRY_MOST)
        return false;
    memcpy(entry, first, size);
    memcpy(entry + size, second, more + 1);
    return true;
}

void sxt_environment_keep(void)
{
    bool done = keep(entries[PRELOAD], names[PRELOAD], sxt_own_path());
    for (int i = SPOOL; i <= CHILDREN && done; i++) {
        const char *entry = entry_of(environ, names[i]);
        done = keep(entries[i], entry != NULL ? entry : "", "");
    }
    keep(entries[SANITIZER], names[SANITIZER], "verify_asan_link_order=0");
    if (!done)
        entries[SPOOL][0] = 0;
}

/* Is PART in the entry for NAME? */
static bool has_part(char *const *environment, const char *name, const char *part)
{
    const char *entry = entry_of(environment, name);
    size_t size = strlen(part);
    for (; entry != NULL && *entry != 0; entry++)
        if (*entry == *part && strlen(entry) >= size && memcmp(entry, part, size) == 0)
            return true;
    return false;
}

bool sxt_environment_has_recorder(char *const *environment)
{
    for (int i = SPOOL; i <= CHILDREN; i++) {
        const char *entry = entry_of(environment, names[i]);
        if (entries[i][0] != 0 && (entry == NULL || strcmp(entry, entries[i]) != 0))
            return false;
    }
    return has_part(environment, names[PRELOAD], entries[PRELOAD] + strlen(names[PRELOAD]));
}

/* One of ours, which replaces an entry of the program? */
static bool is_replaced(const char *entry)
{
    for (int i = PRELOAD; i <= CHILDREN; i++)
        if (strlen(entry) >= strlen(names[i]) && memcmp(entry, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* The recorder comes first, then what the program preloads. */
static char *join_preloads(char *at, const char *theirs)
{
    size_t size = strlen(entries[PRELOAD]);
    memcpy(at, entries[PRELOAD], size);
    at[size] = ':';
    theirs += strlen(names[PRELOAD]);
    memcpy(at + size + 1, theirs, strlen(theirs) + 1);
    return at;
}

char *const *sxt_environment_for(char *const *environment, long pid, struct environment_copy *made)
{
    size_t count = 0;
    *made = (struct environment_copy){NULL, 0};
    if (entries[SPOOL][0] == 0 || !sxt_is_followed(pid) || sxt_environment_has_recorder(environment))
        return environment;
    const char *spool = entry_of(environment, names[SPOOL]);
    if (spool != NULL && strcmp(spool, entries[SPOOL]) != 0) /* another `sextant record` starts it */
        return environment;
    const char *preloads = entry_of(environment, names[PRELOAD]);
    const char *sanitizer = entry_of(environment, names[SANITIZER]);
    /* A sanitizer would end the program because the recorder is loaded before it. */
    if (sanitizer != NULL && !has_part(environment, names[SANITIZER], "verify_asan_link_order=0"))
        return environment;
    for (char *const *at = environment; at != NULL && *at != NULL; at++)
        count++;
    size_t text = preloads != NULL ? strlen(preloads) + ENTRY_MOST : 0;
    size_t size = (count + ENTRIES + 1) * sizeof(char *) + text;
    char **copy = sxt_map_memory(size);
    if (copy == NULL)
        return environment;
    *made = (struct environment_copy){copy, size};
    size_t used = 0;
    for (int i = PRELOAD; i < ENTRIES; i++) {
        if (i == PRELOAD && preloads != NULL && preloads[strlen(names[PRELOAD])] != 0)
            copy[used++] = join_preloads((char *)(copy + count + ENTRIES + 1), preloads);
        else if (entries[i][0] != 0 && !(i == SANITIZER && sanitizer != NULL))
            copy[used++] = entries[i];
    }
    for (char *const *at = environment; at != NULL && *at != NULL; at++)
        if (!is_replaced(*at))
            copy[used++] = *at;
    copy[used] = NULL;
    return copy;
}
