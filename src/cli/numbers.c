/* numbers.c: numbers and names in the output of verbs, and numbers in their options. */
#include "cli/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/byte_count.h"
#include "base/string.h"

int cli_count_option(const struct cli_arguments *arguments, const char *name, uint64_t otherwise, uint64_t *out)
{
    const char *value = cli_value(arguments, name);
    double number = 0;
    *out = otherwise;
    if (value == NULL)
        return CLI_DONE;
    if (!sxt_byte_count_parse(value, strlen(value), &number) || number < 0 || number > 1e15 ||
        number != (double)(uint64_t)number)
        return cli_usage(arguments->verb, "--%s takes a number, not '%s'", name, value);
    *out = (uint64_t)number;
    return CLI_DONE;
}

/* --- numbers --- */

struct cli_number cli_thousands(double value)
{
    char digits[40];
    struct cli_number out;
    size_t used = 0;
    if (!(fabs(value) < 9e18)) {
        snprintf(out.text, sizeof out.text, "%.3g", value);
        return out;
    }
    bool is_small = fabs(value) < 10 && value != (double)(int64_t)value;
    snprintf(digits, sizeof digits, is_small ? "%.1f" : "%.0f", fabs(value));
    size_t whole = strcspn(digits, ".");
    if (value < 0 && strspn(digits, "0.") < strlen(digits))
        out.text[used++] = '-';
    for (size_t i = 0; digits[i] != 0 && used + 2 < sizeof out.text; i++) {
        if (i > 0 && i < whole && (whole - i) % 3 == 0)
            out.text[used++] = ',';
        out.text[used++] = digits[i];
    }
    out.text[used] = 0;
    return out;
}

struct cli_number cli_change(double value)
{
    struct cli_number number = cli_thousands(value);
    if (value > 0 && strlen(number.text) + 2 < sizeof number.text) {
        memmove(number.text + 1, number.text, strlen(number.text) + 1);
        number.text[0] = '+';
    }
    return number;
}

struct cli_number cli_bytes(double value)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB"};
    struct cli_number out;
    size_t unit = 0;
    if (fabs(value) < 2000) {
        snprintf(out.text, sizeof out.text, "%.20s byte%s", cli_thousands(value).text, fabs(value) == 1 ? "" : "s");
        return out;
    }
    for (value /= 1000; fabs(value) >= 999.5 && unit + 1 < sizeof units / sizeof *units; unit++)
        value /= 1000;
    snprintf(out.text, sizeof out.text,
             fabs(value) < 10    ? "%.2f %s"
             : fabs(value) < 100 ? "%.1f %s"
                                 : "%.0f %s",
             value, units[unit]);
    return out;
}

struct cli_number cli_percent(double part, double whole)
{
    struct cli_number out = {""};
    if (whole != 0)
        snprintf(out.text, sizeof out.text, "%.1f %%", 100 * part / fabs(whole));
    return out;
}

/* --- JSON --- */

/* Sums of proportional sizes are whole numbers that were added up in pieces. */
static void print_real(char *out, size_t size, double value)
{
    bool is_large = !(fabs(value) < 9e15);
    int64_t whole = is_large ? 0 : (int64_t)(value < 0 ? value - 0.5 : value + 0.5);
    if (!is_large && fabs(value - (double)whole) < 1e-6)
        snprintf(out, size, "%lld", (long long)whole);
    else if (isfinite(value))
        snprintf(out, size, "%.15g", value);
    else
        snprintf(out, size, "null");
}

void cli_emit_signed(struct sxt_emit *emit, const char *key, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    sxt_emit_raw(emit, key, sxt_string_of(text));
}

void cli_emit_real(struct sxt_emit *emit, const char *key, double value)
{
    char text[40];
    print_real(text, sizeof text, value);
    sxt_emit_raw(emit, key, sxt_string_of(text));
}

void cli_emit_text_number(struct sxt_emit *emit, sxt_string key, double value)
{
    char text[40];
    print_real(text, sizeof text, value);
    if (sxt_emit_is_json(emit))
        sxt_json_write_key(&emit->writer, key);
    else
        sxt_emit_string(emit, NULL, key);
    sxt_emit_raw(emit, NULL, sxt_string_of(text));
}

/* --- CSV and text --- */

void cli_csv_text(struct sxt_emit *emit, sxt_string value, char after)
{
    bool quoted = false;
    for (size_t i = 0; i < value.size && !quoted; i++)
        quoted = strchr("\",\r\n", value.data[i]) != NULL;
    if (quoted)
        sxt_buffer_u8(&emit->line, '"');
    for (size_t i = 0; i < value.size; i++) {
        if (value.data[i] == '"')
            sxt_buffer_u8(&emit->line, '"');
        sxt_buffer_u8(&emit->line, (uint8_t)value.data[i]);
    }
    if (quoted)
        sxt_buffer_u8(&emit->line, '"');
    sxt_emit_text(emit, after == '\n' ? "\n" : ",");
}

void cli_csv_number(struct sxt_emit *emit, double value, char after)
{
    char text[40];
    print_real(text, sizeof text, value);
    sxt_emit_text(emit, "%s%c", text, after);
}

void cli_print_padded(struct sxt_emit *emit, sxt_string name, size_t width)
{
    sxt_emit_name(emit, name);
    if (name.size < width)
        sxt_emit_text(emit, "%*s", (int)(width - name.size), "");
}

/* --- Markdown --- */

/* In a cell of a table "|" would end it, and in code "`" would. */
void cli_markdown_code(struct sxt_emit *emit, sxt_string name)
{
    size_t start = 0;
    sxt_emit_text(emit, "`");
    for (size_t i = 0; i < name.size; i++) {
        if (name.data[i] != '|' && name.data[i] != '`')
            continue;
        sxt_emit_name(emit, (sxt_string){name.data + start, i - start});
        sxt_emit_text(emit, name.data[i] == '|' ? "\\|" : "'");
        start = i + 1;
    }
    sxt_emit_name(emit, (sxt_string){name.data + start, name.size - start});
    sxt_emit_text(emit, "`");
}

int cli_time_option(const struct cli_arguments *arguments, const char *name, uint64_t *out)
{
    static const struct {
        char letter;
        uint32_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    const char *text = cli_value(arguments, name);
    *out = 0;
    if (text == NULL)
        return CLI_DONE;
    size_t digits = strspn(text, "0123456789");
    uint64_t number = strtoull(text, NULL, 10), unit = 1;
    const char *letter = text + digits;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (*letter == units[i].letter)
            unit = units[i].seconds;
    bool is_unit = *letter == 0 || (strchr("smhd", *letter) != NULL && letter[1] == 0);
    if (digits == 0 || digits > 10 || !is_unit || number == 0)
        return cli_usage(arguments->verb, "--%s takes a time, such as 12h or 90d, not '%s'", name, text);
    *out = number * unit;
    return CLI_DONE;
}
