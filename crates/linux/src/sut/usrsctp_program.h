/*
 * What the programs over usrsctp have in common: lines of output, and lists of addresses.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_ADDRESSES 32

struct addresses {
	int count;
	struct sockaddr_in list[MAX_ADDRESSES];
};

/* Prints one line at once. */
static void say(const char *format, ...)
{
	va_list arguments;
	flockfile(stdout);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	fflush(stdout);
	funlockfile(stdout);
}

/* Ends the program with a line `failed WHAT: WHY`. */
static void fail(const char *what)
{
	say("failed %s: %s", what, strerror(errno));
	_exit(1);
}

/* IPv4 addresses with commas between; the port is set later. */
static struct addresses parse(char *list)
{
	struct addresses parsed = { 0 };
	for (char *rest, *one = strtok_r(list, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
		if (parsed.count == MAX_ADDRESSES) {
			errno = E2BIG;
			fail("addresses");
		}
		struct sockaddr_in *address = &parsed.list[parsed.count++];
		address->sin_family = AF_INET;
		errno = EINVAL;
		if (inet_pton(AF_INET, one, &address->sin_addr) != 1)
			fail("address");
	}
	return parsed;
}

static void at_port(struct addresses *all, int number)
{
	for (int at = 0; at < all->count; at++)
		all->list[at].sin_port = htons((uint16_t)number);
}
