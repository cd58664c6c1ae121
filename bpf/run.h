/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The run is the process of `hls` that looks at threads and answers requests; it must be there. Its supervisor, the
 * keeper, detaches the hierarchy when the run ends; a stopped keeper cannot. So once a second a timer looks for the
 * run, and makes the kernel take its threads back when the run has been gone, stopped or frozen for RUN_PATIENCE_NS.
 */
#ifndef HLS_BPF_RUN_H
#define HLS_BPF_RUN_H

#include "lock.h"

#define RUN_PATIENCE_NS HLS_S(10)

/* States of a thread, as the kernel has them: it was stopped, or a debugger has stopped it, or it has ended. */
#define TASK_STOPPED 0x4
#define TASK_TRACED 0x8
#define TASK_DEAD 0x80

/* In a thread's jobctl, as the kernel has it: the thread's cgroup is frozen. */
#define JOBCTL_TRAP_FREEZE (1UL << 23)

/* Whether the first thread of the run is there and goes on. */
static __always_inline bool does_run_go_on(void)
{
	struct task_struct *run = bpf_task_from_pid(domain->service_tgid);
	bool goes_on = run && !(run->__state & (TASK_STOPPED | TASK_TRACED | TASK_DEAD)) &&
		       !(run->jobctl & JOBCTL_TRAP_FREEZE);
	if (run)
		bpf_task_release(run);
	return goes_on;
}

/* Looks for the run, if there should be one: measurements have none. */
HLS_GLOBAL_FUNC u32 look_for_run(u64 now)
{
	if (!domain->service_tgid || !domain->run_seen_at_ns || does_run_go_on())
		domain->run_seen_at_ns = now;
	else if (now > domain->run_seen_at_ns + RUN_PATIENCE_NS)
		end_run("hls does not go on: it was stopped or frozen, or has ended while its supervisor was");
	return 0;
}

#endif
