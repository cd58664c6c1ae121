/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a user without rights may do to the hierarchy that runs, as fast as possible, until it is killed; for tests.
 * `attacker rename`: renames itself. `attacker ask`: asks for the status. `attacker connect`: connects, and hangs up.
 * `attacker reserve BELOW GUARANTEE`: asks for that promise below that scheduler, and to be released. `attacker idle
 * NUMBER`: has NUMBER threads that sleep. `attacker fork`: forks, and waits for the child. `attacker move NUMBER
 * FOLDER`: has a process of NUMBER sleeping threads, and moves it to and fro between the cgroups `a` and `b` in the
 * folder. `attacker files FOLDER` and `attacker folders FOLDER`: change files or folders in the folder, as locks.h
 * says. They begin when the file /tmp/go is there.
 */
#define _GNU_SOURCE
#include "locks.h"
#include "program.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static void rename_for_ever(void)
{
	for (unsigned turn = 0;; turn++)
		must(!prctl(PR_SET_NAME, turn & 1 ? "one" : "other"), "prctl");
}

/* A connection to hls; closed, unless there is one. */
static int connected(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "/run/hls/control.sock"};
	int server = socket(AF_UNIX, SOCK_STREAM, 0);
	must(server >= 0, "socket");
	if (!connect(server, (struct sockaddr *)&at, sizeof(at)))
		return server;
	close(server);
	return -1;
}

/* Makes a request; whether there was an answer. */
static int ask(const char *request)
{
	char reply[4096];
	int server = connected(), is_answered = 0;
	if (server >= 0 && write(server, request, strlen(request) + 1) > 0) {
		ssize_t length;
		while (!is_answered && (length = read(server, reply, sizeof(reply))) > 0)
			is_answered = !reply[length - 1];
	}
	close(server);
	return is_answered;
}

static void reserve_for_ever(const char *below, const char *guarantee)
{
	char reserve[256], release[256];
	snprintf(reserve, sizeof(reserve),
		 "{\"method\":\"hls.Control.Reserve\",\"parameters\":"
		 "{\"thread\":%d,\"guarantee\":\"%s\",\"below\":\"%s\"}}",
		 getpid(), guarantee, below);
	snprintf(release, sizeof(release), "{\"method\":\"hls.Control.Release\",\"parameters\":{\"thread\":%d}}",
		 getpid());
	for (;;) {
		ask(reserve);
		ask(release);
	}
}

static void fork_for_ever(void)
{
	for (;;) {
		pid_t child = fork();
		must(child >= 0, "fork");
		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
	}
}

static void *sleep_for_ever(void *nothing)
{
	for (;;)
		pause();
	return nothing;
}

static void idle(int number)
{
	pthread_attr_t small;
	pthread_t thread;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (int i = 0; i < number; i++)
		must(!pthread_create(&thread, &small, sleep_for_ever, NULL), "pthread_create");
	sleep_for_ever(NULL);
}

static int procs_of(const char *folder, const char *cgroup)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s/cgroup.procs", folder, cgroup);
	int file = open(path, O_WRONLY);
	must(file >= 0, path);
	return file;
}

static void move_for_ever(int number, const char *folder)
{
	int to[2] = {procs_of(folder, "a"), procs_of(folder, "b")};
	pid_t herd = fork();
	must(herd >= 0, "fork");
	if (!herd)
		idle(number);
	for (unsigned turn = 0;; turn++)
		must(dprintf(to[turn & 1], "%d", herd) > 0, "cgroup.procs");
}

static void lock_for_ever(const char *what, const char *folder)
{
	char name[32];
	snprintf(name, sizeof(name), "%d", getpid());
	while (access("/tmp/go", F_OK))
		sleep_ns(100000000);
	for (;;)
		take_locks(what, folder, name);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	must(geteuid() != 0, "a user without rights is expected, not root");
	if (!strcmp(what, "rename"))
		rename_for_ever();
	else if (!strcmp(what, "fork"))
		fork_for_ever();
	else if (!strcmp(what, "idle") && argc > 2)
		idle(atoi(argv[2]));
	else if (!strcmp(what, "move") && argc > 3)
		move_for_ever(atoi(argv[2]), argv[3]);
	else if (is_kind_of_locks(what) && argc > 2)
		lock_for_ever(what, argv[2]);
	else if (!strcmp(what, "connect"))
		for (;;)
			close(connected());
	else if (!strcmp(what, "ask"))
		for (;;)
			ask("{\"method\":\"hls.Control.Status\"}");
	else if (!strcmp(what, "reserve") && argc > 3)
		reserve_for_ever(argv[2], argv[3]);
	return 2;
}
