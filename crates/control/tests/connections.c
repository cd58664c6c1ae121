/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A program that has connections to the server open while it asks for CPU time; prints the outcome. */
#define _GNU_SOURCE
#include "hls.h"

#define MOST 8

static int connection(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = HLS_SOCKET};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		perror("connection");
	return fd;
}

/* Asks for some seconds, until the answer differs from `before`: the server notices each end by itself. */
static int ask(int others, int before)
{
	for (int i = 0; i < 500; i++) {
		if (hls_reserve(5000000, 33000000, 1) && errno != before)
			break;
		usleep(10000);
	}
	printf("with %d others: %s\n", others, strerror(errno));
	return errno;
}

int main(void)
{
	int fd[MOST];

	for (int i = 0; i < MOST; i++)
		fd[i] = connection();
	int first = ask(MOST, EPERM);
	close(fd[0]);
	ask(MOST - 1, first);
	return 0;
}
