/*
 * objdump.c: listings of machines that are not known here, by the objdump of their toolchain. Its lines get the form of
 * all listings: offsets in the function, and addresses by our names.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "code/code.h"
#include "measure/listing.h"

/* What a listing of SXT_LISTING_BYTES_MAX may take, in bytes and in seconds. */
#define OUTPUT_MAX   ((size_t)4 << 20)
#define SECONDS_MAX  60
#define PROGRAMS_MAX 4

extern char **environ;

/* Programs to try, in this order. Returns how many there are. */
static size_t choose_programs(const struct sxt_listing *listing, const char *programs[PROGRAMS_MAX])
{
    static const struct {
        uint16_t machine;
        const char *program;
    } known[] = {{EM_AARCH64, "aarch64-linux-gnu-objdump"}, {EM_ARM, "arm-linux-gnueabihf-objdump"},
                 {EM_RISCV, "riscv64-linux-gnu-objdump"},   {EM_PPC64, "powerpc64le-linux-gnu-objdump"},
                 {EM_S390, "s390x-linux-gnu-objdump"},      {EM_MIPS, "mips-linux-gnu-objdump"}};
    size_t count = 0;
    if (listing->objdump != NULL) {
        programs[count++] = listing->objdump;
        return count;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].machine == listing->elf.machine)
            programs[count++] = known[i].program;
    programs[count++] = "objdump";
    programs[count++] = "llvm-objdump";
    return count;
}

/* --- running it --- */

/* Starts PROGRAM with its output going to FD. False when it cannot be started. */
static bool start(const char *program, const struct sxt_listing *listing, uint64_t address, size_t size, int fd,
                  pid_t *child)
{
    char first[60], end[60], disassemble[] = "-d", no_bytes[] = "--no-show-raw-insn";
    snprintf(first, sizeof first, "--start-address=0x%llx", (unsigned long long)address);
    snprintf(end, sizeof end, "--stop-address=0x%llx", (unsigned long long)(address + size));
    size_t room = strlen(listing->path) + 3;
    char *path = malloc(room);
    posix_spawn_file_actions_t actions;
    if (path == NULL || posix_spawn_file_actions_init(&actions) != 0) {
        free(path);
        return false;
    }
    /* A path is no option, whatever it begins with. */
    snprintf(path, room, "%s%s", listing->path[0] == '-' ? "./" : "", listing->path);
    char *words[] = {(char *)(uintptr_t)program, disassemble, no_bytes, first, end, path, NULL};
    bool fine = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) == 0 &&
                posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO) == 0 &&
                posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
                posix_spawnp(child, program, &actions, NULL, words, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    free(path);
    return fine;
}

static int64_t milliseconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads to the end; false when it takes too long, or is too much. */
static bool read_all(int fd, struct sxt_buffer *out)
{
    int64_t deadline = milliseconds_now() + SECONDS_MAX * 1000;
    for (;;) {
        struct pollfd waiting = {.fd = fd, .events = POLLIN};
        int64_t left = deadline - milliseconds_now();
        int ready = left > 0 ? poll(&waiting, 1, (int)left) : 0;
        if (ready == 0)
            return false;
        uint8_t *place = sxt_buffer_reserve(out, 4096);
        if (place == NULL)
            return false;
        ssize_t got = ready < 0 ? -1 : read(fd, place, 4096);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0;
        sxt_buffer_extend(out, (size_t)got);
    }
}

