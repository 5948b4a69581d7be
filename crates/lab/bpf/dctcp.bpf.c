// SPDX-License-Identifier: GPL-2.0-only
// DCTCP (RFC 8257) as a congestion control of the kernel's TCP.
//
//   section 3.2  The receiver echoes marks exactly: where the mark of arriving packets changes, an ACK goes at once, with the
//                echo of the packets before.
//   section 3.3  The sender keeps an estimate of the share M of what was marked, once a window of data:
//                alpha = (1 - g) alpha + g M. On an echo it reduces its window, once a window of data, to (1 - alpha / 2) of it.
//   section 4.2  g = 1/16, and alpha begins at 1.
//
// M is counted in packets, which the kernel counts (delivered, delivered_ce), and not in bytes.
//
// Three parameters are beyond the RFC: by how much the window grows in a round trip without marks, how large it may be, and
// how much of it marks leave at least. The process that registers the program reads them back from the kernel.
//
// Only the fields that are read are declared. The loader finds where they are in the running kernel.
#include <linux/types.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

char _license[] SEC("license") = "GPL";

#define ALPHA_ONE 1024u
#define G_SHIFT 4
#define NEEDS_ECN 0x2 /* TCP_CONG_NEEDS_ECN */
#define DEMAND_CWR 4 /* TCP_ECN_DEMAND_CWR */
#define ACK_TIMER 2 /* ICSK_ACK_TIMER */
#define ACK_NOW 16 /* ICSK_ACK_NOW */
#define RECOVERY 3 /* TCP_CA_Recovery */
#define GROWTH_SHIFT 10

/* Packets by which the window grows in a round trip, in 1024ths; the largest window, and what marks leave, in packets. */
const volatile struct {
	__u32 growth, max_window, min_window;
} parameters = { GROWTH, MAX_WINDOW, MIN_WINDOW };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock {
	int sk_rcvbuf; /* not read: the type must be complete */
};

struct inet_connection_sock {
	__u8 icsk_ca_state : 5;
	struct {
		__u8 pending;
	} icsk_ack;
	__u64 icsk_ca_priv[13];
};

struct tcp_sock {
	__u32 snd_una, snd_nxt, snd_cwnd, snd_cwnd_cnt, snd_ssthresh;
	__u32 rcv_nxt;
	__u32 delivered, delivered_ce;
	__u8 ecn_flags;
	__u8 is_cwnd_limited : 1;
};

enum tcp_ca_event {
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
};

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*set_state)(struct sock *sk, __u8 state);
	void (*cwnd_event)(struct sock *sk, int event);
	void (*in_ack_event)(struct sock *sk, __u32 flags);
	__u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	__u32 flags;
	char name[16];
};

#pragma clang attribute pop

/* In icsk_ca_priv. */
struct dctcp {
	__u32 alpha;
	__u32 window_end; /* an ACK beyond it ends the window of data */
	__u32 delivered, delivered_ce; /* where the window began */
	__u32 rcv_nxt_before;
	__u32 cwnd_before_loss;
	__u8 ce; /* the mark of the last packet received */
};

extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;

