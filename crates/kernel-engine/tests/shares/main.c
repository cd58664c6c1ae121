/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Prints the share of the thread that each line of standard input describes: the share of nice 0, its nice value, and
 * the weights of its cgroups from the innermost on.
 */
#include "bpf/shares.h"
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	char line[256], *rest;
	while (fgets(line, sizeof(line), stdin)) {
		u64 base = strtoull(line, &rest, 10);
		s64 nice = strtoll(rest, &rest, 10);
		u64 share = share_of_weight(base, weight_of_nice(nice));
		for (u32 weight; (weight = (u32)strtoul(rest, &rest, 10));)
			share = share_in_cgroup(share, weight);
		printf("%llu\n", (unsigned long long)rounded_share(share));
	}
	return 0;
}
