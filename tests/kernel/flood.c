/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sends packets of one byte to itself by the loopback device, as fast as it can. For tests. To take a packet is more
 * work than to send one, on every machine: it passes listeners, and for each the kernel walks thousands of
 * instructions. Two are enough. The kernel takes 64 packets in one go and cannot be preempted meanwhile; with eight
 * listeners that took longer than the 10 ms that a reservation owes at most (core/budget.h).
 */
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <stdio.h>
#include <sys/socket.h>

#define LISTENERS 2
#define STEPS 4000 /* of at most BPF_MAXINSNS, 4096 */

/* Has the kernel walk a long filter for each packet that comes, and drop the listener's copy. Returns as libc does. */
static int listen_laboriously(void)
{
	static struct sock_filter filter[STEPS] = {
	    [0 ... STEPS - 2] = BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 1),
	    [STEPS - 1] = BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = {STEPS, filter};
	int listener = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_IP));

	return listener < 0 ? -1 : setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

int main(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(to);
	int taker = socket(AF_INET, SOCK_DGRAM, 0), sender = socket(AF_INET, SOCK_DGRAM, 0);

	for (int listener = 0; listener < LISTENERS; listener++)
		if (listen_laboriously()) {
			perror("flood: a listener");
			return 1;
		}
	if (taker < 0 || sender < 0 || bind(taker, (struct sockaddr *)&to, length) ||
	    getsockname(taker, (struct sockaddr *)&to, &length)) {
		perror("flood");
		return 1;
	}
	/* What nobody takes is dropped once the socket's queue is full. */
	for (;;)
		sendto(sender, "", 1, 0, (struct sockaddr *)&to, length);
}
