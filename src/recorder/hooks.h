/* hooks.h: the real functions that the hooks call. */
#ifndef SXT_RECORDER_HOOKS_H
#define SXT_RECORDER_HOOKS_H

#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* What the program calls when it is not recorded. */
struct real_functions {
    void *(*malloc)(size_t);
    void (*free)(void *);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*reallocarray)(void *, size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    void *(*mmap)(void *, size_t, int, int, int, off_t);
    int (*munmap)(void *, size_t);
    void *(*mremap)(void *, size_t, size_t, int, void *);
    int (*mprotect)(void *, size_t, int);
    int (*pkey_mprotect)(void *, size_t, int, int);
    void *(*sbrk)(intptr_t);
    int (*brk)(void *);
    int (*dlclose)(void *);
    pid_t (*fork)(void);
    pid_t (*_Fork)(void);
    int (*execve)(const char *, char *const[], char *const[]);
    int (*execvpe)(const char *, char *const[], char *const[]);
    int (*fexecve)(int, char *const[], char *const[]);
    int (*execveat)(int, const char *, char *const[], char *const[], int);
    int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                       char *const[], char *const[]);
    int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                        char *const[], char *const[]);
    int (*system)(const char *);
    FILE *(*popen)(const char *, const char *);
    int (*clone)(int (*)(void *), void *, int, void *, ...);
};

/* Complete once sxt_real_ready is true; until then the early pool serves. */
extern struct real_functions sxt_real;
extern bool sxt_real_ready;

/* Finds them if they are not known yet. False while the search is under way: dlsym itself allocates. */
bool sxt_real_find(void);

/* The early pool, for those few allocations. Its memory is never freed. */
void *sxt_early_alloc(size_t alignment, size_t size);
size_t sxt_early_size(const void *block);

#define EARLY_POOL_SIZE 65536
extern char sxt_early_pool[EARLY_POOL_SIZE];

static inline bool sxt_early_has(const void *block)
{
    return (uintptr_t)block - (uintptr_t)sxt_early_pool < EARLY_POOL_SIZE;
}

#endif
