/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The platform when the core is compiled for the simulator: plain C in user space. All that may differ between two
 * builds of the core is defined in this folder; bpf.h, beside this file, says what each word is for.
 */
#ifndef HLS_PORT_NATIVE_H
#define HLS_PORT_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;

/* Which of two outcomes the compiler should expect. */
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* The compiler decides which functions to inline. The C library's macro of this name would force it: that is slower. */
#undef __always_inline
#define __always_inline inline

/* Native memory has one address space. */
#define __arena
#define __arg_arena
#define HLS_GLOBAL_FUNC static inline
#define HLS_RARE_FUNC static __attribute__((noinline, cold, unused))
#define HLS_RARE_BODY HLS_RARE_FUNC
#define HLS_ENTRY

/* No verifier looks at the native build. */
#define port_can_loop() true
#define port_in_bounds(condition) (condition)
#define opaque(n) (n)
#define in_register(pointer) (pointer)
#define keep_argument(value) ((void)(value))

#endif
