/*
 * One end of a transfer over usrsctp and IP protocol 132, for `emulate --stack usrsctp`.
 *
 *   usrsctp client|server KEY=VALUE...
 *
 * local=A[,B..]  own addresses, the first one is that of the primary path
 * remote=A[,B..] addresses of the server, for the client        port=N    of the server
 * send=BYTES     expect=BYTES   of user data, 0: none           message=N bytes of a message
 * sndbuf=BYTES   rcvbuf=BYTES   buffers                         streams=N
 * pf=N           threshold of potentially-failed, 65535: off    nr-sack=0|1
 * priority=N     real-time priority, where that is allowed
 *
 * A client that sends nothing asks for the data with a message of one byte, as the traffic models
 * do, which is not counted.
 *
 * Lines on standard output, with the nanoseconds of CLOCK_MONOTONIC: `listening` (server), `ready`
 * (client, which connects at the line `go` of its input), `started NS`, `connected NS`,
 * `read NS BYTES` (at most one per interval), `lost NS`, `failed WHAT`. The next line of the input
 * makes it print `from ADDRESS BYTES` for each address that data came from, then `statistics ...`,
 * and exit; the end of the input ends it, too.
 */
#define INET 1
#include "usrsctp_program.h"
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <usrsctp.h>

#define READ_BYTES (1 << 18)
#define INTERVAL_NS 10000000ull

static int port = 5001, streams = 1, nr_sack = 1, priority;
static uint64_t to_send, to_receive;
static uint32_t message = 1452, sndbuf = 4 << 20, rcvbuf = 6 << 20, pf = 65535;
static struct addresses local, remote;
static struct socket *association;
static int is_client;
/* Addresses that messages came from, and the bytes of each. */
static struct addresses sources;
static unsigned long long brought[MAX_ADDRESSES];

static unsigned long long now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (unsigned long long)time.tv_sec * 1000000000ull + (unsigned long long)time.tv_nsec;
}

static void set(struct socket *socket, int level, int option, const void *value, socklen_t len,
	const char *what)
{
	if (usrsctp_setsockopt(socket, level, option, value, len) < 0)
		fail(what);
}

static struct socket *make_socket(void)
{
	struct socket *socket = usrsctp_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
	if (!socket)
		fail("socket");
	int on = 1;
	uint16_t types[] = { SCTP_ASSOC_CHANGE };
	struct sctp_initmsg init = {
		.sinit_num_ostreams = (uint16_t)streams, .sinit_max_instreams = 2048
	};
	set(socket, IPPROTO_SCTP, SCTP_NODELAY, &on, sizeof on, "nodelay");
	set(socket, IPPROTO_SCTP, SCTP_INITMSG, &init, sizeof init, "initmsg");
	set(socket, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof rcvbuf, "receive buffer");
	set(socket, SOL_SOCKET, SO_SNDBUF, &sndbuf, sizeof sndbuf, "send buffer");
	for (size_t at = 0; at < sizeof types / sizeof *types; at++) {
		struct sctp_event event = {
			.se_assoc_id = SCTP_FUTURE_ASSOC, .se_type = types[at], .se_on = 1
		};
		set(socket, IPPROTO_SCTP, SCTP_EVENT, &event, sizeof event, "event");
	}
	/* INIT leaves from the address that was bound last, and the peer's primary path is to it. */
	struct addresses last_first = { .count = local.count };
	for (int at = 0; at < local.count; at++)
		last_first.list[at] = local.list[local.count - 1 - at];
	if (usrsctp_bindx(socket, (struct sockaddr *)last_first.list, local.count,
		SCTP_BINDX_ADD_ADDR) < 0)
		fail("bindx");
	return socket;
}

static int send_message(const uint8_t *bytes, size_t len)
{
	struct sctp_sndinfo info = { 0 };
	return usrsctp_sendv(association, bytes, len, NULL, 0, &info, sizeof info, SCTP_SENDV_SNDINFO,
		0) == (ssize_t)len;
}

static void *send_all(void *unused)
{
	uint8_t *bytes = calloc(1, message);
	uint64_t at = 0;
	(void)unused;
	if (!bytes)
		fail("memory");
	while (at < to_send && send_message(bytes, to_send - at < message ? to_send - at : message))
		at += message;
	return NULL;
}

/* Counts bytes that came from an address: a message is one chunk, which took one path. */
static void count_source(const struct sockaddr_in *from, size_t len)
{
	int at = 0;
	while (at < sources.count && sources.list[at].sin_addr.s_addr != from->sin_addr.s_addr)
		at++;
	if (at == MAX_ADDRESSES)
		return;
	if (at == sources.count)
		sources.list[sources.count++] = *from;
	brought[at] += len;
}

