/*
 * An SCTP peer made of usrsctp, for the tests: one association as client or server, over UDP
 * (RFC 6951) or IP.
 *
 *   usrsctp_association client|server KEY=VALUE...
 *
 * local=A[,B]      own addresses               remote=A[,B]     addresses of the peer (client)
 * port=N           own port of SCTP            peer-port=N      that of the peer
 * udp=N            own port of UDP, 0: none    peer-udp=N       that of the peer
 * send=BYTES       bytes to send on stream 0   size=N           bytes of a message of these
 * expect=BYTES     bytes to receive, after which it says `complete`
 * messages=N       whole messages to send, and to expect; streams=N, how many they use
 * nr-sack=0|1      i-data=0|1      asconf=0|1      heartbeat=MS      window=BYTES
 * cmt=MODE         data on all paths: 0 no, 1 NewReno, 2 RPv1, 3 RPv2, 4 MPTCP-like
 * wait=0|1         send nothing before the command `send`
 *
 * Standard input takes `send`, `shutdown`, `abort`, `add ADDRESS`, `remove ADDRESS`,
 * `primary ADDRESS`, `heartbeat ADDRESS`, `state` and `quit`; its end is `quit`. Each line of
 * standard output begins with a word for what it says.
 */
#define INET 1
#include "usrsctp_program.h"
#include <pthread.h>
#include <stdlib.h>
#include <usrsctp.h>

/* Option of I-DATA, which is not in Debian's header. */
#define INTERLEAVING_SUPPORTED 0x00001206
#define MAX_MESSAGE (1 << 18)
#define OUR_SEED 2
#define PEER_SEED 1
/* Protocol identifier of message 0; smaller ones are assigned to protocols. */
#define FIRST_PPID 0x40000000u

static int is_client, port = 5000, peer_port = 5000, udp, peer_udp;
static int messages, streams = 1, nr_sack, i_data, asconf, heartbeat, cmt, waits;
static uint64_t to_send, to_receive;
static uint32_t size = 1400, window = 1 << 20;
static struct addresses local, remote;
static struct socket *association;
static int is_up;
/* The thread that sends breaks the association off; another one would wait for it. */
static volatile int aborting;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* SplitMix64. */
static uint64_t mix(uint64_t value)
{
	uint64_t z = (value + 1) * 0x9E3779B97F4A7C15ull;
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
	return z ^ (z >> 31);
}

/* Bytes of a pattern from a position on. */
static void pattern(uint64_t seed, uint64_t from, uint8_t *out, size_t len)
{
	uint64_t word = 0;
	for (size_t at = 0; at < len; at++, from++, word >>= 8) {
		if (at == 0 || from % 8 == 0)
			word = mix(seed + from / 8) >> (from % 8 * 8);
		out[at] = (uint8_t)word;
	}
}

/* FNV-1a of 64 bits. */
static uint64_t hash = 0xCBF29CE484222325ull;

static void add_to_hash(const uint8_t *bytes, size_t len)
{
	for (size_t at = 0; at < len; at++)
		hash = (hash ^ bytes[at]) * 0x100000001B3ull;
}

/* Message `number` of a side: its length, stream and order. */
static uint32_t length_of(uint64_t seed, uint32_t number)
{
	uint64_t random = mix(seed << 32 | number);
	return 1 + (uint32_t)(random % (number % 10 == 9 ? 100000 : 3000));
}

static int stream_of(uint32_t number) { return (int)(number % (uint32_t)streams); }

static int is_unordered(uint32_t number) { return number / (uint32_t)streams % 2; }

static void set(struct socket *socket, int option, const void *value, socklen_t len,
	const char *what)
{
	if (usrsctp_setsockopt(socket, IPPROTO_SCTP, option, value, len) < 0)
		fail(what);
}

static void subscribe(struct socket *socket, uint16_t type)
{
	struct sctp_event event = { .se_assoc_id = SCTP_FUTURE_ASSOC, .se_type = type, .se_on = 1 };
	set(socket, SCTP_EVENT, &event, sizeof event, "event");
}

