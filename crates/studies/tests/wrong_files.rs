//! Wrong experiment files, and what is said about each: of what kind it is, where, which key, the nearest name.
//!
//! Each case changes a good file in one way. One snapshot has the fields of every error, another some messages as they are shown.

use crate::fields::fields;
use flowsieve_engines::built_in;
use flowsieve_experiment::plan::{Changes, plan, read};
use flowsieve_experiment::{Error, ExperimentText};
use std::fmt::Write;
use std::path::Path;

const GOOD: &str = r#"title = "Good"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
host_link = "10Gbps"
fabric_link = "40Gbps"
[workload]
sizes = "web-search"
flows = 100
[network]
queues = 8
buffer = "360KB"
ecn_threshold = "65pkt"
[sweep]
load = [0.6, 0.8]
scheme = ["dctcp", "pias"]
[run]
seeds = 2
[schemes.pias]
thresholds = "equal-split"
"#;

/// A case: its name, and what is replaced in the good file by what.
type Case = (&'static str, &'static [(&'static str, &'static str)]);

#[rustfmt::skip]
const CASES: &[Case] = &[
    ("an unknown key", &[("queues = 8", "quues = 8")]),
    ("an unknown key that is like none", &[("queues = 8", "colour = \"red\"")]),
    ("an unknown table", &[("[network]", "[netwrok]")]),
    ("a key in another's table", &[("flows = 100", "flows = 100\nqueues = 8")]),
    ("a key outside of every table", &[("title = \"Good\"", "load = 0.5")]),
    ("a value where a table belongs", &[("title = \"Good\"", "report = 3")]),
    ("no TOML", &[("queues = 8", "queues = = 8")]),
    ("a key twice", &[("queues = 8", "queues = 8\nqueues = 4")]),
    ("a unit missing", &[("buffer = \"360KB\"", "buffer = \"360\"")]),
    ("a number without quotes and unit", &[("buffer = \"360KB\"", "buffer = 360000")]),
    ("a unit of another kind", &[("host_link = \"10Gbps\"", "host_link = \"10GB\"")]),
    ("a rate out of range", &[("host_link = \"10Gbps\"", "host_link = \"900Gbps\"")]),
    ("a negative size", &[("buffer = \"360KB\"", "buffer = \"-1KB\"")]),
    ("a size finer than a byte", &[("buffer = \"360KB\"", "buffer = \"0.5B\"")]),
    ("a fraction of packets that is no whole byte", &[("ecn_threshold = \"65pkt\"", "ecn_threshold = \"0.001pkt\"")]),
    ("a time too long", &[("[sweep]", "[transport]\nrto_min = \"99999999999s\"\n[sweep]")]),
    ("a first timeout of nothing", &[("[sweep]", "[transport]\nrto = \"rfc6298\"\ninitial_rto = \"0s\"\n[sweep]")]),
    ("a first timeout above a minute", &[("[sweep]", "[transport]\nrto = \"rfc6298\"\ninitial_rto = \"61s\"\n[sweep]")]),
    ("a back-off that is no power of two", &[("[sweep]", "[transport]\nrto = \"rfc6298\"\nmax_backoff = 60\n[sweep]")]),
    ("a least window above the largest", &[("[sweep]", "[transport]\nmin_window = 20\nmax_window = 10\ninitial_window = 4\n[sweep]")]),
    ("a largest window below the initial one", &[("[sweep]", "[transport]\nmax_window = 5\ninitial_window = 10\n[sweep]")]),
    ("a largest window below the initial one of the set", &[("[sweep]", "[transport]\nmax_window = 5\n[sweep]")]),
    ("a proportional reduction in ns-2", &[("[sweep]", "[transport]\nreduction = \"proportional\"\n[sweep]")]),
    ("whole windows in ns-2", &[("[sweep]", "[transport]\nwhole_windows = true\n[sweep]")]),
    ("halves in ns-2", &[("[sweep]", "[transport]\nhalves = \"window\"\n[sweep]")]),
    ("a receiver without room for a segment", &[("[sweep]", "[transport]\nreceive_window = \"1KB\"\n[sweep]")]),
    ("quick ACKs where each packet has one", &[("[sweep]", "[transport]\nquick_acks = 16\n[sweep]")]),
    ("ACKs that carry marks of senders that do not", &[("[sweep]", "[transport]\necn = false\necn_acks = true\n[sweep]")]),
    ("a threshold in bytes and in packets", &[("queues = 8", "queues = 8\necn_packets = 20")]),
    ("a threshold by rate and in packets", &[("queues = 8", "queues = 8\necn_packets = 20\necn_threshold_at = [\"10Gbps: 9KB\"]"), ("ecn_threshold = \"65pkt\"", "")]),
    ("a threshold by a rate that no link has", &[("queues = 8", "queues = 8\necn_threshold_at = [\"11Gbps: 9KB\"]")]),
    ("a threshold by no rate", &[("queues = 8", "queues = 8\necn_threshold_at = [\"9KB\"]")]),
    ("a threshold by a rate twice", &[("queues = 8", "queues = 8\necn_threshold_at = [\"10Gbps: 9KB\", \"10Gbps: 10KB\"]")]),
    ("packets counted by RED", &[("ecn_threshold = \"65pkt\"", "marking = \"red\"\necn_packets = 20")]),
    ("times that are scaled where there are none", &[("[sweep]", "[lab]\nscale_times = true\n[sweep]")]),
    ("a count out of range", &[("queues = 8", "queues = 65")]),
    ("a text where a count belongs", &[("queues = 8", "queues = \"8\"")]),
    ("a list where a value belongs", &[("queues = 8", "queues = [2, 4]")]),
    ("a sampled link that is not there", &[("seeds = 2", "seeds = 2\nsample_interval = \"1ms\"\nsample_links = [\"leaf0 to host11\"]")]),
    ("a flow that is sampled and not there", &[("seeds = 2", "seeds = 2\nsample_interval = \"1ms\"\nsample_flows = [0, 4000000]")]),
    ("flows that are sampled at no interval", &[("seeds = 2", "seeds = 2\nsample_flows = [0]")]),
    ("half a flow that is sampled", &[("seeds = 2", "seeds = 2\nsample_interval = \"1ms\"\nsample_flows = [1.5]")]),
    ("sampled links that are never sampled", &[("seeds = 2", "seeds = 2\nsample_links = [\"leaf0 to host1\"]")]),
    ("a traced link that is not there", &[("seeds = 2", "seeds = 2\ntrace = \"csv\"\ntrace_links = [\"host-dwn\"]")]),
    ("no traced link", &[("seeds = 2", "seeds = 2\ntrace = \"csv\"\ntrace_links = []")]),
    ("a trace in no known format", &[("seeds = 2", "seeds = 2\ntrace = \"pcapng\"")]),
    ("traced links without a format", &[("seeds = 2", "seeds = 2\ntrace_links = [\"host-down\"]")]),
    ("a trace that ends before it begins", &[("seeds = 2", "seeds = 2\ntrace = \"both\"\ntrace_span = [\"2ms\", \"1ms\"]")]),
    ("a trace of no packet", &[("seeds = 2", "seeds = 2\ntrace = \"pcap\"\ntrace_packets = 0")]),
    ("an unknown choice", &[("kind = \"leaf-spine\"", "kind = \"leaf-spin\"")]),
    ("a load of zero", &[("load = [0.6, 0.8]", "load = [0.0, 0.8]")]),
    ("a load that is no number", &[("load = [0.6, 0.8]", "load = [0.6, \"0.8\"]")]),
    ("a sweep without values", &[("load = [0.6, 0.8]", "load = []")]),
    ("a sweep with a value twice", &[("load = [0.6, 0.8]", "load = [0.6, 0.60]")]),
    ("a sweep over an unknown key", &[("load = [0.6, 0.8]", "laod = [0.6, 0.8]")]),
    ("a sweep over seeds", &[("load = [0.6, 0.8]", "load = [0.6]\nseeds = [1, 2]")]),
    ("an unknown scheme", &[("[\"dctcp\", \"pias\"]", "[\"dctcp\", \"pais\"]")]),
    ("no scheme", &[("scheme = [\"dctcp\", \"pias\"]", "")]),
    ("a variant without a base", &[("[schemes.pias]", "[schemes.pias-2]")]),
    ("a variant of an unknown base", &[("[schemes.pias]", "[schemes.mine]\nbase = \"piaas\"")]),
    ("a name that cannot be a scheme's", &[("[schemes.pias]", "[schemes.\"pi as\"]")]),
    ("Homa with a message for each level", &[("\"pias\"]", "\"homa\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.homa]\novercommitment = 8"), ("seeds = 2", "seeds = 2\nfct_end = \"arrival\"")]),
    ("Homa that grants to none", &[("\"pias\"]", "\"homa\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.homa]\novercommitment = 0")]),
    ("Homa with cutoffs for other levels", &[("\"pias\"]", "\"homa\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.homa]\novercommitment = 6\nthresholds = [\"1KB\", \"5KB\"]"), ("seeds = 2", "seeds = 2\nfct_end = \"arrival\"")]),
    ("Homa's flows until ACKs", &[("\"pias\"]", "\"homa\"]"), ("seeds = 2", "seeds = 2\nfct_end = \"ack\""), ("[schemes.pias]\nthresholds = \"equal-split\"\n", "")]),
    ("Homa with hosts that misuse", &[("\"pias\"]", "\"homa\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.homa]\nmisusing_hosts = 2"), ("seeds = 2", "seeds = 2\nfct_end = \"arrival\"")]),
    ("Homa's incast without requests", &[("\"pias\"]", "\"homa\"]"), ("seeds = 2", "seeds = 2\nfct_end = \"arrival\""), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.homa]\nincast = true")]),
    ("Homa's replies without questions", &[("\"pias\"]", "\"homa\"]"), ("seeds = 2", "seeds = 2\nfct_end = \"arrival\""), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.homa]\nasks = false\nreplies = true")]),
    ("Homa with more cutoffs than a packet has room for", &[("\"pias\"]", "\"homa\"]"), ("seeds = 2", "seeds = 2\nfct_end = \"arrival\""), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.homa]\novercommitment = 6\ncutoffs = \"seen\""), ("queues = 8", "queues = 16")]),
    ("grants that count, after how many bytes is not said", &[("\"pias\"]", "\"homa\"]"), ("seeds = 2", "seeds = 2\nfct_end = \"arrival\""), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.homa]\novercommitment = 6"), ("flows = 100", "flows = 100\nload_counts = \"wire+grants\"")]),
    ("grants that count after other bytes than Homa's", &[("\"pias\"]", "\"homa\"]"), ("seeds = 2", "seeds = 2\nfct_end = \"arrival\""), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.homa]\nrtt_bytes = \"9KB\""), ("flows = 100", "flows = 100\nload_counts = \"wire+grants\""), ("[sweep]", "[transport]\nrtt_bytes = \"10KB\"\n[sweep]")]),
    ("how often nothing is seen", &[("\"pias\"]", "\"homa\"]"), ("seeds = 2", "seeds = 2\nfct_end = \"arrival\""), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.homa]\ncutoffs_after = 5")]),
    ("Homa next to PIAS in the same queues", &[("\"pias\"]", "\"mixed\"]"), ("[schemes.pias]", "[schemes.mixed]\nbase = \"pias\"\nclasses = [\"pias\", \"homa\"]\n[schemes.pias]"), ("seeds = 2", "seeds = 2\nfct_end = \"arrival\"")]),
    ("a variant that is not in the sweep", &[("[schemes.pias]", "[schemes.pfabric]")]),
    ("a key that is swept and fixed", &[("load = [0.6, 0.8]", "load = [0.6]\nqueues = [2, 4]"), ("thresholds = \"equal-split\"", "queues = 4")]),
    ("too few thresholds", &[("thresholds = \"equal-split\"", "thresholds = [\"20KB\", \"1MB\"]")]),
    ("thresholds that fall", &[("\"equal-split\"", "[\"9KB\", \"8KB\", \"7KB\", \"6KB\", \"5KB\", \"4KB\", \"3KB\"]")]),
    ("a part that the scheme makes itself", &[("[\"dctcp\", \"pias\"]", "[\"qc-srpt\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.qc-srpt]\ntagger = \"plain\"")]),
    ("a reading of what remains that is none", &[("[\"dctcp\", \"pias\"]", "[\"qc-srpt\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.qc-srpt]\nremaining = \"unacked\"")]),
    ("what remains where nobody asks", &[("[\"dctcp\", \"pias\"]", "[\"qc-las\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.qc-las]\nremaining = \"unacknowledged\"")]),
    ("round robin over queues that the scheme serves itself", &[("[\"dctcp\", \"pias\"]", "[\"dctcp\", \"qc-las\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", ""), ("queues = 8", "queues = 8\ndiscipline = \"drr\"")]),
    ("a screened incast", &[("flows = 100", "flows = 100\npattern = \"incast\"\nfan_in = 3\nscreen = 2")]),
    ("a screened permutation", &[("flows = 100", "flows = 100\npattern = \"permutation\"\nscreen = 2")]),
    ("a screened closed loop", &[("load = [0.6, 0.8]\n", ""), ("flows = 100", "flows = 100\narrivals = \"closed-loop\"\nscreen = 2")]),
    ("a screened mix", &[("flows = 100", "flows = 100\nmix_sizes = \"data-mining\"\nscreen = 2")]),
    ("a screened fabric that is narrower than its hosts", &[("fabric_link = \"40Gbps\"", "fabric_link = \"10Gbps\""), ("flows = 100", "flows = 100\nscreen = 2")]),
    ("a screen of every host", &[("flows = 100", "flows = 100\nscreen = 1")]),
    ("a screen with fewer hosts than one in so many", &[("flows = 100", "flows = 100\nscreen = 9")]),
    ("percentiles out of order", &[("queues = 8", "queues = 3"), ("[\"dctcp\", \"pias\"]", "[\"awafs\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.awafs]\npercentiles = [0.5, 0.2]")]),
    ("a percentile above 1", &[("queues = 8", "queues = 3"), ("[\"dctcp\", \"pias\"]", "[\"awafs\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.awafs]\npercentiles = [0.5, 1.2]")]),
    ("a percentile too few", &[("queues = 8", "queues = 3"), ("[\"dctcp\", \"pias\"]", "[\"awafs\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.awafs]\npercentiles = [0.5]")]),
    ("a percentile of something else", &[("[\"dctcp\", \"pias\"]", "[\"awafs\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.awafs]\npercentile_of = \"bytes\"")]),
    ("an update of no period", &[("[\"dctcp\", \"pias\"]", "[\"awafs\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.awafs]\nupdate_period = \"0ms\"")]),
    ("a window shorter than the period", &[("[\"dctcp\", \"pias\"]", "[\"awafs\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.awafs]\nupdate_window = \"199ms\"")]),
    ("first thresholds that are not sizes", &[("[\"dctcp\", \"pias\"]", "[\"awafs\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.awafs]\nthresholds = \"published\"")]),
    ("a list without room for a flow", &[("[\"dctcp\", \"pias\"]", "[\"awafs\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.awafs]\nlist_memory = \"11B\"")]),
    ("flows that end with connections that do not", &[("[\"dctcp\", \"pias\"]", "[\"awafs\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.awafs]\nflow_ends = \"fin\"")]),
    ("ends of flows where no switch asks", &[("[\"dctcp\", \"pias\"]", "[\"awafs\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.awafs]\nplace_of_thresholds = \"host\"\nflow_ends = \"idle\"")]),
    ("a setting that nothing reads", &[("[sweep]", "[transport]\nprobe_after = 3\n[sweep]")]),
    ("a setting of another kind of fabric", &[("leaves = 2", "leaves = 2\nk = 4")]),
    ("a fat-tree with odd k", &[("kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4", "kind = \"fat-tree\"\nk = 5")]),
    ("no hosts", &[("hosts_per_leaf = 4", "hosts_per_leaf = 0")]),
    ("leaves without hosts", &[("hosts_per_leaf = 4", "hosts_per_leaf = [4, 0]")]),
    ("more leaves than numbers of hosts", &[("hosts_per_leaf = 4", "hosts_per_leaf = [4, 4, 2]")]),
    ("numbers of hosts in lists", &[("hosts_per_leaf = 4", "hosts_per_leaf = [[4, 4]]")]),
    ("one host", &[("leaves = 2\nspines = 2\nhosts_per_leaf = 4", "leaves = 1\nspines = 2\nhosts_per_leaf = 1")]),
    ("a link that is not there", &[("[workload]", "[[topology.link]]\nbetween = [\"leaf0\", \"leaf1\"]\nfailed = true\n[workload]")]),
    ("an event of a link that is not there", &[("[workload]", "[[event]]\nat = \"1ms\"\nlink = \"leaf0-leaf1\"\ndown = true\n[workload]")]),
    ("an event of no link", &[("[workload]", "[[event]]\nat = \"1ms\"\nlink = \"leaf0-spin1\"\ndown = true\n[workload]")]),
    ("an event that cuts a host off", &[("[workload]", "[[event]]\nat = \"1ms\"\nlink = \"host3-leaf0\"\ndown = true\n[workload]")]),
    ("events that cut a rack off", &[("[workload]", "[[event]]\nat = \"2ms\"\nlink = \"leaf1-spine1\"\ndown = true\n[[event]]\nat = \"1ms\"\nlink = \"leaf1-spine0\"\ndown = true\n[workload]")]),
    ("a link that comes back and was never gone", &[("[workload]", "[[event]]\nat = \"1ms\"\nlink = \"leaf0-spine1\"\ndown = false\n[workload]")]),
    ("an event without a time", &[("[workload]", "[[event]]\nlink = \"leaf0-spine1\"\ndown = true\n[workload]")]),
    ("an event without an effect", &[("[workload]", "[[event]]\nat = \"1ms\"\nlink = \"leaf0-spine1\"\n[workload]")]),
    ("an event after which nobody knows when routes follow", &[("[workload]", "[[event]]\nat = \"1ms\"\nlink = \"leaf0-spine1\"\ndown = true\n[workload]")]),
    ("routes that follow no event", &[("leaves = 2", "leaves = 2\nreconvergence = \"1ms\"")]),
    ("routes that follow where probes do", &[("leaves = 2", "leaves = 2\nreconvergence = \"1ms\""), ("[workload]", "[[event]]\nat = \"1ms\"\nlink = \"leaf0-spine1\"\ndown = true\n[workload]"), ("queues = 8", "queues = 8\nload_balancing = \"hula\"")]),
    ("a collective over one host", &[("sizes = \"web-search\"\nflows = 100", "sizes = \"fixed(1MB)\"\npattern = \"all-reduce-ring\"\ncollectives = 2\ngroup_size = 1"), ("load = [0.6, 0.8]\n", "")]),
    ("groups that do not divide the hosts", &[("sizes = \"web-search\"\nflows = 100", "sizes = \"fixed(1MB)\"\npattern = \"all-reduce-ring\"\ncollectives = 2\ngroup_size = 3"), ("load = [0.6, 0.8]\n", "")]),
    ("a load of collectives", &[("sizes = \"web-search\"\nflows = 100", "sizes = \"fixed(1MB)\"\npattern = \"all-reduce-ring\"\ncollectives = 2\ngroup_size = 4"), ("seeds = 2", "seeds = 2\nfct_end = \"arrival\"")]),
    ("four groups as classes, and two schemes", &[("sizes = \"web-search\"\nflows = 100", "sizes = \"fixed(1MB)\"\npattern = \"all-reduce-ring\"\ncollectives = 2\ngroup_size = 2\ngroup_classes = true"), ("load = [0.6, 0.8]\n", ""), ("[schemes.pias]", "[schemes.pias]\nclasses = [\"dctcp\", \"dctcp\"]"), ("thresholds = \"equal-split\"\n", "")]),
    ("a table of an event", &[("[workload]", "[event]\nat = \"1ms\"\n[workload]")]),
    ("an event at flow level", &[("[workload]", "[[event]]\nat = \"1ms\"\nlink = \"leaf0-spine1\"\ndown = true\n[workload]"), ("seeds = 2", "seeds = 2\nfidelity = \"flow\""), (", \"pias\"]", "]"), ("[schemes.pias]\nthresholds = \"equal-split\"\n", ""), ("[network]\nqueues = 8\nbuffer = \"360KB\"\necn_threshold = \"65pkt\"\n", "")]),
    ("an impossible round trip", &[("leaves = 2", "leaves = 2\nrtt = \"1ps\"\nhost_delay = \"20us\"")]),
    ("an unknown distribution", &[("sizes = \"web-search\"", "sizes = \"web-serch\"")]),
    ("two distributions", &[("sizes = \"web-search\"", "sizes = \"web-search\"\ncdf = \"my.csv\"")]),
    ("no distribution", &[("sizes = \"web-search\"\n", "")]),
    ("a missing file", &[("sizes = \"web-search\"", "cdf = \"none.csv\"")]),
    ("a distribution that goes back", &[("sizes = \"web-search\"", "cdf = \"back.csv\"")]),
    ("a distribution that does not rise to 1", &[("sizes = \"web-search\"", "cdf = \"early.csv\"")]),
    ("neither flows nor duration", &[("flows = 100\n", "")]),
    ("both flows and duration", &[("flows = 100", "flows = 100\nduration = \"1s\"")]),
    ("no load", &[("load = [0.6, 0.8]\n", "")]),
    ("a window without times", &[("flows = 100\n", ""), ("seeds = 2", "measure = \"window\"")]),
    ("more than the wire takes, in a window", &[("flows = 100\n", ""), ("[0.6, 0.8]", "[0.6, 1.2]"), ("seeds = 2", "measure = \"window\"\nwindow = [\"1ms\", \"2ms\"]")]),
    ("an unknown scale", &[("[run]", "[scale.quik]\nseeds = 1\n[run]")]),
    ("a scale that is no table", &[("title = \"Good\"", "scale.quick = 3")]),
    ("an unknown key of a scale that is not run", &[("[run]", "[scale.quick]\nlaod = 0.6\n[run]")]),
    ("an unknown path of a scale", &[("[run]", "[scale.smoke]\nnetwork.leaf.quues = 4\n[run]")]),
    ("a value of a scale out of range", &[("[run]", "[scale.quick]\nload = [0.6, 20]\n[run]")]),
    ("a scale that sweeps seeds", &[("[run]", "[scale.quick]\nseeds = [1, 2]\n[run]")]),
    ("a table where a scale needs a value", &[("[run]", "[scale.quick]\nload = { web-search = 0.5 }\n[run]")]),
    ("more than all of the times", &[("[run]", "[scale.quick]\ntimes = 1.5\n[run]")]),
    ("times that are none", &[("[run]", "[scale.quick]\ntimes = \"5s\"\n[run]")]),
    ("times where there are none", &[("[run]", "[scale.paper]\ntimes = 0.5\n[run]")]),
    ("flows of a workload that are no number", &[("[run]", "[scale.quick]\nflows = { web-search = \"many\" }\n[run]")]),
    ("flows of a workload that is not in the sweep", &[("[run]", "[scale.paper]\nflows = { web-serch = 50 }\n[run]")]),
    ("a workload without its flows", &[("sizes = \"web-search\"\n", ""), ("[run]", "sizes = [\"web-search\", \"data-mining\"]\n[scale.paper]\nflows = { web-search = 50 }\n[run]")]),
    ("flows that are swept and given for each workload", &[("[run]", "flows = [10, 20]\n[scale.paper]\nflows = { web-search = 50 }\n[run]")]),
    ("a key of a scale that nothing reads", &[("[run]", "[scale.paper]\nprobe_after = 3\n[run]")]),
    ("size classes that fall", &[("[run]", "[report]\nsize_classes = [\"1MB\", \"1KB\"]\n[run]")]),
    ("sketches that no machine holds", &[
        ("hosts_per_leaf = 4", "hosts_per_leaf = 64"),
        ("scheme = [\"dctcp\", \"pias\"]", "scheme = [\"pias\", \"qc-las\"]"),
        ("[schemes.pias]", "[schemes.qc-las]\nsketch_arrays = 8\nsketch_buckets = 1_000_000\n[schemes.pias]"),
    ]),
    ("no room for payload", &[("queues = 8", "queues = 8\nmtu = \"64B\"\nheader = \"64B\"")]),
    ("a number of flows beside a window", &[("seeds = 2", "measure = \"window\"\nwindow = [\"1ms\", \"2ms\"]")]),
    ("a flow list beside flows", &[("sizes = \"web-search\"", "list = \"flows.csv\"")]),
    ("a flow list of a larger fabric", &[("sizes = \"web-search\"\nflows = 100", "list = \"flows.csv\""), ("load = [0.6, 0.8]\n", "")]),
    ("a flow list with a missing field", &[("sizes = \"web-search\"\nflows = 100", "list = \"gaps.csv\""), ("load = [0.6, 0.8]\n", "")]),
    ("a flow list with a deadline of zero", &[("sizes = \"web-search\"\nflows = 100", "list = \"deadlines.csv\""), ("load = [0.6, 0.8]\n", "")]),
    ("a flow list with a host that nobody knows", &[("sizes = \"web-search\"\nflows = 100", "list = \"names.csv\""), ("load = [0.6, 0.8]\n", "")]),
    ("a flow list with a flow that cannot be sent", &[("sizes = \"web-search\"\nflows = 100", "list = \"huge.csv\""), ("load = [0.6, 0.8]\n", "")]),
    ("sizes that cannot be sent", &[("sizes = \"web-search\"", "cdf = \"petabytes.csv\"")]),
    ("sizes in per cent with blanks", &[("sizes = \"web-search\"", "cdf = \"blanks.csv\"")]),
    ("a formula with a parameter too few", &[("sizes = \"web-search\"", "sizes = \"lognormal(10KB)\"")]),
    ("a formula without units", &[("sizes = \"web-search\"", "sizes = \"exponential(100)\"")]),
    ("a source's mean that is not known", &[("sizes = \"web-search\"", "sizes = \"homa-w2-source-mean\"")]),
    ("a reading of a formula", &[("sizes = \"web-search\"", "sizes = \"fixed(1KB)\"\nreading = \"stepped\"")]),
    ("more answers than hosts", &[("flows = 100", "flows = 100\npattern = \"incast\"\nfan_in = 8")]),
    ("incast without a number of answers", &[("flows = 100", "flows = 100\npattern = \"incast\"")]),
    ("a number of answers without incast", &[("flows = 100", "flows = 100\nfan_in = 8")]),
    ("one rack for all", &[("kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4", "kind = \"single-switch\""), ("fabric_link = \"40Gbps\"\n", ""), ("flows = 100", "flows = 100\npattern = \"rack-local\"\nrack_local = 0.5")]),
    ("a change to nothing", &[("flows = 100", "flows = 100\nchange_at = \"1ms\"")]),
    ("pairs by weights that are too many", &[("flows = 100", "flows = 100\npattern = \"listed\"\npairs = [\"host0 to host1\"]\npair_weights = [1, 2]")]),
    ("a pair of no such host", &[("flows = 100", "flows = 100\npattern = \"listed\"\npairs = [\"host0 to host8\"]")]),
    ("a pair of one host", &[("flows = 100", "flows = 100\npattern = \"listed\"\npairs = [\"host3 to host3\"]")]),
    ("listed pairs without a list", &[("flows = 100", "flows = 100\npattern = \"listed\"")]),
    ("a share of pairs that are not drawn", &[("flows = 100", "flows = 100\nmix_sizes = \"data-mining\"\nmix_pairs = \"rising\"\nmix_share = 0.5")]),
    ("rising pairs of a permutation", &[("flows = 100", "flows = 100\nmix_sizes = \"data-mining\"\nmix_pairs = \"rising\"\npattern = \"permutation\"")]),
    ("a change at no time", &[("flows = 100", "flows = 100\nchange_sizes = \"data-mining\"")]),
    ("a trace without a file", &[("flows = 100", "flows = 100\narrivals = \"trace\"")]),
    ("a trace in which no time passes", &[("flows = 100", "flows = 100\narrivals = \"trace\"\narrival_trace = \"zero.csv\"")]),
    ("a closed loop at a load", &[("flows = 100", "flows = 100\narrivals = \"closed-loop\"")]),
    ("a closed loop of requests", &[("load = [0.6, 0.8]\n", ""), ("flows = 100", "flows = 100\narrivals = \"closed-loop\"\npattern = \"incast\"\nfan_in = 3")]),
    ("outstanding flows without a closed loop", &[("flows = 100", "flows = 100\noutstanding = 3")]),
    ("a law of no time to think", &[("load = [0.6, 0.8]\n", ""), ("flows = 100", "flows = 100\narrivals = \"closed-loop\"\nthink_law = \"exponential\"")]),
    ("HULA where there is no choice", &[("kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4", "kind = \"single-switch\""), ("fabric_link = \"40Gbps\"\n", ""), ("queues = 8", "queues = 8\nload_balancing = \"hula\"")]),
    ("HULA over one spine", &[("spines = 2", "spines = 1"), ("queues = 8", "queues = 8\nload_balancing = \"hula\"")]),
    ("HULA where switches are beside each other", &[("kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_link = \"10Gbps\"\nfabric_link = \"40Gbps\"", "kind = \"custom\"\nfile = \"ring.csv\""), ("queues = 8", "queues = 8\nload_balancing = \"hula\"")]),
    ("HULA at the leaves alone", &[("[sweep]", "[network.leaf]\nload_balancing = \"hula\"\n[sweep]")]),
    ("HULA with other times at the spines", &[("queues = 8", "queues = 8\nload_balancing = \"hula\""), ("[sweep]", "[network.spine]\nprobe_interval = \"1ms\"\n[sweep]")]),
    ("probes more often than can be", &[("queues = 8", "queues = 8\nload_balancing = \"hula\"\nprobe_interval = \"100ns\"")]),
    ("probes that come too seldom for their age", &[("queues = 8", "queues = 8\nload_balancing = \"hula\"\nhula_age = \"100us\"")]),
    ("probes that come too seldom for utilisation", &[("queues = 8", "queues = 8\nload_balancing = \"hula\"\nprobe_interval = \"1ms\"\nhula_memory = \"400us\"")]),
    ("a priority that no packet has", &[("queues = 8", "queues = 8\nload_balancing = \"hula\"\nhula_probe_priority = 256")]),
    ("probes without HULA", &[("queues = 8", "queues = 8\nload_balancing = \"flowlet\"\nprobe_interval = \"1ms\"")]),
    ("a missing edge list", &[("kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4", "kind = \"custom\"\nfile = \"none.csv\"")]),
    ("a scheme without a meaning at flow level", &[("seeds = 2", "seeds = 2\nfidelity = \"flow\"")]),
    ("ports at flow level", &[("seeds = 2", "seeds = 2\nfidelity = \"flow\""), (", \"pias\"]", "]"), ("[schemes.pias]\nthresholds = \"equal-split\"\n", "")]),
    ("a packet trace at flow level", &[("seeds = 2", "fidelity = \"flow\"\ntrace = \"csv\""), (", \"pias\"]", "]"), ("[schemes.pias]\nthresholds = \"equal-split\"\n", ""), ("[network]\nqueues = 8\nbuffer = \"360KB\"\necn_threshold = \"65pkt\"\n", "")]),
    ("flowlets at flow level", &[("seeds = 2", "seeds = 2\nfidelity = \"flow\""), ("queues = 8", "load_balancing = \"flowlet\"")]),
    ("a measuring window at flow level", &[("seeds = 2", "fidelity = \"flow\"\nmeasure = \"window\"\nwindow = [\"1ms\", \"2ms\"]"), ("flows = 100\n", "")]),
    ("an order of coflows that there are not, at flow level", &[("seeds = 2", "fidelity = \"flow\""), ("[\"dctcp\", \"pias\"]", "[\"varys\"]")]),
    ("rates that follow an order, of a scheme that has none", &[("seeds = 2", "fidelity = \"flow\""), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.dctcp]\nrates = \"madd\"")]),
    ("rates at packet level", &[("thresholds = \"equal-split\"", "rates = \"max-min\"")]),
    ("an order by bytes sent for Varys' rates", &[("seeds = 2", "fidelity = \"flow\""), ("[\"dctcp\", \"pias\"]", "[\"varys\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.varys]\ncoflow_order = \"d-clas\"")]),
    ("weights between Aalo's queues at flow level", &[("seeds = 2", "fidelity = \"flow\""), ("[\"dctcp\", \"pias\"]", "[\"aalo\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.aalo]\ndclas_between = \"weighted\"")]),
    ("per-flow fairness at packet level", &[("[\"dctcp\", \"pias\"]", "[\"per-flow-fair\"]")]),
    ("per-flow prioritisation at packet level", &[("[\"dctcp\", \"pias\"]", "[\"per-flow-priority\"]")]),
    ("Varys at packet level", &[("[\"dctcp\", \"pias\"]", "[\"varys\"]")]),
    ("flows within a host without coflows", &[("flows = 100", "flows = 100\nown_rack = \"keep\"")]),
    ("a coflow trace of other ports than the fabric has hosts", &[("sizes = \"web-search\"\nflows = 100", "coflows = \"own.txt\"")]),
    ("a coflow trace with a port that there is not", &[("sizes = \"web-search\"\nflows = 100", "coflows = \"port.txt\"")]),
    ("coflows within hosts alone", &[("sizes = \"web-search\"\nflows = 100", "coflows = \"own.txt\"\ncoflow_hosts = \"modulo\""), ("load = [0.6, 0.8]\n", "")]),
    ("coflows that arrive at once, at a load", &[("sizes = \"web-search\"\nflows = 100", "coflows = \"own.txt\"\ncoflow_hosts = \"modulo\"")]),
    ("coflows over more time than a run has", &[("sizes = \"web-search\"\nflows = 100", "coflows = \"coflows.txt\""), ("[0.6, 0.8]", "[1e-12]")]),
    ("coflows of more bytes than a flow may have", &[("sizes = \"web-search\"\nflows = 100", "coflows = \"coflows.txt\"\nsize_scale = 1000000")]),
    ("whose load it is of coflows that there are not", &[("flows = 100", "flows = 100\nload_of = \"busiest\"")]),
    ("whose load it is of coflows without one", &[("sizes = \"web-search\"\nflows = 100", "coflows = \"coflows.txt\"\nload_of = \"busiest\""), ("load = [0.6, 0.8]\n", "")]),
    ("generated coflows that fit nowhere", &[("sizes = \"web-search\"\nflows = 100", "coflows = \"coflows.txt\"\ngenerated_coflows = 5\nmost_flows = 1")]),
    ("pods that do not divide the hosts", &[("sizes = \"web-search\"\nflows = 100", "coflows = \"coflows.txt\"\ngenerated_coflows = 5\npod_hosts = 3\npod_local = 0.5")]),
    ("hosts of coflows that there are not", &[("flows = 100", "flows = 100\ncoflow_hosts = \"random\"")]),
    ("an order of coflows that there are not", &[("[\"dctcp\", \"pias\"]", "[\"sincronia\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.sincronia]\nqueues = 8")]),
    ("a weight of zero", &[("sizes = \"web-search\"\nflows = 100", "coflows = \"coflows.txt\""), ("[\"dctcp\", \"pias\"]", "[\"sincronia\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.sincronia]\ncoflow_weights = \"zero-weight.csv\"")]),
    ("weights that an order does not heed", &[("ecn_threshold = \"65pkt\"\n", ""), ("sizes = \"web-search\"\nflows = 100", "coflows = \"coflows.txt\""), ("[\"dctcp\", \"pias\"]", "[\"sincronia\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.sincronia]\ncoflow_order = \"fifo\"\ncoflow_weights = \"weights.csv\"")]),
    ("weights that bytes sent do not heed", &[("ecn_threshold = \"65pkt\"\n", ""), ("sizes = \"web-search\"\nflows = 100", "coflows = \"coflows.txt\""), ("[\"dctcp\", \"pias\"]", "[\"aalo\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.aalo]\ncoflow_weights = \"weights.csv\"")]),
    ("weights that an order does not heed, at flow level", &[("sizes = \"web-search\"\nflows = 100", "coflows = \"coflows.txt\""), ("seeds = 2", "fidelity = \"flow\""), ("[network]\nqueues = 8\nbuffer = \"360KB\"\necn_threshold = \"65pkt\"\n", ""), ("[\"dctcp\", \"pias\"]", "[\"sincronia\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.sincronia]\ncoflow_order = \"fifo\"\ncoflow_weights = \"weights.csv\"")]),
    ("demands that an order does not heed", &[("ecn_threshold = \"65pkt\"\n", ""), ("sizes = \"web-search\"\nflows = 100", "coflows = \"coflows.txt\""), ("[\"dctcp\", \"pias\"]", "[\"sincronia\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.sincronia]\ncoflow_order = \"tcf\"\ncoflow_demands = \"first\"")]),
    ("slack of levels that follow ranks", &[("ecn_threshold = \"65pkt\"\n", ""), ("sizes = \"web-search\"\nflows = 100", "coflows = \"coflows.txt\""), ("[\"dctcp\", \"pias\"]", "[\"sincronia\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.sincronia]\nlevel_slack = 2")]),
    ("a coflow without a coordinator", &[("sizes = \"web-search\"\nflows = 100", "coflows = \"coflows.txt\""), ("[\"dctcp\", \"pias\"]", "[\"sp-elastic\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.sp-elastic]\ncoflow_order = \"none\"\nuntil_placed = \"hold\"")]),
    ("a coordinator that knows at once", &[("sizes = \"web-search\"\nflows = 100", "coflows = \"coflows.txt\""), ("[\"dctcp\", \"pias\"]", "[\"sincronia\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.sincronia]\ncoordinator_delay = \"0us\"")]),
    ("a coordinator of no period", &[("sizes = \"web-search\"\nflows = 100", "coflows = \"coflows.txt\""), ("[\"dctcp\", \"pias\"]", "[\"aalo\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.aalo]\ncoordinator_period = \"0ms\"")]),
    ("a table of no slots", &[("sizes = \"web-search\"\nflows = 100", "coflows = \"coflows.txt\""), ("[\"dctcp\", \"pias\"]", "[\"pcoflow-ecn\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.pcoflow-ecn]\npcoflow_slots = 0")]),
    ("a bounded table that moves packets", &[("sizes = \"web-search\"\nflows = 100", "coflows = \"coflows.txt\""), ("[\"dctcp\", \"pias\"]", "[\"pcoflow-move\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.pcoflow-move]\npcoflow_slots = 8")]),
    ("tables that no machine holds", &[("sizes = \"web-search\"\nflows = 100", "coflows = \"coflows.txt\""), ("[\"dctcp\", \"pias\"]", "[\"pcoflow-ecn\"]"), ("[schemes.pias]\nthresholds = \"equal-split\"", "[schemes.pcoflow-ecn]\npcoflow_slots = 16_777_216")]),
    ("flows within a host at packet level", &[("sizes = \"web-search\"\nflows = 100", "coflows = \"own.txt\"\nown_rack = \"keep\"\ncoflow_hosts = \"modulo\"")]),
];

