/* SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause OR GPL-2.0-only */
/* The decision: flowsieve_core's PacketFlow and its levels, as the kernel runs them. A test runs the same instructions in an
 * interpreter, and compares them with that code packet by packet. */

/* What is kept of a connection; 24 bytes. */
struct flow {
	__u64 sent;		/* bytes of the message so far */
	__u64 last_ns;		/* when data left last */
	__u32 high, received;	/* behind the highest byte that left, and what was expected from the peer then */
};

/* When a message ends: if `turn`, once the peer has sent data; if `gap_ns`, once the connection was quiet for longer. */
struct rule {
	__u64 turn, gap_ns;
};

/* A packet with data. */
struct segment {
	__u64 now_ns;
	__u32 seq, len, una, received;
};

/* Notes a packet; returns whether it begins a message. `before`: the bytes of its message before its own. */
static __attribute__((always_inline)) inline int step(struct flow *f, const struct rule *r, const struct segment *s, __u64 *before)
{
	__u32 stop = s->seq + s->len;
	__u64 idle_ns = s->now_ns - f->last_ns;
	int begins;

	f->last_ns = s->now_ns;
	if ((__s32)(stop - f->high) <= 0) {
		__u32 back = f->high - s->seq;

		*before = f->sent > back ? f->sent - back : 0;
		return 0;
	}
	begins = (__s32)(s->seq - f->high) >= 0 && s->una == s->seq && (!r->turn || s->received != f->received)
		&& (!r->gap_ns || idle_ns > r->gap_ns);
	if (begins) {
		f->sent = 0;
		f->high = s->seq;
	}
	f->sent += (__u32)(stop - f->high);
	f->high = stop;
	f->received = s->received;
	*before = f->sent > s->len ? f->sent - s->len : 0;
	return begins;
}

#define LEVELS 8

/* Returns the number of the first `count` thresholds that the bytes exceed. */
static __attribute__((always_inline)) inline int level(const __u64 *thresholds, __u64 count, __u64 bytes)
{
	int found = 0;

#pragma unroll
	for (int i = 0; i < LEVELS - 1; i++)
		if (i < count && bytes > thresholds[i])
			found = i + 1;
	return found;
}
