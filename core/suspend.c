/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Threads that are suspended: to its scheduler such a thread is one that sleeps, whatever it does, and so no scheduler
 * above it can give it a CPU. Only whoever suspended it resumes it (G. Parmer and R. West, ACM TECS 13(1s), 2013, Table
 * I: COS_STATE_SCHED_EXCL); who may do so is not known here. A thread that is moved stays suspended.
 */

/* Suspends the thread of v, or with `on` 0 resumes it. No effect where it is as it is to be. */
HLS_ENTRY s64 hls_suspend(hls_t *h __arg_arena, u32 v, u32 on, u64 now_ns)
{
	if (!vp_exists(h, v) || h->vp[v].child)
		return -HLS_E_NOT_FOUND;
	bool wants = wants_cpu(&h->vp[v]);
	if (on)
		release_thread(h, v, now_ns, false);
	h->vp[v].suspension = on ? HLS_SUSPENDED : HLS_NOT_SUSPENDED;
	if (wants)
		request_thread(h, v, now_ns, false);
	return 0;
}
