/*
 * record_memory.c: how much memory a program has that came from the system, while it runs.
 *
 * The recorder sees calls of functions. Memory of an allocator that is linked into the program, or of an arena that the
 * program maps itself, is not seen. /proc/PID/status has a counter that costs little to read; when it has grown,
 * /proc/PID/smaps says what the memory is. Static data, stacks, and the tables of the recorder do not count.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/recording.h"

#define FIRST_SECONDS   0.002
#define LONGEST_SECONDS 0.02
#define SHARE_OF_TIME   50   /* reading smaps takes at most one part in this many, */
#define FREE_SECONDS    0.02 /* and this at the beginning */
#define LEAST_KB        4096 /* less is not worth a look */
#define STACK_MOST_KB   8192 /* of a thread */
#define GUARD_SIZE      4096 /* below the stack of a thread */

double cli_seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void cli_memory_begin(struct memory_watch *watch)
{
    watch->began = cli_seconds_now();
    watch->next = watch->began + FIRST_SECONDS;
}

static FILE *open_of_process(pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, name);
    return fopen(path, "re");
}

/* What /proc/PID/status says, in kB; 0: unknown. */
struct counters {
    uint64_t anonymous, resident, most_resident;
};

static struct counters read_counters(pid_t pid)
{
    char line[256];
    struct counters counters = {0};
    FILE *file = open_of_process(pid, "status");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "RssAnon:", 8) == 0)
            counters.anonymous = strtoull(line + 8, NULL, 10);
        else if (strncmp(line, "VmRSS:", 6) == 0)
            counters.resident = strtoull(line + 6, NULL, 10);
        else if (strncmp(line, "VmHWM:", 6) == 0)
            counters.most_resident = strtoull(line + 6, NULL, 10);
    if (file != NULL)
        fclose(file);
    return counters;
}

/* A mapping as smaps describes it. */
struct mapping {
    uint64_t start, end, inode;
    char name[32]; /* the beginning of it */
    bool is_guard; /* nobody may use it */
    uint64_t anonymous_kb;
    bool has_recorders_flags; /* nobody else maps memory like this */
};

static bool read_mapping(const char *line, struct mapping *mapping)
{
    unsigned long long start, end, inode;
    char rights[8];
    *mapping = (struct mapping){0};
    if (sscanf(line, "%llx-%llx %7s %*x %*s %llu %31s", &start, &end, rights, &inode, mapping->name) < 4)
        return false;
    mapping->start = start;
    mapping->end = end;
    mapping->inode = inode;
    mapping->is_guard = strncmp(rights, "---", 3) == 0;
    return true;
}

static bool is_static_data(const struct mapping *mapping, const struct mapping *before)
{
    return before->inode != 0 && before->end == mapping->start;
}

static bool is_stack(const struct mapping *mapping, const struct mapping *before)
{
    return before->is_guard && before->end == mapping->start && before->end - before->start == GUARD_SIZE &&
           (mapping->end - mapping->start) / 1024 <= STACK_MOST_KB;
}

/* Does the memory of MAPPING, which comes after BEFORE, belong to an allocator? */
static bool counts(const struct mapping *mapping, const struct mapping *before)
{
    if (mapping->inode != 0 || mapping->has_recorders_flags)
        return false;
    if (strcmp(mapping->name, "[heap]") == 0)
        return true;
    return (mapping->name[0] == 0 || strncmp(mapping->name, "[anon", 5) == 0) && !is_static_data(mapping, before) &&
           !is_stack(mapping, before);
}

/*
 * A mapping that grows while the system describes it may come again, with the same start and another end. Then the last
 * description counts.
 */
uint64_t cli_memory_of(FILE *smaps)
{
    char line[4096];
    struct mapping before = {0}, now = {0}, next;
    uint64_t size = 0, last = 0; /* `last`: of `now` */
    while (fgets(line, sizeof line, smaps) != NULL) {
        if (strncmp(line, "Anonymous:", 10) == 0) {
            now.anonymous_kb = strtoull(line + 10, NULL, 10);
        } else if (strncmp(line, "VmFlags:", 8) == 0) {
            now.has_recorders_flags = strstr(line, " nr") != NULL && strstr(line, " nh") != NULL;
            last = counts(&now, &before) ? now.anonymous_kb : 0;
            size += last;
        } else if (line[0] >= '0' && line[0] <= 'f' && read_mapping(line, &next)) {
            if (next.start < now.end)
                size -= last;
            else
                before = now;
            now = next;
            last = 0;
        }
    }
    return size;
}

static uint64_t read_mappings(pid_t pid)
{
    FILE *file = open_of_process(pid, "smaps");
    uint64_t size = file != NULL ? cli_memory_of(file) : 0;
    if (file != NULL)
        fclose(file);
    return size;
}

/* Reads the mappings, if the counter has grown and there is time for it. */
static void look_closely(struct memory_watch *watch, pid_t pid, const struct counters *counters, double now)
{
    if (counters->anonymous < LEAST_KB || counters->anonymous <= watch->counter_kb + watch->counter_kb / 16 ||
        watch->spent > FREE_SECONDS + (now - watch->began) / SHARE_OF_TIME)
        return;
    uint64_t size = read_mappings(pid) * 1024;
    watch->spent += cli_seconds_now() - now;
    if (size == 0) /* it has ended meanwhile */
        return;
    watch->most = size > watch->most ? size : watch->most;
    watch->counter_kb = counters->anonymous;
    watch->rss_kb = counters->resident;
}

void cli_memory_look(struct memory_watch *watch, pid_t pid)
{
    double now = cli_seconds_now();
    if (now < watch->next)
        return;
    struct counters counters = read_counters(pid);
    /* It has executed another program. Otherwise the highest value hardly decreases; the system rounds it. */
    if (counters.most_resident > 0 && counters.most_resident < watch->hwm_kb / 2)
        *watch = (struct memory_watch){.began = watch->began, .spent = watch->spent};
    look_closely(watch, pid, &counters, now);
    watch->hwm_kb = counters.most_resident > watch->hwm_kb ? counters.most_resident : watch->hwm_kb;
    bool is_growing = counters.anonymous > watch->last_kb + watch->last_kb / 16;
    watch->last_kb = counters.anonymous;
    double wait = is_growing ? FIRST_SECONDS : (now - watch->began) / 8;
    watch->next = now + (wait < FIRST_SECONDS ? FIRST_SECONDS : wait > LONGEST_SECONDS ? LONGEST_SECONDS : wait);
}

void cli_memory_end(struct memory_watch *watch, uint64_t most_kb)
{
    uint64_t most = most_kb > watch->hwm_kb ? most_kb : watch->hwm_kb;
    watch->has_missed = watch->most > 0 && most > watch->rss_kb + watch->most / 1024 / 8;
}
