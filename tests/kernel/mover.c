/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Moves all threads of a process from one scheduler of many.kdl to the next, again and again: `mover PID ROUNDS`; for
 * tests. Asks for each move as `hls ctl move` does. Prints how many moves were made; exit status 1 if one was
 * refused. A thread that has ended counts neither way. A move with a late reply counts as made, and as late.
 */
#define _GNU_SOURCE
#include "include/hls.h"
#include <dirent.h>
#include <stdlib.h>

static const char *const places[] = {
    "\"to\":\"TS\"",
    "\"to\":\"PS\",\"parameters\":{\"share\":\"1\"}",
    "\"to\":\"RES\",\"parameters\":{\"guarantee\":\"RESBS 1ms 1s\"}",
};

static int move(const char *thread, unsigned place)
{
	char message[256];
	int length = snprintf(message, sizeof(message),
			      "{\"method\":\"hls.Control.Move\",\"parameters\":{\"thread\":%s,%s}}", thread,
			      places[place % (sizeof(places) / sizeof(places[0]))]);
	return hls_call(message, (size_t)length + 1);
}

int main(int argc, char **argv)
{
	unsigned moved = 0, late = 0;
	char path[64];
	if (argc != 3)
		return 2;
	snprintf(path, sizeof(path), "/proc/%s/task", argv[1]);
	for (int round = 0; round < atoi(argv[2]); round++) {
		DIR *threads = opendir(path);
		unsigned n = (unsigned)round;
		if (!threads)
			return 2;
		for (struct dirent *entry; (entry = readdir(threads));) {
			if (entry->d_name[0] == '.')
				continue;
			if (!move(entry->d_name, n++)) {
				moved++;
			} else if (errno == EAGAIN) {
				late++;
			} else if (errno != EINVAL) {
				fprintf(stderr, "thread %s: %s\n", entry->d_name, strerror(errno));
				return 1;
			}
		}
		closedir(threads);
	}
	printf("%u moves, %u of them answered late\n", moved + late, late);
	return 0;
}