static struct socket *make_socket(void)
{
	struct socket *socket = usrsctp_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
	if (!socket)
		fail("socket");
	int on = 1;
	set(socket, SCTP_RECVRCVINFO, &on, sizeof on, "rcvinfo");
	set(socket, SCTP_NODELAY, &on, sizeof on, "nodelay");
	if (usrsctp_setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &window, sizeof window) < 0
		|| usrsctp_setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &window, sizeof window) < 0)
		fail("buffers");
	/* Whole messages only, as far as they fit. */
	uint32_t whole = window / 2 < MAX_MESSAGE ? window / 2 : MAX_MESSAGE;
	set(socket, SCTP_PARTIAL_DELIVERY_POINT, &whole, sizeof whole, "partial delivery");
	struct sctp_initmsg init = {
		.sinit_num_ostreams = (uint16_t)streams, .sinit_max_instreams = 2048
	};
	set(socket, SCTP_INITMSG, &init, sizeof init, "initmsg");
	if (peer_udp) {
		struct sctp_udpencaps encapsulation = { 0 };
		encapsulation.sue_address.ss_family = AF_INET;
		encapsulation.sue_port = htons((uint16_t)peer_udp);
		set(socket, SCTP_REMOTE_UDP_ENCAPS_PORT, &encapsulation, sizeof encapsulation, "udp");
	}
	if (i_data) {
		int level = 2;
		set(socket, SCTP_FRAGMENT_INTERLEAVE, &level, sizeof level, "interleave");
		struct sctp_assoc_value value = { .assoc_id = SCTP_FUTURE_ASSOC, .assoc_value = 1 };
		set(socket, INTERLEAVING_SUPPORTED, &value, sizeof value, "i-data");
	}
	subscribe(socket, SCTP_ASSOC_CHANGE);
	subscribe(socket, SCTP_PEER_ADDR_CHANGE);
	subscribe(socket, SCTP_SHUTDOWN_EVENT);
	if (usrsctp_bindx(socket, (struct sockaddr *)local.list, local.count, SCTP_BINDX_ADD_ADDR) < 0)
		fail("bindx");
	return socket;
}

