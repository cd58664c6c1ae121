/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The native build: the core, and its description for the Rust side: the registry, its parameters, the
 * invariants and the entry points as tables, the sizes of what both sides share, and readers of fields.
 */
#include "../core.c"
#include "../call.h"

struct hls_param_description {
	const char *name, *doc;
	u64 unit, preset, least, greatest;
};

struct hls_policy_description {
	const char *name, *doc, *source;
	const struct hls_param_description *params, *vp_params;
	u32 number, most_children, joins, nr_params, nr_vp_params;
};

struct hls_invariant_description {
	u32 number;
	const char *name, *doc;
};

struct hls_call_description {
	u32 number;
	const char *name;
};

#define PARAM(constant, name, unit, preset, least, greatest, doc) {name, doc, unit, preset, least, greatest},
#define TABLES(number, fn, CONST, ...)                                                        \
	static const struct hls_param_description fn##_params[] = {CONST##_PARAMS(PARAM){0}}; \
	static const struct hls_param_description fn##_vp_params[] = {CONST##_VP_PARAMS(PARAM){0}};
HLS_POLICIES(TABLES)

#define LENGTH(table) (sizeof(table) / sizeof((table)[0]) - 1)
#define POLICY(number, fn, CONST, name, most, joins, strict, near, doc, source) \
	{name,   doc,  source, fn##_params,         fn##_vp_params,             \
	 number, most, joins,  LENGTH(fn##_params), LENGTH(fn##_vp_params)},
const struct hls_policy_description hls_policy_table[] = {HLS_POLICIES(POLICY){0}};

#define INVARIANT(number, name, doc) {number, #name, doc},
const struct hls_invariant_description hls_invariant_table[] = {HLS_INVARIANTS(INVARIANT){0}};

#define CALL(number, name, call) {number, #name},
const struct hls_call_description hls_call_table[] = {HLS_CALLS(CALL){0}};

const u64 hls_sizes[] = {sizeof(struct hls),
			 sizeof(struct hls_scheduler),
			 sizeof(struct hls_vp),
			 sizeof(struct hls_node),
			 sizeof(struct hls_record),
			 HLS_MAX_DEPTH,
			 HLS_MAX_CPUS,
			 HLS_MAX_SCHEDULERS,
			 HLS_MAX_VPS,
			 HLS_MAX_RECORDS,
			 HLS_PARAMS,
			 sizeof(struct hls_call)};

/* One call of a tape. */
void hls_play(struct hls *h, struct hls_call *c)
{
	hls_make_call(h, c);
}

/* What Rust reads without a call of the core; field access stays on this side. */
u64 hls_kick(const struct hls *h)
{
	return h->kick;
}

/* How many records were ever written, and each of the last HLS_MAX_RECORDS of them. */
u64 hls_nr_records(const struct hls *h)
{
	return h->nr_records;
}

const struct hls_record *hls_record(const struct hls *h, u64 number)
{
	return &h->record[number % HLS_MAX_RECORDS];
}

/* The CPUs that have gone, a bit each. */
u64 hls_offline_cpus(const struct hls *h)
{
	return h->offline;
}

u64 hls_decisions(const struct hls *h)
{
	return h->decisions;
}

/* CPU time of a VP up to `now_ns`, a running one's included. */
u64 hls_ran_ns(const struct hls *h, u32 v, u64 now_ns)
{
	const struct hls_vp *vp = &h->vp[v];
	u64 running = vp->state == HLS_RUNNING ? now_ns - h->cpu[vp->cpu].stolen_ns - vp->granted_at : 0;
	return vp->ran_ns + running;
}

u32 hls_nr_grants(const struct hls *h, u32 v)
{
	return h->vp[v].nr_grants;
}

u32 hls_nr_revokes(const struct hls *h, u32 v)
{
	return h->vp[v].nr_revokes;
}

u32 hls_parent(const struct hls *h, u32 v)
{
	return h->vp[v].parent;
}

u64 hls_stolen_ns(const struct hls *h, u32 cpu)
{
	return h->cpu[cpu].stolen_ns;
}

u32 hls_vp_state(const struct hls *h, u32 v)
{
	return h->vp[v].state;
}

struct hls_fault hls_fault(const struct hls *h)
{
	return h->fault;
}

/* All of a VP, of a scheduler and of a CPU: for a dump. */
const struct hls_vp *hls_vp(const struct hls *h, u32 v)
{
	return &h->vp[v];
}

const struct hls_scheduler *hls_scheduler(const struct hls *h, u32 s)
{
	return &h->scheduler[s];
}

const struct hls_cpu *hls_cpu(const struct hls *h, u32 cpu)
{
	return &h->cpu[cpu];
}
