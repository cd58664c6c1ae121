/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Breaks an invariant of a running hierarchy, as nothing else does: writes into the domain through the memory of the
 * process that has it mapped. `saboteur PID WHAT`, where WHAT is one of the words below; for tests, as root.
 */
#include "bpf/domain.h"
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AT(member) (DOMAIN_AT + offsetof(struct engine_domain, member))

static const struct {
	const char *what;
	u64 at;
} places[] = {
    {"counts", AT(hls.scheduler[1].nr_children)},
    {"lock", AT(lock)},
    {"lock", AT(is_taken)}, /* on virtual CPUs */
};

/* A CPU that has the lock undoes the change when it lets go. So the change is made so often that one of them stays. */
#define TIMES 1000

int main(int argc, char **argv)
{
	char path[64];
	u32 value = 77;
	if (argc != 3)
		return 2;
	snprintf(path, sizeof(path), "/proc/%s/mem", argv[1]);
	int memory = open(path, O_RDWR);
	size_t done = 0;
	for (int time = 0; time < TIMES; time++, usleep(100))
		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
			if (!strcmp(places[i].what, argv[2]))
				done += pwrite(memory, &value, sizeof(value), places[i].at) == sizeof(value);
	return !done;
}
