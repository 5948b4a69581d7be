//! The controller that asks the program's code once a period.

use flowsieve_core::Time;
use flowsieve_core::controller::{Audience, Controller, Gauges, HostEvent, Publish, Table};
use flowsieve_core::controllers::thresholds::CONTROLLER_THRESHOLD;
use flowsieve_core::readings::{Reading, observe_thresholds};
use flowsieve_core::tagger::FlowEvent;
use flowsieve_core::taggers::levels::TAG_THRESHOLD;

use super::{ChooseThresholds, Failure, checked};

/// A controller of the whole fabric.
pub(super) struct OwnController {
    name: String,
    code: Box<dyn ChooseThresholds>,
    period: Time,
    next: Time,
    /// The classes of flow that follow it.
    classes: Vec<u8>,
    queues: usize,
    failure: Failure,
    /// Of the messages that have ended since the last decision.
    sizes: Vec<u64>,
    /// The thresholds published last.
    last: Vec<u64>,
}

impl OwnController {
    pub(super) fn new(
        name: String,
        code: Box<dyn ChooseThresholds>,
        period: Time,
        classes: Vec<u8>,
        queues: usize,
        failure: Failure,
    ) -> OwnController {
        let (sizes, last) = (Vec::new(), Vec::new());
        OwnController { name, code, period, next: period, classes, queues, failure, sizes, last }
    }
}

impl Controller for OwnController {
    fn on_event(&mut self, _: Time, event: &HostEvent) {
        if let FlowEvent::MessageEnd { message, .. } = event.event
            && self.classes.contains(&event.class)
        {
            self.sizes.push(message.bytes);
        }
    }

    fn next(&self) -> Time {
        self.next
    }

    fn decide(&mut self, now: Time, _: &mut dyn Gauges, publish: Publish<'_>) {
        self.next = Time(now.0.saturating_add(self.period.0));
        let sizes = std::mem::take(&mut self.sizes);
        if self.failure.problem().is_some() {
            return;
        }
        let chosen = self.code.choose(&sizes, now).and_then(|chosen| {
            let wrong = |problem| format!("the controller {} returned {problem}", self.name);
            chosen.map(|thresholds| checked(thresholds, self.queues).map_err(wrong)).transpose()
        });
        let Some(Some(thresholds)) = self.failure.note(chosen) else { return };
        for &class in &self.classes {
            publish(Audience::Hosts { class }, Table::of_thresholds(TAG_THRESHOLD, &thresholds));
        }
        self.last = thresholds;
    }

    fn observe(&self, see: &mut dyn FnMut(Reading)) {
        observe_thresholds(CONTROLLER_THRESHOLD, &self.last, see);
    }
}
