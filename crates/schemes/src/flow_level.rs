//! The meaning of schemes at flow level, where there are rates instead of packets.
//!
//! A scheme that shares a link among all flows has max-min fair rates. A scheme that orders coflows has its order, and
//! rates that follow it. Sincronia's own are greedy (SIGCOMM 2018, §4.2); the others' are classes, as in their switches.
//! [`VARYS`] has its rates only here: at packet level they would need paced senders. Queues, windows and marks have no
//! meaning without packets, so all other schemes are refused by name.
//!
//! Each scheduler of CoflowSim, the simulator by the author of Varys and Aalo, has a counterpart here. Its coflow
//! orders are those of [`VARYS`] with `coflow_order`. Its Aalo is [`coflows::AALO`]; the queues are strict at this
//! level, as they are there. Its two schedulers of flows are [`FAIR`] and [`PRIORITY`].

use flowsieve_core::coflow::{LevelRule, OrderRule};

use crate::coflows::{self, AttainedQueues, OrderName};
use crate::entry::{Entry, Knows};
use crate::parameters::ParameterSet;
use crate::parts::{self, BalancingName};
use crate::{afq, dctcp, fair_queueing, textbook};
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
            ("shares", Rates::Shares),
            ("equal", Rates::Equal),
            ("smallest-first", Rates::Smallest),
        ],
        "fidelity = \"flow\": how rates are set: max-min fair; max-min fair within classes of coflows; all remaining \
         rate, flow by flow in the order of coflows; as in Varys, so that a coflow's flows end together; coflow by \
         coflow in equal shares; equal parts of each link, used or not; or small flows first, one at each host",
    )
    .needs("fidelity = \"flow\" in [run]: packets have no rates");
}

/// Varys, with its own rates: only at flow level.
pub const VARYS: Entry = Entry {
    name: "varys",
    label: "Varys",
    summary: "coflows by their smallest effective bottleneck, with rates by which their flows end together; only at flow level",
    paper: "Chowdhury, Zhong, Stoica, SIGCOMM 2014",
    knows: Knows::Coflow,
    build: |context| {
        let problem = "`varys` paces its senders, but hosts at packet level do not";
        let expected = "fidelity = \"flow\" in [run], or `sebf`, which has its order with priorities";
        Err(context.scope.error(&FIDELITY, problem).expected(expected))
    },
};

/// Per-flow fairness as CoflowSim has it: only at flow level.
pub const FAIR: Entry = Entry {
    name: "per-flow-fair",
    label: "Per-flow fair",
    summary: "each link divided equally among its flows, whether they can use it or not; only at flow level",
    paper: "CoflowSim's FAIR; Chowdhury, Zhong, Stoica, SIGCOMM 2014",
    knows: Knows::Nothing,
    build: |context| {
        let problem = "`per-flow-fair` sets rates, but hosts at packet level do not";
        Err(context
            .scope
            .error(&FIDELITY, problem)
            .expected("fidelity = \"flow\" in [run], or `ps`, which shares links fairly"))
    },
};

/// Per-flow prioritisation as CoflowSim has it: only at flow level.
pub const PRIORITY: Entry = Entry {
    name: "per-flow-priority",
    label: "Per-flow priority",
    summary: "small flows first, one at each host; only at flow level",
    paper: "CoflowSim's PFP; Chowdhury, Zhong, Stoica, SIGCOMM 2014",
    knows: Knows::Size,
    build: |context| {
        let problem = "`per-flow-priority` sets rates, but hosts at packet level do not";
        let expected = "fidelity = \"flow\" in [run], or `pfabric`, which serves small flows first";
        Err(context.scope.error(&FIDELITY, problem).expected(expected))
    },
};

/// The schemes that exist only at flow level.
pub const ONLY: &[Entry] = &[VARYS, FAIR, PRIORITY];

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

/// A scheme's order and rates by default; `None`: the scheme takes no order.
type Meaning = (Option<OrderName>, Rates);

