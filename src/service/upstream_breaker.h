/*
 * upstream_breaker.h: decides whether a server that fails is asked. Private to this room.
 *
 * After several failures in a row it is not asked for a time. Then one request is let through: if that works, all are
 * again; otherwise the time begins anew. The caller has a lock.
 */
#ifndef SXT_SERVICE_UPSTREAM_BREAKER_H
#define SXT_SERVICE_UPSTREAM_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

#define SXT_BREAKER_FAILURES 5

enum sxt_breaker_state { SXT_BREAKER_CLOSED, SXT_BREAKER_OPEN, SXT_BREAKER_HALF_OPEN };

struct sxt_breaker {
    enum sxt_breaker_state state; /* zero: closed */
    unsigned failures;            /* in a row */
    int64_t until;                /* milliseconds; while it is open */
    bool is_trying;               /* half open: the one request is under way */
};

/* May the server be asked at NOW? Does not change anything. */
bool sxt_breaker_would_admit(const struct sxt_breaker *breaker, int64_t now);

/* The same, and then sxt_breaker_report must follow. */
bool sxt_breaker_admit(struct sxt_breaker *breaker, int64_t now);

/* What became of a request. NEITHER: it was ended by this server, or failed here. */
enum sxt_breaker_report { SXT_BREAKER_GOOD, SXT_BREAKER_BAD, SXT_BREAKER_NEITHER };
void sxt_breaker_report(struct sxt_breaker *breaker, enum sxt_breaker_report report, int64_t now, int64_t pause);

#endif