static void tell_threads(int *state, int value)
{
	pthread_mutex_lock(&lock);
	*state = value;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void on_notification(const union sctp_notification *news)
{
	static const char *const changes[] = {
		"?", "up", "lost", "restart", "shutdown-complete", "refused"
	};
	static const char *const addresses[] = {
		"?", "available", "unreachable", "removed", "added", "primary", "confirmed"
	};
	if (news->sn_header.sn_type == SCTP_ASSOC_CHANGE) {
		const struct sctp_assoc_change *change = &news->sn_assoc_change;
		say("association %s streams %d %d", changes[change->sac_state <= 5 ? change->sac_state : 0],
			change->sac_outbound_streams, change->sac_inbound_streams);
		if (change->sac_state == SCTP_COMM_UP)
			tell_threads(&is_up, 1);
	} else if (news->sn_header.sn_type == SCTP_PEER_ADDR_CHANGE) {
		const struct sctp_paddr_change *change = &news->sn_paddr_change;
		char text[INET6_ADDRSTRLEN] = "?";
		const struct sockaddr_in *address = (const struct sockaddr_in *)&change->spc_aaddr;
		inet_ntop(AF_INET, &address->sin_addr, text, sizeof text);
		say("address %s %s", text, addresses[change->spc_state <= 6 ? change->spc_state : 0]);
	} else if (news->sn_header.sn_type == SCTP_SHUTDOWN_EVENT) {
		say("peer-shutdown");
	}
}

/* A whole message that arrived: whether it is what the peer sends under its number. */
static uint64_t messages_received, wrong_messages;

static void on_message(const uint8_t *bytes, size_t len, const struct sctp_rcvinfo *info)
{
	static uint8_t expected[MAX_MESSAGE];
	static uint8_t seen[1 << 16];
	static int64_t last_of[1 << 11];
	uint32_t number = ntohl(info->rcv_ppid) - FIRST_PPID;
	int unordered = (info->rcv_flags & SCTP_UNORDERED) != 0;
	int right = number < (uint32_t)messages && !seen[number]
		&& len == length_of(PEER_SEED, number) && info->rcv_sid == stream_of(number)
		&& unordered == is_unordered(number);
	if (right) {
		pattern(PEER_SEED, (uint64_t)number << 20, expected, len);
		right = memcmp(bytes, expected, len) == 0;
		seen[number] = 1;
	}
	if (right && !unordered) {
		right = last_of[info->rcv_sid] <= number;
		last_of[info->rcv_sid] = number;
	}
	messages_received++;
	wrong_messages += !right;
	if (!right)
		say("wrong message %u of %zu bytes on stream %d", number, len, info->rcv_sid);
	if (messages_received == (uint64_t)messages)
		say("messages %llu wrong %llu", (unsigned long long)messages_received,
			(unsigned long long)wrong_messages);
}

static void *receive(void *unused)
{
	static uint8_t buffer[MAX_MESSAGE];
	uint64_t received = 0;
	size_t held = 0;
	(void)unused;
	for (;;) {
		struct sctp_rcvinfo info;
		socklen_t info_len = sizeof info, from_len = 0;
		unsigned int type = 0;
		int flags = 0;
		ssize_t len = usrsctp_recvv(association, buffer + held, sizeof buffer - held, NULL,
			&from_len, &info, &info_len, &type, &flags);
		if (len <= 0)
			break;
		if (flags & MSG_NOTIFICATION) {
			on_notification((const union sctp_notification *)(buffer + held));
			continue;
		}
		received += (uint64_t)len;
		if (!messages) {
			add_to_hash(buffer, (size_t)len);
			if (to_receive && received == to_receive)
				say("complete");
			continue;
		}
		held += (size_t)len;
		if (flags & MSG_EOR) {
			on_message(buffer, held, &info);
			held = 0;
		} else if (held == sizeof buffer) {
			fail("a message is too long");
		}
	}
	say("received %llu %016llx", (unsigned long long)received, (unsigned long long)hash);
	say("over");
	return NULL;
}

static void send_message(const uint8_t *bytes, size_t len, struct sctp_sndinfo *info)
{
	if (usrsctp_sendv(association, bytes, len, NULL, 0, info, sizeof *info, SCTP_SENDV_SNDINFO, 0)
		!= (ssize_t)len)
		say("unsent %zu", len);
}

static void *send_all(void *unused)
{
	static uint8_t buffer[MAX_MESSAGE];
	(void)unused;
	pthread_mutex_lock(&lock);
	while (!is_up || waits)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	for (uint64_t at = 0; at < to_send && !aborting; at += size) {
		struct sctp_sndinfo info = { 0 };
		size_t len = to_send - at < size ? to_send - at : size;
		pattern(OUR_SEED, at, buffer, len);
		send_message(buffer, len, &info);
	}
	for (uint32_t number = 0; number < (uint32_t)messages; number++) {
		struct sctp_sndinfo info = { .snd_sid = (uint16_t)stream_of(number) };
		size_t len = length_of(OUR_SEED, number);
		info.snd_ppid = htonl(FIRST_PPID + number);
		info.snd_flags = is_unordered(number) ? SCTP_UNORDERED : 0;
		pattern(OUR_SEED, (uint64_t)number << 20, buffer, len);
		send_message(buffer, len, &info);
	}
	say("sent");
	while (!aborting)
		usleep(1000);
	struct sctp_sndinfo abort_info = { .snd_flags = SCTP_ABORT };
	send_message((const uint8_t *)"abort", 5, &abort_info);
	return NULL;
}

static void say_statistics(void)
{
	struct sctpstat stat;
	usrsctp_get_stat(&stat);
	say("statistics badsum %u hdrops %u badvtag %u badsid %u aborted %u checksumerrors %u"
		" outoftheblue %u restarts %u dup %u rtx %u fastrtx %u t3 %u heartbeats %u heartbeat-acks %u"
		" recvpackets %u sendpackets %u",
		stat.sctps_badsum, stat.sctps_hdrops, stat.sctps_badvtag, stat.sctps_badsid,
		stat.sctps_aborted, stat.sctps_checksumerrors, stat.sctps_outoftheblue,
		stat.sctps_restartestab, stat.sctps_recvdupdata, stat.sctps_sendretransdata,
		stat.sctps_sendfastretrans, stat.sctps_timodata, stat.sctps_recvheartbeat,
		stat.sctps_recvheartbeatack, stat.sctps_recvpackets, stat.sctps_sendpackets);
}

static void say_state(void)
{
	struct sockaddr *list;
	int count = usrsctp_getpaddrs(association, 0, &list);
	struct sockaddr_in *address = (struct sockaddr_in *)list;
	for (int at = 0; at < count; at++, address++) {
		struct sctp_paddrinfo info = { 0 };
		char text[INET6_ADDRSTRLEN] = "?";
		socklen_t len = sizeof info;
		memcpy(&info.spinfo_address, address, sizeof *address);
		usrsctp_getsockopt(association, IPPROTO_SCTP, SCTP_GET_PEER_ADDR_INFO, &info, &len);
		inet_ntop(AF_INET, &address->sin_addr, text, sizeof text);
		say("state %s %s", text, info.spinfo_state & SCTP_UNCONFIRMED ? "unconfirmed"
			: info.spinfo_state & SCTP_INACTIVE ? "inactive" : "active");
	}
	if (count > 0)
		usrsctp_freepaddrs(list);
	say("state-end");
}

/* Sends a heartbeat to an address of the peer now. */
static void send_heartbeat(char *text)
{
	struct addresses one = parse(text);
	struct sctp_paddrparams path = { .spp_flags = SPP_HB_DEMAND };
	at_port(&one, peer_port);
	memcpy(&path.spp_address, &one.list[0], sizeof one.list[0]);
	int result = usrsctp_setsockopt(association, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &path,
		sizeof path);
	say("heartbeat %s", result == 0 ? "done" : "failed");
}

static void on_address_command(const char *verb, char *text)
{
	struct addresses one = parse(text);
	at_port(&one, port);
	int flags = strcmp(verb, "add") ? SCTP_BINDX_REM_ADDR : SCTP_BINDX_ADD_ADDR;
	int result = strcmp(verb, "primary")
		? usrsctp_bindx(association, (struct sockaddr *)one.list, 1, flags) : 0;
	if (!strcmp(verb, "primary")) {
		struct sctp_setprim prim = { 0 };
		one.list[0].sin_port = htons((uint16_t)peer_port);
		memcpy(&prim.ssp_addr, &one.list[0], sizeof one.list[0]);
		result = usrsctp_setsockopt(association, IPPROTO_SCTP, SCTP_PRIMARY_ADDR, &prim,
			sizeof prim);
	}
	say("%s %s", verb, result == 0 ? "done" : "failed");
}

static void obey(void)
{
	char line[256];
	while (fgets(line, sizeof line, stdin)) {
		char verb[32] = "", address[64] = "";
		sscanf(line, "%31s %63s", verb, address);
		if (!strcmp(verb, "quit")) {
			break;
		} else if (!strcmp(verb, "send")) {
			tell_threads(&waits, 0);
		} else if (!strcmp(verb, "shutdown")) {
			usrsctp_shutdown(association, SHUT_WR);
		} else if (!strcmp(verb, "abort")) {
			aborting = 1;
		} else if (!strcmp(verb, "state")) {
			say_state();
		} else if (!strcmp(verb, "heartbeat")) {
			send_heartbeat(address);
		} else {
			on_address_command(verb, address);
		}
	}
}

static void take_option(const char *key, char *value)
{
	if (!strcmp(key, "port")) port = atoi(value);
	else if (!strcmp(key, "peer-port")) peer_port = atoi(value);
	else if (!strcmp(key, "udp")) udp = atoi(value);
	else if (!strcmp(key, "peer-udp")) peer_udp = atoi(value);
	else if (!strcmp(key, "send")) to_send = strtoull(value, NULL, 10);
	else if (!strcmp(key, "expect")) to_receive = strtoull(value, NULL, 10);
	else if (!strcmp(key, "size")) size = (uint32_t)atoi(value);
	else if (!strcmp(key, "messages")) messages = atoi(value);
	else if (!strcmp(key, "streams")) streams = atoi(value);
	else if (!strcmp(key, "nr-sack")) nr_sack = atoi(value);
	else if (!strcmp(key, "i-data")) i_data = atoi(value);
	else if (!strcmp(key, "asconf")) asconf = atoi(value);
	else if (!strcmp(key, "heartbeat")) heartbeat = atoi(value);
	else if (!strcmp(key, "cmt")) cmt = atoi(value);
	else if (!strcmp(key, "wait")) waits = atoi(value);
	else if (!strcmp(key, "window")) window = (uint32_t)atoi(value);
	else if (!strcmp(key, "local")) local = parse(value);
	else if (!strcmp(key, "remote")) remote = parse(value);
	else fail(key);
}

static void configure(void)
{
	usrsctp_sysctl_set_sctp_blackhole(0);
	usrsctp_sysctl_set_sctp_no_csum_on_loopback(0);
	usrsctp_sysctl_set_sctp_ecn_enable(0);
	usrsctp_sysctl_set_sctp_nrsack_enable((uint32_t)nr_sack);
	usrsctp_sysctl_set_sctp_asconf_enable((uint32_t)asconf);
	usrsctp_sysctl_set_sctp_auth_enable((uint32_t)asconf);
	usrsctp_sysctl_set_sctp_auto_asconf(0);
	usrsctp_sysctl_set_sctp_cmt_on_off((uint32_t)cmt);
	/* Its 512 chunks are less than a window. */
	if (cmt)
		usrsctp_sysctl_set_sctp_max_chunks_on_queue(10240);
	if (heartbeat)
		usrsctp_sysctl_set_sctp_heartbeat_interval_default((uint32_t)heartbeat);
}

int main(int count, char **arguments)
{
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
	at_port(&local, port);
	at_port(&remote, peer_port);
	usrsctp_init((uint16_t)udp, NULL, NULL);
	configure();
	struct socket *socket = make_socket();
	if (is_client) {
		association = socket;
		say("connecting");
		if (usrsctp_connectx(socket, (struct sockaddr *)remote.list, remote.count, NULL) < 0)
			fail("connect");
	} else {
		if (usrsctp_listen(socket, 1) < 0)
			fail("listen");
		say("listening");
		association = usrsctp_accept(socket, NULL, NULL);
		if (!association)
			fail("accept");
		/* It has all addresses still, and one that is to be added again would be in use. */
		usrsctp_close(socket);
	}
	tell_threads(&is_up, 1);
	say("open");
	pthread_t receiver, sender;
	pthread_create(&receiver, NULL, receive, NULL);
	pthread_create(&sender, NULL, send_all, NULL);
	obey();
	say_statistics();
	_exit(0);
}