/// Those whose messages are shown whole: an excerpt, a nearest name, what is missing, a wrong row of a file, a nearest row …
const SHOWN: [&str; 14] = [
    "an unknown key",
    "a key in another's table",
    "a value where a table belongs",
    "no TOML",
    "a unit missing",
    "a sampled link that is not there",
    "an unknown scheme",
    "no scheme",
    "no distribution",
    "a missing file",
    "a distribution that goes back",
    "a flow list with a host that nobody knows",
    "sizes in per cent with blanks",
    "Varys at packet level",
];

/// Those whose only known fact is what is wrong.
const NOTHING_EXPECTED: [&str; 2] = ["no TOML", "a key twice"];

fn refused(text: &str, folder: &Path) -> Option<Error> {
    plan(&ExperimentText::new("wrong.toml", text), folder, &Changes::default(), &built_in()).err()
}

/// The good file with a case's changes.
fn changed((name, replaced): &Case) -> String {
    replaced.iter().fold(GOOD.to_owned(), |text, (old, new)| {
        assert!(text.contains(old), "{name}");
        text.replacen(old, new, 1)
    })
}

fn folder_with_files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("back.csv", "size_bytes,cdf\n1000,0.5\n2000,0.4\n3000,1\n"),
        ("early.csv", "1000,0.5\n2000,0.9\n"),
        ("gaps.csv", "start_s,src,dst,bytes\r\n0,0,1,1000\r\n\r\n0.1,,1,1000\r\n"),
        ("deadlines.csv", "start_s,src,dst,bytes,deadline_s\n0,0,1,1000,\n0,0,1,1000,0\n"),
        ("zero.csv", "start_s\n0\n"),
        (
            "ring.csv",
            "host0,a,1Gbps,1us\nhost1,b,1Gbps,1us\nhost2,c,1Gbps,1us\nhost3,d,1Gbps,1us\na,b,1Gbps,1us\nb,c,1Gbps,1us\nc,d,1Gbps,1us\nd,a,1Gbps,1us\n",
        ),
        ("own.txt", "2 1\n0 0 1 1 1 1 1 1\n"),
        ("coflows.txt", "8 2\n0 0 2 1 2 0 4 2000 0 5 2000\n1 5 2 1 2 1 5 1 1 6 1\n"),
        ("port.txt", "8 2\n0 0 1 0 1 4:1\n1 5 1 0 1 8:1\n"),
        ("weights.csv", "coflow,weight\n1,2\n"),
        ("zero-weight.csv", "coflow,weight\n1,0\n"),
        ("names.csv", "0,host1,host3,1000\n0,host2,hots4,1000\n"),
        ("huge.csv", "0,0,1,1000\n0.5,0,1,2e12\n0,0,1,1e12\n"),
        ("petabytes.csv", "0,0\n1e15,1\n"),
        ("blanks.csv", "# size, share\n0 0%\n10000 15%\n"),
        ("flows.csv", "start_s,src,dst,bytes\n0,0,1,1000\n0.1,8,1,1000\n"),
    ];
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

