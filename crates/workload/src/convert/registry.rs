//! All formats: name, recognition, target, losses, options, and reader.

use crate::convert::error::ConvertError;
use crate::convert::options::{Opt, Options};
use crate::convert::outcome::{Notes, What};
use crate::convert::source::Source;
use crate::convert::{cdf, coflow, homa, htsim, htsim_topo, netbench, ns3, ns3_config, ns3_topology, parsimon, yaps};
use crate::exports::{netflow, prometheus, sockets, tshark, zeek};

/// A format.
#[derive(Debug)]
pub struct Format {
    /// Its name in `--from`.
    pub name: &'static str,
    /// The kind of file that it becomes.
    pub gives: Gives,
    /// Its origin, and what a row looks like.
    pub summary: &'static str,
    /// What is not carried over, and what is refused.
    pub lost: &'static str,
    /// The options that it reads.
    pub options: &'static [Opt],
    /// The options that a conversion usually needs, as in the command; empty if it needs none.
    pub needs: &'static str,
    /// Returns whether a text has this format.
    pub(crate) fit: fn(&Source<'_>) -> Fit,
    /// Reads a text of this format.
    pub(crate) read: fn(&Source<'_>, &Options<'_>, &mut Notes) -> Result<What, ConvertError>,
}

/// The kind of file that a format becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gives {
    /// A flow list.
    Flows,
    /// An edge list.
    Topology,
    /// A distribution of sizes, or sizes.
    Sizes,
    /// Tables of an experiment file.
    Experiment,
}

impl Gives {
    /// Names it in words.
    pub fn in_words(self) -> &'static str {
        match self {
            Gives::Flows => "flow list",
            Gives::Topology => "edge list",
            Gives::Sizes => "flow sizes",
            Gives::Experiment => "tables of an experiment",
        }
    }
}

/// How well a text fits a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// It does not fit.
    No,
    /// It may have this format, or another one.
    Possible,
    /// It has this format.
    Sure,
}

const OF_NODES: &[Opt] = &[Opt::ShiftStart, Opt::With, Opt::HostsFirst];

