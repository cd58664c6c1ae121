/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What our BPF programs need of libbpf's conventions and of the kernel, and nothing else. The kernel's structs are
 * declared only with the members that we read: libbpf finds the members' real offsets, and the values of the kernel's
 * constants, in the running kernel's type information (BTF, CO-RE).
 */
#ifndef HLS_BPF_KERNEL_H
#define HLS_BPF_KERNEL_H

#define SEC(name) __attribute__((section(name), used))
#define __ksym __attribute__((section(".ksyms")))
#define __weak __attribute__((weak))

/* How libbpf recognises a map: by the types of the members of a variable. */
#define __uint(name, val) int(*name)[val]
#define __type(name, val) typeof(val) *name
#define __array(name, val) typeof(val) *name[]
#define __ulong(name, val) enum { name##_value = val } name

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PROG_ARRAY = 3,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
	BPF_MAP_TYPE_ARENA = 33
};
enum { BPF_F_NO_PREALLOC = 1, BPF_F_MMAPABLE = 1024 };

void __arena *bpf_arena_alloc_pages(void *map, void __arena *addr, u32 count, int node, u64 flags) __ksym;

/* A helper of the kernel's, by its number. */
static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;

/* Whether the running kernel's struct has the member. */
#define HAS_FIELD(member) __builtin_preserve_field_info(member, 2)

/* Every program that touches the arena has to mention its map. */
#define USES(map) asm volatile("" : : "r"(&(map)))

#endif
