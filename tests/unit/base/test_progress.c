/* test_progress.c: what the bar looks like, when it is drawn, and when it is not. Time is moved by hand. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/pool.h"
#include "base/progress.h"
#include "base/utf8.h"
#include "support/test.h"

#define SECOND UINT64_C(1000000000)

struct screen {
    char *text;
    size_t size;
    FILE *stream;
};

static void open_screen(struct screen *screen)
{
    *screen = (struct screen){0};
    screen->stream = open_memstream(&screen->text, &screen->size);
    assert_non_null(screen->stream);
}

static void close_screen(struct screen *screen)
{
    fclose(screen->stream);
    free(screen->text);
}

/* As if SECONDS had gone by: both the start and the last drawing are that much longer ago. */
static void pass_time(struct sxt_progress *progress, double seconds)
{
    uint64_t time = (uint64_t)(seconds * 1e9);
    progress->started_at -= time;
    if (progress->drawn_at != 0)
        progress->drawn_at -= time;
}

/* A bar that ends with a time of whole seconds; the tenths are left to a machine that may be busy. */
static void assert_drawn(const struct screen *screen, const char *up_to_the_tenths)
{
    static const char ending[] = " s\033[K";
    size_t length = strlen(up_to_the_tenths);
    assert_int_equal(screen->size, length + 1 + strlen(ending));
    assert_memory_equal(screen->text, up_to_the_tenths, length);
    assert_true(screen->text[length] >= '0' && screen->text[length] <= '9');
    assert_string_equal(screen->text + length + 1, ending);
}

TEST(draws_label_bar_share_and_time)
{
    struct screen screen;
    struct sxt_progress progress;
    open_screen(&screen);
    sxt_progress_open(&progress, screen.stream, true);
    sxt_progress_phase(&progress, "reading symbols", 200);
    pass_time(&progress, 1.25);
    sxt_progress_advance(&progress, 104);
    assert_drawn(&screen, "\rreading symbols  [###########-----------]  52 %  1.");
    sxt_progress_close(&progress);
    close_screen(&screen);
}

TEST(shows_only_label_and_time_without_a_total)
{
    struct screen screen;
    struct sxt_progress progress;
    open_screen(&screen);
    sxt_progress_open(&progress, screen.stream, true);
    pass_time(&progress, 75.04);
    sxt_progress_phase(&progress, "sorting", 0);
    assert_drawn(&screen, "\rsorting  75.");
    sxt_progress_close(&progress);
    close_screen(&screen);
}

TEST(stays_quiet_for_short_work)
{
    struct screen screen;
    struct sxt_progress progress;
    open_screen(&screen);
    sxt_progress_open(&progress, screen.stream, true);
    sxt_progress_phase(&progress, "reading", 100);
    for (unsigned i = 0; i < 100; i++)
        sxt_progress_advance(&progress, 1);
    sxt_progress_close(&progress);
    fflush(screen.stream);
    assert_int_equal(screen.size, 0);
    close_screen(&screen);
}

TEST(draws_at_most_ten_times_a_second)
{
    struct screen screen;
    struct sxt_progress progress;
    open_screen(&screen);
    sxt_progress_open(&progress, screen.stream, true);
    sxt_progress_phase(&progress, "reading", 100);
    progress.started_at -= SECOND;
    sxt_progress_advance(&progress, 1);
    size_t once = screen.size;
    assert_true(once > 0);
    progress.drawn_at += 10 * SECOND;
    sxt_progress_advance(&progress, 1);
    assert_int_equal(screen.size, once);
    progress.drawn_at -= 11 * SECOND;
    sxt_progress_advance(&progress, 1);
    assert_true(screen.size > once);
    sxt_progress_close(&progress);
    close_screen(&screen);
}

TEST(wipes_the_bar_at_the_end)
{
    struct screen screen;
    struct sxt_progress progress;
    open_screen(&screen);
    sxt_progress_open(&progress, screen.stream, true);
    sxt_progress_phase(&progress, "reading", 100);
    pass_time(&progress, 1);
    sxt_progress_advance(&progress, 1);
    size_t drawn = screen.size;
    sxt_progress_close(&progress);
    assert_string_equal(screen.text + drawn, "\r\033[K");
    sxt_progress_advance(&progress, 1);
    sxt_progress_close(&progress);
    assert_int_equal(screen.size, drawn + strlen("\r\033[K"));
    close_screen(&screen);
}

TEST(starts_every_phase_at_nothing)
{
    struct screen screen;
    struct sxt_progress progress;
    open_screen(&screen);
    sxt_progress_open(&progress, screen.stream, true);
    sxt_progress_phase(&progress, "first", 10);
    sxt_progress_advance(&progress, 10);
    pass_time(&progress, 2);
    sxt_progress_phase(&progress, "second", 10);
    assert_drawn(&screen, "\rsecond  [----------------------]   0 %  2.");
    sxt_progress_close(&progress);
    close_screen(&screen);
}

