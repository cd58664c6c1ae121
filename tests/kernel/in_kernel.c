/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Prints how many BPF programs, maps and links the kernel has, whichever process holds them; for tests, as root. */
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned count(enum bpf_cmd next)
{
	union bpf_attr attributes;
	unsigned n = 0;

	memset(&attributes, 0, sizeof(attributes));
	while (!syscall(SYS_bpf, next, &attributes, sizeof(attributes))) {
		attributes.start_id = attributes.next_id;
		n++;
	}
	return n;
}

int main(void)
{
	printf("%u programs, %u maps, %u links\n", count(BPF_PROG_GET_NEXT_ID), count(BPF_MAP_GET_NEXT_ID),
	       count(BPF_LINK_GET_NEXT_ID));
	return 0;
}
