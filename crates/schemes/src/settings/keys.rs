//! The table of every setting that an experiment can have. Files, `--set`, help and error messages derive from it.
//!
//! A name stands for one setting in all sections, so that `[sweep]` and `--set` can use it alone. Defaults are not
//! here: they belong to the part that reads the key, and many depend on the parameter set (`ns2` or `rfc`).

use super::value::{Kind, MAX_TIME_PS};

/// The part of an experiment file in which a key stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// `[topology]`: the fabric.
    Topology,
    /// `[[topology.link]]`: a link that differs from its class.
    Link,
    /// `[workload]`: what is sent, and when.
    Workload,
    /// `[network]`: ports, packets, load balancing; also per place.
    Network,
    /// `[transport]`: the end hosts.
    Transport,
    /// `[run]`: seeds, what is measured, for how long.
    Run,
    /// `[report]`: how results are grouped.
    Report,
    /// `[schemes.<name>]` only: what belongs to one scheme.
    Scheme,
}

impl Section {
    /// Every section, in the order of a file.
    pub const ALL: [Section; 8] = [
        Section::Topology,
        Section::Link,
        Section::Workload,
        Section::Network,
        Section::Transport,
        Section::Run,
        Section::Report,
        Section::Scheme,
    ];

    /// The table's path in a file.
    pub fn path(self) -> &'static str {
        match self {
            Section::Topology => "topology",
            Section::Link => "topology.link",
            Section::Workload => "workload",
            Section::Network => "network",
            Section::Transport => "transport",
            Section::Run => "run",
            Section::Report => "report",
            Section::Scheme => "schemes",
        }
    }
}

/// One setting.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Where it stands.
    pub section: Section,
    /// Its name, unique over all sections.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// What it does, in one sentence.
    pub help: &'static str,
}

const SIZE: Kind = Kind::Size(0, 1_000_000_000_000);
const TIME: Kind = Kind::Time(0, MAX_TIME_PS);
const SOME_TIME: Kind = Kind::Time(1, MAX_TIME_PS);
const PROBABILITY: Kind = Kind::Number(0.0, 1.0);

macro_rules! keys {
    ($($section:ident { $($name:ident: $kind:expr, $help:expr;)* })*) => {
        /// Every setting, by section.
        pub const KEYS: &[Key] = &[$($(Key {
            section: Section::$section, name: stringify!($name), kind: $kind, help: $help,
        },)*)*];
    };
}

