/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The platform when the core is compiled for the simulator: plain C in user space. What this file and its siblings
 * define is all that may differ between two builds of the core.
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

/* Where the core's memory lies: natively, in ordinary memory. */
#define ARENA

/* Every loop asks this beside its own named bound; the BPF verifier wants it, natively it is free. */
#define port_can_loop true

/* The first value of a loop's counter; the BPF verifier must not know it. */
#define from(n) (n)

/* A pointer to be kept in a register; natively the compiler knows best. */
#define kept(pointer) (pointer)

/* A function of the core that the platform calls. */
#define HLS_ENTRY

/* One that others of the core call; the BPF verifier is to look at it once. */
#define HLS_ONCE static inline

/* What nothing is done with; the BPF verifier wants it passed all the same. */
#define unused(value) ((void)(value))

/* Behind a parameter of such functions; the BPF verifier wants it. */
#define ARENA_ARG

/* Which of two things the compiler should expect. */
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#endif
