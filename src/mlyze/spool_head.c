/*
 * spool_head.c: the first page of a spool: the header of the file and the control block after it. No other file here
 * knows where they are; encode.h has the structs, which the recorder shares.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "mlyze/private.h"
#include "mlyze/spool.h"

_Static_assert(SXT_SPOOL_CONTROL_OFFSET + sizeof(struct sxt_spool_control) <= SXT_SPOOL_HEAD_SIZE, "fits in a page");

bool sxt_spool_is(const uint8_t *data, size_t size)
{
    return size >= SXT_SPOOL_HEAD_SIZE && sxt_mlyze_is(data, size) &&
           sxt_load_u32le(data + SXT_SPOOL_CONTROL_OFFSET) == SXT_SPOOL_CONTROL_MAGIC;
}

int sxt_spool_check(const uint8_t *data, size_t size, sxt_error *error)
{
    if (sxt_spool_is(data, size))
        return SXT_OK;
    if (!sxt_mlyze_is_unclean(data, size))
        return sxt_fail(error, SXT_ERROR_FORMAT, 0, "not a recording that was cut off");
    if (size < SXT_SPOOL_HEAD_SIZE)
        return sxt_fail(error, SXT_ERROR_FORMAT, size, "ends before anything was recorded");
    return sxt_fail(error, SXT_ERROR_FORMAT, SXT_SPOOL_CONTROL_OFFSET, "the recorder's control block is damaged");
}

struct sxt_spool_control sxt_spool_read_control(const uint8_t *head)
{
    struct sxt_spool_control control;
    memcpy(&control, head + SXT_SPOOL_CONTROL_OFFSET, sizeof control);
    return control;
}

/* "0 or EPERM": the process is there, whoever it belongs to. */
bool sxt_spool_is_growing(const uint8_t *head)
{
    struct sxt_spool_control control = sxt_spool_read_control(head);
    pid_t pid = (pid_t)control.pid;
    return control.state <= SXT_SPOOL_RECORDING && pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

/* --- a new spool --- */

static uint64_t nanoseconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct sxt_spool_moment read_clocks(const struct sxt_spool_control *control)
{
    uint64_t now = nanoseconds(CLOCK_MONOTONIC);
    return (struct sxt_spool_moment){(control->options & SXT_SPOOL_TSC) != 0 ? sxt_spool_counter() : now, now};
}

/* If the kernel keeps time by the processor's counter, it runs evenly and is the same on all processors. */
static bool counter_is_good(void)
{
#if defined(__aarch64__)
    return true;
#else
    char text[64] = "";
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    return size > 0 && (strncmp(text, "tsc\n", 4) == 0 || strncmp(text, "kvm-clock\n", 10) == 0);
#endif
}

void sxt_spool_head_init(uint8_t head[SXT_SPOOL_HEAD_SIZE], uint64_t period, uint32_t options)
{
    struct sxt_spool_control control = {
        .magic = SXT_SPOOL_CONTROL_MAGIC,
        .version = SXT_SPOOL_VERSION,
        .options = options | (counter_is_good() ? SXT_SPOOL_TSC : 0u),
        .period = period,
        .tail = SXT_SPOOL_WINDOWS_OFFSET,
        .start_us = nanoseconds(CLOCK_REALTIME) / 1000,
    };
    control.first = control.last = read_clocks(&control);
    memset(head, 0, SXT_SPOOL_HEAD_SIZE);
    memcpy(head, "MTRC", 4);
    sxt_store_u32le(head + SXT_MLYZE_AT_VERSION, 1);
    sxt_store_u64le(head + SXT_MLYZE_AT_START, control.start_us);
    sxt_store_u32le(head + SXT_MLYZE_AT_FLAGS, SXT_MLYZE_UNCLEAN | (period != 0 ? SXT_MLYZE_SAMPLED : 0u));
    sxt_store_u32le(head + SXT_MLYZE_AT_CODEC, SXT_MLYZE_SPOOL);
    sxt_store_u64le(head + SXT_MLYZE_AT_PERIOD, period);
    memcpy(head + SXT_SPOOL_CONTROL_OFFSET, &control, sizeof control);
}

/* --- a mapped one --- */

static struct sxt_spool_control *control_of(uint8_t *head)
{
    return (void *)(head + SXT_SPOOL_CONTROL_OFFSET);
}

void sxt_spool_head_set_process(uint8_t *head, uint32_t pid)
{
    control_of(head)->pid = pid;
    sxt_store_u32le(head + SXT_MLYZE_AT_PID, pid);
}

void sxt_spool_head_stop(uint8_t *head)
{
    __atomic_store_n(&control_of(head)->stop, 1, __ATOMIC_RELAXED);
}

void sxt_spool_head_note_time(uint8_t *head)
{
    control_of(head)->last = read_clocks(control_of(head));
}

void sxt_spool_head_note_status(uint8_t *head, int status)
{
    control_of(head)->status = (uint32_t)status;
    control_of(head)->has_status = 1;
}

void sxt_spool_head_note_anonymous(uint8_t *head, uint64_t bytes)
{
    control_of(head)->anonymous = bytes;
}

bool sxt_spool_head_is_attached(const uint8_t *head)
{
    return sxt_spool_read_control(head).image != 0;
}

bool sxt_spool_head_is_child(const uint8_t *head, const uint8_t *parent, uint32_t pid)
{
    struct sxt_spool_control control = sxt_spool_read_control(head);
    return control.magic == SXT_SPOOL_CONTROL_MAGIC && control.pid == pid &&
           control.start_us == sxt_spool_read_control(parent).start_us;
}