TEST(fits_on_a_line_of_80_columns)
{
    static const char *const labels[] = {
        "a label that is very much longer than anybody needs it to be",
        "\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc"
        "x\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc"};
    for (size_t i = 0; i < 2; i++) {
        struct screen screen;
        struct sxt_progress progress;
        open_screen(&screen);
        sxt_progress_open(&progress, screen.stream, true);
        sxt_progress_phase(&progress, labels[i], 10);
        progress.started_at = 1; /* as long ago as the clock goes */
        sxt_progress_advance(&progress, 1000);
        assert_non_null(strstr(screen.text, "[######################]  100 %  "));
        assert_int_equal(sxt_utf8_valid(screen.text, screen.size), screen.size);
        assert_true(screen.size - strlen("\r\033[K") < 80);
        sxt_progress_close(&progress);
        close_screen(&screen);
    }
}

TEST(accepts_no_progress_at_all)
{
    sxt_progress_open(NULL, stderr, true);
    sxt_progress_phase(NULL, "label", 1);
    sxt_progress_advance(NULL, 1);
    sxt_progress_close(NULL);
}

TEST(is_silent_where_nobody_looks)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    struct sxt_progress progress;
    sxt_progress_open(&progress, file, false);
    assert_false(progress.enabled);
    sxt_progress_phase(&progress, "label", 10);
    pass_time(&progress, 10);
    sxt_progress_advance(&progress, 1);
    sxt_progress_close(&progress);
    assert_int_equal(ftell(file), 0);
    fclose(file);
}

static bool enabled_with_terminal(FILE *terminal, const char *kind)
{
    if (kind != NULL)
        setenv("TERM", kind, 1);
    else
        unsetenv("TERM");
    struct sxt_progress progress;
    sxt_progress_open(&progress, terminal, false);
    return progress.enabled;
}

TEST(draws_on_a_terminal_that_is_not_dumb)
{
    int controller = posix_openpt(O_RDWR | O_NOCTTY);
    if (controller < 0 || grantpt(controller) != 0 || unlockpt(controller) != 0)
        skip();
    int fd = open(ptsname(controller), O_RDWR | O_NOCTTY);
    FILE *terminal = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (terminal == NULL)
        skip();
    const char *environment = getenv("TERM");
    char *before = environment != NULL ? strdup(environment) : NULL;
    bool xterm = enabled_with_terminal(terminal, "xterm");
    bool dumb = enabled_with_terminal(terminal, "dumb");
    bool unknown = enabled_with_terminal(terminal, NULL);
    if (before != NULL)
        setenv("TERM", before, 1);
    free(before);
    fclose(terminal);
    close(controller);
    assert_true(xterm);
    assert_false(dumb);
    assert_false(unknown);
}

static int advance_many(void *context, unsigned worker, size_t item)
{
    (void)worker;
    struct sxt_progress *progress = context;
    if (item % 100 == 0)
        sxt_progress_phase(progress, item % 200 == 0 ? "even" : "odd", item + 1);
    for (unsigned i = 0; i < 50; i++)
        sxt_progress_advance(progress, 1);
    usleep(item % 10 == 0 ? 1000 : 0);
    return 0;
}

TEST(counts_and_draws_from_many_threads)
{
    struct screen screen;
    struct sxt_progress progress;
    open_screen(&screen);
    sxt_progress_open(&progress, screen.stream, true);
    progress.started_at -= SECOND;
    assert_int_equal(sxt_pool_run(8, 1000, advance_many, &progress), 0);
    sxt_progress_phase(&progress, "counted", 1 << 20);
    assert_int_equal(sxt_pool_run(8, 99, advance_many, &progress), 0);
    sxt_progress_close(&progress);
    /* Every piece of output is a whole bar: it begins with \r and ends with the wiping of the rest. */
    const char *at = screen.text;
    unsigned bars = 0;
    while (*at != '\0') {
        assert_int_equal(*at, '\r');
        const char *end = strstr(at, "\033[K");
        assert_non_null(end);
        assert_null(memchr(at + 1, '\r', (size_t)(end - at - 1)));
        at = end + strlen("\033[K");
        bars++;
    }
    assert_true(bars >= 2);
    close_screen(&screen);
}

static int advance_by_three(void *context, unsigned worker, size_t item)
{
    (void)worker;
    (void)item;
    sxt_progress_advance(context, 3);
    return 0;
}

TEST(loses_no_step)
{
    struct screen screen;
    struct sxt_progress progress;
    open_screen(&screen);
    sxt_progress_open(&progress, screen.stream, true);
    sxt_progress_phase(&progress, "counting", 30000);
    assert_int_equal(sxt_pool_run(8, 10000, advance_by_three, &progress), 0);
    assert_int_equal(progress.done, 30000);
    sxt_progress_close(&progress);
    close_screen(&screen);
}
