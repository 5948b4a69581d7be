//! The meaning of schemes at flow level, where there are rates instead of packets.
//!
//! A scheme that shares a link among all flows has max-min fair rates. A scheme that orders coflows has its order, and
//! rates that follow it. Sincronia's own are greedy (SIGCOMM 2018, §4.2); the others' are classes, as in their switches.
//! `varys` has its rates only here: at packet level they would need paced senders. Queues, windows and marks have no
//! meaning without packets, so all other schemes are refused by name.
//!
//! Each scheduler of CoflowSim, the simulator by the author of Varys and Aalo, has a counterpart here. Its coflow
//! orders are those of `varys` with `coflow_order`. Its Aalo is `aalo`; the queues are strict at this level, as they are
//! there. Its two schedulers of flows are `per-flow-fair` and `per-flow-priority`.

use flowsieve_core::coflow::{LevelRule, OrderRule};

use crate::coflows::{self, AttainedQueues, OrderName};
use crate::file::SchemeFile;
use crate::parts::{self, BalancingName, TransportName};
use crate::registry;
use flowsieve_settings::declare;
use flowsieve_settings::{Scope, Section, Setting, SettingsError};

/// The level of detail at which a network is modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fidelity {
    /// Packets.
    Packet,
    /// Rates of flows.
    Flow,
}

/// How flows share links at flow level, by the names that settings use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rates {
    /// Max-min fair.
    MaxMin,
    /// By classes, derived from an order as priorities are.
    Strict,
    /// Flow by flow in the order of coflows.
    Greedy,
    /// Coflow by coflow, each with the rates at which its flows end together.
    Madd,
    /// The same, and the rest by the deadlines that CoflowSim draws.
    MaddByDeadline,
    /// Coflow by coflow, each with equal shares for its flows.
    Shares,
    /// Each link divided equally, without what flows cannot use of their parts.
    Equal,
    /// Small flows first, one at each host.
    Smallest,
}

impl Rates {
    /// Returns whether it treats flows alike, whatever their coflow.
    fn need_no_order(self) -> bool {
        matches!(self, Rates::MaxMin | Rates::Equal | Rates::Smallest)
    }
}

declare! {
    /// The level of detail at which a network is modelled. The default is packets.
    pub static FIDELITY: Setting<Fidelity> = Setting::choice(
        Section::Run,
        "fidelity",
        &[("packet", Fidelity::Packet), ("flow", Fidelity::Flow)],
        "whether every packet is simulated, or only the rates of flows",
    );
    /// How flows share links at flow level.
    pub static RATES: Setting<Rates> = Setting::choice(
        Section::Scheme,
        "rates",
        &[
            ("max-min", Rates::MaxMin),
            ("strict", Rates::Strict),
            ("greedy", Rates::Greedy),
            ("madd", Rates::Madd),
            ("madd-by-deadline", Rates::MaddByDeadline),
            ("shares", Rates::Shares),
            ("equal", Rates::Equal),
            ("smallest-first", Rates::Smallest),
        ],
        "fidelity = \"flow\": how rates are set: max-min fair; max-min fair within classes of coflows; all remaining \
         rate, flow by flow in the order of coflows; as in Varys, so that a coflow's flows end together; the same \
         with CoflowSim's deadlines; coflow by coflow in equal shares; equal parts of each link, used or not; or \
         small flows first, one at each host",
    )
    .needs("fidelity = \"flow\" in [run]: packets have no rates");
}

/// A scheme at flow level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowLevel {
    /// How flows share links.
    pub rates: Rates,
    /// The order of coflows, if rates follow one that a rule makes.
    pub order: Option<Order>,
    /// Aalo's queues, if rates follow these.
    pub queues: Option<AttainedQueues>,
    /// Whether a flow takes all of its equally short paths at once, in equal shares, instead of one, by a hash.
    pub spreads: bool,
    /// Whether receivers acknowledge: with packets, textbook disciplines send open loop.
    pub answers: bool,
}

/// An order of coflows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The rule of the order.
    pub rule: OrderRule,
    /// Whether demands are what is left of them, instead of the initial ones.
    pub remaining: bool,
    /// [`Rates::Strict`]: how the order becomes classes, and how many.
    pub levels: Option<(LevelRule, usize)>,
}

