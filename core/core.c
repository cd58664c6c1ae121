/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The whole core as one translation unit, so that the compiler sees through the hooks of the policies:
 * natively for the simulator, with --target=bpf for the kernel.
 */
#include "hls.h"
#include "notify.c"
#include "schedule.c"
#include "tree.c"
#include "replace.c"
#include "timers.c"
#include "check.c"

/* Makes zeroed memory ready for use: nothing to do, and that is an invariant. */
_Static_assert(HLS_WAITING == 0, "zeroed memory must be a valid, empty machine");
