/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * `hog [NAME]` computes until it is killed; it may be given another name.
 *
 * Its loop has a pause instruction, at which an emulated CPU passes the turn on where CPUs take turns. Without it QEMU
 * 7.2, in exact time, may have the first CPU go on from each timer to the next: the second one got 2 % of the
 * instructions beside a hog on the first, and `hls`, which ran there, was half a minute behind.
 */
#include "program.h"
#include <sys/prctl.h>

/* About 60 us of the slowest machine. */
#define LOOPS_OF_A_TURN 5000

int main(int argc, char **argv)
{
	must(argc < 2 || !prctl(PR_SET_NAME, argv[1]), "prctl");
	for (;;) {
		for (volatile int i = 0; i < LOOPS_OF_A_TURN; i++)
			;
		__builtin_ia32_pause();
	}
}
