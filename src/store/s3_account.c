/* s3_account.c: see s3_account.h. */
#include "store/s3_account.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/file.h"

/* A setting, and where it comes from. */
struct setting {
    const char *const *variables; /* the first one that is set wins; ends with NULL */
    const char *name;             /* in a file */
    char *value;
    size_t size;
};

static int load_file(const char *variable, const char *usual, bool is_config, const struct setting *settings,
                     size_t count, sxt_error *error);
static int parse_endpoint(struct sxt_s3_account *account, const char *endpoint, sxt_error *error);

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && *value != 0 ? value : NULL;
}

static int fail_too_long(const char *name, sxt_error *error)
{
    return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "the value of %s is too long or has control characters",
                    name);
}

/* False if it does not fit, or would break a line of a request. */
static bool set_value(const struct setting *setting, const char *value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)value[i] < ' ' || value[i] == 0x7f)
            return false;
    if (size >= setting->size)
        return false;
    memcpy(setting->value, value, size);
    setting->value[size] = 0;
    return true;
}

static int load_variables(const struct setting *settings, size_t count, sxt_error *error)
{
    for (size_t i = 0; i < count; i++)
        for (const char *const *name = settings[i].variables; *name != NULL && *settings[i].value == 0; name++) {
            const char *value = variable(*name);
            if (value != NULL && !set_value(&settings[i], value, strlen(value)))
                return fail_too_long(*name, error);
        }
    return SXT_OK;
}