#[test]
fn the_good_file_is_good() {
    let folder = folder_with_files();
    assert!(refused(GOOD, folder.path()).is_none());
}

#[test]
fn errors__have_a_kind_a_place_and_what_was_expected() {
    let folder = folder_with_files();
    let (mut all, mut nothing_expected) = (String::new(), Vec::new());
    for case in CASES {
        let error =
            refused(&changed(case), folder.path()).unwrap_or_else(|| panic!("nothing is wrong with {}", case.0));
        let details = error.details();
        assert!(details.file.is_some() && details.line.is_some(), "{}: {details:?}", case.0);
        if details.expected.is_none() {
            nothing_expected.push(case.0);
        }
        let _ = writeln!(all, "{}: {}", case.0, fields(&details, folder.path()));
    }
    insta::assert_snapshot!(all);
    assert_eq!(nothing_expected, NOTHING_EXPECTED);
}

#[test]
fn messages__of_some_errors() {
    let folder = folder_with_files();
    let mut all = String::new();
    for case in CASES.iter().filter(|(name, _)| SHOWN.contains(name)) {
        let error = refused(&changed(case), folder.path()).unwrap();
        let message = error.render(false).replace(&format!("{}/", folder.path().display()), "");
        let _ = writeln!(all, "## {}\n{message}\n", case.0);
    }
    for set in ["quues=8", "loss=0.01", "queues=65", "schemes.pias.queus=4"] {
        let _ = writeln!(all, "## --set {set}\n{}\n", refused_set(set).render(false));
    }
    insta::assert_snapshot!(all);
}