keys! {
    Topology {
        kind: Kind::Choice(&["single-link", "single-switch", "leaf-spine", "fat-tree", "three-tier", "big-switch", "custom"]),
            "the fabric's shape";
        hosts: Kind::Count(2, 65_536), "hosts of a single switch or a big switch";
        leaves: Kind::Count(1, 4_096), "leaf switches of a leaf-spine fabric";
        spines: Kind::Count(1, 4_096), "spine switches of a leaf-spine fabric";
        hosts_per_leaf: Kind::Count(1, 4_096), "hosts under each leaf";
        k: Kind::Count(2, 64), "ports of a fat-tree's switches; even";
        hosts_per_edge: Kind::Count(1, 4_096), "hosts under each edge switch of a fat-tree or three-tier fabric";
        pods: Kind::Count(1, 1_024), "pods of a three-tier fabric";
        edges_per_pod: Kind::Count(1, 1_024), "edge switches in each pod of a three-tier fabric";
        aggs_per_pod: Kind::Count(1, 1_024), "aggregation switches in each pod of a three-tier fabric";
        cores: Kind::Count(1, 4_096), "core switches of a three-tier fabric";
        file: Kind::File, "edge list of a custom fabric: rows of from,to,rate,delay and optionally loss";
        host_link: Kind::Rate, "rate of the links between hosts and switches";
        fabric_link: Kind::Rate, "rate of the links between leaves and spines, or edge and aggregation switches";
        core_link: Kind::Rate, "rate of the links between aggregation and core switches";
        link_delay: TIME, "propagation delay of each link, one way";
        host_delay: TIME, "delay that a host adds at each of its link's ends, one way";
        forwarding: Kind::Choice(&["store-and-forward", "cut-through"]), "whether a switch waits for the whole of a packet";
        rtt: SOME_TIME, "base round trip between the farthest hosts: propagation and host delays, without serialisation";
    }
    Link {
        between: Kind::TextList, "the two ends by name, such as [\"leaf0\", \"spine1\"]; both directions";
        rate: Kind::Rate, "its rate instead of its class's";
        delay: TIME, "its propagation delay instead of its class's";
        loss: Kind::Number(0.0, 0.999), "probability that it loses a packet";
        failed: Kind::Flag, "true takes it out of the fabric";
    }
    Workload {
        sizes: Kind::Text, "flow sizes: a built-in distribution (see `flowsieve list workloads`), a formula such as exponential(100KB), or a file.csv";
        cdf: Kind::File, "a flow size distribution: CSV rows of size_bytes,cdf";
        reading: Kind::Choice(&["stepped", "interpolated"]), "how a distribution is read between its points";
        rounding: Kind::Choice(&["bytes", "packets"]), "sizes as drawn, or rounded up to whole packets of payload";
        mix_sizes: Kind::Text, "flow sizes of some of the host pairs instead, as in `sizes`";
        mix_pairs: Kind::Choice(&["drawn", "rising", "from"]),
            "which host pairs have mix_sizes: a drawn share; those whose sender has a lower number than the receiver; or all of some senders";
        mix_share: Kind::NumberAbove(0.0, 1.0), "share of the host pairs that have mix_sizes under mix_pairs = \"drawn\"";
        mix_from: Kind::TextList, "the senders that have mix_sizes under mix_pairs = \"from\", such as [\"host1\", \"host3\"]";
        change_at: SOME_TIME, "time at which sizes or load change";
        change_sizes: Kind::Text, "flow sizes from change_at on, as in `sizes`";
        change_load: Kind::NumberAbove(0.0, 10.0), "load from change_at on";
        arrivals: Kind::Choice(&["poisson", "fixed", "trace", "closed-loop"]), "when flows arrive: exponential gaps, equal gaps, those of a trace, or when others have finished";
        outstanding: Kind::Count(1, 10_000), "flows that each host keeps under way under arrivals = \"closed-loop\"";
        think_time: TIME, "how long a closed loop waits before each flow, on average";
        think_law: Kind::Choice(&["fixed", "exponential"]), "whether a closed loop always waits think_time, or exponential times with this mean";
        arrival_trace: Kind::File, "the starts that arrivals = \"trace\" follows, over and over: CSV rows of start_s";
        pattern: Kind::Choice(&["all-to-all", "incast", "permutation", "rack-local", "listed"]),
            "who sends to whom: anyone to anyone, several hosts to one at once, each host to one, a share within the rack, or \
             listed pairs alone";
        fan_in: Kind::Count(1, 65_535), "hosts that answer a request at once under incast";
        incast_share: Kind::NumberAbove(0.0, 1.0), "share of the flows that are answers under incast; the others are all-to-all";
        rack_local: PROBABILITY, "share of the flows that stay within their sender's rack under rack-local";
        pairs: Kind::TextList, "the host pairs that send under pattern = \"listed\", such as [\"host2 to host0\", \"host1 to host0\"]";
        pair_weights: Kind::CountList, "how many flows each of them has, in proportion";
        flows: Kind::Count(1, 50_000_000), "how many flows arrive";
        duration: SOME_TIME, "for how long flows arrive, instead of a number of flows";
        load: Kind::NumberAbove(0.0, 10.0), "offered load of each host link; of listed pairs that of the busiest one";
        load_counts: Kind::Choice(&["payload", "wire", "wire+acks", "ns2"]), "which bytes the load counts";
        deadlines: Kind::Choice(&["none", "fixed", "exponential", "qcluster"]),
            "which deadlines flows up to deadline_up_to have: deadline_time, exponential ones with this mean, or QCluster's by size";
        deadline_time: SOME_TIME, "time from a flow's start to its deadline, or the mean of it";
        deadline_up_to: SIZE, "largest flow that has a deadline";
        list: Kind::File, "a flow list to replay instead: CSV rows of start_s,src,dst,bytes and optionally deadline_s and coflow";
    }
    Network {
        queues: Kind::Count(1, 64), "queues of a port; 0 is served first";
        buffer: SIZE, "buffer of a port";
        admission: Kind::Choice(&["per-port", "per-queue", "shared"]),
            "what the buffer limits: the port's total, each queue, or queues of a switch-wide pool with dynamic thresholds";
        shared_buffer: SIZE, "buffer of a switch when admission is shared";
        dt_alpha: Kind::NumberAbove(0.0, 64.0), "dynamic threshold: a queue may hold this times what is free";
        marking: Kind::Choice(&["none", "per-port", "per-queue", "red", "red-per-queue"]), "what ECN marking compares with its threshold";
        ecn_threshold: SIZE, "ECN marking threshold K";
        ecn_counts_arriving: Kind::Flag, "whether the arriving packet counts for the marking threshold";
        red_min: SIZE, "RED: backlog from which packets are marked at random";
        red_max: SIZE, "RED: backlog from which every packet is marked";
        red_probability: PROBABILITY, "RED: marking probability at red_max";
        red_average: Kind::NumberAbove(0.0, 1.0), "RED: weight of the newest backlog in the average; 1 is instantaneous";
        discipline: Kind::Choice(&[
            "fifo", "sp", "wrr", "drr", "levels", "pifo", "pfabric", "ps", "least-rank", "fair-queueing", "sp-pifo", "afq",
        ]), "which packet leaves next: one queue; strict priority, weighted or deficit round robin over queues; strict priority by \
             the host's own level; by rank; pFabric's pool; flows in turn; the flow of the least rank; bit-by-bit round robin; \
             SP-PIFO's queues; AFQ's calendar";
        fifo_from: Kind::Size(1, 4_000_000_000), "pifo: rank from which packets are served as they came, after all of a lower one; not given: none";
        bytes_per_round: Kind::Size(1, 1_000_000_000_000), "AFQ: bytes of each flow that a round serves";
        afq_bids: Kind::Choice(&["sketch", "exact"]), "AFQ: whether flows' bids share a count-min sketch or are kept exactly";
        afq_rows: Kind::Count(1, 16), "AFQ: hash functions of the sketch";
        afq_columns: Kind::Count(1, 1_048_576), "AFQ: cells for each hash function of the sketch";
        afq_beyond: Kind::Choice(&["drop", "last-queue"]), "AFQ: what becomes of a packet beyond the calendar";
        weights: Kind::CountList, "weights of the queues under wrr (packets) and drr (packets of credit)";
        mtu: Kind::Size(64, 65_535), "largest packet, headers included; the size of 1pkt";
        header: Kind::Size(0, 1_000), "headers of a packet; an ACK is this long";
        wire_overhead: Kind::Size(0, 1_000), "preamble and gap that a packet takes on the wire beside its length";
        load_balancing: Kind::Choice(&["ecmp", "spray", "spray-random", "flowlet"]), "how a switch chooses among equal paths";
        flowlet_gap: SOME_TIME, "idle time after which a flow may take another path";
        nic: Kind::Choice(&["backpressure", "scheme"]),
            "a host's port: a bounded backlog that loses nothing, or the scheme's own port with buffer, drops and marks";
        nic_backlog: SIZE, "backlog at which a backpressured host pauses";
    }
    Transport {
        initial_window: Kind::Count(1, 1_000_000), "initial congestion window in packets";
        max_window: Kind::Count(1, 1_000_000), "largest congestion window in packets";
        rto: Kind::Choice(&["constant", "rfc6298"]), "retransmission timer: rto_min always, or estimated with back-off";
        rto_min: SOME_TIME, "smallest retransmission timeout";
        dctcp_g: Kind::NumberAbove(0.0, 1.0), "DCTCP, D2TCP: weight of the newest window in alpha";
        initial_alpha: PROBABILITY, "DCTCP, D2TCP: alpha of a new connection";
        loss_detection: Kind::Choice(&["off", "dupack", "rack", "auto"]),
            "what besides a timeout finds a loss: duplicate ACKs, times (RACK), or by load balancing";
        dupack_threshold: Kind::Count(1, 1_000_000), "duplicate ACKs that mean a loss";
        ack_every: Kind::Count(1, 64), "data packets that one ACK answers";
        delayed_ack: TIME, "longest time that an ACK waits for a further packet";
        slow_start_restart: Kind::Flag, "whether an idle connection starts again from its initial window";
        probe_after: Kind::Count(0, 1_000), "timeouts in a row after which pFabric's sender probes; 0 is never";
        handshake: Kind::Choice(&["none", "cold", "always"]), "which connections begin with a handshake";
        connections: Kind::Choice(&["per-flow", "persistent", "pool"]), "how messages of a host pair share connections";
        ecn: Kind::Flag, "whether the transport reacts to marks";
        misusing_hosts: Kind::Count(0, 65_536), "hosts, the first ones, that claim the highest priority and rank for all that they send";
    }
    Run {
        seeds: Kind::Count(1, 10_000), "how many seeds each point runs with";
        seed: Kind::Count(0, 1_000_000_000), "the first seed";
        parameters: Kind::Choice(&["ns2", "rfc"]), "parameter set of transports and hosts: the papers' lineage or today's standards";
        measure: Kind::Choice(&["all", "window"]), "count every flow and drain, or the flows that start in a window under load";
        window: Kind::TimeList, "start and end of the measuring window";
        fct_end: Kind::Choice(&["ack", "arrival"]), "a flow ends when its last ACK is back, or when its last byte has arrived";
        flow_records: Kind::Choice(&["full", "sample", "none"]),
            "which flows flows.parquet keeps: all, an even sample, or none; less than all makes percentiles approximate";
        sample_interval: SOME_TIME,
            "how often congestion windows, DCTCP's alpha and the backlogs of sample_links are written to series.parquet; not given: never";
        sample_links: Kind::TextList, "the links whose backlog is sampled, each by its ends, such as [\"leaf0 to host3\"], or all of a class, such as [\"host-down\"]";
        trace: Kind::Choice(&["csv", "pcap", "both"]), "write every packet of trace_links as a table, as captures for Wireshark, or both; not given: none";
        trace_links: Kind::TextList, "the links whose packets are traced, named as in sample_links; not given: all";
        trace_span: Kind::TimeList, "start and end of the time that is traced; not given: all of the run";
        trace_packets: Kind::Count(1, 1_000_000_000), "the most packets of a run that are traced, each counted at each link";
        max_time: SOME_TIME, "simulated time at which a run stops whatever is left";
    }
    Report {
        size_classes: Kind::SizeList, "bounds between the size classes of tables and plots";
    }
    Scheme {
        base: Kind::Text, "the built-in scheme of which this is a variant";
        transport: Kind::Choice(&["tcp", "dctcp", "d2tcp", "pfabric", "open-loop"]), "how a host sends: congestion control, or all at once";
        tagger: Kind::Choice(&["plain", "demotion", "remaining", "to-the-end", "attained", "deadline"]),
            "what a host writes into packets: nothing, PIAS's priority, or a rank by bytes unacknowledged, left to send, or sent, \
             or by deadline";
        edf_rate: Kind::Rate, "tagger = \"deadline\": the rate at which a flow must still be able to meet its deadline, not to come last";
        message_gap: SOME_TIME,
            "idle time of a connection after which its next packet begins a message, where messages are told apart by time: pias \
             counts each message from nothing unless it is given";
        thresholds: Kind::SizeListOr(&["published", "equal-split", "optimal", "background", "two-level", "worst", "unknown"]),
            "demotion thresholds, one less than the queues: sizes, those published, equal shares of the flows, the best at the \
             point's load in the tandem of M/M/1 queues, in the foreground-background queue or (2 queues) in two-level processor \
             sharing, 60 % of the bytes in the first queue and 30 % in the last, or none before there are estimates";
        host_thresholds: Kind::SizeListOr(&["equal-split", "unknown"]),
            "discipline = \"levels\" at hosts: thresholds of a host's own queues at the start, one less than these: sizes, equal \
             shares of the workload's flows, or none before there are estimates";
        controller: Kind::Choice(&["none", "equal-split", "optimal", "two-level"]),
            "a central controller that sends thresholds to the hosts: equal shares of the flows that they have seen, PIAS's \
             optimisation, or NOS2's one threshold";
        controller_period: Kind::Time(1_000_000, MAX_TIME_PS), "time between two estimates of thresholds, by hosts and controller";
        controller_delay: TIME, "from the hosts' sizes at the controller to its thresholds at the hosts";
        observe_window: SOME_TIME, "how long hosts remember the sizes of their messages, at most; at least half as long";
        observe_least: Kind::Count(1, 1_000_000_000), "fewest sizes that make an estimate, of a host or of all for the controller";
        place_of_thresholds: Kind::Choice(&["switch", "host"]), "AWAFS: whether each port of a switch has thresholds, or each host";
        update_period: SOME_TIME, "AWAFS: T_schedule, the time between two updates of the thresholds";
        update_window: SOME_TIME, "AWAFS: W_update, for how long a completed flow counts; not below update_period";
        percentiles: Kind::NumberList(0.0, 1.0), "AWAFS: percentile of the completed flows' sizes that each threshold follows, rising";
        flow_ends: Kind::Choice(&["marked", "fin", "idle"]),
            "AWAFS: how a switch knows of a flow's end and bytes: from the host, or counting itself until a connection's last packet \
             or idle time";
        flow_idle: SOME_TIME, "AWAFS: idle time that ends a flow under flow_ends = \"idle\"";
        flow_table: Kind::Count(1, 1_000_000), "AWAFS: flows that a port counts at once where it counts itself";
        list_memory: Kind::Size(12, 1_000_000), "AWAFS: memory of a list of completed flows, at 12 bytes a flow";
        boost: SOME_TIME, "AWAFS: time between two priority boosts, at which all that waits goes to the first queue; not given: none";
        sketch: Kind::Size(1, 10_000_000), "QCluster: memory of a port's sketch, at 13 bytes a bucket";
        sketch_arrays: Kind::Count(1, 8), "QCluster: arrays of the sketch";
        sketch_buckets: Kind::Count(1, 1_000_000), "QCluster: buckets of each array, instead of a memory";
        conservative_update: Kind::Flag, "QCluster: whether the sketch counts in a flow's least counters alone";
        messages: Kind::Choice(&["by-gap", "by-number"]), "QCluster: how switches tell a flow's messages apart: by idle time, or exactly";
        pda: Kind::Choice(&["off", "timed", "audited", "oracle"]),
            "QCluster: packet disorder avoidance by time; the same, counting what it misses; or by what is in the port";
        pda_gap: SOME_TIME, "QCluster: idle time after which none of a flow's packets is taken to be in the port";
        threshold_rule: Kind::Choice(&["adaptive", "geometric", "harmonic", "arithmetic"]),
            "QCluster: where a threshold lies between two queue weights: by cluster sizes, or at a mean of the two";
        cluster_size: Kind::Choice(&["same", "proportional"]), "QCluster: what adaptive thresholds hold equal: packets, or packets over weight";
        alpha: Kind::NumberAbove(0.0, 16.0), "QCluster: exponent of adaptive thresholds at the start";
        alpha_gain: Kind::Number(0.0, 4.0), "QCluster: how fast alpha follows the cluster sizes, in powers of two an update; 0: it stays";
        weight_period: SOME_TIME, "QCluster: time between two updates of queue weights and thresholds";
        weight_half_life: SOME_TIME, "QCluster: time in which what was counted loses half of its weight";
        initial_thresholds: Kind::SizeList, "QCluster: thresholds at the start, one less than the queues of flows without the special property";
        weight: Kind::Choice(&["sent", "sent-packets", "coflow", "remaining", "size", "time-per-packet", "deadline"]),
            "QCluster: what packets are clustered by";
        order: Kind::Choice(&["sp", "inverse", "shares"]),
            "QCluster: how queues share: strict priority, round robin against the queue weights, or in shares k, k-1 ... 1";
        special: Kind::Choice(&["none", "deadline", "below-rate", "class"]), "QCluster: which flows have queues of their own, before the others";
        special_queues: Kind::Count(1, 63), "QCluster: queues for flows with the special property";
        special_weight: Kind::Choice(&["sent", "sent-packets", "coflow", "remaining", "size", "time-per-packet", "deadline"]),
            "QCluster: what packets of these flows are clustered by";
        special_order: Kind::Choice(&["sp", "inverse", "shares"]), "QCluster: how their queues share";
        min_rate: Kind::Rate, "QCluster: rate below which a flow is special under special = \"below-rate\"";
    }
}

/// The setting of this name.
pub fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}
