/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * CPU time for the calling thread, from the hierarchy that `hls run --engine kernel` runs on this machine.
 *
 *	if (hls_reserve(5000000, 33000000, 1))  // 5ms in every 33ms, and no more
 *		perror("hls_reserve");
 *
 * Plain C, header only, nothing but libc; where a strict standard hides syscall(2), define _GNU_SOURCE. Each function
 * asks the control server once, by its socket (docs/control.md has the protocol), and returns 0, or -1 with errno.
 * hls_tell() is another thing: one system call. The errors:
 *
 *	EBUSY   it cannot be guaranteed beside what others were promised, or the scheduler takes no more threads
 *	EPERM   the caller may not ask for that
 *	EINVAL  a value is out of its range, or names nothing
 *	ENOENT, ECONNREFUSED  no hierarchy runs
 *	EIO     the server failed, or what answers is not such a server
 *
 * After an error nothing has changed, unless the connection was lost: EAGAIN, EPIPE, ECONNRESET. `hls ctl` gives the
 * reasons in words. A thread in another PID namespace than the server's has no number that the server knows, so it
 * cannot ask for itself.
 */
#ifndef HLS_CONTROL_H
#define HLS_CONTROL_H

#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* The path of the server's socket. */
#ifndef HLS_SOCKET
#define HLS_SOCKET "/run/hls/control.sock"
#endif

/* Sends all of a message; 0, or -1 with errno. */
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

/*
 * Receives some bytes, and into *descriptor the file descriptor that may come with them; it stays as it is if none
 * does.
 */
static inline ssize_t hls_receive_some(int fd, char *chunk, size_t size, int *descriptor)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr aligned;
	} control;
	struct iovec part = {chunk, size};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	message.msg_control = control.space;
	message.msg_controllen = sizeof(control.space);
	ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *header = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
		memcpy(descriptor, CMSG_DATA(header), sizeof(*descriptor));
	return got;
}

/* Receives a message up to its NUL; bytes that do not fit into `reply` are dropped. */
static inline int hls_receive(int fd, char *reply, size_t size, int *descriptor)
{
	size_t length = 0;

	for (;;) {
		char chunk[512];
		ssize_t got = hls_receive_some(fd, chunk, sizeof(chunk), descriptor);
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

/* The errno of a reply; 0: the reply is no error. Quotes within a text are escaped: no text is taken for the member. */
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

/*
 * Sends a message and waits for its reply, ten seconds at most. A descriptor that comes with it goes into
 * *descriptor.
 */
static inline int hls_call_for(const char *message, size_t length, int *descriptor)
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
	    hls_receive(fd, reply, sizeof(reply), descriptor))
		error = errno;
	else
		error = hls_errno_of(reply);
	close(fd);
	errno = error ? error : errno;
	return error ? -1 : 0;
}

/* hls_call_for() where no descriptor is expected. */
static inline int hls_call(const char *message, size_t length)
{
	int descriptor = -1;
	int result = hls_call_for(message, length, &descriptor);

	if (descriptor >= 0)
		close(descriptor);
	return result;
}

/* Whether a text can stand in a JSON string without escapes. */
static inline int hls_is_plain(const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || *text == '"' || *text == '\\')
			return 0;
	}
	return 1;
}

/*
 * Reserves budget_ns of CPU time in every period_ns for the calling thread, below the first scheduler that can give it.
 * hard: the thread gets no more than that. An earlier reservation of the thread ends.
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
 * Changes a parameter that the calling thread has with its scheduler, written as in a hierarchy file:
 * hls_message("budget", "6ms"), hls_message("share", "3").
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

/* Moves the calling thread below a scheduler, with the presets of the parameters that this asks of its children. */
static inline int hls_move(const char *scheduler)
{
	char message[512];
	int length = snprintf(message, sizeof(message),
			      "{\"method\":\"hls.Control.Move\",\"parameters\":{\"thread\":%ld,\"to\":\"%s\"}}",
			      (long)syscall(SYS_gettid), scheduler);

	if (length < 0 || (size_t)length >= sizeof(message) || !hls_is_plain(scheduler)) {
		errno = EINVAL;
		return -1;
	}
	return hls_call(message, (size_t)length + 1);
}

/*
 * A file descriptor by which the threads of this process send messages to their schedulers, for hls_tell(); -1 with
 * errno. The caller closes it. It is of no use when the run has ended.
 */
static inline int hls_messenger(void)
{
	static const char message[] = "{\"method\":\"hls.Control.Messenger\"}";
	int descriptor = -1;

	if (hls_call_for(message, sizeof(message), &descriptor))
		return -1;
	if (descriptor < 0)
		errno = EIO;
	return descriptor;
}

/*
 * Sends the calling thread's scheduler a message: number `number` of those that `hls policies` lists for its policy,
 * with up to four values in their order, times in nanoseconds. One system call, without privileges; if the policy has
 * the thread wait, the thread waits before this returns. Returns the policy's answer, or -1 with errno: ENOENT, the
 * hierarchy does not schedule the thread; ENOSYS, its policy has no such message; EBUSY and EINVAL may be the
 * policy's answer, too.
 */
static inline int64_t hls_tell(int messenger, uint32_t number, const uint64_t values[4])
{
	static const int errors[] = {0, ENOSPC, ENOENT, EINVAL, EBUSY, EBUSY, EINVAL, ENOSYS};
	struct {
		uint32_t number, unused;
		uint64_t values[4];
		int64_t answer;
	} told = {number, 0, {values[0], values[1], values[2], values[3]}, 0};
	union bpf_attr attributes;

	memset(&attributes, 0, sizeof(attributes));
	attributes.test.prog_fd = (uint32_t)messenger;
	attributes.test.ctx_in = (uint64_t)(uintptr_t)&told;
	attributes.test.ctx_size_in = sizeof(told);
	if (syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attributes, sizeof(attributes)))
		return -1;
	if (told.answer >= 0)
		return told.answer;
	size_t error = (size_t)-told.answer;
	errno = error < sizeof(errors) / sizeof(errors[0]) ? errors[error] : EIO;
	return -1;
}

#endif
