/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The platform when the core is compiled as BPF (clang --target=bpf).
 * What this file and its siblings define is all that may differ between two builds of the core.
 */
#ifndef HLS_PORT_BPF_H
#define HLS_PORT_BPF_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;

#define bool _Bool
#define true 1
#define false 0
#define NULL ((void *)0)

/* Where the core's memory lies: in a BPF arena. Pointers into it carry this address space. */
#define ARENA __attribute__((address_space(1)))

/*
 * True until the kernel's own bound on loops is reached (the may_goto instruction): with it the verifier accepts a
 * loop whose trip count it cannot see. The core's loops all end long before.
 */
#define port_can_loop                                                    \
	({                                                               \
		__label__ l_stop, l_go;                                  \
		bool more = true;                                        \
		asm volatile goto("may_goto %l[l_stop]" : : : : l_stop); \
		goto l_go;                                               \
	l_stop:                                                          \
		more = false;                                            \
	l_go:;                                                           \
		more;                                                    \
	})

/* Calls nest eight deep at most and share 512 bytes of stack: what is to be inlined, must be. */
#define inline inline __attribute__((always_inline))

/*
 * The first value of a loop's counter. The verifier would follow a counter whose start it knows through every value up
 * to the bound; of one that comes out of memory it knows nothing, and looks at the loop once.
 */
static volatile u32 hls_zero;
#define from(n) ((n) + hls_zero)

/* A pointer to be kept in a register: the compiler would compute the address anew for every other use of it. */
#define kept(pointer)                                \
	({                                           \
		__typeof__(pointer) kept_ = pointer; \
		asm("" : "+r"(kept_));               \
		kept_;                               \
	})

/* A function of the core that the platform calls: verified once, for any arguments. */
#define HLS_ENTRY __attribute__((noinline))

/* One that others of the core call: not static, so that it, too, is verified once and not anew at each call. */
#define HLS_ONCE __attribute__((noinline))

/* What nothing is done with: the compiler would not pass it at all, and the verifier misses it. */
#define unused(value) asm volatile("" : : "r"(value))

/* Behind a parameter of such functions: a pointer into the arena. */
#define ARENA_ARG __attribute__((btf_decl_tag("arg:arena")))

/* Which of two things the compiler should expect. */
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#endif