static FORMATS: &[Format] = &[
    Format {
        name: "hpcc",
        gives: Gives::Flows,
        summary: "flows of HPCC and its forks: a count, then `src dst pg dport size start`, bytes and seconds",
        lost: "priority groups, ports; lines after the records are counted",
        options: OF_NODES,
        needs: "--with TOPOLOGY",
        fit: |source| ns3::fit(source, &ns3::HPCC),
        read: |source, options, notes| ns3::read(source, &ns3::HPCC, options, notes),
    },
    Format {
        name: "hpcc-stop",
        gives: Gives::Flows,
        summary: "flows of forks of HPCC with a stop time: a count, then `src dst pg dport size start stop`",
        lost: "priority groups, ports, stop times: a flow ends when it is delivered",
        options: OF_NODES,
        needs: "--with TOPOLOGY",
        fit: |source| ns3::fit(source, &ns3::HPCC_STOP),
        read: |source, options, notes| ns3::read(source, &ns3::HPCC_STOP, options, notes),
    },
    Format {
        name: "conweave",
        gives: Gives::Flows,
        summary: "flows of ConWeave: a count, then `src dst pg size start`, bytes and seconds",
        lost: "priority groups; a size of 0 is a byte, as there",
        options: OF_NODES,
        needs: "--with TOPOLOGY",
        fit: |source| ns3::fit(source, &ns3::CONWEAVE),
        read: |source, options, notes| ns3::read(source, &ns3::CONWEAVE, options, notes),
    },
    Format {
        name: "ns3-rdma",
        gives: Gives::Flows,
        summary: "flows of the older ns3-rdma: a count, then `src dst pg packets start stop`; needs --size-unit packets:N, there 1000",
        lost: "priority groups, stop times: a flow ends when it is delivered",
        options: &[Opt::SizeUnit, Opt::ShiftStart, Opt::With, Opt::HostsFirst],
        needs: "--size-unit packets:1000 --with TOPOLOGY",
        fit: |source| ns3::fit(source, &ns3::RDMA),
        read: |source, options, notes| ns3::read(source, &ns3::RDMA, options, notes),
    },
    Format {
        name: "parsimon",
        gives: Gives::Flows,
        summary: "flows of Parsimon and m3: a count, then `id src dst pg dport size start`, bytes and seconds",
        lost: "ids, priority groups, ports, m3's stop time",
        options: OF_NODES,
        needs: "--with TOPOLOGY",
        fit: |source| ns3::fit(source, &ns3::PARSIMON),
        read: |source, options, notes| ns3::read(source, &ns3::PARSIMON, options, notes),
    },
    Format {
        name: "parsimon-json",
        gives: Gives::Flows,
        summary: "Parsimon's flows.json: records of id, src, dst, size, start, in bytes and ns",
        lost: "ids",
        options: OF_NODES,
        needs: "--with TOPOLOGY",
        fit: parsimon::fit,
        read: parsimon::read,
    },
    Format {
        name: "htsim",
        gives: Gives::Flows,
        summary: "htsim's connection matrix: `src->dst start T size B`; needs --time-unit: ps in csg-htsim and uet-htsim, us in older ones",
        lost: "priorities; flows that wait for a trigger, endless flows and failures are refused, or counted with --leave-out",
        options: &[Opt::TimeUnit, Opt::ShiftStart, Opt::LeaveOut],
        needs: "--time-unit ps",
        fit: htsim::fit,
        read: htsim::read,
    },
    Format {
        name: "opera",
        gives: Gives::Flows,
        summary: "Opera's .htsim: `src dst bytes start`; needs --time-unit: its code reads ns, its comment says us",
        lost: "nothing",
        options: &[Opt::TimeUnit, Opt::ShiftStart],
        needs: "--time-unit ns",
        fit: htsim::fit_opera,
        read: htsim::read_opera,
    },
    Format {
        name: "yaps-trace",
        gives: Gives::Flows,
        summary: "a trace of YAPS or pFabric's simulator, 9 or 8 columns; sizes are packets of 1460 B unless --size-unit says otherwise",
        lost: "ids; with 8 columns also the ends of flows",
        options: &[Opt::SizeUnit, Opt::ShiftStart],
        needs: "",
        fit: yaps::fit_trace,
        read: yaps::read_trace,
    },
    Format {
        name: "yaps-listing",
        gives: Gives::Flows,
        summary: "YAPS's printed flows, if it only generates them: `id bytes src dst start`, in us",
        lost: "ids; starts that were printed with 6 digits stay rounded to 10 us after 1 s",
        options: &[Opt::ShiftStart],
        needs: "",
        fit: yaps::fit_listing,
        read: yaps::read_listing,
    },
    Format {
        name: "netbench-log",
        gives: Gives::Flows,
        summary: "NetBench's flow_completion.csv.log; sizes are column 5, also for unfinished flows",
        lost: "ids, ends of flows; unfinished flows are counted",
        options: OF_NODES,
        needs: "--with TOPOLOGY",
        fit: netbench::fit_log,
        read: netbench::read_log,
    },
    Format {
        name: "netbench",
        gives: Gives::Flows,
        summary: "the flows in a run file of NetBench: traffic_arrivals_string and traffic_pair",
        lost: "all other keys; poisson_arrival is refused: it draws its flows",
        options: OF_NODES,
        needs: "--with TOPOLOGY",
        fit: netbench::fit_properties,
        read: netbench::read_flows,
    },
    Format {
        name: "homa-trace",
        gives: Gives::Flows,
        summary: "HomaSimulation's HostidSizeInterarrival: `src dst bytes gap`, gaps in s after the line before",
        lost: "nothing",
        options: &[Opt::ShiftStart],
        needs: "",
        fit: homa::fit_trace,
        read: homa::read_trace,
    },
    Format {
        name: "coflow",
        gives: Gives::Flows,
        summary: "a coflow trace: coflow-benchmark's (FB2010) or Sincronia's, MB of 2^20 bytes, ms",
        lost: "flows from a port to itself, with their count and bytes",
        options: &[Opt::ShiftStart],
        needs: "",
        fit: coflow::fit,
        read: coflow::read,
    },
    Format {
        name: "hpcc-topology",
        gives: Gives::Topology,
        summary: "topologies of HPCC, Parsimon, ConWeave, astra-sim, PowerTCP, Reverie and SimAI: `src dst rate delay error_rate`",
        lost: "fields after the links; SimAI's GPUs have two links each, so they are refused, or lose their \
            NVSwitches with --leave-out",
        options: &[Opt::LeaveOut],
        needs: "",
        fit: ns3_topology::fit,
        read: ns3_topology::read,
    },
    Format {
        name: "htsim-topo",
        gives: Gives::Topology,
        summary: "a .topo of csg-htsim or uet-htsim: tiers of a fat-tree",
        lost: "the latency inside switches, lengths of queues",
        options: &[],
        needs: "",
        fit: htsim_topo::fit,
        read: htsim_topo::read,
    },
    Format {
        name: netbench::TOPOLOGY,
        gives: Gives::Topology,
        summary: "a .topology of NetBench: one direction a line; needs --with and the run file, which has rate and delay",
        lost: "nothing of the graph; all other keys of the run file",
        options: &[Opt::With],
        needs: "--with RUN.properties",
        fit: netbench::fit_topology,
        read: netbench::read_topology,
    },
    Format {
        name: "hpcc-config",
        gives: Gives::Experiment,
        summary: "a configuration of HPCC, its forks or SimAI; needs --with and the topology",
        lost: "TIMELY, HPCC-PINT; keys without a counterpart are named",
        options: &[Opt::With],
        needs: "--with topology.txt",
        fit: ns3_config::fit,
        read: ns3_config::read,
    },
    Format {
        name: "yaps",
        gives: Gives::Experiment,
        summary: "a run file of YAPS: its 144 hosts as [topology], its load as [workload]",
        lost: "its transports and queues: keys without a counterpart are named",
        options: &[],
        needs: "",
        fit: yaps::fit_config,
        read: yaps::read_config,
    },
    Format {
        name: "cdf",
        gives: Gives::Sizes,
        summary: "sizes and shares in two columns, as fractions or per cent by the last row; bytes unless --size-unit says otherwise",
        lost: "nothing",
        options: &[Opt::SizeUnit],
        needs: "",
        fit: cdf::fit,
        read: cdf::read,
    },
    Format {
        name: "cdf-three-columns",
        gives: Gives::Sizes,
        summary: "ns-2's, YAPS's and dcPIM's distributions: `size 1 share`; needs --size-unit, mostly packets:1460",
        lost: "the second column",
        options: &[Opt::SizeUnit],
        needs: "--size-unit packets:1460",
        fit: cdf::fit_three,
        read: cdf::read_three,
    },
    Format {
        name: "homa-dist",
        gives: Gives::Sizes,
        summary: "Homa's distributions: the mean, then `size share` in steps; needs --size-unit, bytes or packets:1442",
        lost: "the mean, which is compared",
        options: &[Opt::SizeUnit],
        needs: "--size-unit bytes",
        fit: homa::fit_dist,
        read: homa::read_dist,
    },
    Format {
        name: "homa-rtts",
        gives: Gives::Sizes,
        summary: "HomaModule's .rtts: `length us`, as a sample of sizes",
        lost: "the round trips; there are no hosts and no starts",
        options: &[],
        needs: "",
        fit: homa::fit_rtts,
        read: homa::read_rtts,
    },
    Format {
        name: "nfdump",
        gives: Gives::Sizes,
        summary: "flow records: `nfdump -o csv`, or CSV with IPFIX's names",
        lost: "ACKs, other protocols, times",
        options: &[Opt::Sampled],
        needs: "",
        fit: netflow::fit,
        read: netflow::read,
    },
    Format {
        name: "zeek",
        gives: Gives::Sizes,
        summary: "Zeek's conn.log with tabs: orig_bytes and resp_bytes",
        lost: "unknown sizes; all other columns",
        options: &[],
        needs: "",
        fit: zeek::fit,
        read: zeek::read,
    },
    Format {
        name: "tshark",
        gives: Gives::Sizes,
        summary: "the table of `tshark -q -z conv,tcp`",
        lost: "ACKs, headers, times",
        options: &[],
        needs: "",
        fit: tshark::fit,
        read: tshark::read,
    },
    Format {
        name: "prometheus",
        gives: Gives::Sizes,
        summary: "a histogram of bytes in Prometheus's text, with `_sum`",
        lost: "labels: their counts are summed",
        options: &[],
        needs: "",
        fit: prometheus::fit,
        read: prometheus::read,
    },
    Format {
        name: "ss",
        gives: Gives::Sizes,
        summary: "open sockets of `ss -tin`",
        lost: "what they will still carry",
        options: &[],
        needs: "",
        fit: sockets::fit_ss,
        read: sockets::read_ss,
    },
    Format {
        name: "tcplife",
        gives: Gives::Sizes,
        summary: "connections of bcc's and bpftrace's tcplife: TX_KB and RX_KB",
        lost: "directions below 1 KiB next to a larger one; what is below a KiB",
        options: &[],
        needs: "",
        fit: sockets::fit_tcplife,
        read: sockets::read_tcplife,
    },
];

/// Returns all formats.
pub fn formats() -> &'static [Format] {
    FORMATS
}

/// Returns the format of this name.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}
