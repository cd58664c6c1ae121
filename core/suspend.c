/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Suspended threads: to its scheduler a suspended thread sleeps, whatever it does, so no scheduler above it can give it
 * a CPU. Only the party that suspended it may resume it (G. Parmer and R. West, ACM TECS 13(1s), 2013, Table I:
 * COS_STATE_SCHED_EXCL); this file does not check that. A thread that is moved stays suspended.
 */

/* Suspends the thread of v, or with `on` 0 resumes it. No effect if it is so already. */
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
