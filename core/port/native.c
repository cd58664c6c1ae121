/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The native build: the core, and what crates/hls-core reads of it: policies with their parameters and messages,
 * invariants, violations, hooks and entry points as tables, sizes of what both sides share, and readers of fields.
 */
#include "../core.c"
#include "description.h"

struct hls_policy_description {
	const char *name, *what, *source, *accepts, *provides;
	const struct hls_param_description *params, *vp_params;
	const struct hls_message_description *messages;
	u32 number, nr_params, nr_vp_params, nr_messages, state_version, most_children;
	u32 properties; /* a bit each, by enum hls_property */
};

/* What a number stands for: of an invariant, a violation, a hook or a property's bit. */
struct hls_number_description {
	u64 number;
	const char *doc;
};

HLS_POLICIES(HLS_DESCRIBE_LISTS)

/* The policy at this place of the registry; false: the registry has no such place. */
static bool describe_policy(u32 place, struct hls_policy_description *d)
{
#define PROPERTY_BIT(name, of) (of.name ? 1U << HLS_PROPERTY_##name : 0) |
	/* Member by member: while nothing points to a policy's struct, the compiler resolves the hooks in it. */
#define DESCRIBE(no, fn, CONST, ...)                                         \
	if (place-- == 0) {                                                  \
		d->name = fn##_policy.name;                                  \
		d->what = fn##_policy.what;                                  \
		d->source = fn##_policy.source;                              \
		d->accepts = fn##_policy.accepts;                            \
		d->provides = fn##_policy.provides;                          \
		d->params = fn##_params;                                     \
		d->vp_params = fn##_vp_params;                               \
		d->messages = fn##_messages;                                 \
		d->number = no;                                              \
		d->nr_params = HLS_LENGTH(fn##_params);                      \
		d->nr_vp_params = HLS_LENGTH(fn##_vp_params);                \
		d->nr_messages = HLS_LENGTH(fn##_messages);                  \
		d->state_version = fn##_policy.state_version;                \
		d->most_children = policy_most_children(no);                 \
		d->properties = HLS_PROPERTIES(PROPERTY_BIT, fn##_policy) 0; \
		return true;                                                 \
	}
	HLS_POLICIES(DESCRIBE)
#undef DESCRIBE
#undef PROPERTY_BIT
	return false;
}

#define NUMBER(number, name, doc) {number, doc},
static const struct hls_number_description invariant_table[] = {HLS_INVARIANTS(NUMBER){0}};
static const struct hls_number_description violation_table[] = {HLS_VIOLATIONS(NUMBER){0}};

#define HOOK(number, hook, ...) {number, #hook},
static const struct hls_number_description hook_table[] = {HLS_HOOKS(HOOK, HOOK){0}};

#define PROPERTY(name, of) {1ULL << HLS_PROPERTY_##name, #name},
static const struct hls_number_description property_table[] = {HLS_PROPERTIES(PROPERTY, ){0}};

static const u64 sizes[] = {sizeof(struct hls_with_pages),
			    sizeof(struct hls_scheduler),
			    sizeof(struct hls_vp),
			    sizeof(struct hls_node),
			    sizeof(struct hls_record),
			    HLS_MAX_DEPTH,
			    HLS_MAX_CPUS,
			    HLS_MAX_SCHEDULERS,
			    HLS_MAX_VPS,
			    HLS_MAX_RECORDS,
			    HLS_SCHEDULER_PARAMS,
			    sizeof(struct hls_call),
			    HLS_FIRST_LOADED,
			    offsetof(struct hls, cpu),
			    sizeof(struct hls_cpu),
			    HLS_SCHEDULER_WORDS,
			    HLS_VP_WORDS,
			    sizeof(struct hls_tree_node),
			    HLS_FIRST_OPTIONAL,
			    HLS_VP_PARAMS,
			    sizeof(struct hls),
			    sizeof(struct hls_pages),
			    HLS_NR_PROPERTIES};

/* Makes a call, and writes its result into it. */
static void play(struct hls *h, struct hls_call *c)
{
	hls_make_call(h, c, ~0ULL);
}

/*
 * A build of the core, as crates/hls-core sees it: what is in it, and how to call it. The readers of fields below fit
 * all builds that have the same sizes.
 */
const struct hls_library {
	const u64 *sizes;
	bool (*describe_policy)(u32 place, struct hls_policy_description *d);
	const struct hls_number_description *invariants, *violations, *hooks, *properties;
	void (*play)(struct hls *h, struct hls_call *c);
} hls_library = {sizes, describe_policy, invariant_table, violation_table, hook_table, property_table, play};

/* Readers of fields, for Rust, which knows only the layouts that its ffi.rs declares. */
u64 hls_kick(const struct hls *h)
{
	return h->kick;
}

/* How many records were ever written. */
u64 hls_nr_records(const struct hls *h)
{
	return h->nr_records;
}

/* A record by its number: one of the last HLS_MAX_RECORDS. */
const struct hls_record *hls_record(const struct hls *h, u64 number)
{
	return &h->record[number % HLS_MAX_RECORDS];
}

/* The CPUs that are offline, a bit each. */
u64 hls_offline_cpus(const struct hls *h)
{
	return h->offline;
}

u64 hls_decisions(const struct hls *h)
{
	return h->decisions;
}

u64 hls_cut_short(const struct hls *h)
{
	return h->cut_short;
}

const u32 *hls_hook(const struct hls *h)
{
	return &h->hook;
}

/*
 * CPU time that a VP has had up to `now_ns`. In the kernel a VP may be granted a CPU after the caller has asked for the
 * time, and then has had nothing since.
 */
u64 hls_ran_ns(const struct hls *h, u32 v, u64 now_ns)
{
	const struct hls_vp *vp = &h->vp[v];
	if (vp->state != HLS_RUNNING)
		return vp->ran_ns;
	u64 clock = now_ns - h->cpu[vp->cpu].stolen_ns;
	return clock > vp->granted_at ? vp->ran_ns + clock - vp->granted_at : vp->ran_ns;
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

/* A VP, a scheduler, a CPU and their nodes with all their fields: for dumps and snapshots. */
const struct hls_vp *hls_vp(const struct hls *h, u32 v)
{
	return &h->vp[v];
}

const struct hls_scheduler *hls_scheduler(const struct hls *h, u32 s)
{
	return &h->scheduler[s];
}

/* What the policy of a scheduler keeps there. */
const u64 *hls_scheduler_words(const struct hls *h, u32 s)
{
	return h->scheduler[s].word;
}

const struct hls_cpu *hls_cpu(const struct hls *h, u32 cpu)
{
	return &h->cpu[cpu];
}

const struct hls_node *hls_node(const struct hls *h, u32 v)
{
	return &h->node[v];
}

const struct hls_tree_node *hls_queue_node(const struct hls *h, u32 v)
{
	return &h->queue_node[v];
}

const struct hls_tree_node *hls_wanting_node(const struct hls *h, u32 v)
{
	return &h->wanting_node[v];
}

const struct hls_node *hls_timer_node(const struct hls *h, u32 s)
{
	return &h->timer_node[s];
}

/* All pages, as a domain natively has them. */
const struct hls_pages *hls_first_pages(const struct hls *h)
{
	return port_pages(h, 1);
}

/* The pages of a scheduler (include/hls_pages.h); NULL: it has none. */
const struct hls_kernel_page *hls_kernel_page(const struct hls *h, u32 s)
{
	return s < HLS_MAX_SCHEDULERS ? kernel_page(h, s) : NULL;
}

const struct hls_user_page *hls_user_page(const struct hls *h, u32 s)
{
	return s < HLS_MAX_SCHEDULERS ? user_page(h, s) : NULL;
}
