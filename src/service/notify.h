/* notify.h: informs systemd what the server does, if it started it with Type=notify. Private to this room. */
#ifndef SXT_SERVICE_NOTIFY_H
#define SXT_SERVICE_NOTIFY_H

/* Sends STATE ("READY=1") to the socket that NOTIFY_SOCKET names. Best effort: without one, nothing happens. */
void sxt_notify(const char *state);

#endif
