/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * CPU time for the calling thread, from the hierarchy that `hls run --engine kernel` runs on this machine.
 *
 *	if (hls_reserve(5000000, 33000000, 1))  // 5ms in every 33ms, and no more
 *		perror("hls_reserve");
 *
 * Plain C, header only, nothing but libc; where a strict standard hides syscall(2), define _GNU_SOURCE. Each call
 * asks the control socket once (docs/control.md has the protocol) and returns 0, or -1 with errno:
 *
 *	EBUSY   it cannot be guaranteed beside what others were promised, or the scheduler has no room
 *	EPERM   it is not the caller's to ask for
 *	EINVAL  a value that cannot be
 *	ENOENT, ECONNREFUSED  no hierarchy runs
 *	EIO     the server failed, or is no such server
 *
 * Nothing has changed then, unless the connection was lost: EAGAIN, EPIPE, ECONNRESET. `hls ctl` says the reasons in
 * words. A thread in another PID namespace than the server's cannot be named, and so not ask for itself.
 */
#ifndef HLS_CONTROL_H
#define HLS_CONTROL_H

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* Where the server is. */
#ifndef HLS_SOCKET
#define HLS_SOCKET "/run/hls/control.sock"
#endif

/* Sends all of a message. */
static inline int hls_send(int fd, const char *message, size_t length)
{
	while (length > 0) {
		ssize_t sent = send(fd, message, length, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return -1;
		message += sent;
		length -= (size_t)sent;
	}
	return 0;
}

/* Receives a message to its NUL; what does not fit is dropped. */
static inline int hls_receive(int fd, char *reply, size_t size)
{
	size_t length = 0;

	for (;;) {
		char chunk[512];
		ssize_t got = recv(fd, chunk, sizeof(chunk), 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			errno = got ? errno : ECONNRESET;
			return -1;
		}
		for (ssize_t i = 0; i < got; i++) {
			if (!chunk[i]) {
				reply[length] = 0;
				return 0;
			}
			if (length + 1 < size)
				reply[length++] = chunk[i];
		}
	}
}

/* The errno of a reply; 0: it is none of an error. In texts quotes are escaped, so this finds none of them. */
static inline int hls_errno_of(const char *reply)
{
	static const struct {
		const char *name;
		int number;
	} errors[] = {
	    {"hls.Control.Refused\"", EBUSY},   {"hls.Control.InUse\"", EBUSY},     {"hls.Control.Denied\"", EPERM},
	    {"hls.Control.BadValue\"", EINVAL}, {"hls.Control.NotFound\"", EINVAL},
	};
	static const char begin[] = "\"error\":\"";
	const char *error = strstr(reply, begin);

	if (!error)
		return reply[0] == '{' ? 0 : EIO;
	error += sizeof(begin) - 1;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (!strncmp(error, errors[i].name, strlen(errors[i].name)))
			return errors[i].number;
	}
	return EIO;
}

/* Sends a message and waits for its reply, ten seconds at most. */
static inline int hls_call(const char *message, size_t length)
{
	struct sockaddr_un address;
	struct timeval patience = {10, 0};
	char reply[512];
	int error = 0;

	if (sizeof(HLS_SOCKET) > sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memset(&address, 0, sizeof(address));
	address.sun_family = AF_UNIX;
	memcpy(address.sun_path, HLS_SOCKET, sizeof(HLS_SOCKET));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) || hls_send(fd, message, length) ||
	    hls_receive(fd, reply, sizeof(reply)))
		error = errno;
	else
		error = hls_errno_of(reply);
	close(fd);
	errno = error ? error : errno;
	return error ? -1 : 0;
}

/* Whether a text can stand in a message as it is. */
static inline int hls_is_plain(const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || *text == '"' || *text == '\\')
			return 0;
	}
	return 1;
}

/*
 * Reserves budget_ns of CPU time in every period_ns for the calling thread, below the first scheduler that can give
 * it; hard: and no more than that. An earlier reservation ends.
 */
static inline int hls_reserve(uint64_t budget_ns, uint64_t period_ns, int hard)
{
	char message[256];
	int length = snprintf(message, sizeof(message),
			      "{\"method\":\"hls.Control.Reserve\",\"parameters\":{\"thread\":%ld,"
			      "\"guarantee\":\"%s %" PRIu64 "ns %" PRIu64 "ns\"}}",
			      (long)syscall(SYS_gettid), hard ? "RESBH" : "RESBS", budget_ns, period_ns);

	return hls_call(message, (size_t)length + 1);
}

/* Ends the calling thread's reservation: it goes back to the default scheduler. */
static inline int hls_release(void)
{
	char message[128];
	int length = snprintf(message, sizeof(message),
			      "{\"method\":\"hls.Control.Release\",\"parameters\":{\"thread\":%ld}}",
			      (long)syscall(SYS_gettid));

	return hls_call(message, (size_t)length + 1);
}

/*
 * Tells the scheduler above the calling thread that a parameter is to be another: hls_message("budget", "6ms"),
 * hls_message("share", "3"), as a hierarchy file has it.
 */
static inline int hls_message(const char *parameter, const char *value)
{
	char message[512];
	int length = snprintf(message, sizeof(message),
			      "{\"method\":\"hls.Control.Message\",\"parameters\":{\"thread\":%ld,"
			      "\"parameter\":\"%s\",\"value\":\"%s\"}}",
			      (long)syscall(SYS_gettid), parameter, value);

	if (length < 0 || (size_t)length >= sizeof(message) || !hls_is_plain(parameter) || !hls_is_plain(value)) {
		errno = EINVAL;
		return -1;
	}
	return hls_call(message, (size_t)length + 1);
}

#endif
