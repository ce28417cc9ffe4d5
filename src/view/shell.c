/* shell.c: the HTML of pages: a template that asks for its data, and the list of files. */
#include <stdio.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/string.h"
#include "view/server.h"

/* Appends text as a name that can be anything: a byte that is not UTF-8 is shown as U+FFFD. */
static void write_text(struct sxt_buffer *html, const char *text)
{
    for (; *text != 0; text++) {
        if (strchr("<>&\"'", *text) != NULL || (unsigned char)*text < ' ')
            sxt_buffer_print(html, "&#%u;", (unsigned)(unsigned char)*text);
        else
            sxt_buffer_u8(html, (uint8_t)*text);
    }
}

/* --- the page of an item --- */

static void write_item_path(struct sxt_json_writer *json, const char *key, const struct sxt_view_server *server,
                            const struct sxt_view_item *item, const char *end)
{
    char text[SXT_VIEW_TOKEN + 80];
    if (item->before != NULL)
        snprintf(text, sizeof text, "/%s/%zu-%zu/%s", server->token, item->before_number, item->number, end);
    else
        snprintf(text, sizeof text, "/%s/%zu/%s", server->token, item->number, end);
    sxt_json_write_string(json, key, sxt_string_of(text));
}

/* The other pages of the same file, and the list. */
static void write_links(struct sxt_json_writer *json, const struct sxt_view_server *server,
                        const struct sxt_view_item *item)
{
    char text[SXT_VIEW_TOKEN + 8];
    sxt_json_write_begin(json, "pages", '[');
    for (size_t i = 0; item->before == NULL && i < server->item_count; i++) {
        const struct sxt_view_item *other = &server->items[i];
        if (other->path != item->path)
            continue;
        sxt_json_write_begin(json, NULL, '{');
        sxt_json_write_string(json, "title", sxt_string_of(other->kind->title));
        write_item_path(json, "url", server, other, "");
        sxt_json_write_bool(json, "current", other == item);
        sxt_json_write_end(json, '}');
    }
    sxt_json_write_end(json, ']');
    if (server->options.path_count > 1) {
        snprintf(text, sizeof text, "/%s/", server->token);
        sxt_json_write_string(json, "files", sxt_string_of(text));
    }
}

/* The window that the page shows, with which it asks for its data. */
static void write_query(struct sxt_json_writer *json, const struct sxt_view_query *query)
{
    static const char *const names[] = {"from", "until"};
    uint64_t number;
    char text[24];
    sxt_json_write_begin(json, "query", '{');
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!sxt_view_query_number(query, names[i], &number))
            continue;
        snprintf(text, sizeof text, "%llu", (unsigned long long)number);
        sxt_json_write_string(json, names[i], sxt_string_of(text));
    }
    sxt_json_write_end(json, '}');
}

int sxt_view_shell_page(const struct sxt_view_server *server, const struct sxt_view_item *item,
                        const struct sxt_view_query *query, struct sxt_buffer *html, sxt_error *error)
{
    struct sxt_buffer served;
    sxt_buffer_init(&served, SIZE_MAX);
    struct sxt_json_writer json = sxt_json_writer_make(&served, SXT_JSON_COMPACT);
    sxt_json_write_begin(&json, NULL, '{');
    write_item_path(&json, "data", server, item, "data/");
    write_links(&json, server, item);
    write_query(&json, query);
    sxt_json_write_end(&json, '}');
    int status = sxt_page_write_served(item->kind->template, &served, html, error);
    sxt_buffer_free(&served);
    return status;
}

/* --- the list of files --- */

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>Files \xe2\x80\x94 sextant</title>\n"
    "<style>\n"
    ":root{color-scheme:light dark}\n"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\n"
    "h1{font-size:1.3rem}\n"
    "table{border-collapse:collapse;width:100%}\n"
    "th,td{text-align:left;padding:.4rem .8rem .4rem 0;border-bottom:1px solid #8886;overflow-wrap:anywhere}\n"
    "form{margin-top:1.5rem;display:flex;gap:.6rem;flex-wrap:wrap;align-items:center}\n"
    "select,button{font:inherit;padding:.2rem .6rem;max-width:22rem}\n"
    "</style>\n</head>\n<body>\n<main>\n<h1>Files</h1>\n";

static void write_rows(const struct sxt_view_server *server, struct sxt_buffer *html)
{
    sxt_buffer_print(html, "<table>\n<thead><tr><th>File</th><th>Kind</th><th>Pages</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < server->item_count; i++) {
        const struct sxt_view_item *item = &server->items[i];
        bool is_first = i == 0 || server->items[i - 1].path != item->path;
        bool is_last = i + 1 == server->item_count || server->items[i + 1].path != item->path;
        if (is_first) {
            sxt_buffer_print(html, "<tr><td><a href=\"%zu/\"><bdi>", i);
            write_text(html, item->path);
            sxt_buffer_print(html, "</bdi></a></td><td>%s</td><td>", item->kind->name);
        }
        sxt_buffer_print(html, "%s<a href=\"%zu/\">%s</a>", is_first ? "" : ", ", i, item->kind->title);
        if (is_last)
            sxt_buffer_print(html, "</td></tr>\n");
    }
    sxt_buffer_print(html, "</tbody>\n</table>\n");
}

/* The last part of a path, or all of it if another file is called the same. */
static const char *short_name(const struct sxt_view_server *server, size_t path)
{
    const char *const *paths = server->options.paths;
    const char *name = sxt_view_last_part(paths[path]);
    for (size_t i = 0; i < server->options.path_count; i++)
        if (i != path && strcmp(sxt_view_last_part(paths[i]), name) == 0)
            return paths[path];
    return name;
}

/* A list of the files from which one is chosen. */
static void write_choice(const struct sxt_view_server *server, const char *label, const char *name, size_t chosen,
                         struct sxt_buffer *html)
{
    sxt_buffer_print(html, "<label>%s <select name=\"%s\">", label, name);
    for (size_t i = 0; i < server->options.path_count; i++) {
        sxt_buffer_print(html, "<option%s value=\"", i == chosen ? " selected" : "");
        write_text(html, server->options.paths[i]);
        sxt_buffer_print(html, "\">");
        write_text(html, short_name(server, i));
        sxt_buffer_print(html, "</option>");
    }
    sxt_buffer_print(html, "</select></label>\n");
}

/* The first two files of a kind that can be compared. False if there are none. */
static bool find_pair(const struct sxt_view_server *server, size_t *before, size_t *after)
{
    const struct sxt_view_item *items = server->items;
    for (size_t i = 0; i < server->item_count; i++)
        for (size_t j = i + 1; j < server->item_count; j++) {
            if (items[i].kind != items[j].kind || items[i].kind->compare == NULL || items[i].path == items[j].path)
                continue;
            for (size_t k = 0; k < server->options.path_count; k++) {
                if (server->options.paths[k] == items[i].path)
                    *before = k;
                if (server->options.paths[k] == items[j].path)
                    *after = k;
            }
            return true;
        }
    return false;
}

void sxt_view_shell_index(const struct sxt_view_server *server, struct sxt_buffer *html)
{
    size_t before = 0, after = 0;
    sxt_buffer_print(html, "%s", head);
    write_rows(server, html);
    if (find_pair(server, &before, &after)) {
        sxt_buffer_print(html, "<form method=\"get\">\n");
        write_choice(server, "Compare", "before_url", before, html);
        write_choice(server, "with", "load_url", after, html);
        sxt_buffer_print(html, "<button>Show what changed</button>\n</form>\n");
    }
    sxt_buffer_print(html, "</main>\n</body>\n</html>\n");
}
