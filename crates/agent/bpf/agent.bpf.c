// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause OR GPL-2.0-only
/* The host agent's programs, for tcx at egress: sizes of messages (record), DSCPs by the bytes of a message (tag), the DSCP
 * of a tunnel's inner header in its outer one (copy). Only what the kernel keeps stable is used, so there is no CO-RE.
 * build.sh compiles it; the object is committed. Each program passes every packet on. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "step.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define NEXT (-1)		/* TCX_NEXT */
#define PASS(why) return count->why++, NEXT
#define FRAGMENT 0x3fff		/* more fragments, or an offset */
#define WORDS 32		/* of counts */
#define RULES 3			/* that are recorded at once */
#define BINS 256		/* of sizes: 8 an octave */
#define UNKNOWN (1ULL << 62)	/* above it: a message whose beginning was not seen */

/* ---- maps: all values are words of 64 bits, in the order of src/maps.rs ---- */

#define MAP(name, kind, flags, entries, K, V)		\
	struct {					\
		__uint(type, BPF_MAP_TYPE_##kind);	\
		__uint(map_flags, flags);		\
		__uint(max_entries, entries);		\
		__type(key, K);				\
		__type(value, V);			\
	} name SEC(".maps")

/* Entry 0 says which of the two others holds: a packet never sees half of an old one and half of a new one. */
struct conf {
	__u64 version, active;
	__u64 thresholds[LEVELS - 1], count;
	__u64 dscps;		/* a byte a level, the highest level lowest */
	struct rule rule;
	__u64 percent, dry, middle;
};
MAP(conf, ARRAY, 0, 3, __u32, struct conf);

struct counts {
	__u64 packets[LEVELS], bytes[LEVELS];
	__u64 other, marked, no_socket, no_storage;
	__u64 older, again, begun, spared;
	__u64 supers, longest, moved, copied;
	__u64 begun_by[RULES], unknown;
};
_Static_assert(sizeof(struct counts) == WORDS * 8, "as in maps.rs");
MAP(counts, PERCPU_ARRAY, 0, 1, __u32, struct counts);

/* Of tag, by socket: freed with it. */
MAP(flows, SK_STORAGE, BPF_F_NO_PREALLOC, 0, int, struct flow);

/* Of record, by socket: each rule's message, and the class. */
struct record {
	struct flow flow[RULES];
	__u64 class;
};
MAP(records, SK_STORAGE, BPF_F_NO_PREALLOC, 0, int, struct record);

/* Of record: by class, rule and bin. The loader says how many classes there are. */
struct bin {
	__u64 messages, bytes;
};
MAP(sizes, PERCPU_ARRAY, 0, RULES * BINS, __u32, struct bin);

/* Of record: classes by PORT and a port, or by a cgroup's number. The socket whose own port it is answers, the other asks. */
#define PORT (1ULL << 62)
#define PEER (1ULL << 63)
MAP(classes, HASH, 0, 1024, __u64, __u64);

static __always_inline struct counts *counted(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&counts, &zero);
}

static __always_inline struct conf *configured(void)
{
	__u32 zero = 0, active;
	struct conf *head = bpf_map_lookup_elem(&conf, &zero);

	if (!head)
		return 0;
	active = head->active;
	return active ? bpf_map_lookup_elem(&conf, &active) : 0;
}

/* ---- packets ---- */

/* A TCP packet of Ethernet and IP, by direct access. */
struct packet {
	struct iphdr *v4;	/* or */
	struct ipv6hdr *v6;
	struct tcphdr *tcp;
	__u8 field;		/* DSCP and ECN */
	__u32 len;		/* bytes of data */
};

