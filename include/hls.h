/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * CPU time for the calling thread, from the hierarchy that `hls run --engine kernel` runs on this machine.
 *
 *	if (hls_reserve(5000000, 33000000, 1))  // 5ms in every 33ms, and no more
 *		perror("hls_reserve");
 *
 * Plain C, header only, needs only libc; where a strict standard hides syscall(2), define _GNU_SOURCE. Each function
 * asks the control server once, by its socket (docs/control.md has the protocol), and returns 0, or -1 with errno. Only
 * hls_tell() is different: it is one system call. The errors:
 *
 *	EBUSY   it cannot be guaranteed beside what others were promised, or the scheduler takes no more threads, or
 *		the user has too many connections to the server
 *	EPERM   the caller may not ask for that
 *	EINVAL  a value is out of its range, or names nothing
 *	ENOENT, ECONNREFUSED  no hierarchy runs
 *	ESHUTDOWN  the run has ended, or is about to, and with it all that was asked of it: soon no hierarchy runs
 *	EIO     the server failed, or what answers is not such a server
 *
 * After an error nothing has changed, unless the connection was lost: EAGAIN, EPIPE, ECONNRESET. EAGAIN: no reply has
 * come within HLS_PATIENCE seconds, for example because the server is stopped. The connection is also lost if the run
 * ends before the reply has come. `hls ctl` gives the reasons in words. A thread in another PID namespace than the
 * server's has no number that the server knows, so it cannot ask for itself.
 */
#ifndef HLS_CONTROL_H
#define HLS_CONTROL_H

#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <stdarg.h>
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

/* File descriptors that come with a reply. */
#define HLS_MAX_DESCRIPTORS 2
struct hls_descriptors {
	int count;
	int fd[HLS_MAX_DESCRIPTORS];
};

static inline void hls_close_descriptors(struct hls_descriptors *descriptors)
{
	while (descriptors->count > 0)
		close(descriptors->fd[--descriptors->count]);
}

/* Receives some bytes; descriptors that come with them replace earlier ones. */
static inline ssize_t hls_receive_some(int fd, char *chunk, size_t size, struct hls_descriptors *descriptors)
{
	union {
		char space[CMSG_SPACE(sizeof(int) * HLS_MAX_DESCRIPTORS)];
		struct cmsghdr aligned;
	} control;
	struct iovec part = {chunk, size};
	struct msghdr message;

	memset(&message, 0, sizeof(message));
	message.msg_iov = &part;
	message.msg_iovlen = 1;
	message.msg_control = control.space;
	message.msg_controllen = sizeof(control.space);
	ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *header = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
		size_t length = header->cmsg_len - CMSG_LEN(0);
		hls_close_descriptors(descriptors);
		descriptors->count = (int)(length / sizeof(int));
		memcpy(descriptors->fd, CMSG_DATA(header), length);
	}
	return got;
}

