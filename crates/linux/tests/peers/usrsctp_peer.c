/* A peer of usrsctp 0.9.5 (libusrsctp-dev) in UDP (RFC 6951), for benchmarks and tests.
 *
 *   usrsctp_peer serve-discard udp=PORT port=PORT [buffer=BYTES]
 *   usrsctp_peer send udp=PORT port=PORT peer=ADDRESS peer-udp=PORT bytes=N [message=BYTES]
 *                     [buffer=BYTES]
 *
 * `serve-discard` prints "listening", takes one association, reads to its end and prints
 * "bytes N seconds S cpu S"; `send` sends N bytes in messages of one size on stream 0, shuts the
 * association down, and prints the same when the peer has closed. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <usrsctp.h>

struct arguments {
	const char *peer;
	int udp, port, peer_udp, message, buffer;
	long long bytes;
};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static double cpu(void)
{
	struct rusage use;
	getrusage(RUSAGE_SELF, &use);
	return use.ru_utime.tv_sec + use.ru_stime.tv_sec +
	       (use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

static struct arguments read_arguments(int count, char **words)
{
	struct arguments all = { "127.0.0.1", 9899, 5001, 9899, 1400, 2 << 20, 1 << 20 };
	for (int i = 0; i < count; i++) {
		char *value = strchr(words[i], '=');
		if (!value) {
			fprintf(stderr, "%s: not KEY=VALUE\n", words[i]);
			exit(2);
		}
		*value++ = 0;
		if (!strcmp(words[i], "udp")) all.udp = atoi(value);
		else if (!strcmp(words[i], "port")) all.port = atoi(value);
		else if (!strcmp(words[i], "peer")) all.peer = value;
		else if (!strcmp(words[i], "peer-udp")) all.peer_udp = atoi(value);
		else if (!strcmp(words[i], "message")) all.message = atoi(value);
		else if (!strcmp(words[i], "buffer")) all.buffer = atoi(value);
		else if (!strcmp(words[i], "bytes")) all.bytes = atoll(value);
		else {
			fprintf(stderr, "%s: unknown key\n", words[i]);
			exit(2);
		}
	}
	return all;
}

static struct socket *new_socket(const struct arguments *all)
{
	struct socket *socket =
		usrsctp_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
	if (!socket) fail("usrsctp_socket");
	struct sctp_udpencaps port = { .sue_port = htons(all->peer_udp) };
	port.sue_address.ss_family = AF_INET;
	if (usrsctp_setsockopt(socket, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &port,
			       sizeof port))
		fail("SCTP_REMOTE_UDP_ENCAPS_PORT");
	int buffer = all->buffer;
	if (usrsctp_setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer) ||
	    usrsctp_setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer))
		fail("socket buffers");
	return socket;
}

static void report(long long bytes, double since)
{
	printf("bytes %lld seconds %.6f cpu %.6f\n", bytes, seconds() - since, cpu());
	fflush(stdout);
}

/* The next message or a part of it: its length, 0 at the end of the association. */
static ssize_t receive(struct socket *socket, char *buffer, size_t len)
{
	struct sockaddr_in from;
	struct sctp_rcvinfo info;
	socklen_t from_len = sizeof from, info_len = sizeof info;
	unsigned type = 0;
	int flags = 0;
	return usrsctp_recvv(socket, buffer, len, (struct sockaddr *)&from, &from_len, &info,
			     &info_len, &type, &flags);
}

static void serve_discard(const struct arguments *all)
{
	static char buffer[1 << 18];
	struct socket *listener = new_socket(all);
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons(all->port) };
	if (usrsctp_bind(listener, (struct sockaddr *)&here, sizeof here)) fail("usrsctp_bind");
	if (usrsctp_listen(listener, 1)) fail("usrsctp_listen");
	printf("listening\n");
	fflush(stdout);
	struct socket *socket = usrsctp_accept(listener, NULL, NULL);
	if (!socket) fail("usrsctp_accept");
	double since = seconds();
	long long bytes = 0;
	for (;;) {
		ssize_t len = receive(socket, buffer, sizeof buffer);
		if (len < 0) fail("usrsctp_recvv");
		if (len == 0) break;
		bytes += len;
	}
	usrsctp_close(socket);
	usrsctp_close(listener);
	report(bytes, since);
}

static void send_all(const struct arguments *all)
{
	static char buffer[1 << 16];
	struct socket *socket = new_socket(all);
	struct sockaddr_in peer = { .sin_family = AF_INET, .sin_port = htons(all->port) };
	inet_pton(AF_INET, all->peer, &peer.sin_addr);
	double since = seconds();
	if (usrsctp_connect(socket, (struct sockaddr *)&peer, sizeof peer)) fail("usrsctp_connect");
	long long left = all->bytes;
	while (left > 0) {
		size_t len = left < all->message ? left : all->message;
		ssize_t sent = usrsctp_sendv(socket, buffer, len, NULL, 0, NULL, 0,
					     SCTP_SENDV_NOINFO, 0);
		if (sent < 0) fail("usrsctp_sendv");
		left -= sent;
	}
	usrsctp_shutdown(socket, SHUT_WR);
	while (receive(socket, buffer, sizeof buffer) > 0)
		;
	report(all->bytes, since);
	usrsctp_close(socket);
}

int main(int count, char **words)
{
	if (count < 2) {
		fprintf(stderr, "usage: usrsctp_peer serve-discard|send KEY=VALUE...\n");
		return 2;
	}
	struct arguments all = read_arguments(count - 2, words + 2);
	usrsctp_init(all.udp, NULL, NULL);
	usrsctp_sysctl_set_sctp_ecn_enable(0);
	usrsctp_sysctl_set_sctp_sendspace(all.buffer);
	usrsctp_sysctl_set_sctp_recvspace(all.buffer);
	/* 512 by default: less than a buffer of 2 MiB in messages of 1400 bytes. */
	usrsctp_sysctl_set_sctp_max_chunks_on_queue(10240);
	if (!strcmp(words[1], "serve-discard")) serve_discard(&all);
	else if (!strcmp(words[1], "send")) send_all(&all);
	else {
		fprintf(stderr, "%s: unknown mode\n", words[1]);
		return 2;
	}
	for (int i = 0; i < 30 && usrsctp_finish(); i++) usleep(100000);
	return 0;
}
