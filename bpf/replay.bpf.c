/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Plays tapes (core/call.h) on the BPF build of the core, for comparison with the native build and for timing. Domain
 * and tape lie in an arena that user space maps, fills and reads; struct replay says where in it they are. Attaches
 * to nothing.
 */
#include "../core/core.c"
#include "kernel.h"

char _license[] SEC("license") = "Dual BSD/GPL";

/*
 * 32 MiB, of which a domain takes half. User space allocates the pages by writing to them; a page to which it has not
 * written reads as 0 here, and does not keep what is written. The kernel chooses where the arena lies in user space.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARENA);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 8192);
} arena SEC(".maps");

struct replay {
	u64 domain; /* address of the struct hls in user space, and so in the arena */
	u64 tape;   /* address of the first call */
	u64 calls;  /* how many calls there are */
	u64 played; /* how many were made */
};

/*
 * Makes the calls from `played` on in order, up to the first that this program leaves out. There are two programs: a
 * program may have 256 functions, and one with all entry points and all policies would have no room for another.
 */
static __always_inline void play(struct replay *r, u64 ops)
{
	asm volatile("" ::"r"(&arena)); /* Only a program that names an arena may use one. */
	/* All values are read from the context each time: the stack that a call needs leaves no room for copies. */
	for (; r->played < r->calls && can_loop; r->played++)
		if (hls_make_call((hls_t *)r->domain, (call_t *)r->tape + r->played, ops))
			break;
}

/* Both make TIMER_AT: the simulator asks it after each decision, and a change of programs takes longer than that. */
SEC("syscall") int replay_events(struct replay *r)
{
	play(r, HLS_PLATFORM_CALLS | HLS_CALL_BIT(TIMER_AT));
	return 0;
}

SEC("syscall") int replay_changes(struct replay *r)
{
	play(r, ~HLS_PLATFORM_CALLS);
	return 0;
}
