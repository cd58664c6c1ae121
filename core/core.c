/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The whole core as one translation unit, so that the compiler resolves and inlines the hooks of policies: natively for
 * the simulator, with --target=bpf for the kernel. The build includes the files of policies/ before it.
 */
#include "core.h"
#include "several.c"
#include "notify.c"
#include "debts.c"
#include "schedule.c"
#include "tree.c"
#include "replace.c"
#include "suspend.c"
#include "timers.c"
#include "check.c"
#include "call.c"

/* A domain needs no preparation. */
_Static_assert(HLS_WAITING == 0, "zeroed memory must be a valid, empty machine");