/* Receives a message up to its NUL; bytes that do not fit into `reply` are dropped. */
static inline int hls_receive(int fd, char *reply, size_t size, struct hls_descriptors *descriptors)
{
	size_t length = 0;

	for (;;) {
		char chunk[512];
		ssize_t got = hls_receive_some(fd, chunk, sizeof(chunk), descriptors);
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

/* The errno of a reply; 0: the reply is no error. Quotes within a text are escaped: no text is mistaken for it. */
static inline int hls_errno_of(const char *reply)
{
	static const struct {
		const char *name;
		int number;
	} errors[] = {
	    {"hls.Control.Refused\"", EBUSY},   {"hls.Control.InUse\"", EBUSY},
	    {"hls.Control.Denied\"", EPERM},    {"hls.Control.BadValue\"", EINVAL},
	    {"hls.Control.NotFound\"", EINVAL}, {"hls.Control.Ended\"", ESHUTDOWN},
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
 * How many seconds to wait for a reply: users take turns, with pauses of up to a second between two. The second is for
 * calls for which the kernel may first have to verify an engine.
 */
#define HLS_PATIENCE 60
#define HLS_PATIENCE_FOR_AN_ENGINE 600

/* Connects to this socket. */
static inline int hls_connect_to(int fd, const char *path)
{
	struct sockaddr_un address;

	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memset(&address, 0, sizeof(address));
	address.sun_family = AF_UNIX;
	strcpy(address.sun_path, path);
	return connect(fd, (const struct sockaddr *)&address, sizeof(address));
}

/* Connects to the hierarchy: by root's socket if the system lets the caller, so as not to queue behind other users. */
static inline int hls_connect(int fd)
{
	return hls_connect_to(fd, HLS_SOCKET ".root") ? hls_connect_to(fd, HLS_SOCKET) : 0;
}

/* Sends a message, its NUL included, and waits for its reply. */
static inline int hls_exchange(const char *message, size_t length, struct hls_descriptors *descriptors, int seconds)
{
	struct timeval patience = {seconds, 0};
	char reply[512];
	int error = 0;

	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) || hls_connect(fd) ||
	    /* A server that has closed the connection may have said why. */
	    (hls_send(fd, message, length) && errno != EPIPE) || hls_receive(fd, reply, sizeof(reply), descriptors))
		error = errno;
	else
		error = hls_errno_of(reply);
	close(fd);
	errno = error ? error : errno;
	return error ? -1 : 0;
}

/*
 * Sends a message and waits up to `seconds` for its reply, and for `count` descriptors that come with it, two at most.
 * They go into fds, and the caller closes them; after an error there are none.
 */
static inline int hls_call_with_fds(const char *message, size_t length, int *fds, int count, int seconds)
{
	struct hls_descriptors descriptors = {0, {-1, -1}};
	int error = 0;

	if (hls_exchange(message, length, &descriptors, seconds))
		error = errno;
	else if (descriptors.count != count)
		error = EIO;
	if (error) {
		hls_close_descriptors(&descriptors);
		errno = error;
		return -1;
	}
	for (int i = 0; i < count; i++)
		fds[i] = descriptors.fd[i];
	return 0;
}

/* Sends a message and waits for its reply. */
static inline int hls_call(const char *message, size_t length)
{
	return hls_call_with_fds(message, length, NULL, 0, HLS_PATIENCE);
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

/* Makes a call with this message, formatted as by printf(). -1 with errno: EINVAL, it is too long. */
__attribute__((format(printf, 1, 2))) static inline int hls_call_as(const char *format, ...)
{
	char message[512];
	va_list values;

	va_start(values, format);
	int length = vsnprintf(message, sizeof(message), format, values);
	va_end(values);
	if (length < 0 || (size_t)length >= sizeof(message)) {
		errno = EINVAL;
		return -1;
	}
	return hls_call(message, (size_t)length + 1);
}

/*
 * Reserves budget_ns of CPU time in every period_ns for the calling thread, below the first scheduler that can give it.
 * An earlier reservation of the thread ends. hard: the thread is to get no more than that (RESBH), else it may get more
 * (RESBS). Most schedulers of reservations give no more in either case: only where a scheduler of the file shares out
 * what is left, such as `tbs`, a thread that is not to be hard gets some of it.
 */
static inline int hls_reserve(uint64_t budget_ns, uint64_t period_ns, int hard)
{
	return hls_call_as("{\"method\":\"hls.Control.Reserve\",\"parameters\":{\"thread\":%ld,"
			   "\"guarantee\":\"%s %" PRIu64 "ns %" PRIu64 "ns\"}}",
			   (long)syscall(SYS_gettid), hard ? "RESBH" : "RESBS", budget_ns, period_ns);
}

/* Ends the calling thread's reservation: it goes back to the default scheduler. */
static inline int hls_release(void)
{
	return hls_call_as("{\"method\":\"hls.Control.Release\",\"parameters\":{\"thread\":%ld}}",
			   (long)syscall(SYS_gettid));
}

/*
 * Changes a parameter of the calling thread at its scheduler, written as in a hierarchy file:
 * hls_message("budget", "6ms"), hls_message("share", "3").
 */
static inline int hls_message(const char *parameter, const char *value)
{
	if (!hls_is_plain(parameter) || !hls_is_plain(value)) {
		errno = EINVAL;
		return -1;
	}
	return hls_call_as("{\"method\":\"hls.Control.Message\",\"parameters\":{\"thread\":%ld,"
			   "\"parameter\":\"%s\",\"value\":\"%s\"}}",
			   (long)syscall(SYS_gettid), parameter, value);
}

/* Moves the calling thread below a scheduler, with the presets of that scheduler's parameters for children. */
static inline int hls_move(const char *scheduler)
{
	if (!hls_is_plain(scheduler)) {
		errno = EINVAL;
		return -1;
	}
	return hls_call_as("{\"method\":\"hls.Control.Move\",\"parameters\":{\"thread\":%ld,\"to\":\"%s\"}}",
			   (long)syscall(SYS_gettid), scheduler);
}

/*
 * A file descriptor by which the threads of this process send messages to their schedulers, for hls_tell(); -1 with
 * errno. The caller closes it. It is useless after the run has ended.
 */
static inline int hls_messenger(void)
{
	static const char message[] = "{\"method\":\"hls.Control.Messenger\"}";
	int descriptor;

	return hls_call_with_fds(message, sizeof(message), &descriptor, 1, HLS_PATIENCE) ? -1 : descriptor;
}

/*
 * Schedulers with a process as their policy (hls_pages.h; docs/control.md). `pages` gets the descriptors of the two
 * pages, to be mapped: first the kernel page, for reading, then the user page. The caller closes them.
 */

/* Writes the parameters of a request: names and values in turn, up to NULL. Returns 0, or -1 if that is impossible. */
static inline int hls_write_parameters(char *text, size_t size, const char *const *parameters)
{
	size_t length = 0;

	text[0] = 0;
	for (; parameters && parameters[0]; parameters += 2) {
		if (!parameters[1] || !hls_is_plain(parameters[0]) || !hls_is_plain(parameters[1]))
			return -1;
		int added = snprintf(text + length, size - length, "%s\"%s\":\"%s\"", length ? "," : "",
				     parameters[0], parameters[1]);
		if (added < 0 || (size_t)added >= size - length)
			return -1;
		length += (size_t)added;
	}
	return 0;
}

/*
 * Creates a scheduler of the policy user-level below another one. The calling thread becomes its agent, which decides
 * which of the threads below runs. `parameters`: the parameters of both policies, names and values in turn as in a
 * hierarchy file, up to NULL. The scheduler goes when it is demoted, or when the last thread below it has gone, the
 * agent included.
 */
static inline int hls_promote(const char *name, const char *below, const char *const *parameters, int pages[2])
{
	char message[1024], texts[512];

	if (hls_write_parameters(texts, sizeof(texts), parameters) || !hls_is_plain(name) || !hls_is_plain(below)) {
		errno = EINVAL;
		return -1;
	}
	int length =
	    snprintf(message, sizeof(message),
		     "{\"method\":\"hls.Control.Promote\",\"parameters\":{\"name\":\"%s\",\"below\":\"%s\","
		     "\"agent\":%ld,\"parameters\":{%s}}}",
		     name, below, (long)syscall(SYS_gettid), texts);
	if (length < 0 || (size_t)length >= sizeof(message)) {
		errno = EINVAL;
		return -1;
	}
	return hls_call_with_fds(message, (size_t)length + 1, pages, 2, HLS_PATIENCE_FOR_AN_ENGINE);
}

/* A message about the scheduler of this name; its length with the NUL, or -1 with errno. */
static inline int hls_write_about(char *message, size_t size, const char *method, const char *name)
{
	int length = snprintf(message, size, "{\"method\":\"hls.Control.%s\",\"parameters\":{\"name\":\"%s\"}}",
			      method, name);

	if (length < 0 || (size_t)length >= size || !hls_is_plain(name)) {
		errno = EINVAL;
		return -1;
	}
	return length + 1;
}

/*
 * Fresh pages of an existing scheduler, for a process that takes it over. A process that has its old pages no longer
 * decides anything.
 */
static inline int hls_pages(const char *name, int pages[2])
{
	char message[512];
	int length = hls_write_about(message, sizeof(message), "Pages", name);

	return length < 0 ? -1 : hls_call_with_fds(message, (size_t)length, pages, 2, HLS_PATIENCE);
}

/* Ends a scheduler and all schedulers below it: their threads go to the scheduler above it. */
static inline int hls_demote(const char *name)
{
	char message[512];
	int length = hls_write_about(message, sizeof(message), "Demote", name);

	return length < 0 ? -1 : hls_call(message, (size_t)length);
}

/*
 * Moves a thread into a slot of the scheduler, 0 to 63, or 64: any that is free. Slot 0 makes the thread the agent.
 * `urgency` counts unless the process gives the thread another one.
 */
static inline int hls_grant(const char *name, pid_t thread, uint64_t urgency, unsigned slot)
{
	if (!hls_is_plain(name)) {
		errno = EINVAL;
		return -1;
	}
	return hls_call_as("{\"method\":\"hls.Control.Grant\",\"parameters\":{\"name\":\"%s\",\"thread\":%ld,"
			   "\"urgency\":%" PRIu64 ",\"slot\":%u}}",
			   name, (long)thread, urgency, slot);
}

/* Moves a thread from a scheduler with a process as its policy to the scheduler above that one. */
static inline int hls_revoke(pid_t thread)
{
	return hls_call_as("{\"method\":\"hls.Control.Revoke\",\"parameters\":{\"thread\":%ld}}", (long)thread);
}

/*
 * Suspends a thread in the name of a scheduler above it, at any distance: no scheduler between them can give it a CPU
 * until it is resumed.
 */
static inline int hls_suspend(pid_t thread, const char *by)
{
	if (!hls_is_plain(by)) {
		errno = EINVAL;
		return -1;
	}
	return hls_call_as("{\"method\":\"hls.Control.Suspend\",\"parameters\":{\"thread\":%ld,\"by\":\"%s\"}}",
			   (long)thread, by);
}

/* Resumes a suspended thread; for callers that could suspend it. */
static inline int hls_resume(pid_t thread)
{
	return hls_call_as("{\"method\":\"hls.Control.Resume\",\"parameters\":{\"thread\":%ld}}", (long)thread);
}

/*
 * Sends the calling thread's scheduler a message: number `number` in the list of `hls policies` for its policy, with up
 * to four values in order, times in nanoseconds. One system call, without privileges; if the policy makes the thread
 * wait, the thread waits before this returns. Returns the policy's answer, or -1 with errno: ENOENT, the hierarchy does
 * not schedule the thread; ENOSYS, its policy has no such message; EBUSY and EINVAL may be the policy's answer, too.
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
