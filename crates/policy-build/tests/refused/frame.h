/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rest of each policy of this folder: its file has the grant hook alone. The test puts this text behind the text of
 * the file, so that line numbers stay as in the file, with the policy's name in place of `frame`.
 */
#define FRAME_PARAMS(P)
#define FRAME_VP_PARAMS(P)
#define FRAME_MESSAGES(M)

static void frame_request(hls_t *h, u32 s, u32 v)
{
	list_push_tail(h, &POLICY_STATE(frame, s)->queue, v);
}

static void frame_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h, &POLICY_STATE(frame, s)->queue, v);
}

static void frame_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	frame_request(h, s, v);
}

static const struct hls_policy frame_policy = {
    .name = "frame",
    .what = "is refused",
    .source = "none",
    .request = frame_request,
    .withdraw = frame_withdraw,
    .grant = frame_grant,
    .revoke = frame_revoke,
};
