/* group_labels.c: what each item is grouped under, one after another. */
#include "base/error.h"
#include "base/string.h"
#include "size/query_private.h"

int sxt_size_query_visit_labels(const struct sxt_size_query_subject *subject, const char *key_name,
                                sxt_size_visit_label *visit, void *data, sxt_error *error)
{
    struct group_key key;
    struct sxt_buffer buffer, names_buffer;
    if (!sxt_group_find_key(sxt_string_of(key_name), &key))
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "cannot group by '%s'", key_name);
    sxt_buffer_init(&buffer, (size_t)64 << 20);
    sxt_buffer_init(&names_buffer, (size_t)64 << 20);
    size_t count = sxt_size_query_item_count(subject);
    int status = SXT_OK;
    for (size_t i = 0; i < count && status == SXT_OK; i++) {
        struct sxt_size_query_item item;
        sxt_size_query_get_item(subject, i, &item);
        struct sxt_size_derived_names names = {item.full_name, item.full_name, item.full_name, 0};
        if (sxt_group_needs_names(&key) && item.symbol != NULL)
            sxt_size_derive_names(sxt_size_query_segment(&item), item.full_name, &names_buffer, &names);
        sxt_string label = sxt_group_label(&key, &item, &names, &buffer);
        if (buffer.failed || names_buffer.failed || !visit(data, i, label))
            status = sxt_fail_memory(error, names_buffer.size);
    }
    sxt_buffer_free(&buffer);
    sxt_buffer_free(&names_buffer);
    return status;
}
