/* leaks.c: lists the leaks of a heap trace, the largest first: cc leaks.c $(pkg-config --cflags --libs sextant) */
#include <stdio.h>

#include <sextant/sextant.h>

/* A name that is unknown has no data. */
static void print_name(sxt_string name)
{
    printf("  %.*s", (int)name.size, name.data != NULL ? name.data : "");
}

static void print_leak(const sxt_trace *trace, const sxt_heap_row *row)
{
    sxt_trace_frame frame;
    printf("%llu bytes leaked by stack %u\n", (unsigned long long)row->sums.leaked_bytes, row->id);
    for (uint32_t i = 0; sxt_trace_get_frame(trace, row->id, i, &frame); i++) {
        print_name(frame.function);
        print_name(frame.file);
        printf(":%u\n", frame.line);
    }
}

int main(int argc, char **argv)
{
    sxt_trace *trace = NULL;
    sxt_heap_usage *usage = NULL;
    sxt_heap_table *leaks = NULL;
    sxt_error error = {SXT_OK, SXT_REASON_NONE, 0, "usage: leaks TRACE"};
    if (argc == 2 && sxt_trace_open_path(argv[1], NULL, &trace, &error) == SXT_OK &&
        sxt_trace_analyse(trace, NULL, &usage, &error) == SXT_OK &&
        sxt_heap_table_make(usage, SXT_HEAP_BY_STACK, SXT_HEAP_COST_LEAKED, UINT64_MAX, &leaks, &error) == SXT_OK)
        for (size_t i = 0; i < sxt_heap_table_count(leaks); i++)
            print_leak(trace, sxt_heap_table_row(leaks, i));
    int status = leaks == NULL ? fprintf(stderr, "leaks: %s\n", error.text) > 0 : 0;
    sxt_heap_table_free(&leaks);
    sxt_heap_usage_free(&usage);
    sxt_trace_close(&trace);
    return status;
}
