/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A socket of AF_XDP that takes the packets of one UDP port of the loopback device, without any library; for tests, as
 * root. A program of XDP, in generic mode since the device's driver has no other, redirects those packets into the
 * socket and lets all others pass; the kernel copies them into memory that the socket has in common with it. Its
 * receive ring has them until somebody takes them: that is what an upcall finds pending. It takes one queue of one
 * device, and sends nothing by the socket.
 */
#ifndef HLS_TEST_XDP_H
#define HLS_TEST_XDP_H

#include "program.h"
#include <arpa/inet.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define XDP_PORT 4004
#define XDP_FRAMES 256 /* of the memory, and entries of each ring */
#define XDP_FRAME_SIZE 2048
#define XDP_HEADERS (14 + 20 + 8) /* of Ethernet, IP and UDP */

/* A ring that the socket and the kernel have in common. */
struct xdp_ring {
	uint32_t *producer, *consumer;
	void *entries;
};

static struct {
	int socket, sender;
	char *frames;
	struct xdp_ring fill, receive;
	struct sockaddr_in to;
	uint32_t sent, taken; /* packets: the number of each stands in it */
} xdp;

static int xdp_bpf(enum bpf_cmd command, union bpf_attr attributes)
{
	return (int)syscall(SYS_bpf, command, &attributes, sizeof(attributes));
}

/* A map that has the socket, for the queue 0. */
static int xdp_map(void)
{
	union bpf_attr create = {.map_type = BPF_MAP_TYPE_XSKMAP, .key_size = 4, .value_size = 4, .max_entries = 1};
	int map = xdp_bpf(BPF_MAP_CREATE, create), queue = 0;
	union bpf_attr update = {
	    .map_fd = (uint32_t)map, .key = (uintptr_t)&queue, .value = (uintptr_t)&xdp.socket};

	must(map >= 0, "a map of sockets");
	must(!xdp_bpf(BPF_MAP_UPDATE_ELEM, update), "the socket in the map");
	return map;
}

#define XDP_LOAD(size, to, from, at) \
	{.code = BPF_LDX | BPF_MEM | (size), .dst_reg = (to), .src_reg = (from), .off = (at)}
#define XDP_SET(to, value) {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (to), .imm = (value)}
/* Jumps by `far` if the register differs from the value. */
#define XDP_UNLESS(from, value, far) \
	{.code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = (from), .off = (far), .imm = (value)}

/*
 * if (is IPv4 && is UDP && goes to the port)
 *	return bpf_redirect_map(map, 0, XDP_PASS);
 * return XDP_PASS;
 */
