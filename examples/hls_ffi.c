/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Functions of hls.h for languages that cannot include it. constraint.rs uses them.
 */
#include "hls.h"

int hls_ffi_messenger(void)
{
	return hls_messenger();
}

int64_t hls_ffi_tell(int messenger, uint32_t number, const uint64_t values[4])
{
	return hls_tell(messenger, number, values);
}
