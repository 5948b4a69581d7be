//! The keys of `[workload]` for queries, in which a client asks many servers at once, in addition to drawn flows
//! (QCLIMB, NSDI 2024, §5.1: a memcached client and seven servers).

use super::sizes::{Reader, Sizes};
use super::traffic::Drawn;
use super::{ARRIVALS, CLASS_SHARE, DURATION, FLOWS, Hosts, LIST, MEASURE, RECORDED};
use flowsieve_experiment::Error;
use flowsieve_settings::declare;
use flowsieve_settings::{Key, Scaled, Scope, Section, Setting, SettingsError};
use flowsieve_workload::{Framing, Queries, QueriesError, SizeDistribution};

declare! {
    /// The number of queries.
    pub(crate) static QUERIES: Setting<u64> = Setting::count(
        Section::Workload, "queries", 1, 25_000_000,
        "number of queries that a client sends, one after the other, each as a request to every server and its \
         answer; other flows arrive until the last query ends",
    )
    .scaled(Scaled::Amount);
    static QUERY_CLIENT: Setting<u64> = Setting::count(
        Section::Workload, "query_client", 0, 65_535, "the number of the host that sends queries",
    )
    .with_default(0);
    static QUERY_SERVERS: Setting<u64> = Setting::count(
        Section::Workload, "query_servers", 1, 65_535,
        "hosts that answer each query: those with the next numbers after the client's, from the first host again after the last",
    );
    static QUERY_REQUEST: Setting<u64> = Setting::size(
        Section::Workload, "query_request", 1, 1_000_000_000, "size of the request to each server",
    )
    .with_default(100);
    pub(crate) static QUERY_SIZES: Setting<String> = Setting::text_or_csv(
        Section::Workload, "query_sizes", "sizes of the answers, as in `sizes`",
    );
}

/// Queries as in the settings.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    client: u32,
    servers: Vec<u32>,
    /// At least 1.
    pub(super) queries: u32,
    request_bytes: u64,
    pub(super) answers: SizeDistribution,
    /// Estimate of the shortest time of a query: the answers' time on the client's link, and a round trip.
    idle_ps: f64,
}

impl Asked {
    /// Reads the queries, if there are any.
    pub(super) fn read(reader: &Reader<'_>, hosts: &Hosts, framing: &Framing) -> Result<Option<Asked>, Error> {
        let scope = reader.scope;
        let Some(queries) = scope.optional(&QUERIES)? else { return Ok(None) };
        refuse_others(scope)?;
        let count = hosts.racks.len() as u32;
        let client = scope.read(&QUERY_CLIENT)?;
        let Some(client) = u32::try_from(client).ok().filter(|client| *client < count) else {
            let expected = format!("the number of one of the {count} hosts, 0 to {}", count.saturating_sub(1));
            return Err(scope.invalid(&QUERY_CLIENT, expected).into());
        };
        let others = u64::from(count - 1);
        let servers = scope.read_or(&QUERY_SERVERS, others)?;
        if servers == 0 || servers > others {
            return Err(scope
                .invalid(&QUERY_SERVERS, format!("1 to {others}, the hosts other than the client"))
                .into());
        }
        let servers: Vec<u32> = (1..=servers as u32).map(|next| (client + next) % count).collect();
        let text = scope.needed(&QUERY_SIZES, "the sizes of the answers, such as \"homa-w1\"")?;
        let Sizes { distribution: answers, .. } = reader.of_text(&QUERY_SIZES, &text)?;
        let bits = 8.0 * framing.cost(&answers).data_bytes * servers.len() as f64;
        let asked = Asked {
            client,
            servers,
            queries: u32::try_from(queries).unwrap_or(u32::MAX),
            request_bytes: scope.read(&QUERY_REQUEST)?,
            answers,
            idle_ps: bits / hosts.bps.max(1) as f64 * 1e12 + hosts.round_trip_ps as f64,
        };
        // Whether such queries are possible does not depend on the seed.
        asked.with_seed(0).map_err(|error| scope.error(&QUERIES, error.to_string()))?;
        Ok(Some(asked))
    }

    pub(super) fn with_seed(&self, seed: u64) -> Result<Queries, QueriesError> {
        let Asked { client, servers, queries, request_bytes, answers, .. } = self;
        Queries::new((*client, servers), *queries, *request_bytes, answers.clone(), seed)
    }

    /// Returns the number of hosts that answer a query.
    pub(super) fn servers(&self) -> u32 {
        self.servers.len() as u32
    }

    /// Returns the number of messages of all queries.
    pub(super) fn messages(&self) -> f64 {
        2.0 * f64::from(self.queries) * self.servers.len() as f64
    }

    /// Estimates how many of them begin before a time.
    pub(super) fn messages_until(&self, end_ps: u64) -> f64 {
        let share = end_ps as f64 / self.span_ps().max(1.0);
        self.messages() * share.min(1.0)
    }

    /// Estimates the least time that all of them take, in ps.
    pub(super) fn span_ps(&self) -> f64 {
        f64::from(self.queries) * self.idle_ps
    }

    /// Estimates the number of flows drawn in addition, if nothing delays the queries.
    pub(super) fn flows_beside(&self, drawn: &Drawn) -> f64 {
        drawn.flows_until(self.span_ps() as u64)
    }

    /// Estimates the number of packets of a message, data and ACKs.
    pub(super) fn packets_per_message(&self, framing: &Framing) -> f64 {
        let answer = framing.cost(&self.answers);
        let request = self.request_bytes.div_ceil(framing.payload_bytes.get().into()) as f64;
        let acks = request / f64::from(framing.data_packets_per_ack.max(1));
        (answer.data_packets + answer.acks + request + acks) / 2.0
    }
}

/// Refuses settings that conflict with queries: they would give flows other numbers, classes or ends than queries
/// allow.
fn refuse_others(scope: &Scope<'_>) -> Result<(), SettingsError> {
    let refuse = |other: &Key, expected: &str| {
        let problem = format!("`{}` and `{}` are both given", other.name, QUERIES.name);
        Err(scope.error(other, problem).expected(expected))
    };
    let pairs: [([&Key; 2], &str); 3] = [
        ([&FLOWS, &DURATION], "one of the two: flows arrive until the queries end"),
        ([&LIST, &RECORDED], "flows that are drawn from `sizes` or `cdf`"),
        (
            [&CLASS_SHARE, &super::traffic::MIX_SIZES],
            "one of the two: messages of queries are class 1, all other flows class 0",
        ),
    ];
    for (others, expected) in pairs {
        if let Some(other) = others.into_iter().find(|other| scope.is_given(other)) {
            return refuse(other, expected);
        }
    }
    if scope.read(&MEASURE)? {
        return refuse(&MEASURE, "measure = \"all\": queries are not bound to a window");
    }
    if scope.read(&ARRIVALS)? == super::traffic::ArrivalsName::ClosedLoop {
        return refuse(&ARRIVALS, "arrivals at a rate");
    }
    Ok(())
}
