/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * System calls that take locks which many threads may want at once; for tests. `files`: creates a file in a folder,
 * moves it into the folder `other` there, and removes it. That takes the locks of both folders and the lock for moves
 * between folders. `folders`: makes a folder in a folder, and removes it. Where that is a cgroup, it takes the locks of
 * all cgroups.
 */
#ifndef HLS_TEST_LOCKS_H
#define HLS_TEST_LOCKS_H

#include "program.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static inline int is_kind_of_locks(const char *kind)
{
	return !strcmp(kind, "files") || !strcmp(kind, "folders");
}

static inline void take_locks(const char *kind, const char *folder, const char *name)
{
	char path[256], moved[256];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	snprintf(moved, sizeof(moved), "%s/other/%s", folder, name);
	if (!strcmp(kind, "folders")) {
		must(!mkdir(path, 0700) && !rmdir(path), path);
		return;
	}
	int file = open(path, O_CREAT | O_WRONLY, 0600);
	must(file >= 0, path);
	close(file);
	must(!rename(path, moved) && !unlink(moved), moved);
}

#endif