static __always_inline int parse(struct __sk_buff *skb, struct packet *p)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end, *at = data + ETH_HLEN;
	struct ethhdr *ethernet = data;
	__u32 header;

	p->v4 = 0;
	p->v6 = 0;
	/* Without this a device without Ethernet's header would be misread. */
	if (at > end || ethernet->h_proto != skb->protocol)
		return 0;
	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = at;

		if ((void *)(ip + 1) > end || ip->protocol != IPPROTO_TCP || ip->frag_off & bpf_htons(FRAGMENT))
			return 0;
		p->v4 = ip;
		p->field = ip->tos;
		header = ip->ihl * 4;
	} else if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip = at;
		__u8 *option = (void *)(ip + 1);

		if ((void *)(option + 8) > end)
			return 0;
		p->v6 = ip;
		p->field = bpf_ntohs(*(__be16 *)ip) >> 4;
		header = sizeof *ip;
		/* BIG TCP: the length is in a hop-by-hop option of 8 bytes. */
		if (ip->nexthdr == IPPROTO_HOPOPTS && option[0] == IPPROTO_TCP && !option[1])
			header += 8;
		else if (ip->nexthdr != IPPROTO_TCP)
			return 0;
	} else
		return 0;
	p->tcp = at + header;
	if ((void *)(p->tcp + 1) > end)
		return 0;
	header += ETH_HLEN + p->tcp->doff * 4;
	p->len = skb->len > header ? skb->len - header : 0;
	return 1;
}

static __always_inline void write_field(struct iphdr *v4, struct ipv6hdr *v6, __u8 field, __u8 to)
{
	if (v4) {
		/* RFC 1624: only this byte of the sum changes. */
		__u32 sum = (__u16)~v4->check + (__u16)~bpf_htons(field) + bpf_htons(to);

		sum = (sum & 0xffff) + (sum >> 16);
		v4->check = ~((sum & 0xffff) + (sum >> 16));
		v4->tos = to;
	} else if (v6)
		*(__be16 *)v6 = bpf_htons((bpf_ntohs(*(__be16 *)v6) & 0xf00f) | to << 4);
}

/* What the socket knows of a packet with data. */
static __always_inline void seen(struct segment *s, struct bpf_sock *sk, struct bpf_tcp_sock *tcp, const struct packet *p)
{
	/* A peer's FIN counts as a byte, but is no data. */
	int closed = sk->state == BPF_TCP_CLOSE_WAIT || sk->state == BPF_TCP_LAST_ACK || sk->state == BPF_TCP_CLOSING;

	s->now_ns = bpf_ktime_get_ns();
	s->seq = bpf_ntohl(p->tcp->seq);
	s->len = p->len;
	s->una = tcp->snd_una;
	s->received = tcp->rcv_nxt - closed;
}

/* ---- tag ---- */