static __always_inline struct inet_connection_sock *icsk(struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

static __always_inline struct tcp_sock *tcp(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline struct dctcp *own(struct sock *sk)
{
	return (struct dctcp *)icsk(sk)->icsk_ca_priv;
}

static __always_inline void begin_window(struct sock *sk)
{
	own(sk)->window_end = tcp(sk)->snd_nxt;
	own(sk)->delivered = tcp(sk)->delivered;
	own(sk)->delivered_ce = tcp(sk)->delivered_ce;
}

SEC("struct_ops/dctcp_init")
void BPF_PROG(dctcp_init, struct sock *sk)
{
	own(sk)->alpha = ALPHA_ONE;
	own(sk)->rcv_nxt_before = tcp(sk)->rcv_nxt;
	own(sk)->cwnd_before_loss = 0;
	own(sk)->ce = 0;
	begin_window(sk);
}

SEC("struct_ops/dctcp_ssthresh")
__u32 BPF_PROG(dctcp_ssthresh, struct sock *sk)
{
	__u32 cwnd = tcp(sk)->snd_cwnd;
	__u32 reduced = cwnd - ((cwnd * own(sk)->alpha) >> 11); /* alpha / 2 of 1024 */
	__u32 least = parameters.min_window < cwnd ? parameters.min_window : cwnd;

	own(sk)->cwnd_before_loss = cwnd;
	if (reduced < least)
		reduced = least;
	return reduced < 2 ? 2 : reduced;
}

SEC("struct_ops/dctcp_in_ack")
void BPF_PROG(dctcp_in_ack, struct sock *sk, __u32 flags)
{
	struct dctcp *ca = own(sk);
	struct tcp_sock *tp = tcp(sk);
	__u32 all, marked, alpha, decay;

	if ((__s32)(tp->snd_una - ca->window_end) < 0)
		return;
	all = tp->delivered - ca->delivered;
	marked = tp->delivered_ce - ca->delivered_ce;
	alpha = ca->alpha;
	decay = alpha >> G_SHIFT;
	alpha -= decay ? decay : alpha; /* a small alpha becomes 0 */
	if (marked) {
		alpha += (marked << (10 - G_SHIFT)) / (all < marked ? marked : all);
		if (alpha > ALPHA_ONE)
			alpha = ALPHA_ONE;
	}
	ca->alpha = alpha;
	begin_window(sk);
}

static __always_inline void echo(struct sock *sk, __u8 ce)
{
	if (ce)
		tcp(sk)->ecn_flags |= DEMAND_CWR;
	else
		tcp(sk)->ecn_flags &= ~DEMAND_CWR;
}

static __always_inline void received(struct sock *sk, __u8 ce)
{
	struct dctcp *ca = own(sk);

	if (ca->ce != ce) {
		/* A delayed ACK is of packets with the other mark. */
		if (icsk(sk)->icsk_ack.pending & ACK_TIMER) {
			echo(sk, ca->ce);
			bpf_tcp_send_ack(tcp(sk), ca->rcv_nxt_before);
		}
		icsk(sk)->icsk_ack.pending |= ACK_NOW;
	}
	ca->rcv_nxt_before = tcp(sk)->rcv_nxt;
	ca->ce = ce;
	echo(sk, ce);
}

/* Section 3.5: a loss halves the window, whatever the estimate. */
static __always_inline void lost(struct sock *sk)
{
	__u32 half = tcp(sk)->snd_cwnd >> 1;

	own(sk)->cwnd_before_loss = tcp(sk)->snd_cwnd;
	tcp(sk)->snd_ssthresh = half < 2 ? 2 : half;
}

SEC("struct_ops/dctcp_event")
void BPF_PROG(dctcp_event, struct sock *sk, int event)
{
	if (event == bpf_core_enum_value(enum tcp_ca_event, CA_EVENT_ECN_IS_CE))
		received(sk, 1);
	else if (event == bpf_core_enum_value(enum tcp_ca_event, CA_EVENT_ECN_NO_CE))
		received(sk, 0);
	else if (event == bpf_core_enum_value(enum tcp_ca_event, CA_EVENT_LOSS))
		lost(sk); /* a timeout, for which the kernel has asked ssthresh before */
}

SEC("struct_ops/dctcp_set_state")
void BPF_PROG(dctcp_set_state, struct sock *sk, __u8 state)
{
	if (state == RECOVERY && state != BPF_CORE_READ_BITFIELD(icsk(sk), icsk_ca_state))
		lost(sk);
}

SEC("struct_ops/dctcp_undo")
__u32 BPF_PROG(dctcp_undo, struct sock *sk)
{
	__u32 cwnd = tcp(sk)->snd_cwnd, before = own(sk)->cwnd_before_loss;

	return cwnd > before ? cwnd : before;
}

/* As tcp_cong_avoid_ai does it for one packet in a round trip. What is left below a packet stays until a cut drops it. */
static __always_inline void grow(struct tcp_sock *tp, __u32 acked)
{
	__u64 window = (__u64)tp->snd_cwnd << GROWTH_SHIFT;
	__u64 credit = tp->snd_cwnd_cnt + (__u64)acked * parameters.growth;

	if (!window)
		return;
	tp->snd_cwnd += credit / window;
	tp->snd_cwnd_cnt = credit % window;
}

SEC("struct_ops/dctcp_avoid")
void BPF_PROG(dctcp_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp(sk);

	if (tp->snd_cwnd < tp->snd_ssthresh || parameters.growth == 1u << GROWTH_SHIFT)
		tcp_reno_cong_avoid(sk, ack, acked);
	else if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		grow(tp, acked);
	if (tp->snd_cwnd > parameters.max_window)
		tp->snd_cwnd = parameters.max_window;
}

SEC(".struct_ops")
struct tcp_congestion_ops lab_dctcp = {
	.init = (void *)dctcp_init,
	.ssthresh = (void *)dctcp_ssthresh,
	.cong_avoid = (void *)dctcp_avoid,
	.in_ack_event = (void *)dctcp_in_ack,
	.cwnd_event = (void *)dctcp_event,
	.set_state = (void *)dctcp_set_state,
	.undo_cwnd = (void *)dctcp_undo,
	.flags = NEEDS_ECN,
	.name = NAME,
};
