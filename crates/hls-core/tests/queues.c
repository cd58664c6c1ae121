/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * `queues SEED`: does random things with the queues that policies use (queue.h, levels.h), and does the same with
 * arrays that are searched from end to end. After each step it compares the first VP of each queue, for each CPU,
 * with what the array says, and checks all search trees. Exit status: 1, with a message, where they differ.
 */
#include "../../../core/levels.h"
#include <stdio.h>
#include <stdlib.h>

enum { VPS = 160, CPUS = 4, STEPS = 12000, LEVELS = 3 };

/* The queues that are tried. A VP is in one of them at most, as with policies. */
enum kind { NOWHERE, QUEUE, FIFO, BY_LEVEL };

struct model {
	enum kind kind;
	u64 key;   /* in the queue's order; of a level: how many are above it */
	s64 place; /* among equal keys */
};

static struct hls h;
static struct hls_queue queue;
static struct hls_fifo fifo;
static struct hls_levels levels;
static struct model model[VPS + 1];
static u64 random_state, seed;
static u32 step;

static u64 below(u64 n)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (random_state >> 33) % n;
}

static void expect(bool holds, const char *what, u32 found, u32 expected)
{
	if (holds)
		return;
	printf("seed %llu, step %u: %s: found %u, expected %u\n", (unsigned long long)seed, step, what, found,
	       expected);
	exit(1);
}

/* Whether a comes before b, both of the same queue. Keys go round. */
static bool comes_before(const struct model *a, const struct model *b)
{
	if (a->key != b->key)
		return (s64)(a->key - b->key) < 0;
	return a->place < b->place;
}

/* The first VP of a queue that can use one of these CPUs; 0: none. */
static u32 first_of(enum kind kind, u64 cpus)
{
	u32 first = 0;
	for (u32 v = 1; v <= VPS; v++)
		if (model[v].kind == kind && (h.vp[v].usable & cpus) &&
		    (!first || comes_before(&model[v], &model[first])))
			first = v;
	return first;
}

/* Some VPs can use every CPU, others only some, and of these most only the first. */
static void choose_cpus(u32 v)
{
	const u64 all = (1 << CPUS) - 1;
	u64 cpus = below(3) ? 1 : 1 + below(all);
	bool is_pinned = below(4) && cpus != all;
	h.vp[v].usable = is_pinned ? cpus : all;
	h.vp[v].flags = is_pinned ? HLS_PINNED : 0;
}

static void push(u32 v)
{
	bool behind = below(4);
	u64 level = below(LEVELS) * 31;
	choose_cpus(v);
	struct model *m = &model[v];
	*m = (struct model){.kind = 1 + below(3), .place = (s64)h.seq};
	if (m->kind == QUEUE) {
		m->key = below(12) - 6;
		queue_push(&h, &queue, v, m->key);
		return;
	}
	if (!behind)
		m->place = -m->place;
	if (m->kind == FIFO) {
		fifo_push(&h, &fifo, v, behind);
	} else {
		m->key = HLS_LEVELS - level;
		levels_push(&h, &levels, level, v, behind);
	}
}

static void remove_vp(u32 v)
{
	if (model[v].kind == QUEUE)
		queue_remove(&h, &queue, v);
	else if (model[v].kind == FIFO)
		fifo_remove(&h, &fifo, v);
	else
		levels_remove(&h, &levels, HLS_LEVELS - model[v].key, v);
	model[v].kind = NOWHERE;
}

/* A pinned VP can use other CPUs from now on, where it lies. */
static void change_cpus(u32 v)
{
	h.vp[v].usable = 1 + below((1 << CPUS) - 1);
	tree_set_cpus(h.queue_node, v, h.vp[v].usable);
}

/* Takes the first VP of all levels for a CPU. */
static void take(u32 cpu)
{
	u32 expected = first_of(BY_LEVEL, 1ULL << cpu);
	if (!levels.tree && !levels.occupied)
		return;
	u32 found = levels_take(&h, &levels, cpu);
	expect(found == expected, "taken by level", found, expected);
	model[found].kind = NOWHERE;
}

static void compare(void)
{
	u32 first = first_of(QUEUE, HLS_NEVER), found = queue_first(&h, &queue);
	expect(found == first, "first of the queue", found, first);
	for (u32 cpu = 0; cpu < CPUS; cpu++) {
		first = first_of(QUEUE, 1ULL << cpu);
		found = queue_first_usable(&h, &queue, cpu);
		expect(found == first, "first of the queue for a CPU", found, first);
		first = first_of(FIFO, 1ULL << cpu);
		found = fifo_first_usable(&h, &fifo, cpu);
		expect(found == first, "first in order of arrival for a CPU", found, first);
	}
	expect(levels_are_sound(&levels), "levels with a member", 0, 1);
	for (u32 v = 1; v <= VPS; v++) {
		bool is_in_tree = model[v].kind != NOWHERE && (h.vp[v].flags & HLS_PINNED);
		expect(is_in_tree == (h.queue_node[v].height != 0), "VP in a search tree", v, v);
		if (is_in_tree)
			expect(tree_is_sound_at(h.queue_node, v, h.vp[v].usable), "sound at VP", v, v);
	}
}

int main(int argc, char **argv)
{
	seed = random_state = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	h.seq = below(2) ? 1 : 1ULL << 40;
	for (step = 0; step < STEPS; step++) {
		/* By turns the queues are filled and emptied. */
		bool is_filling = step / 400 % 2;
		u32 v = 1 + below(VPS);
		if (model[v].kind == NOWHERE)
			is_filling || !below(4) ? push(v) : (void)0;
		else if ((h.vp[v].flags & HLS_PINNED) && !below(4))
			change_cpus(v);
		else if (!below(6))
			take(below(CPUS));
		else if (!is_filling || !below(4))
			remove_vp(v);
		compare();
	}
	return 0;
}
