/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Processes that need the same lock of the kernel's: that of a folder, in which they create and remove files.
 * `creator many NUMBER FOLDER`: so many processes do that without a pause, until they are killed. `creator one SECONDS
 * FOLDER`: does that every 5 ms, and in the end says how long it took at worst, in us.
 */
#define _GNU_SOURCE
#include "program.h"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static void create_and_remove(const char *folder)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%d", folder, getpid());
	int file = open(path, O_CREAT | O_WRONLY, 0600);
	must(file >= 0, path);
	close(file);
	must(!unlink(path), path);
}

int main(int argc, char **argv)
{
	int is_many = argc == 4 && !strcmp(argv[1], "many"), number = argc == 4 ? atoi(argv[2]) : 0;
	uint64_t end = now_ns() + (uint64_t)number * 1000000000, worst = 0;

	for (int i = 1; is_many && i < number; i++)
		if (!fork())
			break;
	while (is_many)
		create_and_remove(argv[3]);
	while (now_ns() < end) {
		uint64_t before = now_ns();
		create_and_remove(argv[3]);
		uint64_t took = now_ns() - before;
		worst = took > worst ? took : worst;
		sleep_ns(5000000);
	}
	printf("%llu\n", (unsigned long long)worst / 1000);
	return 0;
}
