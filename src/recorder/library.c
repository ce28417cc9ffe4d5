/* library.c: finds the functions that library_hooks.c calls, and ends calls that an exception leaves. */
#include "recorder/library.h"

#include <dlfcn.h>
#include <string.h>

#include "recorder/hooks.h"

/* Functions that were looked for. Entries are only added. */
static struct library_function *listed;

static void list(struct library_function *function)
{
    if (__atomic_exchange_n(&function->is_listed, true, __ATOMIC_ACQ_REL))
        return;
    function->next = __atomic_load_n(&listed, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&listed, &function->next, function, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        continue;
}

/*
 * Under the hook of malloc, an allocator may call itself by such a name. Operators and functions that other libraries
 * have too are not among them: an allocator written in C++ uses them like any program.
 */
static bool is_name_of_allocator(const char *name)
{
    return !(name[0] == '_' && name[1] == 'Z') && strcmp(name, "reallocf") != 0 && strcmp(name, "cfree") != 0;
}

uintptr_t sxt_library_find(struct library_function *function)
{
    struct definition found = {0};
    uintptr_t address = MISSING;
    list(function);
    if (sxt_find_definition(function->name, &found)) {
        address = found.is_indirect ? (uintptr_t)dlsym(RTLD_NEXT, function->name) : found.address;
        function->low = found.low;
        function->size = found.size;
        function->calls_malloc = found.is_cpp_runtime && !found.has_malloc;
        function->is_allocators = is_name_of_allocator(function->name);
    }
    if (address == 0)
        address = MISSING;
    __atomic_store_n(&function->address, address, __ATOMIC_RELEASE);
    return address;
}

/* A function that was missing stays so: blocks of the replacement must not be freed by another allocator. */
void sxt_libraries_forget(void)
{
    for (struct library_function *at = __atomic_load_n(&listed, __ATOMIC_ACQUIRE); at != NULL; at = at->next)
        if (at->address != MISSING)
            __atomic_store_n(&at->address, (uintptr_t)0, __ATOMIC_RELEASE);
}

/* From the interface of C++ exceptions: what personality routines take and return. */
enum { UNWIND_CLEANUP_PHASE = 2, UNWIND_CONTINUE = 8 };

int sxt_library_unwind(int version, int actions, uint64_t class, void *exception, void *context);

int sxt_library_unwind(int version, int actions, uint64_t class, void *exception, void *context)
{
    struct library_call *call = sxt_thread.call;
    (void)version, (void)class, (void)exception, (void)context;
    if ((actions & UNWIND_CLEANUP_PHASE) != 0 && call != NULL && call->self == call)
        library_leave(call);
    return UNWIND_CONTINUE;
}
