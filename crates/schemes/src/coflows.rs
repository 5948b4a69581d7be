//! Schemes that serve coflows one after the other: a coordinator orders them, hosts write the order's levels into packets,
//! and switches serve these by strict priority. Senders use DCTCP.
//!
//! A scheme has a coordinator if its file has `tagger = "coflow"`; `coflow_order` gives it an order, or none: then all packets have
//! one priority. `dsred` and `sp-elastic` have the two switches with which pCoflow (ICIN 2021, §IV) is to be compared: the one
//! that it compares itself with, and the one that it should.

use std::sync::Arc;

use flowsieve_core::bank::BankRules;
use flowsieve_core::coflow::{LevelRule, OrderRule};
use flowsieve_core::controller::Hears;
use flowsieve_core::controllers::coordinator::{Announcement, CoordinatorParams, Decides};
use flowsieve_core::discipline::Discipline;
use flowsieve_core::taggers::coflow::HostRules;
use flowsieve_core::{PortKind, Time};

use crate::entry::Context;
use crate::parts::{Own, QUEUES, TAGGER, TaggerName};
use flowsieve_core::{ControllerKind, ControllerSpec, TaggerSpec};
use flowsieve_settings::declare;
use flowsieve_settings::{MAX_TIME_PS, Scope, Section, Setting, SettingsError};
use flowsieve_sim::scheme::{PortSpec, Scheme};
use flowsieve_transport::tcp::NicOrder;

/// How coflows are ordered, by the names that settings use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderName {
    /// No order.
    None,
    /// By demands.
    By(OrderRule),
    /// By bytes sent.
    Attained,
}

/// How an order becomes levels, by the names that settings use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LevelsName {
    Rank,
    Sparse,
}

/// What hosts do with a coflow that has no place yet, by the names that settings use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UntilPlaced {
    Hold,
    First,
    Last,
}

declare! {
    /// How coflows are ordered.
    pub static COFLOW_ORDER: Setting<OrderName> = Setting::choice(
        Section::Scheme,
        "coflow_order",
        &[
            ("none", OrderName::None),
            ("bssi", OrderName::By(OrderRule::Bssi)),
            ("sebf", OrderName::By(OrderRule::Sebf)),
            ("scf", OrderName::By(OrderRule::Scf)),
            ("ncf", OrderName::By(OrderRule::Ncf)),
            ("tcf", OrderName::By(OrderRule::Tcf)),
            ("fifo", OrderName::By(OrderRule::Fifo)),
            ("d-clas", OrderName::Attained),
        ],
        "order in which coflows are served: Sincronia's; by the smallest bottleneck, longest flow, number of flows or \
         total bytes; by arrival; or Aalo's, by bytes sent",
    )
    .with_default(OrderName::None);
    static COFLOW_DEMANDS: Setting<bool> = Setting::choice(
        Section::Scheme,
        "coflow_demands",
        &[("remaining", true), ("first", false)],
        "demands by which bssi and sebf order coflows: the remaining ones, or those at the start",
    )
    .with_default(true);
    static LEVELS: Setting<LevelsName> = Setting::choice(
        Section::Scheme,
        "levels",
        &[("rank", LevelsName::Rank), ("sparse", LevelsName::Sparse)],
        "how places of an order become priorities: one each until they run out, or so that few coflows change their priority",
    )
    .with_default(LevelsName::Rank);
    static LEVEL_SLACK: Setting<u64> = Setting::count(
        Section::Scheme, "level_slack", 0, 64,
        "levels = \"sparse\": how many coflows may share the last level in addition to those that must",
    )
    .with_default(1);
    static UNTIL_PLACED: Setting<UntilPlaced> = Setting::choice(
        Section::Scheme,
        "until_placed",
        &[("hold", UntilPlaced::Hold), ("first", UntilPlaced::First), ("last", UntilPlaced::Last)],
        "what hosts do with a coflow that has no place in the order yet: hold its data, or send it at the first or last priority",
    )
    .computed("hold; first under d-clas");
    static ANNOUNCE: Setting<Announcement> = Setting::choice(
        Section::Scheme,
        "announce",
        &[("coflow", Announcement::Whole), ("flow", Announcement::Flow)],
        "when the coordinator learns of flows: of a whole coflow at its first flow, or of each flow as it begins",
    )
    .with_default(Announcement::Whole);
    static COORDINATOR_DELAY: Setting<u64> = Setting::time(
        Section::Scheme, "coordinator_delay", 1, MAX_TIME_PS, "delay between hosts and the coordinator, one way",
    )
    .with_default(Time::from_us(50).0);
    static COORDINATOR_PERIOD: Setting<u64> = Setting::time(
        Section::Scheme, "coordinator_period", 1_000_000, MAX_TIME_PS,
        "time between two decisions of the coordinator; not given: whenever a coflow begins or ends, and every 10 ms with d-clas",
    );
    static DCLAS_FIRST: Setting<u64> = Setting::size(
        Section::Scheme, "dclas_first", 1, 1_000_000_000_000_000, "d-clas: bytes at which a coflow leaves the first level",
    )
    .with_default(10_000_000);
    static DCLAS_FACTOR: Setting<u64> = Setting::count(
        Section::Scheme, "dclas_factor", 2, 1_000_000, "d-clas: ratio of the bytes of a level to those of the level before",
    )
    .with_default(10);
    static DCLAS_BETWEEN: Setting<bool> = Setting::choice(
        Section::Scheme,
        "dclas_between",
        &[("weighted", true), ("strict", false)],
        "d-clas: whether levels share a port by weights or are served one after the other",
    )
    .with_default(true);
}

