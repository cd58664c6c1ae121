/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sends packets of one byte to itself by the loopback device, as fast as it can. For tests. */
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>

int main(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(to);
	int taker = socket(AF_INET, SOCK_DGRAM, 0), sender = socket(AF_INET, SOCK_DGRAM, 0);

	if (taker < 0 || sender < 0 || bind(taker, (struct sockaddr *)&to, length) ||
	    getsockname(taker, (struct sockaddr *)&to, &length)) {
		perror("flood");
		return 1;
	}
	/* What nobody takes is dropped once the socket's queue is full. */
	for (;;)
		sendto(sender, "", 1, 0, (struct sockaddr *)&to, length);
}
