/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program that reserves CPU time for itself, changes its mind, and gives it back: `cc -Iinclude examples/reserve.c`.
 * It relies on a hierarchy that `hls run --engine kernel` runs; without one it says so and exits with 1.
 */
#include "hls.h"

int main(void)
{
	if (hls_reserve(5000000, 33000000, 1)) {
		perror("no reservation of 5ms in every 33ms");
		return 1;
	}
	puts("5ms in every 33ms are reserved");
	if (hls_message("budget", "6ms"))
		perror("not 6ms");
	else
		puts("6ms are");
	/* A whole CPU is refused where anything else is promised. */
	if (hls_reserve(33000000, 33000000, 1))
		perror("not 33ms");
	if (hls_release()) {
		perror("not given back");
		return 1;
	}
	puts("all is given back");
	return 0;
}
