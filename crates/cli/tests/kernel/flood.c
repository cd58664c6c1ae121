/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sends packets of one byte to itself by the loopback device, as fast as it can. For tests. To take a packet is more
 * work than to send one, on every machine: the taker's filter walks thousands of instructions, and then drops it.
 */
#include <arpa/inet.h>
#include <linux/filter.h>
#include <stdio.h>
#include <sys/socket.h>

#define STEPS 4000 /* of at most BPF_MAXINSNS, 4096 */

/* Has each of the socket's packets go through a filter that is long, and lets none in. Returns as libc does. */
static int take_laboriously(int taker)
{
	static struct sock_filter filter[STEPS];
	struct sock_fprog program = {STEPS, filter};

	for (int step = 0; step < STEPS - 1; step++)
		filter[step] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 1);
	filter[STEPS - 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
	return setsockopt(taker, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

int main(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(to);
	int taker = socket(AF_INET, SOCK_DGRAM, 0), sender = socket(AF_INET, SOCK_DGRAM, 0);

	if (taker < 0 || sender < 0 || take_laboriously(taker) || bind(taker, (struct sockaddr *)&to, length) ||
	    getsockname(taker, (struct sockaddr *)&to, &length)) {
		perror("flood");
		return 1;
	}
	for (;;)
		sendto(sender, "", 1, 0, (struct sockaddr *)&to, length);
}
