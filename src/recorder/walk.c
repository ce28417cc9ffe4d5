/*
 * walk.c: walks over the stack, from each frame to its caller.
 *
 * The rule for a return address does not change while its module is loaded, so it is computed once and stored in a
 * table to which entries are only added. Most of a stack is the same as at the previous walk. So a walk first checks
 * how many of the outermost frames of the previous one are unchanged: each memory word that was read then must have the
 * same value. Then it walks frames until it meets an unchanged one, with the same return address and stack pointer; all
 * frames outside of that one are known.
 *
 * Nothing here takes a lock, and only readable memory is read: a frame must be above the previous one, and on the stack
 * of the thread as far as that is known. On other stacks (of signal handlers, of coroutines) each page is probed first.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/recorder.h"

#define TABLE_BITS    18
#define PROBES_MOST   16
#define PAGE          ((uintptr_t)4096)
#define STACK_MOST    ((uintptr_t)256 << 20)
#define KERNEL_SIGSET 8

static struct known_rule *table;
static bool has_rules_outside_modules; /* for code that is in no file */

bool sxt_rules_make(void)
{
    if (table == NULL)
        table = sxt_map_memory(sizeof *table << TABLE_BITS);
    return table != NULL;
}

/* The kernel reports an unreadable address (EFAULT) before the invalid operation (EINVAL). */
bool sxt_is_readable(uintptr_t address)
{
    if (UNLIKELY(sxt_recording.is_confined))
        return false;
    int saved_errno = errno;
    syscall(SYS_rt_sigprocmask, ~0, address & ~(PAGE - 1), NULL, KERNEL_SIGSET);
    bool readable = errno != EFAULT;
    errno = saved_errno;
    return readable;
}

/* Is all memory from the stack pointer to the top of the thread's stack readable? Each page is probed only once. */
static bool is_on_stack(struct writer *writer, uintptr_t stack_pointer)
{
    if (LIKELY(stack_pointer >= writer->stack_low && stack_pointer < writer->stack_top))
        return true;
    if (stack_pointer >= writer->stack_top || writer->stack_top - stack_pointer > STACK_MOST)
        return false;
    uintptr_t low = writer->stack_low & ~(PAGE - 1);
    for (uintptr_t page = writer->stack_low - 1; page >= (stack_pointer & ~(PAGE - 1)); page -= PAGE) {
        if (!sxt_is_readable(page))
            return false;
        low = page & ~(PAGE - 1);
        writer->stack_low = low;
    }
    return stack_pointer >= low;
}

void sxt_stack_ahead(struct writer *writer, size_t size)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (is_on_stack(writer, here))
        (void)is_on_stack(writer, here - size);
}

/* The memory that a walk may read. */
struct bounds {
    uintptr_t low, high; /* readable */
    bool is_foreign;     /* not the thread's stack: `high` grows as pages are probed */
};

static bool extend(struct bounds *bounds, uintptr_t address)
{
    if (!bounds->is_foreign || address < bounds->low || address - bounds->low > STACK_MOST)
        return false;
    while (address + sizeof(uintptr_t) > bounds->high) {
        if (!sxt_is_readable(bounds->high))
            return false;
        bounds->high += PAGE;
    }
    return true;
}

static inline bool load(struct bounds *bounds, uintptr_t address, uintptr_t *value)
{
    if (UNLIKELY(address < bounds->low || address > bounds->high - sizeof *value || (address & 7) != 0) &&
        ((address & 7) != 0 || !extend(bounds, address)))
        return false;
    *value = *(const uintptr_t *)address; /* NOLINT: an address */
    return true;
}

/*
 * Is there an instruction that calls something before PC? IS_CODE: PC is in a function of a loaded file. At the base of
 * a coroutine, a stack may have any value where a return address would be.
 */
