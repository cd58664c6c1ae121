/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Has the two CPUs of a guest whose time is exact take turns of some milliseconds; for tests, as root, by a real-time
 * thread on the first CPU.
 *
 * By itself QEMU 7.2 lets the first CPU run until a timer is due, and begins with it again then: while that CPU is busy
 * the second one has a moment each 100 ms. Where a CPU says that it only waits, by the instruction `pause`, the next one
 * runs at once, and has the time until the next timer. The guest's kernel takes that for time of this thread.
 */
#define _GNU_SOURCE
#include "program.h"
#include <sched.h>

#define TURN_NS 2000000

int main(void)
{
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	must(!sched_setaffinity(0, sizeof(first), &first), "sched_setaffinity");
	must(!sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){99}), "sched_setscheduler");
	for (;;) {
		sleep_ns(TURN_NS);
		__builtin_ia32_pause();
	}
}
