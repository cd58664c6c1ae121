/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * scx_simple of the kernel's tools/sched_ext, as it is. The headers there make variables of the kernel's constants, for
 * a loader to set; here they are the constants that this kernel's vmlinux.h has, and its object needs no such loader.
 */
#include <scx/common.bpf.h>
#undef SCX_DSQ_LOCAL
#undef SCX_SLICE_DFL
#include <scx_simple.bpf.c>
