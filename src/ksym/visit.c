/* visit.c: the symbols of a blob, one by one, with their whole names. */
#include "base/error.h"
#include "ksym/ksym.h"

/* Most names fit. A record can have 64 KiB, and its token as much again. */
#define NAME_ROOM ((size_t)256)

sxt_string sxt_ksym_name_of(const sxt_ksym *ksym, size_t index, struct sxt_buffer *buffer)
{
    size_t capacity = NAME_ROOM;
    for (;;) {
        sxt_buffer_clear(buffer);
        char *room = (char *)sxt_buffer_reserve(buffer, capacity);
        if (room == NULL)
            return (sxt_string){NULL, 0};
        size_t size = sxt_ksym_name(ksym, index, room, capacity);
        if (size < capacity)
            return (sxt_string){room, size};
        capacity = size + 1;
    }
}

int sxt_ksym_visit(const sxt_ksym *ksym, sxt_ksym_visitor *visit, void *data, sxt_error *error)
{
    struct sxt_buffer buffer;
    sxt_ksym_symbol symbol;
    int status = SXT_OK;
    sxt_buffer_init(&buffer, SIZE_MAX / 2);
    for (size_t i = 0; sxt_ksym_symbol_at(ksym, i, &symbol); i++) {
        sxt_string name = sxt_ksym_name_of(ksym, i, &buffer);
        if (name.data == NULL) {
            status = sxt_fail_memory(error, buffer.capacity);
            break;
        }
        if (!visit(data, &symbol, name))
            break;
    }
    sxt_buffer_free(&buffer);
    return status;
}
