/* path_map.c: replaces the prefixes of paths. */
#include <string.h>

#include "base/string.h"
#include "symbols/symbols.h"

/* A prefix ends where a component of the path does. */
bool sxt_map_path(const struct sxt_path_maps *maps, sxt_string path, struct sxt_buffer *out)
{
    for (size_t i = 0; i < maps->count; i++) {
        const sxt_path_map *map = &maps->list[i];
        size_t size = strlen(map->old_prefix);
        if (size == 0 || !sxt_string_has_prefix(path, (sxt_string){map->old_prefix, size}) ||
            (size < path.size && map->old_prefix[size - 1] != '/' && path.data[size] != '/'))
            continue;
        sxt_buffer_append(out, map->new_prefix, strlen(map->new_prefix));
        sxt_buffer_append(out, path.data + size, path.size - size);
        return true;
    }
    return false;
}

void sxt_module_encode_mapped(const struct sxt_model_module *module, const struct sxt_path_maps *maps,
                              struct sxt_buffer *out)
{
    struct sxt_buffer mapped;
    sxt_buffer_init(&mapped, SIZE_MAX);
    const char *path = module->path;
    if (path != NULL && sxt_map_path(maps, (sxt_string){path, strlen(path)}, &mapped)) {
        sxt_buffer_u8(&mapped, 0);
        path = mapped.failed ? NULL : (const char *)mapped.data;
    }
    sxt_module_encode(module, path, out);
    sxt_buffer_free(&mapped);
}