int sxt_s3_account_load(struct sxt_s3_account *account, sxt_error *error)
{
    static const char *const endpoints[] = {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", NULL};
    static const char *const regions[] = {"AWS_REGION", "AWS_DEFAULT_REGION", NULL};
    static const char *const keys[] = {"AWS_ACCESS_KEY_ID", NULL}, *const secrets[] = {"AWS_SECRET_ACCESS_KEY", NULL};
    static const char *const tokens[] = {"AWS_SESSION_TOKEN", NULL}, *const bundles[] = {"AWS_CA_BUNDLE", NULL};
    struct sxt_s3_identity *identity = &account->identity;
    char endpoint[300] = "";
    memset(account, 0, sizeof *account);
    /* The key, its secret and its token belong together: they are first, and all come from one source. */
    const struct setting settings[] = {
        {keys, "aws_access_key_id", identity->access_key, sizeof identity->access_key},
        {secrets, "aws_secret_access_key", identity->secret_key, sizeof identity->secret_key},
        {tokens, "aws_session_token", identity->session_token, sizeof identity->session_token},
        {regions, "region", identity->region, sizeof identity->region},
        {endpoints, "endpoint_url", endpoint, sizeof endpoint},
        {bundles, "ca_bundle", account->ca_file, sizeof account->ca_file},
    };
    enum { COUNT = sizeof settings / sizeof *settings, KEYS = 3 };
    int status = load_variables(settings, COUNT, error);
    size_t first = *identity->access_key != 0 || *identity->secret_key != 0 ? KEYS : 0;
    if (status == SXT_OK && first == 0)
        *identity->session_token = 0;
    if (status == SXT_OK)
        status = load_file("AWS_SHARED_CREDENTIALS_FILE", "credentials", false, settings + first, COUNT - first, error);
    if (status == SXT_OK && *identity->access_key != 0)
        first = KEYS;
    if (status == SXT_OK)
        status = load_file("AWS_CONFIG_FILE", "config", true, settings + first, COUNT - first, error);
    if (status != SXT_OK)
        return status;
    if (*identity->access_key == 0 || *identity->secret_key == 0)
        return sxt_fail(
            error, SXT_ERROR_USAGE, SXT_NO_OFFSET,
            "no credentials for the bucket: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE");
    if (*identity->region == 0)
        snprintf(identity->region, sizeof identity->region, "us-east-1");
    return parse_endpoint(account, endpoint, error);
}

/* --- files --- */

static const char *trim(const char *text, size_t *size)
{
    while (*size > 0 && (*text == ' ' || *text == '\t')) {
        text++;
        --*size;
    }
    while (*size > 0 && (text[*size - 1] == ' ' || text[*size - 1] == '\t' || text[*size - 1] == '\r'))
        --*size;
    return text;
}

/* Whether a line "[NAME]" begins the section of PROFILE; in the config file, most are called "[profile NAME]". */
static bool is_section(const char *line, size_t size, const char *profile, bool is_config)
{
    static const char word[] = "profile ";
    line++;
    size -= 2;
    line = trim(line, &size);
    if (is_config && size > strlen(word) && memcmp(line, word, strlen(word)) == 0) {
        line += strlen(word);
        size -= strlen(word);
        line = trim(line, &size);
    } else if (is_config && strcmp(profile, "default") != 0) {
        return false;
    }
    return size == strlen(profile) && memcmp(line, profile, size) == 0;
}

static bool read_setting(const char *line, size_t size, const struct setting *settings, size_t count)
{
    const char *equals = memchr(line, '=', size);
    if (equals == NULL)
        return true;
    size_t name_size = (size_t)(equals - line), value_size = size - name_size - 1;
    const char *name = trim(line, &name_size), *value = trim(equals + 1, &value_size);
    for (size_t i = 0; i < count; i++)
        if (name_size == strlen(settings[i].name) && strncasecmp(name, settings[i].name, name_size) == 0 &&
            *settings[i].value == 0)
            return set_value(&settings[i], value, value_size);
    return true;
}

static bool parse_file(const struct sxt_file *file, const char *profile, bool is_config, const struct setting *settings,
                       size_t count)
{
    const char *line = (const char *)file->data, *limit = line + file->size;
    bool inside = false;
    while (line < limit) {
        const char *end = memchr(line, '\n', (size_t)(limit - line));
        size_t size = (size_t)((end != NULL ? end : limit) - line);
        /* A line that begins with a space belongs to the one before it: "s3 =" has settings of its own. */
        bool nested = size > 0 && (*line == ' ' || *line == '\t');
        const char *text = trim(line, &size);
        if (size >= 2 && *text == '[' && text[size - 1] == ']')
            inside = is_section(text, size, profile, is_config);
        else if (inside && !nested && size > 0 && *text != '#' && *text != ';' &&
                 !read_setting(text, size, settings, count))
            return false;
        line = end != NULL ? end + 1 : limit;
    }
    return true;
}

/* A file that is missing has no settings. */
static int load_file(const char *path_variable, const char *usual, bool is_config, const struct setting *settings,
                     size_t count, sxt_error *error)
{
    char path[4096];
    const char *given = variable(path_variable), *home = variable("HOME"), *profile = variable("AWS_PROFILE");
    if (given == NULL && home == NULL)
        return SXT_OK;
    int size = given != NULL ? snprintf(path, sizeof path, "%s", given)
                             : snprintf(path, sizeof path, "%s/.aws/%s", home, usual);
    struct sxt_file file;
    if (size < 0 || (size_t)size >= sizeof path || sxt_file_open(&file, path, NULL) != SXT_OK)
        return SXT_OK;
    bool good = parse_file(&file, profile != NULL ? profile : "default", is_config, settings, count);
    sxt_file_close(&file);
    return good ? SXT_OK : fail_too_long(path, error);
}

/* --- the endpoint --- */

static bool is_host(const char *host, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        char character = host[i];
        bool good = (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
                    (character >= '0' && character <= '9') || strchr(".-_:[]", character) != NULL;
        if (!good || character == 0)
            return false;
    }
    return size > 0;
}

/* Browsers, curl and servers leave out the usual port in the Host header; it is signed, so it has to be exact. */
static size_t without_usual_port(const char *host, size_t size, bool secure)
{
    const char *port = secure ? ":443" : ":80";
    size_t port_size = strlen(port);
    return size > port_size && memcmp(host + size - port_size, port, port_size) == 0 ? size - port_size : size;
}

static int parse_endpoint(struct sxt_s3_account *account, const char *endpoint, sxt_error *error)
{
    char amazon[120];
    if (*endpoint == 0) {
        snprintf(amazon, sizeof amazon, "https://s3.%s.amazonaws.com", account->identity.region);
        endpoint = amazon;
    }
    bool secure = strncasecmp(endpoint, "https://", 8) == 0;
    bool plain = strncasecmp(endpoint, "http://", 7) == 0;
    const char *host = endpoint + (secure ? 8 : 7);
    size_t host_size = secure || plain ? strcspn(host, "/?#") : 0;
    const char *path = secure || plain ? host + host_size : "";
    size_t path_size = strlen(path);
    while (path_size > 0 && path[path_size - 1] == '/')
        path_size--;
    if (!is_host(host, host_size) || strpbrk(path, "?#%") != NULL || host_size >= sizeof account->host ||
        path_size >= sizeof account->path)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "not an endpoint (http://HOST:PORT): '%s'", endpoint);
    snprintf(account->origin, sizeof account->origin, "%s%.*s", secure ? "https://" : "http://", (int)host_size, host);
    snprintf(account->host, sizeof account->host, "%.*s", (int)without_usual_port(host, host_size, secure), host);
    struct sxt_buffer encoded;
    char plain_path[sizeof account->path];
    snprintf(plain_path, sizeof plain_path, "%.*s", (int)path_size, path);
    sxt_buffer_init(&encoded, sizeof account->path - 1);
    sxt_s3_encode(&encoded, plain_path, true);
    bool fits = !encoded.failed;
    if (fits)
        snprintf(account->path, sizeof account->path, "%.*s", (int)encoded.size, (const char *)encoded.data);
    sxt_buffer_free(&encoded);
    return fits ? SXT_OK : fail_too_long("AWS_ENDPOINT_URL", error);
}
