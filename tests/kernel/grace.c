/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Waits for COUNT grace periods of RCU, one after the other, and prints how long each took, in ms: `grace COUNT`. The
 * kernel waits for one when a socket for packets is closed.
 */
#include <linux/if_packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static long long now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	for (int left = argc > 1 ? atoi(argv[1]) : 0; left > 0; left--) {
		int packets = socket(AF_PACKET, SOCK_RAW, 0);
		long long began_ms = now_ms();
		if (packets < 0 || close(packets))
			return 3;
		printf("%lld\n", now_ms() - began_ms);
	}
	return 0;
}
