/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * `merger MIB` has MIB MiB of memory that the kernel may merge, and changes one page in seven ten times a second: so
 * the kernel thread ksmd, told to scan without a pause, never sleeps. Runs until it is killed.
 */
#define _GNU_SOURCE
#include "program.h"
#include <sys/mman.h>

#define PAGE_BYTES 4096

int main(int argc, char **argv)
{
	size_t bytes = argc == 2 ? strtoul(argv[1], NULL, 10) << 20 : 0;
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned seed = 1;

	must(memory != MAP_FAILED, "mmap");
	must(!madvise(memory, bytes, MADV_MERGEABLE), "madvise");
	for (size_t at = 0; at < bytes; at += PAGE_BYTES)
		memory[at] = (char)rand_r(&seed);
	for (;;) {
		for (size_t at = 0; at < bytes; at += 7 * PAGE_BYTES)
			memory[at + 64] = (char)rand_r(&seed);
		sleep_ns(100000000);
	}
}