/* What PROGRAM prints; false when there is no such program, or it failed. */
static bool run(const char *program, const struct sxt_listing *listing, uint64_t address, size_t size,
                struct sxt_buffer *out)
{
    int ends[2];
    pid_t child;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    bool fine = start(program, listing, address, size, ends[1], &child);
    close(ends[1]);
    if (fine) {
        int status = 0;
        fine = read_all(ends[0], out);
        if (!fine)
            kill(child, SIGKILL);
        pid_t waited;
        do
            waited = waitpid(child, &status, 0);
        while (waited < 0 && errno == EINTR);
        fine = fine && waited == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    close(ends[0]);
    return fine;
}

/* --- its lines --- */

static bool is_digit(char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f');
}

/* The hexadecimal number in TEXT from AT on; false for none, and for one that is too long. */
static bool parse_hex(sxt_string text, size_t *at, uint64_t *out)
{
    size_t first = *at;
    for (*out = 0; *at < text.size && is_digit(text.data[*at]); ++*at) {
        char digit = text.data[*at];
        *out = *out * 16 + (uint64_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    return *at > first && *at - first <= 16;
}

/* Appends TEXT, and our name in place of each "401000 <name+0x10>". */
static void put_instruction(struct sxt_listing *listing, sxt_string text, struct sxt_buffer *out)
{
    size_t done = 0;
    for (size_t i = 1; i + 1 < text.size; i++) {
        if (text.data[i] != '<' || text.data[i - 1] != ' ')
            continue;
        size_t first = i - 1;
        while (first > done && is_digit(text.data[first - 1]))
            first--;
        size_t at = first;
        uint64_t address;
        const char *closing = memchr(text.data + i, '>', text.size - i);
        if (closing == NULL || !parse_hex(text, &at, &address) || at != i - 1)
            continue;
        if (first >= done + 2 && memcmp(text.data + first - 2, "0x", 2) == 0)
            first -= 2;
        sxt_buffer_append(out, text.data + done, first - done);
        sxt_listing_put_name(listing, address, out);
        done = (size_t)(closing - text.data) + 1;
        i = done;
    }
    sxt_buffer_append(out, text.data + done, text.size - done);
}

/* A line of an instruction: "  401000:   nop". Others are headings. */
static bool put_line(struct sxt_listing *listing, sxt_string line, struct sxt_buffer *out)
{
    size_t at = 0;
    uint64_t address;
    while (at < line.size && line.data[at] == ' ')
        at++;
    if (!parse_hex(line, &at, &address) || at == line.size || line.data[at] != ':' || address < listing->start ||
        address >= listing->end)
        return false;
    for (at++; at < line.size && (line.data[at] == ' ' || line.data[at] == '\t');)
        at++;
    sxt_code_begin_line(address - listing->start, out);
    put_instruction(listing, (sxt_string){line.data + at, line.size - at}, out);
    sxt_buffer_u8(out, '\n');
    return true;
}

/* Returns how many instructions there are. */
static size_t put_lines(struct sxt_listing *listing, sxt_string text, struct sxt_buffer *out)
{
    size_t count = 0;
    for (size_t at = 0; at < text.size;) {
        const char *end = memchr(text.data + at, '\n', text.size - at);
        size_t size = end != NULL ? (size_t)(end - text.data) - at : text.size - at;
        count += put_line(listing, (sxt_string){text.data + at, size}, out);
        at += size + 1;
    }
    return count;
}

int sxt_objdump_list(struct sxt_listing *listing, uint64_t address, size_t size, struct sxt_buffer *out,
                     sxt_error *error)
{
    const char *programs[PROGRAMS_MAX];
    size_t count = choose_programs(listing, programs);
    struct sxt_buffer text;
    sxt_buffer_init(&text, OUTPUT_MAX);
    bool is_listed = false;
    for (size_t i = 0; i < count && !is_listed; i++) {
        sxt_buffer_clear(&text);
        is_listed = run(programs[i], listing, address, size, &text) &&
                    put_lines(listing, (sxt_string){(const char *)text.data, text.size}, out) > 0;
    }
    sxt_buffer_free(&text);
    if (is_listed)
        return sxt_buffer_status(out, error);
    const char *machine = sxt_elf_arch(&listing->elf);
    return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                    "code of %s is disassembled by an objdump that knows it, and there is none (%s%s%s%s%s)",
                    machine != NULL ? machine : "this machine", programs[0], count > 1 ? ", " : "",
                    count > 1 ? programs[1] : "", count > 2 ? ", " : "", count > 2 ? programs[2] : "");
}