fn refused_set(set: &str) -> Error {
    let changes = Changes { sets: vec![set.to_owned()], ..Changes::default() };
    plan(&ExperimentText::new("good.toml", GOOD), Path::new(""), &changes, &built_in()).unwrap_err()
}

#[test]
fn errors__of_arguments() {
    let sets = [
        "quues=8",
        "queues",
        "queues=65",
        "network.quues=8",
        "netwrok.queues=8",
        "network.leaf.load=0.5",
        "schemes.pias.queus=4",
        "scheme=pais",
        "pias.queues=4",
        "leaf.queues=4",
        "workload.network.queues=4",
        "load=high",
        "buffer=1KB,2KX",
        "weights=1,2",
        "schemes.pias.queues=2,4",
        "topology.link.failed=true",
        "seeds=0",
    ];
    let mut all = String::new();
    for set in sets {
        let details = refused_set(set).details();
        assert!(details.expected.is_some(), "{set}: {details:?}");
        let _ = writeln!(all, "{set}: {}", fields(&details, Path::new("")));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn plan__says_all_faults_of_a_file_at_once() {
    let wrong = [
        ("host_link = \"10Gbps\"", "host_link = \"10G\""),
        ("queues = 8", "quues = 8"),
        ("load = [0.6, 0.8]", "load = [0.6, 50]"),
        ("flows = 100\n", ""),
    ];
    let text = wrong.iter().fold(GOOD.to_owned(), |text, (old, new)| text.replacen(old, new, 1));
    let error = refused(&text, Path::new("")).unwrap();
    let (said, line) = (error.render(false), error.to_string());
    assert_eq!(said.matches("error: ").count(), wrong.len(), "{said}");
    for part in ["`host_link` = \"10G\"", "did you mean `queues`?", "`load` = 50", "flows"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(line.lines().count(), wrong.len(), "{line}");
    // The first one is that of the details.
    assert_eq!(error.details().key.as_deref(), Some("host_link"));
    // Keys that nothing reads, of whatever table, and faults of several schemes.
    let text = GOOD.replacen("leaves = 2", "leaves = 2\nhosts = 8", 1).replacen(
        "[sweep]",
        "[transport]\nprobe_after = 3\n[sweep]",
        1,
    );
    let said = refused(&text, Path::new("")).unwrap().render(false);
    assert!(said.contains("this kind of fabric: `hosts_per_leaf`, `leaves`, `spines` make it"), "{said}");
    assert!(said.contains("nothing reads `probe_after`") && said.matches("error: ").count() == 2, "{said}");
    let sets = ["lod=1", "quues=2"].map(str::to_owned).into();
    let changes = Changes { sets, ..Changes::default() };
    let several = plan(&ExperimentText::new("good.toml", GOOD), Path::new(""), &changes, &built_in()).unwrap_err();
    assert!(several.render(false).contains("`lod`") && several.render(false).contains("`quues`"), "{several}");
}

#[test]
fn files_that_are_no_experiments() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |path: &Path| {
        let details = read(path, &Changes::default(), &built_in()).unwrap_err().details();
        (details.kind, details.file.is_some_and(|file| Path::new(&file) == path), details.line)
    };
    let missing = folder.path().join("missing.toml");
    let nowhere = read(&missing, &Changes::default(), &built_in()).unwrap_err().details();
    assert_eq!((nowhere.kind, nowhere.file), ("name", None));
    assert_eq!(refused(folder.path()), ("file", true, None));
    let binary = folder.path().join("binary.toml");
    std::fs::write(&binary, b"a = 1\nb = \"\xff\"\n").unwrap();
    assert_eq!(refused(&binary), ("not-text", true, Some(2)));
    let long = folder.path().join("long.toml");
    std::fs::write(&long, "# long\n".repeat(100_000)).unwrap();
    assert_eq!(refused(&long), ("file", true, None));
}

#[test]
fn read__the_key_nic_beside_the_place_nic() {
    // A buffer is read where hosts have ports like switches', which the scheme's own table may say.
    let buffer = "[network.nic]\nbuffer = \"9pkt\"\n[schemes.dctcp]\nnic = \"scheme\"";
    for (table, nic) in
        [("nic = \"scheme\"", "scheme"), ("[network.nic]\ndiscipline = \"fifo\"", "backpressure"), (buffer, "scheme")]
    {
        let text = GOOD.replace("[sweep]", &format!("{table}\n[sweep]"));
        let plan =
            plan(&ExperimentText::new("good.toml", &text), Path::new(""), &Changes::default(), &built_in()).unwrap();
        assert_eq!(plan.experiment.points[0].settings["scheme.nic"], nic);
    }
    let text = GOOD.replace("queues = 8", "queues = 8\nleaf = 3");
    let details = refused(&text, Path::new("")).unwrap().details();
    assert_eq!((details.kind, details.key.as_deref()), ("value", Some("leaf")));
}