static int xdp_program(int map)
{
	struct bpf_insn steps[] = {
	    XDP_LOAD(BPF_W, 2, 1, offsetof(struct xdp_md, data)),
	    XDP_LOAD(BPF_W, 3, 1, offsetof(struct xdp_md, data_end)),
	    {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 4, .src_reg = 2},
	    {.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 4, .imm = XDP_HEADERS},
	    {.code = BPF_JMP | BPF_JGT | BPF_X, .dst_reg = 4, .src_reg = 3, .off = 12},
	    XDP_LOAD(BPF_H, 5, 2, 12),
	    XDP_UNLESS(5, htons(ETH_P_IP), 10),
	    XDP_LOAD(BPF_B, 5, 2, 14 + 9),
	    XDP_UNLESS(5, IPPROTO_UDP, 8),
	    XDP_LOAD(BPF_H, 5, 2, 14 + 20 + 2),
	    XDP_UNLESS(5, htons(XDP_PORT), 6),
	    {.code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = map},
	    {0}, /* the upper half of the word */
	    XDP_SET(2, 0),
	    XDP_SET(3, XDP_PASS),
	    {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_redirect_map},
	    {.code = BPF_JMP | BPF_EXIT},
	    XDP_SET(0, XDP_PASS),
	    {.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr load = {.prog_type = BPF_PROG_TYPE_XDP,
			       .insns = (uintptr_t)steps,
			       .insn_cnt = sizeof(steps) / sizeof(steps[0]),
			       .license = (uintptr_t)"GPL"};
	int program = xdp_bpf(BPF_PROG_LOAD, load);

	must(program >= 0, "a program of XDP");
	return program;
}

/* Until the process ends the device has the program. */
static void xdp_attach(unsigned device)
{
	union bpf_attr link = {.link_create.prog_fd = (uint32_t)xdp_program(xdp_map()),
			       .link_create.target_ifindex = device,
			       .link_create.attach_type = BPF_XDP,
			       .link_create.flags = XDP_FLAGS_SKB_MODE};

	must(xdp_bpf(BPF_LINK_CREATE, link) >= 0, "the program of XDP at the device");
}

static void xdp_set(int option, const void *value, socklen_t size)
{
	must(!setsockopt(xdp.socket, SOL_XDP, option, value, size), "an option of the AF_XDP socket");
}

static struct xdp_ring xdp_map_ring(const struct xdp_ring_offset *at, size_t entry, off_t which)
{
	size_t size = at->desc + XDP_FRAMES * entry;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, xdp.socket, which);

	must(memory != MAP_FAILED, "a ring of the AF_XDP socket");
	return (struct xdp_ring){(uint32_t *)(void *)(memory + at->producer),
				 (uint32_t *)(void *)(memory + at->consumer), memory + at->desc};
}

/* Makes the memory and the rings. */
static void xdp_share(void)
{
	static const int entries = XDP_FRAMES;
	size_t size = XDP_FRAMES * XDP_FRAME_SIZE;
	struct xdp_mmap_offsets at;
	socklen_t length = sizeof(at);

	xdp.frames = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	must(xdp.frames != MAP_FAILED, "mmap");
	struct xdp_umem_reg memory = {.addr = (uintptr_t)xdp.frames, .len = size, .chunk_size = XDP_FRAME_SIZE};
	xdp_set(XDP_UMEM_REG, &memory, sizeof(memory));
	xdp_set(XDP_UMEM_FILL_RING, &entries, sizeof(entries));
	xdp_set(XDP_UMEM_COMPLETION_RING, &entries, sizeof(entries)); /* none without it */
	xdp_set(XDP_RX_RING, &entries, sizeof(entries));
	must(!getsockopt(xdp.socket, SOL_XDP, XDP_MMAP_OFFSETS, &at, &length), "XDP_MMAP_OFFSETS");
	xdp.fill = xdp_map_ring(&at.fr, sizeof(uint64_t), (off_t)XDP_UMEM_PGOFF_FILL_RING);
	xdp.receive = xdp_map_ring(&at.rx, sizeof(struct xdp_desc), XDP_PGOFF_RX_RING);
}

/* Gives the kernel a frame, into which it puts a packet. */
static void xdp_give(uint64_t frame)
{
	uint32_t number = *xdp.fill.producer;

	((uint64_t *)xdp.fill.entries)[number % XDP_FRAMES] = frame;
	__atomic_store_n(xdp.fill.producer, number + 1, __ATOMIC_RELEASE);
}

static void xdp_open(void)
{
	struct sockaddr_xdp address = {.sxdp_family = AF_XDP, .sxdp_flags = XDP_COPY};

	xdp.socket = socket(AF_XDP, SOCK_RAW, 0);
	xdp.sender = socket(AF_INET, SOCK_DGRAM, 0);
	must(xdp.socket >= 0 && xdp.sender >= 0, "a socket");
	xdp_share();
	for (uint64_t frame = 0; frame < XDP_FRAMES; frame++)
		xdp_give(frame * XDP_FRAME_SIZE);
	address.sxdp_ifindex = if_nametoindex("lo");
	must(!bind(xdp.socket, (struct sockaddr *)&address, sizeof(address)), "the AF_XDP socket at the device");
	xdp_attach(address.sxdp_ifindex);
	xdp.to = (struct sockaddr_in){
	    .sin_family = AF_INET, .sin_port = htons(XDP_PORT), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* Sends the port a packet, which has its number. */
static void xdp_send(void)
{
	ssize_t size = sizeof(xdp.sent);

	must(sendto(xdp.sender, &xdp.sent, sizeof(xdp.sent), 0, (struct sockaddr *)&xdp.to, sizeof(xdp.to)) == size,
	     "sendto");
	xdp.sent++;
}

/* The packet must be the next one, and its frame goes back to the kernel. */
static void xdp_take_packet(const struct xdp_desc *packet)
{
	uint32_t number;

	must(packet->len >= XDP_HEADERS + sizeof(number), "a packet that is whole");
	memcpy(&number, xdp.frames + packet->addr + XDP_HEADERS, sizeof(number));
	must(number == xdp.taken++, "a packet in order");
	xdp_give(packet->addr - packet->addr % XDP_FRAME_SIZE);
}

/* Waits until there are packets, and takes all; returns how many. */
static unsigned xdp_take(void)
{
	const struct xdp_desc *packets = xdp.receive.entries;
	struct pollfd wanted = {.fd = xdp.socket, .events = POLLIN};

	must(poll(&wanted, 1, -1) == 1 && wanted.revents == POLLIN, "poll");
	uint32_t first = *xdp.receive.consumer, end = __atomic_load_n(xdp.receive.producer, __ATOMIC_ACQUIRE);
	for (uint32_t number = first; number != end; number++)
		xdp_take_packet(&packets[number % XDP_FRAMES]);
	__atomic_store_n(xdp.receive.consumer, end, __ATOMIC_RELEASE);
	return end - first;
}

#endif