static bool follows_call(uintptr_t pc, bool is_code)
{
    uintptr_t first = pc - 8;
    if (pc < PAGE || (!is_code && !sxt_is_readable(pc - 1)) ||
        (((pc - 1) ^ first) / PAGE != 0 && !sxt_is_readable(first))) /* they are on two pages */
        return false;
    const uint8_t *end = (const uint8_t *)pc; /* NOLINT: an address */
#if defined(__aarch64__)
    uint32_t code;
    memcpy(&code, end - 4, sizeof code);
    return (pc & 3) == 0 && ((code & 0xfc000000) == 0x94000000 || (code & 0xfefff000) == 0xd63f0000);
#elif defined(__x86_64__)
    /* A debugger may have replaced the first byte by a breakpoint. */
    if (end[-5] == 0xe8 || end[-5] == 0xcc)
        return true;
    for (unsigned size = 2; size <= 7; size++) {
        uint8_t code = *(end - size), mode = *(end - size + 1), kind = mode >> 6, operand = mode & 7;
        if ((code != 0xff && code != 0xcc) || (mode >> 3 & 7) != 2)
            continue;
        bool has_index = kind != 3 && operand == 4;
        bool is_far = kind == 2 || (kind == 0 && (operand == 5 || (has_index && (*(end - size + 2) & 7) == 5)));
        if (size == 2u + has_index + (is_far ? 4 : kind == 1))
            return true;
    }
    return false;
#else
    (void)end;
    return true;
#endif
}

/* Does the code at PC leave a signal handler? Not all systems have a rule for it. */
static bool returns_from_signal(uintptr_t pc)
{
#if defined(__aarch64__)
    static const uint32_t code[] = {0xd2801168, 0xd4000001}; /* mov x8, #139; svc #0 */
#elif defined(__x86_64__)
    static const uint8_t code[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05}; /* mov $15, %rax; syscall */
#else
    static const uint8_t code[] = {0};
#endif
    return pc >= PAGE && sxt_is_readable(pc) && sxt_is_readable(pc + sizeof code - 1) &&
           memcmp((const void *)pc, code, sizeof code) == 0; /* NOLINT: an address */
}

/*
 * The RULE, if PC is a return address. Code outside of all files may return to what it did not call, as interpreters
 * do; such a frame is dropped if no other one follows, see end_frames.
 */
static frame_rule check_rule(const struct module *module, uintptr_t pc, frame_rule rule)
{
    enum rule_kind kind = RULE_KIND(rule);
    bool is_code = module == NULL || (pc > module->code_start && pc <= module->code_end);
    if (is_code && follows_call(pc, kind != RULE_GUESS))
        return rule;
    if (kind == RULE_OUTERMOST)
        return RULE_MAKE(RULE_OUTERMOST, 1, 0, 0);
    if (kind == RULE_GUESS && returns_from_signal(pc))
        return RULE_SIGNAL;
    return module == NULL && pc >= PAGE && sxt_is_readable(pc - 1) ? RULE_MAKE(RULE_GUESS, 1, 0, 0)
                                                                   : (frame_rule)RULE_STRAY;
}

