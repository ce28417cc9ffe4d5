/* upstream_breaker.c: closed, open, half open. */
#include "service/upstream_breaker.h"

bool sxt_breaker_would_admit(const struct sxt_breaker *breaker, int64_t now)
{
    switch (breaker->state) {
    case SXT_BREAKER_CLOSED:
        return true;
    case SXT_BREAKER_OPEN:
        return now >= breaker->until;
    case SXT_BREAKER_HALF_OPEN:
        break;
    }
    return !breaker->is_trying;
}

bool sxt_breaker_admit(struct sxt_breaker *breaker, int64_t now)
{
    if (!sxt_breaker_would_admit(breaker, now))
        return false;
    if (breaker->state != SXT_BREAKER_CLOSED) {
        breaker->state = SXT_BREAKER_HALF_OPEN;
        breaker->is_trying = true;
    }
    return true;
}

void sxt_breaker_report(struct sxt_breaker *breaker, enum sxt_breaker_report report, int64_t now, int64_t pause)
{
    breaker->is_trying = false;
    switch (report) {
    case SXT_BREAKER_GOOD:
        *breaker = (struct sxt_breaker){.state = SXT_BREAKER_CLOSED};
        return;
    case SXT_BREAKER_BAD:
        /* Requests that were begun before it opened do not make the time longer. */
        if (breaker->state == SXT_BREAKER_OPEN)
            return;
        breaker->failures++;
        if (breaker->state == SXT_BREAKER_HALF_OPEN || breaker->failures >= SXT_BREAKER_FAILURES) {
            breaker->state = SXT_BREAKER_OPEN;
            breaker->until = now + pause;
        }
        return;
    case SXT_BREAKER_NEITHER:
        return;
    }
}