/// Reads the meaning of a scheme from the settings of a variant of it, in a scope with the scheme's own values.
pub fn read(name: &str, scope: &Scope<'_>) -> Result<FlowLevel, SettingsError> {
    if scope.usual(&RATES)?.is_none() {
        let has_meaning = |scheme: &&SchemeFile| scheme.layer().at(None, RATES.name).is_some();
        let names: Vec<&str> = registry::all().filter(has_meaning).map(|scheme| scheme.name.as_str()).collect();
        let problem = format!("`{name}` has no meaning at flow level, which has no packets");
        return Err(scope.common().error(&FIDELITY, problem).expected(format!("one of {}", names.join(", "))));
    }
    let answers = scope.usual(&parts::TRANSPORT)? != Some(TransportName::OpenLoop);
    let without = FlowLevel { rates: Rates::MaxMin, order: None, queues: None, spreads: spreads(scope)?, answers };
    if scope.usual(&coflows::COFLOW_ORDER)?.is_none() {
        let rates = scope.read(&RATES)?;
        if !rates.need_no_order() {
            let expected = format!("\"max-min\", \"equal\" or \"smallest-first\": `{name}` orders no coflows");
            return Err(scope.invalid(&RATES, expected));
        }
        return Ok(FlowLevel { rates, ..without });
    }
    let given = if scope.is_given(&RATES) { Some(scope.read(&RATES)?) } else { None };
    if let Some(rates) = given.filter(|rates| rates.need_no_order()) {
        return Ok(FlowLevel { rates, ..without });
    }
    let order = match scope.read(&coflows::COFLOW_ORDER)? {
        OrderName::None if given.is_none() => return Ok(without),
        OrderName::None => return Err(scope.invalid(&RATES, "\"max-min\", or a `coflow_order` other than \"none\"")),
        order => order,
    };
    let rates = scope.read(&RATES)?;
    let rule = match order {
        OrderName::By(rule) => rule,
        _ if rates == Rates::Shares => {
            let queues = coflows::attained_queues(scope)?;
            return Ok(FlowLevel { rates, queues: Some(queues), ..without });
        }
        _ => {
            let expected = "an order by demands, or rates = \"shares\": no other rates follow bytes sent";
            return Err(scope.invalid(&coflows::COFLOW_ORDER, expected));
        }
    };
    let levels = if rates == Rates::Strict { Some(coflows::levels(scope)?) } else { None };
    let remaining = coflows::by_what_is_left(rule, scope)?;
    Ok(FlowLevel { rates, order: Some(Order { rule, remaining, levels }), ..without })
}