static void receive(void)
{
	static uint8_t buffer[READ_BYTES];
	unsigned long long received = 0, said = 0;
	pthread_t sender;
	int sends = 0;
	for (;;) {
		struct sctp_rcvinfo info;
		struct sockaddr_in from = { 0 };
		socklen_t info_len = sizeof info, from_len = sizeof from;
		unsigned int type = 0;
		int flags = 0;
		ssize_t len = usrsctp_recvv(association, buffer, sizeof buffer,
			(struct sockaddr *)&from, &from_len, &info, &info_len, &type, &flags);
		unsigned long long at = now();
		if (len <= 0)
			break;
		if (flags & MSG_NOTIFICATION) {
			const union sctp_notification *news = (const union sctp_notification *)buffer;
			if (news->sn_header.sn_type == SCTP_ASSOC_CHANGE
				&& news->sn_assoc_change.sac_state == SCTP_COMM_LOST)
				say("lost %llu", at);
			continue;
		}
		if (to_send) {
			/* The request. */
			if (!sends++)
				pthread_create(&sender, NULL, send_all, NULL);
			continue;
		}
		received += (unsigned long long)len;
		count_source(&from, (size_t)len);
		if (at - said >= INTERVAL_NS || received == to_receive) {
			said = at;
			say("read %llu %llu", at, received);
		}
	}
}

static void say_statistics(void)
{
	struct sctpstat stat;
	usrsctp_get_stat(&stat);
	for (int at = 0; at < sources.count; at++) {
		char text[INET_ADDRSTRLEN];
		say("from %s %llu", inet_ntop(AF_INET, &sources.list[at].sin_addr, text, sizeof text),
			brought[at]);
	}
	say("statistics retransmitted %u fast %u t3 %u data %u duplicate %u badsum %u hdrops %u",
		stat.sctps_sendretransdata, stat.sctps_sendfastretrans, stat.sctps_timodata,
		stat.sctps_recvdata, stat.sctps_recvdupdata, stat.sctps_badsum, stat.sctps_hdrops);
}

static void take_option(const char *key, char *value)
{
	if (!strcmp(key, "port")) port = atoi(value);
	else if (!strcmp(key, "send")) to_send = strtoull(value, NULL, 10);
	else if (!strcmp(key, "expect")) to_receive = strtoull(value, NULL, 10);
	else if (!strcmp(key, "message")) message = (uint32_t)atoi(value);
	else if (!strcmp(key, "sndbuf")) sndbuf = (uint32_t)atoi(value);
	else if (!strcmp(key, "rcvbuf")) rcvbuf = (uint32_t)atoi(value);
	else if (!strcmp(key, "streams")) streams = atoi(value);
	else if (!strcmp(key, "pf")) pf = (uint32_t)atoi(value);
	else if (!strcmp(key, "nr-sack")) nr_sack = atoi(value);
	else if (!strcmp(key, "priority")) priority = atoi(value);
	else if (!strcmp(key, "local")) local = parse(value);
	else if (!strcmp(key, "remote")) remote = parse(value);
	else {
		errno = EINVAL;
		fail(key);
	}
}

static void configure(void)
{
	usrsctp_sysctl_set_sctp_blackhole(2);
	usrsctp_sysctl_set_sctp_no_csum_on_loopback(0);
	usrsctp_sysctl_set_sctp_ecn_enable(0);
	usrsctp_sysctl_set_sctp_asconf_enable(0);
	usrsctp_sysctl_set_sctp_auth_enable(0);
	usrsctp_sysctl_set_sctp_auto_asconf(0);
	usrsctp_sysctl_set_sctp_nrsack_enable((uint32_t)nr_sack);
	usrsctp_sysctl_set_sctp_path_pf_threshold(pf);
}

/* Opens or accepts the association, and carries the data. */
static void *carry(void *listener)
{
	if (listener) {
		association = usrsctp_accept(listener, NULL, NULL);
	} else {
		say("started %llu", now());
		if (usrsctp_connectx(association, (struct sockaddr *)remote.list, remote.count, NULL) < 0) {
			say("lost %llu", now());
			return NULL;
		}
		say("connected %llu", now());
	}
	if (!association)
		fail("accept");
	pthread_t sender;
	if (is_client && to_send)
		pthread_create(&sender, NULL, send_all, NULL);
	else if (is_client)
		send_message((const uint8_t *)"", 1);
	receive();
	return NULL;
}

int main(int count, char **arguments)
{
	char line[64];
	pthread_t carrier;
	errno = EINVAL;
	if (count < 2)
		fail("client or server is missing");
	is_client = !strcmp(arguments[1], "client");
	for (int at = 2; at < count; at++) {
		char *value = strchr(arguments[at], '=');
		if (!value)
			fail("KEY=VALUE");
		*value++ = 0;
		take_option(arguments[at], value);
	}
	at_port(&local, is_client ? 0 : port);
	at_port(&remote, port);
	/* Before usrsctp starts its threads. */
	struct sched_param scheduling = { .sched_priority = priority };
	if (priority)
		(void)sched_setscheduler(0, SCHED_FIFO, &scheduling);
	usrsctp_init(0, NULL, NULL);
	configure();
	struct socket *socket = make_socket();
	if (is_client) {
		association = socket;
		say("ready");
		if (!fgets(line, sizeof line, stdin))
			_exit(0);
		pthread_create(&carrier, NULL, carry, NULL);
	} else {
		if (usrsctp_listen(socket, 1) < 0)
			fail("listen");
		pthread_create(&carrier, NULL, carry, socket);
		say("listening");
	}
	if (!fgets(line, sizeof line, stdin))
		_exit(0);
	say_statistics();
	_exit(0);
}