SEC("classifier/tag")
int flowsieve_tag(struct __sk_buff *skb)
{
	struct conf *c = configured();
	struct counts *count = counted();
	struct bpf_sock *sk = skb->sk;
	struct packet p;
	int queue = 0;
	__u8 to;

	if (!c || !count)
		return NEXT;
	if (!parse(skb, &p))
		PASS(other);
	if (p.field >> 2)
		PASS(marked);
	if (!sk || !(sk = bpf_sk_fullsock(sk)))
		PASS(no_socket);
	/* What has no data is in the highest queue, as in core's taggers. */
	if (p.len && !p.tcp->syn) {
		struct bpf_tcp_sock *tcp = bpf_tcp_sock(sk);
		struct segment s;
		struct flow *f;
		__u64 before;
		__u32 segments = skb->gso_segs;

		if (!tcp)
			return NEXT;
		f = bpf_sk_storage_get(&flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
		if (!f)
			PASS(no_storage);
		seen(&s, sk, tcp, &p);
		if (!f->last_ns) {
			int older = tcp->bytes_acked > 1;

			/* All that it has sent counts, if it stood before. */
			*f = (struct flow){older ? tcp->bytes_acked + (__u32)(s.seq - s.una) : 0, s.now_ns, s.seq, s.received};
			count->older += older;
		}
		if ((__s32)(s.seq + s.len - f->high) <= 0)
			count->again++;
		count->begun += step(f, &c->rule, &s, &before);
		if (segments > 1 && c->middle)
			before += s.len / 2;
		queue = level(c->thresholds, c->count, before);
		if (segments > 1) {
			__u64 start = before - (c->middle ? s.len / 2 : 0), stop = start + s.len, floor = start, limit = stop;

#pragma unroll
			for (int i = LEVELS - 2; i >= 0; i--)
				if (i < c->count && before <= c->thresholds[i])
					limit = c->thresholds[i];
				else if (i < c->count && floor == start)
					floor = c->thresholds[i];
			count->moved += (floor > start ? floor - start : 0) + (stop > limit ? stop - limit : 0);
			count->supers++;
			count->longest = s.len > count->longest ? s.len : count->longest;
		}
	}
	if (c->percent < 100) {
		/* A socket is in or out for its whole life, and stays in when the share grows. */
		__u64 mixed = bpf_get_socket_cookie(skb) * 0x9e3779b97f4a7c15ULL;

		if ((mixed >> 32) * 100 >> 32 >= c->percent)
			PASS(spared);
	}
	queue &= LEVELS - 1;
	count->packets[queue] += skb->gso_segs > 1 ? skb->gso_segs : 1;
	count->bytes[queue] += p.len;
	if (c->dry)
		return NEXT;
	to = (__u8)(c->dscps >> 8 * queue) << 2 | (p.field & 3);
	write_field(p.v4, p.v6, p.field, to);
	return NEXT;
}

/* ---- copy: at the device below a tunnel, VXLAN or Geneve, with IPv4 or IPv6 in both ---- */

SEC("classifier/copy")
int flowsieve_copy(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct iphdr *v4 = data + ETH_HLEN;
	struct ipv6hdr *v6 = data + ETH_HLEN;
	struct conf *c = configured();
	struct counts *count = counted();
	struct udphdr *udp;
	__u8 field, inner[2], tunnel, to;
	__u32 at = ETH_HLEN, ours = 0;
	__be16 protocol;

	if (!c || !count || (void *)(v4 + 1) > end || ((struct ethhdr *)data)->h_proto != skb->protocol)
		return NEXT;
	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		if (v4->protocol != IPPROTO_UDP || v4->ihl != 5 || v4->frag_off & bpf_htons(FRAGMENT))
			return NEXT;
		field = v4->tos;
		at += sizeof *v4;
	} else if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		if ((void *)(v6 + 1) > end || v6->nexthdr != IPPROTO_UDP)
			return NEXT;
		field = bpf_ntohs(*(__be16 *)v6) >> 4;
		at += sizeof *v6;
	} else
		return NEXT;
	udp = data + at;
	if ((void *)(udp + 1) > end)
		return NEXT;
	at += sizeof *udp + 8;
	if (udp->dest == bpf_htons(6081)) {
		if (bpf_skb_load_bytes(skb, at - 8, &tunnel, 1))
			return NEXT;
		at += (tunnel & 0x3f) * 4;
	} else if (udp->dest != bpf_htons(4789) && udp->dest != bpf_htons(8472))
		return NEXT;
	if (bpf_skb_load_bytes(skb, at + 12, &protocol, 2) || bpf_skb_load_bytes(skb, at + ETH_HLEN, inner, 2))
		return NEXT;
	if (protocol == bpf_htons(ETH_P_IP))
		to = inner[1];
	else if (protocol == bpf_htons(ETH_P_IPV6))
		to = inner[0] << 4 | inner[1] >> 4;
	else
		return NEXT;
	if (field >> 2)
		PASS(marked);
	/* A tenant's own marks stay inside. */
#pragma unroll
	for (int i = 0; i < LEVELS; i++)
		ours |= i <= c->count && (__u8)(c->dscps >> 8 * i) == to >> 2;
	if (!ours)
		PASS(spared);
	count->copied++;
	if (c->dry)
		return NEXT;
	to = (to & 0xfc) | (field & 3);
	if (skb->protocol == bpf_htons(ETH_P_IP))
		write_field(v4, 0, field, to);
	else if ((void *)(v6 + 1) <= end)
		write_field(0, v6, field, to);
	return NEXT;
}

/* ---- record ---- */

