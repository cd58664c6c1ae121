/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Plays tapes (core/call.h) on the core as the kernel runs it, for comparison with the native build and for timing.
 * Domain and tape lie in an arena that user space maps, fills and reads; what is where, it says. Attaches to nothing.
 */
#include "../core/core.c"
#include "../core/call.h"
#include "kernel.h"

char _license[] SEC("license") = "Dual BSD/GPL";

/*
 * 32 MiB, of which a domain takes half. User space makes the pages by writing to them; one that it has not written to
 * reads as 0 here, and keeps nothing. Where the arena lies in user space is left to the kernel; there may be several.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARENA);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 8192);
} arena SEC(".maps");

struct replay {
	u64 domain; /* where in user space, so in the arena, the struct hls is */
	u64 tape;   /* and the first call that is to be made */
	u64 calls;  /* how many */
	u64 played; /* how many were made: fewer if the kernel has ended the loop, which took too long */
};

/* Makes the calls in order, each with its result written down. */
SEC("syscall") int replay(struct replay *r)
{
	asm volatile("" ::"r"(&arena)); /* Only a program that names an arena may use one. */
	hls_t *h = (hls_t *)r->domain;
	call_t *c = (call_t *)r->tape;
	u64 calls = r->calls, played;
	for (played = opaque(0); played < calls && can_loop; played++)
		hls_make_call(h, c++);
	r->played = played;
	return 0;
}
