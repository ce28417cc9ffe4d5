/*
 * real.c: finds the functions that the hooks call.
 *
 * They are the next ones in search order, so a preloaded or linked allocator is used if there is one. All of them are
 * there: for a name that is missing, dlsym would allocate the text of an error, from an allocator that may be calling
 * us while it holds its locks. dlsym may allocate otherwise; until the functions are found, memory comes from a small
 * pool.
 */
#include <dlfcn.h>
#include <string.h>

#include "recorder/hooks.h"

#define POOL_HEAD 16 /* in front of every block: its size */

struct real_functions sxt_real;
bool sxt_real_ready;

static bool is_finding;
char sxt_early_pool[EARLY_POOL_SIZE] __attribute__((aligned(64)));
static size_t pool_used;

/* C does not convert object pointers to function pointers; copying the bytes is allowed. */
static void find(const char *name, void *function)
{
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, sizeof found);
}

bool sxt_real_find(void)
{
    if (__atomic_load_n(&sxt_real_ready, __ATOMIC_ACQUIRE))
        return true;
    if (is_finding)
        return false;
    is_finding = true;
    find("malloc", &sxt_real.malloc);
    find("free", &sxt_real.free);
    find("calloc", &sxt_real.calloc);
    find("realloc", &sxt_real.realloc);
    find("reallocarray", &sxt_real.reallocarray);
    find("posix_memalign", &sxt_real.posix_memalign);
    find("aligned_alloc", &sxt_real.aligned_alloc);
    find("memalign", &sxt_real.memalign);
    find("valloc", &sxt_real.valloc);
    find("pvalloc", &sxt_real.pvalloc);
    find("mmap", &sxt_real.mmap);
    find("munmap", &sxt_real.munmap);
    find("mremap", &sxt_real.mremap);
    find("mprotect", &sxt_real.mprotect);
    find("pkey_mprotect", &sxt_real.pkey_mprotect);
    find("sbrk", &sxt_real.sbrk);
    find("brk", &sxt_real.brk);
    find("_Fork", &sxt_real._Fork);
    find("fork", &sxt_real.fork);
    find("execve", &sxt_real.execve);
    find("execvpe", &sxt_real.execvpe);
    find("fexecve", &sxt_real.fexecve);
    find("execveat", &sxt_real.execveat);
    find("posix_spawn", &sxt_real.posix_spawn);
    find("posix_spawnp", &sxt_real.posix_spawnp);
    find("system", &sxt_real.system);
    find("popen", &sxt_real.popen);
    find("clone", &sxt_real.clone);
    find("dlclose", &sxt_real.dlclose); /* always found, and last: no error is left for dlerror */
    __atomic_store_n(&sxt_real_ready, true, __ATOMIC_RELEASE);
    return true;
}

void *sxt_early_alloc(size_t alignment, size_t size)
{
    if (alignment < POOL_HEAD)
        alignment = POOL_HEAD;
    if (size > EARLY_POOL_SIZE || alignment > 4096)
        return NULL;
    size_t room = (size + POOL_HEAD + alignment + 15) & ~(size_t)15;
    size_t start = __atomic_fetch_add(&pool_used, room, __ATOMIC_RELAXED);
    if (start + room > EARLY_POOL_SIZE)
        return NULL;
    uintptr_t block = ((uintptr_t)sxt_early_pool + start + POOL_HEAD + alignment - 1) & ~(uintptr_t)(alignment - 1);
    memcpy((char *)block - POOL_HEAD, &size, sizeof size);
    return (char *)block;
}

size_t sxt_early_size(const void *block)
{
    size_t size;
    memcpy(&size, (const char *)block - POOL_HEAD, sizeof size);
    return size;
}