/// Returns how the scheme's coflows are ordered, if its hosts write the places of an order.
pub(crate) fn order(scope: &Scope<'_>, own: &Own) -> Result<Option<OrderName>, SettingsError> {
    match own.tagger.is_none() && scope.usual(&TAGGER)? == Some(TaggerName::Coflow) {
        true => scope.read(&COFLOW_ORDER).map(Some),
        false => Ok(None),
    }
}

/// Returns which connection a host serves next. An order needs a "priority-enabled transport at the end-host" (Sincronia, §4),
/// not only in switches.
pub(crate) fn nic_order(order: Option<OrderName>) -> NicOrder {
    if order.is_none_or(|order| order == OrderName::None) { NicOrder::Turns } else { NicOrder::Tag }
}

/// Gives a scheme the coordinator of its order, and its hosts the tags.
pub(crate) fn coordinate(
    context: &Context<'_>,
    scheme: &mut Scheme,
    order: Option<OrderName>,
) -> Result<(), SettingsError> {
    let Some(order) = order else { return Ok(()) };
    let scope = &context.scope;
    let levels = scope.read(&QUEUES)? as usize;
    let decides = match order {
        OrderName::None => return Ok(()),
        OrderName::By(rule) => {
            Decides::Order { rule, levels: level_rule(scope)?, remaining: by_what_is_left(rule, scope)? }
        }
        OrderName::Attained => {
            if scope.read(&DCLAS_BETWEEN)? {
                share_by_weights(scheme, levels)?;
            }
            Decides::Attained { first: scope.read(&DCLAS_FIRST)?, factor: scope.read(&DCLAS_FACTOR)? }
        }
    };
    let until_placed = scope.read_or(
        &UNTIL_PLACED,
        match order {
            // A coflow that has sent nothing is on the first level.
            OrderName::Attained => UntilPlaced::First,
            // pCoflow's order is there "immediately" (ICIN 2021, §IV), and one packet at a lower level holds up its coflow.
            _ => UntilPlaced::Hold,
        },
    )?;
    let new_level = if until_placed == UntilPlaced::First { 0 } else { levels as u8 - 1 };
    let holds = until_placed == UntilPlaced::Hold;
    let reports = !matches!(decides, Decides::Order { remaining: false, .. });
    for class in &mut scheme.classes {
        class.tagger = TaggerSpec::Coflow(HostRules { new_level, holds, reports });
    }
    let every = (order == OrderName::Attained).then_some(Time::from_us(10_000));
    let delay = Time(scope.read(&COORDINATOR_DELAY)?);
    let params = CoordinatorParams {
        decides,
        levels,
        announcement: scope.read(&ANNOUNCE)?,
        period: scope.optional(&COORDINATOR_PERIOD)?.map(Time).or(every),
        weights: Arc::default(),
        classes: 0..scheme.classes.len() as u8,
    };
    scheme.controllers.push(ControllerSpec {
        name: "coflow coordinator",
        period: params.period,
        hears: Hears::AsItHappens(delay),
        publishes_after: delay,
        kind: ControllerKind::Coordinator(params),
    });
    Ok(())
}

/// Returns whether an order uses the remaining demands.
pub(crate) fn by_what_is_left(rule: OrderRule, scope: &Scope<'_>) -> Result<bool, SettingsError> {
    Ok(rule.heeds_demands() && scope.read(&COFLOW_DEMANDS)?)
}

/// Reads how an order becomes levels.
fn level_rule(scope: &Scope<'_>) -> Result<LevelRule, SettingsError> {
    Ok(match scope.read(&LEVELS)? {
        LevelsName::Rank => LevelRule::Rank,
        LevelsName::Sparse => LevelRule::Sparse { slack: scope.read(&LEVEL_SLACK)? as usize },
    })
}

/// Reads how an order becomes levels, and their number, that of a port's queues.
pub(crate) fn levels(scope: &Scope<'_>) -> Result<(LevelRule, usize), SettingsError> {
    Ok((level_rule(scope)?, scope.read(&QUEUES)? as usize))
}

/// Aalo's queues of coflows, for the flow level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttainedQueues {
    /// Bytes at which a coflow leaves the first queue; at least 1.
    pub first: u64,
    /// Each limit is this many times the one before; at least 2.
    pub factor: u64,
    /// Their number; at least 1.
    pub count: usize,
}

/// Reads Aalo's queues at flow level. They are strict there: weights between them are refused.
pub(crate) fn attained_queues(scope: &Scope<'_>) -> Result<AttainedQueues, SettingsError> {
    if scope.optional(&DCLAS_BETWEEN)? == Some(true) {
        let expected = "\"strict\": at flow level each queue is served before the next, as in CoflowSim";
        return Err(scope.invalid(&DCLAS_BETWEEN, expected));
    }
    Ok(AttainedQueues {
        first: scope.read(&DCLAS_FIRST)?,
        factor: scope.read(&DCLAS_FACTOR)?,
        count: scope.read(&QUEUES)? as usize,
    })
}

/// Replaces strict priority at ports by weights: the first queue's weight is the number of queues, the last one's is one.
fn share_by_weights(scheme: &mut Scheme, queues: usize) -> Result<(), SettingsError> {
    scheme.ports = scheme.ports.try_map(|_, port| {
        let kind = match &port.kind {
            PortKind::Bank(BankRules { queues: of_port, discipline: Discipline::StrictPriority })
                if *of_port == queues =>
            {
                let weights = (1..=queues as u32).rev().collect();
                PortKind::Bank(BankRules { queues, discipline: Discipline::WeightedRoundRobin { weights } })
            }
            other => other.clone(),
        };
        Ok::<PortSpec, SettingsError>(PortSpec { kind, ..port.clone() })
    })?;
    Ok(())
}
