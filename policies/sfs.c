/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Surplus fair scheduling (A. Chandra, M. Adler, P. Goyal, P. Shenoy, "Surplus Fair Scheduling: A Proportional-Share
 * CPU Scheduling Algorithm for Symmetric Multiprocessors", OSDI 2000).
 *
 * As in SFQ a VP has a start tag S, which grows by used / weight. The virtual time v is the least S of all VPs that
 * want a CPU, and a VP that wakes up has an S of no less. The surplus of a VP is what it has had beyond the VP that has
 * had the least: weight * (S - v). The VP with the least surplus runs, for a quantum. On one CPU that is the VP with
 * the least S.
 *
 * Weights are readjusted (section 2.1): no VP can use more than one CPU. On p CPUs, a weight of more than 1/p of all
 * weights is cut to 1/p, the heaviest VP first; then the same rule holds for the other VPs and the remaining p - 1
 * CPUs. Otherwise the tags of a VP that never waits would fall behind the other VPs' tags without end, and a VP that
 * came later would keep the lightest from the CPU for as long.
 *
 * The surplus of all VPs changes with v. As in section 3.2 only a few VPs are looked at, those with the least S: on one
 * CPU the first of them is the right one, on several nearly always one of them.
 */
#include "../core/virtual_time.h"

#define SFS_PARAMS(P)                                                          \
	P(SFS_QUANTUM, "quantum", HLS_TIME, HLS_MS(10), HLS_US(10), HLS_S(10), \
	  "how long a VP runs before others are considered")
#define SFS_VP_PARAMS(P) P(SFS_SHARE, "share", HLS_COUNT, 1, 1, 131072, "weight of the VP among its siblings")
#define SFS_MESSAGES(M)

enum { SFS_PARAMS(HLS_PARAM_INDEX) };
enum { SFS_VP_PARAMS(HLS_PARAM_INDEX) };

#define SFS_LOOKED_AT 8    /* VPs */
#define SFS_WEIGHT_SHIFT 8 /* a readjusted weight has this many bits behind the point */

struct sfs {
	u64 virtual_time;
	u64 light_weight; /* of all VPs that want a CPU, except the heavy ones */
	u32 ready;        /* search tree of the READY VPs, by S */
	u32 light;        /* heap of the VPs that want a CPU and are not cut, the heaviest first */
	u32 heavy;        /* heap of the VPs that want a CPU and are cut, the lightest first */
	u32 nr_heavy;
};

struct sfs_vp {
	struct virtual_account tag; /* S */
	u64 released_at;
	u64 is_heavy;
};

POLICY_WORDS(sfs);

static u64 sfs_share(hls_t *h, u32 v)
{
	return h->vp[v].param[SFS_SHARE];
}

/* The readjusted weight of v; for a VP that is cut, the weight of the light VPs per remaining CPU. */
static u64 sfs_weight(hls_t *h, u32 s, u32 v)
{
	const sfs_t *sfs = POLICY_STATE(sfs, s);
	u32 cpus = h->scheduler[s].nr_up;
	if (!POLICY_VP(sfs, v)->is_heavy)
		return sfs_share(h, v) << SFS_WEIGHT_SHIFT;
	if (!sfs->light_weight || cpus <= sfs->nr_heavy)
		return 1ULL << SFS_WEIGHT_SHIFT;
	return (sfs->light_weight << SFS_WEIGHT_SHIFT) / (cpus - sfs->nr_heavy);
}

static void sfs_put_light(hls_t *h, sfs_t *sfs, u32 v)
{
	heap_push(h, &sfs->light, v, -sfs_share(h, v), h->seq++);
	sfs->light_weight += sfs_share(h, v);
}

static void sfs_take_light(hls_t *h, sfs_t *sfs, u32 v)
{
	heap_remove(h, &sfs->light, v);
	sfs->light_weight -= sfs_share(h, v);
}

/* Cuts the heaviest light VP, if it has more than one CPU's part of the remaining weights. Returns whether it did. */
static bool sfs_cut_heaviest(hls_t *h, u32 s)
{
	sfs_t *sfs = POLICY_STATE(sfs, s);
	u32 v = sfs->light, cpus = h->scheduler[s].nr_up;
	if (!v || cpus <= sfs->nr_heavy || sfs_share(h, v) * (cpus - sfs->nr_heavy) <= sfs->light_weight)
		return false;
	sfs_take_light(h, sfs, v);
	heap_push(h, &sfs->heavy, v, sfs_share(h, v), h->seq++);
	sfs->nr_heavy++;
	POLICY_VP(sfs, v)->is_heavy = 1;
	return true;
}

/* Restores the lightest VP that is cut, if it need not be cut. Returns whether it did. */
static bool sfs_restore_lightest(hls_t *h, u32 s)
{
	sfs_t *sfs = POLICY_STATE(sfs, s);
	u32 v = sfs->heavy, cpus = h->scheduler[s].nr_up;
	u64 share = v ? sfs_share(h, v) : 0;
	if (!v || (cpus >= sfs->nr_heavy && share * (cpus - sfs->nr_heavy + 1) > sfs->light_weight + share))
		return false;
	heap_remove(h, &sfs->heavy, v);
	sfs->nr_heavy--;
	POLICY_VP(sfs, v)->is_heavy = 0;
	sfs_put_light(h, sfs, v);
	return true;
}

/* Cuts the weights that are to be cut. */
HLS_RARE_FUNC u32 sfs_cut(hls_t *h __arg_arena, u32 s)
{
	for (u32 i = opaque(0); i < HLS_MAX_CPUS && sfs_cut_heaviest(h, s) && can_loop; i++)
		;
	return 0;
}

/* Restores the weights that need not be cut. */
HLS_RARE_FUNC u32 sfs_restore(hls_t *h __arg_arena, u32 s)
{
	for (u32 i = opaque(0); i < HLS_MAX_CPUS && sfs_restore_lightest(h, s) && can_loop; i++)
		;
	return 0;
}

/* Another VP wants a CPU, or one no longer does: readjusts the weights. On one CPU there is nothing to cut. */
static void sfs_readjust(hls_t *h, u32 s)
{
	if (h->scheduler[s].nr_up == 1 && !POLICY_STATE(sfs, s)->nr_heavy)
		return;
	sfs_restore(h, s);
	sfs_cut(h, s);
}

/* v wants a CPU from now on. */
static void sfs_arrive(hls_t *h, u32 s, u32 v)
{
	POLICY_VP(sfs, v)->is_heavy = 0;
	sfs_put_light(h, POLICY_STATE(sfs, s), v);
	sfs_readjust(h, s);
}

/* v no longer wants a CPU. */
static void sfs_depart(hls_t *h, u32 s, u32 v)
{
	sfs_t *sfs = POLICY_STATE(sfs, s);
	POLICY_VP(sfs, v)->released_at = h->now_ns;
	if (POLICY_VP(sfs, v)->is_heavy) {
		heap_remove(h, &sfs->heavy, v);
		sfs->nr_heavy--;
	} else {
		sfs_take_light(h, sfs, v);
	}
	sfs_readjust(h, s);
}

/* Advances v to the least S of all VPs that want a CPU; if none does, v stays. */
HLS_RARE_FUNC u32 sfs_advance(hls_t *h __arg_arena, u32 s)
{
	sfs_t *sfs = POLICY_STATE(sfs, s);
	u32 first = queue_first_of_tree(h, sfs->ready);
	u64 least = first ? POLICY_VP(sfs, first)->tag.used : 0;
	bool found = first;
	for_each_up (h, u, s) {
		u32 v = hls_running_by(h, s, u);
		u64 start = v ? POLICY_VP(sfs, v)->tag.used : least;
		if (v && (!found || virtual_before(start, least)))
			least = start;
		found |= v != 0;
	}
	if (found && virtual_before(sfs->virtual_time, least))
		sfs->virtual_time = least;
	return 0;
}

static void sfs_enqueue(hls_t *h, u32 s, u32 v)
{
	queue_push_tree(h, &POLICY_STATE(sfs, s)->ready, v, POLICY_VP(sfs, v)->tag.used, h->seq++);
}

static void sfs_dequeue(hls_t *h, u32 s, u32 v)
{
	queue_remove_tree(h, &POLICY_STATE(sfs, s)->ready, v);
}

static void sfs_request(hls_t *h, u32 s, u32 v)
{
	sfs_t *sfs = POLICY_STATE(sfs, s);
	sfs_vp_t *vp = POLICY_VP(sfs, v);
	sfs_advance(h, s);
	bool forgotten = h->now_ns - vp->released_at > VIRTUAL_FORGET_NS;
	if (forgotten || virtual_before(vp->tag.used, sfs->virtual_time))
		virtual_skip_to(&vp->tag, sfs->virtual_time);
	sfs_arrive(h, s, v);
	sfs_enqueue(h, s, v);
}

static void sfs_withdraw(hls_t *h, u32 s, u32 v)
{
	sfs_dequeue(h, s, v);
	sfs_depart(h, s, v);
}

/* The surplus of the READY v; a surplus that would overflow counts as the greatest number. */
static u64 sfs_surplus(hls_t *h, u32 s, u32 v)
{
	u64 ahead = POLICY_VP(sfs, v)->tag.used - POLICY_STATE(sfs, s)->virtual_time;
	u64 weight = sfs_weight(h, s, v);
	return ahead > (1ULL << 63) / weight ? ~0ULL : weight * ahead;
}

/* Of `first`, which has the least S, and of the next few VPs that can use the CPU, the one with the least surplus. */
HLS_RARE_BODY u32 sfs_least_surplus(hls_t *h, u32 s, u32 first, u32 cpu)
{
	u32 least = first, v = first;
	u64 least_surplus = sfs_surplus(h, s, first);
	for (u32 i = opaque(1); i < SFS_LOOKED_AT && can_loop; i++) {
		v = queue_next_of_tree(h, v);
		if (!v)
			break;
		if (!hls_usable(&h->vp[v], cpu))
			continue;
		u64 surplus = sfs_surplus(h, s, v);
		if (surplus < least_surplus) {
			least = v;
			least_surplus = surplus;
		}
	}
	return least;
}

static u32 sfs_grant(hls_t *h, u32 s, u32 cpu)
{
	u32 v = queue_first_usable_of_tree(h, POLICY_STATE(sfs, s)->ready, cpu);
	if (!v)
		return 0;
	sfs_advance(h, s);
	if (h->scheduler[s].nr_up > 1)
		v = sfs_least_surplus(h, s, v, cpu);
	sfs_dequeue(h, s, v);
	h->slice_ns = h->scheduler[s].param[SFS_QUANTUM];
	return v;
}

/* v ran for used_ns: S grows by used / weight. */
static void sfs_charge(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	virtual_charge(&POLICY_VP(sfs, v)->tag, sfs_weight(h, s, v), used_ns << SFS_WEIGHT_SHIFT);
}

static void sfs_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	sfs_charge(h, s, v, used_ns);
	sfs_enqueue(h, s, v);
}