/* Sizes up to 7 have a bin each, and each octave above has 8 of one width, up to 16 GB. */
static __always_inline __u32 bin_of(__u64 size)
{
	__u64 rest = size;
	__u32 octave = 0;

	if (size >> 34)
		return BINS - 1;
#pragma unroll
	for (int bits = 32; bits > 1; bits /= 2)
		if (rest >> bits)
			octave += bits, rest >>= bits;
	octave += rest >> 1;
	return octave < 3 ? size : (octave - 2) * 8 + ((size >> (octave - 3)) & 7);
}

static __always_inline void ended(struct counts *count, __u64 class, int rule, __u64 size)
{
	__u32 at = ((__u32)class * RULES + rule) * BINS + bin_of(size);
	struct bin *bin;

	if (size >= UNKNOWN) {
		count->unknown += rule == 0;
		return;
	}
	bin = size ? bpf_map_lookup_elem(&sizes, &at) : 0;
	if (bin) {
		bin->messages++;
		bin->bytes += size;
	}
}

static __always_inline __u64 class_of(struct __sk_buff *skb, struct bpf_sock *sk)
{
	__u64 port = PORT | sk->src_port, peer = PORT | PEER | bpf_ntohs(sk->dst_port), group = bpf_skb_cgroup_id(skb);
	__u64 *class = bpf_map_lookup_elem(&classes, &port);

	if (!class)
		class = bpf_map_lookup_elem(&classes, &peer);
	if (!class)
		class = bpf_map_lookup_elem(&classes, &group);
	return class ? *class : 0;
}

SEC("classifier/record")
int flowsieve_rec(struct __sk_buff *skb)
{
	static const struct rule rules[RULES] = {{1, 0}, {1, 1000000}, {0, 50000000}};
	struct counts *count = counted();
	struct bpf_sock *sk = skb->sk;
	struct bpf_tcp_sock *tcp;
	struct record *r;
	struct segment s;
	struct packet p;
	__u64 before;
	int ends;

	if (!count)
		return NEXT;
	if (!parse(skb, &p))
		PASS(other);
	if (!sk || !(sk = bpf_sk_fullsock(sk)))
		PASS(no_socket);
	ends = p.tcp->fin || p.tcp->rst;
	if (p.tcp->syn || (!p.len && !ends) || !(tcp = bpf_tcp_sock(sk)))
		return NEXT;
	r = bpf_sk_storage_get(&records, sk, 0, p.len ? BPF_SK_STORAGE_GET_F_CREATE : 0);
	if (!r) {
		count->no_storage += !!p.len;
		return NEXT;
	}
	seen(&s, sk, tcp, &p);
	if (!r->flow[0].last_ns) {
		int older = tcp->bytes_acked > 1 || s.seq != s.una;

#pragma unroll
		for (int i = 0; i < RULES; i++) {
			r->flow[i] = (struct flow){older ? UNKNOWN : 0, s.now_ns, s.seq, s.received};
			count->begun_by[i] += !older;
		}
		r->class = class_of(skb, sk);
		count->older += older;
	}
	if (p.len && (__s32)(s.seq + s.len - r->flow[0].high) <= 0)
		count->again++;
#pragma unroll
	for (int i = 0; i < RULES; i++) {
		struct flow *f = &r->flow[i];
		__u64 size = f->sent;

		if (p.len && step(f, &rules[i], &s, &before)) {
			count->begun_by[i]++;
			ended(count, r->class, i, size);
		}
		if (ends) {
			ended(count, r->class, i, f->sent);
			f->sent = 0;
		}
	}
	return NEXT;
}

/* ---- for tests alone ---- */

/* What a program costs that does nothing. */
SEC("classifier/empty")
int flowsieve_empty(struct __sk_buff *skb)
{
	return NEXT;
}

/* The decision alone, without the kernel. */
struct twin {
	struct flow flow;
	struct rule rule;
	struct segment segment;
	__u64 thresholds[LEVELS - 1], count;
};
SEC("classifier/twin")
int flowsieve_twin(struct twin *t)
{
	__u64 before;
	int begins = step(&t->flow, &t->rule, &t->segment, &before);

	return level(t->thresholds, t->count, before) << 1 | begins;
}
