/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * scx_simple of the kernel's tools/sched_ext, unchanged. The headers there turn some constants of the kernel into
 * variables for a loader to set. Here they stay the constants of this kernel's vmlinux.h, so that the object needs no
 * such loader.
 */
#include <scx/common.bpf.h>
#undef SCX_DSQ_LOCAL
#undef SCX_SLICE_DFL
#include <scx_simple.bpf.c>
