/*
 * metrics.h: what /metrics reports. Private to this room.
 *
 * Each thread counts in a place of its own where possible, so that threads do not slow each other down; reading adds
 * the places up.
 */
#ifndef SXT_SERVICE_METRICS_H
#define SXT_SERVICE_METRICS_H

#include "base/buffer.h"
#include "service/request.h"

struct sxt_metrics;

/* How many routes there are. */
size_t sxt_route_count(void);

int sxt_metrics_open(struct sxt_metrics **out, sxt_error *error);
void sxt_metrics_close(struct sxt_metrics **metrics);

void sxt_metrics_count(struct sxt_metrics *metrics, enum sxt_metric metric, uint64_t number);

/* A request that is over; ROUTE is NULL if no route had its path. */
struct sxt_metrics_request {
    const struct sxt_route *route;
    unsigned status;
    uint64_t nanoseconds, bytes_in, bytes_out;
};
void sxt_metrics_request(struct sxt_metrics *metrics, const struct sxt_metrics_request *request);

/* Appends everything in the text format of Prometheus. */
struct sxt_service;
void sxt_metrics_print(struct sxt_service *service, struct sxt_buffer *out);

#endif
