/* heap_address.c: the history of one address. */
#include <inttypes.h>
#include <string.h>

#include "cli/heap.h"

struct printer {
    struct sxt_emit *emit;
    const struct cli_heap *heap;
    uint64_t address;
    uint64_t count;
};

static void emit_event(const struct printer *printer, const sxt_heap_address_event *event)
{
    struct sxt_emit *emit = printer->emit;
    bool is_known = !event->is_unmatched;
    sxt_emit_record(emit);
    sxt_emit_cstring(emit, "event", event->is_free ? "free" : "alloc");
    sxt_emit_number(emit, "time_us", event->time);
    sxt_emit_address(emit, "address", event->address);
    if (is_known) {
        sxt_emit_number(emit, "size", event->size);
        sxt_emit_number(emit, "offset", printer->address - event->address);
        sxt_emit_number(emit, "stack", event->stack);
        sxt_emit_number(emit, "thread", event->thread);
    } else {
        static const char *const keys[] = {"size", "offset", "stack", "thread"};
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            sxt_emit_null(emit, keys[i]);
    }
    if (event->is_free) {
        if (is_known)
            sxt_emit_number(emit, "lifetime_us", event->time - event->allocated);
        else
            sxt_emit_null(emit, "lifetime_us");
        sxt_emit_bool(emit, "implicit", event->is_implicit);
        sxt_emit_bool(emit, "unmatched", event->is_unmatched);
    } else {
        cli_heap_emit_frames(emit, printer->heap->trace, event->stack);
    }
    sxt_emit_record_end(emit);
}

static void print_event(const struct printer *printer, const sxt_heap_address_event *event)
{
    struct sxt_emit *emit = printer->emit;
    struct cli_number after = cli_duration(event->time - printer->heap->info.start_us);
    sxt_emit_text(emit, "%12s  %-5s  ", after.text, event->is_free ? "free" : "alloc");
    if (event->is_unmatched) {
        sxt_emit_text(emit, "no block is known\n");
        return;
    }
    sxt_emit_text(emit, "%s byte%s at 0x%" PRIx64, cli_thousands((double)event->size).text, event->size == 1 ? "" : "s",
                  event->address);
    if (event->is_free) {
        sxt_emit_text(emit, ", after %s%s\n", cli_duration(event->time - event->allocated).text,
                      event->is_implicit ? ": the address was allocated again" : "");
        return;
    }
    sxt_string thread = sxt_trace_thread_name(printer->heap->trace, event->thread);
    sxt_emit_text(emit, ", stack %u, thread %u", event->stack, event->thread);
    if (thread.size > 0) {
        sxt_emit_text(emit, " ");
        sxt_emit_name(emit, thread);
    }
    sxt_emit_text(emit, "\n%23s", "");
    cli_heap_print_stack_of(emit, printer->heap->trace, event->stack, &printer->heap->look, 23, 1);
}

static bool print(void *data, const sxt_heap_address_event *event)
{
    struct printer *printer = data;
    printer->count++;
    if (sxt_emit_is_json(printer->emit))
        emit_event(printer, event);
    else
        print_event(printer, event);
    return !printer->emit->failed;
}

int cli_heap_print_address(struct sxt_emit *emit, const struct cli_heap *heap, uint64_t address)
{
    struct printer printer = {.emit = emit, .heap = heap, .address = address};
    sxt_error error;
    int status = sxt_trace_visit_address(heap->trace, address, print, &printer, &error);
    if (status != SXT_OK)
        return cli_fail(heap->path, &error);
    if (printer.count == 0)
        sxt_emit_text(emit, "no block had the address 0x%" PRIx64 "\n", address);
    return CLI_DONE;
}
