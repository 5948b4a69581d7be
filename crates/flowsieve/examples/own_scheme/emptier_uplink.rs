//! A balancer that avoids the fuller uplink: a packet takes the way on which the fewest bytes wait, at its leaf's port and
//! at the spine's port behind it. Leaves ask the spines about one rack after the other. All else is DCTCP.

use flowsieve_core::{BalancerSpec, Meta, Place, ProgramPacket, Site, SwitchPorts, SwitchProgram, Time};
use flowsieve_schemes::parts::{self, Own};
use flowsieve_schemes::scheme::Scheme;
use flowsieve_schemes::{Context, Entry};
use flowsieve_settings::SettingsError;

/// The registry's line.
pub(crate) const ENTRY: Entry = Entry {
    name: "emptier-uplink",
    file: r#"
base = "dctcp"
label = "Emptier uplink"
summary = "DCTCP; leaves ask how much waits at spines, and packets take the emptiest way"
paper = "docs/extend/controller.md"
knows = "nothing"
"#,
    own: Some(build),
};

fn build(context: &Context<'_>) -> Result<Scheme, SettingsError> {
    let program = BalancerSpec::custom(EmptierUplink::new);
    parts::build(context, Own { balancer: Some(program), ..Own::default() })
}

/// The program of one switch.
struct EmptierUplink {
    site: Site,
    next: Time,
    /// The rack about which the leaf asked last.
    asked: u32,
    /// By port and rack: bytes that waited for the rack at the spine behind the port.
    behind: Vec<Vec<u32>>,
}

impl EmptierUplink {
    const EVERY: Time = Time::from_us(10);

    fn new(site: &Site) -> EmptierUplink {
        EmptierUplink {
            next: if site.place == Place::Leaf { Self::EVERY } else { Time::NEVER },
            asked: 0,
            behind: vec![vec![0; site.racks.count()]; site.ports.len()],
            site: site.clone(),
        }
    }
}

impl SwitchProgram for EmptierUplink {
    fn choose(&mut self, packet: &Meta, _: u16, group: u16, _: Time, ports: &mut dyn SwitchPorts) -> usize {
        let rack = self.site.racks.of(packet.dst.into()) as usize;
        let waits = |port: u16| ports.backlog_bytes(port) + u64::from(self.behind[usize::from(port)][rack]);
        let ways = self.site.groups[usize::from(group)].iter().copied().map(waits).zip(0..);
        ways.min().map_or(0, |(_, way)| way)
    }

    fn next_timer(&self) -> Time {
        self.next
    }

    fn on_timer(&mut self, now: Time, ports: &mut dyn SwitchPorts) {
        self.next = now + Self::EVERY;
        self.asked = (self.asked + 1) % self.site.racks.count() as u32;
        let ways = self.site.ways_to_rack(self.asked);
        // The only way leads to the leaf's own hosts.
        for &port in ways.iter().filter(|_| ways.len() > 1) {
            ports.send(ProgramPacket { port, len: 64, priority: 0, payload: [self.asked, 0, 0, 0, 0, 0] });
        }
    }

    /// At a leaf an answer, at a spine a question.
    fn on_program_packet(&mut self, packet: &ProgramPacket, _: Time, ports: &mut dyn SwitchPorts) {
        let [rack, waits, ..] = packet.payload;
        if self.site.place == Place::Leaf {
            self.behind[usize::from(packet.port)][rack as usize] = waits;
        } else {
            let waits = ports.backlog_bytes(self.site.ways_to_rack(rack)[0]) as u32;
            ports.send(ProgramPacket { payload: [rack, waits, 0, 0, 0, 0], ..*packet });
        }
    }
}
