/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program that reserves CPU time for itself, changes its mind, and gives it back: `cc -Iinclude examples/reserve.c`.
 * It relies on `hls run --engine kernel`, and without it says so and goes on as it always did.
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
	/* The whole machine is more than there is. */
	if (hls_reserve(33000000, 33000000, 1))
		perror("not 33ms");
	if (hls_release()) {
		perror("not given back");
		return 1;
	}
	puts("all is given back");
	return 0;
}
