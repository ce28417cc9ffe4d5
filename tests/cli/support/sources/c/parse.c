/* A recursive parser, and a function whose body comes from two files. */
#include "chain.h"

struct reader {
    const char *at;
    unsigned depth;
};

static unsigned expression(struct reader *reader);

static int peek(const struct reader *reader)
{
    return *reader->at;
}

static int take(struct reader *reader, int wanted)
{
    if (peek(reader) != wanted)
        return 0;
    reader->at++;
    return 1;
}

static unsigned number(struct reader *reader)
{
    unsigned value = 0;
    while (peek(reader) >= '0' && peek(reader) <= '9')
        value = value * 10 + (unsigned)(*reader->at++ - '0');
    return value;
}

static unsigned factor(struct reader *reader)
{
    if (take(reader, '(')) {
        unsigned value = ++reader->depth < 100 ? expression(reader) : 0;
        take(reader, ')');
        reader->depth--;
        return value;
    }
    if (take(reader, '-'))
        return -factor(reader);
    return number(reader);
}

static unsigned term(struct reader *reader)
{
    unsigned value = factor(reader);
    for (;;) {
        if (take(reader, '*')) {
            value *= factor(reader);
        } else if (take(reader, '/')) {
            unsigned divisor = factor(reader);
            value = divisor ? value / divisor : 0;
        } else {
            return value;
        }
    }
}

static unsigned expression(struct reader *reader)
{
    unsigned value = term(reader);
    while (peek(reader) == '+' || peek(reader) == '-')
        value = take(reader, '+') ? value + term(reader) : (take(reader, '-'), value - term(reader));
    return value;
}

unsigned parse(const char *text)
{
    struct reader reader = {text, 0};
    return expression(&reader);
}

unsigned table_driven(unsigned state, unsigned input)
{
    for (unsigned round = 0; round < input; round++) {
        switch (state & 15) {
#include "states.inc"
        default:
            state = step(state);
        }
    }
    return state;
}
