/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What user space may call: root makes calls of the core and checks its invariants; any thread that has the program
 * hls_post sends messages to its scheduler.
 */
#ifndef HLS_BPF_CALLS_H
#define HLS_BPF_CALLS_H

#include "timers.h"
#include "weights.h"

/* Allocates the domain's pages, and says where in them the core's struct hls lies. */
struct set_up {
	u64 hls_at, hls_bytes;
};

SEC("syscall")
int set_up(struct set_up *where)
{
	where->hls_at = __builtin_offsetof(struct engine_domain, hls);
	where->hls_bytes = sizeof(struct hls);
	return bpf_arena_alloc_pages(&arena, (void __arena *)DOMAIN_AT, DOMAIN_PAGES, -1, 0) ? 0 : -12;
}

/* Whether the call names no thread, or VP `a` still belongs to the thread that the VP's generation names. */
static __always_inline bool is_of(const call_t *call)
{
	return !call->generation || is_still_of(call->a, call->generation);
}

/*
 * Makes the call of the core, unless only the kernel makes such calls. To have the decision here would take stack that
 * loaded policies need. Returns what hls_make_call() returns.
 */
static __always_inline s64 carry_out(call_t *call)
{
	return is_of(call) ? hls_make_call(&domain->hls, call, ~HLS_PLATFORM_CALLS) : -HLS_E_NOT_FOUND;
}

/* Makes the call of the core that user space has put into domain->call, and leaves the result there. */
static __always_inline s64 make_call(void)
{
	unsigned long irq;
	s64 result = -1;
	u64 due = 0;
	bpf_local_irq_save(&irq);
	if (lock()) {
		domain->call.now_ns = domain->hls.now_ns = now_ns();
		weigh_move(&domain->call);
		result = carry_out(&domain->call);
		due = to_kick();
		set_timer_without_slice(bpf_get_smp_processor_id() & (HLS_MAX_CPUS - 1), domain->call.now_ns);
		unlock();
	}
	bpf_local_irq_restore(&irq);
	kick(due);
	return result;
}

/* A thread may send a burst of MESSAGE_BURST messages, and in the long run one per MESSAGE_INTERVAL_NS. */
#define MESSAGE_INTERVAL_NS HLS_US(10)
#define MESSAGE_BURST 100

/* Whether the thread of v has sent too many messages: each one delays the decisions of all CPUs. Counts this one. */
static __always_inline bool posts_too_often(u32 v, u64 now)
{
	struct engine_thread __arena *t = &domain->thread[v];
	u64 from_ns = t->may_post_at > now ? t->may_post_at : now;
	if (from_ns > now + MESSAGE_BURST * MESSAGE_INTERVAL_NS)
		return true;
	t->may_post_at = from_ns + MESSAGE_INTERVAL_NS;
	return false;
}

/*
 * The calling thread sends its scheduler a message (Vassal's MessageToScheduler). Any process that has the descriptor
 * of hls_post() may do this: it concerns the calling thread alone. If the policy makes that thread wait, the thread
 * loses its CPU on its way back to user space.
 */
static __always_inline void post(struct message *ctx)
{
	u32 v = vp_of(bpf_get_current_task_btf());
	unsigned long irq;
	u64 due = 0, now = now_ns();
	ctx->answer = -HLS_E_NOT_FOUND;
	if (!v || v >= HLS_MAX_VPS)
		return;
	if (posts_too_often(v, now)) {
		ctx->answer = -HLS_E_BUSY;
		return;
	}
	bpf_local_irq_save(&irq);
	if (lock()) {
		u32 cpu = bpf_get_smp_processor_id() & (HLS_MAX_CPUS - 1);
		now = now_ns();
		for (u32 i = 0; i < HLS_VP_PARAMS; i++)
			domain->message.value[i] = ctx->value[i];
		ctx->answer = hls_tell(&domain->hls, v, ctx->number, &domain->message, now);
		due = to_kick();
		set_timer_no_later(cpu, hls_timer_at(&domain->hls), now);
		unlock();
	}
	bpf_local_irq_restore(&irq);
	kick(due);
}

/* The idle ones among these CPUs. */
static __always_inline u64 idle_of(u64 cpus)
{
	u64 idle = 0;
	bpf_rcu_read_lock();
	for (u32 i = opaque(0); i < HLS_MAX_CPUS && cpus && can_loop; i++) {
		u32 cpu = __builtin_ctzll(cpus);
		cpus &= cpus - 1;
		const struct task_struct *now = scx_bpf_cpu_curr(cpu);
		if (now && !now->pid)
			idle |= 1ULL << cpu;
	}
	bpf_rcu_read_unlock();
	return idle;
}

/*
 * Checks the invariants, which hold while no decision is due. The answer: CPUs that are idle although a decision is due
 * there, which is normal for a moment.
 */
static __always_inline s64 check(struct message *ctx)
{
	unsigned long irq;
	s64 result = -HLS_E_BUSY;
	u64 due = 0;
	bpf_local_irq_save(&irq);
	if (lock()) {
		due = domain->hls.kick;
		if (!due)
			result = hls_check(&domain->hls);
		if (result > 0)
			seal();
		else
			unlock();
	}
	bpf_local_irq_restore(&irq);
	if (result > 0)
		end_run("an invariant of the hierarchy is broken");
	ctx->answer = idle_of(due);
	return result;
}

/*
 * All that user space asks of the engine, in one program, so that the verifier walks through the core once for it. It
 * also has the functions that timers call.
 */
SEC("syscall")
int engine_call(struct message *ctx)
{
	USES(arena);
	switch (ctx->what) {
	case ASK_MESSAGE:
		post(ctx);
		return 0;
	case ASK_CALL:
		return (int)make_call();
	case ASK_WEIGH:
		weigh_anew(ctx->number, ctx->value[0]);
		return 0;
	case ASK_CHECK:
		return (int)check(ctx);
	case ASK_TIMERS:
		return (int)take_over_timers();
	}
	return -1;
}

#endif