/// Returns every scheme that has a meaning at flow level.
fn meanings() -> [(&'static str, Meaning); 13] {
    let fair = (None, Rates::MaxMin);
    let orders = |rule, rates| (Some(OrderName::By(rule)), rates);
    [
        (dctcp::ENTRY.name, fair),
        (textbook::PS.name, fair),
        (fair_queueing::BIT_BY_BIT.name, fair),
        (fair_queueing::NAGLE.name, fair),
        (afq::ENTRY.name, fair),
        (coflows::DSRED.name, (Some(OrderName::None), Rates::Strict)),
        (coflows::ELASTIC.name, orders(OrderRule::Bssi, Rates::Strict)),
        (coflows::SINCRONIA.name, orders(OrderRule::Bssi, Rates::Greedy)),
        (coflows::SEBF.name, orders(OrderRule::Sebf, Rates::Strict)),
        (coflows::AALO.name, (Some(OrderName::Attained), Rates::Shares)),
        (VARYS.name, orders(OrderRule::Sebf, Rates::Madd)),
        (FAIR.name, (None, Rates::Equal)),
        (PRIORITY.name, (None, Rates::Smallest)),
    ]
}

/// Reads the meaning of a built-in scheme from the settings of a variant of it.
pub fn read(builtin: &str, scope: &Scope<'_>) -> Result<FlowLevel, SettingsError> {
    let meanings = meanings();
    let Some((_, (order, rates))) = meanings.iter().find(|(name, _)| *name == builtin) else {
        let names: Vec<&str> = meanings.iter().map(|(name, _)| *name).collect();
        let problem = format!("`{builtin}` has no meaning at flow level, which has no packets");
        return Err(scope.common().error(&FIDELITY, problem).expected(format!("one of {}", names.join(", "))));
    };
    let spreads = spreads(scope)?;
    // Of the schemes with a meaning here, one sends open loop, so that its senders learn nothing from receivers.
    let answers = builtin != textbook::PS.name;
    let without = FlowLevel { rates: *rates, order: None, queues: None, spreads, answers };
    let Some(order) = *order else {
        let rates = scope.read_or(&RATES, *rates)?;
        if !rates.need_no_order() {
            let expected = format!("\"max-min\", \"equal\" or \"smallest-first\": `{builtin}` orders no coflows");
            return Err(scope.invalid(&RATES, expected));
        }
        return Ok(FlowLevel { rates, ..without });
    };
    let given = scope.optional(&RATES)?;
    if let Some(rates) = given.filter(|rates| rates.need_no_order()) {
        return Ok(FlowLevel { rates, ..without });
    }
    let order = match scope.read_or(&coflows::COFLOW_ORDER, order)? {
        OrderName::None if given.is_none() => return Ok(FlowLevel { rates: Rates::MaxMin, ..without }),
        OrderName::None => return Err(scope.invalid(&RATES, "\"max-min\", or a `coflow_order` other than \"none\"")),
        order => order,
    };
    let rates = scope.read_or(&RATES, *rates)?;
    let rule = match order {
        OrderName::By(rule) => rule,
        _ if rates == Rates::Shares => {
            let queues = coflows::attained_queues(scope, coflows::AALO_QUEUES)?;
            return Ok(FlowLevel { rates, queues: Some(queues), ..without });
        }
        _ => {
            let expected = "an order by demands, or rates = \"shares\": no other rates follow bytes sent";
            return Err(scope.invalid(&coflows::COFLOW_ORDER, expected));
        }
    };
    let levels = if rates == Rates::Strict { Some(coflows::levels(scope, coflows::RED_PARTS.queues)?) } else { None };
    let remaining = coflows::by_what_is_left(rule, scope)?;
    Ok(FlowLevel { rates, order: Some(Order { rule, remaining, levels }), ..without })
}

/// Reads whether flows take all of their paths. A switch that balances by bursts is refused: it has no rates.
fn spreads(scope: &Scope<'_>) -> Result<bool, SettingsError> {
    match parts::balancing(scope, None, ParameterSet::read(scope)?)? {
        BalancingName::Ecmp => Ok(false),
        BalancingName::Spray | BalancingName::SprayRandom => Ok(true),
        BalancingName::Flowlet | BalancingName::Hula => {
            Err(scope.invalid(&parts::LOAD_BALANCING, "\"ecmp\" or \"spray\": at flow level there are no bursts"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::REGISTRY;
    use crate::testing::none_given;

    #[test]
    fn read__each_scheme_as_its_paper_has_it_or_by_name_refused() {
        let settings = none_given();
        let of = |name: &str| read(name, &settings.scheme(name));
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
        let refused = REGISTRY.iter().filter(|entry| of(entry.name).is_err());
        for entry in refused.clone() {
            let error = of(entry.name).unwrap_err().to_string();
            assert!(error.contains(&format!("`{}` has no meaning at flow level", entry.name)), "{error}");
        }
        assert_eq!(refused.count() + meanings().len(), REGISTRY.len() + ONLY.len());
    }

    #[test]
    fn answers__of_every_scheme_whose_receivers_acknowledge() {
        let settings = none_given();
        let silent: Vec<&str> = meanings()
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| !read(name, &settings.scheme(name)).unwrap().answers)
            .collect();
        assert_eq!(silent, ["ps"]);
    }

    #[test]
    fn read__other_orders_and_rates() {
        let of = |name: &str, keys: &[(&str, &str)]| {
            let settings = keys.iter().fold(none_given(), |settings, &(key, to)| settings.with(Some(name), key, to));
            read(name, &settings.scheme(name)).map_err(|error| error.key().map(str::to_owned))
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
        let level = read("sebf", &settings.with(Some("sebf"), "queues", 3).scheme("sebf")).unwrap();
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
            read("dctcp", &settings.scheme("dctcp")).map(|level| level.spreads)
        };
        assert_eq!((of("parameters", "ns2"), of("parameters", "rfc")), (Ok(true), Ok(false)));
        assert_eq!((of("load_balancing", "ecmp"), of("load_balancing", "spray")), (Ok(false), Ok(true)));
        assert_eq!(of("load_balancing", "flowlet").unwrap_err().key(), Some("load_balancing"));
    }
}