/// Reads whether flows take all of their paths. A switch that balances by bursts is refused: it has no rates.
fn spreads(scope: &Scope<'_>) -> Result<bool, SettingsError> {
    match scope.read(&parts::LOAD_BALANCING)? {
        BalancingName::Ecmp => Ok(false),
        BalancingName::Spray | BalancingName::SprayRandom => Ok(true),
        BalancingName::Flowlet | BalancingName::Hula | BalancingName::Conga => {
            Err(scope.invalid(&parts::LOAD_BALANCING, "\"ecmp\" or \"spray\": at flow level there are no bursts"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bare::none_given;
    use flowsieve_settings::Settings;

    fn read(name: &str, settings: &Settings) -> Result<FlowLevel, SettingsError> {
        let scheme = registry::all().find(|scheme| scheme.name == name).unwrap();
        super::read(name, &scheme.scope(settings.scheme(name)))
    }

    #[test]
    fn read__each_scheme_as_its_paper_has_it_or_by_name_refused() {
        let settings = none_given();
        let of = |name: &str| read(name, &settings);
        let level = |name| of(name).map(|level| (level.rates, level.order.map(|order| order.rule)));
        assert_eq!(level("ps"), Ok((Rates::MaxMin, None)));
        assert_eq!(level("dsred"), Ok((Rates::MaxMin, None)));
        assert_eq!(level("sincronia"), Ok((Rates::Greedy, Some(OrderRule::Bssi))));
        assert_eq!(level("varys"), Ok((Rates::Madd, Some(OrderRule::Sebf))));
        assert_eq!(level("aalo"), Ok((Rates::Shares, None)));
        assert_eq!(of("aalo").unwrap().queues, Some(AttainedQueues { first: 10_000_000, factor: 10, count: 10 }));
        assert_eq!(level("per-flow-fair"), Ok((Rates::Equal, None)));
        assert_eq!(level("per-flow-priority"), Ok((Rates::Smallest, None)));
        let order = of("sebf").unwrap().order.unwrap();
        assert_eq!((order.rule, order.levels), (OrderRule::Sebf, Some((LevelRule::Rank, 8))));
        let refused: Vec<&SchemeFile> = registry::all().filter(|scheme| of(&scheme.name).is_err()).collect();
        for scheme in &refused {
            let error = of(&scheme.name).unwrap_err().to_string();
            assert!(error.contains(&format!("`{}` has no meaning at flow level", scheme.name)), "{error}");
        }
        assert_eq!(registry::all().count() - refused.len(), 13);
    }

    #[test]
    fn answers__of_every_scheme_whose_receivers_acknowledge() {
        let settings = none_given();
        let silent = |scheme: &&SchemeFile| read(&scheme.name, &settings).is_ok_and(|level| !level.answers);
        let silent: Vec<&str> = registry::all().filter(silent).map(|scheme| scheme.name.as_str()).collect();
        assert_eq!(silent, ["ps"]);
    }

    #[test]
    fn read__other_orders_and_rates() {
        let of = |name: &str, keys: &[(&str, &str)]| {
            let settings = keys.iter().fold(none_given(), |settings, &(key, to)| settings.with(Some(name), key, to));
            read(name, &settings).map_err(|error| error.key().map(str::to_owned))
        };
        let level = of("dsred", &[("coflow_order", "fifo")]).unwrap();
        assert_eq!(level.order.unwrap().levels, Some((LevelRule::Rank, 8)));
        let level = of("sincronia", &[("coflow_order", "tcf"), ("rates", "madd")]).unwrap();
        assert_eq!((level.rates, level.order.unwrap().rule), (Rates::Madd, OrderRule::Tcf));
        assert_eq!(of("sincronia", &[("rates", "max-min")]).unwrap().order, None);
        assert_eq!(of("ps", &[("rates", "equal")]).unwrap().rates, Rates::Equal);
        let level = of("aalo", &[("coflow_order", "fifo")]).unwrap();
        assert_eq!((level.rates, level.order.unwrap().rule, level.queues), (Rates::Shares, OrderRule::Fifo, None));
        let settings = none_given().with(Some("sebf"), "coflow_order", "d-clas").with(Some("sebf"), "rates", "shares");
        let settings = settings.with(Some("sebf"), "dclas_first", "1KB").with(Some("sebf"), "dclas_factor", 2);
        let level = read("sebf", &settings.with(Some("sebf"), "queues", 3)).unwrap();
        assert_eq!(level.queues, Some(AttainedQueues { first: 1_000, factor: 2, count: 3 }));
        let fault = |name, keys| of(name, keys).unwrap_err();
        assert_eq!(fault("dctcp", &[("rates", "greedy")]), Some("rates".to_owned()));
        assert_eq!(fault("dsred", &[("rates", "greedy")]), Some("rates".to_owned()));
        assert_eq!(fault("sebf", &[("coflow_order", "d-clas")]), Some("coflow_order".to_owned()));
        assert_eq!(fault("per-flow-fair", &[("rates", "shares")]), Some("rates".to_owned()));
        assert_eq!(of("aalo", &[("dclas_between", "strict")]).map(|level| level.rates), Ok(Rates::Shares));
        assert_eq!(fault("aalo", &[("dclas_between", "weighted")]), Some("dclas_between".to_owned()));
    }

    #[test]
    fn spreads__as_the_parameter_set_or_as_given() {
        let of = |key: &str, to: &str| {
            let settings = none_given().with(None, key, to);
            read("dctcp", &settings).map(|level| level.spreads)
        };
        assert_eq!((of("parameters", "ns2"), of("parameters", "rfc")), (Ok(true), Ok(false)));
        assert_eq!((of("load_balancing", "ecmp"), of("load_balancing", "spray")), (Ok(false), Ok(true)));
        assert_eq!(of("load_balancing", "flowlet").unwrap_err().key(), Some("load_balancing"));
    }
}
