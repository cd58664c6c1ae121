/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * `asker SECONDS`: asks the hierarchy that runs for something small ten times a second, as root, and prints in the end
 * the number of answers, and their times in us, for 99 of 100 at most and at worst. `asker SECONDS files FOLDER` and
 * `asker SECONDS folders FOLDER` change files or folders instead, as locks.h says, a hundred times a second. For tests.
 */
#define _GNU_SOURCE
#include "include/hls.h"
#include "locks.h"
#include "program.h"

#define MOST_ANSWERS 100000

static uint64_t took[MOST_ANSWERS];

static int by_length(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
	return (a > b) - (a < b);
}

static void ask(void)
{
	static const char message[] = "{\"method\":\"hls.Control.Release\",\"parameters\":{\"thread\":1}}";
	must(!hls_call(message, sizeof(message)), "an answer");
}

int main(int argc, char **argv)
{
	const char *kind = argc > 3 ? argv[2] : NULL;
	uint64_t end = now_ns() + (uint64_t)(argc > 1 ? atoi(argv[1]) : 0) * 1000000000;
	size_t answers = 0;

	must(!kind || is_kind_of_locks(kind), "files or folders");
	while (now_ns() < end && answers < MOST_ANSWERS) {
		uint64_t before = now_ns();
		if (kind)
			take_locks(kind, argv[3], "asker");
		else
			ask();
		took[answers++] = now_ns() - before;
		sleep_ns(kind ? 10000000 : 100000000);
	}
	must(answers > 0, "asker SECONDS");
	qsort(took, answers, sizeof(took[0]), by_length);
	printf("%zu answers, %llu us for 99 of 100, %llu us at worst\n", answers,
	       (unsigned long long)took[answers * 99 / 100] / 1000, (unsigned long long)took[answers - 1] / 1000);
	return 0;
}