/* Computes a rule and stores it in SLOT, unless that is NULL. */
static frame_rule find_rule(struct writer *writer, struct known_rule *slot, uintptr_t pc, bool interrupted)
{
    const struct module *module = sxt_module_at(writer, pc - !interrupted);
    frame_rule rule = module != NULL ? sxt_rule_find(module, pc, interrupted) : (frame_rule)RULE_GUESS;
    enum rule_kind kind = RULE_KIND(rule);
    if (!interrupted && kind != RULE_SIGNAL)
        rule = check_rule(module, pc, rule);
    uint64_t free_slot = 0;
    if (slot != NULL &&
        (__atomic_compare_exchange_n(&slot->key, &free_slot, pc, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
         free_slot == pc)) {
        __atomic_store_n(&slot->rule, rule, __ATOMIC_RELEASE);
        if (module == NULL)
            __atomic_store_n(&has_rules_outside_modules, true, __ATOMIC_RELAXED);
    }
    return rule;
}

/* The index of a key in a table of 2^BITS slots. */
static inline size_t place_of(uint64_t key, unsigned bits)
{
    return (size_t)(key * 0x9e3779b97f4a7c15u >> (64 - bits));
}

/* From the table that all threads share. */
static __attribute__((noinline)) frame_rule shared_rule(struct writer *writer, uintptr_t pc)
{
    size_t index = place_of(pc, TABLE_BITS);
    for (unsigned probe = 0; probe < PROBES_MOST; probe++) {
        struct known_rule *slot = &table[(index + probe) & ((1u << TABLE_BITS) - 1)];
        uint64_t found = __atomic_load_n(&slot->key, __ATOMIC_RELAXED);
        if (found != pc && found != 0)
            continue;
        frame_rule rule = found == pc ? __atomic_load_n(&slot->rule, __ATOMIC_RELAXED) : (frame_rule)RULE_NONE;
        return rule != RULE_NONE ? rule : find_rule(writer, slot, pc, false);
    }
    return find_rule(writer, NULL, pc, false);
}

bool sxt_rules_outside_modules(void)
{
    return __atomic_load_n(&has_rules_outside_modules, __ATOMIC_RELAXED);
}

void sxt_rules_forget(uintptr_t start, uintptr_t end)
{
    for (size_t i = 0; i < (size_t)1 << TABLE_BITS; i++) {
        uint64_t key = __atomic_load_n(&table[i].key, __ATOMIC_RELAXED);
        if (key > start && key <= end)
            __atomic_store_n(&table[i].rule, (frame_rule)RULE_NONE, __ATOMIC_RELAXED);
    }
}

/*
 * The thread's own table is small and stays in the cache. Its keys contain the generation, since another thread may
 * have unloaded a library.
 */
static inline __attribute__((always_inline)) frame_rule rule_at(struct writer *writer, uintptr_t pc,
                                                                uint64_t generation, bool interrupted)
{
    if (UNLIKELY(interrupted))
        return find_rule(writer, NULL, pc, true);
    uint64_t key = pc ^ generation << 48;
    struct known_rule *recent = &writer->rules[place_of(key, RECENT_BITS)];
    if (LIKELY(recent->key == key))
        return recent->rule;
    frame_rule rule = shared_rule(writer, pc);
    *recent = (struct known_rule){key, rule};
    return rule;
}

/* Takes the registers of the interrupted code from the frame that the kernel pushed. */
static bool leave_signal(struct bounds *bounds, struct place *at)
{
#if defined(__aarch64__)
    uintptr_t registers = at->stack_pointer + 128 + 176 + 8;
    enum { FRAME = 29 * 8, STACK = 31 * 8, COUNTER = 32 * 8 };
#else
    uintptr_t registers = at->stack_pointer + 40;
    enum { FRAME = 10 * 8, STACK = 15 * 8, COUNTER = 16 * 8 };
#endif
    uintptr_t stack_pointer;
    return load(bounds, registers + STACK, &stack_pointer) && load(bounds, registers + FRAME, &at->frame_pointer) &&
           load(bounds, registers + COUNTER, &at->pc) && (at->stack_pointer = stack_pointer) != 0;
}

/* There is no rule for this frame. If it has a frame pointer, the next return address must be in loaded code. */
static bool guess(struct writer *writer, struct bounds *bounds, struct place *at, struct known_frame *known)
{
    uintptr_t frame = at->frame_pointer, pc, next;
    known->uses_frame = true;
    known->frame_slot = frame;
    known->link_slot = frame + sizeof frame;
    if (frame < at->stack_pointer || !load(bounds, frame, &next) || !load(bounds, frame + sizeof frame, &pc))
        return false;
    pc = plain_address(pc);
    if (pc < PAGE || (sxt_module_at(writer, pc - 1) == NULL && sxt_module_at(writer, at->pc - 1) != NULL))
        return false;
    *at = (struct place){pc, frame + 2 * sizeof frame, next};
    return true;
}

/* From a frame to its caller. */
static inline __attribute__((always_inline)) bool step(struct bounds *bounds, struct place *at, frame_rule rule,
                                                       struct known_frame *known)
{
    enum rule_kind kind = RULE_KIND(rule);
    uintptr_t end =
        kind == RULE_FROM_STACK ? at->stack_pointer + RULE_CFA_OFFSET(rule) : at->frame_pointer + RULE_CFA_OFFSET(rule);
    uintptr_t frame = RULE_FRAME_OFFSET(rule);
    known->uses_frame = kind != RULE_FROM_STACK;
    if (UNLIKELY(kind == RULE_FROM_LOAD)) {
        uintptr_t base = at->frame_pointer;
        if (!load(bounds, base - RULE_CFA_OFFSET(rule), &end) || !load(bounds, base, &at->frame_pointer))
            return false;
    }
    uintptr_t pc;
    known->link_slot = end - RULE_LINK_OFFSET(rule);
    known->frame_slot = frame != 0 ? end - frame : 0;
    if (UNLIKELY(end <= at->stack_pointer) || !load(bounds, end - RULE_LINK_OFFSET(rule), &pc))
        return false;
    if (frame != 0 && !load(bounds, end - frame, &at->frame_pointer))
        return false;
    at->pc = plain_address(pc);
    at->stack_pointer = end;
    return pc != 0;
}

static struct bounds bounds_at(struct writer *writer, uintptr_t stack_pointer)
{
    if (LIKELY(is_on_stack(writer, stack_pointer)))
        return (struct bounds){stack_pointer, writer->stack_top, false};
    uintptr_t page = stack_pointer & ~(PAGE - 1);
    return (struct bounds){stack_pointer, sxt_is_readable(page) ? page + PAGE : stack_pointer, true};
}

/* How many of the COUNT outermost frames of the previous walk are unchanged. */
static inline unsigned still_held(const struct known_frame *frames, unsigned count)
{
    for (unsigned i = 1; i < count; i++) {
        const struct known_frame *frame = &frames[i], *caller = &frames[i - 1];
        if (plain_address(*(const uintptr_t *)frame->link_slot) != caller->pc || /* NOLINT: an address */
            (caller->needs_frame && frame->frame_slot != 0 &&
             *(const uintptr_t *)frame->frame_slot != caller->frame_pointer)) /* NOLINT */
            return i;
    }
    return count;
}

/* Is the frame AT one of the *HELD unchanged ones? Then *HELD is how many frames are known, including this one. */
static inline bool is_known(const struct known_frame *frames, unsigned *held, const struct place *at)
{
    unsigned count = *held;
    while (count > 0 && frames[count - 1].stack_pointer < at->stack_pointer)
        count--;
    *held = count;
    if (count == 0)
        return false;
    const struct known_frame *frame = &frames[count - 1];
    return frame->stack_pointer == at->stack_pointer && frame->pc == at->pc &&
           (!frame->needs_frame || frame->frame_pointer == at->frame_pointer);
}

/* Puts FRESH frames, innermost first, on top of the KEPT outermost ones. */
static inline void remember(struct writer *writer, unsigned kept, const struct known_frame *fresh, unsigned count)
{
    uint64_t hash = kept > 0 ? writer->frames[kept - 1].hash : writer->generation;
    bool needs = kept > 0 && writer->frames[kept - 1].needs_frame;
    for (unsigned i = count; i > 0; i--) {
        struct known_frame *frame = &writer->frames[kept++];
        *frame = fresh[i - 1];
        hash = (hash ^ frame->pc) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
        needs = frame->uses_frame || (frame->frame_slot == 0 && needs);
        frame->hash = hash;
        frame->needs_frame = needs;
    }
    writer->frame_count = kept;
}

/* The outermost frame, or not a frame: then it has no address. */
static __attribute__((noinline, cold)) void end_walk(frame_rule rule, struct known_frame *known)
{
    if (RULE_KIND(rule) == RULE_STRAY)
        known->pc = 0;
    else if (RULE_CFA_OFFSET(rule) != 0)
        known->link_slot = FRAME_BASE;
}

/* Goes to the caller. *INTERRUPTED: the new frame was left by a signal, not by a call. */
static inline bool go_out(struct writer *writer, struct bounds *bounds, struct place *at, struct known_frame *known,
                          bool *interrupted)
{
    frame_rule rule = rule_at(writer, at->pc, writer->generation, *interrupted);
    *interrupted = false;
    switch (RULE_KIND(rule)) {
    case RULE_FROM_STACK:
    case RULE_FROM_FRAME:
        return step(bounds, at, rule, known);
    case RULE_FROM_LOAD:
        writer->frames_are_usable = false;
        return step(bounds, at, rule, known);
    case RULE_GUESS:
        return guess(writer, bounds, at, known);
    case RULE_SIGNAL:
        writer->frames_are_usable = false;
        known->link_slot = FRAME_SIGNAL;
        *interrupted = leave_signal(bounds, at);
        *bounds = bounds_at(writer, at->stack_pointer);
        return *interrupted;
    default:
        end_walk(rule, known);
        return false;
    }
}

/* Is FRAME, which is not the first, only a guess, and one that nothing confirms? */
static bool is_doubtful(struct writer *writer, const struct known_frame *frame)
{
    frame_rule rule = frame[-1].link_slot != FRAME_SIGNAL ? shared_rule(writer, frame->pc) : (frame_rule)RULE_NONE;
    return RULE_KIND(rule) == RULE_GUESS && RULE_CFA_OFFSET(rule) != 0;
}

/* How many frames there are, without the last ones that are none. The caller of the hook is one, whatever it is. */
static __attribute__((noinline, cold)) unsigned end_frames(struct writer *writer, unsigned count,
                                                           const struct place *place)
{
    if (writer->fresh[count - 1].pc == 0)
        count--;
    while (count > 1 && is_doubtful(writer, &writer->fresh[count - 1]))
        count--;
    writer->fresh[0].pc = place->pc;
    return count > 0 ? count : 1;
}

void sxt_walk(struct writer *writer, const struct place *place)
{
    struct place at = *place;
    struct bounds bounds = bounds_at(writer, at.stack_pointer);
    struct known_frame *fresh = writer->fresh;
    uint32_t generation = sxt_generation();
    bool is_usual = !bounds.is_foreign && generation == writer->generation && writer->frames_are_usable;
    unsigned held = 0, count = 0, kept = 0;
    bool interrupted = false, is_ended = false;
    if (LIKELY(is_usual)) {
        for (held = writer->frame_count; held > 0 && writer->frames[held - 1].stack_pointer < at.stack_pointer;)
            held--;
        held = still_held(writer->frames, held);
    }
    writer->generation = generation;
    writer->frames_are_usable = !bounds.is_foreign;
    while (count < FRAMES_MOST) {
        if (held > 0 && is_known(writer->frames, &held, &at)) {
            kept = held;
            break;
        }
        struct known_frame *known = &fresh[count++];
        known->pc = at.pc;
        known->stack_pointer = at.stack_pointer;
        known->frame_pointer = at.frame_pointer;
        known->link_slot = known->frame_slot = 0;
        known->uses_frame = false;
        if (UNLIKELY(!go_out(writer, &bounds, &at, known, &interrupted))) {
            count = end_frames(writer, count, place);
            is_ended = true;
            break;
        }
    }
    if (UNLIKELY(kept + count >= FRAMES_MOST)) {
        unsigned over = kept + count - FRAMES_MOST;
        writer->is_cut = over > 0 || (!is_ended && kept == 0);
        memmove(writer->frames, writer->frames + over, (kept - over) * sizeof *writer->frames);
        kept -= over;
        writer->frames_are_usable = false;
    }
    remember(writer, kept, fresh, count);
    /* A library was unloaded during the walk: the stack belongs to the new generation. */
    if (UNLIKELY(sxt_generation() != generation))
        sxt_walk(writer, place);
}
