/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The platform when the core is compiled as BPF (clang --target=bpf). Where libbpf or the kernel's BPF headers have a
 * name for something, this file uses that name. All that may differ between two builds of the core is defined in this
 * folder.
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

/* Which of two outcomes the compiler should expect. */
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* BPF functions call each other eight deep at most, on 512 bytes of stack: so nearly all of the core is inlined. */
#define __always_inline inline __attribute__((always_inline))
#define __noinline __attribute__((noinline))

/* The address space of a BPF arena, where the core's memory lies. Pointers into the arena carry it. */
#define __arena __attribute__((address_space(1)))

/* Marks a parameter of a global function as a pointer into the arena: the verifier trusts it. */
#define __arg_arena __attribute__((btf_decl_tag("arg:arena")))

/*
 * A global function (of BPF: one that is not static). The verifier looks at it once, for any arguments, and not again
 * at each call. It must have a result, so functions without one return 0.
 */
#define HLS_GLOBAL_FUNC __noinline

/* A global function that is seldom called: natively, the compiler keeps it out of the functions that call it. */
#define HLS_RARE_FUNC __noinline

/* The body of such a function; inlined here, where stack frames are scarce. */
#define HLS_RARE_BODY static __always_inline

/* An entry point of the core, which the platform calls: a global function, too. */
#define HLS_ENTRY __noinline

/*
 * True until the kernel's own bound on loops is reached (the may_goto instruction): with can_loop in its condition, the
 * verifier accepts a loop with a trip count that it cannot see. The core's loops all end long before that bound.
 */
#define port_can_loop()                                                  \
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

/*
 * The number n, hidden from the verifier; for the first value of a loop's counter. If the verifier knows the first
 * value of a counter, it follows the counter through every value up to the bound. A counter that comes out of memory
 * may be any number, and the verifier looks at the loop once.
 */
static volatile u32 hls_zero;
#define opaque(n) ((n) + hls_zero)

/*
 * In a loop of a switch that can_loop bounds, the named bound would be one more instruction in each round: the bound is
 * for the native build alone.
 */
#define port_in_bounds(condition) ((condition) || true)

/* The pointer, held in a register: otherwise the compiler would compute the address anew for each use. */
#define in_register(pointer)                                \
	({                                                  \
		__typeof__(pointer) in_register_ = pointer; \
		asm("" : "+r"(in_register_));               \
		in_register_;                               \
	})

/*
 * Counts as a use of a function's argument. The compiler does not pass an argument that no policy uses; the verifier,
 * which checks the call against the function's declaration, then refuses the call.
 */
#define keep_argument(value) asm volatile("" : : "r"(value))

#endif
