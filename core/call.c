/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Makes the calls of entry points that are given as data. */
#include "call.h"

/*
 * Makes the call if its entry point is one of `ops`, a bit each by its number, and writes its result into it. Returns
 * 0, or -HLS_E_NOT_FOUND: there is no such entry point, or it is none of `ops`. `ops` is a constant: a program that
 * leaves entry points out does not contain their functions.
 */
static __always_inline s64 hls_make_call(hls_t *h, call_t *c, u64 ops)
{
#define CASE(number, name, call)            \
	case number:                        \
		if (!(ops >> (number) & 1)) \
			break;              \
		c->result = call;           \
		return 0;
	switch (c->op) {
		HLS_CALLS(CASE)
	}
#undef CASE
	return -HLS_E_NOT_FOUND;
}
