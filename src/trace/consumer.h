/*
 * consumer.h: takes the events out of one spool while the program that writes it may still run, and makes a trace of
 * them.
 *
 * The events go to a file beside the spool: OUTPUT.part.events, a trace without metadata. Then a checkpoint is saved in
 * the spool, and the windows that the events came from are released (spool_checkpoint.c, spool_consume.c). Whatever is
 * killed, the spool and this file have everything: the trace can be made from them. In the end the last events and the
 * metadata are added, and the file becomes the trace.
 *
 * A consumer is used by one thread at a time, except for sxt_consumer_look.
 */
#ifndef SXT_TRACE_CONSUMER_H
#define SXT_TRACE_CONSUMER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <sextant/record.h>

struct sxt_consumer;

/*
 * ROOM is what the spool may grow to. Work ends early when *GIVES_WAY is set. Nothing is done yet. NULL if that cannot
 * be done.
 */
struct sxt_consumer *sxt_consumer_open(const char *spool, const char *output, const sxt_trace_write_options *options,
                                       size_t room, const atomic_bool *gives_way);
void sxt_consumer_close(struct sxt_consumer **consumer);

/*
 * Takes out what is complete, if there are LEAST bytes more than the last time. *IS_DONE says whether nothing is left
 * of what was there at the beginning. If this fails, nothing can be taken out any more.
 */
int sxt_consumer_take(struct sxt_consumer *consumer, uint64_t least, bool *is_done, sxt_error *error);

/* How many bytes of the spool wait. *MOST becomes the space that it has on the disk, if that is more. */
uint64_t sxt_consumer_look(const struct sxt_consumer *consumer, uint64_t *most);

/*
 * After everything was taken out of the spool of a process that has ended: frees nearly all memory and closes all
 * files. What is left to do is sxt_consumer_finish. False: that cannot be done.
 */
bool sxt_consumer_park(struct sxt_consumer *consumer);

/*
 * Completes the trace. SXT_ERROR_NOT_FOUND: that has to be done by sxt_recording_finish_path, because there is little
 * or nothing to go on from. The consumer is then to be closed.
 */
int sxt_consumer_finish(struct sxt_consumer *consumer, const sxt_trace_write_options *options, sxt_recorded *recorded,
                        sxt_error *error);

#endif
