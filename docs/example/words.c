/* words.c: counts words. README.md looks up addresses of this program. */
#include <stdio.h>
static inline int is_blank(int c)
{
    return c == ' ' || c == '\t';
}

static inline const char *skip_blanks(const char *text)
{
    while (is_blank(*text))
        text++;
    return text;
}
int count_words(const char *text);
int count_words(const char *text)
{
    int count = 0;
    for (text = skip_blanks(text); *text != 0; text = skip_blanks(text)) {
        while (*text != 0 && !is_blank(*text))
            text++;
        count++;
    }
    return count;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        printf("%d\n", count_words(argv[i]));
}
