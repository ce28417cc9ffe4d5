/* As a generator writes it: lines and files are those of its own input. */
#include "chain.h"

#line 100 "grammar.y"
static unsigned reduce(unsigned rule, unsigned value)
{
    switch (rule) {
#line 12 "rules/first.y"
    case 0:
        return step(value);
#line 2000 "rules/second.y"
    case 1:
        return rotate(value, 4);
    case 2:
        return value / 3;
#line 110 "grammar.y"
    }
    return value;
}

#line 40 "/generated/skeleton.c"
unsigned generated(unsigned seed)
{
    unsigned value = seed;
    for (unsigned rule = 0; rule < 5; rule++)
        value = reduce(rule & seed, value);
    return value;
}
