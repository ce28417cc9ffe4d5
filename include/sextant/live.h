/*
 * sextant/live.h: the heap of a program while it is recorded (`sextant record`).
 *
 *     sxt_watch_open("app.mlyze", &watch, &error);     (or the spool, a folder of them, or a process ID)
 *     do {
 *         (wait a second)
 *         sxt_watch_update(watch, &error);
 *         sxt_watch_get_figures(watch, &figures);
 *     } while (!figures.has_ended);
 *     sxt_watch_close(&watch);
 *
 * Neither the program nor `record` waits for the reader: it reads the files that they write. An update reads only what
 * was added since the one before. After the end, the figures are those of the finished trace.
 *
 * Memory: 48 to 64 bytes for each block that is live, 40 bytes for each event of the last 8 MB or so that `record` has
 * not taken out of the spool yet (at most 80 MB), 32 bytes for each stack, and the frames of all stacks.
 *
 * One thread at a time may use an sxt_watch.
 */
#ifndef SEXTANT_LIVE_H
#define SEXTANT_LIVE_H

#include <sextant/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sxt_watch sxt_watch;

/*
 * Opens a recording that is running. NAME is the trace that `record` will write, its spool (".part"), a folder that has
 * such files, or the ID of a process that is recorded. SXT_ERROR_NOT_FOUND if there is none, SXT_ERROR_UNSUPPORTED if
 * NAME is a trace that is finished.
 */
SXT_API int sxt_watch_open(const char *name, sxt_watch **out, sxt_error *error);

/* Frees *WATCH and sets it to NULL. Waits for names that are being looked up. */
SXT_API void sxt_watch_close(sxt_watch **watch);

/* Reads what is new. */
SXT_API int sxt_watch_update(sxt_watch *watch, sxt_error *error);

/* Whether a process still writes. Costs little; after the end, one more update has everything. */
SXT_API bool sxt_watch_is_running(const sxt_watch *watch);

/* What is known by now. Figures of a sample are estimates. */
typedef struct sxt_watch_figures {
    size_t struct_size; /* set by the caller */
    uint64_t time_us;   /* since 1970: the moment that the figures are of */
    uint64_t start_us;
    uint64_t live_bytes, live_blocks;
    uint64_t allocations, allocated_bytes;
    uint64_t frees;
    uint64_t peak_bytes, peak_time_us;
    double allocations_per_s, frees_per_s, allocated_bytes_per_s; /* between the last two updates */
    uint64_t events;
    uint64_t dropped; /* events that were lost */
    uint64_t sample_period;
    uint64_t pid; /* of the only process; 0: there are several */
    size_t process_count;
    size_t running_count;
    size_t site_count;   /* that sxt_watch_list_sites could give */
    size_t marker_count; /* that the program has set */
    bool has_ended;      /* nothing more will come */
    bool is_behind;      /* the newest events are missing, because there are too many */
} sxt_watch_figures;
SXT_API void sxt_watch_get_figures(const sxt_watch *watch, sxt_watch_figures *out);

/* The path of the trace that the recording becomes, as far as it is known from the name that was opened; or NULL. */
SXT_API const char *sxt_watch_trace_path(const sxt_watch *watch);

typedef enum sxt_watch_order {
    SXT_WATCH_BY_LIVE_BYTES = 0,
    SXT_WATCH_BY_LIVE_BLOCKS = 1,
    SXT_WATCH_BY_ALLOCATIONS = 2,
    SXT_WATCH_BY_ALLOCATED_BYTES = 3
} sxt_watch_order;

typedef struct sxt_watch_site {
    uint32_t process; /* number of the process, from 0 */
    uint32_t stack;   /* id in the trace that its recording becomes */
    uint64_t live_bytes, live_blocks;
    uint64_t allocations, allocated_bytes;
} sxt_watch_site;

/* Fills OUT with the stacks that have the most, at most CAPACITY, and returns how many. */
SXT_API size_t sxt_watch_list_sites(const sxt_watch *watch, sxt_watch_order order, sxt_watch_site *out,
                                    size_t capacity);

/* What one stack has by now. All zero if it is unknown. */
SXT_API sxt_watch_site sxt_watch_get_site(const sxt_watch *watch, uint32_t process, uint32_t stack);

typedef struct sxt_watch_thread {
    uint32_t process;
    uint32_t number; /* as in the trace */
    sxt_string name; /* valid until the next update */
    uint64_t live_bytes, live_blocks;
    uint64_t allocations, allocated_bytes;
} sxt_watch_thread;

/* The same for threads that have allocated. */
SXT_API size_t sxt_watch_list_threads(const sxt_watch *watch, sxt_watch_order order, sxt_watch_thread *out,
                                      size_t capacity);

/* The process ID of process NUMBER; 0 if there is none. */
SXT_API uint64_t sxt_watch_process_id(const sxt_watch *watch, uint32_t number);

/* The name of the marker that the program has set last; absent if there is none. Valid until the next update. */
SXT_API sxt_string sxt_watch_last_marker(const sxt_watch *watch, uint64_t *time_us);

/* --- names --- */

/*
 * Names are looked up on another thread, because that may take seconds for large programs. Asks for those of COUNT
 * sites, and waits at most MILLISECONDS for them. Returns how many are known by now.
 */
SXT_API size_t sxt_watch_name_sites(sxt_watch *watch, const sxt_watch_site *sites, size_t count, unsigned milliseconds);

/*
 * A trace without events that has the frames of a site: those of its stack *STACK. NULL if they are not known yet.
 * Valid until the watch is closed.
 */
SXT_API const sxt_trace *sxt_watch_find_names(const sxt_watch *watch, const sxt_watch_site *site, uint32_t *stack);

/* Equal for sites of a process whose frames are all shown alike; 0: the names are not known yet. */
SXT_API uint64_t sxt_watch_get_look(const sxt_watch *watch, const sxt_watch_site *site);

/*
 * Sites whose frames are all shown alike become one, which has the lowest of their ids; those without names stay apart.
 * The order stays that of the list. Returns how many are left.
 */
SXT_API size_t sxt_watch_merge_sites(const sxt_watch *watch, sxt_watch_order order, sxt_watch_site *sites,
                                     size_t count);

/* --- over time --- */

typedef struct sxt_watch_point {
    uint64_t time_us;
    uint64_t live_bytes;  /* the most since the point before */
    uint64_t allocations; /* in all, up to here */
} sxt_watch_point;

/* The course of live bytes from the start on, in at most 1,024 points. Returns how many; OUT has room for CAPACITY. */
SXT_API size_t sxt_watch_get_course(const sxt_watch *watch, sxt_watch_point *out, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
