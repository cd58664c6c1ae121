/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What all policies of this folder have beside their grant hook: put behind each, so that the lines are those of its
 * file, and with its name in place of `frame`.
 */
static const struct hls_policy frame_policy = {
    .name = "frame",
    .what = "is refused",
    .source = "none",
};

#define FRAME_PARAMS(P)
#define FRAME_VP_PARAMS(P)
#define FRAME_MESSAGES(M)

static void frame_request(hls_t *h, u32 s, u32 v)
{
	list_push_tail(h->node, &POLICY_STATE(struct frame, s)->queue, v);
}

static void frame_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h->node, &POLICY_STATE(struct frame, s)->queue, v);
}

static void frame_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	frame_request(h, s, v);
}

static void frame_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)h, (void)s, (void)v, (void)used_ns;
}

#define frame_init hls_no_init
#define frame_deinit hls_no_init
#define frame_register_vp hls_no_register_vp
#define frame_unregister_vp hls_no_unregister_vp
#define frame_preempts hls_no_preempts
#define frame_timer hls_no_timer
#define frame_message hls_no_message
#define frame_check_invariants hls_no_check_invariants
