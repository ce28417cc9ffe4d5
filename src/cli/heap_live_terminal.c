/*
 * heap_live_terminal.c: the terminal of `heap --live`: keys, signals, and what is written.
 *
 * The terminal is opened once more for writing: so writes need not wait without changing the descriptor that the shell
 * shares with us. What does not fit goes out later, and until then nothing new is drawn. Signals are only taken while
 * the program waits; each of them restores the terminal before it has its effect.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "cli/heap_live.h"

#define USUAL_COLUMNS 80
#define USUAL_LINES   24
#define SLICE_MS      100 /* how often a wait looks whether the recording has ended */
#define LEAST_MS      50  /* for the answer to an escape key */

/* Another screen, no cursor, and lines that are not wrapped; and back. */
static const char enter[] = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H\x1b[2J";
static const char leave[] = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

/* Only one terminal: handlers of signals need it. */
static struct {
    int input, output; /* -1: there is none */
    bool is_raw;       /* the input has other settings */
    volatile sig_atomic_t is_entered;
    struct termios before;
} terminal;

static volatile sig_atomic_t was_resized, was_stopped, was_continued, ending_signal;

/* --- the terminal --- */

/* All of it, also if the terminal is slow: it has to be as it was. Signal handlers call this too. */
static void write_all(const char *bytes, size_t size)
{
    for (unsigned attempts = 0; size > 0 && attempts < 100;) {
        ssize_t written = write(terminal.output, bytes, size);
        if (written > 0) {
            bytes += written;
            size -= (size_t)written;
        } else if (written < 0 && errno == EAGAIN) {
            struct pollfd ready = {.fd = terminal.output, .events = POLLOUT};
            (void)poll(&ready, 1, 50);
            attempts++;
        } else if (written == 0 || errno != EINTR) {
            return;
        }
    }
}

static void enter_screen(void)
{
    struct termios raw = terminal.before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    if (terminal.is_raw)
        tcsetattr(terminal.input, TCSADRAIN, &raw);
    write_all(enter, sizeof enter - 1);
    terminal.is_entered = 1;
}

static void leave_screen(void)
{
    if (!terminal.is_entered)
        return;
    terminal.is_entered = 0;
    write_all(leave, sizeof leave - 1);
    if (terminal.is_raw)
        tcsetattr(terminal.input, TCSANOW, &terminal.before);
}

static void open_terminal(void)
{
    const char *name = ttyname(STDOUT_FILENO);
    terminal.output = name != NULL ? open(name, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
    if (terminal.output < 0)
        terminal.output = STDOUT_FILENO;
    terminal.input = isatty(STDIN_FILENO) ? STDIN_FILENO : -1;
    terminal.is_raw = terminal.input >= 0 && tcgetattr(terminal.input, &terminal.before) == 0;
}

static void close_terminal(void)
{
    leave_screen();
    if (terminal.output != STDOUT_FILENO)
        close(terminal.output);
    terminal.output = -1;
}

/* --- signals --- */

static void note_signal(int number)
{
    if (number == SIGWINCH)
        was_resized = 1;
    else if (number == SIGTSTP)
        was_stopped = 1;
    else if (number == SIGCONT)
        was_continued = 1;
    else
        ending_signal = number;
}

/* The program is broken: nothing but the terminal can be saved. */
static void restore_and_die(int number)
{
    leave_screen();
    signal(number, SIG_DFL);
    raise(number);
}

static const int noted[] = {SIGWINCH, SIGTSTP, SIGCONT, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static const int deadly[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};

/* BEFORE becomes the signals that are taken while the program waits. One that was ignored stays so. */
static void set_signals(sigset_t *before)
{
    sigset_t blocked;
    sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof noted / sizeof *noted; i++) {
        struct sigaction old, new = {.sa_handler = note_signal};
        bool is_ignored = sigaction(noted[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN;
        if (!is_ignored)
            sigaction(noted[i], &new, NULL);
        sigaddset(&blocked, noted[i]);
    }
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        sigaction(deadly[i], &(struct sigaction){.sa_handler = restore_and_die, .sa_flags = (int)SA_RESETHAND}, NULL);
    sigprocmask(SIG_BLOCK, &blocked, before);
    for (size_t i = 0; i < sizeof noted / sizeof *noted; i++)
        sigdelset(before, noted[i]);
}

static void reset_signals(const sigset_t *before)
{
    for (size_t i = 0; i < sizeof noted / sizeof *noted; i++) {
        struct sigaction old;
        if (sigaction(noted[i], NULL, &old) == 0 && old.sa_handler == note_signal)
            signal(noted[i], SIG_DFL);
    }
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        signal(deadly[i], SIG_DFL);
    sigprocmask(SIG_SETMASK, before, NULL);
}

/* As without a handler, with the terminal as it was. Returns when the program is continued. */
static void stop(void)
{
    was_stopped = 0;
    leave_screen();
    raise(SIGSTOP);
    was_continued = 1;
}

/* --- keys --- */

struct keys {
    unsigned char bytes[64];
    size_t count;
};

/* The next key; -1 if there is none, or if more bytes have to come. *SIZE becomes its bytes. */
static int parse_key(const struct keys *keys, size_t *size, bool is_whole)
{
    static const struct {
        const char *bytes;
        int key;
    } known[] = {{"\x1b[A", CLI_KEY_UP},        {"\x1b[B", CLI_KEY_DOWN}, {"\x1bOA", CLI_KEY_UP},
                 {"\x1bOB", CLI_KEY_DOWN},      {"\x1b[H", CLI_KEY_HOME}, {"\x1b[F", CLI_KEY_END},
                 {"\x1b[1~", CLI_KEY_HOME},     {"\x1b[4~", CLI_KEY_END}, {"\x1b[5~", CLI_KEY_PAGE_UP},
                 {"\x1b[6~", CLI_KEY_PAGE_DOWN}};
    if (keys->count == 0)
        return -1;
    *size = 1;
    if (keys->bytes[0] != 0x1b)
        return keys->bytes[0];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t length = strlen(known[i].bytes), common = length < keys->count ? length : keys->count;
        if (memcmp(known[i].bytes, keys->bytes, common) != 0)
            continue;
        if (keys->count < length && !is_whole)
            return -1;
        if (keys->count >= length) {
            *size = length;
            return known[i].key;
        }
    }
    /* An unknown sequence ends with a letter. */
    for (*size = 1; *size < keys->count && (*size == 1 || keys->bytes[*size - 1] < 0x40); (*size)++)
        continue;
    return 0;
}

/* --- the loop --- */

struct session {
    struct cli_live *live;
    struct cli_live_view view;
    struct cli_screen *screen;
    struct sxt_buffer pending; /* that the terminal did not take yet */
    size_t written;            /* of it */
    struct keys keys;
    double next;     /* seconds: when to refresh */
    bool is_changed; /* to be drawn */
    bool quits;
    bool has_failed;
    sxt_error error;
};

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Writes what it takes without waiting. */
static void flush(struct session *session)
{
    while (session->written < session->pending.size) {
        ssize_t size =
            write(terminal.output, session->pending.data + session->written, session->pending.size - session->written);
        if (size > 0)
            session->written += (size_t)size;
        else if (size < 0 && errno == EINTR)
            continue;
        else if (size < 0 && errno == EAGAIN)
            return;
        else {
            session->quits = true; /* the terminal has gone */
            return;
        }
    }
    sxt_buffer_clear(&session->pending);
    session->written = 0;
}

/* Draws, if the terminal has everything of the last time. */
static void draw(struct session *session)
{
    flush(session);
    if (session->pending.size > 0 || !session->is_changed)
        return;
    session->is_changed = false;
    size_t size;
    cli_screen_clear(session->screen);
    cli_live_view_draw(&session->view, session->live, session->screen);
    const char *bytes = cli_screen_take(session->screen, &size);
    sxt_buffer_append(&session->pending, bytes, size);
    flush(session);
}

/* A new screen, of the size that the terminal has by now. */
static bool resize(struct session *session)
{
    struct winsize size;
    bool is_known = ioctl(terminal.output, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    struct cli_screen *screen =
        cli_screen_new(is_known ? size.ws_col : USUAL_COLUMNS, is_known ? size.ws_row : USUAL_LINES);
    was_resized = 0;
    if (screen == NULL)
        return session->screen != NULL;
    cli_screen_free(session->screen);
    session->screen = screen;
    session->is_changed = true;
    /* Nothing of the old screen may be left. What it still had to say is void, except for the rest of a sequence. */
    if (session->written == 0)
        sxt_buffer_clear(&session->pending);
    sxt_buffer_append(&session->pending, "\x1b[0m\x1b[2J", 8);
    return true;
}

static void press(struct session *session, int key)
{
    struct cli_live_view *view = &session->view;
    session->is_changed = true;
    if (key == 'q' || key == 'Q' || key == 3 || key == 4)
        session->quits = true;
    else if (key == 'p' || key == ' ')
        view->is_paused = !view->is_paused;
    else if (key == 12)
        was_resized = 1;
    else
        session->is_changed = cli_live_view_press(view, session->live, key);
}

static void take_keys(struct session *session, bool is_whole)
{
    struct keys *keys = &session->keys;
    size_t size = 0;
    for (int key; (key = parse_key(keys, &size, is_whole)) >= 0;) {
        memmove(keys->bytes, keys->bytes + size, keys->count - size);
        keys->count -= size;
        if (key > 0)
            press(session, key);
    }
}

static void read_keys(struct session *session)
{
    struct keys *keys = &session->keys;
    ssize_t size = read(terminal.input, keys->bytes + keys->count, sizeof keys->bytes - keys->count);
    if (size > 0)
        keys->count += (size_t)size;
    else if (size == 0 || (errno != EINTR && errno != EAGAIN))
        session->quits = true; /* the terminal has gone */
    take_keys(session, keys->count == sizeof keys->bytes);
}

/* Waits for keys, signals, room in the terminal, or the next refresh. */
static void wait_for(struct session *session, const sigset_t *taken)
{
    struct pollfd files[2] = {{.fd = terminal.input, .events = POLLIN}, {.fd = -1, .events = POLLOUT}};
    if (session->pending.size > 0)
        files[1].fd = terminal.output;
    double left = session->next - seconds_now();
    bool has_ended = session->live->figures.has_ended || session->view.is_paused;
    long milliseconds = left <= 0 ? 0 : left * 1000 < SLICE_MS || has_ended ? (long)(left * 1000) + 1 : SLICE_MS;
    if (session->keys.count > 0 && milliseconds > LEAST_MS)
        milliseconds = LEAST_MS;
    struct timespec limit = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    int ready = ppoll(files, 2, &limit, taken);
    if (ready > 0 && files[0].revents != 0)
        read_keys(session);
    else if (session->keys.count > 0)
        take_keys(session, true);
    if (ready > 0 && files[1].revents != 0)
        flush(session);
}

static void take_signals(struct session *session)
{
    if (was_stopped)
        stop();
    if (was_continued) {
        was_continued = 0;
        leave_screen();
        enter_screen();
        was_resized = 1;
    }
    if (was_resized && !resize(session))
        session->quits = true;
    session->quits |= ending_signal != 0;
}

/* Reads what is new when it is time, or when the recording has ended. */
static void refresh(struct session *session)
{
    struct cli_live *live = session->live;
    double now = seconds_now();
    bool is_time = now >= session->next || !sxt_watch_is_running(live->watch);
    if (live->figures.has_ended || !is_time) {
        if (now >= session->next) { /* names may have come */
            session->next = now + live->interval_ms * 1e-3;
            if (!session->view.is_paused)
                cli_live_view_refresh(&session->view, live);
            session->is_changed = true;
        }
        return;
    }
    session->next = now + live->interval_ms * 1e-3;
    if (session->view.is_paused && sxt_watch_is_running(live->watch))
        return;
    if (!cli_live_update(live, &session->error)) {
        session->has_failed = session->quits = true;
        return;
    }
    cli_live_view_refresh(&session->view, live);
    session->is_changed = true;
}

static void run(struct session *session, const sigset_t *taken)
{
    while (!session->quits) {
        take_signals(session);
        if (!session->quits)
            refresh(session);
        if (!session->quits)
            draw(session);
        if (!session->quits)
            wait_for(session, taken);
    }
}

int cli_live_run_terminal(struct cli_live *live)
{
    struct session session = {.live = live, .next = seconds_now()};
    sigset_t before;
    /* The first update says what is wrong before anything is drawn. */
    if (!cli_live_update(live, &session.error))
        return cli_fail(live->name, &session.error);
    sxt_buffer_init(&session.pending, SIZE_MAX / 4);
    open_terminal();
    set_signals(&before);
    enter_screen();
    was_resized = 1;
    cli_live_view_refresh(&session.view, live);
    run(&session, &before);
    close_terminal();
    reset_signals(&before);
    cli_live_view_free(&session.view);
    cli_screen_free(session.screen);
    sxt_buffer_free(&session.pending);
    if (live->figures.has_ended)
        cli_live_say_end(live);
    if (ending_signal != 0 && ending_signal != SIGINT)
        raise(ending_signal);
    return session.has_failed ? cli_fail(live->name, &session.error) : CLI_DONE;
}