static void sfs_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	sfs_charge(h, s, v, used_ns);
	sfs_depart(h, s, v);
	if (!(h->scheduler[s].nr_ready | h->scheduler[s].nr_running))
		POLICY_STATE(sfs, s)->virtual_time = POLICY_VP(sfs, v)->tag.used;
}

/* No READY VP is behind v, and the number of heavy VPs and the light weight are right. */
static bool sfs_check_invariants(hls_t *h, u32 s)
{
	const sfs_t *sfs = POLICY_STATE(sfs, s);
	u64 light_weight = 0;
	u32 nr_heavy = 0;
	for_each_child (h, v, s) {
		const sfs_vp_t *vp = POLICY_VP(sfs, v);
		if (h->vp[v].state != HLS_WAITING) {
			nr_heavy += vp->is_heavy;
			light_weight += vp->is_heavy ? 0 : sfs_share(h, v);
		}
		if (h->vp[v].state == HLS_READY && virtual_before(vp->tag.used, sfs->virtual_time))
			return false;
	}
	return nr_heavy == sfs->nr_heavy && light_weight == sfs->light_weight;
}

static const struct hls_policy sfs_policy = {
    .name = "sfs",
    .what = "shares of several CPUs, the least surplus first",
    .source = "Chandra et al., OSDI 2000",
    .request = sfs_request,
    .withdraw = sfs_withdraw,
    .grant = sfs_grant,
    .revoke = sfs_revoke,
    .release = sfs_release,
    .check_invariants = sfs_check_invariants,
};
