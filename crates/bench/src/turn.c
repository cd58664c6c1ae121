/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Turns of a user-level scheduler; callgrind counts their instructions. `turn CHILDREN COUNT` gives the policy that was
 * compiled with it COUNT turns, each for one event and with one decision. One child blocks and wakes up in turn; the
 * others want the CPU all the time. The policy is a program: -Dmain=agent -include policy.c.
 */
#undef main

static struct hls_kernel_page kernel_page;
static struct hls_user_page user_page;

static void happens(hls_word kind, hls_word slot)
{
	hls_word number = kernel_page.events + 1;

	kernel_page.slot[slot].event = number;
	kernel_page.ring[number % HLS_EVENTS] = number << 16 | kind << 8 | slot;
	kernel_page.wanting ^= kind == HLS_EVENT_WAKEUP || kind == HLS_EVENT_BLOCK ? HLS_BIT(slot) : 0;
	kernel_page.at_ns += 1000;
	kernel_page.events = number;
}

int main(int argc, char **argv)
{
	hls_word children = argc > 2 ? strtoull(argv[1], NULL, 10) : 0;
	unsigned long long count = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	void *state = NULL;

	if (!children || children >= HLS_SLOTS || !count)
		return 2;
	kernel_page.cpus = kernel_page.width = 1;
	for (hls_word slot = 1; slot <= children; slot++) {
		kernel_page.slot[slot].child = slot;
		happens(HLS_EVENT_NEW, slot);
		happens(HLS_EVENT_WAKEUP, slot);
		hls_agent_turn(&kernel_page, &user_page, &state);
	}
	for (unsigned long long i = 0; i < count; i++) {
		happens(i % 2 ? HLS_EVENT_WAKEUP : HLS_EVENT_BLOCK, 1);
		kernel_page.slot[1].ran_ns += 1000;
		hls_agent_turn(&kernel_page, &user_page, &state);
	}
	return user_page.answered != kernel_page.events;
}
